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
	"varve.dev/transcript"
)

// notesOf are session notes that cover the conversation up to an entry.
type notesOf struct{ text, upTo string }

func (n notesOf) Current(context.Context) (string, string, bool) { return n.text, n.upTo, true }

// asked keeps the situation that an engine asks its ladder about.
type asked struct {
	compact.Ladder
	s compact.Situation
}

func (a *asked) Plan(_ context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	a.s = s
	return "", nil, nil
}

// wide is an engine over 10,000 messages with calls and results, and the situation
// before its next request.
func wide(b *testing.B) (*asked, string) {
	b.Helper()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	st := stamp()
	st.Now = func() time.Time { return now }
	var log strings.Builder
	parent, covered := "null", ""
	line := func(id, rest string) {
		fmt.Fprintf(&log, `{"parentUuid":%s,"isSidechain":false,"timestamp":"2026-05-01T00:00:00.000Z","sessionId":"5e55","uuid":%q,%s}`+"\n", parent, id, rest)
		parent = fmt.Sprintf("%q", id)
	}
	for i := range 2_500 {
		line(fmt.Sprint("u", i), fmt.Sprintf(`"type":"user","message":{"role":"user","content":"prompt %d: look at the next part and say what is wrong with it"}`, i))
		line(fmt.Sprint("a", i), fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","id":"m%d","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{"file_path":"/src/a.go"}}]}`, i, i))
		line(fmt.Sprint("r", i), fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, strings.Repeat("a line of it\n", 20)))
		line(fmt.Sprint("b", i), fmt.Sprintf(`"type":"assistant","message":{"role":"assistant","id":"n%d","content":[{"type":"text","text":"this part is fine"}]}`, i))
		if i == 2_000 {
			covered = fmt.Sprint("b", i)
		}
	}
	ctx := context.Background()
	l, err := transcript.Read(ctx, strings.NewReader(log.String()), int64(log.Len()), transcript.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	a := &asked{}
	e := engine.New(engine.MemoryOf(st, l), engine.Config{Caps: caps.Window(100_000_000), Now: st.Now, NoUsage: true, Ladder: a})
	if err := e.Append(message.User("and now")); err != nil {
		b.Fatal(err)
	}
	if _, err := e.Overflow(ctx, 0); err != nil { // asks the ladder, which keeps the question
		b.Fatal(err)
	}
	if n := len(a.s.View.Messages); n < 10_000 {
		b.Fatalf("%d messages", n)
	}
	now = now.Add(time.Hour) // the cache is cold
	a.Now = st.Now
	return a, covered
}

// BenchmarkMicro is the look at L2 before a request, for a cache that is warm and one
// that is cold. Limit: 1 ms at 10,000 messages (DESIGN section 9).
func BenchmarkMicro(b *testing.B) {
	a, _ := wide(b)
	for name, cold := range map[string]bool{"warm": false, "cold": true} {
		b.Run(name, func(b *testing.B) {
			l := &compact.Ladder{Now: a.Now}
			if !cold {
				l.Now = a.s.Stamp.Now
				a.s.Lifetime = 48 * time.Hour
				defer func() { a.s.Lifetime = 0 }()
			}
			b.ReportAllocs()
			best := time.Hour
			for b.Loop() {
				start := time.Now()
				_, plan, err := l.Watch(context.Background(), a.s)
				best = min(best, time.Since(start))
				if err != nil || cold != (len(plan) == 1) {
					b.Fatal(len(plan), err)
				}
			}
			b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
		})
	}
}

// BenchmarkCleared is the bookkeeping of L1: which results a server says it cleared.
func BenchmarkCleared(b *testing.B) {
	a, _ := wide(b)
	b.ReportAllocs()
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		c := compact.ParseCleared([]byte(`[{"type":"clear_tool_uses_20250919","cleared_tool_uses":2400,"cleared_input_tokens":200000}]`))
		if len(c.Results(a.s.View, nil)) != 2400 {
			b.Fatal("results")
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
}

// BenchmarkNotes is the plan of L3 with notes at hand, with the trial of the view that
// it leads to. Limit: 10 ms at 10,000 messages.
func BenchmarkNotes(b *testing.B) {
	a, covered := wide(b)
	s := a.s
	s.Cause, s.Target = compact.CauseThreshold, s.Total-1
	b.ReportAllocs()
	best := time.Hour
	l := &compact.Ladder{Now: a.Now, Notes: notesOf{"# Notes\nwhat was done", covered}}
	for b.Loop() {
		l.Reset()
		start := time.Now()
		rung, plan, err := l.Plan(context.Background(), s)
		best = min(best, time.Since(start))
		if err != nil || rung != "notes" || len(plan) == 0 {
			b.Fatal(rung, len(plan), err)
		}
	}
	b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
}
