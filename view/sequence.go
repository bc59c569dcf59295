package view

import "varve.dev/transcript"

// edits is what the edit entries of a chain amount to.
type edits struct {
	cleared     map[string]string // tool-use id → placeholder
	clearedAt   map[string]bool   // attachment uuid
	dropped     map[string]bool   // entry uuid, "uuid#n" for one block
	skip        map[string]bool   // summaries of boundaries that do not hold
	frame       *transcript.Frame
	stripBefore int // reasoning of entries before this position in the sequence is left out
}

// sequence puts the entries of a chain in the order in which the model sees them:
// summary first, then what the boundary keeps, or the kept entries first where
// the boundary is their anchor.
func sequence(c *transcript.Chain) (seq []*transcript.Entry, kept int) {
	if c.Boundary == nil || len(c.Kept) == 0 {
		return c.Entries, 0
	}
	b, err := c.Boundary.Boundary()
	if err != nil {
		return c.Entries, 0
	}
	anchor := ""
	if p := b.PreservedMessages; p != nil {
		anchor = p.AnchorUUID
	} else if s := b.PreservedSegment; s != nil {
		anchor = s.AnchorUUID
	}
	seq = make([]*transcript.Entry, 0, len(c.Entries)+len(c.Kept))
	if anchor == c.Boundary.UUID {
		seq = append(append(seq, c.Kept...), c.Entries...)
		return seq, len(c.Kept)
	}
	// The kept tail follows the summary, or whatever else the anchor names in the
	// same write; an anchor that is not there counts as the summary.
	at := 0
	for i, e := range c.Entries {
		if e.UUID == anchor {
			at = i + 1
			break
		}
		if e.CompactSummary && at == 0 {
			at = i + 1
		}
	}
	seq = append(append(append(seq, c.Entries[:at]...), c.Kept...), c.Entries[at:]...)
	return seq, at + len(c.Kept)
}

// collect reads the edits of a sequence. Positions are those in seq.
func collect(c *transcript.Chain, seq []*transcript.Entry, kept int) *edits {
	ed := &edits{cleared: map[string]string{}, clearedAt: map[string]bool{}, dropped: map[string]bool{}, skip: map[string]bool{}}
	off := make(map[string]bool)
	for _, b := range c.Undone {
		off[b.UUID] = true
	}
	for _, b := range c.Inert {
		off[b.UUID] = true
	}
	if c.Boundary != nil {
		if b, err := c.Boundary.Boundary(); err == nil && b.Own.Thinking == "strip" {
			ed.stripBefore = kept
		}
	}
	pos := make(map[string]int, len(seq))
	for i, e := range seq {
		pos[e.UUID] = i
	}
	for i, e := range seq {
		if e.CompactSummary && off[e.ParentUUID] || len(off) > 0 && e.Type == transcript.TypeAttachment && off[e.OfBoundary()] {
			ed.skip[e.UUID] = true
		}
		if e.Type == transcript.TypeSystem {
			ed.system(e, i, pos)
		}
	}
	return ed
}

func (ed *edits) system(e *transcript.Entry, at int, pos map[string]int) {
	switch e.Subtype {
	case transcript.SubMicrocompact:
		m, err := e.Microcompact()
		if err != nil {
			return // an edit that cannot be read changes nothing
		}
		for _, id := range m.ToolIDs {
			if _, ok := ed.cleared[id]; !ok {
				ed.cleared[id] = m.Placeholder
			}
		}
		for _, id := range m.ClearedAttachments {
			ed.clearedAt[id] = true
		}
		if m.Thinking == "strip" {
			ed.stripBefore = max(ed.stripBefore, at)
		}
	case transcript.SubStrip:
		s, err := e.Strip()
		if err != nil {
			return
		}
		// What is not on the sequence any more is behind a boundary, with all before it.
		if p, ok := pos[s.UpTo]; ok {
			ed.stripBefore = max(ed.stripBefore, p+1)
		}
	case transcript.SubRepair:
		if r, err := e.Repair(); err == nil {
			for _, id := range r.Drop {
				ed.dropped[id] = true
			}
		}
	case transcript.SubFrame:
		if f, err := e.Frame(); err == nil {
			ed.frame = &f
		}
	}
}

// sent reports whether entries of this kind reach the model at all.
func sent(e *transcript.Entry) bool {
	switch e.Type {
	case transcript.TypeUser:
		return true
	case transcript.TypeAssistant:
		return !e.APIError
	case transcript.TypeAttachment:
		return true
	}
	return false
}
