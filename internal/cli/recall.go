package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"varve.dev/internal/recall"
	"varve.dev/transcript"
)

// recallCmd is `varve recall`.
type recallCmd struct {
	ID    string   `arg:"" help:"Id of the session, the beginning of one, title, or file; also a file of Codex, Gemini CLI, opencode or pi."`
	Words []string `arg:"" optional:"" help:"What to look for."`
	Call  string   `name:"id" placeholder:"TOOLUSE" help:"The tool call with this id, and its result, whole."`
	Path  string   `placeholder:"FILE" help:"The calls that name this file, in the order of the log."`
	Limit int      `default:"10" help:"Hits at most."`
	JSON  bool     `name:"json" help:"Print a JSON document."`
}

// Help is the manual of the command.
func (*recallCmd) Help() string {
	return `The whole log is searched, through every compaction and on every branch: nothing that was recorded is lost to it. Each hit says whether it is still in the context, and which compaction took it out. Parts of identifiers are found too, and words of scripts without blanks.`
}

// recallJSON is the document of `varve recall --json`.
type recallJSON struct {
	Schema int    `json:"schema"` // 1
	ID     string `json:"id"`
	Path   string `json:"path"`
	*recall.Result
}

// Run searches one session.
func (c *recallCmd) Run(ctx context.Context, a *app, g *grammar) error {
	asked := 0
	for _, is := range []bool{len(c.Words) > 0, c.Call != "", c.Path != ""} {
		if is {
			asked++
		}
	}
	if asked != 1 {
		return &usageError{errors.New("say what to look for: words, or --id TOOLUSE, or --path FILE")}
	}
	id, path, log, err := c.open(ctx, a, g)
	if err != nil {
		return err
	}
	defer log.Close()
	var res *recall.Result
	switch {
	case c.Call != "":
		res, err = recall.Call(ctx, log, c.Call)
	case c.Path != "":
		res, err = recall.Path(ctx, log, c.Path, c.Limit)
	default:
		res, err = recall.Search(ctx, log, strings.Join(c.Words, " "), c.Limit)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return a.out.json(recallJSON{1, id, path, res}, "", nil)
	}
	for i, h := range res.Hits {
		if i > 0 {
			a.out.line("")
		}
		a.hit(h, c.Call != "")
	}
	if len(res.Hits) == 0 {
		a.out.line("Nothing of that is in the log.")
		return nil
	}
	switch {
	case c.Call != "":
	case path == c.ID: // a file of another agent, which only replay and recall read
		a.out.note("%s of %s; `varve recall %s --id …` shows a call whole.", countOf(len(res.Hits), "hit", "hits"), countOf(res.Matched, "entry that matches", "entries that match"), id)
	default:
		a.out.note("%s of %s; `varve recall %s --id …` shows a call whole, `varve sessions show %s --full` everything.", countOf(len(res.Hits), "hit", "hits"),
			countOf(res.Matched, "entry that matches", "entries that match"), id, id)
	}
	return nil
}

// open reads the log of a session, or what a file of another agent is as one.
func (c *recallCmd) open(ctx context.Context, a *app, g *grammar) (id, path string, log *transcript.Log, err error) {
	other, err := a.foreignSession(ctx, c.ID)
	if err != nil {
		return "", "", nil, err
	}
	if other != nil {
		return c.ID, c.ID, other.Log(), nil
	}
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return "", "", nil, strangeFile(c.ID, err)
	}
	log, err = transcript.ReadFile(ctx, s.Path, transcript.ReadOptions{})
	return s.ID, s.Path, log, err
}

// hit prints one hit: where it stands, and what it says.
func (a *app) hit(h recall.Hit, whole bool) {
	kind := h.Kind
	if h.Tool != "" {
		kind += " " + h.Tool
	}
	where := ""
	switch h.State {
	case recall.InContext:
		where = "in the context"
	case recall.Compacted:
		where = "left the context"
		if h.At > 0 {
			where = fmt.Sprintf("left the context with the compaction on line %d", h.At)
		}
	case recall.Cleared:
		where = "cleared from the context"
	case recall.Branch:
		where = "on another branch"
	case recall.Aside:
		where = "beside the conversation"
	}
	if h.Call != "" {
		where += " · " + h.Call
	}
	a.out.line("%s · %s · %s · %s", styled{bold, fmt.Sprintf("line %d", h.Line)}, a.when(h.Time), styled{cyan, kind}, styled{dim, where})
	if whole {
		a.out.line("%s", prose(h.Text))
		return
	}
	text := strings.Builder{}
	last := 0
	for _, m := range h.Marks {
		text.WriteString(h.Snippet[last:m[0]] + "«" + h.Snippet[m[0]:m[1]] + "»")
		last = m[1]
	}
	a.out.line("  %s", text.String()+h.Snippet[last:])
}
