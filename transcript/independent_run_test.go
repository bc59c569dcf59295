package transcript_test

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// TestIndependentImports: the second reader shares nothing with this module.
func TestIndependentImports(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "independent_test.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range f.Imports {
		if strings.Contains(imp.Path.Value, ".") {
			t.Errorf("it imports %s", imp.Path.Value)
		}
	}
}

// judge reads every branch of a log with the second reader and fails when what it
// would send breaks a rule of the API, or lacks a result that the log holds.
func judge(t interface{ Fatalf(string, ...any) }, f *file) (total repairs) {
	for _, leaf := range f.leaves() {
		conv := f.conversation(leaf)
		mended, n := repair(f.turns(conv))
		if bad := validate(mended); len(bad) > 0 {
			t.Fatalf("from line %d: %s", leaf.no, strings.Join(bad, "; "))
		}
		total.unanswered += n.unanswered
		total.orphans += n.orphans
		total.thinking += n.thinking
		total.blank += n.blank
		total.repeated += n.repeated
	}
	return total
}

// shape names what is sent, reply by reply: the entries of the reply in order, of
// its results in any, and of what was said after it in order.
func shape(ts []turn) []string {
	var out []string
	list := func(bs []block) []string {
		var ids []string
		for _, b := range bs {
			ids = append(ids, b.from)
		}
		return ids
	}
	for _, t := range ts {
		results := list(t.results)
		sort.Strings(results)
		out = append(out, fmt.Sprintf("%s%v results%v others%v", t.reply, list(t.says), results, list(t.others)))
	}
	return out
}

// ours are the entries that this package's reader finds, as the other's records.
func ours(f *file, c *transcript.Chain) []*line {
	anchor := ""
	if c.Boundary != nil {
		if b, err := c.Boundary.Boundary(); err == nil && b.PreservedMessages != nil {
			anchor = b.PreservedMessages.AnchorUUID
		} else if err == nil && b.PreservedSegment != nil {
			anchor = b.PreservedSegment.AnchorUUID
		}
	}
	var out []*line
	for _, e := range c.Entries {
		out = append(out, f.byUUID[e.UUID])
		if e.UUID == anchor {
			for _, k := range c.Kept {
				out = append(out, f.byUUID[k.UUID])
			}
		}
	}
	return out
}

// differ returns the first place at which two conversations differ, "" when none.
func differ(a, b []string) string {
	for i := 0; i < len(a) || i < len(b); i++ {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("turn %d of %d and %d:\n%s\n%s", i, len(a), len(b), x, y)
		}
	}
	return ""
}

// agree fails when the two readers disagree about the conversation of a leaf, for
// logs in which nothing of ours changes it.
func agree(t interface{ Fatalf(string, ...any) }, f *file, l *transcript.Log) (compared int) {
	for _, leaf := range f.leaves() {
		c := l.Chain(l.ByUUID(leaf.UUID))
		if len(c.Gaps) > 0 || len(c.Inert) > 0 || len(c.Undone) > 0 || len(c.Faults) > 0 {
			continue // what a damaged log means is ours to decide; undo is ours alone
		}
		compared++
		if d := differ(shape(f.turns(f.conversation(leaf))), shape(f.turns(ours(f, c)))); d != "" {
			t.Fatalf("from line %d the other reader and ours differ at %s", leaf.no, d)
		}
	}
	return compared
}

// TestIndependentReal: T-11, T-12, S-7. Recorded sessions, read by the second
// reader: valid, and the same conversation as ours.
func TestIndependentReal(t *testing.T) {
	for _, path := range sampled(corpus(t)) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data := read(t, path)
			f := readFile(data)
			if len(f.leaves()) == 0 {
				t.Fatal("no leaf")
			}
			n := judge(t, f)
			compared := agree(t, f, readBytes(t, data))
			t.Logf("%d leaves, %d compared, mended %+v", len(f.leaves()), compared, n)
		})
	}
}

// TestIndependentGenerated is the same over generated logs with everything that
// real ones hold and our builders write.
func TestIndependentGenerated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, false)
		f := readFile(b)
		judge(t, f)
		agree(t, f, readAll(t, b, transcript.ReadOptions{}))
	})
}

// TestIndependentOurs: T-12, DESIGN section 3. Logs full of what is ours alone:
// frames, receipts, strips, repairs, synthetic results, cursors, undo, rewinds,
// attachments for other roles. For a reader that ignores all of it the
// conversation is longer or shorter, and valid: nothing has to be mended.
func TestIndependentOurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &owned{Story: loggen.NewStory(), c: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			g.turn()
		}
		f := readFile(g.Bytes())
		if n := judge(t, f); n != (repairs{}) {
			t.Fatalf("the other reader has to mend what we wrote: %+v", n)
		}
		// Ours without our members is still the same file to the other reader.
		var bare []string
		for _, raw := range g.Lines {
			if strings.HasPrefix(raw, `{"type":"varve-`) {
				continue
			}
			e, err := transcript.Parse([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			if own := e.Own(); own != nil {
				raw = strings.Replace(raw, `,"varve":`+string(own), "", 1)
			}
			bare = append(bare, raw)
		}
		if bytes.Contains([]byte(strings.Join(bare, "\n")), []byte(`"varve":`)) {
			t.Fatal("a member of ours stands elsewhere than last")
		}
		other := readFile([]byte(strings.Join(bare, "\n") + "\n"))
		for _, leaf := range f.leaves() {
			twin := other.byUUID[leaf.UUID]
			if d := differ(shape(f.turns(f.conversation(leaf))), shape(other.turns(other.conversation(twin)))); d != "" {
				t.Fatalf("what is ours changes the conversation of another reader at %s", d)
			}
		}
	})
}

// owned writes logs in which every entry of ours occurs.
type owned struct {
	*loggen.Story
	c       *rand.Rand
	n       int
	tip     string
	prompts []string
	bounds  []string
	turns   [][]string // what was said since the last boundary, turn by turn
}

// said makes an entry that was just added the tip.
func (g *owned) said(uuid string) {
	g.tip = uuid
	g.turns[len(g.turns)-1] = append(g.turns[len(g.turns)-1], uuid)
}

func (g *owned) id(kind string) string { g.n++; return fmt.Sprintf("%s%d", kind, g.n) }

// own puts an entry of ours on the chain, or a side entry behind it.
func (g *owned) own() {
	chain := func(sub string, v any) {
		id := g.id("o")
		g.Own(id, g.tip, sub, v)
		g.tip = id
	}
	switch g.c.IntN(8) {
	case 0:
		chain(transcript.SubFrame, transcript.Frame{Frame: strings.Repeat("ab", 32), Provider: "anthropic", Model: "m", Render: "1"})
	case 1:
		chain(transcript.SubStrip, transcript.Strip{UpTo: g.tip, Reason: "mismatch"})
	case 2:
		chain(transcript.SubRepair, transcript.Repair{Drop: []string{g.tip}})
	case 3:
		if n := len(g.bounds); n > 0 {
			chain(transcript.SubUndo, transcript.Undo{BoundaryUUID: g.bounds[n-1]})
			g.bounds = g.bounds[:n-1]
		}
	case 4:
		g.Add(g.Stamp("").Side(transcript.TypeReceipt, transcript.Receipt{RequestID: g.id("req_"), LeafUUID: g.tip, PrefixHash: "00", Usage: []byte(`{"input_tokens":1}`)}))
	case 5:
		g.Add(g.Stamp("").Side(transcript.TypePartial, map[string]any{"messageId": g.id("msg_"), "text": "half a <sentence>"}))
	case 6:
		g.Add(g.Stamp("").Side(transcript.TypeCovers, transcript.Covers{Kind: "notes", UptoUUID: g.tip, Hash: "00"}))
	case 7:
		at := g.id("at")
		g.Add(g.Stamp(at).Attachment(g.tip, []byte(`{"type":"date_change"}`), []string{"<system-reminder>new day</system-reminder>"},
			transcript.Own(map[string]string{"as": []string{"user", "system", "tool_addition"}[g.c.IntN(3)]})))
		g.tip = at
	}
}

func (g *owned) turn() {
	if len(g.prompts) > 1 && g.c.IntN(6) == 0 {
		g.tip = g.prompts[g.c.IntN(len(g.prompts))]
		g.Pointer(g.tip, true)
		g.turns = nil
	}
	g.own()
	g.turns = append(g.turns, nil)
	u := g.id("u")
	g.User(u, g.tip, "prompt \u2028 <b>")
	g.said(u)
	g.prompts = append(g.prompts, u)
	for range g.c.IntN(4) {
		g.round()
		if g.c.IntN(3) == 0 {
			g.own()
		}
	}
	if g.c.IntN(4) == 0 {
		g.compact()
	}
}

// round is a reply with its calls, all answered: some by a synthetic result.
func (g *owned) round() {
	reply := g.id("msg_")
	if g.c.IntN(2) == 0 {
		id := g.id("a")
		g.Think(id, g.tip, reply, "why", "c2ln")
		g.said(id)
	}
	id := g.id("a")
	g.Say(id, g.tip, reply, "text")
	g.said(id)
	for range g.c.IntN(3) {
		call, a, r := g.id("toolu_"), g.id("a"), g.id("r")
		g.Call(a, g.tip, reply, call)
		g.said(a)
		if g.c.IntN(4) == 0 {
			g.Add(g.Stamp(r).User(a, message.UserBlocks(message.ToolResult(call, true, message.Text("interrupted; may have run"))),
				transcript.Own(map[string]bool{"synthetic": true})))
			g.Add(g.Stamp("").Replacements(transcript.Replacement{Kind: "tool-result", ToolUseID: call, Replacement: "preview"}))
		} else {
			g.Result(r, a, call)
		}
		g.said(r)
	}
}

// compact writes a boundary that keeps nothing, the last turn, or the first (the
// variant from, whose anchor is the boundary), and its summary with the native items
// of another provider.
func (g *owned) compact() {
	b, s := g.id("b"), g.id("s")
	var meta transcript.Boundary
	if n := len(g.turns); n > 1 {
		switch g.c.IntN(3) {
		case 0:
			meta = loggen.Keep(s, g.turns[n-1]...)
		case 1:
			meta = loggen.Keep(b, g.turns[0]...)
		}
	}
	meta.Own = transcript.BoundaryOwn{Rung: "summary", Cause: "threshold", CoversLeaf: g.tip, Thinking: "strip", Loss: []byte(`{"messages":3}`)}
	g.Boundary(b, g.tip, meta)
	g.Add(g.Stamp(s).Summary(b, message.User("This session continues."), transcript.Own(map[string]any{"source": "server", "native": map[string]any{"provider": "openai", "items": []int{1}}})))
	g.tip, g.turns = s, nil
	g.bounds = append(g.bounds, b)
	if g.c.IntN(2) == 0 {
		g.own()
	}
}
