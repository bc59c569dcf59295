package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"varve.dev/internal/vfs"
)

// Defaults of WriterOptions.
const (
	// DefaultDrain is how long an entry waits in the queue (T-6).
	DefaultDrain = 100 * time.Millisecond
	// DefaultMaxBatch bounds one write; a larger record goes alone (T-6).
	DefaultMaxBatch = 100 << 20
	// DefaultMaxQueue bounds the memory for entries that the disk refuses. A
	// long session is some ten MiB, so a disk that stays full for hours stays
	// below it; behind it the writer gives up.
	DefaultMaxQueue = 256 << 20
	// DefaultMaxKept bounds the memory for entries that are written but not yet
	// synced; behind it the writer syncs on its own.
	DefaultMaxKept = 64 << 20
)

// Retries after a failed write start after the drain interval and double up to
// this: often enough that a user who freed space sees it used at once.
const maxBackoff = 5 * time.Second

// keepBuffer is the largest write buffer kept for the next write; most batches
// are a few KiB, and a process may hold thousands of writers.
const keepBuffer = 1 << 20

// keepQueue is the longest queue, in entries, whose memory is kept.
const keepQueue = 4096

// maxRetract is the reference's limit for splicing the tail of a log (T-3).
const maxRetract = 50 << 20

// Lease is the right to write one log, checked before each write; *lease.Lease
// is one. Verify is called with a nil file before the log is opened. The
// writer calls it from one goroutine at a time and Release once, in Close.
//
// A Lease that also has the method VerifyIdentity(vfs.File) error is asked once
// a turn, and after each sync, whether the log's path still leads to the file.
type Lease interface {
	Verify(f vfs.File, end int64) error
	Release() error
}

// WriterOptions are the settings of a [Writer]. The zero value writes to the
// real file system without a lease.
type WriterOptions struct {
	FS    vfs.FS // nil: vfs.OS
	Lease Lease  // nil: the writer only compares sizes and inodes itself
	// Size is how long the log was when the caller read it; OpenWriter fails
	// with a *MovedError when it is another now. 0 takes the log as it is.
	Size int64
	// Meta is the session's current metadata as it was read from the log. It is
	// appended again with the rest, never before the first new message (S-6).
	Meta []*Entry
	// Warn is told of trouble once per episode: a *WriteError when the disk
	// refuses entries, a *ReadOnlyError when the writer gave up. It is called
	// without locks, from the goroutine that met the trouble; it must not call
	// Close, which may wait for that goroutine. Nil: not told, the calls that
	// wait return the errors all the same.
	Warn func(error)
	// Placed is told where an entry's line begins, in file order, once it is
	// written; again when [Writer.Retract] moved it. It must not call the
	// writer.
	Placed func(e *Entry, offset int64)

	Drain    time.Duration // DefaultDrain
	MaxBatch int           // bytes, DefaultMaxBatch
	MaxQueue int64         // bytes, DefaultMaxQueue
	MaxKept  int64         // bytes, DefaultMaxKept
	// After runs f in its own goroutine after d and returns a function that
	// stops it, which reports whether f will not run. Nil: time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
}

func (o WriterOptions) withDefaults() WriterOptions {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Drain <= 0 {
		o.Drain = DefaultDrain
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	if o.MaxQueue <= 0 {
		o.MaxQueue = DefaultMaxQueue
	}
	if o.MaxKept <= 0 {
		o.MaxKept = DefaultMaxKept
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return o
}

// Writer appends to one log. It is safe for concurrent use: Append only puts
// entries into a queue, and the queue is written in order, in whole lines, one
// write per batch. An entry is in the file after [Writer.Flush], and survives a
// power loss (is acknowledged) after [Writer.Sync]; both cover what was appended
// before the call, and callers at the same time share one fsync.
//
// The writer creates the log, with its directories, at the first user or
// assistant entry; what is appended before waits and goes out with it. Before
// each write the file must be as the writer left it, else it stops for good
// with a [*ReadOnlyError] around a [*MovedError]. When the disk refuses, the
// writer reports it once, keeps every entry that is not acknowledged, and
// writes them again when it can: acknowledged lines are never lost and never
// written twice.
//
// A writer has no goroutine while its queue is empty; the one that drains it is
// waited for by Close.
type Writer struct {
	path string
	opt  WriterOptions
	io   chan struct{} // capacity 1: held by whoever uses disk
	disk disk          // guarded by io
	busy sync.WaitGroup

	mu       sync.Mutex // guards the rest; never held during I/O
	state    writerState
	started  bool     // a message was appended
	pending  []queued // what came before it
	queue    []queued // not yet in the file, in order
	store    []queued // the empty slice at the start of queue's array
	bytes    int64    // of queue, newlines included
	group    uint64   // the last group given out
	enqueued uint64   // entries that went through the queue so far
	written  uint64   // of those, how many are in the file
	durable  uint64   // of those, how many are acknowledged
	meta     metadata
	turn     bool        // a new turn began: the next write looks at the inode
	stop     func() bool // the armed timer; nil when none is
	fails    int         // failed attempts in a row
	warned   bool        // this episode of trouble was reported
	final    error       // a *ReadOnlyError; nothing is written any more
	stats    WriterStats
}

type writerState int

const (
	writerOpen writerState = iota
	writerClosing
	writerClosed
)

// queued is an entry on its way to the file. Entries of one group go out in
// one write.
type queued struct {
	e     *Entry
	raw   []byte
	group uint64
}

func (q queued) size() int64 { return int64(len(q.raw)) + 1 }

// WriterStats count what a writer did.
type WriterStats struct {
	Entries  int64 // lines written, metadata included
	Bytes    int64 // bytes written, newlines, repairs and metadata included
	Visible  int64 // of those, bytes of messages and attachments that a model is shown
	Writes   int64 // write calls
	Fsyncs   int64 // fsync calls on the log
	Turns    int64 // calls of Turn
	Repairs  int64 // times lines were written again or a half line was removed
	Queued   int   // entries that wait now
	Unsynced int   // entries in the file that are not acknowledged
	End      int64 // size of the log behind the last whole line
	Failing  bool  // the last attempt to write failed
}

// PerTurn is the mean number of fsyncs in a turn, 0 before the first.
func (s WriterStats) PerTurn() float64 {
	if s.Turns == 0 {
		return 0
	}
	return float64(s.Fsyncs) / float64(s.Turns)
}

// Amplification is bytes written per byte a model is shown, 0 before the first.
func (s WriterStats) Amplification() float64 {
	if s.Visible == 0 {
		return 0
	}
	return float64(s.Bytes) / float64(s.Visible)
}

// OpenWriter prepares to append to the log at path. It creates and changes
// nothing; the log need not exist. A torn last line is noticed here and ended
// with a newline by the first append (T-10).
func OpenWriter(path string, opt WriterOptions) (*Writer, error) {
	w := &Writer{path: path, opt: opt.withDefaults(), io: make(chan struct{}, 1)}
	w.disk.w = w
	if err := w.meta.load(opt.Meta); err != nil {
		return nil, fmt.Errorf("session log %s: %w", path, err)
	}
	info, err := w.opt.FS.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if opt.Size > 0 {
			return nil, &MovedError{Path: path, Want: opt.Size, Reason: "is gone: it was removed or renamed after this session read it"}
		}
		return w, nil
	case err != nil:
		return nil, fmt.Errorf("session log %s: %w", path, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("session log %s is not a regular file (%v)", path, info.Mode().Type())
	case opt.Size > 0 && info.Size() != opt.Size:
		return nil, sizeMoved(path, opt.Size, info.Size())
	}
	torn, err := tornEnd(w.opt.FS, path, info.Size())
	if err != nil {
		return nil, fmt.Errorf("session log %s: %w", path, err)
	}
	w.disk.exists, w.disk.info = true, info
	w.disk.end, w.disk.synced, w.disk.newline = info.Size(), info.Size(), torn
	w.stats.End = info.Size()
	return w, nil
}

// tornEnd reports whether the file's last byte is not a newline.
func tornEnd(fsys vfs.FS, path string, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	var last [1]byte
	n, err := f.ReadAt(last[:], size-1)
	if n == 1 || err == io.EOF {
		err = nil
	}
	return last[0] != '\n', errors.Join(err, f.Close())
}

// Path returns the log's path.
func (w *Writer) Path() string { return w.path }

// Append puts entries into the queue; it does not wait for the disk. Entries
// given together go out in one write, so that a crash leaves all or, cut at its
// end, the first of them. Until the first user or assistant entry, or undo, they
// wait in memory (T-2). The error says that nothing was taken: [ErrClosed],
// [ErrReadOnly], [ErrUserTitle] or [ErrRecord].
func (w *Writer) Append(entries ...*Entry) error {
	return w.add(true, entries)
}

// Pending is Append for entries that must not start the log even if they are
// messages: they wait for the next user or assistant entry that is appended.
// Once the log is started it is the same as Append.
func (w *Writer) Pending(entries ...*Entry) error {
	return w.add(false, entries)
}

func (w *Writer) add(starts bool, entries []*Entry) error {
	if len(entries) == 0 {
		return nil
	}
	entries, err := loaded(entries)
	if err != nil {
		return err
	}
	w.mu.Lock()
	warn, err := w.addLocked(starts, entries)
	w.mu.Unlock()
	if warn != nil && w.opt.Warn != nil {
		w.opt.Warn(warn)
	}
	return err
}

func (w *Writer) addLocked(starts bool, entries []*Entry) (warn, err error) {
	switch {
	case w.state != writerOpen:
		return nil, fmt.Errorf("session log %s: %w", w.path, ErrClosed)
	case w.final != nil:
		return nil, w.final
	}
	mark := len(w.pending)
	boundary, message := false, false
	w.group++
	for _, e := range entries {
		q, err := w.check(e)
		if err != nil {
			clear(w.pending[mark:])
			w.pending = w.pending[:mark]
			return nil, err
		}
		w.pending = append(w.pending, q)
		message = message || startsLog(e)
		boundary = boundary || e.IsBoundary()
	}
	for _, q := range w.pending[mark:] {
		w.meta.note(q.e, q.raw)
	}
	if !w.started {
		if !starts || !message {
			return nil, nil
		}
		w.started = true
		register(w)
		for i := range w.pending {
			w.pending[i].group = w.group // they go out with the message
		}
	}
	w.enqueueLocked(w.pending...)
	clear(w.pending)
	w.pending = w.pending[:0]
	if boundary || w.meta.due() {
		w.repeatMetadata()
	}
	w.arm(w.opt.Drain)
	if w.fails > 0 && w.bytes > w.opt.MaxQueue {
		warn = w.giveUp(fmt.Errorf("more than %d bytes wait for the disk", w.opt.MaxQueue))
	}
	return warn, nil
}

// startsLog reports whether an entry is one that somebody waits for: a message, or
// an undo, which is asked for by itself and names an entry of the log.
func startsLog(e *Entry) bool {
	return e.Type == TypeUser || e.Type == TypeAssistant || e.Type == TypeSystem && e.Subtype == SubUndo
}

// loaded replaces entries whose bytes are still in another log by loaded copies,
// so that nothing is read while the queue is locked.
func loaded(entries []*Entry) ([]*Entry, error) {
	for i, e := range entries {
		if e == nil || e.raw != nil {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		whole := *e
		whole.raw = raw
		entries = slices.Clone(entries)
		entries[i] = &whole
	}
	return entries, nil
}

// check makes an entry ready for the queue; w.mu is held.
func (w *Writer) check(e *Entry) (queued, error) {
	if e == nil {
		return queued{}, fmt.Errorf("%w: no entry", ErrRecord)
	}
	raw := e.raw
	if len(raw) == 0 || bytes.IndexByte(raw, '\n') >= 0 {
		return queued{}, fmt.Errorf("%w: entry %s is empty or contains a newline", ErrRecord, e.ref())
	}
	if e.Type == TypeCustomTitle && generatedTitle(e) && w.meta.userTitle() {
		return queued{}, ErrUserTitle
	}
	return queued{e, raw, w.group}, nil
}

// enqueueLocked adds to the queue; w.mu is held.
func (w *Writer) enqueueLocked(qs ...queued) {
	for _, q := range qs {
		w.bytes += q.size()
	}
	before := cap(w.queue)
	if w.queue = append(w.queue, qs...); cap(w.queue) != before {
		w.store = w.queue[:0]
	}
	w.enqueued += uint64(len(qs))
}

// repeatMetadata appends the current metadata block; w.mu is held.
func (w *Writer) repeatMetadata() {
	w.group++
	for _, m := range w.meta.block() {
		w.enqueueLocked(queued{m.e, m.raw, w.group})
	}
}

// Turn tells the writer that a new turn begins: the next write checks that the
// log's path still leads to our file, and counters per turn move on.
func (w *Writer) Turn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Turns++
	w.turn = true
}

// Stats returns the counters.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Queued, s.Unsynced, s.Failing = len(w.queue), int(w.written-w.durable), w.fails > 0 || w.final != nil
	return s
}

// Unacknowledged returns the entries that are not known to be durable, in
// order, so that a fork can carry them on; it waits for a running write.
func (w *Writer) Unacknowledged() []*Entry {
	w.io <- struct{}{}
	defer func() { <-w.io }()
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*Entry
	for _, c := range w.disk.kept {
		if c.e != nil {
			out = append(out, c.e)
		}
	}
	for _, q := range slices.Concat(w.queue, w.pending) {
		out = append(out, q.e)
	}
	return out
}
