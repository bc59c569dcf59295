package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"varve.dev/internal/sources"
	"varve.dev/internal/term"
)

// listCmd is `varve sessions list`.
type listCmd struct {
	Limit int  `short:"n" default:"50" placeholder:"N" help:"Sessions on a page; 0 for all (default 50)."`
	Page  int  `default:"1" placeholder:"N" help:"Which page, from 1."`
	Empty bool `help:"Also sessions without a message."`
}

// listJSON is the document of `varve sessions list --json`.
type listJSON struct {
	Project  string        `json:"project,omitempty"` // absent with --all-projects
	Total    int           `json:"total"`
	Page     int           `json:"page"`
	Pages    int           `json:"pages"`
	Hidden   int           `json:"withoutMessages"` // left out, see --empty
	Skipped  []skippedJSON `json:"skipped,omitempty"`
	Sessions []sessionJSON `json:"sessions"`
}

type skippedJSON struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// Run lists sessions.
func (c *listCmd) Run(ctx context.Context, a *app, g *grammar) error {
	if c.Limit < 0 || c.Page < 1 {
		return &usageError{errors.New("--limit takes 0 or more, --page 1 or more")}
	}
	q, err := g.Sessions.query(a)
	if err != nil {
		return err
	}
	l, err := a.finder.All(ctx, q)
	if err != nil {
		return err
	}
	doc := listJSON{Page: c.Page}
	if q.Project != nil {
		doc.Project = q.Project.Dir
	}
	var all []*sources.Session
	for _, s := range l.Sessions {
		if s.Empty() && !c.Empty {
			doc.Hidden++
			continue
		}
		all = append(all, s)
	}
	size := c.Limit
	if size == 0 {
		size = max(1, len(all))
	}
	doc.Total, doc.Pages = len(all), (len(all)+size-1)/size
	from := min(len(all), (c.Page-1)*size)
	page := all[from:min(len(all), from+size)]
	if g.Sessions.JSON {
		doc.Sessions = make([]sessionJSON, 0, len(page))
		for _, s := range page {
			doc.Sessions = append(doc.Sessions, describe(s))
		}
		for _, s := range l.Skipped {
			doc.Skipped = append(doc.Skipped, skippedJSON{s.Path, s.Err.Error()})
		}
		return a.out.json(doc, "", nil)
	}
	a.table(page, q.Project)
	c.footer(a, doc, len(page), l, q)
	return nil
}

// footer says what the table does not show.
func (c *listCmd) footer(a *app, doc listJSON, shown int, l sources.Listing, q sources.Query) {
	switch {
	case doc.Total == 0 && q.Project != nil:
		a.out.note("No sessions of %s. `varve sessions list --all-projects` lists those of other directories.", a.home(q.Project.Dir))
	case doc.Total == 0:
		a.out.note("No sessions.")
	case shown == 0:
		a.out.note("There is no page %d; the last one is %d.", doc.Page, doc.Pages)
	case doc.Page < doc.Pages:
		a.out.note("%d of %d sessions; --page %d shows more, --limit 0 all.", shown, doc.Total, doc.Page+1)
	}
	if doc.Hidden > 0 {
		a.out.note("%s without a message left out; --empty shows them.", count(doc.Hidden, "session"))
	}
	for _, s := range l.Skipped {
		a.out.note("Skipped %s: %s.", a.home(s.Path), s.Err)
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// table writes sessions, one a line. Columns that are the same for all are left
// out.
func (a *app) table(page []*sources.Session, project *sources.Project) {
	if len(page) == 0 {
		return
	}
	ids := shortIDs(page)
	src := make(map[string]bool)
	worktree := false
	for _, s := range page {
		src[s.Source] = true
		worktree = worktree || s.Kin == sources.KinWorktree
	}
	rows := make([][]string, len(page))
	for i, s := range page {
		row := []string{ids[i], a.when(s.Time()), messages(s)}
		if len(src) > 1 {
			row = append(row, s.Source)
		}
		if project == nil || worktree {
			row = append(row, a.place(s, project))
		}
		rows[i] = row
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], term.StringWidth(cell))
		}
	}
	for i, s := range page {
		a.row(rows[i], widths, s)
	}
}

// A session's name takes what is left of the line on a terminal, nameMin at least,
// and nameMax elsewhere: a first prompt can be long and need not be read here.
const (
	nameMin = 10
	nameMax = 100
)

// row writes one session and, below it, what is wrong with it.
func (a *app) row(cells []string, widths []int, s *sources.Session) {
	used := 0
	var rest strings.Builder
	for i, cell := range cells {
		if i == 2 { // numbers stand to the right
			cell = strings.Repeat(" ", max(0, widths[i]-term.StringWidth(cell))) + cell
		} else {
			cell = pad(cell, widths[i])
		}
		used += widths[i] + 2
		if i > 0 {
			rest.WriteString(cell + "  ")
		}
	}
	name, look := s.Name(), plain
	switch {
	case s.Err != nil:
		name, look = "cannot be read: "+s.Err.Error(), red
	case name == "":
		name, look = "(nothing said)", dim
	case s.Title == "":
		look = dim // the first prompt, not a title
	}
	if s.Tag != "" {
		name += " #" + s.Tag
	}
	room := nameMax
	if a.out.width > 0 {
		room = max(nameMin, a.out.width-used)
	}
	name = term.Line(name, room)
	a.out.line("%s%s%s", styled{bold, cells[0]}, prose(pad("", widths[0]-term.StringWidth(cells[0])+2)+rest.String()), styled{look, name})
	if s.Damaged() {
		var harm []string
		for _, f := range s.Faults {
			if !f.Harmless() {
				harm = append(harm, string(f.Kind)+": "+f.Detail)
			}
		}
		more := ""
		if len(harm) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(harm)-1)
		}
		a.out.line("%s%s", prose(pad("", widths[0]+2)), styled{yellow, "! " + harm[0] + more})
	}
}

// messages is the number of messages; an estimate says so.
func messages(s *sources.Session) string {
	if s.Err != nil {
		return "–"
	}
	if !s.Whole {
		return fmt.Sprintf("~%d", s.Messages)
	}
	return fmt.Sprint(s.Messages)
}

// placeMax is the width of the column with directories.
const placeMax = 32

// place is where a session was started, the end of it when it is long.
func (a *app) place(s *sources.Session, project *sources.Project) string {
	dir := a.home(s.Dir())
	switch {
	case dir == "":
		return "?"
	case s.Kin == sources.KinHere && project != nil:
		return "."
	}
	dir = term.Line(dir, lineMax)
	if a.out.width == 0 || term.StringWidth(dir) <= placeMax {
		return dir
	}
	parts := strings.Split(dir, string(filepath.Separator))
	end := term.Line(parts[len(parts)-1], placeMax-2)
	for i := len(parts) - 2; i >= 0; i-- {
		longer := parts[i] + string(filepath.Separator) + end
		if term.StringWidth(longer) > placeMax-2 {
			break
		}
		end = longer
	}
	return "…" + string(filepath.Separator) + end
}

// shortIDs are the shortest beginnings of the ids, eight characters at least, that
// differ from each other.
func shortIDs(page []*sources.Session) []string {
	const least = 8
	out := make([]string, len(page))
	for n := least; ; n += 4 {
		seen := make(map[string]int)
		longer := false
		for i, s := range page {
			id := term.Line(s.ID, lineMax)
			if len(id) > n {
				longer = true
				if isHexID(id) {
					id = id[:n]
				}
			}
			out[i] = id
			seen[id]++
		}
		clash := false
		for i, s := range page {
			clash = clash || seen[out[i]] > 1 && out[i] != s.ID
		}
		if !clash || !longer {
			return out
		}
	}
}

// isHexID reports whether an id may be cut and still look like one.
func isHexID(id string) bool {
	return strings.Trim(strings.ToLower(id), "0123456789abcdef-") == ""
}
