package tokens

import (
	"sync"
	"unsafe"
)

// Memo remembers what was counted in texts, for somebody who asks for the size of the same pieces of memory again and again,
// as a conversation does when it is shortened. It tells texts by their place, not by their content: a text that was read
// twice is counted twice. Estimates with and without it are the same.
//
// It holds the texts it knows, 16 MiB of them at most. Any number of goroutines may use it.
type Memo struct {
	mu    sync.Mutex
	held  int // bytes
	most  int // of them
	known map[place]Features
}

// place is where a text stands. The pointer keeps it from being another's.
type place struct {
	at   *byte
	size int
}

const (
	// memoLeast is the shortest text that is remembered: shorter ones are counted in the time that looking them up takes.
	memoLeast = 128
	// memoMost is how many bytes of texts are held: more than any window takes in text.
	memoMost = 16 << 20
)

// NewMemo returns an empty memo.
func NewMemo() *Memo { return &Memo{most: memoMost, known: make(map[place]Features)} }

// scan is [Scan]; nothing is remembered by a nil memo.
func (m *Memo) scan(text string) Features {
	if m == nil || len(text) < memoLeast {
		return Scan(text)
	}
	p := place{unsafe.StringData(text), len(text)}
	m.mu.Lock()
	f, ok := m.known[p]
	m.mu.Unlock()
	if ok {
		return f
	}
	f = Scan(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held += len(text); m.held > m.most {
		clear(m.known)
		m.held = len(text)
	}
	m.known[p] = f
	return f
}
