package view

import (
	"sort"

	"varve.dev/message"
)

// finish brings v up to date with the groups, from the first one that changed.
func (b *builder) finish(v *View) {
	from := min(b.dirty, len(b.groups)-1)
	for from > 0 && !b.groups[from].clean {
		from--
	}
	v.Changed = min(b.groups[from].start, len(v.Messages))
	v.Messages = v.Messages[:v.Changed]
	for i := from; i < len(b.groups); i++ {
		b.groups[i].start = len(v.Messages)
		b.emit(v, i)
	}
	v.Repairs = nil
	for _, g := range b.groups {
		v.Repairs = append(append(v.Repairs, g.taken...), g.emitted...)
	}
	for _, p := range b.orphanList() {
		v.Repairs = append(v.Repairs, Repair{Kind: OrphanResult, Entry: p.entry, Call: p.ToolUseID, index: p.index})
	}
	v.Frame, v.Boundary, v.Leaf, v.Render = b.edits.frame, b.bound, b.leaf, b.render.version
	b.dirty = len(b.groups)
}

// orphanList returns the results without call, in the order of the log.
func (b *builder) orphanList() []piece {
	out := make([]piece, 0, len(b.orphans))
	for _, p := range b.orphans {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].pos != out[j].pos {
			return out[i].pos < out[j].pos
		}
		return out[i].index < out[j].index
	})
	return out
}

// emit writes the messages of one group.
func (b *builder) emit(v *View, i int) {
	g := b.groups[i]
	g.emitted = nil
	parts := b.parts(g, i == len(b.groups)-1 && len(g.after)+len(g.system) == 0)
	g.clean = len(parts) > 0 || i == 0
	if len(parts) > 0 {
		if len(v.Messages) == 0 {
			v.Messages = append(v.Messages, b.marker())
			g.emitted = append(g.emitted, Repair{Kind: NoFirstUser, Entry: parts[0].entry, Settled: true})
		}
		m := Message{Role: message.RoleAssistant, ID: g.id, From: g.from, Blocks: make([]Block, len(parts))}
		for k := range parts {
			m.Blocks[k] = parts[k].block()
		}
		v.Messages = append(v.Messages, m)
		v.user(b.results(g, parts))
	}
	v.user(g.after)
	if len(g.system) > 0 {
		if len(v.Messages) == 0 {
			v.Messages = append(v.Messages, b.marker())
		}
		v.Messages = append(v.Messages, Message{Role: message.RoleSystem, Blocks: g.system[:len(g.system):len(g.system)]})
	}
}

func (b *builder) marker() Message {
	return Message{Role: message.RoleUser, Blocks: []Block{{Block: message.Text(b.render.noFirstUser), Made: true}}}
}

// user adds blocks to the user message at the end, or as a new one.
func (v *View) user(blocks []Block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(v.Messages); n > 0 && v.Messages[n-1].Role == message.RoleUser {
		// Copied rather than appended to: the array may belong to a group.
		old := v.Messages[n-1].Blocks
		v.Messages[n-1].Blocks = append(old[:len(old):len(old)], blocks...)
		return
	}
	v.Messages = append(v.Messages, Message{Role: message.RoleUser, Blocks: blocks[:len(blocks):len(blocks)]})
}

// parts returns the blocks of a reply that can be sent; none when nothing but
// reasoning is left of it. The newest reply is open until the user side says more
// than results: the server may go on with it.
func (b *builder) parts(g *group, open bool) []piece {
	strip, bad := false, false
	for i := range g.parts {
		p := &g.parts[i]
		if p.IsThinking() {
			strip = strip || p.pos < b.edits.stripBefore
			bad = bad || !p.IsUnicode() || p.Type == message.TypeRedactedThinking && p.Data == ""
		}
	}
	said := false
	out := g.parts[:0:0]
	for i := range g.parts {
		p := &g.parts[i]
		switch {
		case p.IsThinking() && (strip || bad):
			if !strip {
				g.emitted = append(g.emitted, Repair{Kind: BadReasoning, Entry: p.entry, index: p.index})
			}
			continue
		case p.IsServerCall() && !b.served[p.ID].answered && !open:
			g.emitted = append(g.emitted, Repair{Kind: OpenServerCall, Entry: p.entry, Call: p.ID, index: p.index})
			continue
		}
		said = said || !p.IsThinking()
		if len(out) == i {
			out = g.parts[: i+1 : i+1] // nothing was left out so far
		} else {
			out = append(out, *p)
		}
	}
	if said {
		return out
	}
	for _, p := range out {
		g.emitted = append(g.emitted, Repair{Kind: ThinkingOnly, Entry: p.entry, index: p.index})
	}
	return nil
}

// results returns one result for each call of the reply, in the calls' order.
func (b *builder) results(g *group, parts []piece) []Block {
	n := 0
	for i := range parts {
		if parts[i].Type == message.TypeToolUse {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]Block, 0, n)
	for i := range parts {
		p := &parts[i]
		if p.Type != message.TypeToolUse {
			continue
		}
		var r Block
		if got := g.results[p.native]; got != nil {
			r = got.block()
		} else {
			// What the log says about a result holds for a lost one, too: a
			// replacement is what the model saw of it.
			r = Block{Block: b.render.interrupted(p.ID, g.badCall[p.native]), Made: true}
			g.emitted = append(g.emitted, Repair{Kind: MissingResult, Entry: p.entry, Call: p.native})
		}
		out = append(out, b.shown(r, p))
	}
	return out
}

// shown applies to a result what the log says about it.
func (b *builder) shown(r Block, call *piece) Block {
	if text, ok := b.replaced(call); ok {
		r.Block, r.Made = message.ReplaceText(r.Block, text), true
	}
	content, changed := r.Content, r.ToolUseID != call.ID
	if mark, ok := b.edits.cleared[call.native]; ok {
		if mark == "" {
			mark = b.render.cleared
		}
		content, changed = []message.Block{message.Text(mark)}, true
	}
	if changed {
		r.Block, r.Made = message.ToolResult(call.ID, r.IsError, content...), true
	}
	return r
}

// replaced returns the decision about a call's result. Decisions name calls as the
// log or as the request has them; both differ only in foreign logs.
func (b *builder) replaced(call *piece) (string, bool) {
	if text, ok := b.facts.Replaced[call.native]; ok {
		return text, true
	}
	text, ok := b.facts.Replaced[call.ID]
	return text, ok
}
