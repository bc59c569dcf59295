package modelsim

import (
	"fmt"
	"strings"
	"testing"
)

// steps is a conversation of n calls with results of about size tokens each, as one request holds it.
func steps(n, size int) []string {
	out := []string{user("go")}
	for i := range n {
		out = append(out,
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"%s","input":{"path":"%s"}}]}`, i, []string{"read", "write"}[i%2], strings.Repeat("p", 200)),
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, long(size)+fmt.Sprint(i)))
	}
	return out
}

// TestClearToolUses: the parameters of clear_tool_uses_20250919, its report, and that the client's history stays as it is (L1, API.md 2.1).
func TestClearToolUses(t *testing.T) {
	edit := func(params string) string {
		if params != "" {
			params = "," + params
		}
		return `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"` + params + `}]}`
	}
	for _, w := range []struct {
		name    string
		params  string
		cleared int // 0: not applied
	}{
		{"default trigger is not reached", ``, 0},
		{"by tokens", `"trigger":{"type":"input_tokens","value":1500}`, 7},
		{"tokens not reached", `"trigger":{"type":"input_tokens","value":50000}`, 0},
		{"by uses", `"trigger":{"type":"tool_uses","value":9}`, 7},
		{"uses not reached", `"trigger":{"type":"tool_uses","value":10}`, 0},
		{"keep", `"trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":6}`, 4},
		{"keep all", `"trigger":{"type":"tool_uses","value":1},"keep":{"type":"tool_uses","value":60}`, 0},
		{"excluded", `"trigger":{"type":"tool_uses","value":1},"exclude_tools":["write"]`, 4},
		{"at least", `"trigger":{"type":"tool_uses","value":1},"clear_at_least":{"type":"input_tokens","value":1200}`, 7},
		{"less than at least", `"trigger":{"type":"tool_uses","value":1},"clear_at_least":{"type":"input_tokens","value":60000}`, 0},
	} {
		t.Run(w.name, func(t *testing.T) {
			c := newClient(t, Config{Factor: 1})
			c.betas = []string{"context-management-2025-06-27"}
			a := c.send("claude-opus-5-5", steps(10, 200), edit(w.params))
			if a.status != 200 {
				t.Fatalf("%s", a.body)
			}
			plain := c.send("claude-opus-5-5", steps(10, 200), "")
			saved := plain.figures().input - a.figures().input
			list, _ := asArray(a.o.obj("context_management").get("applied_edits"))
			if w.cleared == 0 {
				if len(list) != 0 || saved != 0 {
					t.Errorf("%s, saved %d", list, saved)
				}
				return
			}
			if len(list) != 1 {
				t.Fatalf("%s", a.body)
			}
			e, _ := parseObject(list[0])
			n, _ := e.num("cleared_tool_uses")
			tokens, _ := e.num("cleared_input_tokens")
			if n != w.cleared || tokens != saved || saved < n*180 {
				t.Errorf("cleared %d uses, %d tokens; the prompt is %d smaller", n, tokens, saved)
			}
			count := c.post("/v1/messages/count_tokens", `{"model":"claude-opus-5-5","messages":[`+strings.Join(steps(10, 200), ",")+`],`+edit(w.params)+`}`)
			before, _ := count.o.obj("context_management").num("original_input_tokens")
			if after, _ := count.o.num("input_tokens"); after != a.figures().input || before != plain.figures().input {
				t.Errorf("%s", count.body)
			}
		})
	}
	c := newClient(t, Config{Factor: 1})
	c.betas = []string{"context-management-2025-06-27"}
	least := c.send("claude-opus-5-5", steps(10, 200), edit(`"trigger":{"type":"tool_uses","value":1}`)).figures().input
	all := c.send("claude-opus-5-5", steps(10, 200), edit(`"trigger":{"type":"tool_uses","value":1},"clear_tool_inputs":true`)).figures().input
	some := c.send("claude-opus-5-5", steps(10, 200), edit(`"trigger":{"type":"tool_uses","value":1},"clear_tool_inputs":["write"]`)).figures().input
	if all >= some || some >= least {
		t.Errorf("inputs cleared: all %d, some %d, none %d", all, some, least)
	}
}

// TestClearThinking: reasoning of older turns is cleared when asked, and stays valid in the history.
func TestClearThinking(t *testing.T) {
	c := newConversation(t, Config{Script: bindingScript}, "claude-opus-5-5")
	c.betas = []string{"context-management-2025-06-27"}
	for _, text := range []string{"one", "two", "three"} {
		c.say(text)
	}
	plain := c.sim.Requests()[2].PromptTokens
	c.extra += `,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}}]}`
	a := c.say("four")
	if got := string(a.o.get("context_management")); a.status != 200 || !strings.Contains(got, `"cleared_thinking_turns":2`) {
		t.Errorf("%s after %d", a.body, plain)
	}
}

// TestStreamedEdits: in a stream the edits are told at its end.
func TestStreamedEdits(t *testing.T) {
	c := newClient(t, Config{})
	c.betas = []string{"context-management-2025-06-27"}
	a := c.send("claude-opus-5-5", steps(10, 200), `"stream":true,"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":1}}]}`)
	for _, e := range events(a.body) {
		if has := strings.Contains(e.data, `"cleared_tool_uses":7`); has != (e.name == "message_delta") {
			t.Errorf("%s: %s", e.name, e.data)
		}
	}
}

// TestEarlierThinking: models that do not keep reasoning of earlier turns do not count it (API.md 1.6).
func TestEarlierThinking(t *testing.T) {
	for model, kept := range map[string]bool{"claude-sonnet-4-5": false, "claude-opus-4-5": true} {
		c := newConversation(t, Config{Script: "turn\n think <<E\n" + long(2000) + "\nE\n say x\n"}, model)
		c.say("one")
		if n := c.say("two").figures().input; (n > 1500) != kept {
			t.Errorf("%s: %d tokens", model, n)
		}
	}
}
