package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/replay"
	"varve.dev/internal/sources"
	"varve.dev/transcript"
)

// compactCmd is `varve compact`.
type compactCmd struct {
	ID     string `arg:"" help:"Id, the beginning of one, title, or file."`
	From   string `placeholder:"UUID" xor:"what" help:"Summarize this message and what follows it; what stands before is kept."`
	UpTo   string `placeholder:"UUID" xor:"what" help:"Summarize what stands before this message; it and what follows are kept."`
	Undo   bool   `xor:"what" help:"Take the newest compaction back: what it covered returns, later turns stay."`
	DryRun bool   `help:"Only say what would happen; works on sessions of other agents too."`
	JSON   bool   `name:"json" help:"Print a JSON document."`
	windowFlags
}

// Help is the manual of the command.
func (*compactCmd) Help() string {
	return `The conversation is summarized by the ledger: facts by rules, no model. Nothing leaves the log: a boundary is appended, the list of what left the context stands on it, and --undo takes it back. --from and --up-to take the uuid of a message, or the beginning of one; ` + "`varve sessions show --chain`" + ` lists them.`
}

// compactJSON is the document of `varve compact --json`.
type compactJSON struct {
	Schema   int           `json:"schema"` // 1
	ID       string        `json:"id"`
	Path     string        `json:"path"`
	Done     bool          `json:"done"` // false: nothing to do
	DryRun   bool          `json:"dryRun"`
	Rungs    []string      `json:"rungs"`
	Before   int           `json:"before"` // tokens of the next request
	After    int           `json:"after"`
	Boundary string        `json:"boundary,omitempty"`
	Kept     int           `json:"keptEntries"`
	Loss     *compact.Loss `json:"loss,omitempty"`
	Summary  string        `json:"summary,omitempty"` // what stands for it
}

// Run compacts one session, or undoes it.
func (c *compactCmd) Run(ctx context.Context, a *app, g *grammar) error {
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return err
	}
	if !c.DryRun && s.Source != sources.SourceVarve {
		return &usageError{fmt.Errorf("%s is a session of another program, which is only read: --dry-run shows what would happen, `varve replay %s` makes a session of it that is Varve's", s.ID, s.ID)}
	}
	o, err := c.open(ctx, a, s, !c.DryRun)
	if err != nil {
		return err
	}
	doc, err := c.do(ctx, a, o)
	if cerr := o.close(context.WithoutCancel(ctx)); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return a.out.json(doc, "", nil)
	}
	c.print(a, s, doc)
	return nil
}

func (c *compactCmd) do(ctx context.Context, a *app, o *opened) (*compactJSON, error) {
	seen := len(o.engine.Log().Entries)
	var rep engine.Report
	var err error
	if c.Undo {
		v := o.engine.View()
		if v.Boundary == nil {
			return nil, errors.New("there is nothing to undo: no compaction is in force")
		}
		rep, err = o.engine.Undo(ctx, v.Boundary.UUID)
	} else {
		var ask engine.Ask
		if ask.From, err = messageNamed(o.engine, c.From); err != nil {
			return nil, err
		}
		if ask.UpTo, err = messageNamed(o.engine, c.UpTo); err != nil {
			return nil, err
		}
		var why []string
		o.ladder.Policy = a.compactPolicy()
		o.ladder.Observe = func(e compact.Event) { why = append(why, e.Detail) }
		rep, err = o.engine.Compact(ctx, ask)
		if err == nil && len(rep.Rungs) == 0 && len(why) > 0 {
			a.out.note("Note: %s", strings.Join(why, "; "))
		}
	}
	var full *engine.FullError
	if errors.As(err, &full) {
		return nil, fmt.Errorf("what the compaction covered does not fit the window any more: %s tokens, room for %s; --window or --model name a larger one", replay.Tokens(full.Total), replay.Tokens(full.Effective))
	}
	if err != nil {
		return nil, err
	}
	doc := &compactJSON{Schema: 1, ID: o.s.ID, Path: o.s.Path, Done: len(rep.Rungs) > 0, DryRun: c.DryRun, Rungs: rep.Rungs, Before: rep.Before, After: rep.After}
	if doc.Rungs == nil {
		doc.Rungs = []string{}
	}
	return doc, doc.take(o.engine.Log().Entries[seen:])
}

// take notes what the appended entries say.
func (d *compactJSON) take(entries []*transcript.Entry) error {
	for _, x := range entries {
		switch {
		case x.IsBoundary():
			b, err := x.Boundary()
			if err != nil {
				return err
			}
			d.Boundary = x.UUID
			if b.PreservedMessages != nil {
				d.Kept = len(b.PreservedMessages.UUIDs)
			}
			var loss compact.Loss
			if len(b.Own.Loss) > 0 && json.Unmarshal(b.Own.Loss, &loss) == nil {
				d.Loss = &loss
			}
		case x.CompactSummary:
			m, err := x.Message()
			if err != nil {
				return err
			}
			for _, b := range m.Content {
				d.Summary += b.Text
			}
		}
	}
	return nil
}

// messageNamed finds the message of the view whose uuid begins with ref.
func messageNamed(e *engine.Engine, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	found := ""
	for _, m := range e.View().Messages {
		for _, b := range m.Blocks {
			if b.Entry == "" || b.Entry == found || !strings.HasPrefix(b.Entry, ref) {
				continue
			}
			if found != "" {
				return "", &usageError{fmt.Errorf("%s means several messages; give more of the uuid", ref)}
			}
			found = b.Entry
		}
	}
	if found == "" {
		return "", &usageError{fmt.Errorf("no message of the context has a uuid that begins with %s; `varve sessions show --chain` lists them", ref)}
	}
	return found, nil
}

func (c *compactCmd) print(a *app, s *sources.Session, d *compactJSON) {
	if !d.Done {
		a.out.line("There is nothing to do: the context has %s tokens and would not get smaller.", replay.Tokens(d.Before))
		return
	}
	did, size := "Compacted", fmt.Sprintf("%s → %s tokens", replay.Tokens(d.Before), replay.Tokens(d.After))
	switch {
	case c.Undo && c.DryRun:
		did = "The newest compaction would be undone"
	case c.Undo:
		did = "The newest compaction is undone"
	case c.DryRun:
		did = "It would be compacted"
	}
	a.out.line("%s: %s.", did, size)
	if d.Loss != nil {
		a.out.line("Left the context: %s tokens of %s (%s).", replay.Tokens(d.Loss.Tokens), count(d.Loss.Messages, "message"), replay.Sizes(d.Loss.Kinds))
	}
	if d.Kept > 0 {
		a.out.line("Kept as they were: %s.", countOf(d.Kept, "entry", "entries"))
	}
	if d.Summary != "" && c.DryRun {
		a.out.line("")
		a.out.line("%s", prose(d.Summary))
	}
	if c.DryRun {
		a.out.note("Nothing was written.")
		return
	}
	if !c.Undo {
		a.out.line("All of it is in the log; `varve compact %s --undo` takes it back.", s.ID)
	}
}
