package engine

import (
	"context"
	"errors"
	"sync"

	"varve.dev/transcript"
)

// Store is the log that an engine works on, and the place for the bytes that it
// names. *session.Session is one.
type Store interface {
	// Log returns what was read when the session was opened; the engine takes
	// it over. Empty for a new session.
	Log() *transcript.Log
	// Stamp returns what new entries of the session have in common.
	Stamp() transcript.Stamp
	// Append queues entries in order. Entries of one call go into the file in
	// one write. The error is that of a writer that gave up.
	Append(entries ...*transcript.Entry) error
	// Sync returns when everything appended is durable.
	Sync(ctx context.Context) error
}

// Frames is what a Store also offers when it keeps frames: write-once bytes by
// their hash.
type Frames interface {
	// PutFrame keeps data under id, durably, before it returns.
	PutFrame(id string, data []byte) error
	// Frame returns what was put under id.
	Frame(id string) ([]byte, error)
}

// ErrNoFrame is returned by [Frames] for an id that was never put.
var ErrNoFrame = errors.New("engine: no such frame")

// Mem is a Store in memory, for tests and for conversations that are not kept.
type Mem struct {
	mu      sync.Mutex
	stamp   transcript.Stamp
	log     *transcript.Log
	entries []*transcript.Entry
	frames  map[string][]byte
}

// Memory returns an empty store whose entries carry stamp.
func Memory(stamp transcript.Stamp) *Mem {
	if stamp.SessionID == "" {
		stamp.SessionID = transcript.NewUUID()
	}
	return &Mem{stamp: stamp, log: &transcript.Log{}, frames: map[string][]byte{}}
}

// MemoryOf returns a store that starts from a log that was read elsewhere, whose
// entries count as its own: what is added stays in memory.
func MemoryOf(stamp transcript.Stamp, l *transcript.Log) *Mem {
	m := Memory(stamp)
	m.log, m.entries = l, append([]*transcript.Entry(nil), l.Entries...)
	return m
}

// Log returns the log to start from.
func (m *Mem) Log() *transcript.Log { return m.log }

// Stamp returns the store's stamp.
func (m *Mem) Stamp() transcript.Stamp { return m.stamp }

// Append keeps the entries.
func (m *Mem) Append(entries ...*transcript.Entry) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = append(m.entries, entries...)
	return nil
}

// Sync does nothing: nothing is durable here.
func (m *Mem) Sync(context.Context) error { return nil }

// Bytes returns the log as a file would hold it.
func (m *Mem) Bytes() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []byte
	for _, e := range m.entries {
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		out = append(append(out, raw...), '\n')
	}
	return out, nil
}

// PutFrame keeps data.
func (m *Mem) PutFrame(id string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.frames[id] = data
	return nil
}

// Frame returns what was put.
func (m *Mem) Frame(id string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := m.frames[id]; ok {
		return d, nil
	}
	return nil, ErrNoFrame
}

// Reopen returns a store that starts from what this one holds, as a process does
// that opens the session again.
func (m *Mem) Reopen() (*Mem, error) {
	b, err := m.Bytes()
	if err != nil {
		return nil, err
	}
	l, err := transcript.Read(context.Background(), readerAt(b), int64(len(b)), transcript.ReadOptions{InMemory: int64(len(b)) + 1})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{stamp: m.stamp, log: l, entries: append([]*transcript.Entry(nil), m.entries...), frames: m.frames}, nil
}
