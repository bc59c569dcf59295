package compact_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
)

// TestIdleDecision: C-16. A conversation that nobody goes on with is compacted at nine
// tenths of the cache's life, if a person sits before it, the cache lives an hour,
// and it is large; once for each time nobody goes on.
func TestIdleDecision(t *testing.T) {
	last := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	good := compact.Idle{Policy: compact.Policy{Interactive: true}, Lifetime: time.Hour, Tokens: 200_000, Last: last}
	if at, ok := good.At(); !ok || !at.Equal(last.Add(54*time.Minute)) {
		t.Fatalf("at %s, %v", at, ok)
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {54*time.Minute - 1, false}, {54 * time.Minute, true}, {time.Hour - 1, true}, {time.Hour, false}, {-time.Hour, false}} {
		if got := good.Due(last.Add(c.after)); got != c.want {
			t.Errorf("due %s after the last reply: %v", c.after, got)
		}
	}
	for name, change := range map[string]func(*compact.Idle){
		"headless":           func(i *compact.Idle) { i.Policy.Interactive = false },
		"a short cache":      func(i *compact.Idle) { i.Lifetime = time.Hour - 1 },
		"small":              func(i *compact.Idle) { i.Tokens = 199_999 },
		"switched off":       func(i *compact.Idle) { i.Policy.NoIdle = true },
		"compaction off":     func(i *compact.Idle) { i.Policy.Mode = compact.Off },
		"by hand only":       func(i *compact.Idle) { i.Policy.Mode = compact.Manual },
		"after a refusal":    func(i *compact.Idle) { i.Policy.Mode = compact.Reactive },
		"collapse":           func(i *compact.Idle) { i.Policy.Mode = compact.Collapse },
		"nothing sent":       func(i *compact.Idle) { i.Last = time.Time{} },
		"compacted already":  func(i *compact.Idle) { i.Done = last },
		"a cache of nothing": func(i *compact.Idle) { i.Lifetime = 0 },
	} {
		i := good
		change(&i)
		if at, ok := i.At(); ok || i.Due(last.Add(55*time.Minute)) {
			t.Errorf("%s: at %s", name, at)
		}
	}
	before := good
	before.Done = last.Add(-time.Hour) // of an idle time before this one
	if _, ok := before.At(); !ok {
		t.Error("an idle time that was compacted stands for the next one too")
	}
}

// TestIdleCompaction: C-16, G-4. The engine says when, does it once, and only while
// nobody has gone on.
func TestIdleCompaction(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	m := &model{say: adversaries["good"]}
	caps := caps.Window(1_000_000)
	caps.Cache.LongTTL = 3600
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: caps, LongCache: true, Now: func() time.Time { return now }, NoUsage: true,
		Ladder: &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Interactive: true}, Now: func() time.Time { return now }}})
	if _, ok := e.Idle(); ok {
		t.Error("a conversation without a request is idle")
	}
	turn := func(n, words int) {
		must(t, e.Append(message.User(fmt.Sprint("prompt ", n))))
		req, err := e.Prepare(ctx)
		must(t, err)
		if _, ok := e.Idle(); ok {
			t.Error("a turn is under way, and it is called idle")
		}
		r := message.Assistant(message.Text(strings.Repeat("answer ", words)))
		r.ID = fmt.Sprint("m", n)
		must(t, e.Record(ctx, req, r))
	}
	turn(0, 1000)
	if at, ok := e.Idle(); ok {
		t.Errorf("a small conversation is to be compacted at %s", at)
	}
	for n := 1; n < 4; n++ {
		turn(n, 60_000)
	}
	at, ok := e.Idle()
	if want := now.Add(54 * time.Minute); !ok || !at.Equal(want) {
		t.Fatalf("at %s, %v; want %s; %d tokens", at, ok, want, e.Context().Total)
	}
	if rep, err := e.CompactIdle(ctx); err != nil || len(rep.Rungs) != 0 {
		t.Errorf("compacted at once: %+v, %v", rep, err)
	}
	now = at
	rep, err := e.CompactIdle(ctx)
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "full" || m.calls != 1 || rep.After >= rep.Before {
		t.Fatalf("%+v after %d calls", rep, m.calls)
	}
	meta, err := e.View().Boundary.Boundary()
	must(t, err)
	if meta.Own.Cause != compact.CauseIdle || meta.Trigger != "auto" {
		t.Errorf("boundary %+v", meta)
	}
	now = now.Add(time.Minute)
	if rep, err := e.CompactIdle(ctx); err != nil || len(rep.Rungs) != 0 || m.calls != 1 {
		t.Errorf("compacted twice: %+v, %v", rep, err)
	}
}

// TestIdleFails: C-16, C-12. Without a summary nothing is changed: the ledger costs the
// same at any later time, and nobody waits.
func TestIdleFails(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	m := &model{say: adversaries["refusing"]}
	caps := caps.Window(1_000_000)
	caps.Cache.LongTTL = 3600
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: caps, LongCache: true, Now: func() time.Time { return now }, NoUsage: true,
		Ladder: &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Interactive: true}}})
	for n := range 4 {
		must(t, e.Append(message.User(fmt.Sprint("prompt ", n))))
		req, err := e.Prepare(ctx)
		must(t, err)
		r := message.Assistant(message.Text(strings.Repeat("answer ", 60_000)))
		r.ID = fmt.Sprint("m", n)
		must(t, e.Record(ctx, req, r))
	}
	want := dump(e)
	at, ok := e.Idle()
	if !ok {
		t.Fatal("not idle")
	}
	now = at
	if rep, err := e.CompactIdle(ctx); err != nil || len(rep.Rungs) != 0 || m.calls == 0 || dump(e) != want {
		t.Errorf("%+v, %v after %d calls", rep, err, m.calls)
	}
}
