package engine

import (
	"context"
	"fmt"

	"varve.dev/caps"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Ladder plans how a view shrinks. Plan is called before a request whose size has
// reached the threshold, and again, a few times at most, while what it planned
// did not bring the size below. It returns entries to append, in order and in one
// write, and a name for what it did; no entries when it has nothing to offer. It
// must not append by itself and must not keep the situation.
type Ladder interface {
	Plan(ctx context.Context, s Situation) (rung string, entries []*transcript.Entry, err error)
}

// Causes of a plan.
const (
	CauseRequest   = "request"   // looked at before each request, whatever its size
	CauseThreshold = "threshold" // the request has reached the threshold
	CauseOverflow  = "overflow"  // the provider refused the last request as too long
	CauseManual    = "manual"    // the user asked for it
)

// Situation is what a plan is made from.
type Situation struct {
	View   *view.View
	Chain  *transcript.Chain // that the view was computed from
	Log    *transcript.Log
	Stamp  transcript.Stamp
	Caps   caps.Model
	Budget tokens.Thresholds
	Frame  Frame  // in use; its ID is "" before the first request
	Total  int    // tokens of the next request as it stands
	Fixed  int    // tokens of its fixed part
	Cause  string // one of the Cause constants
	Target int    // tokens at or below which the plan has to bring the request
	Ask    Ask    // what the user asked for; zero otherwise

	Weigh  func(estimate int) int  // an estimate in tokens of the model
	Size   func(message.Block) int // estimate of one block
	Offset func(uuid string) int64 // where an entry's line begins in the file; 0 when not known
	// Try computes what a plan would lead to. Nothing is written.
	Try func(entries []*transcript.Entry) Trial
}

// Ask is what a manual compaction was asked for.
type Ask struct {
	Instructions string
	From, UpTo   string // uuid of the pivot of a partial one
}

// Trial is what a plan would lead to.
type Trial struct {
	View   *view.View
	Tokens int // of the next request, by the same measure as Situation.Total
	Broken []message.Violation
}

// Watcher is what a Ladder also implements when it wants to be asked before each
// request, whatever its size, for edits that cost nothing.
type Watcher interface {
	Watch(ctx context.Context, s Situation) (rung string, entries []*transcript.Entry, err error)
}

// DropOldest is the smallest ladder: when the view does not fit, its oldest
// rounds leave it and a readable note stands in their place. Nothing is
// summarized. It is what an engine without a ladder of its own uses.
type DropOldest struct{}

// Plan keeps as many of the newest rounds as fit below the warning threshold, at
// least one.
func (DropOldest) Plan(_ context.Context, s Situation) (string, []*transcript.Entry, error) {
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
func entriesOf(s Situation, cut int) []string {
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
