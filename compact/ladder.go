package compact

import (
	"context"
	"sync"
	"time"

	"varve.dev/transcript"
)

// Summarizer asks a model for a summary. It is called with the conversation as the
// model sees it and returns the reply's text. The error says why there is none;
// one that wraps [ErrTooLong] makes the ladder ask again for less.
type Summarizer interface {
	Summarize(ctx context.Context, r SummaryRequest) (string, error)
}

// Attacher offers what goes back into the view behind a summary: the files read
// last, the plan, skills, listings (C-5). Each text is one attachment; budget is
// in tokens for all of them together.
type Attacher interface {
	Attach(ctx context.Context, budget int) ([]Attachment, error)
}

// Attachment is something that goes back into the view.
type Attachment struct {
	What     []byte   // the attachment as JSON, for people
	Rendered []string // what the model sees
}

// Facts is what is known of a conversation without a model: the ledger. size gives
// the tokens of a text.
type Facts interface {
	// Render returns the facts within budget tokens.
	Render(budget int, size func(string) int) string
	// Complete returns the summary with what it left out appended, within budget
	// tokens beside it.
	Complete(summary string, budget int, size func(string) int) string
}

// Notes is what session notes say and how far they cover the conversation.
type Notes interface {
	// Current returns the notes' text and the uuid of the last entry that they
	// are proven to cover; ok is false while there are none to use.
	Current() (text, upTo string, ok bool)
}

// Ladder is the ladder of an engine. Its fields are set before the first use; the
// zero value compacts with the ledger. It keeps the state of one session (the
// breaker, what was tried) and is safe for concurrent use.
type Ladder struct {
	Policy     Policy
	Summarizer Summarizer                              // nil: the ledger
	Attacher   Attacher                                // nil: nothing is attached
	Notes      Notes                                   // nil: no session notes
	Facts      func(entries []*transcript.Entry) Facts // nil: package ledger over the log
	Notice     Notice                                  // what is said around a summary
	Limits     Limits                                  // zero members: the defaults
	Now        func() time.Time                        // nil: time.Now
	Observe    func(Event)                             // nil: not told

	mu       sync.Mutex
	failures int    // summary calls in a row without an accepted result
	stalls   int    // compactions in a row that brought nothing
	last     string // leaf that the last compaction covered
	known    known
}

// Limits are the figures of C-1 to C-12. Each has the value of the specification
// by default.
type Limits struct {
	KeepResults  int // newest results that L2 leaves, 5
	ClearAtLeast int // tokens that L2 has to free, 20,000
	KeepTokens   int // tokens that L3 keeps at least, 10,000
	KeepTexts    int // messages with text that L3 keeps at least, 5
	KeepMost     int // tokens that L3 keeps at most, 40,000
	Failures     int // failures in a row after which no summary is asked for, 3
	Retries      int // attempts with less when a summary request is too long, 3
	Stalls       int // compactions without gain after which the ladder stops, 3
	Output       int // tokens of a summary at most, 20,000
}

func (l Limits) withDefaults() Limits {
	for _, p := range []struct {
		v *int
		d int
	}{{&l.KeepResults, 5}, {&l.ClearAtLeast, 20_000}, {&l.KeepTokens, 10_000}, {&l.KeepTexts, 5}, {&l.KeepMost, 40_000},
		{&l.Failures, 3}, {&l.Retries, 3}, {&l.Stalls, 3}, {&l.Output, 20_000}} {
		if *p.v <= 0 {
			*p.v = p.d
		}
	}
	return l
}

// Event tells what the ladder did (O-2).
type Event struct {
	Rung   string
	Kind   EventKind
	Detail string
}

// EventKind says what an [Event] is about.
type EventKind string

// Kinds of events.
const (
	Rejected EventKind = "rejected" // a plan did not pass the acceptance bar
	Failed   EventKind = "failed"   // a rung could not make a plan
	Breaker  EventKind = "breaker"  // no summary is asked for any more in this session
	Stalled  EventKind = "stalled"  // compactions bring nothing any more
)

func (l *Ladder) note(e Event) {
	if l.Observe != nil {
		l.Observe(e)
	}
}

func (l *Ladder) now() time.Time {
	if l.Now != nil {
		return l.Now()
	}
	return time.Now()
}

// rung is one way to shrink a view. Its plan is nil when it has nothing to offer.
type rung interface {
	name() string
	plan(ctx context.Context, j *job) ([]*transcript.Entry, error)
	// final rungs are accepted when they bring anything at all.
	final() bool
}

// job is one question to the ladder.
type job struct {
	Situation
	ladder *Ladder
	limits Limits
	now    int // tokens of the view as it stands, by the trial's measure
	facts  Facts
}

// Plan asks the rungs from cheap to costly and returns the first plan that passes
// the acceptance bar (G-4). It is called by the engine.
func (l *Ladder) Plan(ctx context.Context, s Situation) (string, []*transcript.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Policy.allows(s.Cause) {
		if s.Cause == CauseThreshold {
			return "", nil, nil
		}
		return "", nil, &OffError{Policy: l.Policy, Cause: s.Cause}
	}
	j, err := l.job(s)
	if err != nil {
		return "", nil, err
	}
	if s.Cause == CauseThreshold && l.stalls >= j.limits.Stalls {
		return "", nil, nil // said when it was found out; an overflow still drops
	}
	for _, r := range l.rungs(j) {
		plan, err := r.plan(ctx, j)
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		if err != nil {
			l.note(Event{Rung: r.name(), Kind: Failed, Detail: err.Error()})
			continue
		}
		if len(plan) == 0 {
			continue
		}
		if why := j.reject(plan, r.final()); why != "" {
			l.note(Event{Rung: r.name(), Kind: Rejected, Detail: why})
			l.missed(r)
			continue
		}
		l.accepted(r, j)
		return r.name(), plan, nil
	}
	return "", nil, nil
}

func (l *Ladder) job(s Situation) (*job, error) {
	facts, err := l.factsOf(s)
	if err != nil {
		return nil, err
	}
	return &job{Situation: s, ladder: l, limits: l.Limits.withDefaults(), now: s.Try(nil).Tokens, facts: facts}, nil
}

// rungs returns the rungs for a cause. A manual compaction goes straight to the
// full one (C-11); after an overflow there is no time for notes.
func (l *Ladder) rungs(j *job) []rung {
	full := []rung{}
	if l.Summarizer != nil && (l.failures < j.limits.Failures || j.Cause == CauseManual) {
		full = append(full, fullRung{model: true})
	}
	full = append(full, fullRung{})
	switch j.Cause {
	case CauseManual:
		return full
	case CauseOverflow:
		return append(full, dropRung{})
	}
	if l.Notes != nil && !l.Policy.NoNotes {
		full = append([]rung{notesRung{}}, full...)
	}
	return append(full, dropRung{})
}

// reject says why a plan does not pass the acceptance bar; "" when it does.
func (j *job) reject(plan []*transcript.Entry, final bool) string {
	t := j.Try(plan)
	switch {
	case len(t.View.Messages) == 0:
		return "the view would be empty"
	case len(t.Broken) > 0:
		return "the view would break a rule: " + t.Broken[0].String()
	case t.Tokens >= j.now:
		return "the view would not get smaller"
	case t.Tokens > j.Target && !final:
		return "the view would still be above the target"
	}
	return ""
}

// missed counts a summary that was not accepted (C-12).
func (l *Ladder) missed(r rung) {
	if f, ok := r.(fullRung); ok && f.model {
		l.fail()
	}
}

func (l *Ladder) fail() {
	l.failures++
	if l.failures == l.Limits.withDefaults().Failures {
		l.note(Event{Rung: "summary", Kind: Breaker, Detail: "three summaries in a row failed; the ledger stands in for them in this session"})
	}
}

// accepted notes a plan that goes into the log. Compactions with hardly anything
// between them bring nothing: the same content is read again and again (G-5).
func (l *Ladder) accepted(r rung, j *job) {
	if f, ok := r.(fullRung); ok && f.model {
		l.failures = 0
	}
	if j.Cause != CauseThreshold {
		return
	}
	if l.last != "" && roundsSince(j, l.last) < 2 {
		l.stalls++
		if l.stalls == j.limits.Stalls {
			l.note(Event{Rung: r.name(), Kind: Stalled, Detail: "the window fills again right after each compaction; automatic compaction stops until the conversation goes on"})
		}
	} else {
		l.stalls = 0
	}
	l.last = j.View.Leaf
}

// roundsSince counts the replies that were recorded behind an entry.
func roundsSince(j *job, uuid string) int {
	n := 0
	seen := make(map[string]bool)
	for i := len(j.Log.Entries) - 1; i >= 0; i-- {
		e := j.Log.Entries[i]
		if e.UUID == uuid {
			break
		}
		if e.Type == transcript.TypeAssistant && !seen[e.MessageID] {
			seen[e.MessageID] = true
			n++
		}
	}
	return n
}

// Reset forgets failures and stalls, as after /clear.
func (l *Ladder) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.stalls, l.last = 0, 0, ""
}
