package validate

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// maxDepth is how deep brackets are followed here; what is nested deeper is left to encoding/json, which says where that ends.
const maxDepth = 200

// valid is json.Valid, several times as fast: nearly all bytes of a conversation stand in strings, of which eight are looked at at a
// time.
func valid(raw []byte) bool {
	i, ok := value(raw, space(raw, 0), 0)
	if ok == tooDeep {
		return json.Valid(raw)
	}
	return ok == good && space(raw, i) == len(raw)
}

// verdict is what was found of a value.
type verdict uint8

const (
	bad verdict = iota
	good
	tooDeep
)

// space returns the index of the first byte from i on that is no blank of JSON, len(raw) when there is none.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// value returns the index behind the value that begins at i.
func value(raw []byte, i, depth int) (int, verdict) {
	if i >= len(raw) {
		return i, bad
	}
	switch c := raw[i]; {
	case c == '"':
		return quoted(raw, i)
	case c == '{' || c == '[':
		if depth == maxDepth {
			return i, tooDeep
		}
		return container(raw, i, depth+1)
	case c == 't':
		return literal(raw, i, "true")
	case c == 'f':
		return literal(raw, i, "false")
	case c == 'n':
		return literal(raw, i, "null")
	}
	return number(raw, i)
}

func literal(raw []byte, i int, word string) (int, verdict) {
	if len(raw)-i < len(word) || string(raw[i:i+len(word)]) != word {
		return i, bad
	}
	return i + len(word), good
}

// container returns the index behind the object or array that begins at i.
func container(raw []byte, i, depth int) (int, verdict) {
	object, end := raw[i] == '{', raw[i]+2 // '}' and ']' stand two behind
	if i = space(raw, i+1); i < len(raw) && raw[i] == end {
		return i + 1, good
	}
	for i < len(raw) {
		var ok verdict
		if object {
			if raw[i] != '"' {
				return i, bad
			}
			if i, ok = quoted(raw, i); ok != good {
				return i, ok
			}
			if i = space(raw, i); i >= len(raw) || raw[i] != ':' {
				return i, bad
			}
			i = space(raw, i+1)
		}
		if i, ok = value(raw, i, depth); ok != good {
			return i, ok
		}
		if i = space(raw, i); i >= len(raw) || raw[i] != ',' {
			if i < len(raw) && raw[i] == end {
				return i + 1, good
			}
			return i, bad
		}
		i = space(raw, i+1)
	}
	return i, bad
}

// quoted returns the index behind the string that begins at i.
func quoted(raw []byte, i int) (int, verdict) {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for i++; ; {
		for ; i+8 <= len(raw); i += 8 {
			w := binary.LittleEndian.Uint64(raw[i:])
			quote, slash := w^'"'*ones, w^'\\'*ones
			// The lowest bit that is set is that of a quote, a backslash, or a byte below the blank.
			if hit := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs; hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
		}
		if i >= len(raw) {
			return i, bad
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1, good
		case c < ' ':
			return i, bad
		case c != '\\':
			i++ // of the last seven bytes
		default:
			n := escape(raw[i:])
			if n == 0 {
				return i, bad
			}
			i += n
		}
	}
}

// escape returns the length of the escape that b begins with, 0 when it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// number returns the index behind the number that begins at i.
func number(raw []byte, i int) (int, verdict) {
	digits := func() bool {
		from := i
		for i < len(raw) && raw[i] >= '0' && raw[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(raw) && raw[i] == '-' {
		i++
	}
	if i < len(raw) && raw[i] == '0' {
		i++ // nothing may follow a leading zero
	} else if !digits() {
		return i, bad
	}
	if i < len(raw) && raw[i] == '.' {
		if i++; !digits() {
			return i, bad
		}
	}
	if i < len(raw) && raw[i]|0x20 == 'e' {
		if i++; i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		if !digits() {
			return i, bad
		}
	}
	return i, good
}
