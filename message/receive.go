package message

import (
	"encoding/json"
	"errors"
)

// ParseReply reads a reply that a provider has just sent and normalises, once, what must not be normalised later: the input of each
// tool call ([NormalizeCall]) and text that is not Unicode ([FixUnicode]). Reasoning blocks and everything else keep their bytes; if
// there was nothing to normalise, Raw is raw.
//
// An error that wraps [ErrInput] comes with the message: the calls it names (errors.Join of *[InputError]) have the input {} and must be
// answered with an error result. With any other error there is no message.
func ParseReply(raw []byte) (*Message, error) {
	m, err := ParseMessage(raw)
	if err != nil {
		return nil, err
	}
	var bad []error
	changed := false
	for i, b := range m.Content {
		n, err := receive(b)
		if err != nil {
			bad = append(bad, err)
		}
		if string(n.Raw) != string(b.Raw) {
			m.Content[i], changed = n, true
		}
	}
	at := m.from.content
	if !changed && CleanUnicode(m.Raw[:at[0]]) && CleanUnicode(m.Raw[at[1]:]) {
		return m, errors.Join(bad...)
	}
	out := append(make([]byte, 0, len(m.Raw)), FixUnicode(m.Raw[:at[0]])...)
	if changed {
		out = m.appendContent(out)
	} else {
		out = append(out, m.Raw[at[0]:at[1]]...)
	}
	out = append(out, FixUnicode(m.Raw[at[1]:])...)
	if m, err = ParseMessage(out); err != nil {
		return nil, err
	}
	return m, errors.Join(bad...)
}

func receive(b Block) (Block, error) {
	switch {
	case b.IsThinking():
		return b, nil
	case b.Type == TypeToolUse:
		return NormalizeCall(b)
	case b.IsUnicode():
		return b, nil
	}
	return reparse(FixUnicode(b.Raw), b), nil
}

// NormalizeCall returns the tool call b with its input as [CompactInput] has it and its other members as they are, with text that is
// not Unicode replaced. When there is nothing to do it returns b itself. It is for calls of logs that were not normalised when they
// were received (a missing input, an input in a JSON string: QwenLM/qwen-code#7377).
//
// The error is an *[InputError]; the block returned with it has the input {}.
func NormalizeCall(b Block) (Block, error) {
	in, err := compactInput(b.Input)
	if err != nil {
		in, err = json.RawMessage("{}"), &InputError{ToolUseID: b.ID, Input: b.Input, Err: err}
	}
	raw := []byte(b.Raw)
	if string(in) != string(b.Input) {
		raw = setMember(raw, "input", in)
	}
	if !b.IsUnicode() {
		raw = FixUnicode(raw)
	}
	if string(raw) == string(b.Raw) {
		return b, err
	}
	return reparse(raw, b), err
}

// reparse reads raw, made from b's own bytes; should that fail, b stays as it was and Check reports it.
func reparse(raw []byte, b Block) Block {
	if n, err := ParseBlock(raw); err == nil {
		return n
	}
	return b
}

// setMember replaces the value of the last member called name of the JSON object raw, or adds the member at its end. All other bytes
// are kept. Text that is no object is returned as it is.
func setMember(raw []byte, name string, value []byte) []byte {
	s := scanner{data: raw}
	cur, err := s.open(s.space(0), '{')
	if err != nil {
		return raw
	}
	from, to, members := -1, -1, 0
	for ; cur.next(); members++ {
		at := cur.pos
		if cur.pos, err = s.value(at); err != nil {
			return raw
		}
		if string(cur.name()) == name {
			from, to = at, cur.pos
		}
	}
	if cur.err != nil {
		return raw
	}
	out := make([]byte, 0, len(raw)+len(value)+len(name)+4)
	if from >= 0 {
		return append(append(append(out, raw[:from]...), value...), raw[to:]...)
	}
	last := cur.pos - 1 // the closing brace
	out = append(out, raw[:last]...)
	if members > 0 {
		out = append(out, ',')
	}
	out = append(append(AppendString(out, name), ':'), value...)
	return append(out, raw[last:]...)
}
