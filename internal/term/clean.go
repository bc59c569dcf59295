package term

import (
	"io"
	"unicode/utf8"
)

// Limits on how long a sequence may be and still be taken for one. The longest
// real control sequences are colour settings of some 60 bytes; the longest
// strings are pictures and clipboard contents. Behind the limit the text is
// shown.
const (
	maxControl = 256
	maxString  = 1 << 20
)

// Controls that begin or end sequences.
const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	nel = 0x85
	dcs = 0x90
	sos = 0x98
	csi = 0x9b
	st  = 0x9c
	osc = 0x9d
	pm  = 0x9e
	apc = 0x9f
)

// String returns s made safe to show, newlines and tabs kept. The package
// comment says what that means.
func String(s string) string {
	if plain(s) {
		return s
	}
	var c cleaner
	c.out = make([]byte, 0, len(s)+16)
	c.writeString(s)
	c.end()
	return string(c.out)
}

// plain reports whether s is printable ASCII, newlines and tabs, which need no
// work.
func plain(s string) bool {
	for i := range len(s) {
		if !plainByte(s[i]) {
			return false
		}
	}
	return true
}

func plainByte(b byte) bool { return b >= 0x20 && b < 0x7f || b == '\n' || b == '\t' }

// Writer makes what is written to it safe to show and passes it on. It keeps
// its state between writes: a sequence, a character or a CRLF may be cut
// anywhere. A Writer is for one goroutine at a time.
type Writer struct {
	w io.Writer
	c cleaner
}

// NewWriter returns a Writer that passes cleaned text to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write cleans p and writes the result to the underlying writer with one call.
// It returns len(p), or 0 and the error of the underlying writer. An incomplete
// sequence at the end of p waits for the next call.
func (w *Writer) Write(p []byte) (int, error) {
	w.c.write(p)
	if err := w.pass(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what waited for its end. It does not close the underlying
// writer, and the Writer may be used again.
func (w *Writer) Close() error {
	w.c.end()
	return w.pass()
}

func (w *Writer) pass() error {
	if len(w.c.out) == 0 {
		return nil
	}
	_, err := w.w.Write(w.c.out)
	w.c.out = w.c.out[:0]
	return err
}

// state says inside of what the cleaner is.
type state uint8

const (
	ground      state = iota
	afterEscape       // ESC was read
	inEscape          // ESC and intermediate bytes
	inControl         // CSI
	inString          // OSC, DCS, SOS, PM, APC
	endOfString       // ESC inside a string
)

// cleaner is the parser of ECMA-48 sequences behind [String] and [Writer].
type cleaner struct {
	out     []byte
	state   state
	isOSC   bool   // the string may be ended by BEL
	hold    []byte // the sequence so far without its introducer; shown if it turns out to be none
	cr      bool   // a carriage return waits for what follows
	broken  bool   // the byte before was no UTF-8
	partial []byte // the beginning of a character
	prev    rune   // the character shown last
	joiner  rune   // a zero width (non-)joiner that waits for what follows
}

func (c *cleaner) writeString(s string) {
	// A copy in pieces costs less than one of the whole text.
	for len(s) > 0 {
		n := min(len(s), 32<<10)
		c.write([]byte(s[:n]))
		s = s[n:]
	}
}

func (c *cleaner) write(p []byte) {
	for len(c.partial) > 0 && len(p) > 0 {
		c.partial = append(c.partial, p[0])
		p = p[1:]
		if utf8.FullRune(c.partial) {
			rest := c.partial
			c.partial = nil
			c.bytes(rest)
		}
	}
	c.bytes(p)
}

// bytes decodes p. What is not UTF-8 is shown as U+FFFD, except that a single
// byte from 0x80 to 0x9F is the C1 control of that number: terminals without
// UTF-8 take it for one.
func (c *cleaner) bytes(p []byte) {
	for len(p) > 0 {
		if c.state == ground && !c.cr && c.joiner == 0 {
			n := 0
			for n < len(p) && plainByte(p[n]) {
				n++
			}
			if n > 0 {
				c.out = append(c.out, p[:n]...)
				c.prev, c.broken = rune(p[n-1]), false
				p = p[n:]
				continue
			}
		}
		if !utf8.FullRune(p) {
			c.partial = append(c.partial, p...)
			return
		}
		r, size := utf8.DecodeRune(p)
		if r == utf8.RuneError && size == 1 {
			c.invalid(p[0])
		} else {
			c.broken = false
			c.feed(r)
		}
		p = p[size:]
	}
}

// invalid takes a byte that is no part of a character. Behind another such byte
// it is the rest of a broken character and no control.
func (c *cleaner) invalid(b byte) {
	isControl := b >= 0x80 && b <= 0x9f && !c.broken
	c.broken = true
	if isControl {
		c.feed(rune(b))
		return
	}
	c.feed(utf8.RuneError)
}

// end shows what is left of an incomplete sequence or character.
func (c *cleaner) end() {
	for range c.partial {
		c.feed(utf8.RuneError)
	}
	c.partial = nil
	c.release()
	if c.cr {
		c.cr = false
		c.put('\n')
	}
	c.settle(0)
	c.broken = false
	c.prev = 0
}

// feed advances the parser by one character.
func (c *cleaner) feed(r rune) {
	switch c.state {
	case ground:
		c.ground(r)
	case afterEscape:
		c.afterEscape(r)
	case inEscape:
		switch {
		case r >= 0x20 && r <= 0x2f && len(c.hold) < maxControl:
			c.hold = append(c.hold, byte(r))
		case r >= 0x30 && r <= 0x7e:
			c.drop()
		default:
			c.abort(r)
		}
	case inControl:
		switch {
		case r >= 0x20 && r <= 0x3f && len(c.hold) < maxControl:
			c.hold = append(c.hold, byte(r))
		case r >= 0x40 && r <= 0x7e:
			c.drop()
		default:
			c.abort(r)
		}
	case inString:
		c.inString(r)
	case endOfString:
		if r == '\\' {
			c.drop()
			return
		}
		c.release()
		c.state = afterEscape
		c.afterEscape(r)
	}
}

func (c *cleaner) afterEscape(r rune) {
	switch {
	case r == '[':
		c.state = inControl
	case r == ']':
		c.state, c.isOSC = inString, true
	case r == 'P' || r == 'X' || r == '^' || r == '_':
		c.state, c.isOSC = inString, false
	case r >= 0x20 && r <= 0x2f:
		c.state = inEscape
		c.hold = append(c.hold, byte(r))
	case r >= 0x30 && r <= 0x7e:
		c.drop()
	case r == esc:
	default:
		c.abort(r)
	}
}

func (c *cleaner) inString(r rune) {
	switch {
	case r == esc:
		c.state = endOfString
	case r == st, r == bel && c.isOSC:
		c.drop()
	case r == '\n', r == '\r', r == can, r == sub, r >= 0x80 && r <= 0x9f, len(c.hold) >= maxString:
		c.abort(r)
	default:
		c.hold = utf8.AppendRune(c.hold, r)
	}
}

// drop ends a complete sequence, of which nothing is shown.
func (c *cleaner) drop() {
	c.state = ground
	c.hold = c.hold[:0]
}

// abort ends a sequence that turned out not to be one at r.
func (c *cleaner) abort(r rune) {
	c.release()
	c.ground(r)
}

// release shows what was held and returns to the ground state. What is held has
// neither escapes nor C1 controls.
func (c *cleaner) release() {
	held := c.hold
	c.hold = nil
	c.state = ground
	for _, r := range string(held) {
		c.ground(r)
	}
}

// ground takes a character outside of any sequence.
func (c *cleaner) ground(r rune) {
	if c.cr {
		if r == '\r' {
			return // CR CR LF, as some Windows programs write, is one line break
		}
		c.cr = false
		c.put('\n')
		if r == '\n' {
			return
		}
	}
	switch {
	case r == '\n' || r == '\t' || r >= 0x20 && r < 0x7f:
		c.put(r)
	case r == '\r':
		c.cr = true
	case r == esc:
		c.state = afterEscape
	case r < 0x20:
		c.put(0x2400 + r)
	case r == 0x7f:
		c.put(0x2421)
	case r >= 0x80 && r <= 0x9f:
		c.c1(r)
	case isInvisible(r):
		c.invisible(r)
	default:
		c.put(r)
	}
}

// c1 takes a C1 control.
func (c *cleaner) c1(r rune) {
	switch r {
	case csi:
		c.state = inControl
	case osc:
		c.state, c.isOSC = inString, true
	case dcs, sos, pm, apc:
		c.state, c.isOSC = inString, false
	case nel:
		c.put('\n')
	case st: // the end of a string that did not begin
	default:
		c.put(utf8.RuneError)
	}
}

// invisible takes a character that has no picture of its own. The few that
// belong to correct spelling, or to an emoji, are kept where they do.
func (c *cleaner) invisible(r rune) {
	switch {
	case (r == zwj || r == zwnj) && c.joiner == 0 && joinsAfter(c.prev):
		c.joiner = r
	case isSelector(r) && c.joiner == 0 && selects(c.prev, r):
		c.out = utf8.AppendRune(c.out, r)
		c.prev = r
	default:
		c.settle(0)
		c.show(r)
	}
}

// put shows a character.
func (c *cleaner) put(r rune) {
	c.settle(r)
	c.out = utf8.AppendRune(c.out, r)
	c.prev = r
}

// settle decides about a joiner that waits, now that next follows it.
func (c *cleaner) settle(next rune) {
	j := c.joiner
	if j == 0 {
		return
	}
	c.joiner = 0
	if joins(c.prev, j, next) {
		c.out = utf8.AppendRune(c.out, j)
		return
	}
	c.show(j)
}

// show writes an invisible character by its number.
func (c *cleaner) show(r rune) {
	c.out = appendVisible(c.out, r)
	c.prev = '>'
}

// Visible returns s with every character replaced by <U+XXXX> that changes the
// direction of text or cannot be seen, and leaves controls alone: for documents,
// in which controls do no harm but hidden text does. Invalid UTF-8 becomes
// U+FFFD.
func Visible(s string) string {
	clean := true
	for _, r := range s {
		if r >= 0x80 && (r == utf8.RuneError || isInvisible(r)) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var c cleaner
	for _, r := range s {
		if isInvisible(r) {
			c.invisible(r)
		} else {
			c.put(r)
		}
	}
	c.settle(0)
	return string(c.out)
}
