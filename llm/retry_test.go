package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/message"
)

// script is a model that fails as told, then answers.
type script struct {
	fail []*Error
	// before is what it yields before each failure.
	before []Event
	calls  []time.Time
}

func (s *script) Stream(context.Context, *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		n := len(s.calls)
		s.calls = append(s.calls, time.Now())
		if n < len(s.fail) {
			for _, ev := range s.before {
				if !yield(ev, nil) {
					return
				}
			}
			yield(Event{}, s.fail[n])
			return
		}
		if yield(Event{Kind: Started, ID: "msg_1"}, nil) {
			yield(Event{Kind: Done, Reply: &Reply{Message: message.Assistant(message.Text("ok"))}}, nil)
		}
	}
}

func times(e *Error, n int) []*Error {
	var out []*Error
	for range n {
		out = append(out, e)
	}
	return out
}

// run ranges over a retried stream and returns how it ended.
func run(ctx context.Context, r *Retry) (waits []time.Duration, reply *Reply, err error) {
	for ev, e := range r.Stream(ctx, &Request{}) {
		switch {
		case e != nil:
			err = e
		case ev.Kind == Retrying:
			waits = append(waits, ev.Wait)
		case ev.Kind == Done:
			reply = ev.Reply
		}
	}
	return waits, reply, err
}

var (
	overloaded = &Error{Kind: KindOverloaded, Status: 529, Type: "overloaded_error"}
	noJitter   = func() float64 { return 0 }
)

func policy(m Model) *Retry {
	r := NewRetry(m)
	r.Rand = noJitter
	return r
}

// TestRetryWaits: the waits double up to their bound and are really waited for.
func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{fail: times(overloaded, 9)}
		start := time.Now()
		waits, reply, err := run(t.Context(), policy(m))
		if err != nil || reply == nil || len(waits) != 9 {
			t.Fatalf("%v %v %v", waits, reply, err)
		}
		var sum time.Duration
		for i, w := range waits {
			if want := min(DefaultBase<<i, DefaultMax); w != want {
				t.Errorf("wait %d is %v, want %v", i, w, want)
			}
			sum += w
		}
		if got := time.Since(start); got != sum {
			t.Errorf("%v passed, %v announced", got, sum)
		}
	})
}

func TestRetryBounds(t *testing.T) {
	for _, c := range []struct {
		name     string
		fail     *Error
		set      func(*Retry)
		attempts int
	}{
		{"attempts", overloaded, nil, DefaultAttempts},
		{"total", overloaded, func(r *Retry) { r.Attempts, r.Total = 1000, 30*time.Second }, 6}, // 0.5+1+2+4+8 = 15.5, and 16 is too much
		{"once", overloaded, func(r *Retry) { r.Attempts = 1 }, 1},
		{"asked", &Error{Kind: KindRateLimit, Status: 429, RetryAfter: 61 * time.Second}, nil, 10}, // ten minutes in all
		{"asked too long", &Error{Kind: KindRateLimit, Status: 429, RetryAfter: time.Hour}, nil, 1},
		{"provider says no", &Error{Kind: KindServer, Status: 500, ShouldRetry: new(false)}, nil, 1},
		{"provider says yes", &Error{Kind: KindInvalid, Status: 400, ShouldRetry: new(true)}, nil, DefaultAttempts},
		{"overflow", &Error{Kind: KindOverflow, Status: 400, ShouldRetry: new(true)}, nil, 1},
		{"spend", &Error{Kind: KindSpend, Status: 429}, nil, 1},
		{"auth", &Error{Kind: KindAuth, Status: 401}, nil, 1},
		{"refusal", &Error{Kind: KindRefusal}, nil, 1},
		{"mismatch", &Error{Kind: KindMismatch, Status: 400}, nil, 1},
		{"invalid", &Error{Kind: KindInvalid, Status: 400}, nil, 1},
		{"timeout on the way", &Error{Kind: KindInvalid, Status: 408}, nil, DefaultAttempts},
		{"network", &Error{Kind: KindNetwork, Err: io.ErrUnexpectedEOF}, nil, DefaultAttempts},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &script{fail: times(c.fail, 1000)}
				r := policy(m)
				if c.set != nil {
					c.set(r)
				}
				_, reply, err := run(t.Context(), r)
				if reply != nil || KindOf(err) != c.fail.Kind {
					t.Errorf("%v %v", reply, err)
				}
				if len(m.calls) != c.attempts {
					t.Errorf("%d attempts, want %d", len(m.calls), c.attempts)
				}
				if total := m.calls[len(m.calls)-1].Sub(m.calls[0]); total > r.Total {
					t.Errorf("the last attempt began after %v", total)
				}
			})
		})
	}
}

// TestRetryCommitted: after a stream broke, the request is sent again unless a
// finished call was delivered, which the caller records and runs.
func TestRetryCommitted(t *testing.T) {
	call, err := message.ToolUse("toolu_1", "bash", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	think := message.Thinking("hm", "sig")
	for _, c := range []struct {
		partial  *Partial
		attempts int
	}{
		{nil, 2},
		{&Partial{Text: "half a sen"}, 2},
		{&Partial{Blocks: []message.Block{message.Text("a sentence")}}, 2},
		{&Partial{ID: "msg_2", Blocks: []message.Block{think}, Calls: []message.Block{call}, Before: []message.Block{think, call}}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			broken := &Error{Kind: KindNetwork, InStream: true, Err: io.ErrUnexpectedEOF, Partial: c.partial}
			m := &script{fail: times(broken, 1), before: []Event{{Kind: Started}, {Kind: Text, Text: "half"}}}
			_, _, err := run(t.Context(), policy(m))
			if len(m.calls) != c.attempts {
				t.Errorf("%+v: %d attempts", c.partial, len(m.calls))
			}
			if c.attempts > 1 {
				return
			}
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Partial == nil {
				t.Fatalf("no partial reply: %v", err)
			}
			got := e.Partial.Committed()
			if got == nil || len(got.Content) != 2 || got.ID != "msg_2" || message.Check([]message.Message{message.User("x"), *got, message.UserBlocks(message.ToolResult("toolu_1", false))}) != nil {
				t.Errorf("%+v", got)
			}
		})
	}
	if (*Partial)(nil).Committed() != nil || (&Partial{}).Committed() != nil {
		t.Error("a message without calls")
	}
}

func TestRetryCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &script{fail: times(overloaded, 100)}
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, _, err := run(ctx, policy(m))
		if KindOf(err) != KindCancelled || !errors.Is(err, context.Canceled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestRetryJitter(t *testing.T) {
	r := NewRetry(nil).filled()
	r.Rand = func() float64 { return 0.999 }
	if w, ok := r.next(overloaded, 3, 0); !ok || w >= 2*time.Second || w < 1500*time.Millisecond {
		t.Errorf("own wait %v", w)
	}
	asked := &Error{Kind: KindRateLimit, RetryAfter: 10 * time.Second}
	if w, ok := r.next(asked, 1, 0); !ok || w < 10*time.Second || w > 10*time.Second+r.Base {
		t.Errorf("asked wait %v: never less than asked", w)
	}
}

// TestRetryStops: who ends the range ends it everywhere.
func TestRetryStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{fail: times(overloaded, 100)}
		for range policy(m).Stream(t.Context(), &Request{}) {
			break
		}
		if len(m.calls) != 1 {
			t.Errorf("%d attempts", len(m.calls))
		}
	})
}

// TestRetryForeignErrors: a model that does not keep the contract is still
// classified, and one whose answer just ends has failed.
func TestRetryForeignErrors(t *testing.T) {
	m := NewRetry(Func(func(context.Context, *Request) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) { yield(Event{}, fmt.Errorf("x: %w", io.EOF)) }
	}))
	m.Attempts = 1
	if _, err := Collect(m.Stream(t.Context(), &Request{})); KindOf(err) != KindNetwork || !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	m.Model = Func(func(context.Context, *Request) iter.Seq2[Event, error] { return func(func(Event, error) bool) {} })
	if _, err := Collect(m.Stream(t.Context(), &Request{})); KindOf(err) != KindNetwork {
		t.Error(err)
	}
}

type counting struct{ script }

func (*counting) CountTokens(context.Context, *Request) (Count, error) { return Count{Input: 7}, nil }

func TestAs(t *testing.T) {
	if c, ok := As[Counter](NewRetry(&counting{})); !ok {
		t.Error("the power of a wrapped model is not found")
	} else if n, err := c.CountTokens(t.Context(), nil); err != nil || n.Input != 7 {
		t.Error(n, err)
	}
	if _, ok := As[Counter](NewRetry(&script{})); ok {
		t.Error("a power that is not there")
	}
}
