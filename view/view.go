package view

import (
	"maps"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Input is what a view is computed from.
type Input struct {
	Chain  *transcript.Chain
	Facts  *Facts // decisions of the whole log that hold on every branch; nil: none
	Render string // renderer version; "" means what the chain's newest frame says, else the current one
}

// Facts are the side entries of a log that change views on every branch.
type Facts struct {
	// Replaced maps a tool-use id to the text that the model saw in place of the
	// stored result. Of several for one id the first counts (T-12).
	Replaced map[string]string
}

// clone keeps a view's facts apart from its maker's.
func (f *Facts) clone() *Facts {
	if f == nil {
		return &Facts{}
	}
	return &Facts{Replaced: maps.Clone(f.Replaced)}
}

// With returns the facts as they would be with entries appended.
func (f *Facts) With(entries ...*transcript.Entry) *Facts {
	out := f.clone()
	for _, e := range entries {
		out.Add(e)
	}
	return out
}

// FactsOf collects the facts of a log.
func FactsOf(l *transcript.Log) *Facts {
	f := &Facts{}
	for _, e := range l.Entries {
		f.Add(e)
	}
	return f
}

// kindToolResult is the one kind of replacement that concerns results.
const kindToolResult = "tool-result"

// Add takes note of e if it is such a side entry, and reports whether that
// changed anything.
func (f *Facts) Add(e *transcript.Entry) bool {
	if e.Type != transcript.TypeContentReplacement {
		return false
	}
	rs, err := e.Replacements()
	if err != nil {
		return false // a damaged decision was never applied either
	}
	changed := false
	for _, r := range rs {
		if _, ok := f.Replaced[r.ToolUseID]; ok || r.ToolUseID == "" || r.Kind != kindToolResult {
			continue
		}
		if f.Replaced == nil {
			f.Replaced = make(map[string]string)
		}
		f.Replaced[r.ToolUseID] = r.Replacement
		changed = true
	}
	return changed
}

// View is what the model would be sent, and where each block of it came from.
type View struct {
	Messages []Message
	Repairs  []Repair // what had to be mended, in the order of the view

	Frame    *transcript.Frame // the newest frame on the chain; nil when none
	Boundary *transcript.Entry // the boundary that the view starts behind; nil when none
	Leaf     string            // uuid of the last chain entry; the parent of the next one
	Render   string            // renderer version in use
	// Changed is the first message that the last Append changed or added; all
	// before it are as they were. 0 after Of.
	Changed int

	in *builder
}

// Message is one message of a view.
type Message struct {
	Role   message.Role
	ID     string // message.id of a reply
	From   string // provider that made a reply; "" when the log does not say
	Blocks []Block
}

// Block is one content block and its origin.
type Block struct {
	message.Block
	Entry string // uuid of the entry it comes from; "" when the renderer made it
	Made  bool   // made or changed by the renderer rather than recorded
}

// Plain returns the message as package message has it, sharing the blocks' bytes.
func (m Message) Plain() message.Message {
	out := message.Message{Role: m.Role, ID: m.ID, Content: make([]message.Block, len(m.Blocks))}
	for i := range m.Blocks {
		out.Content[i] = m.Blocks[i].Block
	}
	return out
}

// Plain returns all messages as package message has them.
func (v *View) Plain() []message.Message {
	out := make([]message.Message, len(v.Messages))
	for i, m := range v.Messages {
		out[i] = m.Plain()
	}
	return out
}

// RepairKind says what was wrong with a place in the log.
type RepairKind string

// Kinds of repairs.
const (
	MissingResult   RepairKind = "missing-result"   // a call that nothing answers; an error result was made
	OrphanResult    RepairKind = "orphan-result"    // a result without call before it; left out
	DuplicateCall   RepairKind = "duplicate-call"   // a second call with the same id; left out
	DuplicateResult RepairKind = "duplicate-result" // a second result for a call; left out
	ThinkingOnly    RepairKind = "thinking-only"    // a reply that holds nothing but reasoning; left out
	BlankText       RepairKind = "blank-text"       // a text block without text; left out
	WrongRole       RepairKind = "wrong-role"       // a block that its role cannot hold; left out
	OpenServerCall  RepairKind = "open-server-call" // a server tool call without its result; left out
	BadInput        RepairKind = "bad-input"        // a call whose input is no object; sent with {}, but left out when it was a server tool's
	BadText         RepairKind = "bad-text"         // text that is not Unicode; sent with U+FFFD
	BadContent      RepairKind = "bad-content"      // an image that is none, or what cannot stand in a result; sent as text
	BadReasoning    RepairKind = "bad-reasoning"    // reasoning that cannot be sent as it is; left out with its reply's other reasoning
	NoFirstUser     RepairKind = "no-first-user"    // the conversation starts with a reply; a marker was put before it
)

// Repair is one place that could not be sent as it is recorded.
type Repair struct {
	Kind  RepairKind
	Entry string // uuid of the entry
	Call  string // tool-use id, where one is concerned
	// Settled repairs come out the same whatever is appended later; the others
	// need an entry before the first send.
	Settled bool

	index int // of the block in its entry
}

// Of computes the view of a conversation.
func Of(in Input) *View {
	b := newBuilder(in)
	return b.view()
}

// Answered reports whether the view has a result for the call, a synthetic one
// that was frozen included. known is false when no such call is in the view.
func (v *View) Answered(call string) (answered, known bool) {
	g := v.in.byCall[call]
	if g == nil {
		return false, false
	}
	_, answered = g.results[call]
	return answered, true
}

// Append extends the view by entries that were appended to the log behind its
// leaf, and reports whether it could: an edit that changes what stands before
// (boundary, undo, cleared results, strip, repair) or an entry of another branch
// needs a view computed afresh with [Of]. When it reports false the view is
// unchanged.
func (v *View) Append(entries ...*transcript.Entry) bool {
	leaf := v.Leaf
	for _, e := range entries {
		if !v.in.extends(e, leaf) {
			return false
		}
		if e.IsChain() {
			leaf = e.UUID
		}
	}
	for _, e := range entries {
		v.in.extend(e)
	}
	v.in.finish(v)
	return true
}
