package export

import (
	"regexp"
	"strings"
)

// rich is a piece of a reply as the HTML page shows it: enough of Markdown to
// read it well, and nothing of it can be a link or load anything.
type rich struct {
	Kind  string // code, heading, para
	Lang  string
	Text  string // code
	Spans []span // heading, para
}

// span is a part of a paragraph.
type span struct {
	Kind string // "", code, strong
	Text string
}

var (
	heading  = regexp.MustCompile(`^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*$`)
	tableRow = regexp.MustCompile(`^[ \t]*\|`)
	strong   = regexp.MustCompile(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
)

// richText splits a reply into pieces.
func richText(text string) []rich {
	var out []rich
	for _, p := range pieces(text) {
		if p.code {
			out = append(out, rich{Kind: "code", Lang: p.lang, Text: p.text})
			continue
		}
		out = append(out, richLines(strings.Split(p.text, "\n"))...)
	}
	return out
}

// richLines makes paragraphs, headings and tables of lines.
func richLines(lines []string) []rich {
	var out []rich
	var para []string
	flush := func() {
		if text := strings.Trim(strings.Join(para, "\n"), "\n"); strings.TrimSpace(text) != "" {
			out = append(out, rich{Kind: "para", Spans: richSpans(text)})
		}
		para = nil
	}
	for i := 0; i < len(lines); i++ {
		if m := heading.FindStringSubmatch(lines[i]); m != nil && m[1] != "" {
			flush()
			out = append(out, rich{Kind: "heading", Spans: richSpans(m[1])})
			continue
		}
		if n := tableLength(lines[i:]); n > 1 {
			flush()
			out = append(out, rich{Kind: "code", Text: strings.Join(lines[i:i+n], "\n")})
			i += n - 1
			continue
		}
		if strings.TrimSpace(lines[i]) == "" {
			flush()
			continue
		}
		para = append(para, lines[i])
	}
	flush()
	return out
}

// tableLength is how many lines from the first on are rows of a table, whose
// columns stand under each other in a fixed width.
func tableLength(lines []string) int {
	n := 0
	for n < len(lines) && tableRow.MatchString(lines[n]) {
		n++
	}
	return n
}

// richSpans finds inline code and strong text.
func richSpans(text string) []span {
	var out []span
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			out = append(out, span{Text: "\n"})
		}
		parts, ok := spans(line)
		if !ok || strings.Contains(line, atom) {
			out = append(out, span{Text: line})
			continue
		}
		out = append(out, strongSpans(parts)...)
	}
	return out
}

// atom stands for a code span while strong text is looked for. Cleaned text
// holds no control characters.
const atom = "\x00"

// strongSpans finds strong text, which may hold code.
func strongSpans(parts []part) []span {
	var flat strings.Builder
	var codes []string
	for _, p := range parts {
		if p.code {
			codes = append(codes, strings.TrimSpace(strings.Trim(p.text, "`")))
			flat.WriteString(atom)
		} else {
			flat.WriteString(p.text)
		}
	}
	var out []span
	add := func(kind, text string) {
		for i, t := range strings.Split(text, atom) {
			if i > 0 {
				out = append(out, span{"code", codes[0]})
				codes = codes[1:]
			}
			if t != "" {
				out = append(out, span{kind, t})
			}
		}
	}
	line, at := flat.String(), 0
	for _, m := range strong.FindAllStringSubmatchIndex(line, -1) {
		add("", line[at:m[0]])
		add("strong", line[m[2]:m[3]])
		at = m[1]
	}
	add("", line[at:])
	return out
}
