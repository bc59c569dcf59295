package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/notes"
	"varve.dev/internal/results"
	"varve.dev/internal/sources"
	"varve.dev/internal/vfs"
	"varve.dev/transcript"
	"varve.dev/transcript/lease"
)

// Home is where sessions are kept.
type Home struct {
	Dir string // "" means $VARVE_HOME, else ~/.varve
}

// Store creates and opens the sessions of one home.
type Store struct {
	home   sources.Home
	finder *sources.Finder
	detect func(dir string) (lease.FileSystem, error) // on what a directory lies
}

// Errors of opening.
var (
	ErrNotFound = errors.New("session: no such session")
	ErrID       = errors.New("session: an id is 1 to 64 letters, digits, '-' and '_'")
)

// OpenStore returns the store of a home. Nothing is created, and the home need
// not exist.
func OpenStore(h Home) (*Store, error) {
	dir := h.Dir
	if dir == "" {
		user, _ := os.UserHomeDir() // "" when there is none: only the environment counts then
		for _, x := range sources.Homes(os.Getenv, user) {
			if x.Source == sources.SourceVarve {
				dir = x.Dir
			}
		}
		if dir == "" {
			return nil, errors.New("session: there is no home directory: set VARVE_HOME")
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	home := sources.Home{Source: sources.SourceVarve, Dir: abs}
	return &Store{home: home, finder: sources.New([]sources.Home{home}), detect: lease.Detect}, nil
}

// Option sets something about a session that is created.
type Option func(*options)

type options struct {
	dir, id, version, branch, entrypoint string
	now                                  func() time.Time
}

// Project says which directory the session belongs to; the default is the
// current one. It decides the folder of the log.
func Project(dir string) Option { return func(o *options) { o.dir = dir } }

// ID sets the session's id instead of a random one.
func ID(id string) Option { return func(o *options) { o.id = id } }

// Program names what writes the session: its version, and how it was started
// (cli, sdk).
func Program(version, entrypoint string) Option {
	return func(o *options) { o.version, o.entrypoint = version, entrypoint }
}

// Branch sets the git branch that entries carry.
func Branch(name string) Option { return func(o *options) { o.branch = name } }

// Clock sets the clock of entries; the default is time.Now.
func Clock(now func() time.Time) Option { return func(o *options) { o.now = now } }

func (st *Store) options(opts []Option) (options, *sources.Project, error) {
	o := options{dir: ".", version: "0.1.0", entrypoint: "sdk"}
	for _, f := range opts {
		f(&o)
	}
	if o.id != "" && !validID.MatchString(o.id) {
		return o, nil, fmt.Errorf("%w: %q", ErrID, o.id)
	}
	return o, sources.NewProject(o.dir, sources.Paths{}), nil
}

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Create starts a new session. No file is made before its first message. An id
// that is given and exists already is an error that wraps fs.ErrExist.
func (st *Store) Create(ctx context.Context, opts ...Option) (*Session, error) {
	o, p, err := st.options(opts)
	if err != nil {
		return nil, err
	}
	if o.id == "" {
		o.id = transcript.NewUUID()
	}
	folder := st.home.Folder(p.Dir)
	path := sources.Log(folder, o.id)
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("session: %s: %w", o.id, fs.ErrExist)
	}
	stamp := transcript.Stamp{SessionID: o.id, CWD: p.Dir, Version: o.version, GitBranch: o.branch, Entrypoint: o.entrypoint, Now: o.now}
	return st.open(folder, o.id, &transcript.Log{}, stamp)
}

// Open opens the session that ref means: an id, the unique beginning of one, or a
// title. Sessions of the project given by [Project] win where several match.
func (st *Store) Open(ctx context.Context, ref string, opts ...Option) (*Session, error) {
	o, p, err := st.options(opts)
	if err != nil {
		return nil, err
	}
	m, err := st.finder.Find(ctx, ref, sources.Query{Project: p})
	if err != nil {
		var none *sources.NotFoundError
		if errors.As(err, &none) {
			return nil, fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, fmt.Errorf("session: %w", err)
	}
	return st.openPath(ctx, m.Path, o)
}

// Newest opens the session of the project that was used last.
func (st *Store) Newest(ctx context.Context, opts ...Option) (*Session, error) {
	o, p, err := st.options(opts)
	if err != nil {
		return nil, err
	}
	s, err := st.finder.Latest(ctx, sources.Query{Project: p})
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	if s == nil {
		return nil, fmt.Errorf("%w: none in %s yet", ErrNotFound, p.Dir)
	}
	return st.openPath(ctx, s.Path, o)
}

func (st *Store) openPath(ctx context.Context, path string, o options) (*Session, error) {
	l, err := transcript.ReadTailFile(ctx, path, transcript.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	id := filepath.Base(path)
	id = id[:len(id)-len(filepath.Ext(id))]
	stamp := transcript.Stamp{SessionID: id, Version: o.version, GitBranch: o.branch, Entrypoint: o.entrypoint, Now: o.now}
	if tip := l.Tip(); tip != nil {
		stamp.CWD = tip.CWD
		if o.branch == "" {
			stamp.GitBranch = tip.GitBranch
		}
	}
	s, err := st.open(filepath.Dir(path), id, l, stamp)
	if err != nil {
		l.Close()
	}
	return s, err
}

// Session is one open session.
type Session struct {
	ID   string
	Path string // of the log

	folder string
	stamp  transcript.Stamp
	log    *transcript.Log
	w      *transcript.Writer

	lease  *lease.Lease
	shared bool // the log lies where other machines may write, too

	first sync.Mutex // held while the lock is taken
	owned bool       // it was taken once; guarded by first

	mu      sync.Mutex
	offsets map[string]int64
	warned  []error
	told    bool // of the lease's warning
}

func (st *Store) open(folder, id string, l *transcript.Log, stamp transcript.Stamp) (*Session, error) {
	s := &Session{ID: id, Path: sources.Log(folder, id), folder: folder, stamp: stamp, log: l, offsets: map[string]int64{}}
	s.lease = lease.New(s.Path, lease.Options{Detect: st.detect})
	w, err := transcript.OpenWriter(s.Path, transcript.WriterOptions{
		Lease: s.lease, Size: l.Size, Meta: metadata(l), Warn: s.warn, Placed: s.placed})
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	s.w = w
	on, err := st.detect(existing(folder))
	s.shared = err != nil || on.Shared
	return s, nil
}

// existing returns dir, or what is there of the way to it.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// Acquire takes the session's lock now rather than at the first append, for a
// program that wants to know before anything is typed. It makes the lock file.
// Where other machines may write, too, the holder that a crash left is waited for,
// up to [lease.DefaultStale], as long as ctx allows. The error is a
// [*lease.BusyError] when somebody else writes the session.
func (s *Session) Acquire(ctx context.Context) error {
	s.first.Lock()
	defer s.first.Unlock()
	if s.owned {
		return nil
	}
	if err := s.lease.Acquire(ctx); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	s.owned = true
	return nil
}

// metadata returns the newest entry of each metadata type, in the order in which
// they stand.
func metadata(l *transcript.Log) []*transcript.Entry {
	newest := make(map[string]*transcript.Entry)
	for _, e := range l.Entries {
		if transcript.IsMetadata(e.Type) {
			newest[e.Type] = e
		}
	}
	var out []*transcript.Entry
	for _, e := range l.Entries {
		if newest[e.Type] == e {
			out = append(out, e)
		}
	}
	return out
}

func (s *Session) warn(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warned = append(s.warned, err)
}

func (s *Session) placed(e *transcript.Entry, off int64) {
	if e.UUID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offsets[e.UUID] = off
}

// Warnings returns what went wrong with writing so far, and what is weaker about
// the lock where it lies ([*lease.SharedError]), once each, and forgets it. It is
// for people: a command prints them.
func (s *Session) Warnings() []error {
	shared := s.lease.Warning()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.warned
	s.warned = nil
	if shared != nil && !s.told {
		s.told = true
		w = append(w, shared)
	}
	return w
}

// Log returns what was read when the session was opened. An engine that works on
// the session takes it over.
func (s *Session) Log() *transcript.Log { return s.log }

// Notes returns the reader of the notes that are kept on this session, for the Notes
// of its ladder. There are none as long as nobody keeps any.
func (s *Session) Notes() compact.Notes {
	home := filepath.Dir(filepath.Dir(s.folder)) // $VARVE_HOME/projects/<project>
	return &notes.Reader{Path: filepath.Join(strings.TrimSuffix(s.Path, ".jsonl"), notes.File), Log: s.Log, Home: home}
}

// Stamp returns what new entries have in common.
func (s *Session) Stamp() transcript.Stamp { return s.stamp }

// Append queues entries for the log. See [transcript.Writer]. Where other machines
// may write, too, the first one takes the lock as [Session.Acquire] does, which may
// wait: nothing is queued that could not be written.
func (s *Session) Append(entries ...*transcript.Entry) error {
	if s.shared {
		if err := s.Acquire(context.Background()); err != nil {
			return err
		}
	}
	return s.w.Append(entries...)
}

// Sync returns when everything appended is durable.
func (s *Session) Sync(ctx context.Context) error { return s.w.Sync(ctx) }

// Offset returns where the line of an entry begins, 0 when that is not known. It
// is what a boundary records of the entries that it keeps.
func (s *Session) Offset(uuid string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off, ok := s.offsets[uuid]; ok {
		return off
	}
	if e := s.log.ByUUID(uuid); e != nil && e.Offset > 0 {
		return e.Offset
	}
	return 0
}

// PutFrame keeps the bytes of a frame with the session, durably; see package
// engine. Bytes that are there already are not written again.
func (s *Session) PutFrame(id string, data []byte) error {
	path, err := s.framePath(id)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := vfs.OS.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	if err := vfs.WriteFile(vfs.OS, path, data, 0o600); err != nil {
		return fmt.Errorf("session: %w", err)
	}
	return nil
}

// Frame returns the bytes of a frame.
func (s *Session) Frame(id string) ([]byte, error) {
	path, err := s.framePath(id)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engine.ErrNoFrame
	}
	return b, err
}

var frameID = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (s *Session) framePath(id string) (string, error) {
	if !frameID.MatchString(id) {
		return "", fmt.Errorf("session: %q is no frame id", id) // ids come from logs
	}
	return filepath.Join(sources.Frames(s.folder, s.ID), id), nil
}

// Results returns the decisions about large results of this session, for an
// engine's configuration: they go below the session's own folder.
func (s *Session) Results() *results.Decisions {
	return results.New(results.Folder{FS: vfs.OS, Dir: sources.ToolResults(s.folder, s.ID)}, results.DefaultLimits)
}

// Close drains the queue, makes everything durable and gives the lock back. It is
// safe to call it again.
func (s *Session) Close(ctx context.Context) error {
	err := s.w.Close(ctx)
	return errors.Join(err, s.log.Close())
}

var (
	_ engine.Store  = (*Session)(nil)
	_ engine.Frames = (*Session)(nil)
)
