package term

import (
	"strings"
	"unicode/utf8"
)

// ellipsis ends a line that was cut. It takes one column.
const ellipsis = "…"

// Line returns s as one line that takes at most width columns, for lists,
// titles and status lines. It is cleaned like [String]; line breaks and tabs,
// with the blanks around them, become one blank, and blanks at both ends go. A
// line that is too long ends in "…". Characters are never cut, and marks stay
// with the character they sit on. The time taken does not depend on how much of
// s is behind the cut.
func Line(s string, width int) string {
	if width <= 0 {
		return ""
	}
	const piece = 4 << 10
	var c cleaner
	var l lineBuilder
	l.width = width
	for len(s) > 0 && !l.full {
		n := min(len(s), piece)
		c.writeString(s[:n])
		s = s[n:]
		if len(s) == 0 {
			c.end()
		}
		l.add(c.out)
		c.out = c.out[:0]
	}
	return l.b.String()
}

// lineBuilder collects cleaned text up to a width.
type lineBuilder struct {
	b     strings.Builder
	width int
	used  int
	fits  int // bytes that leave room for the ellipsis
	prev  rune
	blank int  // blanks that wait for what follows
	brk   bool // among them is a line break or a tab
	full  bool
}

// add adds cleaned text, which holds whole characters only.
func (l *lineBuilder) add(p []byte) {
	for len(p) > 0 && !l.full {
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		switch r {
		case '\n', '\t':
			l.brk = true
			l.blank++
		case ' ':
			l.blank++
		default:
			l.flushBlanks()
			l.put(r)
		}
	}
}

func (l *lineBuilder) flushBlanks() {
	n := l.blank
	if l.brk {
		n = 1
	}
	l.blank, l.brk = 0, false
	if l.b.Len() == 0 {
		return // blanks at the beginning go
	}
	for range n {
		l.put(' ')
	}
}

func (l *lineBuilder) put(r rune) {
	if l.full {
		return
	}
	w := runeWidth(r, l.prev)
	if l.used+w > l.width {
		cut := strings.TrimRight(l.b.String()[:l.fits], " ")
		l.b.Reset()
		l.b.WriteString(cut)
		l.b.WriteString(ellipsis)
		l.full = true
		return
	}
	l.b.WriteRune(r)
	l.used += w
	l.prev = r
	if l.used <= l.width-1 {
		l.fits = l.b.Len()
	}
}
