package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"varve.dev/message"
)

// A member is one member of a JSON object, its value as it was written.
type member struct {
	name  string
	value json.RawMessage
}

var errNotObject = errors.New("not a JSON object")

// members takes an object apart, in order.
func members(raw []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil {
		return nil, err
	} else if tok != json.Delim('{') {
		return nil, errNotObject
	}
	var ms []member
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := tok.(string)
		if !ok {
			return nil, errNotObject
		}
		m := member{name: name}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something behind the object")
	}
	return ms, nil
}

// get returns the value of the last member with the name; nil when there is none.
func get(ms []member, name string) json.RawMessage {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].name == name {
			return ms[i].value
		}
	}
	return nil
}

// put sets the value of the members with the name, or appends one.
func put(ms []member, name string, value []byte) []member {
	found := false
	for i := range ms {
		if ms[i].name == name {
			ms[i].value, found = value, true
		}
	}
	if !found {
		ms = append(ms, member{name, value})
	}
	return ms
}

// drop removes the members with the name.
func drop(ms []member, name string) []member {
	out := ms[:0:0]
	for _, m := range ms {
		if m.name != name {
			out = append(out, m)
		}
	}
	return out
}

// object writes members as an object.
func object(ms []member) []byte {
	out := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendName(out, m.name), m.value...)
	}
	return append(out, '}')
}

func appendName(dst []byte, name string) []byte {
	return append(message.AppendString(dst, name), ':')
}

// str returns the text of a JSON string, "" for anything else.
func str(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// A span is one content block of a message, by its place in the message's bytes.
type span struct {
	start, end int
	kind       string
	blank      bool // text that the API takes for empty
	signed     bool // it has a signature
}

// spans finds the content blocks of a message. A content that is a string has none.
func spans(raw []byte) ([]span, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil {
		return nil, err
	} else if tok != json.Delim('{') {
		return nil, errNotObject
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var skip json.RawMessage
		if name != "content" {
			if err := dec.Decode(&skip); err != nil {
				return nil, err
			}
			continue
		}
		if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
			return nil, err
		}
		var list []span
		for dec.More() {
			var b json.RawMessage
			if err := dec.Decode(&b); err != nil {
				return nil, err
			}
			end := int(dec.InputOffset())
			s := span{start: end - len(b), end: end}
			var head struct {
				Type      string  `json:"type"`
				Text      string  `json:"text"`
				Signature *string `json:"signature"`
			}
			if json.Unmarshal(b, &head) == nil {
				s.kind, s.signed = head.Type, head.Signature != nil
				s.blank = head.Type == message.TypeText && message.IsBlank(head.Text)
			}
			list = append(list, s)
		}
		return list, nil
	}
	return nil, nil
}

// roleOf returns the role of a message.
func roleOf(raw []byte) string {
	for _, role := range []string{"user", "assistant", "system"} {
		if bytes.HasPrefix(raw, []byte(`{"role":"`+role+`"`)) { // as the engine writes it
			return role
		}
	}
	var head struct {
		Role string `json:"role"`
	}
	_ = json.Unmarshal(raw, &head) // what is no message has no role, and is refused when it is built
	return head.Role
}
