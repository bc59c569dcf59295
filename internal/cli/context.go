package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"varve.dev/engine"
	"varve.dev/internal/replay"
	"varve.dev/message"
	"varve.dev/tokens"
)

// contextCmd is `varve context`.
type contextCmd struct {
	ID   string `arg:"" optional:"" help:"Id, the beginning of one, title, or file. Without it: the session used last."`
	JSON bool   `name:"json" help:"Print a JSON document."`
	windowFlags
}

// Help is the manual of the command.
func (*contextCmd) Help() string {
	return `What a resumed session would send, by kind of content, as a picture of its window: each cell is half a per cent. Sizes come from the usage that the provider reported where there is any, else from an estimate. Nothing is changed.`
}

// contextJSON is the document of `varve context --json`.
type contextJSON struct {
	Schema     int            `json:"schema"` // 1
	ID         string         `json:"id"`
	Path       string         `json:"path"`
	Model      string         `json:"model"`
	Window     int            `json:"window"`
	Limits     replay.Limits  `json:"limits"`
	Total      int            `json:"total"` // tokens of the next request
	Measured   bool           `json:"measured"`
	Free       int            `json:"free"`    // until the largest prompt
	Reserve    int            `json:"reserve"` // kept for the reply
	Messages   int            `json:"messages"`
	Parts      []engine.Part  `json:"parts"`
	Tools      []toolSize     `json:"tools"`   // results by tool, the largest first
	Largest    []largeItem    `json:"largest"` // blocks
	Compaction *boundaryBrief `json:"compaction,omitempty"`
}

type toolSize struct {
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
	Count  int    `json:"count"`
}

type largeItem struct {
	Entry  string `json:"entry"`
	Line   int    `json:"line,omitempty"`
	Kind   string `json:"kind"` // type of block
	Tool   string `json:"tool,omitempty"`
	Tokens int    `json:"tokens"`
	What   string `json:"what"` // the beginning of it
}

type boundaryBrief struct {
	UUID   string `json:"uuid"`
	Rung   string `json:"rung,omitempty"`
	Before int    `json:"before"`
}

// Run shows the context of one session.
func (c *contextCmd) Run(ctx context.Context, a *app, g *grammar) error {
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return err
	}
	o, err := c.open(ctx, a, s, false)
	if err != nil {
		return err
	}
	doc := o.context()
	if err := o.close(ctx); err != nil {
		return err
	}
	if c.JSON {
		return a.out.json(doc, "", nil)
	}
	contextText{a.out, doc, s.Name()}.print()
	return nil
}

// largestItems is how many blocks are named.
const largestItems = 8

func (o *opened) context() contextJSON {
	e := o.engine
	k := e.Context()
	b := k.Budget
	doc := contextJSON{Schema: 1, ID: o.s.ID, Path: o.s.Path, Model: modelKey(o.model), Window: b.Window,
		Limits: replay.Limits{Effective: b.Effective, Auto: b.Auto, Warning: b.Warning, Blocking: b.Blocking},
		Total:  k.Total, Measured: k.Reading.Anchored, Free: k.Free, Reserve: k.Reserve, Parts: k.Parts, Tools: []toolSize{}, Largest: []largeItem{}}
	if doc.Parts == nil {
		doc.Parts = []engine.Part{}
	}
	v, log := e.View(), e.Log()
	doc.Messages = len(v.Messages)
	if v.Boundary != nil {
		doc.Compaction = &boundaryBrief{UUID: v.Boundary.UUID}
		if m, err := v.Boundary.Boundary(); err == nil {
			doc.Compaction.Rung, doc.Compaction.Before = m.Own.Rung, int(m.PreTokens)
		}
	}
	est := tokens.Estimator{Images: tokens.ImageRule(o.model.Images)}
	name, by := map[string]string{}, map[string]*toolSize{}
	for i := range v.Messages {
		for j := range v.Messages[i].Blocks {
			x := &v.Messages[i].Blocks[j]
			n := est.Block(x.Block)
			item := largeItem{Entry: x.Entry, Kind: x.Type, Tokens: n, What: shownOf(x.Block)}
			switch x.Type {
			case message.TypeToolUse:
				name[x.ID] = x.Name
				item.Tool = x.Name
			case message.TypeToolResult:
				item.Tool = cmp.Or(name[x.ToolUseID], "?")
				t := by[item.Tool]
				if t == nil {
					t = &toolSize{Tool: item.Tool}
					by[item.Tool] = t
				}
				t.Tokens += n
				t.Count++
			}
			if entry := log.ByUUID(x.Entry); entry != nil {
				item.Line = entry.Line
			}
			doc.Largest = append(doc.Largest, item)
		}
	}
	for _, t := range by {
		doc.Tools = append(doc.Tools, *t)
	}
	slices.SortFunc(doc.Tools, func(x, y toolSize) int { return cmp.Or(y.Tokens-x.Tokens, cmp.Compare(x.Tool, y.Tool)) })
	slices.SortStableFunc(doc.Largest, func(x, y largeItem) int { return y.Tokens - x.Tokens })
	doc.Largest = doc.Largest[:min(len(doc.Largest), largestItems)]
	return doc
}

// shownOf is the beginning of a block, in one line.
func shownOf(b message.Block) string {
	switch b.Type {
	case message.TypeToolUse:
		return fitTo(callGist(b.Input), gistMax)
	case message.TypeToolResult:
		return fitTo(resultText(b), gistMax)
	}
	return fitTo(b.Text, gistMax)
}

// contextText draws a context for people.
type contextText struct {
	out  *printer
	doc  contextJSON
	name string
}

// letterOf is how a kind is drawn: a letter, and a colour where there are any.
var letterOf = map[string]struct {
	letter rune
	style  style
}{
	engine.KindSystem: {'S', dim}, engine.KindTools: {'T', dim}, engine.KindMCPTools: {'M', dim}, engine.KindOptions: {'O', dim},
	engine.KindInstructions: {'I', green}, engine.KindMemory: {'Y', green}, engine.KindSummary: {'Z', bold},
	engine.KindUser: {'u', cyan}, engine.KindAssistant: {'a', plain}, engine.KindReasoning: {'r', plain},
	engine.KindCalls: {'c', yellow}, engine.KindResults: {'R', yellow}, engine.KindImages: {'i', red}, engine.KindDocuments: {'d', red},
	engine.KindAttachments: {'t', green}, engine.KindOther: {'?', red},
}

const (
	contextCells = 200
	contextRow   = 50
)

func (t contextText) print() {
	d := t.doc
	t.out.line("%s", styled{bold, "Context of " + orText(t.name, d.ID)})
	how := "estimated"
	if d.Measured {
		how = "measured by the provider, newest part estimated"
	}
	t.out.line("%s of %s tokens (%s), %s; compaction begins at %s. Window %s, model %s.", replay.Tokens(d.Total), replay.Tokens(d.Limits.Effective),
		percent(d.Total, d.Limits.Effective), how, replay.Tokens(d.Limits.Auto), replay.Tokens(d.Window), d.Model)
	if d.Total > d.Limits.Effective {
		t.out.line("It does not fit: the next request would be shortened first; `varve compact --dry-run` shows how.")
	}
	t.out.line("")
	t.grid()
	t.out.line("")
	for _, p := range d.Parts {
		l := letterOf[p.Kind]
		t.out.line("%s %s %s %s  %s", styled{l.style, string(l.letter)}, styled{plain, pad(p.Kind, 18)}, styled{plain, fmt.Sprintf("%7s", replay.Tokens(p.Tokens))},
			styled{dim, fmt.Sprintf("%6s", percent(p.Tokens, d.Window))}, styled{dim, count(p.Count, "block")})
	}
	t.out.line("%s %s %s %s", styled{dim, "·"}, styled{plain, pad("free", 18)}, styled{plain, fmt.Sprintf("%7s", replay.Tokens(d.Free))}, styled{dim, fmt.Sprintf("%6s", percent(d.Free, d.Window))})
	t.out.line("%s %s %s %s", styled{dim, "#"}, styled{plain, pad("kept for replies", 18)}, styled{plain, fmt.Sprintf("%7s", replay.Tokens(d.Reserve))}, styled{dim, fmt.Sprintf("%6s", percent(d.Reserve, d.Window))})
	if len(d.Tools) > 0 {
		t.out.line("")
		t.out.line("Results by tool: %s.", t.tools())
	}
	if len(d.Largest) > 0 {
		t.out.line("")
		t.out.line("The largest:")
		for _, x := range d.Largest {
			kind := strings.ReplaceAll(x.Kind, "_", " ")
			if x.Tool != "" {
				kind += " " + x.Tool
			}
			where := "line " + fmt.Sprint(x.Line)
			if x.Line == 0 {
				where = "made now"
			}
			t.out.line("%s  %s  %s  %s", styled{plain, fmt.Sprintf("%7s", replay.Tokens(x.Tokens))}, styled{plain, pad(kind, 20)}, styled{dim, pad(where, 10)}, fitTo(x.What, 72))
		}
	}
	if c := d.Compaction; c != nil {
		t.out.line("")
		t.out.line("Compacted from %s tokens (%s). The whole log is at %s.", replay.Tokens(c.Before), orText(c.Rung, "by another program"), d.Path)
	}
}

func percent(n, of int) string {
	if of <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

func (t contextText) tools() string {
	var out []string
	for i, x := range t.doc.Tools {
		if i == 8 {
			out = append(out, fmt.Sprintf("%d more", len(t.doc.Tools)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s %s (%d)", x.Tool, replay.Tokens(x.Tokens), x.Count))
	}
	return strings.Join(out, ", ")
}

// grid draws the window in cells of half a per cent each; the cell of the threshold
// where compaction begins is a bar when nothing stands there.
func (t contextText) grid() {
	d := t.doc
	type cell struct {
		letter rune
		style  style
	}
	cells := make([]cell, 0, contextCells)
	sum := 0
	for _, p := range d.Parts {
		sum += p.Tokens
		l := letterOf[p.Kind]
		for len(cells) < min(sum*contextCells/max(d.Window, 1), contextCells) {
			cells = append(cells, cell{l.letter, l.style})
		}
	}
	for i := len(cells); i < contextCells; i++ {
		at := i * d.Window / contextCells
		switch {
		case at >= d.Limits.Effective:
			cells = append(cells, cell{'#', dim})
		case at <= d.Limits.Auto && d.Limits.Auto < (i+1)*d.Window/contextCells:
			cells = append(cells, cell{'|', bold})
		default:
			cells = append(cells, cell{'·', dim})
		}
	}
	width := contextRow
	for t.out.width > 0 && width > t.out.width-4 && width > 10 {
		width -= 10
	}
	for i := 0; i < len(cells); i += width {
		row := cells[i:min(i+width, len(cells))]
		var format strings.Builder
		var args []any
		for k := 0; k < len(row); {
			n := k
			for n < len(row) && row[n] == row[k] {
				n++
			}
			format.WriteString("%s")
			args = append(args, styled{row[k].style, strings.Repeat(string(row[k].letter), n-k)})
			k = n
		}
		t.out.line("  "+format.String(), args...)
	}
}
