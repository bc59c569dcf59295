package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// hanging never answers; the ladder has to give it up.
type hanging struct{ calls int }

func (h *hanging) Summarize(ctx context.Context, _ compact.SummaryRequest) (string, error) {
	h.calls++
	<-ctx.Done()
	return "", ctx.Err()
}

// anyServer is a provider that summarizes, or not, as the draw says.
type anyServer struct {
	calls int
	bad   string
}

func (s *anyServer) Compact(ctx context.Context, _ compact.SummaryRequest) (compact.ServerSummary, error) {
	s.calls++
	switch s.bad {
	case "none":
		return compact.ServerSummary{}, compact.ErrNoSummary
	case "empty":
		return compact.ServerSummary{}, nil
	case "hangs":
		<-ctx.Done()
		return compact.ServerSummary{}, ctx.Err()
	case "opaque":
		return compact.ServerSummary{Native: compact.Native{Provider: "other", Items: []json.RawMessage{[]byte(`{"type":"compaction","encrypted_content":"x"}`)}}}, nil
	case "damaged":
		return compact.ServerSummary{Native: compact.Native{Provider: "anthropic", Items: []json.RawMessage{[]byte(`"no block"`)}}, Text: "words"}, nil
	}
	raw := fmt.Sprintf(`{"type":"compaction","content":"by the server %d","signature":"s"}`, s.calls)
	return compact.ServerSummary{Native: compact.Native{Provider: "anthropic", Items: []json.RawMessage{[]byte(raw)}}, Text: "by the server"}, nil
}

// TestPropRungs: C-15, G-1, G-4, C-12. Every rung and sequences of them over generated
// logs, damaged ones included: what results is valid, never larger, made in the same
// way twice, read back as it was, taken back to what it was; and whoever summarizes,
// and however badly, is asked a bounded number of times.
func TestPropRungs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		b := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(seed, 1)), loggen.Options{
			Turns: rapid.IntRange(1, most(3, 16)).Draw(t, "turns"), Boundaries: true, Rewinds: true, Thinking: true,
			Damage: rapid.Bool().Draw(t, "damage"), Text: rapid.SampledFrom([]int{20, 400}).Draw(t, "text")}))
		window := rapid.SampledFrom([]int{4_000, 8_000, 20_000}).Draw(t, "window")
		who := rapid.SampledFrom([]string{"ledger", "good", "empty", "inflated", "refusing", "too long", "hanging", "calling",
			"server", "server none", "server empty", "server hangs", "server opaque", "server damaged"}).Draw(t, "who")
		bound := rapid.Bool().Draw(t, "bound")
		ask := rapid.SliceOfN(rapid.SampledFrom([]string{"manual", "overflow", "prompt", "undo", "from", "up_to"}), 1, most(3, 6)).Draw(t, "steps")

		one, calls := runRungs(t, b, window, who, bound, ask, seed)
		two, _ := runRungs(t, b, window, who, bound, ask, seed)
		if one != two {
			t.Fatalf("the same steps lead to different logs:\n%s\n---\n%s", one, two)
		}
		if limit := len(ask)*5 + 1; calls > limit {
			t.Fatalf("%s was asked %d times in %d steps", who, calls, len(ask))
		}
	})
}

// ladderOf returns a ladder with whoever summarizes and the count of questions.
func ladderOf(who string) (*compact.Ladder, func() int) {
	l := &compact.Ladder{}
	if who == "hanging" || who == "server hangs" {
		l.Limits.Wait = time.Millisecond // everybody else answers at once
	}
	if kind, ok := strings.CutPrefix(who, "server"); ok {
		s := &anyServer{bad: strings.TrimSpace(kind)}
		l.Server = s
		return l, func() int { return s.calls }
	}
	switch who {
	case "ledger":
		return l, func() int { return 0 }
	case "hanging":
		h := &hanging{}
		l.Summarizer = h
		return l, func() int { return h.calls }
	}
	m := &model{say: adversaries[who]}
	if who == "calling" { // what a caller makes of a call without text
		m.say = func(int, compact.SummaryRequest) (string, error) { return "", errors.New("the reply calls a tool") }
	}
	l.Summarizer = m
	return l, func() int { return m.calls }
}

// runRungs takes steps over a log and returns what was appended.
func runRungs(t *rapid.T, log []byte, window int, who string, bound bool, ask []string, seed uint64) (appended string, calls int) {
	ctx := context.Background()
	l, err := transcript.Read(ctx, strings.NewReader(string(log)), int64(len(log)), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ladder, asked := ladderOf(who)
	cfg := engine.Config{Caps: caps.Window(window), Ladder: ladder}
	cfg.Caps.Provider, cfg.Caps.PrefixBound = "anthropic", bound
	cfg.Caps.Compaction.OnDemand = strings.HasPrefix(who, "server")
	cfg.Caps.Prefill = true
	store, given := engine.MemoryOf(stamp(), l), len(l.Entries)
	e := engine.New(store, cfg)
	rnd := rand.New(rand.NewPCG(seed, 2))
	for n, step := range ask {
		was, boundary := dump(e), e.View().Boundary
		var rep engine.Report
		switch step {
		case "manual":
			rep, err = e.Compact(ctx, engine.Ask{})
		case "from", "up_to":
			rep, err = e.Compact(ctx, part(e, step, rnd))
		case "overflow":
			rep, err = e.Overflow(ctx, rnd.IntN(2)*500)
		case "undo":
			if boundary != nil {
				_, err = e.Undo(ctx, boundary.UUID)
			}
		case "prompt":
			err = e.Append(message.User(fmt.Sprint("go on ", n)))
		}
		var full *engine.FullError
		if errors.As(err, &full) {
			continue // refused, and said why
		}
		if err != nil {
			t.Fatalf("step %d, %s: %v", n, step, err)
		}
		if len(rep.Rungs) > 0 && rep.After > rep.Before {
			t.Fatalf("step %d, %s: %+v", n, step, rep)
		}
		if step == "manual" && len(rep.Rungs) == 1 {
			undone(t, engine.New(readBack(t, log, store, given), cfg), e, was)
		}
		req, err := e.Prepare(ctx)
		switch {
		case errors.Is(err, engine.ErrNotReady):
		case errors.As(err, &full):
		case err != nil:
			t.Fatalf("step %d, %s: %v", n, step, err)
		case req.Tokens > req.Budget.Effective:
			t.Fatalf("step %d, %s: %d tokens, room for %d", n, step, req.Tokens, req.Budget.Effective)
		}
		if got, want := dump(engine.New(readBack(t, log, store, given), cfg)), dump(e); got != want {
			t.Fatalf("step %d, %s: read back\n%s\nwant\n%s", n, step, got, want)
		}
	}
	return appendedTo(t, store, given), asked()
}

// appendedTo returns the lines behind the first n entries.
func appendedTo(t *rapid.T, store *engine.Mem, n int) string {
	var b strings.Builder
	for _, e := range store.Log().Entries[n:] {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

// readBack opens what is on the disk: the log as it was, damaged lines included, and
// what was appended.
func readBack(t *rapid.T, log []byte, store *engine.Mem, n int) *engine.Mem {
	all := string(log)
	if !strings.HasSuffix(all, "\n") {
		all += "\n"
	}
	all += appendedTo(t, store, n)
	l, err := transcript.Read(context.Background(), strings.NewReader(all), int64(len(all)), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.MemoryOf(store.Stamp(), l)
}

// part asks for a partial compaction around some message.
func part(e *engine.Engine, kind string, rnd *rand.Rand) engine.Ask {
	ms := e.View().Messages
	if len(ms) == 0 {
		return engine.Ask{}
	}
	id := ""
	for _, b := range ms[rnd.IntN(len(ms))].Blocks {
		id = b.Entry
	}
	if kind == "from" {
		return engine.Ask{From: id}
	}
	return engine.Ask{UpTo: id}
}

// undone takes the newest boundary back in a copy of the session: what was there
// before is there again, but for the repairs that were written, which are shown as
// they were, and reasoning, which may have been stripped.
func undone(t *rapid.T, copied, e *engine.Engine, was string) {
	_, err := copied.Undo(context.Background(), e.View().Boundary.UUID)
	var full *engine.FullError
	if errors.As(err, &full) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := dump(copied); got != was && !strings.Contains(was, `"type":"thinking"`) && !strings.Contains(was, `"type":"redacted_thinking"`) {
		t.Fatalf("after an undo\n%s\nwant\n%s", got, was)
	}
}
