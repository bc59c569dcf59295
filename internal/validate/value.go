package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// parseObject takes an object apart.
func parseObject(raw []byte) (object, error) {
	if err := check(raw); err != nil {
		return nil, err
	}
	return splitObject(raw)
}

// check says why raw is no JSON text.
func check(raw []byte) error {
	if valid(raw) {
		return nil
	}
	var v json.RawMessage
	return json.Unmarshal(raw, &v)
}

// splitObject takes an object apart that is known to be valid JSON. A text is checked once and split level by level: checking at
// each level costs several times as much.
func splitObject(raw []byte) (object, error) {
	i := skipSpace(raw, 0)
	if raw[i] != '{' {
		return nil, errNoObject
	}
	o := make(object, 0, 8)
	for i = skipSpace(raw, i+1); raw[i] != '}'; {
		at := i
		i = stringEnd(raw, i)
		name := nameOf(raw[at:i])
		i = skipSpace(raw, skipSpace(raw, i)+1) // the colon
		at = i
		i = valueEnd(raw, i)
		m := member{name, raw[at:i:i]}
		if o.get(m.name) != nil {
			return nil, fmt.Errorf("the member %q %w", m.name, errTwice)
		}
		o = append(o, m)
		if i = skipSpace(raw, i); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return o, nil
}

// nameOf returns the name of a member; of those that most blocks have no new one is made.
func nameOf(raw []byte) string {
	switch string(raw[1 : len(raw)-1]) {
	case "type":
		return "type"
	case "text":
		return "text"
	case "role":
		return "role"
	case "content":
		return "content"
	case "id":
		return "id"
	case "name":
		return "name"
	case "input":
		return "input"
	case "tool_use_id":
		return "tool_use_id"
	case "cache_control":
		return "cache_control"
	}
	name, _ := text(raw)
	return name
}

// skipSpace returns the index of the first byte from i on that is no blank of JSON.
func skipSpace(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for j := i + 1; ; j++ {
		j += bytes.IndexByte(raw[j:], '"')
		slashes := 0
		for raw[j-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return j + 1
		}
	}
}

// valueEnd returns the index behind the value that begins at i.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of a number or a word, and of what holds it
			}
			depth--
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
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
	if n := len(raw) - 1; n > 0 && raw[n] == '"' && bytes.IndexByte(raw[1:n], '\\') < 0 && bytes.IndexByte(raw[1:n], '"') < 0 && utf8.Valid(raw) {
		return string(raw[1:n]), true // nothing in it to decode
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// given reports whether the value is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// parseArray takes an array apart.
func parseArray(raw []byte) ([]json.RawMessage, error) {
	if err := check(raw); err != nil {
		return nil, err
	}
	return splitArray(raw)
}

// splitArray takes an array apart that is known to be valid JSON.
func splitArray(raw []byte) ([]json.RawMessage, error) {
	i := skipSpace(raw, 0)
	if raw[i] != '[' {
		return nil, errNoArray
	}
	var list []json.RawMessage
	for i = skipSpace(raw, i+1); raw[i] != ']'; {
		at := i
		i = valueEnd(raw, i)
		list = append(list, raw[at:i:i])
		if i = skipSpace(raw, i); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return list, nil
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
