package lease

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"varve.dev/internal/vfs"
)

// The contract of the log's writer.
var _ interface {
	Verify(f vfs.File, end int64) error
	Release() error
} = (*Lease)(nil)

// acquired returns a held lease of a log in a new directory.
func acquired(t *testing.T, opt Options) *Lease {
	t.Helper()
	l := New(filepath.Join(t.TempDir(), "s.jsonl"), opt)
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// openLog opens the log of l with the given content.
func openLog(t *testing.T, l *Lease, content string) *os.File {
	t.Helper()
	if err := os.WriteFile(l.Path(), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(l.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // nothing of it is needed
	return f
}

// T-2: a lease that nobody uses leaves nothing behind.
func TestNewTouchesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	l := New(filepath.Join(dir, "s.jsonl"), Options{})
	if l.Held() {
		t.Error("held before anything happened")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory: %v, want none", err)
	}
}

// T-1: files 0600, directories 0700; the lock lies beside the log.
func TestNamesAndModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	l := New(filepath.Join(dir, "0f-1.jsonl"), Options{})
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, "0f-1.lock"): 0o600} {
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode().Perm(), want)
		}
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "0f-1.lock" {
		t.Errorf("left behind: %v, %v; want the lock file only", entries, err)
	}
}

// A lease acquires itself at the first append and not again after Release.
func TestVerifyAcquiresLazily(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "p", "s.jsonl"), Options{})
	if err := l.Verify(nil, 0); err != nil {
		t.Fatal(err)
	}
	if !l.Held() || l.Holder().PID != os.Getpid() {
		t.Errorf("held %v by %+v", l.Held(), l.Holder())
	}
	if err := l.Acquire(t.Context()); err != nil {
		t.Errorf("acquiring what is held: %v", err)
	}
	for range 2 {
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Verify(nil, 0); !errors.Is(err, ErrReleased) {
		t.Errorf("Verify after Release: %v, want ErrReleased", err)
	}
	if err := l.VerifyIdentity(nil); !errors.Is(err, ErrReleased) {
		t.Errorf("VerifyIdentity after Release: %v, want ErrReleased", err)
	}
	if err := l.Acquire(t.Context()); err != nil {
		t.Errorf("Acquire after Release: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// A process cannot hold one log twice, whatever path leads to it.
func TestSameProcessIsRefused(t *testing.T) {
	l := acquired(t, Options{})
	dir := filepath.Dir(l.Path())
	link := filepath.Join(t.TempDir(), "link")
	paths := map[string]string{
		"same path":    l.Path(),
		"unclean path": dir + "/./x/../s.jsonl",
	}
	if err := os.Symlink(dir, link); err == nil { // not allowed on every Windows
		paths["through a link"] = filepath.Join(link, "s.jsonl")
	}
	for name, path := range paths {
		other := New(path, Options{})
		err := other.Acquire(t.Context())
		var busy *BusyError
		if !errors.As(err, &busy) || !busy.SameProcess {
			t.Errorf("%s: %v, want a BusyError of this process", name, err)
			continue
		}
		if !strings.Contains(err.Error(), "this process already") {
			t.Errorf("%s: %s", name, err)
		}
		if err := other.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := l.Verify(nil, 0); err != nil {
		t.Errorf("the refused ones disturbed the holder: %v", err)
	}
	// The registry is only one of two guards: the kernel refuses as well.
	registry.free(l.key)
	other := New(l.Path(), Options{})
	if err := other.Acquire(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("without the registry: %v, want ErrBusy", err)
	}
	if key := registry.reserve(l.key, l.Holder().Instance); key != "" {
		t.Errorf("the refused lease kept %q", key)
	}
	// Another log of the same directory is free.
	second := New(filepath.Join(dir, "t.jsonl"), Options{})
	if err := second.Acquire(t.Context()); err != nil {
		t.Error(err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

// What stands in the lock file never decides: the kernel does. DESIGN section
// 7, rule 9: a process id alone proves nothing.
func TestTextOfTheLockFileNeverBlocks(t *testing.T) {
	me := self()
	text := func(change func(h *Holder)) string {
		h := Holder{PID: me.pid, Start: me.start, Boot: me.boot, Space: me.space, Host: me.host, Kind: "interactive", Instance: strings.Repeat("ab", 16), Acquired: time.Unix(1, 0)}
		change(&h)
		raw, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	parent := os.Getppid()
	cases := map[string]string{
		// github/copilot-cli#3255
		"dead process": text(func(h *Holder) { h.PID, h.Start = 1<<22-1, "17" }),
		// anthropics/claude-code#72898
		"unrelated live pid, older boot and start time": text(func(h *Holder) { h.PID, h.Boot, h.Start = parent, "0000", "1" }),
		// openclaw/openclaw#5006, seed:pid-reuse
		"unrelated live pid": text(func(h *Holder) { h.PID, h.Start = parent, "1" }),
		"live pid, nothing else known": text(func(h *Holder) {
			*h = Holder{PID: parent}
		}),
		// openclaw/openclaw#4015
		"own pid, other instance": text(func(*Holder) {}),
		"own pid, other host":     text(func(h *Holder) { h.Host = "elsewhere" }),
		// anthropics/claude-code#85283, seed:pid-sweep
		"live pid of another namespace": text(func(h *Holder) { h.PID, h.Space = parent, "pid:[1]" }),
		"empty":                         "",
		"garbage":                       "\x00\xff}{",
		"wrong types":                   `{"pid":"12","acquired":7}`,
		"negative pid":                  `{"pid":-1}`,
		"an array":                      `[1,2]`,
		"cut off":                       text(func(*Holder) {})[:40],
		"huge":                          `{"pid":1,"host":"` + strings.Repeat("x", 1<<20) + `"}`,
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			if err := os.WriteFile(lockPath(path), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.Stat(lockPath(path))
			if err != nil {
				t.Fatal(err)
			}
			l := New(path, Options{Kind: "bg"})
			if err := l.Acquire(t.Context()); err != nil {
				t.Fatalf("blocked by %s: %v", name, err)
			}
			after, err := os.Stat(lockPath(path))
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("the lock file was replaced: %v", err)
			}
			h, err := ReadHolder(path)
			if err != nil || h != l.Holder() || h.PID != me.pid || h.Kind != "bg" {
				t.Errorf("the file says %+v, %v; want %+v", h, err, l.Holder())
			}
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
			if h, err := ReadHolder(path); err != nil || h.PID != 0 {
				t.Errorf("after release the file says %+v, %v", h, err)
			}
		})
	}
}

// A holder that is provably gone is not named to those who are refused.
func TestOldNameIsNotTold(t *testing.T) {
	l := acquired(t, Options{})
	old := l.Holder()
	old.PID, old.Start, old.Instance = 1<<22-1, "17", strings.Repeat("cd", 16)
	raw, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lockPath(l.Path()), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	h := l.findHolder()
	if runtime.GOOS == "linux" && h.PID != 0 {
		t.Errorf("named %+v, which is gone", h)
	}
	msg := (&BusyError{Path: l.Path()}).Error()
	if !strings.Contains(msg, "left no name") || !strings.Contains(msg, "--fork-session") {
		t.Error(msg)
	}
}

// G-8, DESIGN decision 8: the file must end where its writer left it.
func TestVerifySize(t *testing.T) {
	l := acquired(t, Options{})
	f := openLog(t, l, "0123456789")
	for _, c := range []struct {
		end  int64
		want string // part of the message; "" = nothing wrong
	}{
		{10, ""},
		{7, "grew to 10 bytes while this session expected it to end at 7"},
		{12, "shrank to 10 bytes while this session expected it to end at 12"},
		{0, "grew to 10"},
	} {
		err := l.Verify(f, c.end)
		if c.want == "" {
			if err != nil {
				t.Errorf("end %d: %v", c.end, err)
			}
			continue
		}
		var moved *MovedError
		if !errors.As(err, &moved) || !errors.Is(err, ErrMoved) || moved.Want != c.end || moved.Got != 10 {
			t.Errorf("end %d: %v", c.end, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--fork-session") {
			t.Errorf("end %d: %s", c.end, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(f, 10); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("closed file: %v", err)
	}
}

// G-8, DESIGN decision 8: once a turn the path must lead to the open file.
func TestVerifyIdentity(t *testing.T) {
	cases := map[string]struct {
		change            func(path string) error
		missing, replaced bool
	}{
		"untouched": {change: func(string) error { return nil }},
		"appended":  {change: func(path string) error { return os.WriteFile(path, []byte("longer than before"), 0o600) }},
		"removed":   {change: os.Remove, missing: true},
		"renamed":   {change: func(path string) error { return os.Rename(path, path+".bak") }, missing: true},
		"replaced by a copy": {change: func(path string) error {
			if err := os.WriteFile(path+".tmp", []byte("0123456789"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".tmp", path)
		}, replaced: true},
		"moved aside, link to it left": {change: func(path string) error {
			if err := os.Rename(path, path+".real"); err != nil {
				return err
			}
			return os.Symlink(path+".real", path)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := acquired(t, Options{})
			f := openLog(t, l, "0123456789")
			if err := c.change(l.Path()); err != nil {
				t.Fatal(err)
			}
			err := l.VerifyIdentity(f)
			if !c.missing && !c.replaced {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var moved *MovedError
			if !errors.As(err, &moved) || moved.Missing != c.missing || moved.Replaced != c.replaced {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), "--fork-session") {
				t.Errorf("no advice: %s", err)
			}
		})
	}
}

// A failing look at the path is an error of its own, not a moved log.
func TestVerifyIdentityCannotLook(t *testing.T) {
	l := acquired(t, Options{Stat: func(string) (fs.FileInfo, error) { return nil, fs.ErrPermission }})
	f := openLog(t, l, "x")
	if err := l.VerifyIdentity(f); !errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}

// Clean-up tools remove lock files; a holder nobody contests takes a new one.
func TestRemovedLockFileIsLockedAgain(t *testing.T) {
	l := acquired(t, Options{})
	if err := os.Remove(lockPath(l.Path())); err != nil {
		t.Fatal(err)
	}
	if err := l.VerifyIdentity(nil); err != nil {
		t.Fatal(err)
	}
	h, err := ReadHolder(l.Path())
	if err != nil || h != l.Holder() {
		t.Errorf("the new file says %+v, %v", h, err)
	}
	c := startChild(t, "local", l.Path())
	if got, want := c.ask("acquire"), "busy "; !strings.HasPrefix(got, want) {
		t.Errorf("another process: %s, want %s", got, want)
	}
	c.end()
}

// A lock file that is removed between opening and locking binds nobody.
func TestLockFileRemovedWhileLocking(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "s.jsonl"), Options{})
	calls, until := 0, 4
	l.sys.flock = func(f *os.File) error {
		if calls++; calls < until {
			if err := os.Remove(f.Name()); err != nil {
				t.Fatal(err)
			}
			if calls%2 == 0 { // somebody else already made the next one
				if err := os.WriteFile(lockPath(l.Path()), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		return lockFile(f)
	}
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine, err := l.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if there, err := os.Stat(lockPath(l.Path())); err != nil || !os.SameFile(mine, there) || calls != until {
		t.Errorf("locked a file without a name: %v after %d tries", err, calls)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	until = 1 << 30
	if err := l.Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "keeps replacing") {
		t.Errorf("got %v", err)
	}
}

// Paths are attacker input: a link or a pipe planted at the lock's name is
// neither followed nor waited for.
func TestPlantedLockFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "precious")
	if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(filepath.Join(dir, "s.jsonl"), Options{})
	if err := os.Symlink(target, lockPath(l.Path())); err != nil {
		t.Skipf("this system makes no symbolic links: %v", err)
	}
	if err := l.Acquire(t.Context()); err == nil && openNoFollow != 0 {
		t.Error("a lock through a symbolic link")
	}
	if raw, err := os.ReadFile(target); err != nil || string(raw) != "precious" {
		t.Errorf("the link's target holds %q, %v", raw, err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if _, err := readSmall(dir); err == nil {
		t.Error("read a directory as a lock file")
	}
	if _, err := ReadHolder(l.Path()); err == nil {
		t.Error("ReadHolder followed a link")
	}
}

// A directory that cannot be made is told with the log's name.
func TestAcquireWhereNothingCanBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := New(filepath.Join(file, "s.jsonl"), Options{})
	for range 2 { // the second try proves that the first kept nothing
		if err := l.Acquire(t.Context()); err == nil || errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), l.Path()) {
			t.Errorf("got %v", err)
		}
	}
	noRandom := New(filepath.Join(t.TempDir(), "s.jsonl"), Options{Rand: strings.NewReader("short")})
	if err := noRandom.Acquire(t.Context()); err == nil {
		t.Error("acquired without an instance id")
	}
}

// One lease used from many goroutines.
func TestConcurrentUse(t *testing.T) {
	l := New(filepath.Join(t.TempDir(), "s.jsonl"), Options{})
	done := make(chan error)
	for i := range 8 {
		go func() {
			var err error
			for range 50 {
				switch i % 4 {
				case 0:
					err = errors.Join(err, l.Acquire(t.Context()))
				case 1:
					if e := l.Verify(nil, 0); !errors.Is(e, ErrReleased) {
						err = errors.Join(err, e)
					}
				case 2:
					err = errors.Join(err, l.Release())
				default:
					l.Held()
					l.Warning()
					l.Holder()
				}
				if errors.Is(err, ErrReleased) { // a Release was waiting
					err = nil
				}
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if len(registry.byPath) != 0 || len(registry.instances) != 0 {
		t.Errorf("the registry keeps %v %v", registry.byPath, registry.instances)
	}
}

// Leases leave no goroutine and no open file behind.
func TestNothingLeaks(t *testing.T) {
	dir := t.TempDir()
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0 // only Linux shows them
		}
		return len(entries)
	}
	shared := func(string) (FileSystem, error) { return FileSystem{Type: "nfs", Shared: true}, nil }
	for range 2 {
		before, open := runtime.NumGoroutine(), files()
		for _, opt := range []Options{{}, {Detect: shared}} {
			for range 20 {
				l := New(filepath.Join(dir, "s.jsonl"), opt)
				if err := l.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := New(l.Path(), opt).Acquire(t.Context()); !errors.Is(err, ErrBusy) {
					t.Fatal(err)
				}
				if err := l.VerifyIdentity(nil); err != nil {
					t.Fatal(err)
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := runtime.NumGoroutine(); n > before {
			t.Errorf("%d goroutines, %d before", n, before)
		}
		if n := files(); n > open {
			t.Errorf("%d open files, %d before", n, open)
		}
	}
}
