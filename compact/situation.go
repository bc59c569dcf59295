package compact

import (
	"context"
	"time"

	"varve.dev/caps"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Planner plans how a view shrinks. Plan is called before a request whose size has
// reached the threshold, and again, a few times at most, while what it planned
// did not bring the size below. It returns entries to append, in order and in one
// write, and a name for what it did; no entries when it has nothing to offer. It
// must not append by itself and must not keep the situation.
type Planner interface {
	Plan(ctx context.Context, s Situation) (rung string, entries []*transcript.Entry, err error)
}

// Causes of a plan.
const (
	CauseRequest   = "request"   // looked at before each request, whatever its size
	CauseThreshold = "threshold" // the request has reached the threshold
	CauseOverflow  = "overflow"  // the provider refused the last request as too long
	CauseManual    = "manual"    // the user asked for it
	CauseIdle      = "idle"      // nobody went on, and the cache is about to be lost
	CauseServer    = "server"    // the provider summarized by itself
)

// Situation is what a plan is made from.
type Situation struct {
	View   *view.View
	Log    *transcript.Log
	Stamp  transcript.Stamp
	Caps   caps.Model
	Budget tokens.Thresholds
	Frame  view.Frame // in use; its ID is "" before the first request
	Total  int        // tokens of the next request as it stands
	Fixed  int        // tokens of its fixed part
	Cause  string     // one of the Cause constants
	Target int        // tokens at or below which the plan has to bring the request
	Ask    Ask        // what the user asked for; zero otherwise

	// Estimate returns the size of the next request as a trial would find it for the
	// view as it stands; nil: a trial is made.
	Estimate func() int
	// Hash returns the hash over the frame and the first n blocks of the view; nil: it
	// is computed.
	Hash func(n int) string

	// Lifetime is how long the provider's cache keeps what requests of this session
	// mark; 0: the model's short one.
	Lifetime time.Duration
	// Encode returns messages [0, to) of the view as the provider is sent them:
	// without reasoning of others, with its own summary in place of the readable
	// one. Nil: as the view has them.
	Encode func(to int) []message.Message

	// Chain returns the entries that the view was computed from.
	Chain  func() *transcript.Chain
	Weigh  func(estimate int) int  // an estimate in tokens of the model
	Size   func(message.Block) int // estimate of one block
	Each   int                     // estimate of what a message costs beside its blocks
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

// Watcher is what a Planner also implements when it wants to be asked before each
// request, whatever its size, for edits that cost nothing.
type Watcher interface {
	Watch(ctx context.Context, s Situation) (rung string, entries []*transcript.Entry, err error)
}

// Limiter is what a Planner also implements when it wants to be asked from another
// size on than the threshold for automatic compaction.
type Limiter interface {
	Limit(b tokens.Thresholds) int
}

// Absorber is what a Planner also implements that turns a summary which came with
// a reply into an edit: the reply is the last message of the situation's view.
type Absorber interface {
	Absorb(ctx context.Context, s Situation, sum ServerSummary) (rung string, entries []*transcript.Entry, err error)
}

// lifetime is how long the provider's cache keeps the conversation.
func (s *Situation) lifetime() time.Duration {
	if s.Lifetime > 0 {
		return s.Lifetime
	}
	return s.Caps.Cache.Lifetime(false)
}

// encoded returns messages [0, to) of the view as the provider is sent them.
func (s *Situation) encoded(to int) []message.Message {
	if s.Encode != nil {
		return s.Encode(to)
	}
	return s.View.Plain()[:to]
}
