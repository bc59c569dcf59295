package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Match is the session that a reference means.
type Match struct {
	*Session
	// Copies are other files with the same id, in other folders or homes. Only the
	// matched one may be read or continued; callers tell the user that there are more
	// (anthropics/claude-code#29342).
	Copies []*Session
}

// NotFoundError says that no session matches a reference.
type NotFoundError struct {
	Ref string
	// Near are sessions that the user may have meant, best first, at most five.
	Near []*Session
	// Elsewhere are sessions of other projects whose title matches.
	Elsewhere []*Session
}

func (e *NotFoundError) Error() string {
	if len(e.Elsewhere) > 0 {
		return fmt.Sprintf("no session %q in this project, but %d in others", e.Ref, len(e.Elsewhere))
	}
	if strings.HasSuffix(e.Ref, logSuffix) {
		return fmt.Sprintf("no file %q", e.Ref)
	}
	return fmt.Sprintf("no session %q", e.Ref)
}

// AmbiguousError says that a reference means several sessions.
type AmbiguousError struct {
	Ref      string
	Sessions []*Session // newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q means %d sessions", e.Ref, len(e.Sessions))
}

// SameID reports whether the sessions are copies under one id, which a longer id
// cannot tell apart.
func (e *AmbiguousError) SameID() bool {
	for _, s := range e.Sessions {
		if s.ID != e.Sessions[0].ID {
			return false
		}
	}
	return true
}

// minPrefix is the shortest part of an id that is taken for one.
const minPrefix = 3

// Find returns the session that ref means: the path of a log, an id, the unique
// beginning of one, or a title. An id is looked for in all projects, by file name
// alone, so that it is found whatever is in the file; of copies the one of
// q.Project wins. A title is looked for in q.Project where set, case ignored: the
// whole of it, else a part that only one session has.
//
// The error is a *NotFoundError or an *AmbiguousError, or one of reading.
func (f *Finder) Find(ctx context.Context, ref string, q Query) (Match, error) {
	if ref == "" {
		return Match{}, &NotFoundError{}
	}
	if isPath(ref) {
		s, err := f.byPath(ref, q)
		if miss := (*NotFoundError)(nil); !errors.As(err, &miss) || strings.HasSuffix(ref, logSuffix) {
			return Match{Session: s}, err
		}
		// A title may hold a slash.
	}
	exact, begins, ids, err := f.byID(ctx, ref, q)
	if err != nil {
		return Match{}, err
	}
	for _, files := range [][]*file{exact, begins} {
		if len(files) > 0 {
			return f.choose(ref, files, q)
		}
	}
	return f.byTitle(ctx, ref, q, ids)
}

func isPath(ref string) bool {
	return strings.HasSuffix(ref, logSuffix) || strings.ContainsAny(ref, `/\`)
}

// byPath returns the session in a file that may lie anywhere.
func (f *Finder) byPath(ref string, q Query) (*Session, error) {
	path, err := filepath.Abs(ref)
	if err != nil {
		return nil, err
	}
	fl, err := f.stat(f.homeOf(path), path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &NotFoundError{Ref: ref}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	s := f.load(fl)
	if q.Project != nil {
		s.Kin = q.Project.Kin(s.FirstCWD)
	}
	return s, nil
}

// homeOf returns the home whose projects hold path, nil when none does.
func (f *Finder) homeOf(path string) *Home {
	for i := range f.Homes {
		rel, err := filepath.Rel(f.Homes[i].Projects(), path)
		if err == nil && filepath.IsLocal(rel) {
			return &f.Homes[i]
		}
	}
	return nil
}

// byID looks through the names of all logs: those whose id is ref, those whose
// id begins with it, and all.
func (f *Finder) byID(ctx context.Context, ref string, q Query) (exact, begins, all []*file, err error) {
	all, err = f.names(ctx, Query{Source: q.Source})
	if err != nil {
		return nil, nil, nil, err
	}
	want := strings.ToLower(ref)
	for _, fl := range all {
		id := strings.ToLower(fl.id())
		switch {
		case id == want:
			exact = append(exact, fl)
		case len(want) >= minPrefix && strings.HasPrefix(id, want):
			begins = append(begins, fl)
		}
	}
	return f.described(exact), f.described(begins), all, nil
}

// described returns the files that are logs indeed, described, each once: a link
// to another log of its folder stands for that one.
func (f *Finder) described(named []*file) []*file {
	var out []*file
	seen := make(map[string]bool)
	for _, n := range named {
		path := n.path
		if st, err := f.FS.Lstat(path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			path = aliased(path)
		}
		fl, err := f.stat(n.home, path)
		if err == nil && !seen[path] {
			seen[path] = true
			out = append(out, fl)
		}
	}
	return out
}

// choose picks one of the files that a reference means: the only one, or the only
// one of the project among copies of one session.
func (f *Finder) choose(ref string, files []*file, q Query) (Match, error) {
	found := make([]*Session, len(files))
	for i, fl := range files {
		found[i] = f.load(fl)
		if q.Project != nil {
			found[i].Kin = q.Project.Kin(found[i].FirstCWD)
		}
	}
	slices.SortStableFunc(found, newestFirst)
	return choose(ref, found)
}

// choose is the one rule by which several sessions that match become one, be they
// of one worktree or of many (anthropics/claude-code#84499): copies of one id in
// this very directory win over others.
func choose(ref string, found []*Session) (Match, error) {
	if len(found) == 1 {
		return Match{Session: found[0]}, nil
	}
	amb := &AmbiguousError{Ref: ref, Sessions: found}
	if !amb.SameID() {
		return Match{}, amb
	}
	for _, k := range []Kin{KinHere, KinWorktree} {
		var here *Session
		for _, s := range found {
			if s.Kin != k {
				continue
			}
			if here != nil {
				return Match{}, amb
			}
			here = s
		}
		if here != nil {
			m := Match{Session: here}
			for _, s := range found {
				if s != here {
					m.Copies = append(m.Copies, s)
				}
			}
			return m, nil
		}
	}
	return Match{}, amb
}

// byTitle looks for ref among the titles. ids are all logs, for the error.
func (f *Finder) byTitle(ctx context.Context, ref string, q Query, ids []*file) (Match, error) {
	l, err := f.All(ctx, q)
	if err != nil {
		return Match{}, err
	}
	if found := titled(ref, l.Sessions); len(found) > 0 {
		return choose(ref, found)
	}
	miss := &NotFoundError{Ref: ref, Near: f.near(ref, l.Sessions, ids)}
	if q.Project != nil {
		all, err := f.All(ctx, Query{Source: q.Source})
		if err != nil {
			return Match{}, err
		}
		miss.Elsewhere = titled(ref, all.Sessions)
	}
	return Match{}, miss
}

// titled returns the sessions whose title or name is ref, else those where it is
// a part of it.
func titled(ref string, sessions []*Session) []*Session {
	want := foldText(ref)
	var whole, part []*Session
	for _, s := range sessions {
		best := 0
		for _, t := range []string{s.Title, s.AgentName} {
			switch t = foldText(t); {
			case t == want:
				best = 2
			case best == 0 && strings.Contains(t, want):
				best = 1
			}
		}
		switch best {
		case 2:
			whole = append(whole, s)
		case 1:
			part = append(part, s)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return part
}

// foldText makes texts equal that people take for the same: case and white space.
func foldText(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// nearMax is how many sessions an error proposes.
const nearMax = 5

// near returns the sessions whose id or title is written like ref.
func (f *Finder) near(ref string, sessions []*Session, ids []*file) []*Session {
	type scored struct {
		s    *Session
		fl   *file // not looked into yet
		miss int
	}
	var out []scored
	want := foldText(ref)
	limit := max(2, len([]rune(want))/4)
	seen := make(map[string]bool)
	for _, s := range sessions {
		words := append(strings.Fields(foldText(s.Title)), foldText(s.Title))
		d := limit + 1
		for _, w := range words {
			d = min(d, distance(want, w, limit))
		}
		if d <= limit {
			seen[s.Path] = true
			out = append(out, scored{s, nil, d})
		}
	}
	for _, fl := range ids {
		id := strings.ToLower(fl.id())
		if len(want) >= minPrefix && len(want) < len(id) {
			id = id[:len(want)]
		}
		if d := distance(want, id, limit); d <= limit && !seen[fl.path] {
			out = append(out, scored{nil, fl, d})
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return a.miss - b.miss })
	var best []*Session
	for _, o := range out {
		if len(best) == nearMax {
			break
		}
		if o.s != nil {
			best = append(best, o.s)
		} else if fl := f.described([]*file{o.fl}); len(fl) == 1 {
			best = append(best, f.load(fl[0]))
		}
	}
	return best
}

// distance is the number of edits between two texts, limit+1 when more.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range x {
		diag, low := row[0], i+1
		row[0] = i + 1
		for j, d := range y {
			next := diag
			if c != d {
				next = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], next
			low = min(low, next)
		}
		if low > limit {
			return limit + 1
		}
	}
	return min(row[len(y)], limit+1)
}
