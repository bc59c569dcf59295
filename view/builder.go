package view

import (
	"encoding/json"
	"strconv"

	"varve.dev/message"
	"varve.dev/transcript"
)

// builder holds a view in the making: the conversation as groups, one a reply,
// each with its results and with what the user side says before the next reply.
type builder struct {
	render *renderer
	facts  *Facts
	edits  *edits
	seq    int // entries taken so far
	leaf   string
	side   bool // the log of a sub-agent
	bound  *transcript.Entry

	groups  []*group
	byID    map[string]*group  // message.id
	byCall  map[string]*group  // tool-use id
	served  map[string]*served // id of a call of a server tool
	orphans map[string]piece   // results whose call was not met yet
	dirty   int                // the first group that changed since the last finish

}

// piece is a block on its way into a message. The block is the entry's own where
// nothing had to be changed.
type piece struct {
	*message.Block
	entry  string // uuid of its entry
	made   bool   // it was changed
	pos    int    // of its entry in the sequence
	index  int    // of the block in its entry
	native string // the id that the log has for a call
}

// set puts another block in the place of the entry's.
func (p *piece) set(b message.Block) { p.Block, p.made = &b, true }

func (p *piece) block() Block { return Block{Block: *p.Block, Entry: p.entry, Made: p.made} }

// group is one reply and what follows it. The first group has no reply: it holds
// what the user side says before any.
type group struct {
	id      string
	from    string // provider that made the reply; "" when the log does not say
	parts   []piece
	results map[string]*piece
	badCall map[string]bool // calls whose input could not be read
	after   []Block         // user content behind the results
	system  []Block         // system messages before the next reply

	start   int      // index of its first message in the view
	clean   bool     // its first message is the reply, so the view can be cut before it
	taken   []Repair // found while its entries were taken
	emitted []Repair // found while its messages were written, anew each time
}

func newBuilder(in Input) *builder {
	seq, kept := sequence(in.Chain)
	ed := collect(in.Chain, seq, kept)
	version := in.Render
	if version == "" && ed.frame != nil {
		version = ed.frame.Render
	}
	b := &builder{render: rendererFor(version), facts: in.Facts.clone(), edits: ed, bound: in.Chain.Boundary,
		byID: map[string]*group{}, byCall: map[string]*group{}, served: map[string]*served{}, orphans: map[string]piece{}}
	b.groups = []*group{{clean: true}}
	transcript.Decode(seq)
	for _, e := range seq {
		b.take(e)
	}
	if n := len(in.Chain.Entries); n > 0 {
		b.leaf, b.side = in.Chain.Entries[n-1].UUID, in.Chain.Entries[n-1].Sidechain
	}
	return b
}

func (b *builder) view() *View {
	v := &View{in: b}
	b.finish(v)
	return v
}

func (b *builder) last() *group { return b.groups[len(b.groups)-1] }

func (b *builder) touch(i int) { b.dirty = min(b.dirty, i) }

func (b *builder) index(g *group) int {
	for i := len(b.groups) - 1; i >= 0; i-- {
		if b.groups[i] == g {
			return i
		}
	}
	return 0
}

func (b *builder) repair(g *group, r Repair) { g.taken = append(g.taken, r) }

// take adds one entry.
func (b *builder) take(e *transcript.Entry) {
	pos := b.seq
	b.seq++
	if !sent(e) || b.edits.dropped[e.UUID] || b.edits.skip[e.UUID] || b.edits.clearedAt[e.UUID] {
		return
	}
	switch e.Type {
	case transcript.TypeAssistant:
		if m, err := e.Message(); err == nil {
			b.reply(e, m, pos)
		}
	case transcript.TypeUser:
		if m, err := e.Message(); err == nil {
			b.user(e, m, pos)
		}
	case transcript.TypeAttachment:
		b.attachment(e, pos)
	}
}

// reply adds the parts of a reply that one entry holds.
func (b *builder) reply(e *transcript.Entry, m *message.Message, pos int) {
	g := b.byID[m.ID]
	if m.ID == "" || g == nil {
		g = &group{id: m.ID}
		b.groups = append(b.groups, g)
		if m.ID != "" {
			b.byID[m.ID] = g
		}
	}
	if g.from == "" {
		g.from = provider(e)
	}
	b.touch(b.index(g))
	for i := range m.Content {
		p := piece{Block: &m.Content[i], entry: e.UUID, pos: pos, index: i}
		if b.edits.dropped[blockRef(e.UUID, i)] {
			continue
		}
		b.part(g, p)
	}
}

// provider returns which provider made the reply that an entry holds.
func provider(e *transcript.Entry) string {
	var own struct {
		Provider string `json:"provider"`
	}
	if raw := e.Own(); raw != nil {
		_ = json.Unmarshal(raw, &own) // another shape names none
	}
	return own.Provider
}

func blockRef(uuid string, block int) string { return uuid + "#" + strconv.Itoa(block) }

// part adds one block of a reply.
func (b *builder) part(g *group, p piece) {
	switch {
	case p.Type == message.TypeToolResult || p.Type == "":
		b.repair(g, Repair{Kind: WrongRole, Entry: p.entry, Settled: true})
		return
	case p.Type == message.TypeText && message.IsBlank(p.Text):
		b.repair(g, Repair{Kind: BlankText, Entry: p.entry, Settled: true})
		return
	case p.Type == message.TypeToolUse:
		if !b.call(g, &p) {
			return
		}
	case p.IsServerCall() || p.IsServerResult():
		if !b.server(g, &p) {
			return
		}
	case p.IsThinking():
		// Reasoning goes back byte for byte or not at all; emit leaves out all of a
		// reply's reasoning when one block of it cannot be sent.
	case unreadable(p.Block):
		p.set(message.Text(b.render.noImage))
		b.repair(g, Repair{Kind: BadContent, Entry: p.entry, Settled: true})
	}
	if !p.IsThinking() && !p.IsUnicode() {
		p.set(fixed(*p.Block))
		b.repair(g, Repair{Kind: BadText, Entry: p.entry, Settled: true})
	}
	g.parts = append(g.parts, p)
}

// call takes a tool call: its id must be new, its input an object, its names ones
// that the API accepts.
func (b *builder) call(g *group, p *piece) bool {
	native := p.ID
	p.native = native
	if c, err := message.NormalizeCall(*p.Block); string(c.Raw) != string(p.Raw) || err != nil {
		p.set(c)
		if err != nil {
			if g.badCall == nil {
				g.badCall = make(map[string]bool)
			}
			g.badCall[native] = true
			b.repair(g, Repair{Kind: BadInput, Entry: p.entry, Call: native, Settled: true})
		}
	}
	if c := acceptable(*p.Block); string(c.Raw) != string(p.Raw) {
		p.set(c)
	}
	if native == "" || b.byCall[native] != nil || b.served[native] != nil {
		b.repair(g, Repair{Kind: DuplicateCall, Entry: p.entry, Call: native, Settled: true})
		return false
	}
	b.byCall[native] = g
	if r, ok := b.orphans[native]; ok {
		delete(b.orphans, native)
		b.result(r)
	}
	return true
}

// user adds what one user entry holds: results go to their calls, the rest
// behind the newest reply.
func (b *builder) user(e *transcript.Entry, m *message.Message, pos int) {
	for i := range m.Content {
		if b.edits.dropped[blockRef(e.UUID, i)] {
			continue
		}
		p := piece{Block: &m.Content[i], entry: e.UUID, pos: pos, index: i}
		switch {
		case p.Type == message.TypeToolResult:
			b.result(p)
		case p.Type == message.TypeToolUse || p.IsServerCall() || p.IsThinking() || p.Type == message.TypeCompaction || p.Type == "":
			b.repair(b.last(), Repair{Kind: WrongRole, Entry: e.UUID, Settled: true})
		case p.Type == message.TypeText && message.IsBlank(p.Text):
			b.repair(b.last(), Repair{Kind: BlankText, Entry: e.UUID, Settled: true})
		default:
			if unreadable(p.Block) {
				p.set(message.Text(b.render.noImage))
				b.repair(b.last(), Repair{Kind: BadContent, Entry: e.UUID, Settled: true})
			}
			if !p.IsUnicode() {
				p.set(fixed(*p.Block))
				b.repair(b.last(), Repair{Kind: BadText, Entry: e.UUID, Settled: true})
			}
			b.say(message.RoleUser, p.block())
		}
	}
}

// say puts user-side content behind the newest reply. System messages come last:
// the API wants them directly before the next reply.
func (b *builder) say(role message.Role, blk Block) {
	g := b.last()
	b.touch(len(b.groups) - 1)
	if role == message.RoleSystem {
		g.system = append(g.system, blk)
		return
	}
	g.after = append(g.after, blk)
}

// result gives a tool result to its call. The first one counts: what was sent
// stays, a later one is not the answer any more.
func (b *builder) result(p piece) {
	g := b.byCall[p.ToolUseID]
	if g == nil {
		if _, ok := b.orphans[p.ToolUseID]; !ok {
			b.orphans[p.ToolUseID] = p
			return
		}
		b.repair(b.last(), Repair{Kind: DuplicateResult, Entry: p.entry, Call: p.ToolUseID, Settled: true})
		return
	}
	if _, ok := g.results[p.ToolUseID]; ok {
		b.repair(b.last(), Repair{Kind: DuplicateResult, Entry: p.entry, Call: p.ToolUseID, Settled: true})
		return
	}
	b.touch(b.index(g))
	if !p.IsUnicode() {
		p.set(fixed(*p.Block))
		b.repair(g, Repair{Kind: BadText, Entry: p.entry, Call: p.ToolUseID, Settled: true})
	}
	if c, changed := b.render.takeable(p.Block); changed {
		p.set(message.ToolResult(p.ToolUseID, p.IsError, c...))
		b.repair(g, Repair{Kind: BadContent, Entry: p.entry, Call: p.ToolUseID, Settled: true})
	}
	g.answer(&p)
}

// answer takes the first result for a call of the group.
func (g *group) answer(p *piece) {
	if g.results == nil {
		g.results = make(map[string]*piece)
	}
	g.results[p.ToolUseID] = p
}

// attachment adds what the model saw of an attachment.
func (b *builder) attachment(e *transcript.Entry, pos int) {
	texts, as, err := e.Rendered()
	if err != nil {
		return
	}
	if len(texts) == 0 {
		texts = b.render.attachment(e)
	}
	role := message.RoleUser
	if as == "system" {
		role = message.RoleSystem
	}
	for _, t := range texts {
		if message.IsBlank(t) {
			continue
		}
		if as == "tool_addition" {
			if blk, err := message.ParseBlock(json.RawMessage(t)); err == nil {
				b.say(message.RoleSystem, Block{Block: blk, Entry: e.UUID})
			}
			continue
		}
		b.say(role, Block{Block: message.Text(t), Entry: e.UUID})
	}
}

// extends reports whether e can be taken without changing what stands before.
func (b *builder) extends(e *transcript.Entry, leaf string) bool {
	if e.IsChain() && (e.ParentUUID != leaf || leaf != "" && e.Sidechain != b.side) {
		return false
	}
	switch e.Type {
	case transcript.TypeSystem:
		switch e.Subtype {
		case transcript.SubCompactBoundary, transcript.SubMicrocompact, transcript.SubStrip, transcript.SubRepair, transcript.SubUndo:
			return false
		case transcript.SubFrame:
			f, err := e.Frame()
			return err == nil && rendererFor(f.Render) == b.render
		}
		return true
	case transcript.TypeUser:
		// A summary belongs to a boundary; what it changes is decided with it.
		return !e.CompactSummary
	case transcript.TypeAssistant:
		g := b.byID[e.MessageID]
		return g == nil || g == b.last()
	}
	return true
}

func (b *builder) extend(e *transcript.Entry) {
	switch {
	case e.Type == transcript.TypeContentReplacement:
		b.replace(e)
	case e.IsChain():
		b.take(e)
		b.leaf, b.side = e.UUID, e.Sidechain
		if e.Subtype == transcript.SubFrame {
			if f, err := e.Frame(); err == nil {
				b.edits.frame = &f
			}
		}
	}
}

// replace takes note of a decision about results and marks the replies to which
// they belong.
func (b *builder) replace(e *transcript.Entry) {
	if !b.facts.Add(e) {
		return
	}
	rs, err := e.Replacements()
	if err != nil {
		return // Add would have failed alike
	}
	for _, r := range rs {
		if g := b.byCall[r.ToolUseID]; g != nil {
			b.touch(b.index(g))
		}
	}
}
