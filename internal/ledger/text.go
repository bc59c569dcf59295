package ledger

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/internal/term"
)

// clean returns s as valid UTF-8 without control characters other than newline
// and tab, without terminal sequences, and without characters that hide text or
// change its direction. Whatever ends a line in any convention becomes a newline.
// clean(clean(s)) = clean(s), so a restored state equals the one that was kept.
func clean(s string) string {
	i := plain(s)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:i])
	for i < len(s) {
		c := s[i]
		switch {
		case c == 0x1b:
			i += escapeLen(s[i:])
			continue
		case c == '\r':
			if i+1 < len(s) && s[i+1] == '\n' {
				i++
			}
			b.WriteByte('\n')
			i++
			continue
		case c >= 0x20 && c < 0x7f, c == '\n', c == '\t':
			b.WriteByte(c)
			i++
			continue
		case c < utf8.RuneSelf:
			if c == '\v' || c == '\f' {
				b.WriteByte('\n')
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case hidden(r):
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// plain returns how many bytes at the start of s are printable ASCII, newlines or
// tabs: most of what is seen needs no second look.
func plain(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(s)
}

// hidden reports whether a character is never kept: C1 controls, marks of text
// direction, the byte order mark, and the invisible copies of ASCII in plane 14,
// which carry instructions that no person sees. Joiners stay: scripts and emoji
// need them.
func hidden(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r == 0xfeff || r == 0x200b || r >= 0xe0000 && r < 0xe0080 || term.IsBidi(r)
}

// escapeLen returns the length of the terminal sequence at the start of s, which
// begins with ESC. Only complete CSI sequences go as a whole; of anything else
// only the introducer is taken, so that printable text is never lost.
func escapeLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s) && i < 32; i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 1
		}
	}
	return 1
}

// line returns s as one line: cleaned, line ends shown as a sign, tabs as blanks.
func line(s string) string {
	s = strings.TrimSpace(clean(s))
	if strings.ContainsAny(s, "\n\t") {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\n", " ⏎ "), "\t", " ")
	}
	return s
}

// defang breaks the tags that an agent's program speaks to its model with, in
// text that a tool produced and that is shown inside a line of ours.
var defang = strings.NewReplacer("<system-reminder", "‹system-reminder", "</system-reminder", "‹/system-reminder")

// code returns one line of untrusted text as inline code.
func code(s string) string {
	s = defang.Replace(s)
	if strings.Contains(s, "`") {
		return "`` " + strings.ReplaceAll(s, "``", "` `") + " ``"
	}
	return "`" + s + "`"
}

// Quote returns a text in the form in which a render shows it whole: each line
// behind "> ". Text that is shown through Quote cannot look like a heading.
func Quote(s string) string { return quote(clean(s)) }

func quote(s string) string {
	s = strings.Trim(s, "\n")
	var b strings.Builder
	b.Grow(len(s) + 2 + 2*strings.Count(s, "\n"))
	for l := range strings.SplitSeq(s, "\n") {
		b.WriteByte('>')
		if l != "" {
			b.WriteByte(' ')
			b.WriteString(l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// slack is how many characters too many are shown all the same: a cut that saves less
// than the note about it takes is none.
const slack = 24

// shorten returns s in at most about n characters: its beginning and, where there
// is room, its end, with the number of characters left out between; left is that
// number.
func shorten(s string, n int) (text string, left int) {
	if len(s) <= n {
		return s, 0
	}
	total := utf8.RuneCountInString(s)
	if total <= n+slack {
		return s, 0
	}
	head, tail := n, 0
	if n >= 200 {
		tail = n / 4
		head = n - tail
	}
	h := boundary(s, runeOffset(s, head))
	t := len(s)
	if tail > 0 {
		t = boundary(s, runeOffsetBack(s, tail))
	}
	left = utf8.RuneCountInString(s[h:t])
	return s[:h] + "[… " + number(left) + " characters left out …]" + s[t:], left
}

// runeOffset returns the byte offset behind the first n characters of s.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// runeOffsetBack returns the byte offset of the last n characters of s.
func runeOffsetBack(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}

// boundary moves an offset back so that marks stay with the character they sit
// on and joined emoji stay whole.
func boundary(s string, i int) int {
	for n := 0; i > 0 && i < len(s) && n < 32; n++ {
		next, _ := utf8.DecodeRuneInString(s[i:])
		prev, size := utf8.DecodeLastRuneInString(s[:i])
		if !joins(next) && prev != 0x200d {
			break
		}
		i -= size
	}
	return i
}

func joins(r rune) bool {
	return r == 0x200d || r >= 0xfe00 && r <= 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff || r > 0x2ff && unicode.In(r, unicode.Mn, unicode.Me)
}

// clip bounds a text that is stored, in bytes, at a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// oneLine is line within a bound, in bytes.
func oneLine(s string, n int) string { return strings.TrimSpace(clip(line(clip(s, 4*n)), n)) }

// number writes n with separators, as in 1,234,567.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// noun is the name of one thing and of several.
type noun struct{ one, many string }

// count writes "1 file", "2 files".
func (w noun) count(n int) string {
	if n == 1 {
		return "1 " + w.one
	}
	return number(n) + " " + w.many
}
