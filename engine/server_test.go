package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
)

// provider is a server that summarizes when it is asked.
type provider struct {
	asked []compact.SummaryRequest
	err   error
}

func block(n int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"compaction", "content":"what happened, part %d","signature":"c2lnbmVk%d","tool_changes":null}`, n, n))
}

func (p *provider) Compact(_ context.Context, r compact.SummaryRequest) (compact.ServerSummary, error) {
	p.asked = append(p.asked, r)
	if p.err != nil {
		return compact.ServerSummary{}, p.err
	}
	raw := block(len(p.asked))
	return compact.ServerSummary{Native: compact.Native{Provider: "anthropic", Items: []json.RawMessage{raw}}, Text: fmt.Sprintf("what happened, part %d", len(p.asked))}, nil
}

// messages is a request of wire without its frame.
func messages(sent string) string {
	_, ms, _ := strings.Cut(sent, "\n")
	return strings.TrimLeft(ms, "\n")
}

// claude is a configuration for a model whose provider summarizes.
func claude(t testing.TB, p *provider) engine.Config {
	t.Helper()
	model, ok := caps.Find("anthropic/claude-opus-5-5")
	if !ok || !model.Compaction.Any() {
		t.Fatal("the table knows no such model")
	}
	l := &compact.Ladder{}
	if p != nil {
		l.Server = p
	}
	return engine.Config{Caps: model, System: json.RawMessage(`"sys"`), Ladder: l}
}

// TestServerSummary: C-5, C-15, decision 7. The provider's summary goes first, byte for
// byte, in place of what it covers; the view holds a text that another provider is
// sent; a resume sends the same bytes, and an undo brings everything back.
func TestServerSummary(t *testing.T) {
	ctx := context.Background()
	p := &provider{}
	cfg := claude(t, p)
	store := engine.Memory(clock())
	e := engine.New(store, cfg)
	turns(t, e, 4, "x")
	before := e.View().Plain()
	rep, err := e.Compact(ctx, engine.Ask{})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "server" || len(p.asked) != 1 || len(p.asked[0].Messages) != 8 {
		t.Fatalf("%+v, %d questions", rep, len(p.asked))
	}
	if _, err := e.Prepare(ctx); !errors.Is(err, engine.ErrNotReady) {
		t.Errorf("a request without a prompt: %v", err)
	}
	must(t, e.Append(message.User("go on")))
	req, err := e.Prepare(ctx)
	must(t, err)
	sent := wire(req)
	want := `{"role":"assistant","content":[` + string(block(1)) + `]}` + "\n" + `{"role":"user","content":`
	if !strings.HasPrefix(messages(sent), want) || strings.Contains(sent, "do xa") && strings.Contains(sent, "c2lnxa") || !strings.Contains(sent, "go on") {
		t.Fatalf("sent\n%s\nwant it to begin with\n%s", sent, want)
	}
	if twin := string(e.View().Plain()[0].Raw) + e.View().Messages[0].Blocks[0].Text; !strings.Contains(twin, "what happened, part 1") {
		t.Errorf("the view has no readable text: %s", twin)
	}

	again, err := store.Reopen()
	must(t, err)
	e2 := engine.New(again, cfg)
	req2, err := e2.Prepare(ctx)
	must(t, err)
	if wire(req2) != sent || req2.PrefixHash != req.PrefixHash {
		t.Errorf("after a resume\n%s\nwant\n%s", wire(req2), sent)
	}

	other, _ := caps.Find("openai/gpt-6.2-sol")
	s3, err := again.Reopen()
	must(t, err)
	there, err := engine.New(s3, engine.Config{Caps: other}).Prepare(ctx)
	must(t, err)
	if got := wire(there); strings.Contains(got, `"compaction"`) || !strings.Contains(got, "what happened, part 1") || there.Messages[0].Role != message.RoleUser {
		t.Errorf("another provider is sent\n%s", got)
	}
	s4, err := s3.Reopen()
	must(t, err)
	e4 := engine.New(s4, cfg)
	back, err := e4.Prepare(ctx)
	must(t, err)
	if wire(back) != sent {
		t.Errorf("back at the first provider\n%s\nwant\n%s", wire(back), sent)
	}

	must(t, e4.RefuseServerSummary(ctx))
	plain, err := e4.Prepare(ctx)
	must(t, err)
	if got := wire(plain); strings.Contains(got, `"compaction"`) || !strings.Contains(got, "what happened, part 1") {
		t.Errorf("after the summary was refused\n%s", got)
	}
	s5, err := s4.Reopen()
	must(t, err)
	if still, err := engine.New(s5, cfg).Prepare(ctx); err != nil || wire(still) != wire(plain) {
		t.Errorf("the refusal does not hold over a resume: %v", err)
	}

	_, err = e2.Undo(ctx, e2.View().Boundary.UUID)
	must(t, err)
	undone, err := e2.Prepare(ctx)
	must(t, err)
	for _, m := range before {
		for _, b := range m.Content {
			if b.Type == message.TypeText && !strings.Contains(wire(undone), b.Text) {
				t.Errorf("%q did not come back", b.Text)
			}
		}
	}
	if strings.Contains(wire(undone), `"compaction"`) {
		t.Errorf("the summary is sent beside what it covers:\n%s", wire(undone))
	}
}

// TestServerFails: C-5, C-12. A server that gives no summary, which comes as a
// success, leaves the conversation as it is; the next rung is asked.
func TestServerFails(t *testing.T) {
	ctx := context.Background()
	p := &provider{err: compact.ErrNoSummary}
	cfg := claude(t, p)
	var said []compact.Event
	cfg.Ladder.(*compact.Ladder).Observe = func(ev compact.Event) { said = append(said, ev) }
	e := engine.New(engine.Memory(clock()), cfg)
	turns(t, e, 4, "x")
	must(t, e.Append(message.User(strings.Repeat("a long story ", 2000))))
	turns(t, e, 1, "y")
	rep, err := e.Compact(ctx, engine.Ask{})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "ledger" || len(said) == 0 || said[0].Rung != "server" || said[0].Kind != compact.Failed {
		t.Errorf("%+v, said %+v", rep, said)
	}
}

// TestServerOpenTurn: C-5, openai/codex#31742. A summary in the middle of a turn covers
// the results that the model waits for, and it is told to go on; a call without a
// result is answered first.
func TestServerOpenTurn(t *testing.T) {
	ctx := context.Background()
	for _, answered := range []bool{true, false} {
		p := &provider{}
		e := engine.New(engine.Memory(clock()), claude(t, p))
		turns(t, e, 3, "x")
		must(t, e.Append(message.User("read it")))
		req, err := e.Prepare(ctx)
		must(t, err)
		use, err := message.ToolUse("c1", "Read", json.RawMessage(`{"file_path":"/a"}`))
		must(t, err)
		m := message.Assistant(use)
		m.ID = "m1"
		must(t, e.Record(ctx, req, m))
		if answered {
			must(t, e.Append(message.UserBlocks(message.ToolResult("c1", false, message.Text("its content")))))
		}
		_, err = e.Compact(ctx, engine.Ask{})
		must(t, err)
		last := p.asked[0].Messages[len(p.asked[0].Messages)-1]
		if last.Role != message.RoleUser || last.Content[0].Type != message.TypeToolResult {
			t.Errorf("answered %v: the server was asked with an open call: %s", answered, last.Raw)
		}
		next, err := e.Prepare(ctx)
		must(t, err)
		if got := wire(next); !strings.Contains(got, "Go on from where it stood") || strings.Contains(got, "tool_result") {
			t.Errorf("answered %v: sent\n%s", answered, got)
		}
	}
}

// compactedReply is a reply before which the server summarized.
func compactedReply(t testing.TB, id string, raw json.RawMessage, rest ...message.Block) message.Message {
	t.Helper()
	b, err := message.ParseBlock(raw)
	must(t, err)
	m := message.Assistant(append([]message.Block{b}, rest...)...)
	m.ID = id
	m.Usage = &message.Usage{InputTokens: 900, Iterations: []message.Iteration{{Type: "compaction", InputTokens: 60_000}, {Type: "message", InputTokens: 900}}}
	return m
}

// TestServerInReply: C-0, C-5. A summary that comes inside a reply becomes an edit:
// what it covers leaves the view, the request starts with it, and other providers
// get its text.
func TestServerInReply(t *testing.T) {
	ctx := context.Background()
	cfg := claude(t, nil)
	var said []compact.Event
	cfg.Ladder.(*compact.Ladder).Observe = func(ev compact.Event) { said = append(said, ev) }
	store := engine.Memory(clock())
	e := engine.New(store, cfg)
	req := turns(t, e, 3, "x")
	must(t, e.Record(ctx, req, say("x9", strings.Repeat("much more ", 3000))))
	must(t, e.Append(message.User("and now")))
	req, err := e.Prepare(ctx)
	must(t, err)
	use, err := message.ToolUse("c1", "Read", json.RawMessage(`{"file_path":"/a"}`))
	must(t, err)
	must(t, e.Record(ctx, req, compactedReply(t, "m1", block(7), message.Text("reading"), use)))
	if b := e.View().Boundary; b == nil {
		t.Fatalf("no edit was made: %+v", said)
	} else if meta, err := b.Boundary(); err != nil || meta.Own.Rung != "server" || meta.Own.Cause != compact.CauseServer {
		t.Errorf("boundary %+v, %v", meta, err)
	}
	must(t, e.Append(message.UserBlocks(message.ToolResult("c1", false, message.Text("content")))))
	next, err := e.Prepare(ctx)
	must(t, err)
	if got := wire(next); !strings.HasPrefix(messages(got), `{"role":"assistant","content":[`+string(block(7))+`,`) || strings.Contains(got, "c2lnxa") || len(next.Messages) != 2 {
		t.Errorf("sent\n%s", got)
	}
	again, err := store.Reopen()
	must(t, err)
	resumed, err := engine.New(again, cfg).Prepare(ctx)
	must(t, err)
	if wire(resumed) != wire(next) {
		t.Errorf("after a resume\n%s\nwant\n%s", wire(resumed), wire(next))
	}
	other, _ := caps.Find("openai/gpt-6.2-sol")
	there, err := engine.New(again, engine.Config{Caps: other}).Prepare(ctx)
	must(t, err)
	if got := wire(there); strings.Contains(got, `"compaction"`) || !strings.Contains(got, "what happened, part 7") || !strings.Contains(got, "reading") {
		t.Errorf("another provider is sent\n%s", got)
	}
}

// TestServerNull: API.md 2.3, C-5. content null is a failed summary, a no-op: it is
// said, kept in the reply as it came, and nothing leaves.
func TestServerNull(t *testing.T) {
	ctx := context.Background()
	cfg := claude(t, nil)
	var said []string
	cfg.Observe = func(ev engine.Event) { said = append(said, ev.Detail) }
	e := engine.New(engine.Memory(clock()), cfg)
	turns(t, e, 2, "x")
	must(t, e.Append(message.User("and now")))
	req, err := e.Prepare(ctx)
	must(t, err)
	must(t, e.Record(ctx, req, compactedReply(t, "m1", json.RawMessage(`{"type":"compaction","content":null}`), message.Text("fine"))))
	if e.View().Boundary != nil || len(e.View().Messages) != 6 || !strings.Contains(strings.Join(said, "\n"), "gave no summary") {
		t.Errorf("%d messages, said %q", len(e.View().Messages), said)
	}
	must(t, e.Append(message.User("more")))
	next, err := e.Prepare(ctx)
	must(t, err)
	if !strings.Contains(wire(next), `{"type":"compaction","content":null}`) {
		t.Errorf("the reply was changed:\n%s", wire(next))
	}
}

func mustReopen(t testing.TB, s *engine.Mem) *engine.Mem {
	t.Helper()
	again, err := s.Reopen()
	must(t, err)
	return again
}

// TestCleared: C-2. What the server cleared counts as gone until it says otherwise,
// is remembered over a resume, and counts again for another provider.
func TestCleared(t *testing.T) {
	ctx := context.Background()
	cfg := claude(t, nil)
	cfg.Options = json.RawMessage(`{"context_management":{"edits":[{"type":"clear_tool_uses_20250919","exclude_tools":["Task"]}]}}`)
	store := engine.Memory(clock())
	e := engine.New(store, cfg)
	for i, tool := range []string{"Read", "Task", "Read", "Bash"} {
		must(t, e.Append(message.User("do it")))
		req, err := e.Prepare(ctx)
		must(t, err)
		use, err := message.ToolUse(fmt.Sprint("c", i), tool, json.RawMessage(`{}`))
		must(t, err)
		m := message.Assistant(use)
		m.ID = fmt.Sprint("m", i)
		must(t, e.Record(ctx, req, m))
		must(t, e.Append(message.UserBlocks(message.ToolResult(fmt.Sprint("c", i), false, message.Text(strings.Repeat("output of it ", 400))))))
	}
	full, uncleared := e.Context().Total, mustReopen(t, store)
	req, err := e.Prepare(ctx)
	must(t, err)
	reply := say("m9", "ok")
	_, err = e.RecordReply(ctx, req, engine.Reply{Message: reply, AppliedEdits: json.RawMessage(`[{"type":"clear_tool_uses_20250919","cleared_tool_uses":2,"cleared_input_tokens":2000},{"type":"of tomorrow","cleared_input_tokens":100}]`)})
	must(t, err)
	c := e.Cleared()
	if c.ToolUses != 2 || c.Tokens != 2100 || strings.Join(c.Results, " ") != "c0 c2" {
		t.Errorf("cleared %+v", c)
	}
	if now := e.Context().Total; now > full-1900 {
		t.Errorf("%d tokens after the server cleared 2,100 of %d", now, full)
	}
	again, err := store.Reopen()
	must(t, err)
	e2 := engine.New(again, cfg)
	if got := e2.Cleared(); got.Tokens != 2100 || strings.Join(got.Results, " ") != "c0 c2" {
		t.Errorf("after a resume %+v", got)
	}
	other, _ := caps.Find("openai/gpt-6.2-sol")
	s3, err := again.Reopen()
	must(t, err)
	e3 := engine.New(s3, engine.Config{Caps: other})
	must(t, e3.Append(message.User("more")))
	if _, err := e3.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	whole := engine.New(mustReopen(t, uncleared), engine.Config{Caps: other})
	must(t, whole.Append(message.User("more")))
	if _, err := whole.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if now, want := e3.Context().Total, whole.Context().Total; now < want {
		t.Errorf("another provider is said to be sent %d tokens of %d", now, want)
	}
}

// TestPropServer: C-15, C-5, decision 7. Conversations in which the server summarizes,
// when asked and by itself, in which summaries fail, are refused and undone, and
// which change the provider and the process: every request is accepted by the
// validator (Prepare fails otherwise) and is the same after a resume.
func TestPropServer(t *testing.T) {
	other, _ := caps.Find("openai/gpt-6.2-sol")
	steps := 10
	if os.Getenv("VARVE_FULL") != "" {
		steps = 30
	}
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		ctx := context.Background()
		check := func(err error) {
			if err != nil {
				t.Helper()
				t.Fatal(err)
			}
		}
		model, _ := caps.Find("anthropic/claude-opus-5-5")
		p := &provider{}
		store := engine.Memory(clock())
		config := func() engine.Config {
			l := &compact.Ladder{Server: p}
			if rnd.IntN(4) == 0 {
				return engine.Config{Caps: other, Ladder: &compact.Ladder{}}
			}
			return engine.Config{Caps: model, System: json.RawMessage(`"sys"`), Ladder: l}
		}
		cfg := config()
		e := engine.New(store, cfg)
		for n := range rapid.IntRange(1, steps).Draw(t, "steps") {
			switch rnd.IntN(7) {
			case 0:
				p.err = nil
				if rnd.IntN(3) == 0 {
					p.err = compact.ErrNoSummary
				}
				_, err := e.Compact(ctx, engine.Ask{})
				check(err)
			case 1:
				if b := e.View().Boundary; b != nil {
					_, err := e.Undo(ctx, b.UUID)
					check(err)
				}
			case 2:
				check(e.RefuseServerSummary(ctx))
			case 3:
				again, err := store.Reopen()
				check(err)
				cfg, store = config(), again
				e = engine.New(store, cfg)
			}
			if rnd.IntN(3) > 0 {
				check(e.Append(message.User(fmt.Sprintf("prompt %d %s", n, strings.Repeat("words ", rnd.IntN(300))))))
			}
			req, err := e.Prepare(ctx)
			if errors.Is(err, engine.ErrNotReady) {
				continue
			}
			check(err)
			again, err := store.Reopen()
			check(err)
			r2, err := engine.New(again, cfg).Prepare(ctx)
			if err != nil {
				t.Fatalf("step %d: after a resume: %v\n%s", n, err, wire(req))
			}
			if wire(r2) != wire(req) {
				t.Fatalf("step %d: after a resume\n%s\nwant\n%s", n, wire(r2), wire(req))
			}
			reply := say(fmt.Sprint("m", n), fmt.Sprint("answer ", n))
			if rnd.IntN(2) == 0 {
				reply = message.Assistant(message.Thinking("hm", fmt.Sprint("c2ln", n)), message.Text(fmt.Sprint("answer ", n)))
			}
			calls := rnd.IntN(3)
			content := reply.Content
			for i := range calls {
				use, err := message.ToolUse(fmt.Sprintf("c%d-%d", n, i), "Read", json.RawMessage(`{}`))
				check(err)
				content = append(content, use)
			}
			if req.Frame.Provider == "anthropic" && rnd.IntN(4) == 0 {
				b, err := message.ParseBlock(block(100 + n))
				check(err)
				content = append([]message.Block{b}, content...)
			}
			reply = message.Assistant(content...)
			reply.ID = fmt.Sprint("m", n)
			check(e.Record(ctx, req, reply))
			for i := range calls {
				if rnd.IntN(8) > 0 {
					check(e.Append(message.UserBlocks(message.ToolResult(fmt.Sprintf("c%d-%d", n, i), false, message.Text(strings.Repeat("out ", rnd.IntN(200)))))))
				}
			}
		}
	})
}
