package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/llm"
	"varve.dev/llm/anthropic"
	"varve.dev/modelsim"
	"varve.dev/transcript"
	"varve.dev/view"
)

// summaryTalk is a conversation whose ladder asks the model itself.
func summaryTalk(t *testing.T, sim *modelsim.Server, name string, ladder *compact.Ladder, server bool, replies *[]*llm.Reply) *talk {
	t.Helper()
	c, ok := caps.Lookup("anthropic", name)
	if !ok {
		t.Fatal(name)
	}
	m := anthropic.New("any", name)
	m.BaseURL = sim.URL
	r := llm.NewRetry(m)
	r.Base = time.Millisecond
	s := llm.Summaries{Model: r, Observe: func(r *llm.Reply) { *replies = append(*replies, r) }}
	if ladder.Summarizer = s; server {
		ladder.Server = s
	}
	cfg := engine.Config{Caps: c, System: []byte(sysText), Tools: []byte(oneTool), Ladder: ladder}
	return &talk{t: t, model: r, e: engine.New(engine.Memory(transcript.Stamp{SessionID: "s", Now: time.Now}), cfg)}
}

const summaryScript = `
on summary
  think what was it
  say <analysis>first this, then that</analysis>
  say <summary>The user asked for words. NEEDLE-summary</summary>
on compaction
  say The server says: words were asked for.
on last ~ /prompt (\d+)/
  think about ${1}
  say A long answer about ${1}. %s
default
  say Going on.
`

// TestForkedSummary: C-5, G-12, the live summary of a model. The question is the main
// request with one message behind it, so that its cache serves all but the question;
// the conversation goes on without a violation, on a model that binds reasoning too.
func TestForkedSummary(t *testing.T) {
	for _, name := range []string{"claude-opus-5-5", "claude-opus-4-6"} {
		t.Run(name, func(t *testing.T) {
			script := strings.Replace(fmt.Sprintf(summaryScript, strings.Repeat("word ", 700)), "on summary", `on last ~ /<analysis>/`, 1)
			sim := modelsim.ForTest(t, modelsim.Config{Script: script})
			var replies []*llm.Reply
			k := summaryTalk(t, sim, name, &compact.Ladder{}, false, &replies)
			var last *llm.Reply
			for i := range 12 {
				last, _ = k.turn(fmt.Sprintf("prompt %d", i))
			}
			rep, err := k.e.Compact(t.Context(), engine.Ask{Instructions: "keep the numbers"})
			if err != nil || len(rep.Rungs) != 1 || rep.Rungs[0] != "full" || len(replies) != 1 {
				t.Fatalf("%+v, %v, %d questions", rep, err, len(replies))
			}
			read, main := replies[0].Message.Usage.CacheReadTokens, last.Message.Usage.ContextTokens()
			if share := float64(read) / float64(main); share < 0.9 {
				t.Errorf("%d of the main request's %d tokens came from the cache", read, main)
			}
			for i := 12; i < 15; i++ {
				k.turn(fmt.Sprintf("prompt %d", i))
			}
			if v := sim.Violations(); len(v) > 0 {
				t.Errorf("%d violations, first %s", len(v), v[0])
			}
			seen := false
			for _, m := range k.e.View().Plain() {
				for _, b := range m.Content {
					seen = seen || strings.Contains(b.Text, "NEEDLE-summary")
				}
			}
			if !seen {
				t.Error("the summary is not in the view")
			}
		})
	}
}

// TestServerRung: C-5 with the provider's own summary: what it returns goes back
// first, the conversation goes on without a violation, also with reasoning bound.
func TestServerRung(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Script: strings.Replace(fmt.Sprintf(summaryScript, strings.Repeat("word ", 700)), "on summary", `on last ~ /<analysis>/`, 1)})
	var replies []*llm.Reply
	k := summaryTalk(t, sim, "claude-opus-5-5", &compact.Ladder{}, true, &replies)
	for round := range 3 {
		for i := range 4 {
			k.turn(fmt.Sprintf("prompt %d", 10*round+i))
		}
		ask := engine.Ask{}
		if round == 1 {
			ask.Instructions = "keep the numbers"
		}
		rep, err := k.e.Compact(t.Context(), ask)
		if err != nil || len(rep.Rungs) != 1 || rep.Rungs[0] != "server" || rep.After >= rep.Before {
			t.Fatalf("%+v, %v", rep, err)
		}
	}
	k.turn("prompt 99")
	if v := sim.Violations(); len(v) > 0 || len(replies) != 3 {
		t.Errorf("%d violations %v, %d questions", len(v), v, len(replies))
	}
}

// TestSummaryFailures: C-5, C-6, C-9: what no summary is, by what the provider answers.
func TestSummaryFailures(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         error
	}{
		{"only a call", "default\n  call read {\"path\":\"x\"}\n", compact.ErrNoSummary},
		{"only reasoning", "default\n  think about it\n", compact.ErrNoSummary},
		{"refused", "default\n  refuse\n", nil},
		{"overflow", "default\n  fail 400 \"prompt is too long: 9000 tokens > 8000 maximum\"\n", compact.ErrTooLong},
		{"cut", "default\n  say " + strings.Repeat("word ", 9000) + "\n", llm.ErrCutSummary},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim := modelsim.ForTest(t, modelsim.Config{Script: c.script})
			m := anthropic.New("any", "claude-opus-5-5")
			m.BaseURL = sim.URL
			s := llm.Summaries{Model: m}
			_, err := s.Summarize(context.Background(), compact.SummaryRequest{Frame: view.Frame{Tools: []byte(oneTool)}, Prompt: "summarize", Output: 1000})
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			var long *compact.TooLongError
			if c.name == "overflow" && (!errors.As(err, &long) || long.Gap != 1000) {
				t.Errorf("gap of %v", err)
			}
		})
	}
}
