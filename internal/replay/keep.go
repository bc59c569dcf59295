package replay

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// keptIn looks for what matters of a recording in a view: by rules of its own,
// that the ledger does not share, so that what it says of the ledger is a measure.
func keptIn(rec *Recording, v *view.View) Kept {
	n := &rec.said
	hay := newHaystack(words(textOf(v)))
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
	out := make([]byte, 0, len(s))
	gap := true
	for i := 0; i < len(s); {
		c := plainWord[s[i]]
		if c > ' ' { // a letter or digit of ASCII, the most
			out = append(out, c)
			gap = false
			i++
			continue
		}
		r, size := rune(' '), 1
		if s[i] >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
		if r != ' ' && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
			out = utf8.AppendRune(out, unicode.ToLower(r))
			gap = false
		} else if !gap {
			out = append(out, ' ')
			gap = true
		}
	}
	return strings.TrimSuffix(string(out), " ")
}

// plainWord is the lower case of each ASCII letter and digit; 0 for every other byte.
var plainWord = func() (t [256]byte) {
	for c := range t {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			t[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		}
	}
	return t
}()

// needles are texts to look for, without doubles.
type needles struct {
	list []string
	seen map[string]bool
}

// add takes a text that was reduced to its words.
func (n *needles) add(s string) {
	if s == "" || n.seen[s] {
		return
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	n.seen[s] = true
	n.list = append(n.list, s)
}

// beginning is how many words of a needle count as its beginning.
const beginning = 8

// haystack is a text of words with the places of each, so that looking for
// thousands of needles costs no more than reading the text once.
type haystack struct {
	text string
	at   map[string]*places
}

// places are where a word begins, in bytes: the first, and the others.
type places struct {
	first int
	more  []int
}

func (p *places) count() int {
	if p == nil {
		return 0
	}
	return 1 + len(p.more)
}

func newHaystack(text string) haystack {
	h := haystack{text: text, at: make(map[string]*places, len(text)/64)}
	var slab []places
	for i := 0; i < len(text); {
		end := strings.IndexByte(text[i:], ' ')
		if end < 0 {
			end = len(text) - i
		}
		w := text[i : i+end]
		if p := h.at[w]; p != nil {
			p.more = append(p.more, i)
		} else {
			if len(slab) == 0 {
				slab = make([]places, 512)
			}
			slab[0].first = i
			h.at[w], slab = &slab[0], slab[1:]
		}
		i += end + 1
	}
	return h
}

// holds reports whether a text of words stands in h; its last word may go on there.
func (h haystack) holds(needle string) bool {
	ws := strings.Split(needle, " ")
	best, off, pos := -1, 0, 0
	for i, w := range ws[:len(ws)-1] { // whole words
		if n := h.at[w].count(); best < 0 || n < best {
			best, off = n, pos
		}
		if pos += len(w) + 1; best == 0 || i == beginning {
			break
		}
	}
	if best < 0 { // a single word
		return h.at[needle] != nil || strings.Contains(h.text, needle)
	}
	if best == 0 {
		return false
	}
	w, _, _ := strings.Cut(needle[off:], " ")
	p := h.at[w]
	return h.begins(needle, p.first-off) || slices.ContainsFunc(p.more, func(at int) bool { return h.begins(needle, at-off) })
}

func (h haystack) begins(needle string, at int) bool {
	return at >= 0 && strings.HasPrefix(h.text[at:], needle)
}

func (n needles) in(hay haystack) Share {
	out := Share{Of: len(n.list)}
	for _, s := range n.list {
		if hay.holds(s) {
			out.Kept++
			continue
		}
		if f := strings.SplitN(s, " ", beginning+1); len(f) > beginning && hay.holds(strings.Join(f[:beginning], " ")) {
			out.Kept++
			out.Shortened++
		}
	}
	return out
}

// found is what a recording holds that should not be lost.
type found struct{ words, files, todos, results needles }

// needlesIn is what one entry adds to it, each text reduced to its words.
type needlesIn struct {
	words, files, results []string
	listed                bool // there is a new list of todos
	todos                 []string
}

func (f *found) add(in needlesIn) {
	for _, s := range in.words {
		f.words.add(s)
	}
	for _, s := range in.files {
		f.files.add(s)
	}
	for _, s := range in.results {
		f.results.add(s)
	}
	if in.listed {
		f.todos = needles{} // a list replaces the one before
	}
	for _, s := range in.todos {
		f.todos.add(s)
	}
}

// editing are tools that change files, in lower case without marks.
var editing = []string{"edit", "write", "multiedit", "notebookedit", "writefile", "replace", "applypatch", "strreplace", "create", "patch"}

// take finds what an entry says.
func (n *needlesIn) take(x *transcript.Entry, m *message.Message) {
	if text, ok := x.PromptText(); ok && x.Type == transcript.TypeUser && !x.Meta {
		n.words = append(n.words, words(text))
	}
	for i := range m.Content {
		switch b := &m.Content[i]; b.Type {
		case message.TypeToolUse:
			n.call(b)
		case message.TypeToolResult:
			n.result(b)
		}
	}
}

// patched finds the files that a patch of Codex names, in the JSON that carries it.
var patched = regexp.MustCompile(`\*\*\* (?:Add|Update|Delete) File: ([^\\"]+)`)

func (n *needlesIn) call(b *message.Block) {
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
				n.files = append(n.files, words(p[strings.LastIndexAny(p, `/\`)+1:]))
				break
			}
		}
	}
	for _, m := range patched.FindAllSubmatch(b.Input, -1) {
		n.files = append(n.files, words(path.Base(string(m[1]))))
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
		n.listed, n.todos = true, nil // a list replaces the one before
		for _, it := range items {
			if it.Status != "completed" && it.Status != "cancelled" {
				n.todos = append(n.todos, words(it.Content+it.Step))
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

func (n *needlesIn) result(b *message.Block) {
	text := resultText(b)
	if len(text) < resultFrom {
		return
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		// From the middle outwards: the ends of a text are what previews keep.
		at := len(lines)/2 + (i+1)/2*(1-i%2*2)
		if at >= 0 && at < len(lines) && len(strings.TrimSpace(lines[at])) >= resultLine {
			n.results = append(n.results, words(shorten(strings.TrimSpace(lines[at]), 200)))
			return
		}
	}
}
