package cli

import (
	"fmt"
	"strings"
	"time"

	"varve.dev/internal/replay"
	"varve.dev/internal/term"
)

// replayText prints a replay for people.
type replayText struct {
	out *printer
	res *replay.Result
}

func (t replayText) print() {
	t.head()
	for i := range t.res.Runs {
		run := &t.res.Runs[i]
		switch {
		case i == 0 || run.Policy == replay.Own:
			t.out.line("")
			t.chart(run)
			t.rungs(run)
		case run.Policy == replay.Server && len(run.Rungs) > 0:
			t.out.line("")
			t.out.line("%s:", run.Title)
			t.rungTable(run)
		}
	}
	t.out.line("")
	t.compare()
	for i := range t.res.Runs {
		if t.res.Runs[i].Policy == replay.Own {
			t.lost(&t.res.Runs[i])
		}
	}
	t.out.line("")
	for _, n := range t.res.Notes {
		t.dim(n)
	}
	if s := t.res.Session; s != nil {
		t.out.line("The session is left at %s; `varve sessions show %s` reads it, `varve recall %s WORDS` finds what left its context.", s.Path, s.ID, s.ID)
	}
}

// titleShown is how many characters of a title are shown: that of an untitled
// session is its first message.
const titleShown = 80

func (t replayText) head() {
	r := t.res.Recording
	t.out.line("%s", styled{bold, "Replay of " + term.Line(orText(r.Title, r.Name), titleShown)})
	span := ""
	if !r.First.IsZero() && r.Last.After(r.First) {
		span = ", " + r.Last.Sub(r.First).Round(time.Minute).String()
		span = strings.TrimSuffix(span, "0s")
	}
	t.out.line("Recorded by %s (%s): %s by people, %s, %s%s. Window %s, model %s.", r.Format, amount(r.Bytes),
		count(r.Prompts, "message"), countOf(r.Replies, "reply", "replies"), count(r.Calls, "tool call"), span, replay.Tokens(t.res.Window), t.res.Model)
	t.dim(replay.Intro)
	if r.Faults > 0 {
		t.out.line("%s of the recording could not be read; `varve sessions check` names them.", count(r.Faults, "place"))
	}
}

// textWidth is how wide explanations are written where no terminal says more.
const textWidth = 110

// dim writes an explanation, in lines of whole words.
func (t replayText) dim(text string) {
	width := textWidth
	if t.out.width > 0 {
		width = min(width, max(t.out.width, 40))
	}
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && term.StringWidth(line)+1+term.StringWidth(w) > width {
			t.out.line("%s", styled{dim, line})
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	t.out.line("%s", styled{dim, line})
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func amount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Size of the chart: rows, columns at most when standard output is no terminal,
// and what stands left of it.
const (
	chartRows  = 12
	chartWidth = 88
	chartLeft  = 8
)

var eighths = []rune(" ▁▂▃▄▅▆▇█")

// chart draws the size of the requests over the turns, with the threshold of
// compaction and a mark under each turn before which a rung fired.
func (t replayText) chart(run *replay.PolicyRun) {
	if len(run.Turns) == 0 {
		t.out.line("%s: no request was recorded.", run.Title)
		return
	}
	width := chartWidth
	if t.out.width > 0 {
		width = max(min(t.out.width-chartLeft-10, 160), 16)
	}
	width = min(width, len(run.Turns))
	top := max(run.Peak, 1)
	if run.Peak > t.res.Limits.Auto/2 && run.Policy != replay.None {
		top = max(top, t.res.Limits.Effective)
	}
	column := make([]int, width)
	marks := []rune(strings.Repeat(" ", width))
	at := func(turn int) int { return (turn - 1) * width / len(run.Turns) }
	for _, u := range run.Turns {
		column[at(u.Turn)] = max(column[at(u.Turn)], u.Tokens)
	}
	for _, c := range run.Compactions {
		marks[min(at(c.Turn), width-1)] = markOf(c.Rung)
	}
	t.out.line("Tokens of each request, %s:", run.Title)
	blank := strings.Repeat(" ", chartLeft)
	for row := chartRows; row > 0; row-- {
		low, high := top*(row-1)/chartRows, top*row/chartRows
		line := make([]rune, width)
		auto := t.res.Limits.Auto > low && t.res.Limits.Auto <= high
		for i, n := range column {
			line[i] = eighths[min(max((n-low)*8*chartRows/top, 0), 8)]
			if line[i] == ' ' && auto {
				line[i] = '·'
			}
		}
		label, right := "", ""
		if row == chartRows || row == chartRows/2 {
			label = replay.Tokens(high)
		}
		if auto {
			right = "compaction at " + replay.Tokens(t.res.Limits.Auto)
		}
		t.out.line("%s %s %s", styled{dim, fmt.Sprintf("%*s", chartLeft-1, label)}, styled{cyan, string(line)}, styled{dim, right})
	}
	t.out.line("%s", styled{dim, blank + strings.Repeat("─", width)})
	if len(run.Compactions) > 0 {
		t.out.line("%s %s", styled{yellow, blank + string(marks)}, styled{dim, "shortened before it"})
	}
	t.out.line("%s", styled{dim, fmt.Sprintf("%s1%*d requests", blank, width-1, len(run.Turns))})
}

// markOf is the letter of a rung under the chart: its first.
func markOf(rung string) rune {
	for _, r := range rung {
		return r
	}
	return '?'
}

func (t replayText) rungs(run *replay.PolicyRun) {
	if len(run.Rungs) == 0 {
		t.out.line("Nothing was shortened: the session fits its window.")
		return
	}
	t.out.line("")
	t.rungTable(run)
}

func (t replayText) rungTable(run *replay.PolicyRun) {
	widths := []int{-10, 6, 13, 11, -2}
	t.row(widths, "  how", "times", "tokens freed", "time spent")
	for _, r := range run.Rungs {
		t.row(widths, string(markOf(r.Rung))+" "+r.Rung, fmt.Sprint(r.Times), replay.Tokens(r.Freed), fmt.Sprintf("%.0f ms", r.Millis), " "+replay.RungMeaning(r.Rung))
	}
}

// compare is the table of the policies.
func (t replayText) compare() {
	widths := []int{-12, 7, 5, 9, 8, 7, 7, 8, 9, 7, 7}
	t.row(widths, "policy", "peak", "sums", "uncached", "written", "cached", "output", "cost", "messages", "files", "todos")
	for i := range t.res.Runs {
		run := &t.res.Runs[i]
		cost := "–"
		if run.Cost.Priced {
			cost = fmt.Sprintf("$%.2f", run.Cost.USD)
		}
		t.row(widths, run.Policy, replay.Tokens(run.Peak), fmt.Sprint(run.Cost.Summaries),
			replay.Tokens(int(run.Cost.Uncached)), replay.Tokens(int(run.Cost.Written)), replay.Tokens(int(run.Cost.Read)), replay.Tokens(int(run.Cost.Output)),
			cost, run.Kept.Words.String(), run.Kept.Files.String(), run.Kept.Todos.String())
	}
	for _, c := range replay.Columns() {
		t.dim(c.Names + ": " + c.Meaning + ".")
	}
	for i := range t.res.Runs {
		run := &t.res.Runs[i]
		title := run.Title
		if run.Approximation != "" {
			of, _, _ := strings.Cut(run.Approximation, ":")
			title += " (approximates " + strings.TrimSuffix(of, ".") + ")"
		}
		t.dim(run.Policy + ": " + title + ".")
	}
	for i := range t.res.Runs {
		run := &t.res.Runs[i]
		switch {
		case run.Stopped != nil:
			t.out.line("%s cannot go on at request %d: %s.", run.Policy, run.Stopped.Turn, strings.TrimSuffix(run.Stopped.Reason, "."))
		case run.Overflows > 0:
			t.out.line("%s: a provider would have refused %s, larger than the window.", run.Policy, count(run.Overflows, "request"))
		}
	}
}

// row prints the cells of a table, each in its width; a negative width puts the
// text to the left.
func (t replayText) row(widths []int, cells ...string) {
	var b strings.Builder
	for i, c := range cells {
		gap := max(max(widths[i], -widths[i])-term.StringWidth(c), 0)
		if i > 0 {
			b.WriteByte(' ')
		}
		if widths[i] < 0 {
			b.WriteString(c + strings.Repeat(" ", gap))
		} else {
			b.WriteString(strings.Repeat(" ", gap) + c)
		}
	}
	t.out.line("%s", styled{plain, strings.TrimRight(b.String(), " ")})
}

// lost sums up what left the view.
func (t replayText) lost(run *replay.PolicyRun) {
	total, messages, kinds := 0, 0, map[string]int{}
	for _, c := range run.Compactions {
		messages += c.LostCount
		for k, n := range c.Lost {
			kinds[k] += n
			total += n
		}
	}
	if total == 0 {
		return
	}
	t.out.line("")
	t.out.line("Left the context with %s: %s tokens in %s (%s). All of it is in the log.", count(len(run.Compactions), "compaction"), replay.Tokens(total), count(messages, "message"), replay.Sizes(kinds))
}
