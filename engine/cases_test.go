package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// turns makes a conversation of n turns with reasoning and an injected reminder
// before each prompt, and returns the last request.
func turns(t testing.TB, e *engine.Engine, n int, tag string) *engine.Request {
	t.Helper()
	ctx := context.Background()
	var last *engine.Request
	for i := range n {
		id := tag + string(rune('a'+i))
		must(t, e.Attach(json.RawMessage(`{"type":"hook_additional_context"}`), []string{"<system-reminder>context " + id + "</system-reminder>"}, "user"))
		must(t, e.Append(message.User("do "+id)))
		req, err := e.Prepare(ctx)
		must(t, err)
		m := message.Assistant(message.Thinking("about "+id, "c2ln"+id), message.Text("done "+id))
		m.ID = id
		must(t, e.Record(ctx, req, m))
		last = req
	}
	return last
}

// TestSubAgentWakes: anthropics/claude-code#91971, anthropics/claude-code#86876,
// anthropics/claude-code#94728, anthropics/claude-code#44724. A sub-agent that is woken
// sends what it sent before, byte for byte: system blocks, injected reminders and
// reasoning, as a session does that never stopped.
func TestSubAgentWakes(t *testing.T) {
	model, _ := caps.Find("anthropic/claude-opus-5-5")
	cfg := engine.Config{Caps: model, System: json.RawMessage(`[{"type":"text","text":"You are a helper."}]`), Tools: json.RawMessage(`[{"name":"Read"}]`)}
	cfg.Observe = func(ev engine.Event) {
		if ev.Kind == engine.PrefixLost || ev.Kind == engine.FrameLost {
			t.Errorf("%+v", ev)
		}
	}
	stamp := clock()
	stamp.Sidechain, stamp.AgentID = true, "a1b2c3d"
	store := engine.Memory(stamp)
	before := wire(turns(t, engine.New(store, cfg), 2, "x"))
	for _, tag := range []string{"y", "z"} {
		again, err := store.Reopen()
		must(t, err)
		req := turns(t, engine.New(again, cfg), 2, tag)
		if !strings.HasPrefix(wire(req), before) {
			t.Errorf("woken as %s it sends\n%s\nwhich does not extend\n%s", tag, wire(req), before)
		}
		before, store = wire(req), again
	}
}

// TestInterruptedPrompt: QwenLM/qwen-code#5030. A prompt without an answer is sent again
// byte for byte, however often the process dies while the model hangs.
func TestInterruptedPrompt(t *testing.T) {
	ctx := context.Background()
	cfg := engine.Config{Caps: caps.Window(100_000), System: json.RawMessage(`"sys"`)}
	store := engine.Memory(clock())
	e := engine.New(store, cfg)
	turns(t, e, 1, "x")
	must(t, e.Append(message.User("the hanging one")))
	first, err := e.Prepare(ctx)
	must(t, err)
	size := 0
	for range 3 {
		store, err = store.Reopen()
		must(t, err)
		again, err := engine.New(store, cfg).Prepare(ctx)
		must(t, err)
		if wire(again) != wire(first) {
			t.Fatalf("sent again as\n%s\nwant\n%s", wire(again), wire(first))
		}
		b, err := store.Bytes()
		must(t, err)
		if size != 0 && len(b) != size {
			t.Errorf("preparing the same request again wrote to the log: %d bytes, then %d", size, len(b))
		}
		size = len(b)
	}
}

// TestCrashedBranch: anthropics/claude-code#40233. What a person is shown of a log with a
// branch that a crash left, and what the model is sent, agree.
func TestCrashedBranch(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "one").Say("a1", "u1", "m1", "yes").
		User("u2", "a1", "crashed").Call("a2", "u2", "m2", "x").
		User("u3", "a1", "two").Say("a3", "u3", "m3", "fine")
	l, err := transcript.Read(context.Background(), strings.NewReader(string(s.Bytes())), int64(len(s.Bytes())), transcript.ReadOptions{})
	must(t, err)
	var shown []string
	for _, x := range l.Chain(l.Tip()).Entries {
		shown = append(shown, x.UUID)
	}
	e := engine.New(engine.MemoryOf(clock(), l), engine.Config{Caps: caps.Window(50_000)})
	var sent []string
	for _, m := range e.View().Messages {
		for _, b := range m.Blocks {
			sent = append(sent, b.Entry)
		}
	}
	if strings.Join(shown, " ") != strings.Join(sent, " ") || strings.Join(sent, " ") != "u1 a1 u3 a3" {
		t.Errorf("shown %v, sent %v", shown, sent)
	}
}

// TestVolatile: multica-ai/multica#6008. Instructions that change between two runs are
// appended; what was sent stays where it was.
func TestVolatile(t *testing.T) {
	ctx := context.Background()
	store := engine.Memory(clock())
	cfg := engine.Config{Caps: caps.Window(100_000), System: json.RawMessage(`"sys"`)}
	e := engine.New(store, cfg)
	must(t, e.Attach(json.RawMessage(`{"type":"instructions"}`), []string{"rules: 1"}, "user"))
	first := turns(t, e, 1, "x")
	again, err := store.Reopen()
	must(t, err)
	e = engine.New(again, cfg)
	must(t, e.Attach(json.RawMessage(`{"type":"instructions"}`), []string{"rules changed: 2"}, "user"))
	must(t, e.Append(message.User("go on")))
	second, err := e.Prepare(ctx)
	must(t, err)
	if !strings.HasPrefix(wire(second), wire(first)) || !strings.Contains(wire(second), "rules changed: 2") {
		t.Errorf("second request\n%s\ndoes not extend\n%s", wire(second), wire(first))
	}
}

// TestContext: B-5. The parts add up to the total, and each kind is told apart.
func TestContext(t *testing.T) {
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: caps.Window(100_000), System: json.RawMessage(`"sys"`),
		Tools: json.RawMessage(`[{"name":"Read"},{"name":"mcp__a__b"},{"name":"mcp__a__c"}]`)})
	must(t, e.Attach(json.RawMessage(`{"type":"nested_memory"}`), []string{"rules"}, "user"))
	turns(t, e, 2, "x")
	c := e.Context()
	sum, got := 0, map[string]int{}
	for _, p := range c.Parts {
		sum += p.Tokens
		got[p.Kind] = p.Count
	}
	if sum != c.Total || c.Total <= 0 || c.Free+c.Total > 100_000 || c.Reserve <= 0 {
		t.Errorf("parts add up to %d of %d; free %d, reserve %d", sum, c.Total, c.Free, c.Reserve)
	}
	want := map[string]int{engine.KindSystem: 1, engine.KindTools: 1, engine.KindMCPTools: 2, engine.KindInstructions: 1, engine.KindUser: 2,
		engine.KindAssistant: 2, engine.KindReasoning: 2, engine.KindAttachments: 2}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s: %d, want %d", k, got[k], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("kinds %v", got)
	}
}

// TestUndoneBoundary: G-3. What a boundary covered is back, later turns stay.
func TestUndoneBoundary(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).Summary("s", "b").User("u2", "s", "on")
	l, err := transcript.Read(context.Background(), strings.NewReader(string(s.Bytes())), int64(len(s.Bytes())), transcript.ReadOptions{})
	must(t, err)
	e := engine.New(engine.MemoryOf(clock(), l), engine.Config{Caps: caps.Window(50_000)})
	rep, err := e.Undo(context.Background(), "b")
	must(t, err)
	var got []string
	for _, m := range e.View().Messages {
		for _, b := range m.Blocks {
			got = append(got, b.Entry)
		}
	}
	if strings.Join(got, " ") != "u1 a1 u2" || rep.After == 0 {
		t.Errorf("after undo: %v, %+v", got, rep)
	}
	if _, err := e.Undo(context.Background(), "u1"); err == nil {
		t.Error("an entry that is no boundary was undone")
	}
}

// TestCompactAfterResume: G-4, S-2. After a resume what was measured is one figure; a
// plan is held against what the view is, not against the part that came since.
func TestCompactAfterResume(t *testing.T) {
	ctx := context.Background()
	store := engine.Memory(clock())
	cfg := engine.Config{Caps: caps.Window(200_000), Ladder: &compact.Ladder{}}
	e := engine.New(store, cfg)
	for i := range 20 {
		must(t, e.Append(message.User("look at the next part")))
		req, err := e.Prepare(ctx)
		must(t, err)
		m := say(fmt.Sprint("m", i), strings.Repeat("what it does is this; ", 100))
		m.Usage = &message.Usage{InputTokens: int64(200 + 700*i), OutputTokens: 600}
		must(t, e.Record(ctx, req, m))
	}
	again, err := store.Reopen()
	must(t, err)
	rep, err := engine.New(again, cfg).Compact(ctx, engine.Ask{})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.After >= rep.Before/2 {
		t.Errorf("%+v", rep)
	}
}

// TestStrippedStays: C-0. Reasoning that was stripped does not come back when a later
// boundary keeps its reply and the strip itself is behind the boundary.
func TestStrippedStays(t *testing.T) {
	ctx := context.Background()
	model := caps.Window(12_000)
	model.PrefixBound = true
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: model, Ladder: &compact.Ladder{}, NoUsage: true})
	turns(t, e, 6, "x")
	_, err := e.Compact(ctx, engine.Ask{})
	must(t, err)
	turns(t, e, 1, "w") // its reasoning is bound to the summary, so the undo strips all
	_, err = e.Undo(ctx, e.View().Boundary.UUID)
	must(t, err)
	for i := range 6 {
		must(t, e.Append(message.User("go on "+strings.Repeat("with it ", 250))))
		req, err := e.Prepare(ctx)
		must(t, err)
		must(t, e.Record(ctx, req, say(fmt.Sprint("y", i), strings.Repeat("done that ", 100))))
	}
	rep, err := e.Overflow(ctx, 500)
	must(t, err)
	must(t, e.Append(message.User("and now")))
	req, err := e.Prepare(ctx)
	must(t, err)
	if sent := wire(req); len(rep.Rungs) == 0 || !strings.Contains(sent, "done xa") || strings.Contains(sent, "c2lnxa") {
		t.Errorf("%+v: sent\n%.1500s", rep, sent)
	}
}

// TestSwitchBack: C-0, decision 7. A model that binds reasoning gets its own back after
// another one was in use, but not what the other one's edits cut loose.
func TestSwitchBack(t *testing.T) {
	ctx := context.Background()
	bound, _ := caps.Find("anthropic/claude-opus-5-5")
	free, _ := caps.Find("anthropic/claude-haiku-4-5")
	if !bound.PrefixBound || free.PrefixBound {
		t.Fatal("the table changed")
	}
	for _, edited := range []bool{false, true} {
		store := engine.Memory(clock())
		first := engine.New(store, engine.Config{Caps: bound})
		must(t, first.Append(message.User("tell me all")))
		req, err := first.Prepare(ctx)
		must(t, err)
		must(t, first.Record(ctx, req, say("long", strings.Repeat("a long answer ", 3000))))
		turns(t, first, 4, "x")
		store = reopened(t, store)
		e := engine.New(store, engine.Config{Caps: free, Ladder: &compact.Ladder{}, NoUsage: true})
		turns(t, e, 1, "y")
		if edited {
			rep, err := e.Compact(ctx, engine.Ask{UpTo: e.View().Messages[2].Blocks[0].Entry})
			must(t, err)
			if len(rep.Rungs) == 0 {
				t.Fatal("nothing was compacted")
			}
		}
		again := engine.New(reopened(t, store), engine.Config{Caps: bound})
		must(t, again.Append(message.User("back")))
		req, err = again.Prepare(ctx)
		must(t, err)
		if has := strings.Contains(wire(req), "c2lnxd"); has == edited {
			t.Errorf("edited %v: its reasoning is sent: %v\n%s", edited, has, wire(req))
		}
	}
}

func reopened(t testing.TB, s *engine.Mem) *engine.Mem {
	t.Helper()
	again, err := s.Reopen()
	must(t, err)
	return again
}
