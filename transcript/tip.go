package transcript

import "encoding/json"

// Tip returns the entry from which a resumed session continues (S-7): the last
// appended leaf of the main chain, unless a pointer that was written after it
// names another entry. Timestamps have no say. It is nil when the log holds no
// chain entry.
//
// In a sub-agent's file every entry is a sidechain entry; there the last leaf of
// those is returned.
func (l *Log) Tip() *Entry {
	last := l.lastChain()
	if last == nil {
		return nil
	}
	if p := l.pointerAfter(last.seq); p != nil {
		return p
	}
	if last.Sidechain {
		return l.lastSideLeaf(last)
	}
	var bare *Entry // the last leaf that leads to no message at all
	for i := last.seq; i >= 0; i-- {
		e := l.Entries[i]
		if !l.isMain(e) || e.childs {
			continue
		}
		if l.leadsToMessage(e) {
			return e
		}
		if bare == nil {
			bare = e
		}
	}
	if bare != nil {
		return bare
	}
	return last
}

// isMain reports whether e counts as an entry of the main chain.
func (l *Log) isMain(e *Entry) bool {
	return e.IsChain() && !e.Sidechain && !e.second
}

// lastChain returns the last main-chain entry of the file, or, in a sub-agent's
// file, the last sidechain entry.
func (l *Log) lastChain() *Entry {
	var side *Entry
	for i := len(l.Entries) - 1; i >= 0; i-- {
		e := l.Entries[i]
		if !e.IsChain() || l.byUUID[e.UUID] != e {
			continue
		}
		if !e.Sidechain {
			return e
		}
		if side == nil {
			side = e
		}
	}
	return side
}

func (l *Log) lastSideLeaf(last *Entry) *Entry {
	parents := make(map[*Entry]bool)
	for _, e := range l.Entries {
		if e.IsChain() && e.parent != nil && e.parent != e {
			parents[e.parent] = true
		}
	}
	for i := last.seq; i >= 0; i-- {
		if e := l.Entries[i]; e.IsChain() && l.byUUID[e.UUID] == e && !parents[e] {
			return e
		}
	}
	return last
}

// pointerAfter returns the entry that the last pointer behind position seq names.
func (l *Log) pointerAfter(seq int) *Entry {
	for i := len(l.Entries) - 1; i > seq; i-- {
		e := l.Entries[i]
		if e.Type != TypeLastPrompt || e.LeafUUID == "" {
			continue
		}
		if t := l.byUUID[e.LeafUUID]; t != nil && l.isMain(t) {
			return t
		}
	}
	return nil
}

// leadsToMessage reports whether a user or assistant entry stands on the way from
// e to its root. A resumed run that ended before its first prompt leaves a root
// of hook output behind everything else; it is no place to continue from.
func (l *Log) leadsToMessage(e *Entry) bool {
	for steps := 0; e != nil && steps <= len(l.Entries); steps++ {
		if e.Type == TypeUser || e.Type == TypeAssistant || e.IsBoundary() {
			return true
		}
		p, broken := bridgeProgress(e)
		if p == nil && broken != nil {
			p = l.before(broken, nil, nil)
		}
		e = p
	}
	return false
}

// Leaves returns the leaves of the main chain in file order: the tips of all
// branches, abandoned ones included.
func (l *Log) Leaves() []*Entry {
	var out []*Entry
	for _, e := range l.Entries {
		if l.isMain(e) && !e.childs {
			out = append(out, e)
		}
	}
	return out
}

// IsRewind reports whether e is a pointer that a rewind wrote, as against one
// that only repeats where the conversation stands.
func (e *Entry) IsRewind() bool {
	if e.Type != TypeLastPrompt {
		return false
	}
	var own struct {
		Rewind bool `json:"rewind"`
	}
	return json.Unmarshal(e.Own(), &own) == nil && own.Rewind
}
