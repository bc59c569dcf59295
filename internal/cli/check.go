package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"varve.dev/internal/sources"
	"varve.dev/internal/term"
	"varve.dev/transcript"
)

// checkCmd is `varve sessions check`.
type checkCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"Ids, titles or files. Without any: the session used last."`
	All bool     `help:"Every session of this project, with --all-projects of all."`
}

// Help is the manual of the command.
func (*checkCmd) Help() string {
	return `Each finding is one line: FILE:LINE: KIND: DETAIL. Notes are about things that harm nothing. Logs of sub-agents are checked with their session's. The exit code is 1 when anything is damaged or cannot be read.`
}

// checkJSON is the document of `varve sessions check --json`; files follow.
type checkJSON struct {
	Checked int `json:"checked"` // files
}

// fileJSON is what is wrong with one file.
type fileJSON struct {
	Path    string      `json:"path"`
	Session string      `json:"session"`
	Agent   string      `json:"agent,omitempty"`
	Records int         `json:"records"`
	Size    int64       `json:"size"`
	Damaged bool        `json:"damaged"`
	Faults  []faultJSON `json:"faults"`
	Error   string      `json:"error,omitempty"`
}

type faultJSON struct {
	transcript.Fault
	Harmless bool `json:"harmless"`
}

// target is one file to check.
type target struct {
	path, session, agent string
	size                 int64
	err                  error // why it cannot be read
}

// Run checks logs, those of sub-agents with their session's.
func (c *checkCmd) Run(ctx context.Context, a *app, g *grammar) error {
	if c.All && len(c.IDs) > 0 {
		return &usageError{errors.New("name sessions or use --all, not both")}
	}
	targets, err := c.targets(ctx, a, &g.Sessions)
	if err != nil {
		return err
	}
	k := checker{a: a, bar: a.out.progress("Checking", total(targets))}
	defer k.bar.Done()
	if g.Sessions.JSON {
		err = a.out.json(checkJSON{len(targets)}, "files", func(yield func(any, error) bool) {
			for _, t := range targets {
				f, err := k.check(ctx, t)
				if !yield(f, err) || err != nil {
					return
				}
			}
		})
	} else {
		err = k.print(ctx, targets)
	}
	if err == nil && k.damage+k.unreadable > 0 {
		err = &damagedError{}
	}
	return err
}

// targets are the files that the command line names.
func (c *checkCmd) targets(ctx context.Context, a *app, s *sessionsCmd) ([]target, error) {
	var found []*sources.Session
	if c.All {
		q, err := s.query(a)
		if err != nil {
			return nil, err
		}
		l, err := a.finder.All(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, k := range l.Skipped {
			a.out.note("Skipped %s: %s.", a.home(k.Path), k.Err)
		}
		found = l.Sessions
	} else {
		ids := c.IDs
		if len(ids) == 0 {
			ids = []string{""}
		}
		for _, id := range ids {
			one, err := s.find(ctx, a, id)
			if err != nil {
				return nil, err
			}
			found = append(found, one)
		}
	}
	var out []target
	for _, one := range found {
		out = append(out, target{one.Path, one.ID, "", one.Size, one.Err})
		if one.Err != nil {
			continue
		}
		agents, skipped := a.finder.Agents(one)
		for _, g := range agents {
			out = append(out, target{g.Path, one.ID, g.ID, g.Size, nil})
		}
		for _, k := range skipped {
			a.out.note("Skipped %s: %s.", a.home(k.Path), k.Err)
		}
	}
	return out, nil
}

func total(targets []target) (n int64) {
	for _, t := range targets {
		n += t.size
	}
	return n
}

// checker goes through files and counts.
type checker struct {
	a    *app
	bar  *term.Progress
	done int64 // bytes of the files behind us

	records, damage, notes, unreadable int
}

// check reads one file in full. Only the end of ctx is an error: a file that
// cannot be read is a finding.
func (k *checker) check(ctx context.Context, t target) (fileJSON, error) {
	out := fileJSON{Path: t.path, Session: t.session, Agent: t.agent, Size: t.size, Faults: []faultJSON{}}
	faults, records, err := k.read(ctx, t)
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	k.done += t.size
	k.bar.Set(k.done)
	if err != nil {
		k.unreadable++
		out.Error, out.Damaged = err.Error(), true
		return out, nil
	}
	out.Records = records
	k.records += records
	for _, f := range faults {
		out.Faults = append(out.Faults, faultJSON{f, f.Harmless()})
		if f.Harmless() {
			k.notes++
			continue
		}
		k.damage++
		out.Damaged = true
	}
	return out, nil
}

func (k *checker) read(ctx context.Context, t target) ([]transcript.Fault, int, error) {
	if t.err != nil {
		return nil, 0, t.err
	}
	log, err := transcript.ReadFile(ctx, t.path, transcript.ReadOptions{})
	if err != nil {
		return nil, 0, pathless(err)
	}
	faults, err := log.Check(ctx, func(n int64) { k.bar.Set(k.done + n) })
	if err == nil {
		faults, err = k.withoutBorrowed(ctx, t.path, log, faults)
	}
	if cerr := log.Close(); err == nil {
		err = cerr
	}
	return faults, len(log.Entries), err
}

// withoutBorrowed drops what is no fault in a sub-agent's log: the reference
// client lets entries of the requests that compact a session name parents that
// stand in the session's own log.
func (k *checker) withoutBorrowed(ctx context.Context, path string, log *transcript.Log, faults []transcript.Fault) ([]transcript.Fault, error) {
	dir := filepath.Dir(path)
	missing := func(f transcript.Fault) bool { return f.Kind == transcript.FaultMissingParent }
	if filepath.Base(dir) != "subagents" || !slices.ContainsFunc(faults, missing) {
		return faults, nil
	}
	owner, err := transcript.ReadFile(ctx, filepath.Dir(dir)+".jsonl", transcript.ReadOptions{})
	if err != nil {
		return faults, ctx.Err() // there is no session beside it: the parents are missing
	}
	parent := make(map[int]string)
	for _, e := range log.Entries {
		parent[e.Line] = e.ParentUUID
	}
	faults = slices.DeleteFunc(faults, func(f transcript.Fault) bool { return missing(f) && owner.ByUUID(parent[f.Line]) != nil })
	return faults, owner.Close()
}

// pathless strips from an error what is printed before it.
func pathless(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// print writes the findings in the form that editors understand, then a summary.
func (k *checker) print(ctx context.Context, targets []target) error {
	out := k.a.out
	for _, t := range targets {
		f, err := k.check(ctx, t)
		if err != nil {
			return err
		}
		name := relative(t.path)
		if f.Error != "" {
			out.line("%s: %s", name, styled{red, "cannot be read: " + f.Error})
		}
		for _, x := range f.Faults {
			look, kind := red, string(x.Kind)
			if x.Harmless {
				look, kind = dim, "note: "+kind
			}
			out.line("%s:%d: %s: %s", name, x.Line, styled{look, kind}, x.Detail)
		}
		if out.terminalErr {
			continue // the picture of the progress stands there; the findings wait for its end
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
	k.bar.Done()
	verdict := styled{green, "no damage"}
	if k.damage > 0 {
		verdict = styled{red, count(k.damage, "damaged place")}
	}
	text := ""
	if k.notes > 0 {
		text += ", " + count(k.notes, "note")
	}
	if k.unreadable > 0 {
		text += fmt.Sprintf(", %s that cannot be read", count(k.unreadable, "file"))
	}
	out.line("%s, %s: %s%s.", count(len(targets), "file"), count(k.records, "record"), verdict, text)
	return nil
}

// relative shortens a path for people who stand near it.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, ok := cutPrefixDir(path, wd); ok {
		return rel
	}
	return path
}
