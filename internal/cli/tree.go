package cli

import (
	"context"
	"fmt"
	"strings"

	"varve.dev/transcript"
)

// The tree of a log has one node for each stretch of the conversation: a prompt
// and everything up to the next one or to where branches part. Results of parallel
// calls lie beside the path in the file; they part nothing and are counted with
// their stretch.

// stretch is a node of the tree.
type stretch struct {
	first   *transcript.Entry
	entries int
	next    []*stretch // in file order; the one that leads to the tip last
	tip     bool       // the tip lies in it or behind it
	last    bool       // the tip lies in it
	orphan  bool       // what stood before it is not in the file
}

// tree draws all branches.
func (v *view) tree(ctx context.Context) error {
	b := newTreeBuilder(v.log)
	b.stop = func() bool { return ctx.Err() != nil }
	roots := b.roots()
	if len(roots) == 0 {
		v.a.out.note("The log holds no conversation.")
		return ctx.Err()
	}
	v.header()
	for _, r := range roots {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.draw(r, "", "")
	}
	return nil
}

// maxIndent ends the indentation of a log with more branches within branches than
// fit on a line.
const maxIndent = 30

// draw writes a node and what follows. Side branches are set in, the last one goes
// on below. at stands before the first node, indent before the others.
func (v *view) draw(s *stretch, at, indent string) {
	for {
		v.node(s, at)
		n := len(s.next)
		if n == 0 {
			return
		}
		for _, side := range s.next[:n-1] {
			if len([]rune(indent)) < maxIndent {
				v.draw(side, indent+"├─", indent+"│ ")
			} else {
				v.draw(side, indent, indent)
			}
		}
		at = indent
		s = s.next[n-1]
	}
}

func (v *view) node(s *stretch, indent string) {
	who, what := gist(s.first)
	mark, look := "○ ", plain
	switch {
	case s.first.IsBoundary():
		mark, look = "◆ ", yellow
	case s.tip:
		mark, look = "● ", bold
	}
	if who != "user" && who != "command" && !s.first.IsBoundary() {
		what = "(" + who + ") " + what
	}
	at := "     "
	if ts, ok := s.first.Time(); ok {
		at = ts.Local().Format("01-02 15:04")
	}
	tail := "  " + entryCount(s.entries)
	if s.orphan {
		tail += "  (what stood before is not in the file)"
	}
	if s.last {
		tail += "  ← continues here"
	}
	used := len([]rune(indent)) + 2 + len(at) + 2 + 10 + len([]rune(tail))
	v.a.out.line("%s %s%s%s  %s%s", styled{dim, fmt.Sprintf("%6d", s.first.Line)}, prose(indent), styled{look, strings.TrimSpace(mark)},
		prose(" "+at), styled{look, v.fit(what, used)}, styled{dim, tail})
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// treeBuilder finds the stretches of a log.
type treeBuilder struct {
	log      *transcript.Log
	children map[*transcript.Entry][]*transcript.Entry
	tops     []*transcript.Entry // entries without a parent, in file order
	orphans  map[*transcript.Entry]bool
	tip      *transcript.Entry
	onTip    map[*transcript.Entry]bool
	seen     map[*transcript.Entry]bool
	stop     func() bool // ends the work early; what was built is not shown then
}

func newTreeBuilder(l *transcript.Log) *treeBuilder {
	b := &treeBuilder{log: l, children: make(map[*transcript.Entry][]*transcript.Entry), orphans: make(map[*transcript.Entry]bool),
		tip: l.Tip(), onTip: make(map[*transcript.Entry]bool), seen: make(map[*transcript.Entry]bool), stop: func() bool { return false }}
	side := b.tip != nil && b.tip.Sidechain
	for _, e := range l.Entries {
		if !e.IsChain() || e.Sidechain != side || l.ByUUID(e.UUID) != e {
			continue
		}
		p, missing := b.parent(e)
		if p == nil {
			b.tops = append(b.tops, e)
			b.orphans[e] = missing
			continue
		}
		b.children[p] = append(b.children[p], e)
	}
	for e, steps := b.tip, 0; e != nil && steps <= len(l.Entries); steps++ {
		b.onTip[e] = true
		e, _ = b.parent(e)
	}
	return b
}

// parent returns the entry before e, through progress entries and compactions.
func (b *treeBuilder) parent(e *transcript.Entry) (p *transcript.Entry, missing bool) {
	id := e.ParentUUID
	if id == "" && e.IsBoundary() {
		id = e.LogicalParentUUID
	}
	for steps := 0; id != "" && steps <= len(b.log.Entries); steps++ {
		p := b.log.ByUUID(id)
		switch {
		case p == nil || p == e:
			return nil, true
		case p.IsChain():
			return p, false
		}
		id = p.ParentUUID
	}
	return nil, false
}

// roots returns the trees of the log, the one of the tip last. Entries that only
// a cycle leads to begin a tree of their own.
func (b *treeBuilder) roots() []*stretch {
	var out []*stretch
	for _, e := range b.tops {
		out = append(out, b.stretch(e))
	}
	for _, e := range b.log.Entries {
		if e.IsChain() && len(b.children[e]) > 0 && !b.seen[e] && b.log.ByUUID(e.UUID) == e && (b.tip == nil || e.Sidechain == b.tip.Sidechain) {
			out = append(out, b.stretch(e))
		}
	}
	return lastTip(out)
}

func lastTip(ss []*stretch) []*stretch {
	for i, s := range ss {
		if s.tip {
			return append(append(ss[:i:i], ss[i+1:]...), s)
		}
	}
	return ss
}

// stretch follows the conversation from e to where it parts or the next prompt
// begins. The stretches behind it are built without recursion for a conversation
// that only goes on: those of real logs have thousands.
func (b *treeBuilder) stretch(e *transcript.Entry) *stretch {
	first := &stretch{first: e, orphan: b.orphans[e]}
	var line []*stretch
	for s := first; s != nil; {
		line = append(line, s)
		s = b.fill(s)
	}
	for i := len(line) - 1; i >= 0; i-- {
		s := line[i]
		for _, n := range s.next {
			s.tip = s.tip || n.tip
		}
		s.next = lastTip(s.next)
	}
	return first
}

// fill walks one stretch and returns the one that follows when there is only one.
func (b *treeBuilder) fill(s *stretch) *stretch {
	for at := s.first; !b.stop(); {
		b.seen[at] = true
		s.entries++
		if at == b.tip {
			s.tip, s.last = true, true
		}
		var on []*transcript.Entry
		for _, c := range b.children[at] {
			if b.seen[c] {
				continue
			}
			if n, beside := b.beside(c, at); beside {
				s.entries += n
				continue
			}
			on = append(on, c)
		}
		switch {
		case len(on) == 0:
			return nil
		case len(on) == 1 && !b.begins(on[0]):
			at = on[0]
			continue
		case len(on) == 1:
			next := &stretch{first: on[0]}
			s.next = []*stretch{next}
			return next
		}
		for _, c := range on {
			s.next = append(s.next, b.stretch(c))
		}
		return nil
	}
	return nil
}

// begins reports whether a stretch begins at e.
func (b *treeBuilder) begins(e *transcript.Entry) bool {
	if e.IsBoundary() {
		return true
	}
	if e.Type != transcript.TypeUser || len(e.Results) > 0 || e.Meta || e.CompactSummary {
		return false
	}
	who, _ := gist(e)
	return who == "user" || who == "command"
}

// besideMax bounds the search for what lies beside the path.
const besideMax = 64

// beside reports whether c, a child of at, and everything behind it are results
// and notes of parallel calls rather than a branch, and how many entries that are.
func (b *treeBuilder) beside(c, at *transcript.Entry) (n int, ok bool) {
	if len(b.children[at]) < 2 || b.onTip[c] {
		return 0, false
	}
	queue := []*transcript.Entry{c}
	for len(queue) > 0 {
		e := queue[0]
		queue = queue[1:]
		if n++; n > besideMax {
			return 0, false
		}
		switch {
		case e.Type == transcript.TypeUser && len(e.Results) > 0:
		case e.Type == transcript.TypeAttachment, e.Type == transcript.TypeSystem && !e.IsBoundary():
		case e.Type == transcript.TypeAssistant && e.MessageID != "" && e.MessageID == at.MessageID:
		default:
			return 0, false
		}
		if e == b.tip || b.seen[e] {
			return 0, false
		}
		queue = append(queue, b.children[e]...)
	}
	b.mark(c)
	return n, true
}

// mark remembers that an entry and everything behind it was counted.
func (b *treeBuilder) mark(c *transcript.Entry) {
	for queue := []*transcript.Entry{c}; len(queue) > 0; queue = queue[1:] {
		if b.seen[queue[0]] {
			continue
		}
		b.seen[queue[0]] = true
		queue = append(queue, b.children[queue[0]]...)
	}
}
