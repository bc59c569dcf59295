package view

import (
	"encoding/json"
	"regexp"
	"slices"

	"varve.dev/message"
)

// What is done here is for logs that no client writes and a request would be
// refused for, for ever: blocks of shapes that the API does not take, in places
// where it does not take them.

// imageTypes are the media types of images that the API takes (API.md 1.1).
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// unreadable reports whether b is an image or a document that cannot be one.
func unreadable(b *message.Block) bool {
	if b.Type != message.TypeImage && b.Type != message.TypeDocument {
		return false
	}
	s := b.Source
	return s == nil || s.Type == "" || s.Type == "base64" && (len(s.Data) == 0 || b.Type == message.TypeImage && !slices.Contains(imageTypes, s.MediaType))
}

// takeable returns the content of a result as the API takes it, and whether it is
// another than it was: text in the place of what cannot stand there.
func (r *renderer) takeable(b *message.Block) ([]message.Block, bool) {
	if b.StringContent {
		return nil, false
	}
	if len(b.Content) == 0 {
		var c struct {
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(b.Raw, &c) // what was parsed is an object
		if len(c.Content) == 0 || c.Content[0] == '[' || string(c.Content) == "null" {
			return nil, false
		}
		return []message.Block{message.Text(string(c.Content))}, true
	}
	if !slices.ContainsFunc(b.Content, func(c message.Block) bool { return misplaced(&c) || unreadable(&c) }) {
		return nil, false
	}
	var out []message.Block
	for i := range b.Content {
		switch c := &b.Content[i]; {
		case c.Type == message.TypeText && c.Text == "":
		case unreadable(c):
			out = append(out, message.Text(r.noImage))
		case misplaced(c):
			out = append(out, message.Text(string(c.Raw)))
		default:
			out = append(out, *c)
		}
	}
	return out, true
}

// misplaced reports whether c cannot stand inside a result.
func misplaced(c *message.Block) bool {
	switch c.Type {
	case "", message.TypeToolUse, message.TypeToolResult, message.TypeCompaction:
		return true
	case message.TypeText:
		return c.Text == ""
	}
	return c.IsThinking() || c.IsServerCall() || c.IsServerResult()
}

var callID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// server takes a call of a server tool, or the result of one: the provider knows
// its own calls and nothing that could stand for a broken one.
func (b *builder) server(g *group, p *piece) bool {
	if p.IsServerResult() {
		of := b.served[p.ToolUseID]
		if of == nil && p.ToolUseID != "" || of != nil && !b.follows(g, of.group) {
			b.repair(g, Repair{Kind: OrphanResult, Entry: p.entry, Call: p.ToolUseID, Settled: true})
			return false
		}
		if of != nil {
			b.touch(b.index(of.group))
			of.answered = true
		}
		return true
	}
	in := json.RawMessage(p.Input)
	switch {
	case b.served[p.ID] != nil || b.byCall[p.ID] != nil:
		b.repair(g, Repair{Kind: DuplicateCall, Entry: p.entry, Call: p.ID, Settled: true})
		return false
	case !callID.MatchString(p.ID), p.Name == "" || len(p.Name) > maxToolName, len(in) == 0 || in[0] != '{':
		b.repair(g, Repair{Kind: BadInput, Entry: p.entry, Call: p.ID, Settled: true})
		return false
	}
	b.served[p.ID] = &served{group: g}
	return true
}

// follows reports whether g may hold the result of a server tool that the reply of
// made a call of: in the same reply, or in the next when the user side gave nothing
// but results of other tools in between (API.md 1.5, 12).
func (b *builder) follows(g, of *group) bool {
	return g == of || b.index(g) == b.index(of)+1 && len(of.after)+len(of.system) == 0
}

// served is a call of a server tool.
type served struct {
	group    *group
	answered bool
}
