package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"varve.dev/internal/term"
)

// The rules of output. This is the only file that writes to standard output or
// standard error.
//
// Standard output gets the result and nothing else, so that it can be piped.
// Notes, progress, proposals and errors go to standard error.
//
// The format strings here and in the callers are ours; every value put into one is
// taken for hostile. It becomes one line without control sequences, unless its
// type is [prose], which keeps its line breaks, or [styled], which keeps blanks at
// its ends and adds a style around the cleaned text. Colours and progress bars are shown only on a terminal
// that is not "dumb" and where NO_COLOR is not set; no result depends on them.
//
// Nothing is paged, nothing is centred, and nothing but the names in a list is cut
// when standard output is not a terminal. Sentences begin with a capital letter and end with a full stop;
// errors begin with "varve:" and say what to do in the next line. Times are local
// on the terminal and RFC 3339 in JSON. JSON is one document, indented for people,
// keys in a fixed order.

// prose is a value that may have several lines.
type prose string

// A style is what a terminal shows a text in.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	cyan   style = "36"
)

// styled is a value in a style; its text is cleaned like any other.
type styled struct {
	style style
	text  string
}

// printer writes for people and scripts.
type printer struct {
	out, err    *bufio.Writer
	outFile     io.Writer
	colourOut   bool
	colourErr   bool
	terminal    bool // standard output is one
	terminalErr bool // standard error is one
	width       int  // columns of standard output; 0: lines are not cut
	progressFor func(label string, total int64) *term.Progress
}

func newPrinter(env Env) *printer {
	colour := env.Getenv("NO_COLOR") == "" && env.Getenv("TERM") != "dumb"
	p := &printer{out: bufio.NewWriterSize(env.Stdout, 64<<10), err: bufio.NewWriter(env.Stderr), outFile: env.Stdout,
		terminal: term.IsTerminal(env.Stdout), terminalErr: term.IsTerminal(env.Stderr)}
	p.colourOut, p.colourErr = colour && p.terminal, colour && p.terminalErr
	if p.terminal {
		p.width = term.Width(env.Stdout)
	}
	p.progressFor = func(label string, total int64) *term.Progress { return term.NewProgress(env.Stderr, label, total) }
	return p
}

// lineMax is the width of a line that is not cut.
const lineMax = 1 << 30

func clean(args []any, colour bool) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case prose:
			out[i] = term.String(string(a))
		case styled:
			text := strings.Trim(a.text, " ")
			before, _, _ := strings.Cut(a.text, text)
			after := a.text[len(before)+len(text):]
			text = term.Line(text, lineMax)
			if colour && a.style != plain && text != "" {
				text = "\x1b[" + string(a.style) + "m" + text + "\x1b[0m"
			}
			out[i] = before + text + after
		case string:
			out[i] = term.Line(a, lineMax)
		case error:
			out[i] = term.Line(a.Error(), lineMax)
		case fmt.Stringer:
			out[i] = term.Line(a.String(), lineMax)
		default:
			out[i] = a // numbers
		}
	}
	return out
}

// line writes a line of the result.
func (p *printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", clean(args, p.colourOut)...) // a failure is kept and comes back from flush
}

// note writes a line about the result to standard error, after what was printed
// so far.
func (p *printer) note(format string, args ...any) {
	_ = p.out.Flush() // its error stays in the writer for flush
	_, _ = fmt.Fprintf(p.err, format+"\n", clean(args, p.colourErr)...)
	_ = p.err.Flush() // nowhere left to tell of a closed standard error
}

// json writes the result as one JSON document. list, when not nil, becomes its
// last member under key, written as it is made: it may be long.
func (p *printer) json(head any, key string, list iter.Seq2[any, error]) error {
	return p.document(func(w io.Writer) error {
		b, err := marshal(head, "")
		if err != nil {
			return err
		}
		if list == nil {
			_, err = fmt.Fprintf(w, "%s\n", b)
			return err
		}
		// What stands before the closing brace, then the list.
		if _, err := fmt.Fprintf(w, "%s,\n  %q: [", bytes.TrimRight(bytes.TrimSuffix(b, []byte("}")), "\n "), key); err != nil {
			return err
		}
		sep := "\n    "
		for v, err := range list {
			if err != nil {
				return err
			}
			b, err := marshal(v, "    ")
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s%s", sep, b); err != nil {
				return err
			}
			sep = ",\n    "
		}
		_, err = io.WriteString(w, "\n  ]\n}\n")
		return err
	})
}

func marshal(v any, prefix string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// document lets write make the result. Its bytes are kept as they are, except on
// a terminal, where they are cleaned.
func (p *printer) document(write func(w io.Writer) error) error {
	if !p.terminal {
		return write(p.out)
	}
	w := term.NewWriter(p.out)
	err := write(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return err
}

// help is where the manual goes.
func (p *printer) help() io.Writer { return p.out }

// progress shows on standard error how far long work has come.
func (p *printer) progress(label string, total int64) *term.Progress {
	return p.progressFor(term.Line(label, 40), total)
}

func (p *printer) flush() error { return p.out.Flush() }

// pad fills s with blanks to n columns.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-term.StringWidth(s)))
}
