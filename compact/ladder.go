package compact

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/tokens"
	"varve.dev/transcript"
)

// Summarizer asks a model for a summary. It is called with the conversation as the
// model sees it and returns the reply's text. The error says why there is none;
// one that wraps [ErrTooLong] makes the ladder ask again for less. It must return
// soon after ctx has ended, and may be called from a goroutine of the ladder's
// while [Policy].Drafts or collapse mode is on.
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
	Current(ctx context.Context) (text, upTo string, ok bool)
}

// Ladder is the ladder of an engine. Its fields are set before the first use; the
// zero value compacts with the ledger. It keeps the state of one session (the
// breaker, what was tried, drafts) and is safe for concurrent use. With drafts or
// in collapse mode its owner ends it with [Ladder.Close].
type Ladder struct {
	Policy     Policy
	Summarizer Summarizer                              // nil: the ledger
	Server     Server                                  // has the provider summarize, and is tried first; nil: not asked
	Attacher   Attacher                                // nil: nothing is attached
	Notes      Notes                                   // nil: no session notes
	Facts      func(entries []*transcript.Entry) Facts // nil: package ledger over the log
	Notice     Notice                                  // what is said around a summary
	Limits     Limits                                  // zero members: the defaults
	Now        func() time.Time                        // nil: time.Now
	Observe    func(Event)                             // nil: not told

	mu       sync.Mutex
	failures int // summary calls in a row without an accepted and useful result
	progress progress
	known    known
	drafts   drafts
	stats    Stats
	calls    atomic.Int64
	wg       sync.WaitGroup // of drafts in the making
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

	// Wait is how long one summary may take, retries included: 10 minutes, in which
	// a slow model writes Output tokens.
	Wait time.Duration
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
	if l.Wait <= 0 {
		l.Wait = 10 * time.Minute
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

	Drafting EventKind = "drafting" // a summary is being made in the background
	Drafted  EventKind = "drafted"  // it is ready
	Dropped  EventKind = "dropped"  // it is not used: what it covers changed, or something else was done
)

// Stats counts what summaries cost and what came of them, for one [Ladder].
type Stats struct {
	Calls    int // of the summarizer and of the server
	Accepted int // summaries of a model, drafts or the server in use
	Failed   int // questions without a summary, or without a useful one
	Drafts   int // begun in the background
	Dropped  int // drafts that were not used
}

// Stats returns the counts so far.
func (l *Ladder) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.stats
	out.Calls = int(l.calls.Load())
	return out
}

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
	tried  map[*transcript.Entry]tried // plans, by their first entry
	keeps  []*transcript.Entry         // the checkpoint, made once
}

// tried is a plan that was tried.
type tried struct {
	Trial
	kept map[string]bool // entries that it keeps
}

// trial is what a plan of this job leads to.
func (j *job) trial(plan []*transcript.Entry) Trial {
	t, ok := j.tried[plan[0]]
	if !ok {
		t = tried{Trial: j.Try(plan)}
		j.tried[plan[0]] = t
	}
	return t.Trial
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
	l.collect(s) // a draft that is ready is looked at first
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
			l.missed(r, j)
			continue
		}
		l.accepted(r, j, plan)
		return r.name(), plan, nil
	}
	return "", nil, nil
}

// Watch plans what costs nothing: L2, and the drafts of summaries that are asked
// for in the background (G-11, C-17). The entries of a draft change no view.
func (l *Ladder) Watch(ctx context.Context, s Situation) (string, []*transcript.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if plan := l.micro(s); len(plan) > 0 {
		return "micro", plan, nil
	}
	return "draft", l.draft(ctx, s), nil
}

// Limit is the size from which the ladder wants to be asked: in collapse mode at
// 95 % of the effective window (C-17), else the threshold.
func (l *Ladder) Limit(b tokens.Thresholds) int {
	if l.Policy.Mode == Collapse {
		return int(int64(b.Effective) * collapseCommit / 100)
	}
	return b.Auto
}

func (l *Ladder) job(s Situation) (*job, error) {
	facts, err := l.factsOf(s)
	if err != nil {
		return nil, err
	}
	var now int
	if s.Estimate != nil {
		now = s.Estimate()
	} else {
		now = s.Try(nil).Tokens
	}
	return &job{Situation: s, ladder: l, limits: l.Limits.withDefaults(), now: now, facts: facts, tried: make(map[*transcript.Entry]tried)}, nil
}

// rungs returns the rungs for a cause. A manual compaction goes straight to the
// full one (C-11); after an overflow there is no time for notes; when nobody waits
// for the next request only what a model says is worth a new start.
func (l *Ladder) rungs(j *job) []rung {
	if j.Cause == CauseThreshold && l.progress.stalls >= j.limits.Stalls {
		// Said when it was found out. What does not fit is dropped all the same (G-1).
		if j.Total > j.Budget.Effective {
			return []rung{dropRung{}}
		}
		return nil
	}
	var rs []rung
	model := l.failures < j.limits.Failures || j.Cause == CauseManual
	if j.Cause != CauseManual {
		rs = append(rs, draftRung{l.Policy.Mode})
	}
	ahead := j.Cause == CauseThreshold && l.background() // nobody waits for a summary
	if l.Server != nil && model && !ahead {
		rs = append(rs, serverRung{})
	}
	if l.Notes != nil && !l.Policy.NoNotes && (j.Cause == CauseThreshold || j.Cause == CauseIdle) {
		rs = append(rs, notesRung{})
	}
	switch {
	case ahead:
		if l.coming(j) && j.Total < j.Budget.Blocking {
			return rs // there is room until the draft is ready (G-11)
		}
	case l.Summarizer != nil && model:
		rs = append(rs, fullRung{model: true})
	}
	if j.Cause == CauseIdle {
		return rs
	}
	rs = append(rs, fullRung{})
	if j.Cause != CauseManual {
		rs = append(rs, dropRung{})
	}
	return rs
}

// reject says why a plan does not pass the acceptance bar; "" when it does.
func (j *job) reject(plan []*transcript.Entry, final bool) string {
	t := j.trial(plan)
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
