package modelsim

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/message"
)

const bindingScript = `
default
  think about ${n}
  say answer ${n}
`

// conversation sends one user text after the other and keeps everything, as an append-only client does.
type conversation struct {
	*client
	model    string
	messages []string
	extra    string
}

func (c *conversation) say(text string) answer {
	c.t.Helper()
	c.messages = append(c.messages, user(text))
	a := c.send(c.model, c.messages, c.extra)
	if a.status == 200 {
		c.messages = append(c.messages, a.back())
	}
	return a
}

func newConversation(t *testing.T, cfg Config, model string) *conversation {
	return &conversation{client: newClient(t, cfg), model: model, extra: aTool}
}

// with returns a copy of list with element i changed; "" removes it.
func with(list []string, i int, s string) []string {
	out := append([]string(nil), list...)
	if s == "" {
		return append(out[:i], out[i+1:]...)
	}
	out[i] = s
	return out
}

// noThinking takes the reasoning out of a reply.
func noThinking(m string) string {
	msg, _ := message.ParseMessage([]byte(m))
	var keep []message.Block
	for _, b := range msg.Content {
		if !b.IsThinking() {
			keep = append(keep, b)
		}
	}
	return string(message.Assistant(keep...).JSON())
}

// TestBinding has each way to break and to keep the prefix that API.md 1.6 lists (invariants 9 and 10).
func TestBinding(t *testing.T) {
	const dropBeta = "thinking-binding-controls-2026-08-01"
	base := func(t *testing.T, cfg Config, model string) *conversation {
		cfg.Script = bindingScript
		c := newConversation(t, cfg, model)
		c.betas = []string{dropBeta}
		for _, text := range []string{"one", "two", "three"} {
			if a := c.say(text); a.status != 200 {
				t.Fatalf("%s", a.body)
			}
		}
		c.messages = append(c.messages, user("four"))
		return c
	}
	marked := `{"role":"user","content":[{"type":"text","text":"one","cache_control":{"type":"ephemeral"}}]}`
	for _, w := range []struct {
		name   string
		change func(c *conversation)
		rule   string // "" is accepted
		path   string
	}{
		{"nothing", func(c *conversation) {}, "", ""},
		{"an older user text", func(c *conversation) { c.messages[0] = user("0ne") }, "thinking-bound", "messages.1.content.0"},
		{"the system text", func(c *conversation) { c.extra += `,"system":"now"` }, "thinking-bound", "messages.1.content.0"},
		{"the tools", func(c *conversation) { c.extra = strings.Replace(aTool, "Reads", "Read", 1) }, "thinking-bound", "messages.1.content.0"},
		{"a message left out", func(c *conversation) { c.messages = c.messages[2:] }, "thinking-bound", "messages.1.content.0"},
		{"a later text only spoils what follows", func(c *conversation) { c.messages[2] = user("2") }, "thinking-bound", "messages.3.content.0"},
		{"reasoning left out in the middle", func(c *conversation) { c.messages[3] = noThinking(c.messages[3]) }, "thinking-bound", "messages.5.content.0"},
		{"all reasoning left out", func(c *conversation) {
			for i := 1; i < 6; i += 2 {
				c.messages[i] = noThinking(c.messages[i])
			}
		}, "", ""},
		{"reasoning left out from the start", func(c *conversation) { c.messages[1] = noThinking(c.messages[1]) }, "", ""},
		{"reasoning left out at the end", func(c *conversation) { c.messages[5] = noThinking(c.messages[5]) }, "", ""},
		{"a cache mark moved", func(c *conversation) { c.messages[0] = marked }, "", ""},
		{"a message divided", func(c *conversation) {
			c.messages = append(c.messages[:1:1], append(splitReply(c.messages[1]), c.messages[2:]...)...)
		}, "", ""},
		{"a tool that is loaded later", func(c *conversation) {
			c.extra = strings.TrimSuffix(aTool, "]") + `,{"name":"late","defer_loading":true,"input_schema":{"type":"object"}}]`
		}, "", ""},
		{"effort", func(c *conversation) { c.extra += `,"output_config":{"effort":"low"}` }, "", ""},
		{"the text of older reasoning", func(c *conversation) { c.messages[1] = strings.Replace(c.messages[1], "about", "over", 1) }, "thinking-signature", "messages.1.content.0"},
		{"the text of the latest reasoning (9)", func(c *conversation) { c.messages[5] = strings.Replace(c.messages[5], "about", "over", 1) }, "thinking-modified", "messages.5.content.0"},
		{"another account", func(c *conversation) { c.key = "sk-other" }, "thinking-bound", "messages.1.content.0"},
	} {
		t.Run(w.name, func(t *testing.T) {
			c := base(t, Config{}, "claude-opus-5-5")
			w.change(c)
			a := c.send(c.model, c.messages, c.extra)
			v := c.sim.Violations()
			if w.rule == "" {
				if a.status != 200 || len(v) > 0 {
					t.Errorf("%d %v", a.status, v)
				}
				return
			}
			if a.status != 400 || len(v) == 0 || v[0].Rule != w.rule || v[0].Path != w.path {
				t.Errorf("%d %v", a.status, v)
			}
			if w.rule == "thinking-bound" && !strings.Contains(a.errorMessage(), "The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".") {
				t.Error(a.errorMessage())
			}
		})
	}
	t.Run("dropped when asked for", func(t *testing.T) {
		c := base(t, Config{}, "claude-opus-5-5")
		c.messages[2] = user("2")
		c.extra += `,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`
		a := c.send(c.model, c.messages, c.extra)
		want := `[{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"},{"type":"thinking_dropped","path":"messages.5.content.0","reason":"prefix_binding_mismatch"}]`
		if got := string(a.o.get("input_transformations")); a.status != 200 || got != want {
			t.Errorf("%d %s", a.status, got)
		}
		// What is said from here on is bound to the changed conversation, and valid as long as the choice is remembered.
		c.messages = append(c.messages, a.back())
		if a = c.say("five"); string(a.o.get("input_transformations")) != want {
			t.Errorf("%s", a.body)
		}
	})
	t.Run("old accounts are told", func(t *testing.T) {
		c := base(t, Config{OldAccount: true}, "claude-opus-5-5")
		c.messages[0] = user("0ne")
		a := c.send(c.model, c.messages, c.extra)
		if got := string(a.o.get("input_transformations")); a.status != 200 || strings.Count(got, "thinking_mismatch_allowed") != 3 {
			t.Errorf("%d %s", a.status, got)
		}
	})
	t.Run("models that do not check", func(t *testing.T) {
		c := base(t, Config{}, "claude-opus-5")
		c.messages[0] = user("0ne")
		if a := c.send(c.model, c.messages, c.extra); a.status != 200 {
			t.Errorf("%s", a.body)
		}
	})
	t.Run("another model", func(t *testing.T) {
		c := base(t, Config{}, "claude-opus-5-5")
		a := c.send("claude-sonnet-5-5", c.messages, c.extra)
		if got := string(a.o.get("input_transformations")); a.status != 200 || strings.Count(got, `"model_binding_mismatch"`) != 3 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// splitReply divides a reply into messages of one block, as the reference's log has it.
func splitReply(m string) []string {
	msg, _ := message.ParseMessage([]byte(m))
	var out []string
	for _, b := range msg.Content {
		out = append(out, string(message.Assistant(b).JSON()))
	}
	return out
}

// TestPartial: several reasoning blocks of one reply stay together and in order.
func TestPartial(t *testing.T) {
	c := newConversation(t, Config{Script: "turn\n think a\n say x\n redacted\n think b\n say y\n"}, "claude-opus-5-5")
	c.say("go")
	reply, _ := message.ParseMessage([]byte(c.messages[1]))
	b := reply.Content
	if len(b) != 5 || b[2].Type != "redacted_thinking" {
		t.Fatal(c.messages[1])
	}
	for _, w := range []struct {
		blocks []message.Block
		rule   string
	}{
		{b, ""},
		{[]message.Block{b[1], b[4]}, ""},
		{[]message.Block{b[0], b[1], b[4]}, "thinking-partial"},
		{[]message.Block{b[1], b[2], b[3], b[4]}, "thinking-partial"},
		{[]message.Block{b[2], b[0], b[1], b[3], b[4]}, "thinking-bound thinking-partial"},
	} {
		before := len(c.sim.Violations())
		c.send(c.model, []string{user("go"), string(message.Assistant(w.blocks...).JSON()), user("on")}, c.extra)
		if got := rules(c.sim.Violations()[before:]); !sameWords(got, w.rule) {
			t.Errorf("%d blocks: %q, want %q", len(w.blocks), got, w.rule)
		}
	}
}

// TestCutReasoning: reasoning of a reply whose stream was cut may be kept without the rest.
func TestCutReasoning(t *testing.T) {
	c := newConversation(t, Config{Script: "turn\n think a\n say long enough to be cut somewhere in here, and then some more of it\n think b\n end in say\n"}, "claude-opus-5-5")
	a := c.post("/v1/messages", request(c.model, []string{user("go")}, c.extra+`,"stream":true`))
	var sig string
	for _, e := range events(a.body) {
		if o, _ := parseObject([]byte(e.data)); o.obj("delta").has("signature") {
			sig = o.obj("delta").str("signature")
		}
	}
	reply := string(message.Assistant(message.Thinking("a", sig), message.Text("long")).JSON())
	if b := c.send(c.model, []string{user("go"), reply, user("on")}, c.extra); b.status != 200 {
		t.Errorf("%s", b.body)
	}
}

// TestAppendOnly is the property behind everything: whatever a reply holds, a client that only appends, also after reasoning was left
// out at an end, is never refused; and its prefix never breaks unless it left something out.
func TestAppendOnly(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var script strings.Builder
		for range 6 {
			script.WriteString("turn\n")
			for range rapid.IntRange(1, 4).Draw(rt, "blocks") {
				script.WriteString(rapid.SampledFrom([]string{" think of ${n}\n", " say s${n}\n", " call read {\"path\":\"${n}\"}\n", " redacted\n"}).Draw(rt, "verb"))
			}
			script.WriteString(" say end\n")
		}
		sim, err := New(Config{Script: script.String(), Clock: NewClock(start)})
		if err != nil {
			rt.Fatal(err)
		}
		messages := []string{user("go")}
		stripped := false
		for i := range 6 {
			a := direct(sim, request("claude-opus-5-5", messages, aTool))
			if a.status != 200 {
				rt.Fatalf("request %d: %s\nscript:\n%s", i, a.body, script.String())
			}
			messages = append(messages, a.back())
			if rapid.IntRange(0, 4).Draw(rt, "strip") == 0 { // all reasoning, which is both ends
				for k := range messages {
					if k%2 == 1 {
						messages[k] = noThinking(messages[k])
					}
				}
				stripped = true
			}
			if r := a.results("r"); strings.Contains(r, "tool_result") {
				messages = append(messages, r)
			} else {
				messages = append(messages, user(fmt.Sprint("more ", i)))
			}
		}
		if b := sim.Breaks(); len(b) > 0 && !stripped {
			rt.Fatalf("%v", b)
		}
	})
}
