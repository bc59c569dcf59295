package recall

import (
	"slices"

	"varve.dev/transcript"
)

// State says where an entry stands now.
type State string

// The states.
const (
	InContext State = "context"   // a resumed session sends it
	Compacted State = "compacted" // a compaction took it out
	Cleared   State = "cleared"   // a result that is shown as a placeholder
	Branch    State = "branch"    // of a branch that was not gone on with
	Aside     State = "aside"     // no part of a conversation: bookkeeping, a sub-agent's entry
)

// place says of each hit where its entry stands now.
func place(l *transcript.Log, hits []Hit) {
	if len(hits) == 0 {
		return
	}
	asked := make(map[string]bool, len(hits))
	for i := range hits {
		asked[hits[i].Entry] = true
	}
	p := placesOf(l, asked)
	p.set(hits)
}

// places knows where entries of a log stand.
type places struct {
	in      map[string]bool
	past    map[string]*transcript.Entry // left the context with this boundary; nil: not known with which
	cleared map[string]bool              // tool-use ids
}

// placesOf finds out where the entries stand that are asked for, by uuid: a
// conversation may be long, and they are few.
func placesOf(l *transcript.Log, asked map[string]bool) places {
	p := places{in: map[string]bool{}, past: map[string]*transcript.Entry{}, cleared: map[string]bool{}}
	if tip := l.Tip(); tip != nil {
		p.now(l.Chain(tip), asked)
		if len(p.in) < len(asked) {
			p.before(l.History(tip), asked)
		}
	}
	return p
}

// set says of each hit where it stands.
func (p *places) set(hits []Hit) {
	for i := range hits {
		p.of(&hits[i])
	}
}

// now takes up what a resumed session sends.
func (p *places) now(c *transcript.Chain, asked map[string]bool) {
	for _, list := range [][]*transcript.Entry{c.Entries, c.Kept} {
		for _, x := range list {
			if asked[x.UUID] {
				p.in[x.UUID] = true
			}
			if x.Type == transcript.TypeSystem && x.Subtype == transcript.SubMicrocompact {
				if m, err := x.Microcompact(); err == nil {
					for _, id := range m.ToolIDs {
						p.cleared[id] = true
					}
				}
			}
		}
	}
}

// before takes up what stood before it, and what took it out.
func (p *places) before(c *transcript.Chain, asked map[string]bool) {
	var boundary *transcript.Entry
	for _, x := range slices.Backward(c.Entries) {
		if x.IsBoundary() {
			boundary = x
		}
		if asked[x.UUID] && !p.in[x.UUID] {
			p.past[x.UUID] = boundary
		}
	}
}

// of says where a hit stands, and the boundary that took it out.
func (p *places) of(h *Hit) {
	x := h.entry
	h.entry = nil // a result must not hold its log
	if p.in[x.UUID] {
		h.State = InContext
		if h.Kind == KindResult && h.Call != "" && p.cleared[h.Call] {
			h.State = Cleared
		}
		return
	}
	switch b, left := p.past[x.UUID]; {
	case left:
		h.State = Compacted
		if b != nil {
			h.Boundary, h.At = b.UUID, b.Line
		}
	case x.IsChain() && !x.Sidechain:
		h.State = Branch
	default:
		h.State = Aside
	}
}
