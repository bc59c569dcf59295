package export

import (
	"regexp"
	"strings"
)

// This file makes the Markdown of a reply fit to stand inside a document: what
// the reply means as code stays code, and the rest cannot hold HTML, load
// images, link to anything but the web, or run into what follows it.
//
// The rule that makes it safe without a full Markdown parser: everything that is
// taken for a code block is written anew, at the left margin in a fence of our
// own, and everything else is disarmed. A misreading can then only make a text
// look worse.

// fence writes text as a fenced block that nothing in it can close.
func fence(b *strings.Builder, info, text string) {
	marks := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	b.WriteString(marks + info + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(marks + "\n")
}

func longestRun(s string, c byte) int {
	most, n := 0, 0
	for i := range len(s) {
		if s[i] != c {
			n = 0
			continue
		}
		n++
		most = max(most, n)
	}
	return most
}

// codeSpan writes a line of text as inline code.
func codeSpan(s string) string {
	marks := strings.Repeat("`", longestRun(s, '`')+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") {
		s = " " + s + " "
	}
	return marks + s + marks
}

// literal writes a text so that it stands as it is inside of a Markdown line.
func literal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '\\', '*', '[', ']', '|', '~', '$', '#':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '_':
			if i > 0 && i+1 < len(s) && isAlnum(s[i-1]) && isAlnum(s[i+1]) {
				b.WriteByte(c) // inside a word it means nothing
			} else {
				b.WriteString("\\_")
			}
		case '`':
			b.WriteString("&#96;") // an escaped one would still end a code span that is open
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '\n':
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// piece is a part of a reply: a code block or text.
type piece struct {
	code bool
	lang string
	text string
}

var (
	container = regexp.MustCompile(`^(?:[ \t]*(?:>|[-*+][ \t]|[0-9]{1,9}[.)][ \t]))*[ \t]*`)
	opening   = regexp.MustCompile("^(`{3,}|~{3,})[ \\t]*([A-Za-z0-9_+#.-]*)[^`]*$")
)

// pieces splits a reply into code blocks and text. Quote marks and indentation
// before a fence are taken off the lines of its block.
func pieces(text string) []piece {
	var out []piece
	var cur []string
	flush := func(p piece) {
		p.text = strings.Join(cur, "\n")
		cur = nil
		if p.code || strings.TrimSpace(p.text) != "" {
			out = append(out, p)
		}
	}
	var open string // the marks of the open block
	var block piece
	indent := 0
	for _, line := range strings.Split(text, "\n") {
		prefix := container.FindString(line)
		rest := line[len(prefix):]
		if open == "" {
			m := opening.FindStringSubmatch(rest)
			if m == nil {
				cur = append(cur, line)
				continue
			}
			if lead := strings.TrimRight(prefix, " \t"); strings.Trim(lead, "> \t") != "" {
				cur = append(cur, lead) // a list item whose text is the block
			}
			flush(piece{})
			open, block, indent = m[1], piece{code: true, lang: m[2]}, len(prefix)
			continue
		}
		if marks := strings.TrimSpace(rest); strings.HasPrefix(marks, open) && strings.Trim(marks, open[:1]) == "" {
			flush(block)
			open = ""
			continue
		}
		cur = append(cur, unindent(line, indent))
	}
	if open != "" {
		flush(block)
	} else {
		flush(piece{})
	}
	return out
}

// unindent takes up to n bytes of blanks and quote marks off a line.
func unindent(line string, n int) string {
	i := 0
	for i < n && i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '>') {
		i++
	}
	return line[i:]
}

// replyMarkdown writes a reply.
func replyMarkdown(b *strings.Builder, text string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text) // for Markdown each ends a line
	for _, p := range pieces(text) {
		if p.code {
			fence(b, safeInfo(p.lang), p.text)
		} else {
			b.WriteString(disarm(strings.Trim(p.text, "\n")))
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
}

// safeInfo is the language of a code block if it is one word.
func safeInfo(lang string) string {
	if len(lang) > 20 {
		return ""
	}
	return lang
}

// disarm takes from Markdown text what could do more than format it. Code spans
// are left alone where it is certain that they are spans: in paragraphs whose
// every line has its backticks in pairs.
func disarm(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		lines := strings.Split(p, "\n")
		paired := true
		for _, l := range lines {
			if _, ok := spans(l); !ok {
				paired = false
				break
			}
		}
		for j, l := range lines {
			lines[j] = disarmLine(l, paired)
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// part is a piece of a line.
type part struct {
	code bool // with its backticks
	text string
}

// spans splits a line into code spans and the rest; not ok where it is not
// certain that every reader of Markdown sees the same spans.
func spans(line string) (parts []part, ok bool) {
	at := 0
	for i := 0; i < len(line); {
		if line[i] != '`' {
			i++
			continue
		}
		n := runLength(line, i)
		if i > 0 && line[i-1] == '\\' {
			return nil, false
		}
		end := -1
		for j := i + n; j < len(line); {
			if line[j] != '`' {
				j++
				continue
			}
			m := runLength(line, j)
			if m == n {
				end = j + m
				break
			}
			j += m
		}
		// A bar would end a table's cell and the span with it; a bare link would
		// take the first backtick in.
		if end < 0 || strings.Contains(line[i:end], "|") || endsInLink(line[at:i]) {
			return nil, false
		}
		parts = append(parts, part{false, line[at:i]}, part{true, line[i:end]})
		i, at = end, end
	}
	return append(parts, part{false, line[at:]}), true
}

func runLength(s string, at int) int {
	n := 0
	for at+n < len(s) && s[at+n] == '`' {
		n++
	}
	return n
}

func disarmLine(line string, paired bool) string {
	parts := []part{{false, line}}
	if paired {
		parts, _ = spans(line)
	}
	var b strings.Builder
	for _, p := range parts {
		if p.code {
			b.WriteString(shortSpan(p.text))
		} else {
			b.WriteString(disarmText(p.text))
		}
	}
	return b.String()
}

// shortSpan writes a code span with as few backticks as it needs: some readers
// take three at the beginning of a line for a fence. One that needs three is made
// text.
func shortSpan(span string) string {
	n := runLength(span, 0)
	if n < 3 {
		return span
	}
	inner := span[n : len(span)-n]
	if longestRun(inner, '`') < 2 {
		return codeSpan(inner)
	}
	return disarmText(strings.ReplaceAll(span, "`", "&#96;"))
}

// endsInLink reports whether the last word of s may be a link that many readers
// make of a bare address.
func endsInLink(s string) bool {
	word := s[strings.LastIndexAny(s, " \t")+1:]
	return strings.Contains(word, ":") || strings.Contains(strings.ToLower(word), "www.")
}

var (
	tagStart   = regexp.MustCompile(`<([A-Za-z/!?])`)
	imageStart = regexp.MustCompile(`!\[`)
	harmless   = regexp.MustCompile(`^(?:https?://|mailto:|#|\.{0,2}/|[A-Za-z0-9_-][A-Za-z0-9_./-]*(?:[)#? ]|$))`)
	fenceRun   = regexp.MustCompile("`{3,}|~{3,}")
)

// disarmText disarms what is no code.
func disarmText(s string) string {
	s = tagStart.ReplaceAllString(s, "&lt;$1")
	s = imageStart.ReplaceAllString(s, "!&#91;")
	s = disarmLinks(s)
	// A link defined elsewhere: replies hardly use them, and their target may stand
	// on the next line.
	s = strings.ReplaceAll(s, "]:", "]&#58;")
	return fenceRun.ReplaceAllStringFunc(s, func(m string) string {
		return strings.Repeat("&#"+map[byte]string{'`': "96", '~': "126"}[m[0]]+";", len(m))
	})
}

// disarmLinks leaves links alone whose target is plainly on the web or in the
// same place, and makes others text.
func disarmLinks(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "](")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i+1])
		s = s[i+2:]
		if harmless.MatchString(strings.TrimLeft(s, " \t")) {
			b.WriteByte('(')
		} else {
			b.WriteString("&#40;")
		}
	}
}
