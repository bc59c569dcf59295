package ledger

import (
	"slices"
	"strings"
	"unicode"

	"varve.dev/tokens"
)

// ItemKind says what an item is.
type ItemKind string

// The facts that a summary of a conversation is held to. Decisions, commands and
// files that were only read are its writer's own choice.
const (
	ItemWords   ItemKind = "words"   // what a person said; Ref is the entry's uuid
	ItemTask    ItemKind = "task"    // an open task; Ref is its id where it has one
	ItemFile    ItemKind = "file"    // a file that was changed; Text is its path
	ItemFailure ItemKind = "failure" // a command that failed and was not fixed; Ref is the command
	ItemPlan    ItemKind = "plan"    // the current plan; Ref is its file where it has one
	ItemBranch  ItemKind = "branch"
)

// Item is one fact that a summary should hold.
type Item struct {
	Kind ItemKind
	Ref  string
	Text string
}

// Items returns the facts that a summary is held to, in the order of a render.
func (l *Ledger) Items() []Item {
	var out []Item
	for _, u := range l.units() {
		if u.item.Kind != "" {
			out = append(out, u.item)
		}
	}
	return out
}

// Missing returns the facts that a summary does not hold, in the order of a render.
//
// The check is by rule and on the safe side: a fact that is told in other words
// counts as missing. A message of a person is there when the summary has it word for
// word (blanks, punctuation and case aside) or one line of the summary has nearly
// all of its words; a file, when its path, its path in the project or, where that is
// the only file of the name, its name is; a failure, when its command or its message
// is.
func (l *Ledger) Missing(summary string) []Item {
	var out []Item
	for _, u := range l.missing(summary) {
		out = append(out, u.item)
	}
	return out
}

// Complete returns a summary with what it left out behind it, for which it takes at
// most budget tokens beside the summary's own, as size counts them (nil:
// [tokens.Text]). The shed order is that of [Ledger.Render]. A summary that holds
// everything comes back unchanged, and so does any when the budget is too small even
// to count what is missing.
func (l *Ledger) Complete(summary string, budget int, size func(string) int) string {
	us := l.missing(summary)
	if len(us) == 0 {
		return summary
	}
	if size == nil {
		size = tokens.Text
	}
	r := renderer{title: addedTitle, units: us, size: size}
	added := r.render(budget)
	if budget < Unlimited/2 && size(added) > budget {
		return summary
	}
	return strings.TrimRight(summary, "\n") + "\n\n" + added
}

const addedTitle = `# Added from the log: what the summary above leaves out

What stands behind ">" or in ` + "`backquotes`" + ` is quoted: it is what people, tools and files said.
`

func (l *Ledger) missing(summary string) []*unit {
	s := readSummary(summary)
	names := make(map[string]int, len(l.s.Files))
	for i := range l.s.Files {
		names[baseName(l.s.Files[i].Path)]++
	}
	var out []*unit
	for _, u := range l.units() {
		it := u.item
		has := true
		switch it.Kind {
		case ItemWords, ItemTask:
			has = s.tells(it.Text)
		case ItemFile:
			has = l.namesFile(s, it.Text, names)
		case ItemFailure:
			has = s.has(it.Ref) || it.Text != "" && s.has(it.Text)
		case ItemPlan:
			first, _, _ := strings.Cut(it.Text, "\n")
			has = s.tells(first) || it.Ref != "" && s.has(it.Ref)
		case ItemBranch:
			has = s.has(it.Text)
		}
		if !has && !s.shows(u) {
			out = append(out, u)
		}
	}
	return out
}

// shows reports whether the summary holds what a render writes about an item, at any
// depth: a ledger's own text is complete, and so is one that was completed.
func (t *summaryText) shows(u *unit) bool {
	for _, limit := range u.limits {
		if strings.Contains(t.raw, u.form(limit)) {
			return true
		}
	}
	return u.ref != nil && strings.Contains(t.raw, "\n"+quote(u.ref.Text))
}

// namesFile looks for a file as people write it down.
func (l *Ledger) namesFile(s *summaryText, path string, names map[string]int) bool {
	if s.has(path) {
		return true
	}
	if rel, ok := strings.CutPrefix(path, l.s.CWD); ok && l.s.CWD != "" && s.has(rel) && strings.ContainsAny(strings.Trim(rel, `/\`), `/\`) {
		return true
	}
	base := baseName(path)
	return names[base] == 1 && strings.Contains(base, ".") && s.has(base)
}

func baseName(p string) string {
	if i := strings.LastIndexAny(p, `/\`); i >= 0 {
		return p[i+1:]
	}
	return p
}

// summaryText is a summary prepared for being searched.
type summaryText struct {
	raw    string
	folded string   // letters and digits in lower case, one blank for all else; a blank at both ends
	lines  []string // the same, by line, without marks of lists
	words  []map[string]bool
}

func readSummary(s string) *summaryText {
	t := &summaryText{raw: s, folded: " " + fold(s) + " "}
	for row := range strings.SplitSeq(s, "\n") {
		row = strings.TrimLeft(row, " \t-*+>#0123456789.)[]")
		if f := fold(row); f != "" {
			t.lines = append(t.lines, f)
			t.words = append(t.words, significant(f))
		}
	}
	return t
}

// fold reduces a text to what must agree: letters and digits, in lower case.
func fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	blank := true
	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			b.WriteRune(unicode.ToLower(r))
			blank = false
		case !blank:
			b.WriteByte(' ')
			blank = true
		}
	}
	return strings.TrimSuffix(b.String(), " ")
}

// has reports whether the summary holds a text, whole words of it.
func (t *summaryText) has(s string) bool {
	f := fold(s)
	if f == "" {
		return strings.Contains(t.raw, strings.TrimSpace(s))
	}
	rest := t.folded
	for {
		i := strings.Index(rest, f)
		if i < 0 {
			return false
		}
		if free(rest[:i], f, false) && free(rest[i+len(f):], f, true) {
			return true
		}
		rest = rest[i+1:]
	}
}

// free reports whether a match stands free: at a blank, or in a script that is
// written without blanks.
func free(around, f string, after bool) bool {
	rs := []rune(f)
	if after {
		return strings.HasPrefix(around, " ") || dense(rs[len(rs)-1])
	}
	return strings.HasSuffix(around, " ") || dense(rs[0])
}

// dense reports whether a letter is of a script that sets no blanks between words.
func dense(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// tells reports whether the summary has a message or task: word for word, or nearly
// all of its words in one line. Of a short one ("yes", "はい") every summary has the
// words somewhere, so it must stand alone or in quotes.
func (t *summaryText) tells(s string) bool {
	f := fold(s)
	words := significant(f)
	if len(words) < 3 {
		if f == "" {
			return t.has(s)
		}
		return slices.Contains(t.lines, f) || t.quotes(s)
	}
	if t.has(s) {
		return true
	}
	need := (len(words)*9 + 9) / 10
	for _, l := range t.words {
		n := 0
		for w := range words {
			if l[w] {
				n++
			}
		}
		if n >= need {
			return true
		}
	}
	return false
}

func (t *summaryText) quotes(s string) bool {
	low := strings.ToLower(t.raw)
	s = strings.ToLower(strings.TrimSpace(s))
	for _, q := range [...][2]string{{`"`, `"`}, {"“", "”"}, {"'", "'"}, {"`", "`"}, {"「", "」"}, {"『", "』"}} {
		if strings.Contains(low, q[0]+s+q[1]) {
			return true
		}
	}
	return false
}

// significant returns the words of a folded text by which it is known: those of at
// least three letters, numbers, and in scripts without blanks every pair of letters.
func significant(f string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.SplitSeq(f, " ") {
		rs := []rune(w)
		for i := range rs {
			if i+1 < len(rs) && dense(rs[i]) && dense(rs[i+1]) {
				out[string(rs[i:i+2])] = true
			}
		}
		if len(rs) >= 3 && !dense(rs[0]) || len(rs) > 0 && unicode.IsDigit(rs[0]) {
			out[w] = true
		}
	}
	return out
}
