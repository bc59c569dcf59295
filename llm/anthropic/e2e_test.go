package anthropic_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/llm"
	"varve.dev/llm/anthropic"
	"varve.dev/message"
	"varve.dev/modelsim"
	"varve.dev/transcript"
)

const (
	sysText = `[{"type":"text","text":"You read files."}]`
	oneTool = `[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]`
)

// talk is an agent reduced to its loop: engine, adapter, retry policy.
type talk struct {
	t     *testing.T
	e     *engine.Engine
	model llm.Model
	set   func(*llm.Request) // options of a request
}

func newTalk(t *testing.T, sim *modelsim.Server, name string, options anthropic.Options) *talk {
	t.Helper()
	c, _ := caps.Lookup("anthropic", name)
	m := anthropic.New("any", name)
	m.BaseURL = sim.URL
	r := llm.NewRetry(m)
	r.Base = time.Millisecond
	cfg := engine.Config{Caps: c, System: []byte(sysText), Tools: []byte(oneTool), Options: options.JSON()}
	return &talk{t: t, model: r, e: engine.New(engine.Memory(transcript.Stamp{SessionID: "s", Now: time.Now}), cfg)}
}

// step sends one request and records the reply, or the calls of a broken one.
func (k *talk) step() (*llm.Reply, error) {
	k.t.Helper()
	ctx := k.t.Context()
	req, err := k.e.Prepare(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	r := llm.Of(req)
	r.MaxOutput = 4000
	if k.set != nil {
		k.set(r)
	}
	reply, err := llm.Collect(k.model.Stream(ctx, r))
	if err != nil {
		e, ok := errors.AsType[*llm.Error](err)
		if !ok {
			k.t.Fatal(err)
		}
		m := e.Partial.Committed()
		if m == nil {
			return nil, err
		}
		reply = &llm.Reply{Message: *m}
	}
	if _, err := k.e.RecordReply(ctx, req, reply.Engine()); err != nil {
		k.t.Fatal(err)
	}
	return reply, nil
}

// turn says something and answers calls until there are none.
func (k *talk) turn(prompt string) (last *llm.Reply, steps int) {
	k.t.Helper()
	if err := k.e.Append(message.User(prompt)); err != nil {
		k.t.Fatal(err)
	}
	for {
		steps++
		reply, err := k.step()
		if err != nil {
			k.t.Fatal(err)
		}
		calls := reply.Calls()
		if len(calls) == 0 {
			return reply, steps
		}
		var results []message.Block
		for _, c := range calls {
			results = append(results, message.ToolResult(c.ID, false, message.Text("contents of "+string(c.Input)+" "+strings.Repeat("word ", 200))))
		}
		if err := k.e.Append(message.UserBlocks(results...)); err != nil {
			k.t.Fatal(err)
		}
	}
}

// TestConversation: turns with reasoning, thirty parallel calls, overloads, dropped
// and malformed streams against a server that checks everything. Nothing is
// refused, no prefix breaks, and nearly all of the input comes from the cache.
func TestConversation(t *testing.T) {
	thirty := strings.Repeat("  call read {\"path\":\"a\"}\n", 30)
	sim := modelsim.ForTest(t, modelsim.Config{Script: `
turn
  think first
  say Looking.
  call read {"path":"one"}
turn
  think now many
` + thirty + `
turn
  fail 529 times 2
  drop in call
  think again
  call read {"path":"two"}
  call read {"path":"three"}
turn
  malformed
  say Done.
turn times 20
  think more
  call read {"path":"x"}
default
  say All read.
`})
	k := newTalk(t, sim, "claude-opus-5-5", anthropic.Options{Thinking: "adaptive", Effort: "medium"})
	steps := 0
	for _, p := range []string{"go", "more", "and again"} {
		last, n := k.turn(p)
		if last.Message.StopReason != llm.StopEnd {
			t.Errorf("%s", last.Message.StopReason)
		}
		steps += n
	}
	if v := sim.Violations(); len(v) > 0 {
		t.Errorf("%d violations, first %+v", len(v), v[0])
	}
	if b := sim.Breaks(); len(b) > 0 {
		t.Errorf("prefix breaks: %v", b)
	}
	rep := sim.Report()
	t.Logf("%d steps, %d requests, read share %.3f", steps, rep.Requests, rep.ReadShare())
	if steps < 20 || rep.ReadShare() < 0.9 {
		t.Errorf("%d steps, %.2f of the input from the cache", steps, rep.ReadShare())
	}
}

// TestMismatch: reasoning that is bound to something else is one kind of error,
// and the drop option gets through, named in what the server changed.
func TestMismatch(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Script: "turn\n  think a\n  say One.\ndefault\n  say Two.\n"})
	m := anthropic.New("any", "claude-opus-5-5")
	m.BaseURL = sim.URL
	req := &llm.Request{System: []byte(sysText), MaxOutput: 2000, Options: anthropic.Options{Thinking: "adaptive"}.JSON()}
	add := func(x message.Message) { req.Messages = append(req.Messages, x.AppendRequest(nil)) }
	add(message.User("first"))
	reply, err := llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	add(reply.Message)
	add(message.User("second"))
	req.Messages[0] = message.User("changed").AppendRequest(nil)
	_, err = llm.Collect(m.Stream(t.Context(), req))
	if llm.KindOf(err) != llm.KindMismatch {
		t.Fatal(err)
	}
	req.Mismatch = llm.MismatchDrop
	reply, err = llm.Collect(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(reply.InputTransformations), "messages.1.content.0") {
		t.Errorf("%s", reply.InputTransformations)
	}
}

// TestMismatchWithoutThinking: modes that do not think have no field for bound
// reasoning; the drop option leaves it out of the request instead, all of it.
func TestMismatchWithoutThinking(t *testing.T) {
	for model, mode := range map[string]string{"claude-sonnet-5-5": "between_tools", "claude-haiku-5-5": "disabled"} {
		sim := modelsim.ForTest(t, modelsim.Config{Script: "turn\n  think a\n  say One.\nturn\n  think b\n  redacted\n  say Two.\ndefault\n  say Three.\n"})
		m := anthropic.New("any", model)
		m.BaseURL = sim.URL
		req := &llm.Request{MaxOutput: 2000, Options: anthropic.Options{Thinking: "adaptive"}.JSON()}
		for _, said := range []string{"first", "second"} {
			req.Messages = append(req.Messages, message.User(said).AppendRequest(nil))
			reply, err := llm.Collect(m.Stream(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, reply.Message.AppendRequest(nil))
		}
		req.Messages[0] = message.User("changed").AppendRequest(nil)
		req.Messages = append(req.Messages, message.User("third").AppendRequest(nil))
		req.Options = anthropic.Options{Thinking: mode}.JSON()
		if _, err := llm.Collect(m.Stream(t.Context(), req)); llm.KindOf(err) != llm.KindMismatch {
			t.Errorf("%s, %s: %v", model, mode, err)
		}
		req.Mismatch = llm.MismatchDrop
		if _, err := llm.Collect(m.Stream(t.Context(), req)); err != nil {
			t.Errorf("%s, %s: %v", model, mode, err)
		}
		if n, err := m.CountTokens(t.Context(), req); err != nil || n.Input == 0 {
			t.Errorf("%s, %s: %+v, %v", model, mode, n, err)
		}
	}
}

// TestServerSummary: C-5, a summary on demand stands first, unmodified, in place of
// what it covers; one that is missing is told apart.
func TestServerSummary(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Script: "on compaction times 1\n  null\ndefault\n  think a\n  say One.\n"})
	k := newTalk(t, sim, "claude-opus-5-5", anthropic.Options{Thinking: "adaptive"})
	k.turn("first")
	if err := k.e.Append(message.User("second")); err != nil {
		t.Fatal(err)
	}
	req, err := k.e.Prepare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := llm.Of(req)
	r.MaxOutput, r.Summarize = 8000, &llm.Summarize{}
	reply, err := llm.Collect(k.model.Stream(t.Context(), r))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := reply.Summary(); ok {
		t.Error("a missing summary was taken for one")
	}
	if reply, err = llm.Collect(k.model.Stream(t.Context(), r)); err != nil {
		t.Fatal(err)
	}
	if _, ok := reply.Summary(); !ok || reply.Message.StopReason != llm.StopCompaction {
		t.Fatalf("no summary: %s", reply.Message.Raw)
	}
	next := &llm.Request{System: r.System, Tools: r.Tools, Options: r.Options, Model: r.Model, MaxOutput: 4000}
	next.Messages = append(next.Messages, reply.Message.AppendRequest(nil), message.User("go on").AppendRequest(nil))
	if _, err := llm.Collect(k.model.Stream(t.Context(), next)); err != nil {
		t.Fatal(err)
	}
	if v := sim.Violations(); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}

// TestClearing: C-2, the server clears old results and says so; nothing is refused.
func TestClearing(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Script: "turn times 8\n  call read {\"path\":\"x\"}\ndefault\n  say Done.\n"})
	k := newTalk(t, sim, "claude-opus-5-5", anthropic.Options{})
	k.set = func(r *llm.Request) { r.Clear = &llm.Clear{TriggerTokens: 1000, Keep: 1} }
	last, _ := k.turn("go")
	if v := sim.Violations(); len(v) > 0 || len(last.AppliedEdits) == 0 {
		t.Errorf("%+v, cleared: %s", v, last.AppliedEdits)
	}
}

// TestOverflow: a window smaller than told is an overflow with its figures.
func TestOverflow(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Script: "default\n  say One.\n", Models: map[string]modelsim.Model{"claude-opus-5-5": {Window: 1_000_000, TrueWindow: 500}}})
	m := anthropic.New("any", "claude-opus-5-5")
	m.BaseURL = sim.URL
	req := &llm.Request{Messages: []json.RawMessage{message.User(strings.Repeat("words and words ", 500)).AppendRequest(nil)}}
	_, err := llm.Collect(llm.NewRetry(m).Stream(t.Context(), req))
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.KindOverflow || e.TokenGap() <= 0 || e.Window != 500 {
		t.Errorf("%v", err)
	}
	if n, err := m.CountTokens(t.Context(), req); err != nil || n.Input < 500 {
		t.Errorf("%v %v", n, err)
	}
	if p, err := m.Probe(t.Context()); err != nil || p.Window != 1_000_000 {
		t.Errorf("%v %v", p, err)
	}
	if l, err := m.Models(t.Context()); err != nil || len(l) == 0 {
		t.Errorf("%v %v", l, err)
	}
}
