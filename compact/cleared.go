package compact

import (
	"encoding/json"
	"slices"

	"varve.dev/message"
	"varve.dev/view"
)

// Cleared is what a server left out of a prompt by context editing (L1, C-2). The
// log and the view keep it: the whole history is sent each time, and the server
// says with each reply what it left out of it.
type Cleared struct {
	ToolUses int // results, oldest first
	Turns    int // replies whose reasoning was left out, oldest first
	Tokens   int // of both together, as the provider counted
}

// ParseCleared reads what a reply says was applied: the member applied_edits of
// context_management. Edits of types it does not know count with their tokens;
// anything that cannot be read is nothing.
func ParseCleared(applied json.RawMessage) Cleared {
	var edits []struct {
		ToolUses int64 `json:"cleared_tool_uses"`
		Turns    int64 `json:"cleared_thinking_turns"`
		Tokens   int64 `json:"cleared_input_tokens"`
	}
	if json.Unmarshal(applied, &edits) != nil {
		return Cleared{}
	}
	const most = 1 << 31 // of what a foreign log claims
	var c Cleared
	for _, e := range edits {
		c.ToolUses += int(min(max(e.ToolUses, 0), most))
		c.Turns += int(min(max(e.Turns, 0), most))
		c.Tokens += int(min(max(e.Tokens, 0), most))
	}
	return c
}

// Results returns the calls whose results the model does not see any more: the
// oldest of the view, but for tools that are never cleared.
func (c Cleared) Results(v *view.View, never []string) []string {
	var out []string
	names := make(map[string]string)
	for i := range v.Messages {
		for k := range v.Messages[i].Blocks {
			b := &v.Messages[i].Blocks[k]
			switch b.Type {
			case message.TypeToolUse:
				names[b.ID] = b.Name
			case message.TypeToolResult:
				if len(out) == c.ToolUses {
					return out
				}
				if !slices.Contains(never, names[b.ToolUseID]) {
					out = append(out, b.ToolUseID)
				}
			}
		}
	}
	return out
}
