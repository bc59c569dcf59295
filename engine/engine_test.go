package engine_test

import (
	"bytes"
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
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/transcript"
)

// clock is a deterministic stamp: times a second apart, ids in order.
func clock() transcript.Stamp {
	n := 0
	return transcript.Stamp{SessionID: "5e55", CWD: "/work/app", Version: "1", GitBranch: "main",
		Now:   func() time.Time { return time.Date(2026, 5, 1, 0, 0, n, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("e%d", n) }}
}

func say(id, text string) message.Message {
	m := message.Assistant(message.Text(text))
	m.ID, m.StopReason = id, "end_turn"
	return m
}

func call(t *rapid.T, id string, tools ...string) message.Message {
	blocks := []message.Block{message.Thinking("hm "+id, "c2ln")}
	for _, c := range tools {
		b, err := message.ToolUse(c, "Read", json.RawMessage(`{"file_path":"`+c+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	m := message.Assistant(blocks...)
	m.ID, m.StopReason = id, "tool_use"
	return m
}

func wire(r *engine.Request) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", r.Frame.Bytes())
	for _, w := range r.Wire {
		b.Write(w)
		b.WriteByte('\n')
	}
	return b.String()
}

// TestEmbedder: G-15. The embedder's first lines work as documented.
func TestEmbedder(t *testing.T) {
	ctx := context.Background()
	s := engine.Memory(clock())
	e := engine.New(s, engine.Config{Caps: caps.Window(128_000), System: json.RawMessage(`"You are terse."`)})
	if err := e.Append(message.User("hello")); err != nil {
		t.Fatal(err)
	}
	req, err := e.Prepare(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Messages) != 1 || req.Messages[0].Content[0].Text != "hello" || string(req.Frame.System) != `"You are terse."` {
		t.Fatalf("request %s", wire(req))
	}
	if err := e.Record(ctx, req, say("m1", "Hi.")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Prepare(ctx); !errors.Is(err, engine.ErrNotReady) {
		t.Fatalf("after a reply without calls: %v", err)
	}
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"subtype":"varve_frame"`, `"type":"varve-receipt"`, `"prefixHash":"` + req.PrefixHash + `"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the log lacks %s:\n%s", want, b)
		}
	}
}

// TestPropConversation: T-13, S-2, G-12, decisions 1 to 3. A conversation of any
// shape, with interruptions, resumed at any point: each request is accepted by the
// validator (Prepare fails otherwise), extends the one before unless an edit was
// made, and is byte for byte the same when the session is opened again.
func TestPropConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		ctx := context.Background()
		var lost []engine.Event
		cfg := engine.Config{Caps: caps.Window(rapid.SampledFrom([]int{4_000, 20_000, 200_000}).Draw(t, "window")),
			System: json.RawMessage(`"sys"`), Observe: func(ev engine.Event) {
				if ev.Kind == engine.PrefixLost || ev.Kind == engine.FrameLost {
					lost = append(lost, ev)
				}
			}}
		cfg.Caps.PrefixBound = rapid.Bool().Draw(t, "bound")
		store := engine.Memory(clock())
		e := engine.New(store, cfg)
		n, open := 0, []string(nil)
		id := func(k string) string { n++; return fmt.Sprintf("%s%d", k, n) }
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if len(open) > 0 && rnd.IntN(8) > 0 {
				var rs []message.Block
				for _, c := range open {
					if rnd.IntN(10) > 0 {
						rs = append(rs, message.ToolResult(c, rnd.IntN(5) == 0, message.Text(strings.Repeat("out ", 1+rnd.IntN(400)))))
					}
				}
				if len(rs) > 0 {
					if err := e.Append(message.UserBlocks(rs...)); err != nil {
						t.Fatal(err)
					}
				}
			}
			late := open
			open = nil
			if rnd.IntN(2) == 0 {
				if err := e.Append(message.User("prompt " + strings.Repeat("words ", rnd.IntN(80)))); err != nil {
					t.Fatal(err)
				}
			}
			if rnd.IntN(6) == 0 {
				if err := e.Attach(json.RawMessage(`{"type":"file"}`), []string{"<system-reminder>x</system-reminder>"}, "user"); err != nil {
					t.Fatal(err)
				}
			}
			req, err := e.Prepare(ctx)
			var full *engine.FullError
			if errors.As(err, &full) || errors.Is(err, engine.ErrNotReady) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if req.Tokens > req.Budget.Effective {
				t.Fatalf("request of %d tokens, room for %d", req.Tokens, req.Budget.Effective)
			}
			if rnd.IntN(4) == 0 { // the process dies here; another opens the session
				again, err := store.Reopen()
				if err != nil {
					t.Fatal(err)
				}
				e2 := engine.New(again, cfg)
				req2, err := e2.Prepare(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if wire(req) != wire(req2) || req.PrefixHash != req2.PrefixHash {
					t.Fatalf("resumed request differs:\n%s\n---\n%s", wire(req), wire(req2))
				}
				store, e, req = again, e2, req2
			}
			reply := say(id("m"), "text "+strings.Repeat("answer ", rnd.IntN(60)))
			if rnd.IntN(2) == 0 {
				for range 1 + rnd.IntN(3) {
					open = append(open, id("call"))
				}
				reply = call(t, id("m"), open...)
			}
			if err := e.Record(ctx, req, reply); err != nil {
				t.Fatal(err)
			}
			for _, c := range late { // results that come too late are added as text
				if answered, known := e.View().Answered(c); known && answered && rnd.IntN(3) == 0 && len(open) == 0 {
					if err := e.Append(message.UserBlocks(message.ToolResult(c, false, message.Text("late")))); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		if len(lost) > 0 {
			t.Fatalf("lost: %+v", lost)
		}
	})
}

// TestFrameKept: T-13, anthropics/claude-code#43657. A resumed session sends the
// system text and tools that it began with, whatever the configuration says now.
func TestFrameKept(t *testing.T) {
	ctx := context.Background()
	s := engine.Memory(clock())
	old := engine.Config{Caps: caps.Window(100_000), System: json.RawMessage(`"one"`), Tools: json.RawMessage(`[{"name":"b"},{"name":"a"}]`)}
	e := engine.New(s, old)
	must(t, e.Append(message.User("hi")))
	first, err := e.Prepare(ctx)
	must(t, err)
	must(t, e.Record(ctx, first, say("m1", "yes")))
	again, err := s.Reopen()
	must(t, err)
	changed := old
	changed.System, changed.Tools = json.RawMessage(`"two"`), json.RawMessage(`[{"name":"a"},{"name":"b"}]`)
	e = engine.New(again, changed)
	must(t, e.Append(message.User("more")))
	second, err := e.Prepare(ctx)
	must(t, err)
	if second.Frame.ID != first.Frame.ID || !bytes.Equal(second.Frame.Bytes(), first.Frame.Bytes()) {
		t.Errorf("frame %s, want %s", second.Frame.Bytes(), first.Frame.Bytes())
	}
	if !e.StaleFrame() {
		t.Error("the engine does not say that the configuration differs")
	}
	if !strings.HasPrefix(wire(second), wire(first)[:len(wire(first))-1]) {
		t.Errorf("the second request does not extend the first:\n%s\n%s", wire(first), wire(second))
	}
	must(t, e.Reframe(changed.System, changed.Tools, nil))
	third, err := e.Prepare(ctx)
	must(t, err)
	if string(third.Frame.System) != `"two"` || third.ExpectedCached != 0 {
		t.Errorf("after Reframe: %s, expected cached %d", third.Frame.Bytes(), third.ExpectedCached)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverhead: G-1. A fixed part that fills the window is refused before anything
// is sent, and each part is named with its size.
func TestOverhead(t *testing.T) {
	tools := `[{"name":"t","description":"` + strings.Repeat("long words here ", 2000) + `"}]`
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: caps.Window(4_000), Tools: json.RawMessage(tools)})
	must(t, e.Append(message.User("hi")))
	_, err := e.Prepare(context.Background())
	var over *engine.OverheadError
	if !errors.As(err, &over) || over.Parts.Tools < 4_000 || !strings.Contains(err.Error(), "tools") {
		t.Fatalf("error %v", err)
	}
}

// TestProviderSwitch: DESIGN decision 7. Reasoning of another provider is left out
// of the request, stays in the log, and is there again after switching back.
func TestProviderSwitch(t *testing.T) {
	ctx := context.Background()
	a, _ := caps.Find("anthropic/claude-opus-5-5")
	o, _ := caps.Find("openai/gpt-6.2-sol")
	s := engine.Memory(clock())
	e := engine.New(s, engine.Config{Caps: a})
	must(t, e.Append(message.User("hi")))
	req, err := e.Prepare(ctx)
	must(t, err)
	m := message.Assistant(message.Thinking("deep", "c2ln"), message.Text("yes"))
	m.ID = "m1"
	must(t, e.Record(ctx, req, m))
	must(t, e.Append(message.User("more")))
	withA, err := e.Prepare(ctx)
	must(t, err)

	s2, err := s.Reopen()
	must(t, err)
	e = engine.New(s2, engine.Config{Caps: o})
	withO, err := e.Prepare(ctx)
	must(t, err)
	if strings.Contains(wire(withO), "deep") || withO.Frame.Provider != "openai" {
		t.Errorf("foreign reasoning is sent: %s", wire(withO))
	}
	s3, err := s2.Reopen()
	must(t, err)
	e = engine.New(s3, engine.Config{Caps: a})
	back, err := e.Prepare(ctx)
	must(t, err)
	if !strings.Contains(wire(back), "deep") {
		t.Errorf("reasoning is gone after switching back: %s", wire(back))
	}
	if string(back.Wire[1]) != string(withA.Wire[1]) {
		t.Errorf("the reply came back changed: %s, %s", back.Wire[1], withA.Wire[1])
	}
}

// TestCacheHonesty: G-12. What the cache should have held is compared with what it
// held, and the cause is said.
func TestCacheHonesty(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	model, _ := caps.Find("anthropic/claude-opus-5-5")
	var breaks []engine.Event
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: model, Now: func() time.Time { return now }, Observe: func(ev engine.Event) {
		if ev.Kind == engine.CacheBreak {
			breaks = append(breaks, ev)
		}
	}})
	turn := func(prompt string, usage message.Usage, after time.Duration) engine.CacheReport {
		now = now.Add(after)
		must(t, e.Append(message.User(prompt)))
		req, err := e.Prepare(ctx)
		must(t, err)
		m := say("m"+prompt, "ok")
		m.Usage = &usage
		rep, err := e.RecordReply(ctx, req, engine.Reply{Message: m})
		must(t, err)
		return rep
	}
	if r := turn("a", message.Usage{InputTokens: 100, CacheCreationTokens: 60_000}, 0); r.Broken || r.Expected != 0 {
		t.Errorf("first request: %+v", r)
	}
	if r := turn("b", message.Usage{InputTokens: 100, CacheReadTokens: 60_000}, time.Minute); r.Broken || r.Expected != 60_100 {
		t.Errorf("second request: %+v", r)
	}
	if r := turn("c", message.Usage{InputTokens: 60_300}, time.Minute); !r.Broken || r.Cause == "" {
		t.Errorf("third request, nothing read: %+v", r)
	}
	if r := turn("d", message.Usage{InputTokens: 60_500}, 2*time.Hour); r.Broken || !strings.Contains(r.Cause, "old") {
		t.Errorf("after two hours: %+v", r)
	}
	if r := turn("e", message.Usage{InputTokens: 176, Iterations: []message.Iteration{{Type: "compaction", CacheReadTokens: 60_400, CacheCreationTokens: 300}, {Type: "message", InputTokens: 176}}}, time.Minute); r.Broken || r.Read != 60_400 || r.Written != 300 || r.Uncached != 176 {
		t.Errorf("the server compacted before it answered: %+v", r)
	}
	if r := turn("f", message.Usage{InputTokens: 300}, time.Minute); r.Broken || r.Expected != 0 || !strings.Contains(r.Cause, "server compacted") {
		t.Errorf("after the server compacted: %+v", r)
	}
	if len(breaks) != 1 || breaks[0].Expected != 60_100 {
		t.Errorf("events %+v", breaks)
	}
}

// TestOrphanAppend: a result for a call that was never made is refused.
func TestOrphanAppend(t *testing.T) {
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: caps.Window(50_000)})
	if err := e.Append(message.UserBlocks(message.ToolResult("nope", false, message.Text("x")))); !errors.Is(err, engine.ErrNoCall) {
		t.Errorf("error %v", err)
	}
	if err := e.Append(message.Assistant(message.Text("x"))); !errors.Is(err, engine.ErrNotUser) {
		t.Errorf("error %v", err)
	}
}
