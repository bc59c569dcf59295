package transcript

import (
	"fmt"
	"sort"
)

// Chain is the conversation that leads to one leaf.
type Chain struct {
	// Entries from the root (the newest boundary that holds, or the start of the
	// conversation) to the leaf. Parts of a reply and results of parallel calls
	// that lie beside the path are in it, at their place.
	Entries []*Entry
	// Boundary is the compaction boundary that the chain starts from, nil when it
	// reaches back to the start. Kept are the older entries that it keeps, in order.
	Boundary *Entry
	Kept     []*Entry

	Recovered []*Entry // entries beside the path that were put into Entries
	Gaps      []Gap    // places where a parent is missing
	Inert     []*Entry // boundaries without summary: passed through
	Undone    []*Entry // boundaries that an undo entry took back: passed through
	Faults    []Fault  // cycles, missing parents and what else was survived on the way
}

// Gap is a place in a chain where the parent of Child is not in the file.
type Gap struct {
	Child   *Entry
	Missing string // the uuid that Child names
	Bridged *Entry // the entry that takes the parent's place; nil: Child is a root
}

// Chain returns the conversation from the newest boundary that holds up to leaf
// (T-8). It always returns what can be read: cycles and missing parents are
// bridged where the file shows what stood before, and said in Faults.
func (l *Log) Chain(leaf *Entry) *Chain { return l.chain(leaf, false) }

// History returns the conversation up to leaf from its very beginning, through
// every boundary: what was said before a compaction stands before it.
func (l *Log) History(leaf *Entry) *Chain { return l.chain(leaf, true) }

func (l *Log) chain(leaf *Entry, history bool) *Chain { return newWalker(l, history).chainTo(leaf) }

func newWalker(l *Log, history bool) *walker {
	return &walker{log: l, history: history, chain: &Chain{}, seen: &entrySet{log: l},
		undone: make(map[string]bool), summarized: make(map[*Entry]bool)}
}

func (w *walker) chainTo(leaf *Entry) *Chain {
	w.walk(leaf)
	c := w.chain
	c.Entries = w.path
	w.log.recoverParts(c, w.seen)
	w.log.recoverResults(c, w.seen)
	if c.Boundary != nil {
		w.log.kept(c)
	}
	return c
}

// entrySet is a set of entries of one log, a bit for each: a walk through a large
// one asks for every entry several times. A nil set is empty.
type entrySet struct {
	log    *Log
	bits   []uint64
	beside map[*Entry]bool // entries that were fetched from before what was read
}

// place returns where the bit of e is; ok is false for an entry that has none.
func (s *entrySet) place(e *Entry) (word int, bit uint64, ok bool) {
	return e.seq >> 6, 1 << (e.seq & 63), e.seq < len(s.log.Entries) && s.log.Entries[e.seq] == e
}

func (s *entrySet) has(e *Entry) bool {
	if s == nil {
		return false
	}
	word, bit, ok := s.place(e)
	if !ok {
		return s.beside[e]
	}
	return word < len(s.bits) && s.bits[word]&bit != 0
}

func (s *entrySet) add(e *Entry) {
	word, bit, ok := s.place(e)
	switch {
	case ok:
		if word >= len(s.bits) {
			s.bits = append(s.bits, make([]uint64, len(s.log.Entries)>>6+1-len(s.bits))...)
		}
		s.bits[word] |= bit
	case s.beside == nil:
		s.beside = map[*Entry]bool{e: true}
	default:
		s.beside[e] = true
	}
}

// walker goes from a leaf to the root.
type walker struct {
	log        *Log
	history    bool
	chain      *Chain
	path       []*Entry
	seen       *entrySet
	undone     map[string]bool // boundaries taken back by an entry nearer to the leaf
	summarized map[*Entry]bool // boundaries whose summary is on the path
	short      bool            // a parent lies before the part of the file that was read
}

func (w *walker) walk(leaf *Entry) {
	for at := leaf; at != nil; {
		w.seen.add(at)
		w.path = append(w.path, at)
		if at.Subtype == SubUndo && at.Type == TypeSystem {
			if u, err := at.Undo(); err == nil {
				w.undone[u.BoundaryUUID] = true
			}
		}
		if at.IsBoundary() {
			at = w.boundary(at)
			continue
		}
		p, broken := bridgeProgress(at)
		if at.CompactSummary && p != nil && p.IsBoundary() {
			w.summarized[p] = true
		}
		switch {
		case p != nil && w.seen.has(p):
			w.fault(at, FaultCycle, "the entry is its own ancestor")
			at = w.bridge(at, at, at.ParentUUID)
		case p != nil:
			at = p
		case broken != nil:
			at = w.gap(at, broken)
		case w.history && at.CompactSummary: // 1.0.x: a summary without boundary
			at = w.log.before(at, w.seen, nil)
		default:
			at = nil
		}
	}
	for i, j := 0, len(w.path)-1; i < j; i, j = i+1, j-1 {
		w.path[i], w.path[j] = w.path[j], w.path[i]
	}
}

// boundary decides whether the chain starts at b, and where it goes on if not.
func (w *walker) boundary(b *Entry) *Entry {
	switch {
	case w.undone[b.UUID]:
		w.chain.Undone = append(w.chain.Undone, b)
	case !w.summarized[b]:
		w.chain.Inert = append(w.chain.Inert, b)
		w.fault(b, FaultInert, "no summary follows the boundary on this branch; the conversation before it stays")
	case !w.history:
		w.chain.Boundary = b
		return nil
	}
	if b.LogicalParentUUID != "" {
		if p := w.log.byUUID[b.LogicalParentUUID]; p != nil && !p.IsChain() {
			p, _ = bridgeProgress(p)
			if p != nil && !w.seen.has(p) {
				return p
			}
		} else if p != nil && !w.seen.has(p) {
			return p
		}
	}
	return w.bridge(b, b, b.LogicalParentUUID)
}

// gap handles an entry whose parent is missing. broken is the entry that names
// it: at itself or a progress entry above it.
func (w *walker) gap(at, broken *Entry) *Entry {
	if broken.parent == broken {
		w.fault(at, FaultCycle, "the entry names itself as its parent")
	} else {
		w.fault(at, FaultMissingParent, fmt.Sprintf("its parent %s is not in the file", broken.ParentUUID))
	}
	if at.CompactSummary && !w.history {
		// The boundary is lost, its summary is not: it stands for what came before.
		w.short = w.log.From > 0
		w.chain.Gaps = append(w.chain.Gaps, Gap{Child: at, Missing: broken.ParentUUID})
		return nil
	}
	return w.bridge(at, broken, broken.ParentUUID)
}

func (w *walker) bridge(at, broken *Entry, missing string) *Entry {
	unknown := false
	p := w.log.before(broken, w.seen, &unknown)
	if w.log.From > 0 && (p == nil || unknown || !w.log.damagedBetween(p, broken)) {
		w.short = true
	}
	if p != nil || missing != "" {
		w.chain.Gaps = append(w.chain.Gaps, Gap{Child: at, Missing: missing, Bridged: p})
	}
	return p
}

func (w *walker) fault(e *Entry, kind FaultKind, detail string) {
	w.chain.Faults = append(w.chain.Faults, Fault{Line: e.Line, Offset: e.Offset, Kind: kind, Detail: detail})
}

// before returns the entry that stood before e on the same branch, for an e whose
// parent is missing: what a damaged line still tells of its parent, else where a
// pointer between the two says the conversation stood, else the entry appended
// before e. Entries in seen are passed over. It never crosses a rewind that the
// file shows. It is nil when nothing stands before e. unknown, when not nil, is set
// if what stands between names an entry that was not read.
func (l *Log) before(e *Entry, seen *entrySet, unknown *bool) *Entry {
	named := func(uuid string) *Entry {
		t := l.byUUID[uuid]
		if t == nil && unknown != nil {
			*unknown = true
		}
		return t
	}
	usable := func(x *Entry) bool {
		return x != nil && x.IsChain() && l.byUUID[x.UUID] == x && x.Sidechain == e.Sidechain &&
			x.AgentID == e.AgentID && !seen.has(x) && x != e && !(e.early && descends(x, e, len(l.Entries)))
	}
	var pointer *Entry
	next := e
	for i := e.seq - 1; i >= -1; i-- {
		var x *Entry
		from := int64(-1)
		if i >= 0 {
			x = l.Entries[i]
			from = x.Offset
		}
		if f := l.salvaged(from, next.Offset); f != nil && pointer == nil {
			if f.parent != "" {
				if p := named(f.parent); usable(p) {
					return p
				}
			} else if f.uuid == "" || f.uuid == e.ParentUUID {
				return nil // the lost entry was a root
			}
		}
		if x == nil {
			break
		}
		next = x
		if x.Type == TypeLastPrompt && pointer == nil && x.LeafUUID != "" {
			if t := named(x.LeafUUID); usable(t) && t.seq < i {
				pointer = t
			}
			continue
		}
		if !usable(x) {
			continue
		}
		if pointer != nil {
			return pointer
		}
		return x
	}
	return pointer
}

// salvaged returns the last damaged record between two positions of which the
// parent could still be read.
func (l *Log) salvaged(from, to int64) *Fault {
	i := sort.Search(len(l.lineFaults), func(i int) bool { return l.lineFaults[i].Offset >= to })
	for i--; i >= 0 && l.lineFaults[i].Offset > from; i-- {
		if f := &l.lineFaults[i]; f.hasParent && f.Kind != FaultSplit {
			return f
		}
	}
	return nil
}

// damagedBetween reports whether a damaged record stands between two entries.
func (l *Log) damagedBetween(a, b *Entry) bool {
	i := sort.Search(len(l.lineFaults), func(i int) bool { return l.lineFaults[i].Offset > a.Offset })
	for ; i < len(l.lineFaults) && l.lineFaults[i].Offset < b.Offset; i++ {
		if !l.lineFaults[i].Harmless() {
			return true
		}
	}
	return false
}

func descends(x, of *Entry, limit int) bool {
	for steps := 0; x != nil && steps <= limit; steps++ {
		if x == of {
			return true
		}
		if x.parent == x {
			return false
		}
		x = x.parent
	}
	return false
}

// recoverParts adds the parts of replies that came as several entries and that
// the walk from the leaf did not meet: with parallel calls a result's parent is
// the part that made the call, so one path sees only some of the parts (T-11).
func (l *Log) recoverParts(c *Chain, seen *entrySet) {
	var found []*Entry
	done := make(map[string]bool)
	for i, e := range c.Entries {
		if e.Type != TypeAssistant || e.MessageID == "" {
			continue
		}
		if e.part == nil && e.lastPart == e {
			continue // a reply in one entry, which is on the path
		}
		if done[e.MessageID] {
			continue
		}
		done[e.MessageID] = true
		for part := l.byMsg[e.MessageID]; part != nil; part = part.part {
			if !seen.has(part) && part.Sidechain == e.Sidechain && l.sameReply(part, e.MessageID, c.Entries[i:], seen) {
				seen.add(part)
				found = append(found, part)
			}
		}
	}
	c.insert(found)
}

// sameReply reports whether part belongs to the conversation on the path: its
// parents lead to a part on the path through nothing but parts and results, and
// the conversation did not turn off there with a new prompt, as after a rewind.
func (l *Log) sameReply(part *Entry, id string, path []*Entry, seen *entrySet) bool {
	at := part
	for steps := 0; steps < 1024; steps++ {
		p, _ := bridgeProgress(at)
		if p == nil {
			// The first part itself may lie off the path; it then shares its parent
			// with nothing. Its group is on the path, so it belongs to it.
			return at.MessageID == id
		}
		if seen.has(p) {
			return !turnsOff(p, path)
		}
		if p.MessageID != id && len(p.Results) == 0 {
			// Off the path before the reply began: an abandoned branch, unless
			// the reply's own first part hangs on the same parent.
			return false
		}
		at = p
	}
	return false
}

// turnsOff reports whether the entry after p on the path is a new prompt.
func turnsOff(p *Entry, path []*Entry) bool {
	for i, e := range path {
		if e != p {
			continue
		}
		for _, n := range path[i+1:] {
			switch {
			case n.Type == TypeUser && len(n.Results) == 0 && !n.Meta:
				return true
			case n.Type == TypeUser || n.Type == TypeAssistant:
				return false
			}
		}
		return false
	}
	return false
}

// recoverResults adds tool results that answer a call on the chain and lie beside
// the path (FORMAT.md section 4).
func (l *Log) recoverResults(c *Chain, seen *entrySet) {
	open := make(map[string]bool, len(c.Entries)/4)
	for _, e := range c.Entries {
		for _, id := range e.Calls {
			open[id] = true
		}
	}
	for _, e := range c.Entries {
		for _, id := range e.Results {
			delete(open, id)
		}
	}
	if len(open) == 0 {
		return
	}
	var found []*Entry
	for _, e := range l.Entries {
		if len(e.Results) == 0 || e.Type != TypeUser || seen.has(e) || l.byUUID[e.UUID] != e {
			continue
		}
		for _, id := range e.Results {
			if open[id] {
				delete(open, id)
				seen.add(e)
				found = append(found, e)
				break
			}
		}
	}
	c.insert(found)
}

// insert puts entries that lie beside the path at their place: behind the last
// entry of the chain that was appended before them and belongs to the same reply.
func (c *Chain) insert(found []*Entry) {
	if len(found) == 0 {
		return
	}
	sort.Slice(found, func(i, j int) bool { return found[i].seq < found[j].seq })
	c.Recovered = append(c.Recovered, found...)
	after := make(map[int][]*Entry)
	callAt, msgAt := make(map[string]int), make(map[string]int) // of what found asks for
	for _, e := range found {
		if e.MessageID != "" {
			msgAt[e.MessageID] = -1
		}
		for _, id := range e.Results {
			callAt[id] = -1
		}
	}
	for i, e := range c.Entries {
		if e.MessageID != "" {
			if _, ok := msgAt[e.MessageID]; ok {
				msgAt[e.MessageID] = i
			}
		}
		for _, id := range e.Calls {
			if _, ok := callAt[id]; ok {
				callAt[id] = i
			}
		}
	}
	for _, e := range found {
		at := -1
		if e.MessageID != "" {
			at = msgAt[e.MessageID]
		} else {
			for _, id := range e.Results {
				if at = callAt[id]; at >= 0 {
					break
				}
			}
		}
		if at < 0 {
			at = len(c.Entries) - 1
		}
		after[at] = append(after[at], e)
	}
	out := make([]*Entry, 0, len(c.Entries)+len(found))
	for i, e := range c.Entries {
		out = append(out, e)
		out = append(out, after[i]...)
	}
	c.Entries = out
}

// kept finds the older entries that the chain's boundary keeps.
func (l *Log) kept(c *Chain) {
	b, err := c.Boundary.Boundary()
	if err != nil {
		c.Faults = append(c.Faults, Fault{Line: c.Boundary.Line, Offset: c.Boundary.Offset, Kind: FaultBoundary, Detail: err.Error()})
		return
	}
	on := make(map[*Entry]bool, len(c.Entries))
	for _, e := range c.Entries {
		on[e] = true
	}
	add := func(e *Entry) {
		if !on[e] {
			on[e] = true
			c.Kept = append(c.Kept, e)
		}
	}
	if p := b.PreservedMessages; p != nil {
		for _, id := range p.UUIDs {
			e := l.byUUID[id]
			if e == nil {
				c.Faults = append(c.Faults, Fault{Line: c.Boundary.Line, Offset: c.Boundary.Offset, Kind: FaultMissingParent,
					Detail: fmt.Sprintf("the boundary keeps %s, which is not in the file", id)})
				continue
			}
			add(e)
		}
		return
	}
	if s := b.PreservedSegment; s != nil {
		var seg []*Entry
		at := l.byUUID[s.TailUUID]
		for steps := 0; at != nil && steps <= len(l.Entries); steps++ {
			if at.IsChain() {
				seg = append(seg, at)
			}
			if at.UUID == s.HeadUUID {
				break
			}
			at, _ = bridgeProgress(at)
		}
		if at == nil || at.UUID != s.HeadUUID {
			c.Faults = append(c.Faults, Fault{Line: c.Boundary.Line, Offset: c.Boundary.Offset, Kind: FaultMissingParent,
				Detail: "the kept segment does not lead from its tail to its head; nothing of it is kept"})
			return
		}
		for i := len(seg) - 1; i >= 0; i-- {
			add(seg[i])
		}
	}
}

// Preview returns the chain that would result from appending entries behind c,
// without touching the log: a plan is judged by it before anything is written.
// The entries must be what an edit appends: a boundary with what belongs to it,
// or entries that follow the leaf.
func (l *Log) Preview(c *Chain, entries ...*Entry) *Chain {
	out := &Chain{Boundary: c.Boundary, Kept: c.Kept, Inert: c.Inert, Undone: c.Undone, Entries: c.Entries[:len(c.Entries):len(c.Entries)]}
	for i, e := range entries {
		switch {
		case e.IsBoundary() && i+1 < len(entries) && entries[i+1].CompactSummary:
			*out = Chain{Boundary: e, Entries: []*Entry{e}}
			l.kept(out)
		case e.Type == TypeSystem && e.Subtype == SubUndo:
			if u, err := e.Undo(); err == nil && len(c.Entries) > 0 {
				w := newWalker(l, false)
				w.undone[u.BoundaryUUID] = true
				*out = *w.chainTo(c.Entries[len(c.Entries)-1])
			}
			out.Entries = append(out.Entries, e)
		case e.IsChain():
			out.Entries = append(out.Entries, e)
		}
	}
	return out
}
