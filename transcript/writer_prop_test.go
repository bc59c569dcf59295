package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
)

// world is a log with its writer, and what is known of every entry.
type world struct {
	fs     *crashfs.FS
	clock  *manual
	w      *Writer
	n      int             // entries made so far; names sort as they were made
	live   []string        // appended, not taken back, in order, by this writer
	acked  map[string]bool // must survive everything
	faulty bool            // a fault was injected since the last clear
}

func newWorld(t *rapid.T) *world {
	m := &world{fs: crashfs.New(), acked: map[string]bool{}}
	m.open(t)
	return m
}

func (m *world) open(t *rapid.T) {
	m.clock = &manual{}
	w, err := OpenWriter(logPath, WriterOptions{FS: m.fs, After: m.clock.After,
		MaxBatch: rapid.SampledFrom([]int{300, 2000, DefaultMaxBatch}).Draw(t, "MaxBatch"),
		MaxKept:  rapid.SampledFrom([]int64{1000, DefaultMaxKept}).Draw(t, "MaxKept")})
	if err != nil {
		t.Fatal(err)
	}
	m.w, m.live = w, nil
}

func (m *world) append(t *rapid.T) {
	var es []*Entry
	for range rapid.IntRange(1, 3).Draw(t, "entries") {
		pad := rapid.SampledFrom([]int{0, 40, 450, 1500}).Draw(t, "pad")
		id := fmt.Sprintf("e%06d", m.n)
		m.n++
		e, err := Parse(fmt.Appendf(nil, `{"type":"user","message":{"content":"%s"},"uuid":%q}`, strings.Repeat("x", pad), id))
		if err != nil {
			t.Fatal(err)
		}
		es, m.live = append(es, e), append(m.live, id)
	}
	if err := m.w.Append(es...); err != nil {
		t.Fatal(err)
	}
}

func (m *world) side(t *rapid.T) {
	line := rapid.SampledFrom([]string{`{"type":"tag","tag":"t"}`, `{"type":"last-prompt","lastPrompt":"p"}`,
		`{"type":"system","subtype":"compact_boundary"}`}).Draw(t, "line")
	e, err := Parse([]byte(line))
	if err == nil {
		err = m.w.Append(e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// result checks that only an injected fault makes a call fail, and that it never
// ends the writer.
func (m *world) result(t *rapid.T, err error) bool {
	if err != nil && (!m.faulty || errors.Is(err, ErrReadOnly)) {
		t.Fatalf("failed without a fault: %v", err)
	}
	return err == nil
}

func (m *world) flush(t *rapid.T) {
	if m.result(t, m.w.Flush(context.Background())) {
		m.inFile(t)
	}
}

func (m *world) sync(t *rapid.T) {
	if m.result(t, m.w.Sync(context.Background())) {
		m.acknowledge(t)
	}
}

func (m *world) acknowledge(t *rapid.T) {
	for _, id := range m.live {
		m.acked[id] = true
	}
	m.inFile(t)
}

// inFile checks that every entry of this writer is in the file, once, in order.
func (m *world) inFile(t *rapid.T) {
	var got []string
	for _, id := range strictIDs(m.read(t, m.fs)) {
		if len(m.live) > 0 && id >= m.live[0] {
			got = append(got, id)
		}
	}
	if !slices.Equal(got, m.live) {
		t.Fatalf("in the file: %v\nappended:    %v", got, m.live)
	}
}

func (m *world) fault(t *rapid.T) {
	m.faulty = true
	m.fs.Inject(crashfs.Fault{
		Op: rapid.SampledFrom([]crashfs.Op{crashfs.OpWrite, crashfs.OpWrite, crashfs.OpSync, crashfs.OpSync, crashfs.OpOpen,
			crashfs.OpSyncDir, crashfs.OpTruncate, crashfs.OpStat, crashfs.OpRead}).Draw(t, "op"),
		Nth:       rapid.IntRange(1, 4).Draw(t, "nth"),
		Count:     rapid.SampledFrom([]int{1, 2, 3, crashfs.Always}).Draw(t, "count"),
		Err:       rapid.SampledFrom([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}).Draw(t, "error"),
		Short:     rapid.SampledFrom([]int{0, 1, 90, 700, 5000}).Draw(t, "short"),
		KeepDirty: rapid.Bool().Draw(t, "keep"),
		Evict:     rapid.Bool().Draw(t, "evict"),
	})
}

func (m *world) clear(*rapid.T) {
	m.fs.ClearFaults()
	m.faulty = false
}

func (m *world) retract(t *rapid.T) {
	if len(m.live) == 0 {
		return
	}
	id := m.live[rapid.IntRange(max(0, len(m.live)-5), len(m.live)-1).Draw(t, "index")]
	err := m.w.Retract(id)
	switch {
	case m.acked[id]:
		if err == nil {
			t.Fatalf("acknowledged %s was taken back", id)
		}
	case err == nil:
		m.live = slices.DeleteFunc(m.live, func(s string) bool { return s == id })
	case !errors.Is(err, ErrAcknowledged): // the writer may have synced on its own
		m.result(t, err)
	}
}

// crash looks at what a power loss would leave.
func (m *world) crash(t *rapid.T) {
	for mode := crashfs.Strict; mode <= crashfs.Scatter; mode++ {
		m.survives(t, m.fs.Crash(crashfs.Options{Mode: mode, Seed: rapid.Uint64().Draw(t, "seed")}))
	}
}

// reboot goes on, in a new process, from what a power loss left.
func (m *world) reboot(t *rapid.T) {
	mode := rapid.SampledFrom([]crashfs.Mode{crashfs.Strict, crashfs.Prefix, crashfs.Scatter}).Draw(t, "mode")
	after := m.fs.Crash(crashfs.Options{Mode: mode, Seed: rapid.Uint64().Draw(t, "seed")})
	m.survives(t, after)
	m.end()
	m.fs, m.faulty = after, false
	data := m.read(t, m.fs)
	for _, id := range strictIDs(data[:bytes.LastIndexByte(data, '\n')+1]) {
		m.acked[id] = true // it is on the disk now, whoever was told
	}
	m.open(t)
}

// restart closes the writer, in whatever state the disk is, and resumes.
func (m *world) restart(t *rapid.T) {
	err := m.w.Close(context.Background())
	if err == nil {
		m.acknowledge(t)
	} else if !m.faulty {
		t.Fatal(err)
	}
	if m.w.disk.suspect || !m.w.disk.based {
		// The log shows lines that the failed sync lost. Nothing tells the next
		// process; what it acknowledges behind them is as good as the kernel's
		// memory of them. So let the kernel have kept them.
		m.fs = m.fs.Crash(crashfs.Options{Mode: crashfs.Seen})
	}
	m.clear(t)
	m.survives(t, m.fs)
	m.open(t)
}

func (m *world) end() {
	m.fs.ClearFaults()
	_ = m.w.Close(context.Background()) // only to leave the registry
}

// survives checks the promise: every acknowledged entry is there, once, on a
// line of its own, in order, and the reader proper finds it.
func (m *world) survives(t *rapid.T, fsys *crashfs.FS) {
	data := m.read(t, fsys)
	strict := strictIDs(data)
	l, err := Read(context.Background(), bytes.NewReader(data), int64(len(data)), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	readable := map[string]bool{}
	for _, e := range l.Entries {
		readable[e.UUID] = true
	}
	count := map[string]int{}
	var kept []string
	for _, id := range strict {
		if count[id]++; m.acked[id] {
			kept = append(kept, id)
		}
	}
	for id := range m.acked {
		if count[id] != 1 || !readable[id] {
			t.Fatalf("acknowledged %s: %d lines, readable %v, in %v", id, count[id], readable[id], strict)
		}
	}
	if !slices.IsSorted(kept) {
		t.Fatalf("order lost: %v", kept)
	}
}

func (m *world) read(t *rapid.T, fsys *crashfs.FS) []byte {
	data, err := vfs.ReadFile(fsys.Crash(crashfs.Options{Mode: crashfs.Seen}), logPath) // past the faults
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		t.Fatal(err)
	}
	return data
}

// strictIDs lists the uuids of lines that are JSON objects as they stand. A line
// of two unacknowledged records with lost sectors between them is none, although
// readers are more tolerant of zeros.
func strictIDs(data []byte) []string {
	var out []string
	for line := range bytes.Lines(data) {
		if json.Valid(line) {
			out = append(out, idsOf(string(line))...)
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, "e0") })
}

// G-8, T-6, T-10, DESIGN decisions 8 and 9: under any interleaving of appends,
// syncs, faults of the disk, restarts and power losses, every acknowledged entry
// survives, exactly once, in order.
func TestWriterSurvivesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newWorld(t)
		defer func() { m.end() }()
		t.Repeat(map[string]func(*rapid.T){
			"append":  m.append,
			"append2": m.append,
			"side":    m.side,
			"flush":   m.flush,
			"sync":    m.sync,
			"sync2":   m.sync,
			"fire":    func(*rapid.T) { m.clock.fire() },
			"fault":   m.fault,
			"fault2":  m.fault,
			"clear":   m.clear,
			"turn":    func(*rapid.T) { m.w.Turn() },
			"retract": m.retract,
			"crash":   m.crash,
			"reboot":  m.reboot,
			"restart": m.restart,
		})
		m.clear(t)
		m.sync(t)
		m.crash(t)
	})
}
