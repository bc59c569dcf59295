package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Mode says what a crash may do to what was not synced.
type Mode int

const (
	// Strict drops everything that was not synced.
	Strict Mode = iota
	// Prefix keeps, for each file and for all directories together, the first
	// changes up to a point chosen by the seed, which may lie inside a write.
	Prefix
	// Scatter keeps any subset of the changes of names and of the written
	// sectors; what lies between kept sectors reads as zeros, and the file may
	// have its full size without its bytes.
	Scatter
	// Seen keeps everything as reads see it now: not a crash but a copy without
	// faults in which all is durable.
	Seen
)

// sector is the unit a disk writes as a whole: 512 bytes, the smallest still
// in use, gives the most ways to tear.
const sector = 512

// Options choose one of the states a power loss may leave.
type Options struct {
	Mode Mode
	Seed uint64
}

// Crash returns the file system as found after a power loss now. The same
// options on the same state give the same result. f itself, with its open
// files, is not changed; faults do not carry over.
func (f *FS) Crash(opt Options) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &crash{opt: opt, rnd: rand.New(rand.NewPCG(opt.Seed, uint64(opt.Mode))), done: map[*node]*node{}}
	kept := map[*node]map[string]*node{}
	view := func(n *node) map[string]*node {
		if kept[n] == nil {
			kept[n] = maps.Clone(n.kept)
		}
		return kept[n]
	}
	for _, op := range c.choose(f.dirOps) {
		op.apply(view)
	}
	out := &FS{Now: f.Now, nextID: f.nextID, calls: map[Op]int{}}
	out.root = c.copy(f.root, view)
	return out
}

type crash struct {
	opt  Options
	rnd  *rand.Rand
	done map[*node]*node // by original, so that two names of one file stay one
}

// choose selects the directory changes that happened.
func (c *crash) choose(ops []dirOp) []dirOp {
	switch c.opt.Mode {
	case Prefix:
		return ops[:c.rnd.IntN(len(ops)+1)]
	case Scatter:
		var out []dirOp
		for _, op := range ops {
			if c.rnd.IntN(2) == 0 {
				out = append(out, op)
			}
		}
		return out
	case Seen:
		return ops
	default:
		return nil
	}
}

// copy rebuilds what is reachable; names are visited in order so that a seed
// always means the same.
func (c *crash) copy(n *node, view func(*node) map[string]*node) *node {
	if n2, ok := c.done[n]; ok {
		return n2
	}
	n2 := &node{id: n.id, mode: n.mode, mtime: n.mtime}
	c.done[n] = n2
	if n.mode.IsDir() {
		n2.children, n2.kept = map[string]*node{}, map[string]*node{}
		for _, name := range slices.Sorted(maps.Keys(view(n))) {
			child := c.copy(view(n)[name], view)
			n2.children[name], n2.kept[name] = child, child
		}
		return n2
	}
	n2.durable = c.bytes(n)
	n2.data = slices.Clone(n2.durable)
	return n2
}

// bytes decides the content of one file.
func (c *crash) bytes(n *node) []byte {
	b := slices.Clone(n.durable)
	switch c.opt.Mode {
	case Seen:
		b = slices.Clone(n.data)
	case Prefix:
		whole := c.rnd.IntN(len(n.ops) + 1)
		for _, op := range n.ops[:whole] {
			b = op.apply(b)
		}
		if whole < len(n.ops) {
			if op := n.ops[whole]; len(op.data) > 0 {
				op.data = op.data[:c.rnd.IntN(len(op.data))]
				if len(op.data) > 0 {
					b = op.apply(b)
				}
			}
		}
	case Scatter:
		for _, op := range n.ops {
			b = c.scatter(b, op)
		}
		if len(n.data) > len(b) && c.rnd.IntN(2) == 0 {
			b = resize(b, int64(len(n.data)))
		}
	}
	return b
}

// scatter applies each sector of one change or not.
func (c *crash) scatter(b []byte, op fileOp) []byte {
	if op.data == nil {
		if c.rnd.IntN(2) == 0 {
			b = op.apply(b)
		}
		return b
	}
	for off, data := op.off, op.data; len(data) > 0; {
		n := min(int64(len(data)), sector-off%sector)
		if c.rnd.IntN(2) == 0 {
			b = fileOp{off: off, data: data[:n]}.apply(b)
		}
		off, data = off+n, data[n:]
	}
	return b
}
