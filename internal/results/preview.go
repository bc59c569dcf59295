package results

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Head returns the first max bytes of s or less: it never cuts a code point, and ends before a newline where one lies in the second
// half, as the reference's previews do. more tells that something was left out.
func Head(s string, max int) (head string, more bool) {
	if len(s) <= max {
		return s, false
	}
	head = s[:boundary(s, max)]
	if i := strings.LastIndexByte(head, '\n'); i > max/2 {
		head = head[:i]
	}
	return head, true
}

// HeadTail shortens s to at most max bytes by leaving out its middle, and says how much is missing. It never cuts a code point. Where
// max has no room for head, note and tail, it is the head alone.
func HeadTail(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const note = "\n[… %d characters left out …]\n"
	room := max - len(fmt.Sprintf(note, len(s)))
	if room < 2 {
		return s[:boundary(s, max)]
	}
	from, to := boundary(s, room-room/2), len(s)-room/2
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + fmt.Sprintf(note, utf8.RuneCountInString(s[from:to])) + s[to:]
}

// boundary is the start of the code point that the byte at i belongs to. Bytes that are no UTF-8 are cut anywhere.
func boundary(s string, i int) int {
	i = max(0, min(i, len(s)))
	for range utf8.UTFMax - 1 {
		if i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
			i--
		}
	}
	return i
}
