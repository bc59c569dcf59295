package sources

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/internal/vfs"
	"varve.dev/message"
	"varve.dev/transcript"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// log builds one log in memory and writes it to a home.
type log struct {
	stamp transcript.Stamp
	buf   bytes.Buffer
	clock time.Time
	leaf  string
}

func newLog(id, cwd string, start time.Time) *log {
	l := &log{clock: start}
	l.stamp = transcript.Stamp{SessionID: id, CWD: cwd, Version: "1.2.3", GitBranch: "main", Now: func() time.Time { return l.clock }}
	return l
}

func (l *log) add(es ...*transcript.Entry) *log {
	for _, e := range es {
		raw, err := e.Raw()
		if err != nil {
			panic(err)
		}
		l.buf.Write(raw)
		l.buf.WriteByte('\n')
		if e.IsChain() {
			l.leaf = e.UUID
		}
	}
	return l
}

// turn appends a prompt and an answer a second apart.
func (l *log) turn(prompt, answer string) *log {
	l.add(l.stamp.User(l.leaf, message.User(prompt)))
	l.clock = l.clock.Add(time.Second)
	return l.add(l.stamp.Assistant(l.leaf, message.Assistant(message.Text(answer)), ""))
}

func (l *log) meta(typ, value string) *log { return l.add(l.stamp.Meta(typ, value)) }

// pad appends records until the log grew by n bytes.
func (l *log) pad(n int) *log {
	for end := l.buf.Len() + n; l.buf.Len() < end; {
		l.turn("and then?", strings.Repeat("words that fill a record. ", min(160, (end-l.buf.Len())/26+1)))
	}
	return l
}

// write puts the log into a folder of the home and returns its path. The file's
// time is that of its last record.
func (l *log) write(t testing.TB, h Home, folder string) string {
	t.Helper()
	path := filepath.Join(h.Projects(), folder, l.stamp.SessionID+".jsonl")
	put(t, path, l.buf.Bytes())
	touch(t, path, l.clock)
	return path
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func touch(t testing.TB, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// world is a pair of homes in a folder of their own, watched.
type world struct {
	*Finder
	ours, theirs Home
	root         string
	seen         *watch
}

func newWorld(t testing.TB) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	homes := Homes(func(string) string { return "" }, root)
	w := &world{Finder: New(homes), ours: homes[0], theirs: homes[1], root: root, seen: &watch{FS: vfs.OS}}
	w.FS = w.seen
	return w
}

// dir makes a working directory and returns its path.
func (w *world) dir(t testing.TB, name string) string {
	t.Helper()
	d := filepath.Join(w.root, "w", filepath.FromSlash(name))
	if err := os.MkdirAll(d, 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func (w *world) project(dir string) *Project { return NewProject(dir, Paths{}) }

func (w *world) list(t testing.TB, q Query) []*Session {
	t.Helper()
	l, err := w.All(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return l.Sessions
}

func ids(ss []*Session) string {
	var out []string
	for _, s := range ss {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

// theirFolder is the name the reference client gives to the folder of dir.
func theirFolder(dir string) string {
	name, cut := ReferenceSlug(dir)
	if cut {
		name += "-k3x9z"
	}
	return name
}

// watch passes calls on and remembers what was touched. It fails on writes.
type watch struct {
	vfs.FS
	mu     sync.Mutex
	dirs   []string
	opened []string
	writes []string
	read   int64
}

func (w *watch) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	w.mu.Lock()
	w.opened = append(w.opened, name)
	if flag != os.O_RDONLY {
		w.writes = append(w.writes, "open "+name)
	}
	w.mu.Unlock()
	f, err := w.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &watchedFile{f, w}, nil
}

type watchedFile struct {
	vfs.File
	w *watch
}

func (f *watchedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.w.mu.Lock()
	f.w.read += int64(n)
	f.w.mu.Unlock()
	return n, err
}

func (w *watch) ReadDir(name string) ([]fs.DirEntry, error) {
	w.mu.Lock()
	w.dirs = append(w.dirs, name)
	w.mu.Unlock()
	return w.FS.ReadDir(name)
}

func (w *watch) wrote(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, what)
	return fmt.Errorf("%s: a listing wrote", what)
}

func (w *watch) MkdirAll(name string, _ fs.FileMode) error { return w.wrote("mkdir " + name) }
func (w *watch) Remove(name string) error                  { return w.wrote("remove " + name) }
func (w *watch) Rename(name, _ string) error               { return w.wrote("rename " + name) }
func (w *watch) SyncDir(name string) error                 { return w.wrote("sync " + name) }

// reset forgets what was seen.
func (w *watch) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirs, w.opened, w.writes, w.read = nil, nil, nil, 0
}

func uuid(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", n, n) }
