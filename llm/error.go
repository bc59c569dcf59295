package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what an error is about, and with it what can be done.
type Kind string

// Kinds of errors.
const (
	KindOverflow   Kind = "overflow"   // the prompt is too large: shrink it. Never sent again as it is
	KindRateLimit  Kind = "rate-limit" // too many requests or tokens a minute: wait
	KindOverloaded Kind = "overloaded" // the provider has no capacity: wait, or another model
	KindServer     Kind = "server"     // the provider failed: wait
	KindNetwork    Kind = "network"    // no connection, a broken or malformed stream: wait
	KindSpend      Kind = "spend"      // a credit or spend limit is reached: the account's owner must act
	KindAuth       Kind = "auth"       // the key is missing, wrong, or may not do this
	KindModel      Kind = "model"      // there is no such model, or not for this account
	KindRefusal    Kind = "refusal"    // the model or a filter refused: other content, or another model
	KindMismatch   Kind = "mismatch"   // reasoning is bound to something else: send without it, or with MismatchDrop
	KindCompaction Kind = "compaction" // a server's summary was not accepted, or there was nothing to summarize
	KindInvalid    Kind = "invalid"    // the request breaks a rule: a fault of this program
	KindCancelled  Kind = "cancelled"  // the context ended
)

// Error is how a Model fails. It never holds a credential.
type Error struct {
	Kind      Kind
	Status    int    // HTTP; 0 without an answer, 200 inside a stream
	Type      string // the provider's own name of the kind: "overloaded_error"
	Code      string // the provider's finer name: "compaction_unavailable", "context_length_exceeded"
	Message   string // the provider's text, or ours; for people
	RequestID string
	InStream  bool // it came after the reply had begun

	// RetryAfter is how long the provider asks to wait; 0 when it said nothing.
	RetryAfter time.Duration
	// ShouldRetry is the provider's own word on trying again; nil when it said nothing.
	ShouldRetry *bool

	// Of an overflow, as far as the text tells: hints, never facts.
	Tokens int  // size of the prompt, or of the prompt and the reply asked for
	Window int  // what it may be
	Bytes  bool // the limit is one of bytes, not of tokens: images and documents first

	Partial *Partial // what arrived before the stream broke
	Err     error    // cause, for errors.Is; its text is part of Message
}

// TokenGap returns how many tokens too many a prompt had, as far as the provider
// told; 0 when it did not.
func (e *Error) TokenGap() int {
	if e.Kind == KindOverflow && e.Tokens > e.Window && e.Window > 0 {
		return e.Tokens - e.Window
	}
	return 0
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Status != 0 && e.Status != 200 {
		fmt.Fprintf(&b, " %d", e.Status)
	}
	name := e.Code
	if name == "" {
		name = e.Type
	}
	if name != "" {
		fmt.Fprintf(&b, " %s", name)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if hint := hints[e.Kind]; hint != "" {
		b.WriteString(" (" + hint + ")")
	}
	if e.RequestID != "" {
		b.WriteString(" [" + e.RequestID + "]")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// hints say what a person can do.
var hints = map[Kind]string{
	KindSpend: "raise the limit or add credit in the provider's console",
	KindAuth:  "check the API key and the base URL",
	KindModel: "check the model's name and the base URL",
}

// Temporary reports whether the same request may succeed later without anybody
// acting. The provider's word wins where it gave one, except that a request that
// is too large, or needs a person, is never sent again.
func (e *Error) Temporary() bool {
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindServer, KindNetwork:
		return e.ShouldRetry == nil || *e.ShouldRetry
	case KindInvalid:
		// 408 and 409 are ours only in name: a timeout on the way, a conflict that passes.
		if e.ShouldRetry != nil {
			return *e.ShouldRetry
		}
		return e.Status == 408 || e.Status == 409
	}
	return false
}

// KindOf returns the kind of err, or "" when it is none of this package's.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
