package llm

import (
	"encoding/json"
	"strings"

	"varve.dev/engine"
	"varve.dev/message"
)

// Stop reasons, as the canonical form has them. A provider may add others.
const (
	StopEnd        = "end_turn"
	StopMaxTokens  = "max_tokens" // the limit of the request's MaxOutput
	StopSequence   = "stop_sequence"
	StopToolUse    = "tool_use"
	StopPause      = "pause_turn" // send the reply back unchanged, and the model goes on
	StopRefusal    = "refusal"
	StopWindow     = "model_context_window_exceeded"
	StopCompaction = "compaction" // the reply is, or ends with, a summary
)

// Reply is what a model answered.
type Reply struct {
	// Message is the canonical form: ids, blocks, stop reason and usage, with the
	// bytes that were received (message.ParseReply). Its content may be empty.
	Message   message.Message
	RequestID string // the provider's, for its support

	StopDetails json.RawMessage // of a refusal
	// BadInputs are the calls whose input is no JSON object. They stand in the
	// message with the input {} and are answered with an error result, not run.
	BadInputs []*message.InputError
	// CutCalls are calls that the end of the reply cut in two. They are not in the
	// message.
	CutCalls []message.Block

	AppliedEdits         json.RawMessage // what the server cleared
	InputTransformations json.RawMessage // what the server did to the input
	Diagnostics          json.RawMessage // what it says about its cache
	Native               json.RawMessage // the reply in the provider's own form, where that is not the canonical one
}

// Engine returns the reply as the engine records it.
func (r *Reply) Engine() engine.Reply {
	return engine.Reply{Message: r.Message, RequestID: r.RequestID, Native: r.Native,
		AppliedEdits: r.AppliedEdits, InputTransformations: r.InputTransformations}
}

// Calls returns the tool calls that wait for an answer.
func (r *Reply) Calls() []message.Block {
	var calls []message.Block
	for _, b := range r.Message.Content {
		if b.Type == message.TypeToolUse {
			calls = append(calls, b)
		}
	}
	return calls
}

// Summary returns the summary that the server made, as the block to send back
// unchanged in place of what it covers. It is false when the server made none,
// which comes without an error: the conversation stays as it is then (C-5).
func (r *Reply) Summary() (message.Block, bool) {
	for i := len(r.Message.Content) - 1; i >= 0; i-- {
		b := r.Message.Content[i]
		if b.Type != message.TypeCompaction {
			continue
		}
		var c struct {
			Content   json.RawMessage `json:"content"`
			Encrypted *string         `json:"encrypted_content"`
		}
		if json.Unmarshal(b.Raw, &c) != nil {
			return message.Block{}, false
		}
		var text string
		if json.Unmarshal(c.Content, &text) == nil && strings.TrimSpace(text) != "" {
			return b, true
		}
		return b, len(c.Content) == 0 && c.Encrypted != nil && *c.Encrypted != ""
	}
	return message.Block{}, false
}

// Err returns what is wrong with a reply that arrived whole: a refusal, or a
// window that was full before the model could finish ([KindRefusal],
// [KindOverflow]). It is nil for every other stop reason.
func (r *Reply) Err() *Error {
	switch r.Message.StopReason {
	case StopRefusal:
		var d struct{ Category, Explanation string }
		_ = json.Unmarshal(r.StopDetails, &d) // details are optional
		text := "the model refused to answer"
		if d.Category != "" {
			text += " (" + d.Category + ")"
		}
		if d.Explanation != "" {
			text += ": " + d.Explanation
		}
		return &Error{Kind: KindRefusal, Status: 200, Type: StopRefusal, Code: d.Category, Message: text, RequestID: r.RequestID}
	case StopWindow:
		return &Error{Kind: KindOverflow, Status: 200, Type: StopWindow, RequestID: r.RequestID,
			Message: "the context window was full before the answer was complete"}
	}
	return nil
}

// Partial is what arrived of a reply whose stream broke.
type Partial struct {
	ID, Model string
	// Blocks are finished blocks that are not calls. They are for showing; they
	// are not part of the conversation.
	Blocks []message.Block
	// Calls are finished tool calls. Their inputs are whole: they can be recorded
	// with the reasoning before them, and run.
	Calls []message.Block
	// Before are all finished blocks up to the last call, in order: what a message
	// holds that records the calls. Nil without calls.
	Before []message.Block
	Text   string // of the unfinished text block
	Usage  *message.Usage
}
