package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"varve.dev/llm"
	"varve.dev/message"
)

// An Accumulator puts a reply together from the events of a stream. Values are
// kept as the JSON text that arrived: the pieces of a string are joined without
// being decoded, so that what goes back is what came.
type Accumulator struct {
	meta   []member // of the message object
	blocks []*part
	open   int
	size   int
	done   bool
}

// A part is a content block that arrives.
type part struct {
	start     []member // of the block object
	kind      string
	pieces    map[string][]byte // string members by name, their JSON text without quotes
	citations []json.RawMessage
	done      bool
	raw       json.RawMessage // once done
	badInput  bool            // its input is no JSON: it was cut, or the model failed
	emptyCall bool            // a call whose input never came
}

// maxReply bounds what a stream may hold, in bytes: a reply of 128,000 tokens is a
// thousandth of it.
const maxReply = 512 << 20

// A wireEvent has what events of any type may have.
type wireEvent struct {
	Type            string          `json:"type"`
	Message         json.RawMessage `json:"message"`
	Index           *int            `json:"index"`
	Block           json.RawMessage `json:"content_block"`
	Delta           json.RawMessage `json:"delta"`
	Usage           json.RawMessage `json:"usage"`
	Management      json.RawMessage `json:"context_management"`
	Transformations json.RawMessage `json:"input_transformations"`
}

// A protocolError says how a stream broke the rules of the protocol.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return "malformed stream: " + e.what }

func malformed(format string, args ...any) error {
	return &protocolError{fmt.Sprintf(format, args...)}
}

// ErrStream is an error event; its data is the error's body.
var ErrStream = errors.New("the stream ended with an error")

// Add takes one event in and returns what there is to tell of it. Events of types
// that are not known are skipped, as the API demands. The error is [ErrStream], or
// says how the stream broke the rules of the protocol; nothing may be added then.
func (a *Accumulator) Add(name string, data []byte) ([]llm.Event, error) {
	if a.size += len(data); a.size > maxReply {
		return nil, malformed("the reply is longer than %d bytes", maxReply)
	}
	if name == "ping" {
		return nil, nil
	}
	var ev wireEvent
	if err := json.Unmarshal(data, &ev); err != nil {
		if name == "error" {
			return nil, ErrStream
		}
		return nil, malformed("an event is not JSON: %v", err)
	}
	if ev.Type == "" {
		ev.Type = name
	}
	switch ev.Type {
	case "error":
		return nil, ErrStream
	case "message_start":
		return a.messageStart(ev)
	case "content_block_start":
		return a.blockStart(ev)
	case "content_block_delta":
		return a.blockDelta(ev)
	case "content_block_stop":
		return a.blockStop(ev)
	case "message_delta":
		return nil, a.messageDelta(ev)
	case "message_stop":
		if a.meta == nil || a.open > 0 {
			return nil, malformed("the message ends with %d blocks open", a.open)
		}
		a.done = true
	}
	return nil, nil
}

func (a *Accumulator) messageStart(ev wireEvent) ([]llm.Event, error) {
	ms, err := members(ev.Message)
	if err != nil {
		return nil, malformed("message_start without a message")
	}
	if a.meta != nil {
		return nil, malformed("a second message_start")
	}
	if a.meta = ms; a.meta == nil {
		a.meta = []member{}
	}
	return []llm.Event{{Kind: llm.Started, ID: str(get(ms, "id")), Model: str(get(ms, "model"))}}, nil
}

func (a *Accumulator) blockStart(ev wireEvent) ([]llm.Event, error) {
	switch {
	case a.meta == nil:
		return nil, malformed("a block before message_start")
	case ev.Index == nil || *ev.Index != len(a.blocks):
		return nil, malformed("block %s where block %d should begin", indexText(ev.Index), len(a.blocks))
	}
	ms, err := members(ev.Block)
	if err != nil {
		return nil, malformed("content_block_start without a block")
	}
	p := &part{start: ms, kind: str(get(ms, "type")), pieces: map[string][]byte{}}
	for _, name := range []string{"text", "thinking", "signature"} {
		if v := get(ms, name); len(v) > 1 && v[0] == '"' {
			p.pieces[name] = append([]byte{}, v[1:len(v)-1]...)
		}
	}
	a.blocks = append(a.blocks, p)
	a.open++
	b, err := message.ParseBlock(ev.Block)
	if err != nil {
		return nil, malformed("a block that cannot be read: %v", err)
	}
	return []llm.Event{{Kind: llm.BlockOpen, Index: *ev.Index, Block: &b}}, nil
}

// at returns the open block of an event.
func (a *Accumulator) at(ev wireEvent) (*part, error) {
	if ev.Index == nil || *ev.Index < 0 || *ev.Index >= len(a.blocks) || a.blocks[*ev.Index].done {
		return nil, malformed("%s for block %s, which is not open", ev.Type, indexText(ev.Index))
	}
	return a.blocks[*ev.Index], nil
}

func indexText(i *int) string {
	if i == nil {
		return "(no index)"
	}
	return fmt.Sprint(*i)
}

// deltas are the types of deltas that add to a string: the member it is in, and
// the event that tells of it.
var deltas = map[string]struct {
	from, to string
	kind     llm.EventKind
}{
	"text_delta":       {"text", "text", llm.Text},
	"thinking_delta":   {"thinking", "thinking", llm.Thinking},
	"signature_delta":  {"signature", "signature", ""},
	"input_json_delta": {"partial_json", "input", llm.Input},
}

func (a *Accumulator) blockDelta(ev wireEvent) ([]llm.Event, error) {
	p, err := a.at(ev)
	if err != nil {
		return nil, err
	}
	ms, err := members(ev.Delta)
	if err != nil {
		return nil, malformed("a delta that is no object")
	}
	kind := str(get(ms, "type"))
	switch kind {
	case "citations_delta":
		if c := get(ms, "citation"); !isNull(c) {
			p.citations = append(p.citations, c)
		}
		return nil, nil
	case "compaction_delta":
		for _, name := range []string{"content", "encrypted_content"} {
			if v := get(ms, name); v != nil {
				p.start = put(p.start, name, v)
			}
		}
		return nil, nil
	}
	d, ok := deltas[kind]
	if !ok {
		return nil, nil // a kind that is not known; the block stays what it is
	}
	v := get(ms, d.from)
	if len(v) < 2 || v[0] != '"' {
		if isNull(v) {
			return nil, nil
		}
		return nil, malformed("a %s without text", kind)
	}
	p.pieces[d.to] = append(p.pieces[d.to], v[1:len(v)-1]...)
	if text := str(v); d.kind != "" && text != "" {
		return []llm.Event{{Kind: d.kind, Index: *ev.Index, Text: text}}, nil
	}
	return nil, nil
}

func (a *Accumulator) blockStop(ev wireEvent) ([]llm.Event, error) {
	p, err := a.at(ev)
	if err != nil {
		return nil, err
	}
	p.finish()
	a.open--
	if p.badInput {
		return nil, nil // whether it was cut, the end of the message tells
	}
	b, err := message.ParseBlock(p.raw)
	if err != nil {
		return nil, malformed("a block that cannot be read: %v", err)
	}
	return []llm.Event{{Kind: llm.BlockDone, Index: *ev.Index, Block: &b}}, nil
}

// finish writes the block as it goes into the message.
func (p *part) finish() {
	p.done = true
	for _, name := range []string{"text", "thinking", "signature"} {
		if v, ok := p.pieces[name]; ok {
			p.start = put(p.start, name, quoted(v))
		}
	}
	if len(p.citations) > 0 {
		list := []byte{'['}
		var before []json.RawMessage
		_ = json.Unmarshal(get(p.start, "citations"), &before) // null, as a rule
		for i, c := range append(before, p.citations...) {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, c...)
		}
		p.start = put(p.start, "citations", append(list, ']'))
	}
	p.input()
	p.raw = object(p.start)
}

// input puts the pieces of a call's input in the place of the start's. What is no
// JSON goes in as a string, from which message.ParseReply makes a call with a
// named fault.
func (p *part) input() {
	if get(p.start, "input") == nil {
		return
	}
	text := str(quoted(p.pieces["input"]))
	switch {
	case text == "":
		p.emptyCall = string(get(p.start, "input")) == "{}"
	case json.Valid([]byte(text)):
		p.start = put(p.start, "input", []byte(text))
	default:
		p.badInput = true
		p.start = put(p.start, "input", quoted(p.pieces["input"]))
	}
}

func quoted(body []byte) json.RawMessage {
	return append(append([]byte{'"'}, body...), '"')
}

// messageDelta takes over the end of the message. Counts are totals: they replace
// those before, and what is absent keeps its value.
func (a *Accumulator) messageDelta(ev wireEvent) error {
	if a.meta == nil {
		return malformed("message_delta before message_start")
	}
	if !isNull(ev.Delta) {
		ms, err := members(ev.Delta)
		if err != nil {
			return malformed("a delta that is no object")
		}
		for _, m := range ms {
			if m.name != "type" && m.name != "content" {
				a.meta = put(a.meta, m.name, m.value)
			}
		}
	}
	if !isNull(ev.Usage) {
		sum, err := mergeUsage(get(a.meta, "usage"), ev.Usage)
		if err != nil {
			return malformed("usage: %v", err)
		}
		a.meta = put(a.meta, "usage", sum)
	}
	if !isNull(ev.Management) {
		a.meta = put(a.meta, "context_management", ev.Management)
	}
	if !isNull(ev.Transformations) {
		a.meta = put(a.meta, "input_transformations", ev.Transformations)
	}
	return nil
}

func mergeUsage(have, add json.RawMessage) (json.RawMessage, error) {
	ms, err := members(add)
	if err != nil || isNull(have) {
		return add, err
	}
	sum, err := members(have)
	if err != nil {
		return add, nil
	}
	for _, m := range ms {
		if !isNull(m.value) {
			sum = put(sum, m.name, m.value)
		}
	}
	return object(sum), nil
}

// Done reports whether the message is whole.
func (a *Accumulator) Done() bool { return a.done }

// Reply returns the whole message.
func (a *Accumulator) Reply() (*llm.Reply, error) {
	stop := str(get(a.meta, "stop_reason"))
	content := []byte{'['}
	var cut []message.Block
	for i, p := range a.blocks {
		if p.wasCut(stop, i == len(a.blocks)-1) {
			if b, err := message.ParseBlock(p.raw); err == nil {
				cut = append(cut, b)
			}
			continue
		}
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(content, p.raw...)
	}
	r, err := ParseReply(object(put(a.meta, "content", append(content, ']'))))
	if err != nil {
		return nil, err
	}
	r.CutCalls = cut
	return r, nil
}

// wasCut reports whether the end of the reply cut the call in two. The last call
// of a reply that reached a limit is complete only if it has an input.
func (p *part) wasCut(stop string, last bool) bool {
	switch stop {
	case llm.StopMaxTokens, llm.StopWindow, llm.StopRefusal:
		return p.badInput || last && p.emptyCall
	}
	return false
}

// IsMessage reports whether raw is a message object, and not an error.
func IsMessage(raw []byte) bool {
	ms, err := members(raw)
	return err == nil && str(get(ms, "type")) == "message"
}

// ParseReply reads a whole message object.
func ParseReply(raw []byte) (*llm.Reply, error) {
	ms, err := members(raw)
	if err != nil {
		return nil, malformed("the message: %v", err)
	}
	m, err := message.ParseReply(raw)
	if m == nil {
		return nil, malformed("the message: %v", err)
	}
	if m.Role != message.RoleAssistant {
		return nil, malformed("a message of the role %q", m.Role)
	}
	r := &llm.Reply{Message: *m, StopDetails: known(get(ms, "stop_details")), InputTransformations: known(get(ms, "input_transformations")),
		Diagnostics: known(get(ms, "diagnostics")), BadInputs: badInputs(err)}
	var cm struct {
		Applied json.RawMessage `json:"applied_edits"`
	}
	if json.Unmarshal(get(ms, "context_management"), &cm) == nil {
		r.AppliedEdits = known(cm.Applied)
	}
	return r, nil
}

func known(raw json.RawMessage) json.RawMessage {
	if isNull(raw) || string(raw) == "[]" {
		return nil
	}
	return raw
}

func badInputs(err error) []*message.InputError {
	if err == nil {
		return nil
	}
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*message.InputError
		for _, e := range list.Unwrap() {
			out = append(out, badInputs(e)...)
		}
		return out
	}
	if e, ok := errors.AsType[*message.InputError](err); ok {
		return []*message.InputError{e}
	}
	return nil
}

// Partial returns what arrived of a reply whose stream broke; nil when it had not
// begun. A half block is lost, but for the text that is shown.
func (a *Accumulator) Partial() *llm.Partial {
	if a.meta == nil {
		return nil
	}
	out := &llm.Partial{ID: str(get(a.meta, "id")), Model: str(get(a.meta, "model"))}
	if u, err := message.ParseUsage(get(a.meta, "usage")); err == nil {
		out.Usage = &u
	}
	var all []message.Block
	for _, p := range a.blocks {
		if !p.done {
			if p.kind == message.TypeText && out.Text == "" {
				out.Text = str(quoted(p.pieces["text"]))
			}
			break // what follows may refer to it
		}
		b, err := message.ParseBlock(p.raw)
		if err != nil || p.badInput {
			break
		}
		if b.Type != message.TypeToolUse {
			all, out.Blocks = append(all, b), append(out.Blocks, b)
			continue
		}
		if b, err = message.NormalizeCall(b); err != nil {
			break // not a call that could run
		}
		all, out.Calls = append(all, b), append(out.Calls, b)
		out.Before = all[:len(all):len(all)]
	}
	return out
}
