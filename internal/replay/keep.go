package replay

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// keptIn looks for what matters of a recording in a view: by rules of its own,
// that the ledger does not share, so that what it says of the ledger is a measure.
func keptIn(rec *Recording, v *view.View) Kept {
	n := needlesOf(rec)
	hay := words(textOf(v))
	return Kept{Words: n.words.in(hay), Files: n.files.in(hay), Todos: n.todos.in(hay), Results: n.results.in(hay)}
}

// textOf is all text that a model sees of a view.
func textOf(v *view.View) string {
	var b strings.Builder
	var add func(x *message.Block)
	add = func(x *message.Block) {
		b.WriteString(x.Text)
		b.Write(x.Input)
		b.WriteByte('\n')
		for i := range x.Content {
			add(&x.Content[i])
		}
	}
	for i := range v.Messages {
		for k := range v.Messages[i].Blocks {
			add(&v.Messages[i].Blocks[k].Block)
		}
	}
	return b.String()
}

// words reduces a text to its letters and digits, in lower case, one blank between
// words, so that quoting, indenting and escaping do not hide what is there.
func words(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	gap := true
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			b.WriteRune(unicode.ToLower(r))
			gap = false
		} else if !gap {
			b.WriteByte(' ')
			gap = true
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// needles are texts to look for, without doubles.
type needles []string

func (n *needles) add(s string) {
	if s = words(s); s != "" && !slices.Contains(*n, s) {
		*n = append(*n, s)
	}
}

// beginning is how many words of a needle count as its beginning.
const beginning = 8

func (n needles) in(hay string) Share {
	out := Share{Of: len(n)}
	for _, s := range n {
		if strings.Contains(hay, s) {
			out.Kept++
			continue
		}
		if f := strings.SplitN(s, " ", beginning+1); len(f) > beginning && strings.Contains(hay, strings.Join(f[:beginning], " ")) {
			out.Kept++
			out.Shortened++
		}
	}
	return out
}

// found is what a recording holds that should not be lost.
type found struct{ words, files, todos, results needles }

// editing are tools that change files, in lower case without marks.
var editing = []string{"edit", "write", "multiedit", "notebookedit", "writefile", "replace", "applypatch", "strreplace", "create", "patch"}

func needlesOf(rec *Recording) found {
	var out found
	for _, x := range rec.Entries {
		if !fed(x) || x.Sidechain && x.AgentID != "" {
			continue
		}
		m, err := x.Message()
		if err != nil {
			continue
		}
		if text, ok := x.PromptText(); ok && x.Type == transcript.TypeUser && !x.Meta {
			out.words.add(text)
		}
		for i := range m.Content {
			switch b := &m.Content[i]; b.Type {
			case message.TypeToolUse:
				out.call(b)
			case message.TypeToolResult:
				out.result(b)
			}
		}
	}
	return out
}

func (f *found) call(b *message.Block) {
	name := strings.ReplaceAll(words(b.Name), " ", "")
	var in struct {
		FilePath     string          `json:"file_path"`
		CamelPath    string          `json:"filePath"`
		NotebookPath string          `json:"notebook_path"`
		Path         string          `json:"path"`
		Todos        json.RawMessage `json:"todos"`
		Plan         json.RawMessage `json:"plan"`
	}
	if !inputOf(*b, &in) {
		return
	}
	if slices.Contains(editing, name) {
		for _, p := range []string{in.FilePath, in.CamelPath, in.NotebookPath, in.Path} {
			if p != "" {
				f.files.add(p[strings.LastIndexAny(p, `/\`)+1:])
				break
			}
		}
	}
	for _, list := range []json.RawMessage{in.Todos, in.Plan} {
		var items []struct {
			Content string `json:"content"`
			Step    string `json:"step"`
			Status  string `json:"status"`
		}
		if len(list) == 0 || json.Unmarshal(list, &items) != nil {
			continue
		}
		f.todos = nil // a list replaces the one before
		for _, it := range items {
			if it.Status != "completed" && it.Status != "cancelled" {
				f.todos.add(it.Content + it.Step)
			}
		}
	}
}

// resultLine is the shortest line of a result that is looked for, in characters,
// and resultFrom the shortest result that one is taken of.
const (
	resultLine = 30
	resultFrom = 200
)

func (f *found) result(b *message.Block) {
	text := resultText(b)
	if len(text) < resultFrom {
		return
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		// From the middle outwards: the ends of a text are what previews keep.
		at := len(lines)/2 + (i+1)/2*(1-i%2*2)
		if at >= 0 && at < len(lines) && len(strings.TrimSpace(lines[at])) >= resultLine {
			f.results.add(shorten(strings.TrimSpace(lines[at]), 200))
			return
		}
	}
}
