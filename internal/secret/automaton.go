package secret

// keyword is a literal by which a rule is found.
type keyword struct {
	text string
	fold bool // matches in any ASCII case
	rule int
}

// automaton looks for all keywords at once (Aho and Corasick's construction,
// made into a full transition table). It reads each byte of the text once and
// does one table look-up for it, which is what makes a scan of clean text fast.
type automaton struct {
	class [256]uint8 // byte → column; letters of both cases share one
	width int        // columns of a row
	next  []uint32   // state is the offset of its row; accepting rows come last
	first uint32     // the first accepting row
	hits  [][]keyword
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// node is a state while the automaton is built.
type node struct {
	next map[byte]int
	fail int
	hits []keyword
}

func newAutomaton(words []keyword) *automaton {
	nodes := []*node{{next: map[byte]int{}}}
	for _, w := range words {
		at := 0
		for i := range len(w.text) {
			b := lower(w.text[i])
			to, ok := nodes[at].next[b]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, &node{next: map[byte]int{}})
				nodes[at].next[b] = to
			}
			at = to
		}
		nodes[at].hits = append(nodes[at].hits, w)
	}
	a := &automaton{width: 1}
	a.classify(words)
	a.flatten(nodes, breadthFirst(nodes))
	return a
}

// classify gives each byte that occurs in a keyword a column; all others share
// column 0.
func (a *automaton) classify(words []keyword) {
	for _, w := range words {
		for i := range len(w.text) {
			if b := lower(w.text[i]); a.class[b] == 0 {
				a.class[b] = uint8(a.width)
				a.width++
			}
		}
	}
	for b := byte('A'); b <= 'Z'; b++ {
		a.class[b] = a.class[lower(b)]
	}
}

// breadthFirst returns the states by depth and sets their failure links and the
// keywords that end there as suffixes of others.
func breadthFirst(nodes []*node) []int {
	order := []int{0}
	for i := 0; i < len(order); i++ {
		n := nodes[order[i]]
		for b, to := range n.next {
			f := n.fail
			for f != 0 && nodes[f].next[b] == 0 {
				f = nodes[f].fail
			}
			if t, ok := nodes[f].next[b]; ok && t != to {
				nodes[to].fail = t
			}
			nodes[to].hits = append(nodes[to].hits, nodes[nodes[to].fail].hits...)
			order = append(order, to)
		}
	}
	return order
}

// flatten numbers the states so that accepting ones come last and fills the
// transition table.
func (a *automaton) flatten(nodes []*node, order []int) {
	row := make([]uint32, len(nodes))
	number := uint32(0)
	for _, accepting := range []bool{false, true} {
		if accepting {
			a.first = number * uint32(a.width)
		}
		for _, s := range order {
			if (len(nodes[s].hits) > 0) != accepting {
				continue
			}
			row[s] = number * uint32(a.width)
			if accepting {
				a.hits = append(a.hits, nodes[s].hits)
			}
			number++
		}
	}
	a.next = make([]uint32, int(number)*a.width)
	for _, s := range order {
		n := nodes[s]
		copy(a.next[row[s]:row[s]+uint32(a.width)], a.next[row[n.fail]:row[n.fail]+uint32(a.width)])
		for b, to := range n.next {
			a.next[row[s]+uint32(a.class[b])] = row[to]
		}
	}
}

// each calls f for every keyword of text with the offset at which it begins, in
// the order in which they end.
func (a *automaton) each(text string, f func(k *keyword, at int)) {
	state := uint32(0)
	next, class := a.next, &a.class
	for i := 0; i < len(text); i++ {
		state = next[state+uint32(class[text[i]])]
		if state < a.first {
			continue
		}
		hits := a.hits[(state-a.first)/uint32(a.width)]
		for h := range hits {
			k := &hits[h]
			at := i + 1 - len(k.text)
			if k.fold || text[at:i+1] == k.text {
				f(k, at)
			}
		}
	}
}
