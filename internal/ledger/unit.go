package ledger

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// section is a part of a render, in the order in which they are read.
type section int

const (
	secEarlier section = iota
	secWords
	secTasks
	secPlan
	secStands
	secFails
	secDecisions
	secFixed
	secRuns
	secChanged
	secRead
	sections
)

// headings of the sections, and what one item of each is called.
var headings = [sections]struct {
	title string
	items noun
}{
	secEarlier:   {"The newest summary that was made before", noun{"earlier summary", "earlier summaries"}},
	secWords:     {"What the user said, word for word", noun{"message of the user", "messages of the user"}},
	secTasks:     {"Open tasks", noun{"open task", "open tasks"}},
	secPlan:      {"Plan", noun{"plan", "plans"}},
	secStands:    {"Where the work stands", noun{"note on where the work stands", "notes on where the work stands"}},
	secFails:     {"Failures that nothing fixed yet", noun{"failure that nothing fixed", "failures that nothing fixed"}},
	secDecisions: {"Decisions and findings the assistant stated", noun{"decision", "decisions"}},
	secFixed:     {"Failures that were fixed", noun{"failure that was fixed", "failures that were fixed"}},
	secRuns:      {"Commands", noun{"command", "commands"}},
	secChanged:   {"Files changed", noun{"changed file", "changed files"}},
	secRead:      {"Files only read", noun{"file only read", "files only read"}},
}

// unit is one item of a render. It can be shown at several depths: limits are the
// characters of each, the last one being all there is.
type unit struct {
	sec    section
	limits []int
	form   func(limit int) string // ends with a newline; never starts a line with text of others
	look   bool                   // a command that only looked
	at     int
	item   Item
	ref    *word
}

// The depths of user messages, in characters. The last lines of a paste are worth
// less than a fact: what goes beyond pasteLimit is shown only when all else is.
const (
	wordTiny   = 80
	wordShort  = 240
	wordMiddle = 2000
	pasteLimit = 8000
)

var depths = []int{wordTiny, wordShort, wordMiddle, pasteLimit, 4 * pasteLimit, 16 * pasteLimit}

// limitsOf returns the depths at which a text of n characters differs.
func limitsOf(n int, at ...int) []int {
	var out []int
	for _, d := range at {
		if n > d+slack {
			out = append(out, d)
		}
	}
	return append(out, max(n, 1))
}

// units returns everything the ledger can show, by section and in reading order.
func (l *Ledger) units() []*unit {
	var out []*unit
	out = append(out, l.earlierUnits()...)
	out = append(out, l.wordUnits()...)
	for _, t := range l.openTasks() {
		out = append(out, taskUnit(t))
	}
	out = append(out, l.planUnits()...)
	out = append(out, l.standUnits()...)
	for _, f := range l.s.Fails {
		out = append(out, failureUnit(f))
	}
	for _, d := range l.s.Stated {
		out = append(out, &unit{sec: secDecisions, limits: []int{1}, at: d.At, form: func(int) string { return "- " + code(d.Text) + "\n" }})
	}
	for _, r := range l.s.Runs {
		out = append(out, &unit{sec: secRuns, limits: []int{1}, at: r.At, look: r.Look, form: func(int) string { return "- " + r.line() + "\n" }})
	}
	for i := range l.s.Files {
		out = append(out, l.s.Files[i].unit())
	}
	out = append(out, l.openFileUnits()...)
	slices.SortStableFunc(out, func(a, b *unit) int { return int(a.sec) - int(b.sec) })
	return out
}

func (l *Ledger) earlierUnits() []*unit {
	e := l.s.Earlier
	if e.Text == "" {
		return nil
	}
	head := ""
	if e.Source != "" {
		head = "Written by: " + e.Source + ".\n"
	}
	if e.Bare {
		head += "What it covers is known from nowhere else.\n"
	}
	n := utf8.RuneCountInString(e.Text)
	return []*unit{{sec: secEarlier, limits: limitsOf(n, 500, 2000, 8000), form: func(limit int) string {
		s, _ := shorten(e.Text, limit)
		return head + quote(s)
	}}}
}

func (l *Ledger) wordUnits() []*unit {
	words := l.words()
	out := make([]*unit, 0, len(words))
	for i := range words {
		w := &words[i]
		label := fmt.Sprintf("%d.%s\n", l.s.Lost.Words+i+1, w.label())
		out = append(out, &unit{sec: secWords, ref: w, limits: limitsOf(utf8.RuneCountInString(w.Text), depths...),
			item: Item{Kind: ItemWords, Ref: w.ID, Text: w.Text},
			form: func(limit int) string {
				s, _ := shorten(w.Text, limit)
				return label + quote(s)
			}})
	}
	return out
}

// label says how a message came to be, behind its number.
func (w *word) label() string {
	var notes []string
	switch w.Kind {
	case wordQueued:
		notes = append(notes, "said while the assistant worked")
	case wordCommand:
		notes = append(notes, "a command of the user")
	case wordRefusal:
		notes = append(notes, "on refusing "+about(w.On, "a call"))
	case wordAnswer:
		notes = append(notes, "the answer to "+about(w.On, "a question"))
	}
	if w.From != "" {
		notes = append(notes, "from "+code(w.From))
	}
	if w.More > 0 {
		notes = append(notes, "with "+noun{"image or document", "images or documents"}.count(w.More))
	}
	if w.Lost > 0 {
		notes = append(notes, "its last "+number(w.Lost)+" bytes were not kept")
	}
	if len(notes) == 0 {
		return ""
	}
	return " (" + strings.Join(notes, "; ") + ")"
}

func about(s, unknown string) string {
	if s == "" {
		return unknown
	}
	return code(s)
}

func taskUnit(t Task) *unit {
	n := max(1, utf8.RuneCountInString(t.Text))
	limits := limitsOf(n, 160)
	if t.Detail != "" {
		limits = append(limits, n+utf8.RuneCountInString(t.Detail)+1)
	}
	return &unit{sec: secTasks, limits: limits, at: boolInt(t.Status == "in_progress"), item: Item{Kind: ItemTask, Ref: t.ID, Text: t.Text},
		form: func(limit int) string {
			s, _ := shorten(t.Text, limit)
			if s == "" {
				s = "(its text is not in the log)"
			}
			out := "- " + taskLabel(t) + defang.Replace(s) + "\n"
			if t.Detail != "" && limit > n {
				out += quote(t.Detail)
			}
			return out
		}}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *Ledger) planUnits() []*unit {
	p := l.s.Plan
	if p.Text == "" && p.File == "" && !p.Mode {
		return nil
	}
	stale := l.planStale()
	head := ""
	switch {
	case stale:
		head = "Approved, and every task set up for it is done.\n"
	case p.Approved:
		head = "The user approved this plan.\n"
	case p.Refused:
		head = "The user did not approve this plan as it was presented.\n"
	case p.At > 0:
		head = "Presented; not approved yet.\n"
	}
	if p.Mode {
		head += "Plan mode is on: nothing is to be changed before a plan is approved.\n"
	}
	if p.File != "" {
		head += "Its file: " + code(p.File) + "\n"
	}
	text := p.Text
	if stale || p.Refused {
		// A plan that is behind is named, not brought back.
		text, _, _ = strings.Cut(text, "\n")
		text, _ = shorten(text, 200)
	}
	n := utf8.RuneCountInString(text)
	item := Item{}
	if !stale && !p.Refused && p.Text != "" {
		item = Item{Kind: ItemPlan, Ref: p.File, Text: p.Text}
	}
	return []*unit{{sec: secPlan, limits: limitsOf(n, 400, 1500, 8000), item: item, form: func(limit int) string {
		if text == "" {
			return head
		}
		s, _ := shorten(text, limit)
		return head + quote(s)
	}}}
}

func (l *Ledger) standUnits() []*unit {
	var out []*unit
	one := func(s string, item Item) {
		out = append(out, &unit{sec: secStands, limits: []int{1}, item: item, form: func(int) string { return "- " + s + "\n" }})
	}
	if l.s.CWD != "" {
		one("Folder: "+code(l.s.CWD), Item{})
	}
	if l.s.Branch != "" {
		s := "Branch: " + code(l.s.Branch)
		if n := len(l.s.Branches); n > 0 {
			s += ", before that " + code(l.s.Branches[n-1])
		}
		one(s, Item{Kind: ItemBranch, Text: l.s.Branch})
	}
	if l.s.Interrupted {
		one("The user interrupted the assistant.", Item{})
	}
	for i := range l.s.Calls {
		if c := &l.s.Calls[i]; !c.Side && c.Act.acts() && i >= len(l.s.Calls)-8 {
			one("Called without a result so far; it may have run: "+code(callLabel(*c)), Item{})
		}
	}
	if l.s.Said != "" {
		out = append(out, &unit{sec: secStands, limits: limitsOf(utf8.RuneCountInString(l.s.Said), 300, 1000), form: func(limit int) string {
			s, _ := shorten(l.s.Said, limit)
			return "- The assistant said last:\n" + quote(s)
		}})
	}
	return out
}

func failureUnit(f failure) *unit {
	if f.Fixed > 0 {
		return &unit{sec: secFixed, limits: []int{1}, at: f.Fixed, form: func(int) string { return "- " + f.line() + "\n" }}
	}
	u := &unit{sec: secFails, limits: []int{1}, at: f.At, form: func(int) string { return "- " + f.line() + "\n" }}
	if !f.Tool {
		u.item = Item{Kind: ItemFailure, Ref: f.What, Text: f.Out}
	}
	return u
}

// shown is a command in a line.
func shown(cmd string) string {
	s, _ := shorten(line(cmd), 300)
	return code(s)
}

func (f *failure) line() string {
	var b strings.Builder
	b.WriteString(shown(f.What))
	b.WriteString(" failed")
	if f.Exit != 0 {
		fmt.Fprintf(&b, " with exit code %d", f.Exit)
	}
	if f.N > 1 {
		fmt.Fprintf(&b, ", %d times", f.N)
	}
	if f.Out != "" {
		b.WriteString(": " + code(f.Out))
	}
	if f.Fixed == 0 {
		return b.String()
	}
	if f.Wider != "" {
		b.WriteString("; " + shown(f.Wider) + " succeeded")
	} else {
		b.WriteString("; it succeeded")
	}
	switch {
	case len(f.By) > 0:
		b.WriteString(" after changes to ")
		for i, p := range f.By {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(code(p))
		}
		if f.More > 0 {
			b.WriteString(" and " + number(f.More) + " more")
		}
	case f.Then != "":
		b.WriteString(" after " + shown(f.Then))
	default:
		b.WriteString(" without a change that is known")
	}
	return b.String()
}

func (r *run) line() string {
	var b strings.Builder
	if r.Tool != "" {
		b.WriteString(r.Tool + " ")
	}
	b.WriteString(shown(r.Cmd))
	switch {
	case r.User:
		b.WriteString(", run by the user")
	case r.Refused:
		b.WriteString(": the user refused it")
	case r.Running:
		b.WriteString(": was left running")
	case r.HasExit:
		fmt.Fprintf(&b, ": exit code %d", r.Exit)
	case r.Failed:
		b.WriteString(": failed")
	case r.Tool != "":
		b.WriteString(": done")
	}
	if r.N > 1 {
		fmt.Fprintf(&b, " (the last of %d runs)", r.N)
	}
	if r.Out != "" {
		b.WriteString(", " + code(r.Out))
	}
	return b.String()
}

func (f *file) unit() *unit {
	if !f.changed() {
		return &unit{sec: secRead, limits: []int{1}, at: f.ReadAt, form: func(int) string { return "- " + code(f.Path) + f.detail() + "\n" }}
	}
	item := Item{Kind: ItemFile, Ref: f.Key, Text: f.Path}
	if f.Edits+f.Writes+f.Deletes == 0 {
		item = Item{} // only tried
	}
	return &unit{sec: secChanged, limits: []int{1, 2}, at: f.DoneAt, item: item,
		form: func(limit int) string {
			if limit == 1 {
				return "- " + code(f.Path) + "\n"
			}
			return "- " + code(f.Path) + f.detail() + "\n"
		}}
}

// detail says what was done to a file, and what its content is.
func (f *file) detail() string {
	var notes []string
	for _, n := range []struct {
		n    int
		verb string
	}{{f.Writes, "written"}, {f.Edits, "edited"}, {f.Deletes, "deleted"}, {f.Reads, "read"}} {
		if n.n > 1 {
			notes = append(notes, fmt.Sprintf("%s %d times", n.verb, n.n))
		} else if n.n == 1 {
			notes = append(notes, n.verb)
		}
	}
	if f.Tries > 0 {
		notes = append(notes, noun{"change", "changes"}.count(f.Tries)+" refused, failed or unknown")
	}
	if f.Part {
		notes = append(notes, "in part")
	}
	if f.Gone {
		notes = append(notes, "it is gone")
	}
	if f.Outside {
		notes = append(notes, "changed by somebody else since")
	}
	if f.Hash != "" {
		notes = append(notes, "sha256 "+f.Hash)
	}
	if len(notes) == 0 {
		return ""
	}
	return ": " + strings.Join(notes, ", ")
}

// openFileUnits names the files of calls that nothing answered: they may have been
// changed.
func (l *Ledger) openFileUnits() []*unit {
	var out []*unit
	for i := range l.s.Calls {
		c := &l.s.Calls[i]
		for _, ch := range c.changes() {
			if _, known := l.fileAt[fileKey(c.Dir, ch.Path)]; ch.Act == actRead || known && l.s.Files[l.fileAt[fileKey(c.Dir, ch.Path)]].changed() {
				continue
			}
			out = append(out, &unit{sec: secChanged, limits: []int{1}, at: c.At, form: func(int) string {
				return "- " + code(ch.Path) + ": a change was begun, its result is not known\n"
			}})
		}
	}
	return out
}
