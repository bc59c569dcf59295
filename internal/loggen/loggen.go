// Package loggen makes transcripts for tests: conversations with everything that
// real logs hold (split replies, parallel calls in both historical shapes,
// progress and attachment entries in the chain, rewinds, boundaries of every
// kind, edits) and, when asked, damage of every kind that real disks leave.
//
// It is for property tests and benchmarks only; nothing of the product links it.
// What it makes is a pure function of the choices it is given, so a failing case
// shrinks and repeats.
package loggen

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Choices decides. IntN returns a number in [0, n); n is at least 1.
type Choices interface{ IntN(n int) int }

// Options bound what is made.
type Options struct {
	Turns      int  // prompts; each with up to three rounds
	Boundaries bool // compaction boundaries, micro-compaction, undo
	Rewinds    bool
	Damage     bool // torn, glued, lost, doubled and swapped lines, NUL bytes
	Thinking   bool
	Text       int // bytes of a typical text; 0 means 40

	Prefix string // of every id, so that logs can be put one behind the other
	Root   string // uuid of the entry that the first one follows; "" starts a conversation
}

// Make returns the lines of one log, without newlines.
func Make(c Choices, opt Options) []string {
	g := &gen{c: c, opt: opt, tip: opt.Root, clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if g.opt.Text == 0 {
		g.opt.Text = 40
	}
	for i := 0; i < opt.Turns; i++ {
		g.turn()
	}
	if opt.Damage {
		g.damage()
	}
	return g.lines
}

// Bytes joins lines to a file; a damaged one may lack its last newline.
func Bytes(lines []string) []byte {
	s := strings.Join(lines, "\n")
	if !strings.HasSuffix(s, tornMark) {
		s += "\n"
	}
	return []byte(strings.ReplaceAll(s, tornMark, ""))
}

const tornMark = "\x01torn\x01"

type gen struct {
	c      Choices
	opt    Options
	lines  []string
	clock  time.Time
	n      int
	tip    string
	main   []string // uuids that a rewind may go back to
	bounds []string
	calls  []string // answered calls, for edits
	recent []string // uuids since the last boundary
}

func (g *gen) one(n int) bool { return g.c.IntN(n) == 0 }

func (g *gen) id(kind string) string { g.n++; return fmt.Sprintf("%s%s%d", g.opt.Prefix, kind, g.n) }

func (g *gen) stamp(uuid string) transcript.Stamp {
	g.clock = g.clock.Add(time.Duration(1+g.c.IntN(90)) * time.Second)
	now := g.clock
	return transcript.Stamp{SessionID: "5e55", CWD: "/work/app", Version: "9.9.9", GitBranch: "main",
		Now: func() time.Time { return now }, NewID: func() string { return uuid }}
}

func (g *gen) add(e *transcript.Entry) {
	raw, err := e.Raw()
	if err != nil {
		panic(err) // built entries hold their bytes
	}
	g.lines = append(g.lines, string(raw))
	if e.IsChain() {
		g.tip = e.UUID
		g.recent = append(g.recent, e.UUID)
	}
}

var words = strings.Fields(`the quick change to parser fails when input is empty so we read main.go and run tests
 再実行 проверка "quoted" back\slash <tag> {json:1} 漢字 emoji🙂 tab	here`)

func (g *gen) text() string {
	var b strings.Builder
	for b.Len() < g.opt.Text/2+g.c.IntN(g.opt.Text) {
		b.WriteString(words[g.c.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()
}

func (g *gen) turn() {
	if g.opt.Rewinds && len(g.main) > 1 && g.one(6) {
		at := g.main[g.c.IntN(len(g.main))]
		if g.one(2) {
			g.add(g.stamp("").LastPrompt("", at, true))
		}
		g.tip = at
	}
	if g.one(5) {
		g.add(g.stamp(g.id("h")).Attachment(g.tip, json.RawMessage(`{"type":"hook_success"}`), nil))
	}
	if g.one(4) {
		g.add(g.stamp(g.id("at")).Attachment(g.tip, json.RawMessage(`{"type":"file","filename":"x"}`), []string{"<system-reminder>" + g.text() + "</system-reminder>"}))
	}
	u := g.id("u")
	g.add(g.stamp(u).User(g.tip, message.User(g.text())))
	g.main = append(g.main, u)
	for r := g.c.IntN(3); r >= 0; r-- {
		g.round(r == 0)
	}
	if g.one(8) {
		g.add(g.stamp(g.id("sy")).System(g.tip, "turn_duration", "", "", transcript.Extra{Key: "durationMs", Value: []byte("12")}))
	}
	if g.one(3) {
		g.add(g.stamp("").LastPrompt(g.text(), g.tip, false))
		g.add(g.stamp("").Meta(transcript.TypeAITitle, "title "+g.text()))
	}
	if g.opt.Boundaries {
		g.edit()
	}
}

// round adds one reply, as several entries, with its results.
func (g *gen) round(last bool) {
	id := g.id("msg_")
	part := func(b message.Block) string {
		m := message.Assistant(b)
		m.ID, m.Model = id, "model-1"
		a := g.id("a")
		g.add(g.stamp(a).Assistant(g.tip, m, "req_"+id))
		return a
	}
	if g.opt.Thinking && g.one(2) {
		part(message.Thinking(g.text(), "c2ln"+id))
	}
	if g.one(2) || last {
		part(message.Text(g.text()))
	}
	if last && !g.one(12) {
		g.main = append(g.main, g.tip)
		return
	}
	type call struct{ at, id string }
	var calls []call
	streaming := g.one(2) // results between the parts, as newer clients write them
	for n := g.c.IntN(3); n >= 0; n-- {
		c := call{id: g.id("toolu_")}
		b, err := message.ToolUse(c.id, []string{"Read", "Bash", "Edit", "Grep"}[g.c.IntN(4)], json.RawMessage(`{"file_path":"/work/app/`+c.id+`.go"}`))
		if err != nil {
			panic(err) // the input above is an object
		}
		c.at = part(b)
		if g.one(5) {
			g.lines = append(g.lines, fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"sessionId":"5e55","type":"progress","data":{"type":"bash_progress"},"uuid":%q}`, g.tip, g.id("p")))
			g.tip = fmt.Sprintf("%sp%d", g.opt.Prefix, g.n)
		}
		if streaming {
			g.result(c.id, g.tip)
		} else {
			calls = append(calls, c)
		}
	}
	for len(calls) > 0 {
		i := g.c.IntN(len(calls))
		g.result(calls[i].id, calls[i].at)
		calls = append(calls[:i], calls[i+1:]...)
	}
}

func (g *gen) result(call, parent string) {
	if g.one(25) {
		return // interrupted: never answered
	}
	g.calls = append(g.calls, call)
	text := strings.Repeat(g.text(), 1+g.c.IntN(6))
	g.add(g.stamp(g.id("r")).User(parent, message.UserBlocks(message.ToolResult(call, g.one(9), message.Text(text))),
		transcript.Extra{Key: "toolUseResult", Value: append(message.AppendString([]byte(`{"stdout":`), text), '}')}))
}

// edit adds one of the entries that change the view.
func (g *gen) edit() {
	switch g.c.IntN(10) {
	case 0, 1:
		g.compact()
	case 2:
		if len(g.calls) > 0 {
			m := transcript.Microcompact{Trigger: "auto", PreTokens: 9000, TokensSaved: 5000}
			for n := g.c.IntN(3); n >= 0; n-- {
				m.ToolIDs = append(m.ToolIDs, g.calls[g.c.IntN(len(g.calls))])
			}
			g.add(g.stamp(g.id("mc")).MicrocompactBoundary(g.tip, m))
		}
	case 3:
		if len(g.calls) > 0 {
			g.add(g.stamp("").Replacements(transcript.Replacement{Kind: "tool-result", ToolUseID: g.calls[g.c.IntN(len(g.calls))],
				Replacement: "<persisted-output>\n" + g.text() + "\n</persisted-output>"}))
		}
	case 4:
		if len(g.bounds) > 0 {
			g.add(g.stamp(g.id("un")).System(g.tip, transcript.SubUndo, "", "", transcript.Own(transcript.Undo{BoundaryUUID: g.bounds[len(g.bounds)-1]})))
			g.bounds = g.bounds[:len(g.bounds)-1]
		}
	}
}

func (g *gen) compact() {
	b := transcript.Boundary{Trigger: "auto", PreTokens: 100000, PostTokens: 9000}
	leaf, at := g.tip, g.id("b")
	if k := len(g.recent); k > 4 && g.one(2) {
		b.PreservedMessages = &transcript.PreservedMessages{AnchorUUID: at + "s", UUIDs: append([]string(nil), g.recent[k-1-g.c.IntN(4):]...)}
	}
	g.recent = nil
	g.add(g.stamp(at).CompactBoundary(leaf, b))
	if g.one(10) {
		return // the process died before the summary
	}
	g.bounds = append(g.bounds, at)
	g.add(g.stamp(at+"s").Summary(at, message.User("This session continues an earlier one. "+g.text())))
	g.main = append(g.main, g.tip)
}

// damage does to the lines what crashes, full disks and second writers do.
func (g *gen) damage() {
	for n := g.c.IntN(4); n >= 0 && len(g.lines) > 2; n-- {
		i := g.c.IntN(len(g.lines) - 1)
		l := g.lines[i]
		if l == "" {
			continue // cut to nothing before
		}
		switch g.c.IntN(8) {
		case 0:
			g.lines[i] = l[:g.c.IntN(len(l))]
		case 1:
			g.lines[i] = strings.Repeat("\x00", 1+g.c.IntN(64)) + l
		case 2:
			g.lines[i] = l + g.lines[i+1]
			g.lines = append(g.lines[:i+1], g.lines[i+2:]...)
		case 3:
			g.lines = append(g.lines[:i], g.lines[i+1:]...)
		case 4:
			// Real files hold the second copy next to the first.
			g.lines = append(g.lines[:i+1], append([]string{l}, g.lines[i+1:]...)...)
		case 5:
			g.lines[i], g.lines[i+1] = g.lines[i+1], g.lines[i]
		case 6:
			k := g.c.IntN(len(l))
			g.lines[i] = l[:k] + g.lines[i+1]
			g.lines[i+1] = l[k:]
		case 7:
			k := g.c.IntN(len(l))
			g.lines[i] = l[:k] + string(rune(1+g.c.IntN(255))) + l[k:]
		}
	}
	if last := len(g.lines) - 1; g.one(3) {
		g.lines[last] = g.lines[last][:g.c.IntN(len(g.lines[last])+1)] + tornMark
	}
}
