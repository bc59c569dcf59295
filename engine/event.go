package engine

import "varve.dev/view"

// EventKind says what an [Event] is about.
type EventKind string

// Kinds of events.
const (
	Notice     EventKind = "notice"      // a setting was ignored, something was assumed
	FrameLost  EventKind = "frame-lost"  // the bytes of a session's frame are gone; a new frame was made
	Repaired   EventKind = "repaired"    // entries were written that settle what could not be sent as recorded
	Persisted  EventKind = "persisted"   // large results went to disk
	Shortened  EventKind = "shortened"   // a result that does not fit is sent in part
	Compacted  EventKind = "compacted"   // the ladder appended edits
	PrefixLost EventKind = "prefix-lost" // a request does not extend the one before, although no edit was made
	CacheBreak EventKind = "cache-break" // fewer tokens were read from the cache than expected
)

// Event tells of something that happened on the way of a request (O-2). It never
// carries text of the conversation.
type Event struct {
	Kind   EventKind
	Detail string // for people

	Repairs        []view.RepairKind // Repaired
	Results        int               // Persisted: how many
	Rung           string            // Compacted
	Before, After  int               // Compacted: tokens of the view
	Expected, Read int               // CacheBreak: tokens
	At             view.Position     // PrefixLost, CacheBreak: the first block that differs, when known
}

func (e *Engine) note(ev Event) {
	if e.cfg.Observe != nil {
		e.cfg.Observe(ev)
	}
}
