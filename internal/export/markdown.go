package export

import (
	"fmt"
	"html"
	"io"
	"strings"

	"varve.dev/internal/term"
	"varve.dev/transcript"
)

// Markdown writes the session as one Markdown document.
func Markdown(w io.Writer, s *Session, opt Options) (Report, error) {
	m := markdown{w: w, b: builder{red: newRedactor(opt), opt: opt, undone: s.undone}}
	m.header(s)
	if err := m.flush(); err != nil {
		return Report{}, err
	}
	for _, sec := range s.Sections {
		if len(s.Sections) > 1 {
			m.line("## " + sectionTitle(sec))
			m.line("")
		}
		err := m.b.section(sec.Entries, func(it *item) error {
			m.item(it)
			return m.flush()
		})
		if err != nil {
			return Report{}, err
		}
	}
	m.b.red.line = 0
	m.agents(s.Agents)
	m.footer(s)
	if err := m.flush(); err != nil {
		return Report{}, err
	}
	return Report{Entries: m.b.shown, Redactions: m.b.red.list}, nil
}

// markdown collects the text of an item and passes it on.
type markdown struct {
	w   io.Writer
	b   builder
	out strings.Builder
	err error
}

func (m *markdown) flush() error {
	if m.err == nil && m.out.Len() > 0 {
		if _, err := io.WriteString(m.w, m.out.String()); err != nil {
			m.err = fmt.Errorf("export: %w", err)
		}
	}
	m.out.Reset()
	return m.err
}

func (m *markdown) line(s string) { m.out.WriteString(s + "\n") }

func (m *markdown) header(s *Session) {
	m.line("# " + literal(title(s, m.b.red)))
	m.line("")
	for _, f := range facts(s, m.b.red) {
		m.line("- " + f.Name + ": " + codeSpan(term.Line(f.Value, 400)))
	}
	m.line("")
}

func (m *markdown) item(it *item) {
	if !it.Continued {
		head := "### " + literal(it.Label)
		for _, x := range []string{it.Detail, it.When} {
			if x != "" {
				head += " · " + literal(x)
			}
		}
		m.line(head)
		m.line("")
	}
	if it.Folded != "" {
		m.openFold(it.Folded)
	}
	for i := range it.Blocks {
		m.block(&it.Blocks[i])
	}
	if it.Folded != "" {
		m.closeFold()
	}
}

// openFold begins text that is shown on a click. The blank line lets what
// follows be Markdown again.
func (m *markdown) openFold(label string) {
	m.line("<details><summary>" + html.EscapeString(term.Line(label, 200)) + "</summary>")
	m.line("")
}

func (m *markdown) closeFold() {
	m.line("</details>")
	m.line("")
}

func (m *markdown) fenced(text string) {
	fence(&m.out, "", text)
	m.line("")
}

func (m *markdown) block(b *block) {
	switch b.Kind {
	case "prompt", "verbatim":
		m.fenced(b.Text)
	case "text":
		replyMarkdown(&m.out, b.Text)
	case "thinking", "data":
		m.openFold(b.Title + ", " + b.Note)
		m.fenced(b.Text)
		m.closeFold()
	case "call":
		m.call(b)
	case "result":
		m.long("", b.Text, b.Note)
	case "image":
		m.line("![image](" + string(b.Image) + ")")
		m.line("")
	case "note":
		m.line("*" + literal(b.Text) + "*")
		m.line("")
	}
}

// long writes a text: all of it where it is short, else its beginning and the
// whole behind a fold.
func (m *markdown) long(label, text, note string) {
	if label != "" {
		m.line(label)
		m.line("")
	}
	head, cut := preview(text)
	m.fenced(head)
	if !cut {
		return
	}
	if note == "" {
		note = lines(text)
	}
	m.openFold("All of it, " + note)
	m.fenced(text)
	m.closeFold()
}

func (m *markdown) call(b *block) {
	head := "**" + literal(b.Title) + "**"
	if b.Summary != "" {
		head += " " + codeSpan(b.Summary)
	}
	if b.Note != "" {
		head += " (" + literal(b.Note) + ")"
	}
	m.line(head)
	m.line("")
	listed := false
	for _, f := range b.Fields {
		switch {
		case f.Long:
			continue
		case f.Name == "":
			m.line("- " + literal(f.Value))
		default:
			m.line("- " + literal(f.Name) + ": " + codeSpan(f.Value))
		}
		listed = true
	}
	if listed {
		m.line("")
	}
	for _, f := range b.Fields {
		if f.Long {
			label := ""
			if f.Name != "" {
				label = literal(f.Name) + ":"
			}
			m.long(label, f.Value, "")
		}
	}
	for i := range b.Results {
		if label := b.ResultLabel(i); label != "" {
			m.line(label + ":")
			m.line("")
		}
		m.block(&b.Results[i])
	}
}

func (m *markdown) agents(agents []Agent) {
	if len(agents) == 0 {
		return
	}
	m.line("## Sub-agents")
	m.line("")
	for _, a := range agents {
		m.line("- " + codeSpan(m.b.red.text(a.ID)) + literal(": "+agentFacts(a, m.b.red)))
	}
	m.line("")
}

func (m *markdown) footer(s *Session) {
	m.line("---")
	m.line("")
	m.line(literal(redactionNote(m.b.red)))
	if n := serious(s.Faults); n > 0 {
		m.line(literal("The log has damage in " + plural(n, "place", "places") + "; what could be read is shown."))
	}
}

// serious counts the faults by which something was lost or had to be mended.
func serious(faults []transcript.Fault) int {
	n := 0
	for _, f := range faults {
		if !f.Harmless() {
			n++
		}
	}
	return n
}
