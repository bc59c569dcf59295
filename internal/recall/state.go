package recall

import (
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

// places knows where each entry of a log stands.
type places struct {
	in      map[string]bool
	past    map[string]*transcript.Entry // left the context with this boundary; nil: not known with which
	cleared map[string]bool              // tool-use ids
}

func placesOf(l *transcript.Log) *places {
	p := &places{in: map[string]bool{}, past: map[string]*transcript.Entry{}, cleared: map[string]bool{}}
	tip := l.Tip()
	if tip == nil {
		return p
	}
	now := l.Chain(tip)
	for _, list := range [][]*transcript.Entry{now.Entries, now.Kept} {
		for _, x := range list {
			p.in[x.UUID] = true
			if x.Type == transcript.TypeSystem && x.Subtype == transcript.SubMicrocompact {
				if m, err := x.Microcompact(); err == nil {
					for _, id := range m.ToolIDs {
						p.cleared[id] = true
					}
				}
			}
		}
	}
	all := l.History(tip).Entries
	var boundary *transcript.Entry
	for i := len(all) - 1; i >= 0; i-- {
		x := all[i]
		if x.IsBoundary() {
			boundary = x
		}
		if !p.in[x.UUID] {
			p.past[x.UUID] = boundary
		}
	}
	return p
}

// of returns where an entry stands, and the boundary that took it out.
func (p *places) of(x *transcript.Entry, call string) (State, *transcript.Entry) {
	if p.in[x.UUID] {
		if call != "" && p.cleared[call] {
			return Cleared, nil
		}
		return InContext, nil
	}
	if b, ok := p.past[x.UUID]; ok {
		return Compacted, b
	}
	if x.IsChain() && !x.Sidechain {
		return Branch, nil
	}
	return Aside, nil
}
