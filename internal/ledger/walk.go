package ledger

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// This file steps over JSON without decoding it. Of a large tool result only the
// ends of its text are of interest, and of a file's content only the hash; a
// parser that decodes everything would cost several times the budget of an entry.
//
// Entries were parsed before they come here, but what is in their strings and
// numbers was not looked at, so nothing is taken for granted: on anything that is
// not JSON a walk ends, and no walk reads a byte twice or calls itself.

// members steps through the members of an object: key without its quotes and
// undecoded (the names of interest hold no escapes), val the value's exact bytes.
type members struct {
	data     []byte
	pos      int
	key, val []byte
}

func object(raw []byte) members {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return members{pos: -1}
	}
	return members{data: raw, pos: i + 1}
}

func (m *members) next() bool {
	if m.pos < 0 {
		return false
	}
	i := separator(m.data, m.pos)
	m.pos = -1
	if i >= len(m.data) || m.data[i] != '"' {
		return false
	}
	end := skipString(m.data, i)
	if end < 0 {
		return false
	}
	colon := space(m.data, end)
	if colon >= len(m.data) || m.data[colon] != ':' {
		return false
	}
	from := space(m.data, colon+1)
	to := skipValue(m.data, from)
	if to < 0 {
		return false
	}
	m.key, m.val, m.pos = m.data[i+1:end-1], m.data[from:to:to], to
	return true
}

// member returns the value of one member, nil when there is none.
func member(raw []byte, name string) []byte {
	for m := object(raw); m.next(); {
		if string(m.key) == name {
			return m.val
		}
	}
	return nil
}

// elements steps through the elements of an array.
type elements struct {
	data []byte
	pos  int
	val  []byte
}

func array(raw []byte) elements {
	i := space(raw, 0)
	if i >= len(raw) || raw[i] != '[' {
		return elements{pos: -1}
	}
	return elements{data: raw, pos: i + 1}
}

func (e *elements) next() bool {
	if e.pos < 0 {
		return false
	}
	from := separator(e.data, e.pos)
	e.pos = -1
	if from >= len(e.data) || e.data[from] == ']' {
		return false
	}
	to := skipValue(e.data, from)
	if to < 0 {
		return false
	}
	e.val, e.pos = e.data[from:to:to], to
	return true
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// separator skips blanks and at most one comma.
func separator(b []byte, i int) int {
	i = space(b, i)
	if i < len(b) && b[i] == ',' {
		i = space(b, i+1)
	}
	return i
}

// skipString returns the index after the string that begins at i, -1 when it has
// no end.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		q += i
		slashes := 0
		for q-1-slashes >= i && b[q-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return q + 1
		}
		i = q + 1
	}
	return -1
}

// skipValue returns the index after the value at i, -1 when there is none.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	case '}', ']', ',', ':':
		return -1
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// text decodes a JSON string; anything else is the empty text.
func text(raw []byte) string {
	in, ok := inside(raw)
	if !ok {
		return ""
	}
	return string(unescape(nil, in))
}

// inside returns what stands between the quotes of a JSON string.
func inside(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// head decodes the beginning of a JSON string, about n bytes of it.
func head(raw []byte, n int) string {
	in, _ := inside(raw)
	if len(in) > n {
		in = in[:cutAt(in, n)]
	}
	return string(unescape(nil, in))
}

// tail decodes the end of a JSON string, about n bytes of it.
func tail(raw []byte, n int) string {
	in, _ := inside(raw)
	if len(in) > n {
		in = in[cutAt(in, len(in)-n):]
	}
	return string(unescape(nil, in))
}

// cutAt returns the first index at or after p where neither an escape nor a
// character is cut. Whether a backslash begins an escape follows from the length
// of the run of backslashes it stands in.
func cutAt(in []byte, p int) int {
	for b := max(0, p-5); b < p; b++ {
		if in[b] != '\\' {
			continue
		}
		run := b
		for run > 0 && in[run-1] == '\\' {
			run--
		}
		if (b-run)%2 != 0 {
			continue
		}
		n := 2
		if b+1 < len(in) && in[b+1] == 'u' {
			n = 6
		}
		p = max(p, min(b+n, len(in)))
	}
	for p < len(in) && !utf8.RuneStart(in[p]) {
		p++
	}
	return p
}

// unescape appends the decoded inside of a JSON string. Half surrogates and bytes
// that are not UTF-8 are kept as U+FFFD or as they are; clean sorts them out.
func unescape(dst, in []byte) []byte {
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 || i+1 >= len(in) {
			return append(dst, in...)
		}
		dst = append(dst, in[:i]...)
		switch c := in[i+1]; c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, n := unicodeEscape(in[i:])
			dst = utf8.AppendRune(dst, r)
			in = in[i+n:]
			continue
		default:
			dst = append(dst, c)
		}
		in = in[i+2:]
	}
}

// unicodeEscape decodes the \u escape at the start of in, and a second one when
// both are the halves of one character. It returns how many bytes it read.
func unicodeEscape(in []byte) (rune, int) {
	r, ok := hex4(in)
	if !ok {
		return utf8.RuneError, min(2, len(in))
	}
	if utf16.IsSurrogate(r) {
		if low, ok := hex4(in[6:]); ok {
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// hex4 reads \uXXXX.
func hex4(in []byte) (rune, bool) {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range in[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// integer reads a JSON number without fraction; ok is false for anything else.
func integer(raw []byte) (int, bool) {
	if len(raw) > 10 {
		return 0, false
	}
	n, err := strconv.Atoi(string(raw))
	return n, err == nil
}
