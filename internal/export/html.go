package export

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the style sheet and the template
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"sync"

	"varve.dev/internal/term"
)

//go:embed page.css
var styleSheet string

//go:embed page.html
var pageTemplate string

// page is the parsed template.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"rich":    richText,
		"preview": previewOf,
		"lines":   lines,
	}).Parse(pageTemplate))
})

// policy forbids everything but our own style sheet, by its hash, and images
// that are in the page.
func policy() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
}

// shortened is a text and the part of it that stands before the fold.
type shortened struct {
	Head, All string
	Cut       bool
}

func previewOf(s string) shortened {
	head, cut := preview(s)
	return shortened{head, s, cut}
}

// pageHead is what the beginning of the page is made of.
type pageHead struct {
	Policy, Title string
	Style         template.CSS
	Facts         []fact
	Prompts       []promptLink
}

// promptLink is a line of the list of prompts.
type promptLink struct{ Anchor, Text string }

// HTML writes the session as one page. Everything on it that comes from the log
// is a text node, apart from embedded images.
func HTML(w io.Writer, s *Session, opt Options) (Report, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	b := builder{red: newRedactor(opt), opt: opt, undone: s.undone}
	run := func(name string, data any) error {
		if err := page().ExecuteTemplate(out, name, data); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return nil
	}
	head := pageHead{Policy: policy(), Style: template.CSS(styleSheet), Title: title(s, b.red), Facts: facts(s, b.red), Prompts: prompts(s, b.red)}
	if err := run("head", head); err != nil {
		return Report{}, err
	}
	for _, sec := range s.Sections {
		label := ""
		if len(s.Sections) > 1 {
			label = sectionTitle(sec)
		}
		if err := run("section", label); err != nil {
			return Report{}, err
		}
		if err := b.section(sec.Entries, func(it *item) error { return run("item", it) }); err != nil {
			return Report{}, err
		}
	}
	b.red.line = 0
	if err := run("foot", pageFoot(s, b.red)); err != nil {
		return Report{}, err
	}
	if err := out.Flush(); err != nil {
		return Report{}, fmt.Errorf("export: %w", err)
	}
	return Report{Entries: b.shown, Redactions: b.red.list}, nil
}

// prompts lists the prompts of the main conversation with where they stand.
func prompts(s *Session, red *redactor) []promptLink {
	var out []promptLink
	for _, sec := range s.Sections {
		if sec.Kind != SectionMain {
			continue
		}
		for _, e := range sec.Entries {
			if text, ok := promptOf(e); ok {
				red.at(e)
				if line := term.Line(red.text(text), 100); line != "" {
					out = append(out, promptLink{anchor(e), line})
				}
			}
		}
	}
	red.line = 0
	return out
}

// pageEnd is what the end of the page is made of.
type pageEnd struct {
	Agents []agentLine
	Note   string
	Damage string
}

type agentLine struct{ ID, Facts string }

func pageFoot(s *Session, red *redactor) pageEnd {
	var end pageEnd
	for _, a := range s.Agents {
		end.Agents = append(end.Agents, agentLine{red.text(a.ID), agentFacts(a, red)})
	}
	end.Note = redactionNote(red)
	if n := serious(s.Faults); n > 0 {
		end.Damage = "The log has damage in " + plural(n, "place", "places") + "; what could be read is shown."
	}
	return end
}
