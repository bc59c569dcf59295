package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A member is one name and value of an object, in the order of the text.
type member struct {
	name string
	raw  json.RawMessage
}

// object is an object taken apart. Names are exact: encoding/json matches struct fields without regard to case, the API does not.
type object []member

var (
	errNoObject = errors.New("not an object")
	errNoArray  = errors.New("not an array")
	errTwice    = errors.New("occurs twice")
)

func parseObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNoObject
	}
	o := make(object, 0, 8)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := t.(string)
		if !ok {
			return nil, errNoObject
		}
		m := member{name: name}
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		if o.get(m.name) != nil {
			return nil, fmt.Errorf("the member %q %w", m.name, errTwice)
		}
		o = append(o, m)
	}
	return o, end(dec)
}

// get returns the value called name, nil when there is none.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// str returns the string called name; ok is false when there is none or it is no string.
func (o object) str(name string) (s string, ok bool) { return text(o.get(name)) }

func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// given reports whether the value is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// parseArray takes an array apart. Like parseObject it reads the text once; Unmarshal would read it twice.
func parseArray(raw []byte) ([]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('[') {
		return nil, errNoArray
	}
	var list []json.RawMessage
	for dec.More() {
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, end(dec)
}

// end reads the closing bracket, and nothing after it.
func end(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the value")
	}
	return nil
}

// blank reports whether the JSON string holds nothing visible, as Python's strip sees it, which the API uses.
func blank(raw json.RawMessage) bool {
	if len(raw) > 2 && raw[1] > ' ' && raw[1] < utf8.RuneSelf && raw[1] != '\\' {
		return false // most texts begin with a letter: no need to decode them
	}
	s, _ := text(raw)
	return strings.TrimFunc(s, isSpace) == ""
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// isUnicode reports whether the JSON text is valid UTF-8 without an escaped half of a surrogate pair. encoding/json replaces both
// without a word, so this looks at the bytes.
func isUnicode(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 >= len(raw) {
			return true
		}
		if raw[i+1] != 'u' {
			raw = raw[i+2:]
			continue
		}
		unit := escapedUnit(raw[i:])
		raw = raw[i+2:]
		switch unit >> 10 {
		case 0xd800 >> 10:
			if len(raw) < 4 || escapedUnit(raw[4:])>>10 != 0xdc00>>10 {
				return false
			}
			raw = raw[10:]
		case 0xdc00 >> 10:
			return false
		}
	}
}

// escapedUnit returns the number of the escape \uXXXX at the start of b, 0 when there is none.
func escapedUnit(b []byte) uint16 {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return uint16(unit)
}
