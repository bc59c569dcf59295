package view

import (
	"varve.dev/message"
	"varve.dev/transcript"
)

// Freeze returns the entries that settle the view's repairs: an error result for
// each call that nothing answers, and one repair entry that names what is left
// out. Appended to the log in this order they leave the view's messages as they
// are, and nothing that arrives later can change them: a real result that comes
// after the synthetic one does not replace it. The result is empty when there is
// nothing to settle.
func (v *View) Freeze(st transcript.Stamp) []*transcript.Entry {
	var out []*transcript.Entry
	parent := v.Leaf
	add := func(e *transcript.Entry) {
		out = append(out, e)
		parent = e.UUID
	}
	var drop []string
	seen := make(map[string]bool)
	for _, r := range v.Repairs {
		switch {
		case r.Settled:
		case r.Kind == MissingResult:
			g := v.in.byCall[r.Call]
			if g == nil {
				continue
			}
			blk := v.in.render.interrupted(r.Call, g.badCall[r.Call])
			add(st.User(parent, message.UserBlocks(blk), transcript.Own(synthetic{true})))
		default:
			ref := blockRef(r.Entry, r.index)
			if !seen[ref] {
				seen[ref] = true
				drop = append(drop, ref)
			}
		}
	}
	if len(drop) > 0 {
		add(st.System(parent, transcript.SubRepair, "", "", transcript.Own(transcript.Repair{Drop: drop})))
	}
	return out
}

// synthetic marks a result that Varve made, not a tool.
type synthetic struct {
	Synthetic bool `json:"synthetic"`
}
