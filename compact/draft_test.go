package compact_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/transcript"
)

// slow is a summarizer whose answers wait until they are let go.
type slow struct {
	mu    sync.Mutex
	asked []compact.SummaryRequest
	ended int // questions that were given up
	let   chan struct{}
	say   func(n int, r compact.SummaryRequest) (string, error)
}

func newSlow() *slow {
	return &slow{let: make(chan struct{}, 100), say: func(n int, _ compact.SummaryRequest) (string, error) {
		return fmt.Sprintf("<summary>draft number %d</summary>", n), nil
	}}
}

func (s *slow) Summarize(ctx context.Context, r compact.SummaryRequest) (string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	n := len(s.asked)
	s.mu.Unlock()
	select {
	case <-s.let:
		return s.say(n, r)
	case <-ctx.Done():
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		return "", ctx.Err()
	}
}

func (s *slow) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// talk is a conversation in the test's hands.
type talk struct {
	t      testing.TB
	e      *engine.Engine
	store  *engine.Mem
	ladder *compact.Ladder
	cfg    engine.Config
	n      int
	rungs  []string
	said   []compact.Event
}

func newTalk(t testing.TB, window int, ladder *compact.Ladder) *talk {
	k := &talk{t: t, ladder: ladder, store: engine.Memory(stamp())}
	ladder.Observe = func(ev compact.Event) { k.said = append(k.said, ev) }
	k.cfg = engine.Config{Caps: caps.Window(window), Ladder: ladder, NoUsage: true, Observe: func(ev engine.Event) {
		if ev.Kind == engine.Compacted {
			k.rungs = append(k.rungs, ev.Rung)
		}
	}}
	k.e = engine.New(k.store, k.cfg)
	t.Cleanup(func() { k.e.Close() })
	return k
}

// reopen goes on with another engine and another ladder over the same log.
func (k *talk) reopen(ladder *compact.Ladder) {
	k.t.Helper()
	k.e.Close()
	again, err := k.store.Reopen()
	must(k.t, err)
	ladder.Observe = func(ev compact.Event) { k.said = append(k.said, ev) }
	k.store, k.ladder, k.cfg.Ladder = again, ladder, ladder
	k.e = engine.New(again, k.cfg)
	k.t.Cleanup(k.e.Close)
}

// turn is one prompt of about 25 tokens and a reply of words tokens.
func (k *talk) turn(words int) *engine.Request {
	k.t.Helper()
	ctx := context.Background()
	must(k.t, k.e.Append(message.User(fmt.Sprintf("prompt %d NEEDLE-%d", k.n, k.n))))
	req, err := k.e.Prepare(ctx)
	must(k.t, err)
	r := message.Assistant(message.Text(fmt.Sprintf("reply %d ", k.n) + strings.Repeat("answer ", words)))
	r.ID = fmt.Sprintf("m%d", k.n)
	must(k.t, k.e.Record(ctx, req, r))
	k.n++
	return req
}

// total is the size of the next request.
func (k *talk) total() int { return k.e.Context().Total }

// heard counts what the ladder said of a kind.
func (k *talk) heard(kind compact.EventKind) int {
	n := 0
	for _, ev := range k.said {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// until takes turns until something holds.
func (k *talk) until(words int, what string, ok func() bool) {
	k.t.Helper()
	for range 400 {
		if ok() {
			return
		}
		k.turn(words)
	}
	k.t.Fatalf("%s never happened; rungs %v, total %d, said %+v", what, k.rungs, k.total(), k.said)
}

func (k *talk) settle() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	must(k.t, k.ladder.Settle(ctx))
}

// TestDraft: G-11. From the warning threshold on a summary is made in the background;
// no request waits for it, and at the threshold it stands for what it covers, with
// what was said since behind it word for word.
func TestDraft(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	begun := k.total()
	if b := k.e.Context().Budget; begun < b.Warning || begun >= b.Auto {
		t.Errorf("begun at %d, warning %d, threshold %d", begun, b.Warning, b.Auto)
	}
	covered := k.n - 1 // the prompt that waited stays
	k.turn(300)
	k.turn(300)
	if m.calls() > 1 || k.heard(compact.Drafted) != 0 || len(k.rungs) != 0 {
		t.Fatalf("%d calls, %v", m.calls(), k.said)
	}
	m.let <- struct{}{}
	k.settle()
	k.until(300, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "draft" || m.calls() != 1 {
		t.Fatalf("rungs %v after %d calls", k.rungs, m.calls())
	}
	got := dump(k.e)
	if !strings.Contains(got, "draft number 1") {
		t.Errorf("the summary is not in the view:\n%.400s", got)
	}
	for i := range k.n {
		if has := strings.Contains(got, fmt.Sprintf("reply %d ", i)); has != (i >= covered) {
			t.Errorf("reply %d of %d in the view: %v, the draft covers %d", i, k.n, has, covered)
		}
	}
	b, err := k.e.View().Boundary.Boundary()
	must(t, err)
	if b.Own.Rung != "draft" || b.Own.CoversHash == "" {
		t.Errorf("boundary %+v", b.Own)
	}
	if s := k.ladder.Stats(); s.Calls != 1 || s.Accepted != 1 || s.Drafts != 1 || s.Failed != 0 || s.Dropped != 0 {
		t.Errorf("stats %+v", s)
	}
}

// TestDraftNobodyWaits: G-11, openai/codex#16278, aaif-goose/goose#11072. A summary
// that never arrives holds no request up: the ledger stands in before the window is
// full, and the question is given up.
func TestDraftNobodyWaits(t *testing.T) {
	m := newSlow() // never lets go
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "ledger" || k.heard(compact.Dropped) != 1 {
		t.Errorf("rungs %v, %d drafts dropped", k.rungs, k.heard(compact.Dropped))
	}
	k.e.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != len(m.asked) {
		t.Errorf("%d questions, %d given up", len(m.asked), m.ended)
	}
}

// TestDraftTimesOut: openai/codex#16278. A summary that takes longer than it may
// fails, the conversation is as it was, and a resume goes on with it.
func TestDraftTimesOut(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Limits: compact.Limits{Wait: 30 * time.Millisecond}})
	for range 20 {
		k.turn(300)
	}
	before := dump(k.e)
	rep, err := k.e.Compact(context.Background(), engine.Ask{})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "ledger" {
		t.Errorf("%+v", rep) // a model that hangs does not keep the user from compacting
	}
	if k.heard(compact.Failed) != 1 || !strings.Contains(k.said[0].Detail, compact.ErrNoReply.Error()) {
		t.Errorf("said %+v", k.said)
	}
	must(t, func() error { _, err := k.e.Undo(context.Background(), k.e.View().Boundary.UUID); return err }())
	if dump(k.e) != before {
		t.Error("the conversation changed")
	}
	k.reopen(&compact.Ladder{Facts: noFacts})
	if dump(k.e) != before {
		t.Error("the conversation changed over a resume")
	}
}

// TestDraftOfAnother: G-11. A draft is dropped when what it covers changed, and counts
// as a summary that was made for nothing.
func TestDraftOfAnother(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	m.let <- struct{}{}
	k.settle()
	k.turn(10)
	if k.heard(compact.Drafted) != 1 {
		t.Fatalf("said %+v", k.said)
	}
	// The person goes back to the middle: what the draft covers is not the
	// conversation any more.
	v := k.e.View()
	leaf := v.Messages[10].Blocks[0].Entry
	st := stamp()
	must(t, k.store.Append(st.LastPrompt("", leaf, true)))
	again, err := k.store.Reopen()
	must(t, err)
	next := newSlow()
	next.let <- struct{}{}
	next.say = func(int, compact.SummaryRequest) (string, error) { return "<summary>of another way</summary>", nil }
	ladder := &compact.Ladder{Summarizer: next, Facts: noFacts, Policy: compact.Policy{Drafts: true}}
	e := engine.New(again, engine.Config{Caps: k.cfg.Caps, NoUsage: true, Ladder: ladder})
	defer e.Close()
	if n := len(e.View().Messages); n != 11 {
		t.Fatalf("%d messages after going back", n)
	}
	must(t, e.Append(message.User("another way")))
	_, err = e.Prepare(context.Background())
	must(t, err)
	rep, err := e.Overflow(context.Background(), 0)
	must(t, err)
	if len(rep.Rungs) == 0 || rep.Rungs[0] == "draft" {
		t.Errorf("%+v", rep)
	}
	if strings.Contains(dump(e), "draft number 1") {
		t.Errorf("a summary of what is no more stands in the view:\n%s", dump(e))
	}
}

// TestDraftChanged: G-11. Whatever compacts while a draft is made makes it useless.
func TestDraftChanged(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	m.let <- struct{}{} // for the draft or for the manual one, as it happens
	m.let <- struct{}{}
	k.settle()
	_, err := k.e.Compact(context.Background(), engine.Ask{})
	must(t, err)
	if k.rungs[0] != "full" || k.heard(compact.Dropped) != 1 {
		t.Errorf("rungs %v, said %+v", k.rungs, k.said)
	}
	if got := dump(k.e); strings.Contains(got, "draft number 1") {
		t.Errorf("the draft stands in the view:\n%s", got)
	}
}

// TestDraftResume: G-11, C-17. A draft is kept with the log: another process uses it
// without asking again.
func TestDraftResume(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	m.let <- struct{}{}
	k.settle()
	k.turn(300)
	never := newSlow()
	k.reopen(&compact.Ladder{Summarizer: never, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "draft" || never.calls() != 0 || !strings.Contains(dump(k.e), "draft number 1") {
		t.Errorf("rungs %v, %d calls", k.rungs, never.calls())
	}
}

// TestDraftFails: C-12, Aider-AI/aider#5689. A draft that fails leaves the
// conversation as it is, is said, and counts for the breaker.
func TestDraftFails(t *testing.T) {
	for name, say := range map[string]func(int, compact.SummaryRequest) (string, error){
		"refused": func(int, compact.SummaryRequest) (string, error) { return "", errors.New("refused") },
		"empty":   func(int, compact.SummaryRequest) (string, error) { return "", nil },
		"inflated": func(int, compact.SummaryRequest) (string, error) {
			return "<summary>" + strings.Repeat("words and words ", 20_000) + "</summary>", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSlow()
			m.say = say
			for range cap(m.let) {
				m.let <- struct{}{}
			}
			k := newTalk(t, 12_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
			for len(k.rungs) < 5 {
				k.turn(100)
				k.settle()
			}
			for _, r := range k.rungs {
				if r != "ledger" {
					t.Errorf("rungs %v", k.rungs)
				}
			}
			if s := k.ladder.Stats(); s.Failed != 3 || s.Accepted != 0 || s.Calls > 2*3 || k.heard(compact.Breaker) != 1 {
				t.Errorf("%+v, said so %d times", s, k.heard(compact.Breaker))
			}
		})
	}
}

// TestCollapse: C-17. In collapse mode stretches of the oldest rounds are summarized
// from nine tenths of the window on, and committed as one boundary at 95 %.
func TestCollapse(t *testing.T) {
	m := newSlow()
	for range cap(m.let) {
		m.let <- struct{}{}
	}
	k := newTalk(t, 60_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Mode: compact.Collapse}})
	eff := k.e.Context().Budget.Effective
	for due := false; len(k.rungs) == 0; {
		if k.n > 400 || due {
			t.Fatalf("nothing happened at %d of %d tokens: %+v", k.total(), eff, k.said)
		}
		at := k.total()
		due = at >= eff*95/100 // the next request is preceded by the compaction
		if k.heard(compact.Drafting) > 0 && at < eff*88/100 {
			t.Fatalf("begun at %d of %d", at, eff)
		}
		k.turn(250)
		k.settle()
	}
	drafts := k.heard(compact.Drafted)
	if k.rungs[0] != "collapse" || drafts < 2 || drafts != m.calls() {
		t.Fatalf("rungs %v, %d drafts, %d calls", k.rungs, drafts, m.calls())
	}
	got := dump(k.e)
	at := 0
	for i := 1; i <= drafts; i++ {
		part := fmt.Sprintf("Part %d of %d, in the order of time.\\nSummary:\\ndraft number %d", i, drafts, i)
		n := strings.Index(got[at:], part)
		if n < 0 {
			t.Fatalf("part %d is missing or out of order:\n%.600s", i, got)
		}
		at += n
	}
	if strings.Contains(got, "NEEDLE-0\"") || !strings.Contains(got, fmt.Sprintf("NEEDLE-%d\"", k.n-1)) {
		t.Error("the oldest rounds stay or the newest are gone")
	}
	// Each stretch is asked about as what lies behind the one before it.
	for i, r := range m.asked {
		if ranged := strings.Contains(r.Prompt, "A stretch in the middle"); ranged != (i > 0) {
			t.Errorf("question %d:\n%s", i+1, r.Prompt)
		}
		if i > 0 && len(r.Messages) <= len(m.asked[i-1].Messages) {
			t.Errorf("question %d shows %d messages, the one before %d", i+1, len(r.Messages), len(m.asked[i-1].Messages))
		}
	}
	if n := strings.Count(dump(k.e), "draft number"); n != drafts {
		t.Errorf("%d summaries in the view", n)
	}
}

// TestCollapseDrain: C-7, C-17, L-1. An overflow commits what is staged at once.
func TestCollapseDrain(t *testing.T) {
	m := newSlow()
	m.let <- struct{}{}
	k := newTalk(t, 60_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Mode: compact.Collapse}})
	k.until(250, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	k.settle()
	k.turn(10)
	begun := k.heard(compact.Drafting) // the question of one may arrive any moment
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rep, err := k.e.Overflow(ctx, 500)
	if err != nil {
		t.Fatalf("%v; said %+v", err, k.said)
	}
	if len(rep.Rungs) == 0 || rep.Rungs[0] != "collapse" || !strings.Contains(dump(k.e), "draft number 1") {
		t.Errorf("%+v", rep)
	}
	if k.heard(compact.Drafting) != begun || m.calls() > begun {
		t.Errorf("%d questions, %d drafts: a summary was asked for while the request waited", m.calls(), begun)
	}
}

// TestCollapseIsAutomatic: C-17, C-11. Collapse mode replaces automatic compaction:
// between the threshold and 95 % nothing is committed.
func TestCollapseIsAutomatic(t *testing.T) {
	k := newTalk(t, 60_000, &compact.Ladder{Summarizer: newSlow(), Facts: noFacts, Policy: compact.Policy{Mode: compact.Collapse}})
	b := k.e.Context().Budget
	k.until(250, "the threshold", func() bool { return k.total() > b.Auto })
	if len(k.rungs) != 0 {
		t.Fatalf("rungs %v at %d, threshold %d", k.rungs, k.total(), b.Auto)
	}
	k.until(250, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "ledger" { // the summary never came
		t.Errorf("rungs %v", k.rungs)
	}
}

// TestDraftsOff: O-5, G-11. Without Drafts nothing is asked in the background.
func TestDraftsOff(t *testing.T) {
	m := newSlow()
	for range cap(m.let) {
		m.let <- struct{}{}
	}
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts})
	k.until(300, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "full" || k.heard(compact.Drafting) != 0 {
		t.Errorf("rungs %v, said %+v", k.rungs, k.said)
	}
}

// TestDraftEntries: T-11, G-11. A draft in the log changes no view, for no reader.
func TestDraftEntries(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	m.let <- struct{}{}
	k.settle()
	k.turn(10)
	log := k.store.Log()
	n := 0
	for _, e := range log.Entries {
		if e.Type == transcript.TypeCovers {
			n++
			if e.IsChain() {
				t.Error("a draft takes part in the chain")
			}
		}
	}
	if n != 1 {
		t.Errorf("%d drafts in the log", n)
	}
	want := dump(k.e)
	k.reopen(&compact.Ladder{})
	if dump(k.e) != want {
		t.Error("a draft changes the view of who does not use it")
	}
}
