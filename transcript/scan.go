package transcript

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
)

// This file steps over JSON without decoding it. Its time goes into finding the
// quotes that end strings: half of the strings of real logs are names and short
// values, for which eight bytes are looked at at a time, and the rest are jumped
// over with bytes.IndexByte. What is taken down on the way is in head.go.

var (
	errNotObject = errors.New("not a JSON object")
	errTorn      = errors.New("ends inside a value")
	errSyntax    = errors.New("not valid JSON")
)

// span is a half-open range of bytes inside a line.
type span struct{ from, to int32 }

func (s span) empty() bool { return s.to <= s.from }

// shift makes the range count from byte by of what it counted in.
func (s *span) shift(by int) {
	if !s.empty() {
		s.from -= int32(by)
		s.to -= int32(by)
	}
}

// carefulNewline returns the position of the first newline or zero byte in b at or
// behind i, -1 when there is neither.
func carefulNewline(b []byte, i int) int {
	k := bytes.IndexByte(b[i:], '\n')
	if k < 0 {
		k = len(b) - i
	}
	if z := bytes.IndexByte(b[i:i+k], 0); z >= 0 {
		return i + z
	}
	if i+k == len(b) {
		return -1
	}
	return i + k
}

// skipSpace returns the first position at or after i that is not JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// Patterns of eight equal bytes, for looking at eight bytes at a time.
const (
	eachByte = 0x0101010101010101
	highBits = 0x80 * eachByte
	quotes   = '"' * eachByte
	slashes  = '\\' * eachByte
)

// nearWords is how many words of eight bytes nextQuote looks at itself before it
// calls bytes.IndexByte, whose call costs as much as some forty bytes. A uuid with
// its closing quote takes five.
const nearWords = 5

// nextQuote returns the position of the first quote at or behind j, -1 when there
// is none.
func nextQuote(b []byte, j int) int {
	for end := min(j+8*nearWords, len(b)) - 8; j <= end; j += 8 {
		x := binary.LittleEndian.Uint64(b[j:]) ^ quotes
		if hit := (x - eachByte) &^ x & highBits; hit != 0 { // the lowest bit set is exact
			return j + bits.TrailingZeros64(hit)>>3
		}
	}
	k := bytes.IndexByte(b[j:], '"')
	if k < 0 {
		return -1
	}
	return j + k
}

// skipString returns the position behind the string whose opening quote is at i.
func skipString(b []byte, i int) (int, error) {
	j := i + 1
	// Names and short values end in the first words.
	for end := min(j+8*nearWords, len(b)) - 8; j <= end; j += 8 {
		x := binary.LittleEndian.Uint64(b[j:]) ^ quotes
		if hit := (x - eachByte) &^ x & highBits; hit != 0 { // the lowest bit set is exact
			p := j + bits.TrailingZeros64(hit)>>3
			if b[p-1] != '\\' || !escaped(b, i, p) {
				return p + 1, nil
			}
			j = p + 1
			break
		}
	}
	for b[j-1] == '\\' {
		j-- // where nothing before escapes anything behind
	}
	p, next := vectorQuote(b, j)
	if p >= 0 {
		return p + 1, nil
	}
	return stringEnd(b, i, next)
}

// stringEnd returns the position behind the string that began at i or before it,
// looking for its closing quote from j on.
func stringEnd(b []byte, i, j int) (int, error) {
	for {
		p := nextQuote(b, j)
		if p < 0 {
			return len(b), errTorn
		}
		if b[p-1] != '\\' || !escaped(b, i, p) {
			return p + 1, nil
		}
		j = p + 1
	}
}

// escaped reports whether the byte at p, in the string that begins at i, stands
// behind an odd number of backslashes.
func escaped(b []byte, i, p int) bool {
	n := p - 1
	for n > i && b[n] == '\\' {
		n--
	}
	return (p-1-n)&1 == 1
}

// skipValue returns the position behind the value that starts at i. Nesting is
// counted, kinds of brackets are not told apart: the exact grammar is checked by
// [Log.Check], not on every read.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errTorn
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipContainer(b, i)
	case c == 't' || c == 'f' || c == 'n' || c == '-' || (c >= '0' && c <= '9'):
		return skipLiteral(b, i)
	}
	return i, errSyntax
}

// nesting says what a byte outside of strings does to the depth. Zero bytes are in
// it so that they are looked at: no JSON holds them.
var nesting = [256]int8{'{': 1, '[': 1, '}': -1, ']': -1, 0: 1}

func skipContainer(b []byte, i int) (int, error) {
	if end, ok := vectorContainer(b, i); ok {
		return end, nil
	}
	return nested(b, i, 0)
}

// nested returns the position behind the bracket that ends what depth brackets
// before i have opened.
func nested(b []byte, i, depth int) (int, error) {
	for i < len(b) {
		c := b[i]
		if c == '"' {
			end, err := skipString(b, i)
			if err != nil {
				return end, err
			}
			i = end
			// Most often a string is followed by a colon or comma and the next string.
			if i+1 < len(b) && b[i+1] == '"' && (b[i] == ':' || b[i] == ',') {
				i++
			}
			continue
		}
		if d := nesting[c]; d != 0 {
			if c == 0 {
				return i, errSyntax
			}
			if depth += int(d); depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return i, errTorn
}

func skipLiteral(b []byte, i int) (int, error) {
	start := i
	for i < len(b) {
		c := b[i]
		if c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			break
		}
		if c < '+' || c > 'z' {
			return i, errSyntax
		}
		i++
	}
	if c := b[start]; c == 't' || c == 'f' || c == 'n' {
		switch string(b[start:i]) {
		case "true", "false", "null":
		default:
			if i == len(b) {
				return i, errTorn
			}
			return i, errSyntax
		}
	}
	return i, nil
}

// members steps through the members of an object. Use it as
//
//	m := openObject(b, i)
//	for m.next() { … m.key … m.value() or m.at … }
//	if m.err != nil …
//	m.end
type members struct {
	b    []byte
	pos  int
	from int    // where the member starts: the opening quote of its name
	key  []byte // its name, decoded
	at   int    // where the value starts
	end  int    // behind the closing brace once next returned false
	err  error
	open bool // the value at at has not been skipped yet
	any  bool
}

func openObject(b []byte, i int) members {
	m := members{b: b, pos: i}
	if i >= len(b) || b[i] != '{' {
		m.err = errNotObject
		return m
	}
	m.pos = i + 1
	return m
}

// value skips the current value and returns its range.
func (m *members) value() span {
	end, err := skipValue(m.b, m.at)
	m.pos, m.open = end, false
	if err != nil {
		m.err = err
		return span{}
	}
	return span{int32(m.at), int32(end)}
}

// done says that the caller walked the current value itself, up to end.
func (m *members) done(end int, err error) {
	m.pos, m.open = end, false
	if err != nil {
		m.err = err
	}
}

func (m *members) next() bool {
	if m.err != nil {
		return false
	}
	if m.open {
		m.value()
		if m.err != nil {
			return false
		}
	}
	b, i := m.b, m.pos
	if m.any && i+1 < len(b) && b[i] == ',' && b[i+1] == '"' { // as the reference writes it
		return m.name(i + 1)
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == '}' {
		m.end = i + 1
		return false
	}
	if m.any {
		if i >= len(b) {
			return m.fail(errTorn, i)
		}
		if b[i] != ',' {
			return m.fail(errSyntax, i)
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) {
		return m.fail(errTorn, i)
	}
	if b[i] != '"' {
		return m.fail(errSyntax, i)
	}
	return m.name(i)
}

// name reads the member's name, whose opening quote is at i, and the colon.
func (m *members) name(i int) bool {
	b := m.b
	e := i + 1
	for e+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[e:])
		x, y := w^quotes, w^slashes
		hit := ((x-eachByte)&^x | (y-eachByte)&^y) & highBits // the lowest bit set is exact
		if hit != 0 {
			e += bits.TrailingZeros64(hit) >> 3
			break
		}
		e += 8
	}
	for e < len(b) && b[e] != '"' && b[e] != '\\' {
		e++
	}
	if e < len(b) && b[e] == '"' {
		e++
		m.key = b[i+1 : e-1]
	} else {
		var err error
		if e, err = skipString(b, i); err != nil {
			return m.fail(err, i)
		}
		m.key = []byte(decodeText(b, span{int32(i), int32(e)})) // written with escapes
	}
	m.from = i
	if e+1 < len(b) && b[e] == ':' && b[e+1] > ' ' {
		m.at, m.open, m.any = e+1, true, true
		return true
	}
	i = skipSpace(b, e)
	if i >= len(b) {
		return m.fail(errTorn, i)
	}
	if b[i] != ':' {
		return m.fail(errSyntax, i)
	}
	m.at = skipSpace(b, i+1)
	m.open, m.any = true, true
	return true
}

func (m *members) fail(err error, at int) bool {
	m.err, m.pos = err, at
	return false
}
