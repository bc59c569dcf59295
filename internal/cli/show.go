package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/internal/sources"
	"varve.dev/transcript"
)

// showCmd is `varve sessions show`.
type showCmd struct {
	ID    string `arg:"" optional:"" help:"Id, the beginning of one, title, or file. Without it: the session used last."`
	Chain bool   `xor:"view" help:"What a resumed session would hold, one line for each entry."`
	Tree  bool   `xor:"view" help:"All branches, as a tree of prompts."`
	Raw   bool   `xor:"view" help:"The bytes of the file."`
	Agent string `placeholder:"ID" help:"The log of this sub-agent."`
	Full  bool   `help:"Also what is shortened or left out: long results, thinking, injected text."`
}

// Help is the manual of the command.
func (*showCmd) Help() string {
	return `The conversation is shown from its start, through every compaction. --chain shows what a resumed session would hold instead, by line of the file; --tree shows every branch, the one that continues last. With --json each view prints its entries.`
}

// Run shows one session.
func (c *showCmd) Run(ctx context.Context, a *app, g *grammar) error {
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return err
	}
	if c.ID != "" && !g.Sessions.AllProjects && s.Kin == sources.KinNone && s.Source != "" {
		a.elsewhere(s)
	}
	agents, skipped := a.finder.Agents(s)
	for _, k := range skipped {
		a.out.note("Skipped %s: %s.", a.home(k.Path), k.Err)
	}
	path := s.Path
	if c.Agent != "" {
		if path, err = agentPath(agents, c.Agent); err != nil {
			return err
		}
	}
	if c.Raw {
		if g.Sessions.JSON {
			return &usageError{errors.New("--raw prints the file as it is; it cannot be combined with --json")}
		}
		return showRaw(a, path)
	}
	log, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{})
	if err != nil {
		return err
	}
	defer log.Close()
	v := view{a: a, s: s, log: log, agents: agents, full: c.Full}
	if c.Agent != "" {
		v.sub = strings.TrimPrefix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), "agent-")
	}
	if g.Sessions.JSON {
		return v.json(ctx, c)
	}
	switch {
	case c.Chain:
		err = v.chain(ctx)
	case c.Tree:
		err = v.tree(ctx)
	default:
		err = v.talk(ctx)
	}
	if n := harmful(log.Faults); n > 0 {
		a.out.note("This log is damaged in %s; `varve sessions check %s` names them.", count(n, "place"), s.ID)
	}
	return err
}

// view shows one log.
type view struct {
	a      *app
	s      *sources.Session
	log    *transcript.Log
	agents []sources.Agent
	full   bool
	sub    string // id of the sub-agent whose log it is
}

// agentPath finds a sub-agent by its id or the beginning of it.
func agentPath(agents []sources.Agent, id string) (string, error) {
	id = strings.TrimPrefix(id, "agent-")
	var found []sources.Agent
	for _, g := range agents {
		if g.ID == id {
			return g.Path, nil
		}
		if strings.HasPrefix(g.ID, id) {
			found = append(found, g)
		}
	}
	if len(found) == 1 {
		return found[0].Path, nil
	}
	if len(agents) == 0 {
		return "", fmt.Errorf("no sub-agent %q: the session has none", id)
	}
	names := make([]string, len(agents))
	for i, g := range agents {
		names[i] = g.ID
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%q means several sub-agents; the session has %s", id, strings.Join(names, ", "))
	}
	return "", fmt.Errorf("no sub-agent %q; the session has %s", id, strings.Join(names, ", "))
}

func showRaw(a *app, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = a.out.document(func(w io.Writer) error {
		_, err := io.Copy(w, f)
		return err
	})
	return errors.Join(err, f.Close())
}

func harmful(faults []transcript.Fault) int {
	n := 0
	for _, f := range faults {
		if !f.Harmless() {
			n++
		}
	}
	return n
}

// header says which session is shown.
func (v *view) header() {
	out, s := v.a.out, v.s
	if name := s.Name(); name != "" {
		out.line("%s", styled{bold, v.fit(name, 0)})
	}
	facts := []string{s.ID}
	add := func(f string) {
		if f != "" {
			facts = append(facts, f)
		}
	}
	if s.Source != sources.SourceVarve {
		add(s.Source)
	}
	add(v.a.home(s.Dir()))
	add(s.Branch)
	if s.PR != nil {
		add(fmt.Sprintf("PR #%d", s.PR.Number))
	}
	if s.Tag != "" {
		add("#" + s.Tag)
	}
	if s.ForkedFrom != "" {
		add("forked from " + s.ForkedFrom)
	}
	out.line("%s", styled{dim, strings.Join(facts, " · ")})
	if v.sub != "" {
		out.line("%s", styled{dim, "sub-agent " + v.sub})
		return
	}
	if !s.First.IsZero() {
		out.line("%s", styled{dim, v.a.when(s.First) + " – " + v.a.when(s.Last)})
	}
	for _, g := range v.agents {
		kind := g.Type
		if g.Compaction {
			kind = "compaction"
		}
		out.line("%s", styled{dim, strings.TrimSpace("sub-agent " + g.ID + "  " + kind + "  " + g.Description)})
	}
}

// chain lists what a resumed session would hold.
func (v *view) chain(ctx context.Context) error {
	tip := v.log.Tip()
	if tip == nil {
		v.a.out.note("The log holds no conversation.")
		return nil
	}
	c := v.log.Chain(tip)
	mark := make(map[*transcript.Entry]string)
	for _, e := range c.Kept {
		mark[e] = "kept"
	}
	for _, e := range c.Recovered {
		mark[e] = "beside"
	}
	gaps := v.gaps(c)
	for _, e := range inOrder(c) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if g, ok := gaps[e]; ok {
			v.a.out.line("%s", styled{yellow, gapText(g)})
		}
		who, what := gist(e)
		v.a.out.line("%s  %s  %s  %s%s", styled{dim, fmt.Sprintf("%6d", e.Line)}, prose(pad(who, 10)), styled{dim, short(e.UUID)},
			styled{yellow, tagged(mark[e])}, v.fit(what, 32))
	}
	return nil
}

// gaps are the places where something is missing, by the entry behind them. A
// sub-agent's log has none worth telling: its parents may stand in the session's.
func (v *view) gaps(c *transcript.Chain) map[*transcript.Entry]transcript.Gap {
	out := make(map[*transcript.Entry]transcript.Gap)
	if v.sub == "" {
		for _, g := range c.Gaps {
			out[g.Child] = g
		}
	}
	return out
}

func tagged(mark string) string {
	if mark == "" {
		return ""
	}
	return "[" + mark + "] "
}

// inOrder is the chain as the model reads it: kept entries stand behind the
// summary.
func inOrder(c *transcript.Chain) []*transcript.Entry {
	if len(c.Kept) == 0 {
		return c.Entries
	}
	at := min(1, len(c.Entries))
	for i, e := range c.Entries {
		if e.CompactSummary {
			at = i + 1
			break
		}
	}
	out := append([]*transcript.Entry(nil), c.Entries[:at]...)
	out = append(out, c.Kept...)
	return append(out, c.Entries[at:]...)
}

func gapText(g transcript.Gap) string {
	if g.Bridged == nil {
		return fmt.Sprintf("── line %d: what stood before it is not in the file ──", g.Child.Line)
	}
	return fmt.Sprintf("── line %d: the entry before it is not in the file; it is read behind line %d ──", g.Child.Line, g.Bridged.Line)
}

func short(uuid string) string {
	if len(uuid) > 8 {
		return uuid[:8]
	}
	return pad(uuid, 8)
}

// fit cuts a text to what is left of a line of which used columns are taken.
func (v *view) fit(s string, used int) string {
	if w := v.a.out.width; w > 0 && !v.full {
		return fitTo(s, max(20, w-used))
	}
	return s
}

// showJSON is the head of `varve sessions show --json`; entries follow.
type showJSON struct {
	Session sessionJSON        `json:"session"`
	Agents  []agentJSON        `json:"agents,omitempty"`
	Tip     string             `json:"tip,omitempty"`
	Faults  []transcript.Fault `json:"faults,omitempty"`
}

type agentJSON struct {
	ID          string `json:"id"`
	Path        string `json:"path"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	ToolUseID   string `json:"toolUseId,omitempty"`
	Compaction  bool   `json:"compaction,omitempty"`
}

// json writes the entries that the other views would show.
func (v *view) json(ctx context.Context, c *showCmd) error {
	head := showJSON{Session: describe(v.s), Faults: v.log.Faults}
	for _, g := range v.agents {
		head.Agents = append(head.Agents, agentJSON{g.ID, g.Path, g.Type, g.Description, g.ToolUseID, g.Compaction})
	}
	var entries []*transcript.Entry
	tip := v.log.Tip()
	if tip != nil {
		head.Tip = tip.UUID
	}
	switch {
	case c.Tree:
		for _, e := range v.log.Entries {
			if e.IsChain() {
				entries = append(entries, e)
			}
		}
	case tip == nil:
	case c.Chain:
		entries = inOrder(v.log.Chain(tip))
	default:
		entries = v.log.History(tip).Entries
	}
	return v.a.out.json(head, "entries", jsonEntries(ctx, entries))
}

func jsonEntries(ctx context.Context, entries []*transcript.Entry) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for _, e := range entries {
			j, err := entryToJSON(e)
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
