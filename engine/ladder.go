package engine

import (
	"context"
	"fmt"

	"varve.dev/compact"
	"varve.dev/message"
	"varve.dev/transcript"
)

// Ladder plans how a view shrinks; *compact.Ladder is one.
type Ladder = compact.Planner

// Ask is what a manual compaction is asked for.
type Ask = compact.Ask

// DropOldest is the smallest ladder: when the view does not fit, its oldest
// rounds leave it and a readable note stands in their place. Nothing is
// summarized. It is what an engine without a ladder of its own uses.
type DropOldest struct{}

// Plan keeps as many of the newest rounds as fit below the warning threshold, at
// least one.
func (DropOldest) Plan(_ context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	rounds := message.Rounds(s.View.Plain())
	if len(rounds) < 2 {
		return "", nil, nil
	}
	const note = 200 // tokens of the note that stands for what was dropped, with room
	budget := s.Target - s.Fixed - note
	keep, size := len(rounds), 0
	for keep > 0 {
		r := rounds[keep-1]
		for _, m := range s.View.Messages[r.Start:r.End] {
			for _, b := range m.Blocks {
				size += s.Size(b.Block)
			}
		}
		if s.Weigh(size) > budget && keep < len(rounds) {
			break
		}
		keep--
	}
	if keep == 0 {
		keep = 1 // everything fits by this estimate; the measured size says otherwise
	}
	cut := rounds[keep].Start
	kept := entriesOf(s, cut)
	summary := s.Stamp
	id := transcript.NewUUID()
	if summary.NewID != nil {
		id = summary.NewID()
	}
	summary.NewID = func() string { return id }
	b := transcript.Boundary{Trigger: "auto", PreTokens: int64(s.Total),
		Own: transcript.BoundaryOwn{Rung: "drop", Cause: s.Cause, CoversLeaf: s.View.Leaf, Frame: s.Frame.ID, Thinking: "keep", KeptOffsets: map[string]int64{}}}
	if s.Caps.PrefixBound {
		b.Own.Thinking = "strip"
	}
	if len(kept) > 0 {
		b.PreservedMessages = &transcript.PreservedMessages{AnchorUUID: id, UUIDs: kept}
		for _, u := range kept {
			if off := s.Offset(u); off > 0 {
				b.Own.KeptOffsets[u] = off
			}
		}
	}
	boundary := s.Stamp.CompactBoundary(s.View.Leaf, b)
	text := fmt.Sprintf("[The oldest %d messages of this conversation were left out to fit the model's window. The full transcript is kept with the session.]", cut)
	return "drop", []*transcript.Entry{boundary, summary.Summary(boundary.UUID, message.User(text), transcript.Own(map[string]string{"source": "drop"}))}, nil
}

// entriesOf returns the uuids of the entries that the messages from cut on come
// from, in the order of the view.
func entriesOf(s compact.Situation, cut int) []string {
	seen := make(map[string]bool)
	var out []string
	for _, m := range s.View.Messages[cut:] {
		for _, b := range m.Blocks {
			if b.Entry != "" && !seen[b.Entry] {
				seen[b.Entry] = true
				out = append(out, b.Entry)
			}
		}
	}
	return out
}
