package export

import (
	"encoding/json"
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// system shows a system entry: compaction and other edits of the view as what
// they did, messages of the client as notes. Bookkeeping shows nothing.
func (b *builder) system(e *transcript.Entry) *item {
	switch e.Subtype {
	case transcript.SubCompactBoundary:
		return b.boundary(e)
	case transcript.SubMicrocompact:
		return b.cleared(e)
	case transcript.SubUndo:
		return &item{Class: "boundary", Label: "Compaction taken back", Detail: "the conversation before it is in view again"}
	case transcript.SubStrip:
		return &item{Class: "boundary", Label: "Thinking left out from here on", Detail: b.reason(e)}
	case transcript.SubRepair:
		return &item{Class: "boundary", Label: "Repaired", Detail: "what could not be sent is left out of the view"}
	case transcript.SubFrame, "turn_duration", "stop_hook_summary":
		return nil
	}
	it := &item{Class: "note", Label: "Note of the client", Error: e.Subtype == "api_error"}
	if e.Subtype != "" {
		it.Detail = b.red.text(strings.ReplaceAll(e.Subtype, "_", " "))
	}
	var raw struct {
		Content json.RawMessage `json:"content"`
		Error   json.RawMessage `json:"error"`
	}
	if err := e.Decode(&raw); err != nil {
		return b.unreadable(e, err)
	}
	text := plainText(raw.Content)
	for _, tag := range []string{"local-command-stdout", "local-command-stderr"} {
		if inner := within(text, tag); inner != "" {
			text = inner
		}
	}
	if !message.IsBlank(text) {
		it.Blocks = append(it.Blocks, block{Kind: "result", Text: b.red.text(text), Note: lines(text)})
	}
	if len(raw.Error) > 0 && string(raw.Error) != "null" {
		it.Blocks = append(it.Blocks, b.data("Error", raw.Error))
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}

// plainText returns a JSON string's text, or the JSON itself.
func plainText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (b *builder) reason(e *transcript.Entry) string {
	s, err := e.Strip()
	if err != nil {
		return ""
	}
	return b.red.text(s.Reason)
}

// boundary shows where the conversation was compacted.
func (b *builder) boundary(e *transcript.Entry) *item {
	it := &item{Class: "boundary", Label: "Conversation compacted"}
	c, err := e.Boundary()
	if err != nil {
		it.Detail = "its figures cannot be read"
		return it
	}
	var facts []string
	switch c.Trigger {
	case "auto":
		facts = append(facts, "automatically")
	case "manual":
		facts = append(facts, "by the user")
	}
	switch {
	case c.PreTokens > 0 && c.PostTokens > 0:
		facts = append(facts, fmt.Sprintf("%s → %s tokens", thousands(c.PreTokens), thousands(c.PostTokens)))
	case c.PreTokens > 0:
		facts = append(facts, fmt.Sprintf("%s tokens before", thousands(c.PreTokens)))
	}
	if c.Own.Rung != "" {
		facts = append(facts, "by "+b.red.text(c.Own.Rung))
	}
	if c.Own.Cause != "" {
		facts = append(facts, b.red.text(c.Own.Cause))
	}
	if p := c.PreservedMessages; p != nil && len(p.UUIDs) > 0 {
		facts = append(facts, plural(len(p.UUIDs), "entry kept", "entries kept"))
	}
	if b.undone[e.UUID] {
		facts = append(facts, "taken back later")
	}
	it.Detail = strings.Join(facts, " · ")
	return it
}

// cleared shows where old tool results were taken out of the view.
func (b *builder) cleared(e *transcript.Entry) *item {
	it := &item{Class: "boundary", Label: "Old results cleared from view"}
	m, err := e.Microcompact()
	if err != nil {
		return it
	}
	it.Detail = plural(len(m.ToolIDs), "result", "results")
	if m.TokensSaved > 0 {
		it.Detail += fmt.Sprintf(" · %s tokens freed", thousands(m.TokensSaved))
	}
	return it
}
