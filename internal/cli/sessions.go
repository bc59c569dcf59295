package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"varve.dev/internal/sources"
	"varve.dev/transcript"
)

// sessionsCmd is `varve sessions` and the flags that all below it share.
type sessionsCmd struct {
	AllProjects bool   `short:"a" help:"Sessions of all projects, not only of this directory."`
	Project     string `short:"C" placeholder:"DIR" type:"path" help:"Sessions of this directory instead of the current one."`
	Source      string `placeholder:"NAME" help:"Only sessions of one source: varve or claude."`
	JSON        bool   `name:"json" help:"Print a JSON document."`

	List   listCmd   `cmd:"" default:"withargs" help:"List sessions, the last used first."`
	Show   showCmd   `cmd:"" help:"Show what was said and done in a session."`
	Check  checkCmd  `cmd:"" help:"Name everything that is wrong with a log, by line."`
	Export exportCmd `cmd:"" help:"Write a session as Markdown, HTML or JSON, secrets removed."`
}

// query is the part of the command line that says which sessions are meant.
func (s *sessionsCmd) query(a *app) (sources.Query, error) {
	q := sources.Query{Source: s.Source}
	switch s.Source {
	case "", sources.SourceVarve, sources.SourceClaude:
	default:
		return q, &usageError{fmt.Errorf("--source takes varve or claude, not %s", s.Source)}
	}
	if s.AllProjects {
		return q, nil
	}
	p, err := s.project(a)
	q.Project = p
	return q, err
}

func (s *sessionsCmd) project(a *app) (*sources.Project, error) {
	dir := s.Project
	if dir == "" {
		wd, err := a.env.Getwd()
		if err != nil {
			return nil, fmt.Errorf("the current directory is gone: %w; name one with --project, or use --all-projects", err)
		}
		dir = wd
	} else if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, &usageError{fmt.Errorf("--project %s: not a directory", dir)}
	}
	return sources.NewProject(dir, sources.Paths{}), nil
}

// find returns the session that ref means, and says on standard error what the
// user should know about the choice. An empty ref means the one used last.
func (s *sessionsCmd) find(ctx context.Context, a *app, ref string) (*sources.Session, error) {
	q, err := s.query(a)
	if err != nil {
		return nil, err
	}
	if ref == "" {
		return s.latest(ctx, a, q)
	}
	m, err := a.finder.Find(ctx, ref, q)
	if err != nil {
		return nil, err
	}
	for _, c := range m.Copies {
		a.out.note("Note: another log has this id and is left alone: %s", c.Path)
	}
	if m.Err != nil {
		return nil, fmt.Errorf("%s: %w", m.Path, m.Err)
	}
	return m.Session, nil
}

func (s *sessionsCmd) latest(ctx context.Context, a *app, q sources.Query) (*sources.Session, error) {
	l, err := a.finder.All(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, c := range l.Sessions {
		if c.Err == nil && c.Messages > 0 && (q.Project == nil || c.Kin == sources.KinHere) {
			return c, nil
		}
	}
	return nil, errors.New("there is no session here yet; `varve sessions list --all-projects` lists those of other directories")
}

// elsewhere says that a session is one of another project, and of which (S-5).
func (a *app) elsewhere(s *sources.Session) {
	if s.Dir() == "" {
		return
	}
	a.out.note("Note: this is a session of another project, %s.", s.Dir())
}

// reportMissing answers a reference that means nothing.
func (a *app) reportMissing(e *sources.NotFoundError) {
	a.out.note("varve: %s.", e.Error())
	near := e.Near
	if len(e.Elsewhere) > 0 {
		near = e.Elsewhere[:min(len(e.Elsewhere), 5)]
		a.out.note("Use --all-projects, or the id:")
	} else if len(near) > 0 {
		a.out.note("Did you mean:")
	}
	for _, s := range near {
		a.out.note("  %s  %s  %s", s.ID, a.when(s.Time()), s.Name())
	}
	a.out.note("`varve sessions list` lists the sessions of this directory, with --all-projects those of all.")
}

// reportAmbiguous lists what a reference may mean, and how to say which.
func (a *app) reportAmbiguous(e *sources.AmbiguousError) {
	a.out.note("varve: %s:", e.Error())
	const most = 10
	for _, s := range e.Sessions[:min(len(e.Sessions), most)] {
		if e.SameID() {
			a.out.note("  %s  %s  %s", a.when(s.Time()), s.Path, s.Name())
		} else {
			a.out.note("  %s  %s  %s", s.ID, a.when(s.Time()), s.Name())
		}
	}
	if n := len(e.Sessions) - most; n > 0 {
		a.out.note("  … and %d more", n)
	}
	if e.SameID() {
		a.out.note("Name the one you mean by its path.")
	} else {
		a.out.note("Name the one you mean by its id.")
	}
}

// when writes a time for people: how long ago while that is easier to read, else
// the date.
func (a *app) when(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	now := a.env.Now()
	switch d := now.Sub(t); {
	case d < 0 || d > 6*24*time.Hour || !a.out.terminal:
		return t.Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case t.Local().YearDay() == now.Local().YearDay():
		return "today " + t.Local().Format("15:04")
	default:
		return t.Local().Format("Mon 15:04")
	}
}

// home writes a path with ~ for the user's home directory.
func (a *app) home(path string) string {
	if h := a.env.UserHome; h != "" && h != "/" {
		if path == h {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, h+string(filepath.Separator)); ok {
			return "~" + string(filepath.Separator) + rest
		}
	}
	return path
}

// sessionJSON is a session as `--json` shows it.
type sessionJSON struct {
	ID          string             `json:"id"`
	Source      string             `json:"source"` // varve, claude; empty for a file outside of the homes
	Path        string             `json:"path"`
	Project     string             `json:"project"`            // directory it was started in
	Relation    string             `json:"relation,omitempty"` // here, worktree, unknown: to the project asked for
	Title       string             `json:"title"`
	TitleFrom   string             `json:"titleFrom,omitempty"`
	FirstPrompt string             `json:"firstPrompt"`
	LastPrompt  string             `json:"lastPrompt,omitempty"`
	Tag         string             `json:"tag,omitempty"`
	Agent       string             `json:"agent,omitempty"`
	Branch      string             `json:"branch,omitempty"`
	PR          *transcript.PRLink `json:"pr,omitempty"`
	ForkedFrom  string             `json:"forkedFrom,omitempty"`
	Version     string             `json:"version,omitempty"`
	Started     *time.Time         `json:"started"`
	LastUsed    *time.Time         `json:"lastUsed"`
	Messages    int                `json:"messages"`
	Estimated   bool               `json:"messagesEstimated"`
	Size        int64              `json:"size"`
	Damaged     bool               `json:"damaged"`
	Faults      []transcript.Fault `json:"faults,omitempty"` // in the parts a listing reads
	Error       string             `json:"error,omitempty"`
}

func describe(s *sources.Session) sessionJSON {
	out := sessionJSON{ID: s.ID, Source: s.Source, Path: s.Path, Project: s.Dir(), Title: s.Title, TitleFrom: s.TitleFrom,
		FirstPrompt: s.FirstPrompt, LastPrompt: s.LastPrompt, Tag: s.Tag, Agent: s.AgentName, Branch: s.Branch, PR: s.PR,
		ForkedFrom: s.ForkedFrom, Version: s.Version, Started: timeJSON(s.First), LastUsed: timeJSON(s.Time()),
		Messages: s.Messages, Estimated: !s.Whole, Size: s.Size, Damaged: s.Damaged() || s.Err != nil, Faults: s.Faults}
	switch s.Kin {
	case sources.KinHere:
		out.Relation = "here"
	case sources.KinWorktree:
		out.Relation = "worktree"
	case sources.KinUnknown:
		out.Relation = "unknown"
	case sources.KinNone:
	}
	if s.Err != nil {
		out.Error = s.Err.Error()
	}
	return out
}

func timeJSON(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// cutPrefixDir returns path without the directory before it.
func cutPrefixDir(path, dir string) (string, bool) {
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}
