package modelsim

import (
	"strings"
	"testing"
)

// summarized is a conversation of two turns and the message with its summary.
func summarized(t *testing.T, script string) (*conversation, answer) {
	t.Helper()
	c := newConversation(t, Config{Script: script}, "claude-opus-5-5")
	c.betas = []string{betaOnDemand, "thinking-binding-controls-2026-08-01"}
	c.say("one NEEDLE-a")
	c.say("two")
	a := c.send(c.model, append(c.messages, user("three")), c.extra+`,"compaction":{"type":"summarize"}`)
	if a.status != 200 {
		t.Fatalf("%s", a.body)
	}
	return c, a
}

// TestOnDemand: the reply to a request for a summary, its usage, and what may follow it (API.md 2.2).
func TestOnDemand(t *testing.T) {
	c, a := summarized(t, bindingScript)
	u := a.o.obj("usage")
	its, _ := asArray(u.get("iterations"))
	if a.o.str("stop_reason") != "compaction" || len(a.content()) != 1 || a.usage("input_tokens") != 0 || a.usage("output_tokens") != 0 || len(its) != 1 || !strings.Contains(string(its[0]), `"type":"compaction"`) {
		t.Fatalf("%s", a.body)
	}
	block, _ := parseObject(a.content()[0])
	if !strings.Contains(block.str("content"), "NEEDLE-a") || !block.has("signature") {
		t.Fatalf("%s", a.body)
	}
	b := c.send(c.model, []string{a.back(), user("go on")}, c.extra)
	if b.status != 200 || b.text() != "answer 4" {
		t.Errorf("%s", b.body)
	}
	// The reply after it is bound to the summary.
	if d := c.send(c.model, []string{a.back(), user("go on"), b.back(), user("more")}, c.extra); d.status != 200 || string(d.o.get("input_transformations")) != "[]" {
		t.Errorf("%s", d.body)
	}
	if d := c.send(c.model, []string{user("go on"), b.back(), user("more")}, c.extra); d.status != 400 {
		t.Errorf("the summary may be left out: %s", d.body)
	}
}

// TestBackgroundCompaction: what was appended while the summary was made follows it unchanged, its reasoning valid.
func TestBackgroundCompaction(t *testing.T) {
	c, a := summarized(t, bindingScript)
	c.say("three")
	c.messages = append(c.messages, user("four"))
	kept := append([]string{a.back()}, c.messages[5:]...) // what follows the last message that was summarized
	b := c.send(c.model, kept, c.extra)
	if b.status != 200 || string(b.o.get("input_transformations")) != "[]" {
		t.Fatalf("%s", b.body)
	}
	kept[1] = strings.Replace(kept[1], "answer", "ANSWER", 1) // not what was said
	kept = append(kept, b.back(), user("five"))
	if d := c.send(c.model, kept, c.extra); d.status != 400 {
		t.Errorf("%s", d.body)
	}
}

// TestCompactionErrors: each error of API.md 2.2, with its code.
func TestCompactionErrors(t *testing.T) {
	c, a := summarized(t, bindingScript)
	summary := a.back()
	ask := `,"compaction":{"type":"summarize"}`
	for _, w := range []struct {
		name     string
		messages []string
		extra    string
		code     string
		rule     string
		betas    string
	}{
		{"second place", []string{user("x"), summary, user("y")}, "", "compaction_block_misplaced", "compaction", ""},
		{"twice", []string{summary, user("x"), summary, user("y")}, "", "compaction_block_ambiguous", "compaction", ""},
		{"signature", []string{strings.Replace(summary, `"signature":"`, `"signature":"A`, 1), user("y")}, "", "compaction_signature_invalid", "compaction", ""},
		{"content", []string{strings.Replace(summary, "NEEDLE-a", "NEEDLE-b", 1), user("y")}, "", "compaction_content_mismatch", "compaction", ""},
		{"tool changes", []string{strings.Replace(summary, `"tool_changes":null`, `"tool_changes":[]`, 1), user("y")}, "", "compaction_tool_changes_mismatch", "compaction", ""},
		{"nothing", []string{summary}, ask, "compaction_nothing_to_summarize", "compaction", ""},
		{"unfinished", []string{user("x"), call1}, ask, "compaction_incomplete_turn", "tool-use-open", ""},
		{"no beta any more", []string{summary, user("y")}, "", "", "beta-missing", "other-2026-01-01"},
		{"the summarized messages again", append([]string{summary}, append(c.messages, user("three"), user("four"))...), "", "", "compaction-overlap", ""},
		{"an end of them again", append([]string{summary}, append(c.messages[2:], user("three"), user("four"))...), "", "", "compaction-overlap", ""},
		{"unknown kind", []string{user("x")}, `,"compaction":{"type":"forget"}`, "", "compaction", ""},
		{"long instructions", []string{user("x")}, `,"compaction":{"type":"summarize","instructions":"` + strings.Repeat("x", 16_385) + `"}`, "", "compaction", ""},
		{"with editing", []string{user("x")}, ask + `,"context_management":{"edits":[]}`, "", "compaction", ""},
		{"with stop sequences", []string{user("x")}, ask + `,"stop_sequences":["x"]`, "", "compaction", ""},
		{"with a format", []string{user("x")}, ask + `,"output_config":{"format":{}}`, "", "compaction", ""},
		{"with a forced tool", []string{user("x")}, ask + `,"tool_choice":{"type":"any"}`, "", "compaction tool-choice", ""},
	} {
		before := len(c.sim.Violations())
		c.betas = []string{betaOnDemand, "thinking-binding-controls-2026-08-01"}
		if w.betas != "" {
			c.betas = []string{w.betas}
		}
		b := c.send(c.model, w.messages, c.extra+w.extra)
		got := c.sim.Violations()[before:]
		if b.status != 400 || !hasRule(got, w.rule) {
			t.Errorf("%s: %d %v", w.name, b.status, got)
		}
		if code := b.o.obj("error").obj("details").str("error_code"); code != w.code {
			t.Errorf("%s: code %q, want %q (%s)", w.name, code, w.code, b.errorMessage())
		}
	}
}

func hasRule(list []Violation, want string) bool {
	for _, rule := range strings.Fields(want) {
		found := false
		for _, v := range list {
			found = found || v.Rule == rule
		}
		if !found {
			return false
		}
	}
	return len(list) > 0
}

// TestNoSummary: HTTP 200 without the summary, in the ways there are; the history goes on.
func TestNoSummary(t *testing.T) {
	for script, want := range map[string]string{
		"on compaction\n null\n":                                   `end_turn [{"type":"compaction","content":null`,
		"on compaction\n null max_tokens\n":                        `max_tokens [{"type":"compaction","content":null`,
		"on compaction\n say no\n stop end_turn\n":                 `end_turn [{"type":"text","text":"no"}]`,
		"on compaction\n refuse\n":                                 `refusal []`,
		"on compaction\n call read {}\n stop tool_use\n":           `tool_use [{"type":"tool_use"`,
		"on compaction\n stop model_context_window_exceeded\n":     `model_context_window_exceeded []`,
		"on compaction\n fail 529 compaction_error times 1\n null": ``,
	} {
		if want == "" {
			if _, err := ParseScript(script); err != nil {
				t.Error(err)
			}
			continue
		}
		c, a := summarized(t, script+"\n"+bindingScript)
		got := a.o.str("stop_reason") + " " + string(a.o.get("content"))
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s", script, got)
		}
		if b := c.say("three"); b.status != 200 {
			t.Errorf("%q: %s", script, b.body)
		}
	}
}

// TestThreshold: compact_20260112 puts the block at the start of a reply; what stands before it is gone for the model, whether it is
// sent along or not (API.md 2.3).
func TestThreshold(t *testing.T) {
	edit := `,"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":50000}}]}`
	for _, streamed := range []bool{false, true} {
		c := newConversation(t, Config{Script: bindingScript, Factor: 20}, "claude-opus-5-5")
		c.betas = []string{betaThreshold}
		c.extra += edit
		c.say("one NEEDLE-a")
		if a := c.say(long(2600)); !strings.HasPrefix(string(a.o.get("content")), `[{"type":"compaction"`) || a.usage("input_tokens") > 6000 || a.text() == "" {
			t.Fatalf("%s", a.o.get("usage"))
		} else if its, _ := asArray(a.o.obj("usage").get("iterations")); len(its) != 2 || !strings.Contains(string(its[0]), `"compaction"`) || !strings.Contains(string(its[1]), `"message"`) {
			t.Errorf("%s", a.o.get("usage"))
		}
		all := append(append([]string(nil), c.messages...), user("three"))
		kept := all[3:] // from the reply with the block on
		for name, messages := range map[string][]string{"all": all, "kept": kept} {
			body := request(c.model, messages, c.extra)
			if streamed {
				body = request(c.model, messages, c.extra+`,"stream":true`)
			}
			if a := c.post("/v1/messages", body); a.status != 200 {
				t.Errorf("%s: %s", name, a.body)
			}
			if r := c.sim.Requests(); r[len(r)-1].PromptTokens > 6000 {
				t.Errorf("%s: the model saw %d tokens", name, r[len(r)-1].PromptTokens)
			}
		}
		if v := c.sim.Violations(); len(v) > 0 {
			t.Errorf("%v", v)
		}
	}
	t.Run("paused", func(t *testing.T) {
		c := newConversation(t, Config{Script: bindingScript, Factor: 20}, "claude-opus-5-5")
		c.betas = []string{betaThreshold}
		c.extra += strings.Replace(edit, `"type":"compact_20260112"`, `"type":"compact_20260112","pause_after_compaction":true`, 1)
		if a := c.say(long(2600)); a.o.str("stop_reason") != "compaction" || len(a.content()) != 1 {
			t.Errorf("%s", a.o.get("content"))
		}
	})
	t.Run("failed", func(t *testing.T) {
		c := newConversation(t, Config{Script: "default\n null\n say on\n", Factor: 20}, "claude-opus-5-5")
		c.betas = []string{betaThreshold}
		c.extra += edit
		if a := c.say(long(2600)); !strings.HasPrefix(string(a.o.get("content")), `[{"type":"compaction","content":null`) || a.text() != "on" {
			t.Errorf("%s", a.o.get("content"))
		}
		if a := c.say("more"); a.status != 200 || a.usage("input_tokens") < 50_000 {
			t.Errorf("%d %s", a.status, a.o.get("usage"))
		}
	})
}
