package tokens

import (
	"hash/maphash"
	"sync"
)

// Memo remembers what was counted in texts, for somebody who asks for the size of the same texts again and again, as a
// conversation does when it is shortened. Estimates with and without it are the same.
//
// It holds counts, not texts: some 300 bytes for each of [memoTexts] at most. Any number of goroutines may use it.
type Memo struct {
	mu    sync.Mutex
	most  int // texts
	known map[textKey]Features
}

// textKey tells texts apart: by 128 random bits of their content and their length, so that taking one for another is less
// likely than a fault of the machine's memory.
type textKey struct {
	one, two uint64
	size     int
}

var seedOne, seedTwo = maphash.MakeSeed(), maphash.MakeSeed()

const (
	// memoLeast is the shortest text that is remembered: shorter ones are counted in the time that looking them up takes.
	memoLeast = 128
	// memoTexts is how many are: those of some 100 MB of recorded sessions.
	memoTexts = 64 << 10
)

// NewMemo returns an empty memo.
func NewMemo() *Memo { return &Memo{most: memoTexts, known: make(map[textKey]Features)} }

// scan is [Scan]; nothing is remembered by a nil memo.
func (m *Memo) scan(text string) Features {
	if m == nil || len(text) < memoLeast {
		return Scan(text)
	}
	k := textKey{maphash.String(seedOne, text), maphash.String(seedTwo, text), len(text)}
	m.mu.Lock()
	f, ok := m.known[k]
	m.mu.Unlock()
	if ok {
		return f
	}
	f = Scan(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= m.most {
		clear(m.known)
	}
	m.known[k] = f
	return f
}
