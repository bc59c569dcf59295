package llm

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"varve.dev/message"
)

// Retry is a Model that sends a request again when the failure may pass. It is
// the only place that does: adapters and the SDKs under them never retry. Each
// repetition is an event ([Retrying]).
//
// A request is sent again while nothing of its reply was kept: before the reply
// began, or after its stream broke without a finished tool call. What was shown
// of the reply until then is void, and the event says so. A stream that broke
// behind a finished call is not repeated, because the caller records the call and
// goes on from there ([Partial]).
//
// NewRetry sets all fields; a field that is zero in a literal has its default.
type Retry struct {
	Model Model
	// Attempts is how often a request is sent at most, the first time included.
	Attempts int
	// Total bounds the time from the first attempt to the start of the last.
	Total time.Duration
	// Base is the wait after the first failure; it doubles with each further one up
	// to Max. A provider's Retry-After takes its place, unless it is longer than
	// MaxAsked: then the error is returned at once.
	Base, Max, MaxAsked time.Duration
	// Jitter is the part of a wait that is drawn by chance: a wait w lasts between
	// w·(1−Jitter) and w. A provider's wait is prolonged instead, by the same part of
	// Base: everybody was told the same second.
	Jitter float64

	Now   func() time.Time
	Rand  func() float64 // in [0, 1)
	Sleep func(ctx context.Context, d time.Duration) error
}

// The defaults of Retry. The official SDKs wait 0.5 s to 8 s and give up after
// two repetitions; the reference sends ten more times and waits up to 32 s. An
// overload of some minutes should not end a session that ran for hours.
const (
	DefaultAttempts = 11
	DefaultTotal    = 10 * time.Minute
	DefaultBase     = 500 * time.Millisecond
	DefaultMax      = 32 * time.Second
	DefaultMaxAsked = 5 * time.Minute
	DefaultJitter   = 0.25
)

// NewRetry returns m with the default policy.
func NewRetry(m Model) *Retry {
	r := (&Retry{Model: m}).filled()
	return &r
}

func (r *Retry) filled() Retry {
	c := *r
	set(&c.Attempts, DefaultAttempts)
	set(&c.Total, DefaultTotal)
	set(&c.Base, DefaultBase)
	set(&c.Max, DefaultMax)
	set(&c.MaxAsked, DefaultMaxAsked)
	set(&c.Jitter, DefaultJitter)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Float64
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

func set[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Unwrap returns the model that requests go to.
func (r *Retry) Unwrap() Model { return r.Model }

// Stream sends req, again where the policy allows.
func (r *Retry) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		c := r.filled()
		start := c.Now()
		for attempt := 1; ; attempt++ {
			failed, stopped := once(c.Model.Stream(ctx, req), yield)
			if stopped || failed == nil {
				return
			}
			wait, again := c.next(failed, attempt, c.Now().Sub(start))
			if !again || ctx.Err() != nil {
				yield(Event{}, failed)
				return
			}
			if !yield(Event{Kind: Retrying, Attempt: attempt, Wait: wait, Err: failed}, nil) {
				return
			}
			if err := c.Sleep(ctx, wait); err != nil {
				yield(Event{}, Classify(Failure{Err: err, Message: "cancelled while waiting to send again after: " + failed.Error()}))
				return
			}
		}
	}
}

// once passes the events of one attempt on. It reports the error that ended it,
// and whether the range over the whole was ended.
func once(events iter.Seq2[Event, error], yield func(Event, error) bool) (failed *Error, stopped bool) {
	for ev, err := range events {
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok {
				e = Classify(Failure{Err: err})
			}
			return e, false
		}
		if !yield(ev, nil) {
			return nil, true
		}
		if ev.Kind == Done {
			return nil, false
		}
	}
	return &Error{Kind: KindNetwork, InStream: true, Message: "the answer ended before it was complete"}, false
}

// next decides about the attempt after one that failed, elapsed after the first
// began.
func (r *Retry) next(e *Error, attempt int, elapsed time.Duration) (time.Duration, bool) {
	if !e.Temporary() || attempt >= r.Attempts || e.Partial != nil && len(e.Partial.Calls) > 0 {
		return 0, false
	}
	wait := r.Max
	if n := attempt - 1; n < 30 && r.Base<<n < r.Max {
		wait = r.Base << n
	}
	wait -= time.Duration(r.Jitter * r.Rand() * float64(wait))
	if e.RetryAfter > 0 {
		if e.RetryAfter > r.MaxAsked {
			return 0, false
		}
		wait = e.RetryAfter + time.Duration(r.Jitter*r.Rand()*float64(r.Base))
	}
	return wait, elapsed+wait <= r.Total
}

// Committed returns the message that records the finished calls of a reply whose
// stream broke, with what was finished before them, reasoning above all; nil when
// there are none. What came after the last call was only shown.
func (p *Partial) Committed() *message.Message {
	if p == nil || len(p.Calls) == 0 {
		return nil
	}
	m := message.Assistant(p.Before...)
	m.ID, m.Model, m.Usage, m.StopReason = p.ID, p.Model, p.Usage, StopToolUse
	return &m
}
