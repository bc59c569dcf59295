package modelsim

import (
	"encoding/json"
	"slices"
)

// An AppliedEdit is one entry of context_management.applied_edits.
type AppliedEdit struct {
	Type                 string `json:"type"`
	ClearedToolUses      *int   `json:"cleared_tool_uses,omitempty"`
	ClearedThinkingTurns *int   `json:"cleared_thinking_turns,omitempty"`
	ClearedInputTokens   int    `json:"cleared_input_tokens"`
}

// clearedText stands in the prompt where a result was.
const clearedText = "[cleared to save context]"

// The defaults of clear_tool_uses_20250919 (API.md 2.1).
const (
	clearTrigger = 100_000 // input tokens
	clearKeep    = 3       // tool uses
)

// edits returns the edits that the request asks for.
func (c *call) edits() []object {
	list, _ := asArray(c.body.obj("context_management").get("edits"))
	var out []object
	for _, raw := range list {
		if o, err := parseObject(raw); err == nil {
			out = append(out, o)
		}
	}
	return out
}

// applyEdits marks what the request's edits clear, in their order, and says what they did.
func (c *call) applyEdits() []AppliedEdit {
	applied := []AppliedEdit{}
	for _, e := range c.edits() {
		switch e.str("type") {
		case "clear_thinking_20251015":
			if a, ok := c.clearThinking(e); ok {
				applied = append(applied, a)
			}
		case "clear_tool_uses_20250919":
			if a, ok := c.clearToolUses(e); ok {
				applied = append(applied, a)
			}
		}
	}
	return applied
}

func (c *call) clearThinking(e object) (AppliedEdit, bool) {
	keep := -1
	if k := e.obj("keep"); k.str("type") == "thinking_turns" {
		keep, _ = k.num("value")
	}
	a := AppliedEdit{Type: e.str("type"), ClearedThinkingTurns: new(int)}
	if keep < 0 {
		return a, false
	}
	for i := len(c.msgs) - 1; i >= 0; i-- {
		cleared := false
		for k := range c.msgs[i].blocks {
			b := &c.msgs[i].blocks[k]
			if !b.isThinking() || b.dropped {
				continue
			}
			if cleared = true; keep <= 0 {
				b.dropped = true
				a.ClearedInputTokens += c.model.countBlock(b.Block)
			}
		}
		if cleared {
			if keep--; keep < 0 {
				*a.ClearedThinkingTurns++
			}
		}
	}
	return a, *a.ClearedThinkingTurns > 0
}

// A use is a call with its result.
type use struct{ call, result *block }

// uses lists the calls whose results are in the prompt, oldest first.
func (c *call) uses() []use {
	var list []use
	at := map[string]int{}
	c.each(func(b *block) {
		switch {
		case b.Type == "tool_use":
			at[b.ID] = len(list)
			list = append(list, use{call: b})
		case b.isResult():
			if i, ok := at[b.ToolUseID]; ok {
				list[i].result = b
			}
		}
	})
	return slices.DeleteFunc(list, func(u use) bool { return u.result == nil })
}

func (c *call) clearToolUses(e object) (AppliedEdit, bool) {
	a := AppliedEdit{Type: e.str("type"), ClearedToolUses: new(int)}
	list := c.uses()
	trigger, value := e.obj("trigger"), clearTrigger
	if n, ok := trigger.num("value"); ok {
		value = n
	}
	if trigger.str("type") == "tool_uses" {
		if len(list) <= value {
			return a, false
		}
	} else if total(c.render()) <= value {
		return a, false
	}
	keep := clearKeep
	if n, ok := e.obj("keep").num("value"); ok {
		keep = n
	}
	list = list[:max(0, len(list)-keep)]
	excluded := names(e.get("exclude_tools"))
	list = slices.DeleteFunc(list, func(u use) bool { return slices.Contains(excluded, u.call.Name) })
	inputs := names(e.get("clear_tool_inputs"))
	all := e.flag("clear_tool_inputs")
	saved := 0
	save := func(b *block) { saved += c.piece(b).tokens - c.clearedPiece(b).tokens }
	for _, u := range list {
		save(u.result)
		if all || slices.Contains(inputs, u.call.Name) {
			save(u.call)
		}
	}
	least, _ := e.obj("clear_at_least").num("value")
	if len(list) == 0 || saved < least {
		return a, false
	}
	for _, u := range list {
		u.result.cleared = true
		u.call.cleared = all || slices.Contains(inputs, u.call.Name)
	}
	*a.ClearedToolUses, a.ClearedInputTokens = len(list), max(0, saved)
	return a, true
}

func names(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// editRules checks the edits themselves.
func (j *judge) editRules() {
	c := j.call
	if !c.body.has("context_management") {
		return
	}
	const at = "context_management"
	for i, e := range c.edits() {
		path := at + ".edits." + itoa(i)
		switch typ := e.str("type"); typ {
		case "clear_tool_uses_20250919", "clear_thinking_20251015":
			j.needBeta("context-management-2025-06-27", at, "context_management")
			if typ == "clear_thinking_20251015" && i > 0 {
				j.add("edit", path, "clear_thinking_20251015 must be the first edit")
			}
			if c.model != nil && !c.model.ServerClearing {
				j.add("edit", path, "%s is not supported on this model", typ)
			}
		case "compact_20260112":
			j.needBeta(betaThreshold, at, "compact_20260112")
			if n, ok := e.obj("trigger").num("value"); ok && n < compactMinTrigger {
				j.add("edit", path+".trigger.value", "Input should be greater than or equal to %d", compactMinTrigger)
			}
			if c.model != nil && !c.model.Compaction.Threshold {
				j.add("edit", path, "compact_20260112 is not supported on this model")
			}
		default:
			j.add("edit", path, "Input tag '%s' found using 'type' does not match any of the expected tags", typ)
		}
	}
}
