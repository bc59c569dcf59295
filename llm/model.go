package llm

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/message"
)

// A Model answers requests. It is safe for concurrent use.
type Model interface {
	// Stream sends req and yields what comes back. The last event is one of kind
	// [Done] with the whole reply, or there is an error, which is an *[Error] and
	// ends the sequence. Nothing is sent before the sequence is ranged over, and it
	// can be ranged over once. Ending the range early, or ctx, ends the request.
	// The request and its bytes are not kept or changed.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Func is a Model made of a function.
type Func func(ctx context.Context, req *Request) iter.Seq2[Event, error]

// Stream calls f.
func (f Func) Stream(ctx context.Context, req *Request) iter.Seq2[Event, error] { return f(ctx, req) }

// A Counter is a Model that counts the tokens of a request without answering it.
type Counter interface {
	CountTokens(ctx context.Context, req *Request) (Count, error)
}

// Count is the size of a prompt, in tokens, as the provider counts.
type Count struct {
	Input    int64 // what the model would see
	Original int64 // before the server's clearing; 0 when it cleared nothing
}

// A Prober is a Model whose provider says what it can bear.
type Prober interface {
	// Probe asks about the model that requests go to.
	Probe(ctx context.Context) (caps.Probe, error)
}

// A Lister is a Model whose provider lists its models.
type Lister interface {
	Models(ctx context.Context) ([]Info, error)
}

// Info is what a provider says of one of its models.
type Info struct {
	ID, Name  string
	Probe     caps.Probe
	Lifecycle string          // active, deprecated, retired; "" when not told
	Raw       json.RawMessage // everything it said
}

// As finds an optional power of m, in m itself or in a model that it wraps.
func As[T any](m Model) (T, bool) {
	for m != nil {
		if t, ok := m.(T); ok {
			return t, true
		}
		w, ok := m.(interface{ Unwrap() Model })
		if !ok {
			break
		}
		m = w.Unwrap()
	}
	var zero T
	return zero, false
}

// Request is what to send. System, Tools and Options are in the provider's own
// form and are sent as they are; with Messages they are what a prompt cache and
// bound reasoning compare, so they must not be built anew for each request.
type Request struct {
	Model   string          // "" is the model's own
	System  json.RawMessage // a string or text blocks
	Tools   json.RawMessage // an array of definitions
	Options json.RawMessage // an object of further members of the request: thinking, effort, context management
	// Messages are whole messages, {"role":…,"content":[…]}, in the canonical
	// (Anthropic) form.
	Messages []json.RawMessage

	MaxOutput int // tokens of the reply; 0 is the adapter's default
	Cache     Cache
	Clear     *Clear     // the server clears old tool results
	Threshold *Threshold // the server compacts when the prompt gets large
	Summarize *Summarize // the reply shall be a summary instead of an answer
	Mismatch  Mismatch   // what the server does with reasoning that is bound to something else
	// PreviousID names the reply before this one, so that the provider can say why
	// less than expected was in its cache.
	PreviousID string
}

// Cache says what a request asks of the provider's prompt cache.
type Cache string

// Cache policies. Lifetimes are those of the provider ([caps.Cache]).
const (
	CacheShort Cache = ""      // everything lives the short time
	CacheLong  Cache = "long"  // everything lives the long time
	CacheMixed Cache = "mixed" // system and tools long, the conversation short
	CacheOff   Cache = "off"   // nothing is marked
)

// Clear is server-side clearing of old tool results (C-2). Zero values leave the
// provider's defaults.
type Clear struct {
	TriggerTokens int      // of the prompt
	TriggerUses   int      // tool uses, instead of TriggerTokens
	Keep          int      // newest tool uses that stay
	AtLeast       int      // tokens; less is not worth the broken cache
	Exclude       []string // tools whose results stay
	Inputs        bool     // the calls' inputs go too
}

// Threshold is compaction by the server once the prompt reaches Tokens.
type Threshold struct {
	Tokens       int
	Instructions string // replaces the provider's own
	Pause        bool   // the reply ends with the summary
}

// Summarize asks for a summary of the whole conversation as the reply, in the
// provider's own form ([Reply.Summary]). Not with open tool calls or a paused
// turn. What the provider does not take beside it is left out of the request.
type Summarize struct {
	Instructions string // replaces the provider's own; "" leaves it
}

// Mismatch says what the server does with reasoning whose prefix changed. The
// server does not remember it: a session that once used Drop keeps using it.
// Where a mode of thinking cannot say it, Drop leaves all reasoning out of the
// request, and Error changes nothing.
type Mismatch string

// Values of Mismatch.
const (
	MismatchDefault Mismatch = ""
	MismatchError   Mismatch = "error"
	MismatchDrop    Mismatch = "drop_block"
)

// Of returns the request that the engine prepared, with every option at its
// default.
func Of(r *engine.Request) *Request {
	return &Request{Model: r.Frame.Model, System: r.Frame.System, Tools: r.Frame.Tools, Options: r.Frame.Options, Messages: r.Wire}
}

// EventKind says what an Event is about.
type EventKind string

// Kinds of events.
const (
	Started   EventKind = "started"   // the provider began to answer: ID and Model
	BlockOpen EventKind = "block"     // a content block begins: Index, Block with what is known
	Text      EventKind = "text"      // a piece of an answer's text
	Thinking  EventKind = "thinking"  // a piece of readable reasoning
	Input     EventKind = "input"     // a piece of a tool call's input, JSON text
	BlockDone EventKind = "blockdone" // a content block is complete: Index, Block
	Retrying  EventKind = "retrying"  // the request failed and is sent again: Attempt, Wait, Err; what was shown of the reply is void
	Done      EventKind = "done"      // the reply is complete: Reply
)

// Event is something that happens while a reply arrives.
type Event struct {
	Kind  EventKind
	Index int            // of the block: Text, Thinking, Input, BlockOpen, BlockDone
	Text  string         // Text, Thinking, Input: what was added
	Block *message.Block // BlockOpen, BlockDone

	ID, Model string // Started

	Attempt int           // Retrying: the attempt that failed, from 1
	Wait    time.Duration // Retrying: until the next one
	Err     *Error        // Retrying: what failed

	Reply *Reply // Done
}

// Collect ranges over events and returns the reply.
func Collect(events iter.Seq2[Event, error]) (*Reply, error) {
	for ev, err := range events {
		if err != nil {
			return nil, err
		}
		if ev.Kind == Done {
			return ev.Reply, nil
		}
	}
	return nil, &Error{Kind: KindNetwork, Message: "the model's answer ended before it was complete"}
}
