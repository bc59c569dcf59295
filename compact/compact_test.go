package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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

func stamp() transcript.Stamp {
	n := 0
	return transcript.Stamp{SessionID: "5e55", CWD: "/work/app", Version: "1", GitBranch: "main",
		Now:   func() time.Time { return time.Date(2026, 5, 1, 0, 0, n, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("e%d", n) }}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// most is the bound of a drawn size: the second with VARVE_FULL.
func most(quick, full int) int {
	if os.Getenv("VARVE_FULL") != "" {
		return full
	}
	return quick
}

// model is a scripted summarizer that counts its calls.
type model struct {
	calls int
	say   func(call int, r compact.SummaryRequest) (string, error)
}

func (m *model) Summarize(_ context.Context, r compact.SummaryRequest) (string, error) {
	m.calls++
	return m.say(m.calls, r)
}

// adversaries are summarizers that fail in every way a model can.
var adversaries = map[string]func(int, compact.SummaryRequest) (string, error){
	"good": func(n int, _ compact.SummaryRequest) (string, error) {
		return "<analysis>x</analysis><summary>short and fine</summary>", nil
	},
	"empty": func(int, compact.SummaryRequest) (string, error) { return "", nil },
	"draft": func(int, compact.SummaryRequest) (string, error) { return "<analysis>only a draft</analysis>", nil },
	"open":  func(int, compact.SummaryRequest) (string, error) { return "<analysis>cut off", nil },
	"inflated": func(int, compact.SummaryRequest) (string, error) {
		return "<summary>" + strings.Repeat("words and words ", 20_000) + "</summary>", nil
	},
	"refusing": func(int, compact.SummaryRequest) (string, error) { return "", errors.New("refused") },
	"too long": func(int, compact.SummaryRequest) (string, error) { return "", &compact.TooLongError{Gap: 5_000} },
	"unknown":  func(int, compact.SummaryRequest) (string, error) { return "", compact.ErrTooLong },
	"shrinking": func(n int, r compact.SummaryRequest) (string, error) {
		if len(r.Messages) > 4 {
			return "", compact.ErrTooLong
		}
		return "plain text without tags", nil
	},
}

// TestPropFits: G-1, G-4, C-12, C-15. A conversation of any shape on a window of any
// size, with a summarizer that fails in any way: every request is valid and fits,
// or the error says which part does not; the summarizer is asked a bounded number
// of times.
func TestPropFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		window := rapid.SampledFrom([]int{4_000, 8_000, most(8_000, 32_000)}).Draw(t, "window")
		kind := rapid.SampledFrom([]string{"none", "good", "empty", "draft", "open", "inflated", "refusing", "too long", "unknown", "shrinking"}).Draw(t, "summarizer")
		ladder := &compact.Ladder{}
		m := &model{say: adversaries[kind]}
		if kind != "none" {
			ladder.Summarizer = m
		}
		cfg := engine.Config{Caps: caps.Window(window), System: []byte(`"sys"`), Ladder: ladder}
		cfg.Caps.PrefixBound = rapid.Bool().Draw(t, "bound")
		var lost []engine.Event
		cfg.Observe = func(ev engine.Event) {
			if ev.Kind == engine.PrefixLost {
				lost = append(lost, ev)
			}
		}
		store := engine.Memory(stamp())
		e := engine.New(store, cfg)
		ctx := context.Background()
		n := 0
		for range rapid.IntRange(1, most(8, 30)).Draw(t, "turns") {
			n++
			if err := e.Append(message.User(fmt.Sprintf("prompt %d %s", n, strings.Repeat("more words ", rnd.IntN(120))))); err != nil {
				t.Fatal(err)
			}
			for step := range rnd.IntN(3) + 1 {
				req, err := e.Prepare(ctx)
				var full *engine.FullError
				if errors.As(err, &full) {
					break // one round alone is larger than the window
				}
				if err != nil {
					t.Fatal(err)
				}
				if req.Tokens > req.Budget.Effective {
					t.Fatalf("%d tokens, room for %d", req.Tokens, req.Budget.Effective)
				}
				id := fmt.Sprintf("m%d-%d", n, step)
				call := "c" + id
				b, err := message.ToolUse(call, "Read", json.RawMessage(`{"file_path":"/work/`+call+`"}`))
				if err != nil {
					t.Fatal(err)
				}
				r := message.Assistant(message.Thinking("hm "+id, "c2ln"+id), message.Text("looking"), b)
				r.ID = id
				if err := e.Record(ctx, req, r); err != nil {
					t.Fatal(err)
				}
				if err := e.Append(message.UserBlocks(message.ToolResult(call, false, message.Text(strings.Repeat("line of output\n", rnd.IntN(200)))))); err != nil {
					t.Fatal(err)
				}
			}
		}
		if kind != "none" && kind != "good" && kind != "shrinking" && m.calls > 3*4 {
			t.Fatalf("a summarizer that is %s was asked %d times", kind, m.calls)
		}
		if len(lost) > 0 {
			t.Fatalf("%+v", lost)
		}
		again, err := store.Reopen()
		if err != nil {
			t.Fatal(err)
		}
		e2 := engine.New(again, cfg)
		if a, b := dump(e), dump(e2); a != b {
			t.Fatalf("replayed view differs:\n%s\n---\n%s", a, b)
		}
	})
}

func dump(e *engine.Engine) string {
	var b strings.Builder
	for _, m := range e.View().Plain() {
		b.Write(m.AppendRequest(nil))
		b.WriteByte('\n')
	}
	return b.String()
}

// filled is an engine with a conversation that nearly fills its window.
func filled(t testing.TB, model caps.Model, ladder *compact.Ladder, turns, words int) *engine.Engine {
	t.Helper()
	ctx := context.Background()
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: model, Ladder: ladder})
	for i := range turns {
		must(t, e.Append(message.User(fmt.Sprintf("prompt %d NEEDLE-%d", i, i))))
		req, err := e.Prepare(ctx)
		must(t, err)
		r := message.Assistant(message.Thinking("hm", fmt.Sprint("sig", i)), message.Text(strings.Repeat("answer ", words)))
		r.ID = fmt.Sprintf("m%d", i)
		must(t, e.Record(ctx, req, r))
	}
	return e
}

// TestManual: C-11, C-13, C-14, G-3. A manual compaction goes straight to the full
// rung, is one boundary that says what left, and can be taken back.
func TestManual(t *testing.T) {
	ctx := context.Background()
	m := &model{say: adversaries["good"]}
	e := filled(t, caps.Window(100_000), &compact.Ladder{Summarizer: m}, 12, 200)
	before := dump(e)
	rep, err := e.Compact(ctx, engine.Ask{Instructions: "keep the names"})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "full" || rep.After >= rep.Before || m.calls != 1 {
		t.Fatalf("report %+v after %d calls", rep, m.calls)
	}
	b := e.View().Boundary
	meta, err := b.Boundary()
	must(t, err)
	var loss compact.Loss
	must(t, json.Unmarshal(meta.Own.Loss, &loss))
	if meta.Trigger != "manual" || meta.PostTokens <= 0 || meta.PreTokens <= meta.PostTokens || loss.Messages != 24 || len(loss.Entries) == 0 || meta.Own.CoversHash == "" || b.LogicalParentUUID == "" {
		t.Errorf("boundary %+v, loss %+v", meta, loss)
	}
	if !strings.Contains(dump(e), "short and fine") || !strings.Contains(dump(e), "NEEDLE-3") {
		t.Errorf("the summary, or what it left out, is missing:\n%s", dump(e))
	}
	_, err = e.Undo(ctx, b.UUID)
	must(t, err)
	if dump(e) != before {
		t.Errorf("after undo\n%s\nwant\n%s", dump(e), before)
	}
}

// TestPartial: C-8. from keeps the head and summarizes the rest, up_to the other way.
func TestPartial(t *testing.T) {
	ctx := context.Background()
	for _, variant := range []string{"from", "up_to"} {
		t.Run(variant, func(t *testing.T) {
			var asked compact.SummaryRequest
			m := &model{say: func(_ int, r compact.SummaryRequest) (string, error) {
				asked = r
				return "<summary>part</summary>", nil
			}}
			e := filled(t, caps.Window(100_000), &compact.Ladder{Summarizer: m, Facts: noFacts}, 10, 100)
			pivot := ""
			for _, b := range e.View().Messages[8].Blocks {
				pivot = b.Entry
			}
			ask := engine.Ask{From: pivot}
			if variant == "up_to" {
				ask = engine.Ask{UpTo: pivot}
			}
			_, err := e.Compact(ctx, ask)
			must(t, err)
			got := dump(e)
			early, late := strings.Contains(got, "NEEDLE-1\""), strings.Contains(got, "NEEDLE-8\"")
			if variant == "from" && (!early || late) || variant == "up_to" && (early || !late) {
				t.Errorf("%s: early %v, late %v\n%s", variant, early, late, got)
			}
			if variant == "from" != (strings.Index(got, "part") > strings.Index(got, "NEEDLE-1\"") && early) {
				t.Errorf("the summary stands at the wrong place:\n%s", got)
			}
			if variant == "up_to" && len(asked.Messages) != 8 {
				t.Errorf("asked about %d messages", len(asked.Messages))
			}
		})
	}
}

// noFacts is a ledger that knows nothing.
func noFacts([]*transcript.Entry) compact.Facts { return nothing{} }

type nothing struct{}

func (nothing) Render(int, func(string) int) string                 { return "nothing is known" }
func (nothing) Complete(s string, _ int, _ func(string) int) string { return s }

// TestFromKeepsReasoning: C-8, C-0. On a model that binds reasoning to its prefix the
// automatic compaction keeps the head with its reasoning byte for byte.
func TestFromKeepsReasoning(t *testing.T) {
	model := caps.Window(9_000)
	model.PrefixBound = true
	e := filled(t, model, &compact.Ladder{Facts: noFacts}, 30, 150)
	b := e.View().Boundary
	if b == nil {
		t.Fatal("no compaction happened")
	}
	meta, err := b.Boundary()
	must(t, err)
	if meta.Own.Thinking != "keep" || meta.PreservedMessages == nil || meta.PreservedMessages.AnchorUUID != b.UUID {
		t.Errorf("boundary %+v", meta)
	}
	if !strings.Contains(dump(e), `"signature":"sig0"`) {
		t.Errorf("the reasoning of the head is gone:\n%.600s", dump(e))
	}
}

// TestOff: C-11, G-4. What is switched off is off on every path, and the error says
// by which switch.
func TestOff(t *testing.T) {
	ctx := context.Background()
	for _, mode := range []compact.Mode{compact.Off, compact.Manual} {
		ladder := &compact.Ladder{Facts: noFacts, Policy: compact.Policy{Mode: mode, Switch: "DISABLE_COMPACT"}}
		e := filled(t, caps.Window(60_000), ladder, 20, 200)
		if _, err := e.Overflow(ctx, 0); !errors.Is(err, compact.ErrOff) || !strings.Contains(err.Error(), "DISABLE_COMPACT") {
			t.Errorf("%s, overflow: %v", mode, err)
		}
		_, err := e.Compact(ctx, engine.Ask{})
		if mode == compact.Off && !errors.Is(err, compact.ErrOff) || mode == compact.Manual && err != nil {
			t.Errorf("%s, manual: %v", mode, err)
		}
	}
}

// TestMicro: C-3. After the cache's lifetime old results are cleared, the newest
// five and the current turn's stay; not on models that bind reasoning, and not
// when too little would be freed.
func TestMicro(t *testing.T) {
	for _, row := range []struct {
		name    string
		idle    time.Duration
		bound   bool
		size    int
		cleared int
	}{
		{"cold", 10 * time.Minute, false, 3000, 5},
		{"warm", time.Minute, false, 3000, 0},
		{"bound", 10 * time.Minute, true, 3000, 0},
		{"little", 10 * time.Minute, false, 100, 0},
		{"the clock went back", -10 * time.Minute, false, 3000, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			ctx := context.Background()
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			st := stamp()
			st.Now = func() time.Time { return now }
			model := caps.Window(400_000)
			model.PrefixBound = row.bound
			e := engine.New(engine.Memory(st), engine.Config{Caps: model, Now: st.Now, Ladder: &compact.Ladder{Now: st.Now, Facts: noFacts}})
			for i := range 10 {
				must(t, e.Append(message.User(fmt.Sprint("prompt ", i))))
				req, err := e.Prepare(ctx)
				must(t, err)
				b, err := message.ToolUse(fmt.Sprint("c", i), "Read", json.RawMessage(`{}`))
				must(t, err)
				r := message.Assistant(b)
				r.ID = fmt.Sprint("m", i)
				must(t, e.Record(ctx, req, r))
				must(t, e.Append(message.UserBlocks(message.ToolResult(fmt.Sprint("c", i), false, message.Text(strings.Repeat("out put ", row.size))))))
			}
			now = now.Add(row.idle)
			must(t, e.Append(message.User("and now")))
			_, err := e.Prepare(ctx)
			must(t, err)
			if got := strings.Count(dump(e), "[Old tool result content cleared]"); got != row.cleared {
				t.Errorf("%d results cleared, want %d", got, row.cleared)
			}
		})
	}
}

// TestBreaker: C-12, C-5, Kilo-Org/kilocode#13983. After three failures in a row, each
// of a fork and of a plain request behind it, no summary is asked for; a manual
// compaction still asks, an accepted one resets it.
func TestBreaker(t *testing.T) {
	ctx := context.Background()
	bad := true
	m := &model{say: func(int, compact.SummaryRequest) (string, error) {
		if bad {
			return "", nil
		}
		return "<summary>fine</summary>", nil
	}}
	var events []compact.Event
	ladder := &compact.Ladder{Summarizer: m, Facts: noFacts, Observe: func(ev compact.Event) { events = append(events, ev) }}
	e := filled(t, caps.Window(6_000), ladder, 60, 150)
	if m.calls != 6 {
		t.Fatalf("%d calls, want 6", m.calls)
	}
	told := 0
	for _, ev := range events {
		if ev.Kind == compact.Breaker {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the user was told %d times", told)
	}
	bad = false
	_, err := e.Compact(ctx, engine.Ask{})
	must(t, err)
	if m.calls != 7 {
		t.Errorf("a manual compaction made %d calls in all", m.calls)
	}
}

// TestPrompt: C-8. The structure of the prompts.
func TestPrompt(t *testing.T) {
	for _, v := range []compact.Variant{compact.Whole, compact.From, compact.UpTo, compact.Stretch} {
		p, err := compact.Prompt(v, "message 7", "keep the names")
		must(t, err)
		at := 0
		for _, want := range []string{"tool call", "<analysis>", "</analysis>", "<summary>", "1. Primary request", "2. Key technical concepts", "3. Files and code", "4. Errors and fixes",
			"5. Problem solving", "6. All user messages", "7. Pending tasks", "8. Current work", "9. ", "keep the names", "no tool calls"} {
			i := strings.Index(p[at:], want)
			if i < 0 {
				t.Fatalf("%s: %q is missing or out of order:\n%s", v, want, p)
			}
			at += i
		}
		if strings.Contains(p, "message 7") == (v == compact.Whole) {
			t.Errorf("%s names the pivot wrongly", v)
		}
		if strings.Contains(p, "9. Context for continuing") != (v == compact.UpTo || v == compact.Stretch) {
			t.Errorf("%s: section nine", v)
		}
	}
}

// TestParseSummary: C-9.
func TestParseSummary(t *testing.T) {
	rows := []struct {
		in, want string
		err      error
	}{
		{"<analysis>draft</analysis>\n<summary>\n1. A\n\n\n\n2. B  \n</summary>", "Summary:\n1. A\n\n2. B", nil},
		{"just text", "Summary:\njust text", nil},
		{"<analysis>x</analysis>just text", "Summary:\njust text", nil},
		{"<analysis>x</analysis>", "", compact.ErrNoSummary},
		{"<analysis>cut", "", compact.ErrOpenDraft},
		{"<analysis>not closed <summary>but here</summary>", "Summary:\nbut here", nil},
		{"", "", compact.ErrNoSummary},
		{"<summary></summary>", "", compact.ErrNoSummary},
		{"<summary>cut off in", "Summary:\ncut off in", nil},
	}
	for _, row := range rows {
		got, err := compact.ParseSummary(row.in)
		if got != row.want || !errors.Is(err, row.err) {
			t.Errorf("%q: %q, %v; want %q, %v", row.in, got, err, row.want, row.err)
		}
	}
}

// TestPropLogs: C-15 for every kind of log, damaged ones included, compacted as they
// are by hand and after an overflow.
func TestPropLogs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), loggen.Options{
			Turns: rapid.IntRange(2, most(6, 14)).Draw(t, "turns"), Boundaries: true, Rewinds: true, Thinking: true, Damage: rapid.Bool().Draw(t, "damage")}))
		l, err := transcript.Read(context.Background(), strings.NewReader(string(b)), int64(len(b)), transcript.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cfg := engine.Config{Caps: caps.Window(20_000), Ladder: &compact.Ladder{}}
		cfg.Caps.PrefixBound = rapid.Bool().Draw(t, "bound")
		e := engine.New(engine.MemoryOf(stamp(), l), cfg)
		ctx := context.Background()
		for range 3 {
			var rep engine.Report
			if rapid.Bool().Draw(t, "manual") {
				rep, err = e.Compact(ctx, engine.Ask{})
			} else {
				rep, err = e.Overflow(ctx, rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "gap"))
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(rep.Rungs) > 0 && rep.After > rep.Before {
				t.Fatalf("%+v", rep)
			}
			if err := e.Append(message.User("go on")); err != nil {
				t.Fatal(err)
			}
			req, err := e.Prepare(ctx)
			if err != nil {
				t.Fatal(err)
			}
			m := message.Assistant(message.Text("ok"))
			m.ID = "r" + req.Leaf
			if err := e.Record(ctx, req, m); err != nil {
				t.Fatal(err)
			}
		}
	})
}
