package message

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of JSON values, so that a hostile log cannot exhaust the stack. The figure is encoding/json's own.
const maxDepth = 10000

// A SyntaxError says where a text stops being JSON. Nothing of such a text is used.
type SyntaxError struct {
	Offset int    // bytes from the start of the text that was given to the parser
	Msg    string // what was expected or found
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("message: invalid JSON at offset %d: %s", e.Offset, e.Msg)
}

// scanner walks over JSON text once, validating it as RFC 8259 does (encoding/json's strictness), without decoding anything.
// Positions are indexes into data. Invalid UTF-8 and lone surrogates pass: they are a fault of the text, not of its structure.
type scanner struct {
	data  []byte
	depth int

	last shape // of the string that was read last
	all  shape // of all strings read so far, names of members included
}

// shape is what reading a string shows of it beside its end.
type shape uint8

const (
	hasEscapes shape = 1 << iota // there is a backslash in it
	notUTF8                      // there are bytes in it that are not UTF-8
	halfPair                     // there is an escaped half of a surrogate pair in it
)

// notUnicode are the shapes of strings that the API refuses.
const notUnicode = notUTF8 | halfPair

func (s *scanner) fail(i int, format string, args ...any) error {
	return &SyntaxError{Offset: i, Msg: fmt.Sprintf(format, args...)}
}

func (s *scanner) unexpected(i int, want string) error {
	if i >= len(s.data) {
		return s.fail(i, "text ends, want %s", want)
	}
	return s.fail(i, "found %q, want %s", s.data[i], want)
}

// space returns the index of the first byte at or after i that is not insignificant whitespace.
func (s *scanner) space(i int) int {
	for i < len(s.data) && isSpace(s.data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// at returns the byte at i, or 0 at the end of the text.
func (s *scanner) at(i int) byte {
	if i < len(s.data) {
		return s.data[i]
	}
	return 0
}

// whole checks that nothing but whitespace follows i.
func (s *scanner) whole(i int) error {
	if i = s.space(i); i < len(s.data) {
		return s.unexpected(i, "the end of the text")
	}
	return nil
}

// value validates the value that starts at i (no whitespace before it) and returns the index after it.
func (s *scanner) value(i int) (int, error) {
	switch c := s.at(i); {
	case c == '"':
		return s.str(i)
	case c == '{' || c == '[':
		cur, err := s.open(i, c)
		if err != nil {
			return i, err
		}
		for cur.next() {
			if cur.pos, err = s.value(cur.pos); err != nil {
				return i, err
			}
		}
		return cur.pos, cur.err
	case c == '-' || isDigit(c):
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return i, s.unexpected(i, "a value")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (s *scanner) literal(i int, word string) (int, error) {
	if !bytes.HasPrefix(s.data[i:], []byte(word)) {
		return i, s.fail(i, "want %s", word)
	}
	return i + len(word), nil
}

func (s *scanner) number(i int) (int, error) {
	if s.at(i) == '-' {
		i++
	}
	switch c := s.at(i); {
	case c == '0':
		i++
	case isDigit(c):
		i = s.digits(i)
	default:
		return i, s.unexpected(i, "a digit")
	}
	if s.at(i) == '.' {
		if !isDigit(s.at(i + 1)) {
			return i, s.unexpected(i+1, "a digit")
		}
		i = s.digits(i + 1)
	}
	if c := s.at(i); c == 'e' || c == 'E' {
		i++
		if c := s.at(i); c == '+' || c == '-' {
			i++
		}
		if !isDigit(s.at(i)) {
			return i, s.unexpected(i, "a digit")
		}
		i = s.digits(i)
	}
	return i, nil
}

func (s *scanner) digits(i int) int {
	for isDigit(s.at(i)) {
		i++
	}
	return i
}

// special returns the index, at or after i, of the first quote, backslash or control character of data, or len(data); a byte of wide
// is not zero if a byte before that is not ASCII, and perhaps for one soon after it. It looks at eight bytes at a time, since most of a
// log is the inside of strings.
func special(data []byte, i int, wide uint64) (int, uint64) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		wide |= x & tops
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// The top bit of each byte says: it was below 0x20, or became 0. A borrow can only set bits above a true one.
		hit := ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8, wide
		}
	}
	for ; i < len(data); i++ {
		c := data[i]
		if c == '"' || c == '\\' || c < 0x20 {
			return i, wide
		}
		wide |= uint64(c) & 0x80
	}
	return i, wide
}

// str validates the string whose opening quote is at i and returns the index after its closing quote. What else it saw is in s.last.
func (s *scanner) str(i int) (int, error) {
	data, start, wide := s.data, i+1, uint64(0)
	s.last = 0
	for i, wide = special(data, start, 0); i < len(data); i, wide = special(data, i+1, wide) {
		switch c := data[i]; {
		case c == '"':
			if wide != 0 && !utf8.Valid(data[start:i]) {
				s.last |= notUTF8
			}
			s.all |= s.last
			return i + 1, nil
		case c != '\\':
			return i, s.fail(i, "control character %#02x in a string", c)
		}
		s.last |= hasEscapes
		i++
		switch s.at(i) {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			r, ok := hex4(data, i+1)
			if !ok {
				return i, s.fail(i, "\\u without four hexadecimal digits")
			}
			if utf16.IsSurrogate(r) && !pairAt(data, i-1) {
				s.last |= halfPair
			} else if utf16.IsSurrogate(r) {
				i += 6 // the second half
			}
			i += 4
		default:
			return i, s.unexpected(i, "an escape character")
		}
	}
	return i, s.unexpected(i, "the end of the string")
}

// pairAt reports whether both halves of a surrogate pair are escaped at i.
func pairAt(data []byte, i int) bool {
	if i+8 > len(data) || data[i+6] != '\\' || data[i+7] != 'u' {
		return false
	}
	high, _ := hex4(data, i+2)
	low, ok := hex4(data, i+8)
	return ok && utf16.DecodeRune(high, low) != utf8.RuneError
}

// hex4 reads four hexadecimal digits at data[i:].
func hex4(data []byte, i int) (rune, bool) {
	if i+4 > len(data) {
		return 0, false
	}
	var r rune
	for _, c := range data[i : i+4] {
		switch {
		case isDigit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// cursor steps through the members of an object or the elements of an array. After next has returned true, pos is the start of a
// value; the caller sets pos to the end of that value before it calls next again. After next has returned false, pos is the index
// after the closing bracket, or err is set.
type cursor struct {
	s     *scanner
	pos   int
	key   []byte // the member's name as it stands between its quotes; objects only
	close byte
	begun bool
	err   error
}

// open begins a walk over the object or array (as bracket says, '{' or '[') at i.
func (s *scanner) open(i int, bracket byte) (cursor, error) {
	if s.at(i) != bracket {
		return cursor{}, s.unexpected(i, kindOf(bracket))
	}
	if s.depth++; s.depth > maxDepth {
		return cursor{}, s.fail(i, "nested deeper than %d levels", maxDepth)
	}
	return cursor{s: s, pos: i + 1, close: bracket + 2}, nil // in ASCII both closing brackets are two after the opening ones
}

func (c *cursor) next() bool {
	s := c.s
	i := s.space(c.pos)
	switch b := s.at(i); {
	case b == c.close:
		s.depth--
		c.pos = i + 1
		return false
	case !c.begun:
		c.begun = true
	case b == ',':
		i = s.space(i + 1)
	default:
		return c.stop(s.unexpected(i, "a comma or "+string(c.close)))
	}
	if c.close == ']' {
		c.pos = i
		return true
	}
	if s.at(i) != '"' {
		return c.stop(s.unexpected(i, "a member name"))
	}
	end, err := s.str(i)
	if err != nil {
		return c.stop(err)
	}
	c.key = s.data[i+1 : end-1]
	if i = s.space(end); s.at(i) != ':' {
		return c.stop(s.unexpected(i, "a colon"))
	}
	c.pos = s.space(i + 1)
	return true
}

func (c *cursor) stop(err error) bool {
	c.err = err
	return false
}

// name returns the member's name without escapes. It allocates only when there are escapes.
func (c *cursor) name() []byte {
	if bytes.IndexByte(c.key, '\\') < 0 {
		return c.key
	}
	return []byte(unquote(c.key))
}

// text decodes the JSON value v as a string; ok is false when it is something else.
func text(v []byte) (s string, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return "", false
	}
	return unquote(v[1 : len(v)-1]), true
}
