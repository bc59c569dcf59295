package lease

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"varve.dev/internal/vfs"
)

// Defaults of Options. Six missed beats are more than a busy file server or a
// swapping machine costs, and half a minute is what a user waits without giving
// up after a crash.
const (
	DefaultHeartbeat = 5 * time.Second
	DefaultStale     = 30 * time.Second
)

// holderWait bounds how long a refused process looks for a name in the lock
// file: the winner takes the lock first and writes its name a moment later.
const holderWait = 300 * time.Millisecond

// openTries bounds how often a lock file that is replaced while it is being
// locked is opened again.
const openTries = 16

// errHeld and noLocksError are what lockFile reports besides real failures.
var errHeld = errors.New("held by another open file")

// noLocksError means that the file system or the system has no kernel locks.
type noLocksError struct{ cause error }

func (e *noLocksError) Error() string { return "no kernel locks here: " + e.cause.Error() }
func (e *noLocksError) Unwrap() error { return e.cause }

// Options are the settings of a [Lease]. The zero value is ready to use.
type Options struct {
	// Kind names the sort of process for those who are refused: interactive,
	// bg, daemon, daemon-worker, headless.
	Kind string
	// Detect tells on which file system the log's directory lies; nil means
	// [Detect]. An error counts as a shared file system.
	Detect func(dir string) (FileSystem, error)
	// Heartbeat is the time between two beats, Stale the time after which a
	// silent holder loses the log; both only matter on shared file systems and
	// must be the same for all who share one. Zero means the default; Stale is
	// at least four heartbeats.
	Heartbeat, Stale time.Duration
	// Stat looks at the log's path for VerifyIdentity; nil means os.Stat.
	Stat func(name string) (fs.FileInfo, error)
	// Now is the clock for the acquired time and for measuring silence; its
	// results should carry a monotonic reading. Nil means time.Now.
	Now func() time.Time
	// Rand gives the 16 bytes of each acquisition's instance id; nil means
	// crypto/rand.
	Rand io.Reader
}

// withDefaults returns o with every unset field set.
func (o Options) withDefaults() Options {
	if o.Detect == nil {
		o.Detect = Detect
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = DefaultHeartbeat
	}
	if o.Stale <= 0 {
		o.Stale = DefaultStale
	}
	o.Stale = max(o.Stale, 4*o.Heartbeat)
	if o.Stat == nil {
		o.Stat = os.Stat
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// system is what tests replace of the operating system.
type system struct {
	remove func(name string) error
	flock  func(f *os.File) error // lockFile
	fsync  func(f *os.File) error
}

// state is where a lease is in its life.
type state int

const (
	fresh    state = iota // never acquired; the first Verify acquires
	held                  // ours
	lost                  // was ours; only Release leads out
	released              // given back; only Acquire leads out
)

// Lease is the right of this process to write one session log. Its methods may
// be called from several goroutines; they run one at a time.
type Lease struct {
	path string // of the log
	opt  Options
	sys  system

	op sync.Mutex // held by each operation; guards the fields below it
	// state and what belongs to state held
	state   state
	key     string   // in the registry
	file    *os.File // the open, locked lock file
	beat    *heartbeat
	lostErr error // for state lost

	mu        sync.Mutex // guards the fields below it, never held for long
	holder    Holder
	warning   error
	cancel    context.CancelCauseFunc // ends an acquisition that waits; nil when none runs
	releasing int                     // calls of Release that wait for op
}

// New returns a lease for the session log at path. It touches nothing: neither
// the log nor its directory need exist. See [Lease.Acquire].
func New(path string, opt Options) *Lease {
	return &Lease{path: path, opt: opt.withDefaults(), sys: system{remove: os.Remove, flock: lockFile, fsync: (*os.File).Sync}}
}

// lockPath and heartbeatPath return the names beside the log at path.
func lockPath(path string) string      { return strings.TrimSuffix(path, ".jsonl") + ".lock" }
func heartbeatPath(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".heartbeat" }

// Path returns the path of the log.
func (l *Lease) Path() string { return l.path }

// Held reports whether the lease was acquired and neither released nor found
// to be lost. Only [Lease.Verify] looks whether it is still true.
func (l *Lease) Held() bool {
	l.op.Lock()
	defer l.op.Unlock()
	return l.state == held
}

// Holder returns what this lease wrote about itself; the zero Holder before
// the first acquisition.
func (l *Lease) Holder() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// Warning returns a [*SharedError] when the last acquisition found a network or
// shared file system, otherwise nil.
func (l *Lease) Warning() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.warning
}

// Acquire takes the lock, creating the log's directory (0700) and the lock
// file (0600) when needed. It does nothing when the lease is held already, and
// takes the lock anew after Release.
//
// It fails with a [*BusyError] when another living process or another lease of
// this process holds the log. On a local file system it never waits. On a
// shared one it watches an existing heartbeat: a living holder is found within
// about one heartbeat, a dead one costs Options.Stale; ctx and Release end the
// wait. After a lost lock it returns the [*LostError] until Release was called.
func (l *Lease) Acquire(ctx context.Context) error {
	l.op.Lock()
	defer l.op.Unlock()
	switch l.state {
	case held:
		return l.alive()
	case lost:
		return l.lostErr
	}
	return l.acquire(ctx)
}

// Verify is the fence before each write of the log: it fails unless the lease
// is held and the open log f is exactly end bytes long, end being where the
// caller's last write (or its reading of the log) ended.
//
// A lease that was never acquired acquires itself first, which can wait on a
// shared file system as Acquire does. A nil f only looks at the lock; a writer
// calls it so before it creates the log. The errors are those of Acquire,
// ErrReleased, [*LostError] and [*MovedError]; after any of them nothing may be
// written.
func (l *Lease) Verify(f vfs.File, end int64) error {
	l.op.Lock()
	defer l.op.Unlock()
	if err := l.ensure(); err != nil {
		return err
	}
	if f == nil {
		return nil
	}
	fi, err := f.Stat()
	if err != nil {
		return fmt.Errorf("session log %s: cannot see its size before writing: %w", l.path, err)
	}
	if fi.Size() != end {
		return &MovedError{Path: l.path, Want: end, Got: fi.Size()}
	}
	return nil
}

// VerifyIdentity is the slower fence, once a turn: the log's path must lead to
// the open file f, and the path of the lock file to the locked file. A lock
// file that was removed is created and locked again if nobody else did so in
// the meantime; what somebody wrote until then is caught by Verify. On a shared
// file system the heartbeat is renewed. Errors are those of Verify.
func (l *Lease) VerifyIdentity(f vfs.File) error {
	l.op.Lock()
	defer l.op.Unlock()
	if err := l.ensure(); err != nil {
		return err
	}
	if err := l.relock(); err != nil {
		return err
	}
	if l.beat != nil {
		if err := l.beat.renew(); err != nil {
			return l.noteLost(err)
		}
	}
	if f == nil {
		return nil
	}
	mine, err := f.Stat()
	if err != nil {
		return fmt.Errorf("session log %s: cannot see which file is open: %w", l.path, err)
	}
	there, err := l.opt.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &MovedError{Path: l.path, Want: -1, Got: -1, Missing: true}
	case err != nil:
		return fmt.Errorf("session log %s: cannot see which file it is: %w", l.path, err)
	case !vfs.SameFile(mine, there):
		return &MovedError{Path: l.path, Want: -1, Got: -1, Replaced: true}
	}
	return nil
}

// Release gives the lock back and waits for the heartbeat to stop. The lock
// file stays. After it Verify fails with ErrReleased and Acquire may be called
// again. It may be called at any time and more than once. An error means that
// something of the heartbeat could not be tidied up; the log is free
// nevertheless.
func (l *Lease) Release() error {
	l.mu.Lock()
	l.releasing++
	if l.cancel != nil {
		l.cancel(ErrReleased)
	}
	l.mu.Unlock()

	l.op.Lock()
	defer l.op.Unlock()
	l.mu.Lock()
	l.releasing--
	l.mu.Unlock()

	was := l.state
	l.state, l.lostErr = released, nil
	if was != held && was != lost {
		return nil
	}
	return l.letGo()
}

// ensure acquires a fresh lease and otherwise reports whether it is held.
// Caller holds op.
func (l *Lease) ensure() error {
	switch l.state {
	case fresh:
		return l.acquire(context.Background())
	case released:
		return fmt.Errorf("session log %s: %w", l.path, ErrReleased)
	case lost:
		return l.lostErr
	default:
		return l.alive()
	}
}

// alive looks whether the heartbeat, if there is one, is still ours. Caller
// holds op.
func (l *Lease) alive() error {
	if l.beat == nil {
		return nil
	}
	return l.noteLost(l.beat.check())
}

// noteLost makes a loss permanent and returns err. Caller holds op.
func (l *Lease) noteLost(err error) error {
	if errors.Is(err, ErrLost) {
		l.state, l.lostErr = lost, err
	}
	return err
}

// acquire takes the lock from state fresh or released. Caller holds op.
func (l *Lease) acquire(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.mu.Lock()
	if l.releasing > 0 {
		l.mu.Unlock()
		return fmt.Errorf("session log %s: %w", l.path, ErrReleased)
	}
	l.cancel = cancel
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.cancel = nil
		l.mu.Unlock()
	}()

	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("session log %s: cannot create its directory: %w", l.path, err)
	}
	h, err := l.identify()
	if err != nil {
		return err
	}
	key := realPath(l.path)
	if other := registry.reserve(key, h.Instance); other != "" {
		return &BusyError{Path: l.path, Holder: l.findHolder(), SameProcess: true}
	}
	l.key = key
	if err := l.lock(ctx, dir, h); err != nil {
		_ = l.letGo() // nothing was written to the log; the first error is the one to tell
		return err
	}
	l.state = held
	return nil
}

// lock takes the kernel lock and, where it is needed, the heartbeat. What it
// took before an error is left to letGo. Caller holds op.
func (l *Lease) lock(ctx context.Context, dir string, h Holder) error {
	f, noLocks, err := l.openLock()
	if err != nil {
		return err
	}
	l.file = f
	where, detectErr := l.opt.Detect(dir)
	var warning error
	if where.Shared || detectErr != nil || noLocks != nil {
		warning = &SharedError{Path: l.path, Type: where.Type, Stale: l.opt.Stale, Cause: errors.Join(detectErr, noLocks)}
	}
	l.mu.Lock()
	l.holder, l.warning = h, warning
	l.mu.Unlock()

	// The name is for messages only: a full disk must not keep a session from
	// going on in memory, so an error here is no error of the lock.
	_ = h.write(f)

	// A heartbeat that exists is respected on local file systems too: this
	// machine may be the server of others.
	_, statErr := os.Lstat(heartbeatPath(l.path))
	if warning == nil && errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	l.beat, err = l.takeHeartbeat(ctx, h)
	return err
}

// openLock opens and locks the lock file. noLocks is set when there are no
// kernel locks and the heartbeat alone must do.
func (l *Lease) openLock() (f *os.File, noLocks, err error) {
	name := lockPath(l.path)
	for range openTries {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|openNoFollow, 0o600)
		if err != nil {
			return nil, nil, fmt.Errorf("session log %s: cannot open its lock file: %w", l.path, err)
		}
		mine, err := f.Stat()
		if err == nil && !mine.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file; remove it", name)
		}
		if err == nil {
			err = l.sys.flock(f)
		}
		var none *noLocksError
		switch {
		case errors.As(err, &none):
			return f, none, nil
		case errors.Is(err, errHeld):
			_ = f.Close() // nothing was written to it
			h := l.findHolder()
			return nil, nil, &BusyError{Path: l.path, Holder: h, SameProcess: registry.has(h.Instance)}
		case err != nil:
			_ = f.Close() // nothing was written to it
			return nil, nil, fmt.Errorf("session log %s: cannot lock it: %w", l.path, err)
		}
		// The file may have been removed between opening and locking; a lock
		// on a file without a name would bind nobody.
		if there, err := os.Lstat(name); err == nil && os.SameFile(mine, there) {
			return f, nil, nil
		}
		_ = f.Close() // nothing was written to it
	}
	return nil, nil, fmt.Errorf("session log %s: something keeps replacing %s; stop it and try again", l.path, name)
}

// relock makes sure that the lock file's path leads to the locked file. Caller
// holds op, state is held.
func (l *Lease) relock() error {
	mine, err := l.file.Stat()
	if err != nil {
		return fmt.Errorf("session log %s: cannot see its lock file: %w", l.path, err)
	}
	there, err := os.Lstat(lockPath(l.path))
	if err == nil && os.SameFile(mine, there) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("session log %s: cannot see its lock file: %w", l.path, err)
	}
	f, _, err := l.openLock()
	var busy *BusyError
	if errors.As(err, &busy) {
		return l.noteLost(&LostError{Path: l.path, Holder: busy.Holder, Reason: "its lock file was removed and another process took the new one"})
	}
	if err != nil {
		return err
	}
	_ = l.file.Close() // the file without a name; its lock binds nobody
	l.file = f
	_ = l.Holder().write(f) // for messages only, see lock
	return nil
}

// letGo gives back whatever was taken and leaves the state to the caller, who
// holds op.
func (l *Lease) letGo() error {
	var err error
	if l.beat != nil {
		err = l.beat.release()
		l.beat = nil
	}
	if l.file != nil {
		// Only our own name is wiped: without kernel locks the file may carry
		// that of the process that took over.
		if raw, readErr := io.ReadAll(io.NewSectionReader(l.file, 0, maxHolder)); readErr == nil && parseHolder(raw).Instance == l.Holder().Instance {
			_ = l.file.Truncate(0) // for messages only
		}
		_ = unlockFile(l.file) // closing unlocks as well
		_ = l.file.Close()     // holds nothing that must be durable
		l.file = nil
	}
	registry.free(l.key)
	l.key = ""
	return err
}

// identify makes the holder text of a new acquisition.
func (l *Lease) identify() (Holder, error) {
	var id [16]byte
	if _, err := io.ReadFull(l.opt.Rand, id[:]); err != nil {
		return Holder{}, fmt.Errorf("session log %s: no randomness for an instance id: %w", l.path, err)
	}
	me := self()
	return Holder{
		PID: me.pid, Start: me.start, Boot: me.boot, Space: me.space, Host: me.host,
		Kind: l.opt.Kind, Instance: hex.EncodeToString(id[:]), Acquired: l.opt.Now().UTC().Round(time.Second),
	}, nil
}

// findHolder looks for the name of the process that holds the log. A name that
// provably belongs to an ended process is an earlier holder's and is not told.
func (l *Lease) findHolder() Holder {
	const pause = holderWait / 30
	for waited := time.Duration(0); ; waited += pause {
		h, err := ReadHolder(l.path)
		if err == nil && h.PID != 0 && h.Liveness() != Gone {
			return h
		}
		if waited >= holderWait {
			return Holder{}
		}
		time.Sleep(pause)
	}
}

// realPath returns a name for the log that is the same through every symbolic
// link to its directory, as far as that can be found out.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	dir, base := filepath.Split(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, base)
}
