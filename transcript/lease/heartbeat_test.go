package lease

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// The tests of this file run in virtual time, with the default intervals.

// onShare makes the options of a machine that sees a network file system.
func onShare() Options {
	return Options{Detect: func(string) (FileSystem, error) { return FileSystem{Type: "nfs", Shared: true}, nil }}
}

// remote plays another machine: no kernel lock and no registry of ours reach
// it, the heartbeat file is all that is shared.
func remote(t testing.TB, ctx context.Context, path string) (*heartbeat, error) {
	t.Helper()
	l := New(path, onShare())
	l.sys.fsync = func(*os.File) error { return nil } // a power loss is not played here
	h, err := l.identify()
	if err != nil {
		t.Fatal(err)
	}
	h.Host, h.PID = "far-away", 4242
	return l.takeHeartbeat(ctx, h)
}

// silence ends the goroutine of b as a crash would.
func (b *heartbeat) silence() {
	close(b.stop)
	<-b.done
	_ = b.file.Close() // the kernel would
}

// heartbeatFiles returns the names of everything that heartbeats left in dir.
func heartbeatFiles(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(heartbeatPath(path) + "*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// DESIGN decision 8: on a shared file system there is a warning, a heartbeat
// that moves, and nothing left after release.
func TestSharedFileSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(filepath.Join(t.TempDir(), "s.jsonl"), onShare())
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		var warning *SharedError
		if !errors.As(l.Warning(), &warning) || warning.Type != "nfs" || warning.Stale != DefaultStale {
			t.Errorf("warning %v", l.Warning())
		} else if msg := warning.Error(); !strings.Contains(msg, "nfs") || !strings.Contains(msg, "30s") {
			t.Error(msg)
		}
		var beats []uint64
		for range 3 {
			h, err := ReadHolder(l.Path())
			if err != nil || h.Instance != l.Holder().Instance {
				t.Fatalf("%+v, %v", h, err)
			}
			beats = append(beats, h.Beat)
			time.Sleep(DefaultHeartbeat + time.Second)
			synctest.Wait()
		}
		if beats[0] >= beats[1] || beats[1] >= beats[2] {
			t.Errorf("beats %v do not move", beats)
		}
		if err := l.Verify(nil, 0); err != nil {
			t.Error(err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		if left := heartbeatFiles(t, l.Path()); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// Every reason for a heartbeat is named in the warning; none on a local disk.
func TestWarning(t *testing.T) {
	cause := errors.New("made up")
	cases := map[string]struct {
		fs     FileSystem
		err    error
		noLock bool
		want   string
	}{
		"local":              {fs: FileSystem{Type: "ext4"}},
		"shared":             {fs: FileSystem{Type: "fuse.sshfs", Shared: true}, want: "fuse.sshfs"},
		"detection failed":   {err: cause, want: "made up"},
		"no locks to be had": {fs: FileSystem{Type: "odd"}, noLock: true, want: "no kernel locks here"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := New(filepath.Join(t.TempDir(), "s.jsonl"), Options{Detect: func(string) (FileSystem, error) { return c.fs, c.err }})
			if c.noLock {
				l.sys.flock = func(*os.File) error { return &noLocksError{cause} }
			}
			if err := l.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
			w := l.Warning()
			if c.want == "" && w != nil || c.want != "" && (w == nil || !strings.Contains(w.Error(), c.want)) {
				t.Errorf("warning %v, want %q", w, c.want)
			}
			if (c.err != nil || c.noLock) && !errors.Is(w, cause) {
				t.Errorf("the cause is lost in %v", w)
			}
			if got := len(heartbeatFiles(t, l.Path())); (got == 1) != (c.want != "") {
				t.Errorf("%d heartbeat files", got)
			}
			if err := l.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// anthropics/claude-code#39151 across machines: a living holder is found within
// about one heartbeat and named. openclaw/openclaw#4015: the host decides
// nothing, only that the file moves.
func TestLivingHeartbeatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		far, err := remote(t, t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		// Also where this machine sees a local disk: it may be the server.
		for name, opt := range map[string]Options{"shared": onShare(), "server": {Detect: func(string) (FileSystem, error) { return FileSystem{}, nil }}} {
			began := time.Now()
			err := New(path, opt).Acquire(t.Context())
			var busy *BusyError
			if !errors.As(err, &busy) || busy.Holder.Host != "far-away" || busy.Holder.PID != 4242 || busy.SameProcess {
				t.Errorf("%s: %v", name, err)
			}
			if waited := time.Since(began); waited > DefaultHeartbeat*3/2 {
				t.Errorf("%s: found after %v", name, waited)
			}
		}
		if err := far.check(); err != nil {
			t.Errorf("the holder was disturbed: %v", err)
		}
		if err := far.release(); err != nil {
			t.Fatal(err)
		}
	})
}

// A silent holder loses the log after Stale, by the observer's own clock.
func TestSilentHeartbeatIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		far, err := remote(t, t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		far.silence()
		// The other machine's clock is years off, both ways: nobody compares.
		if err := os.Chtimes(heartbeatPath(path), time.Now().Add(1e5*time.Hour), time.Now().Add(1e5*time.Hour)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		l := New(path, onShare())
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < DefaultStale || waited > DefaultStale+DefaultHeartbeat {
			t.Errorf("taken over after %v, want about %v", waited, DefaultStale)
		}
		// The silent one wakes up: it must not write any more.
		for range 2 {
			if err := far.renew(); !errors.Is(err, ErrLost) {
				t.Errorf("the former holder: %v, want ErrLost", err)
			}
		}
		var gone *LostError
		if errors.As(far.check(), &gone); gone == nil || gone.Holder.PID != os.Getpid() {
			t.Errorf("the former holder is told %v", far.check())
		}
		if err := l.Verify(nil, 0); err != nil {
			t.Error(err)
		}
		if err := l.Release(); err != nil {
			t.Error(err)
		}
		if left := heartbeatFiles(t, path); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// A holder that is about to be taken over sees the mark before it writes; an
// observer sees a late beat before it removes the file.
func TestLateBeatAndTakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		far, err := remote(t, t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		l := New(path, onShare())
		observer := &heartbeat{log: path, path: heartbeatPath(path), opt: l.opt, sys: l.sys}
		s, err := observer.look()
		if err != nil {
			t.Fatal(err)
		}
		if err := far.renew(); err != nil {
			t.Fatal(err)
		}
		if err := observer.unlink(s.Holder); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(far.path); err != nil {
			t.Errorf("a file that moved was removed: %v", err)
		}
		if err := far.renew(); err != nil {
			t.Errorf("after a takeover that stood back: %v", err)
		}
		if err := os.WriteFile(markPath(far.path, far.text), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := far.renew(); !errors.Is(err, ErrLost) {
			t.Errorf("with the mark made: %v, want ErrLost", err)
		}
		if err := far.release(); err != nil {
			t.Error(err)
		}
	})
}

// A takeover that begins while a late beat is on its way to the disk.
func TestTakeoverDuringBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far, err := remote(t, t.Context(), filepath.Join(t.TempDir(), "s.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		far.mu.Lock()
		far.sys.fsync = func(*os.File) error { return os.WriteFile(markPath(far.path, far.text), nil, 0o600) }
		far.mu.Unlock()
		if err := far.renew(); !errors.Is(err, ErrLost) {
			t.Errorf("the mark came during the beat: %v, want ErrLost", err)
		}
		if err := far.release(); err != nil {
			t.Error(err)
		}
	})
}

// A heartbeat that cannot be written fails the acquisition, is tidied up, and
// the next try is not delayed by it.
func TestHeartbeatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space left on device")
		l := New(filepath.Join(t.TempDir(), "s.jsonl"), onShare())
		l.sys.fsync = func(*os.File) error { return full }
		if err := l.Acquire(t.Context()); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
		if left := heartbeatFiles(t, l.Path()); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
		l.sys.fsync = func(*os.File) error { return nil }
		began := time.Now()
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("waited %v", waited)
		}
		// One failed beat is not a loss as long as the last good one is young.
		l.beat.mu.Lock()
		l.beat.sys.fsync = func(*os.File) error { return full }
		l.beat.mu.Unlock()
		time.Sleep(DefaultStale / 3)
		synctest.Wait()
		if err := l.Verify(nil, 0); err != nil {
			t.Errorf("after a failed beat: %v", err)
		}
		time.Sleep(DefaultStale)
		synctest.Wait()
		if err := l.Verify(nil, 0); !errors.Is(err, full) || errors.Is(err, ErrLost) {
			t.Errorf("after many failed beats: %v, want the disk's error", err)
		}
		if !l.Held() {
			t.Error("a full disk is not a lost lock")
		}
		if err := l.Release(); !errors.Is(err, full) {
			t.Errorf("Release: %v", err)
		}
	})
}

// A lease whose heartbeat was lost refuses to write until it is released.
func TestLostHeartbeatStopsTheWriter(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": func(path string) error { return os.Remove(path) },
		"foreign": func(path string) error { return os.WriteFile(path, []byte(`{"pid":7,"instance":"x"}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(filepath.Join(t.TempDir(), "s.jsonl"), onShare())
				if err := l.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := lose(heartbeatPath(l.Path())); err != nil {
					t.Fatal(err)
				}
				time.Sleep(DefaultHeartbeat + time.Second)
				synctest.Wait()
				for range 2 {
					if err := l.Verify(nil, 0); !errors.Is(err, ErrLost) {
						t.Errorf("got %v, want ErrLost", err)
					}
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
				if name == "removed" {
					if err := l.Acquire(t.Context()); err != nil {
						t.Errorf("after release: %v", err)
					}
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// A machine that slept has a monotonic clock that stood still. Verify looks at
// the wall clock as well and asks the file before it lets anybody write.
func TestSleepIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	var mu sync.Mutex
	jump := time.Duration(0)
	opt := onShare()
	opt.Heartbeat, opt.Stale = time.Hour, 4*time.Hour // no beat by itself
	opt.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if jump == 0 {
			return time.Now()
		}
		return time.Now().Round(0).Add(jump) // as after a sleep: the wall clock alone moved
	}
	l := New(path, opt)
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := readHolderFile(heartbeatPath(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(nil, 0); err != nil {
		t.Fatal(err)
	}
	if h, err := readHolderFile(heartbeatPath(path)); err != nil || h.Beat != before.Beat {
		t.Errorf("a fresh beat was repeated: %+v, %v", h, err)
	}
	for _, d := range []time.Duration{3 * time.Hour, -3 * time.Hour} { // slept; clock set back
		mu.Lock()
		jump = d
		mu.Unlock()
		if err := l.Verify(nil, 0); err != nil {
			t.Fatal(err)
		}
		h, err := readHolderFile(heartbeatPath(path))
		if err != nil || h.Beat <= before.Beat {
			t.Errorf("after %v: %+v, %v: no beat before the write", d, h, err)
		}
		before = h
	}
	if err := os.Remove(heartbeatPath(path)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	jump = 9 * time.Hour
	mu.Unlock()
	if err := l.Verify(nil, 0); !errors.Is(err, ErrLost) {
		t.Errorf("taken while asleep: %v, want ErrLost", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// openclaw/openclaw#128032: an unlink that fails (EBUSY) is tried again, and if
// it goes on failing the log is free all the same, for this process and others.
func TestUnlinkFails(t *testing.T) {
	for _, c := range []struct {
		name  string
		fails int
		what  string        // end of the names that cannot be removed
		most  time.Duration // what the next one may have to wait
	}{
		{"once", 1, "", 0},
		{"for good", 1 << 30, ".heartbeat", 0},
		{"everything for good", 1 << 30, "", DefaultStale + DefaultHeartbeat},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(filepath.Join(t.TempDir(), "s.jsonl"), onShare())
				if err := l.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
				busy := errors.New("device or resource busy")
				failed := 0
				l.beat.sys.remove = func(name string) error {
					if failed < c.fails && strings.HasSuffix(name, c.what) {
						failed++
						return &fs.PathError{Op: "remove", Path: name, Err: busy}
					}
					return os.Remove(name)
				}
				err := l.Release()
				if wantErr := c.fails > 1; errors.Is(err, busy) != wantErr {
					t.Errorf("Release: %v", err)
				}
				if failed == 0 {
					t.Fatal("nothing was removed at all")
				}
				if err := l.Verify(nil, 0); !errors.Is(err, ErrReleased) {
					t.Errorf("after Release: %v", err)
				}
				// This process again, then another one; a file that says it was
				// released costs no wait.
				began := time.Now()
				if err := l.Acquire(t.Context()); err != nil {
					t.Fatalf("the same process: %v", err)
				}
				if err := l.Verify(nil, 0); err != nil {
					t.Error(err)
				}
				if err := l.Release(); err != nil {
					t.Fatal(err)
				}
				far, err := remote(t, t.Context(), l.Path())
				if err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited > c.most+time.Second {
					t.Errorf("waited %v for a released file", waited)
				}
				if err := far.release(); err != nil {
					t.Fatal(err)
				}
				if left := heartbeatFiles(t, l.Path()); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		})
	}
}

// What crashes of others leave behind delays, but never blocks for ever.
func TestLeftovers(t *testing.T) {
	const id = "00112233445566778899aabbccddeeff"
	text := func(released bool) string {
		return fmt.Sprintf(`{"pid":4242,"host":"far-away","instance":%q,"acquired":"2026-11-01T00:00:00Z","beat":9,"released":%v}`, id, released)
	}
	cases := map[string]struct {
		beat  string
		marks []string
		most  time.Duration
	}{
		"silent":                             {beat: text(false), most: DefaultStale},
		"released":                           {beat: text(true), most: 0},
		"empty, its maker died":              {beat: "", most: DefaultStale},
		"garbage":                            {beat: "\x00\x01 nonsense", most: DefaultStale},
		"name that is a path":                {beat: `{"pid":1,"instance":"../../../evil"}`, most: DefaultStale},
		"takeover died in between":           {beat: text(false), marks: []string{id}, most: 3 * DefaultStale},
		"release died in between":            {beat: text(true), marks: []string{id}, most: DefaultStale},
		"takeover of a torn file died":       {beat: "", marks: []string{tornMark}, most: 3 * DefaultStale},
		"mark without a file":                {beat: "-", marks: []string{id}, most: 0},
		"torn mark without a file":           {beat: "-", marks: []string{tornMark}, most: DefaultStale},
		"mark of somebody else, file silent": {beat: text(false), marks: []string{strings.Repeat("ee", 16)}, most: DefaultStale},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "s.jsonl")
				if c.beat != "-" {
					if err := os.WriteFile(heartbeatPath(path), []byte(c.beat), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				for _, m := range c.marks {
					if err := os.WriteFile(heartbeatPath(path)+"."+m+".taken", nil, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				l := New(path, onShare())
				if err := l.Acquire(t.Context()); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(began); waited > c.most+2*DefaultHeartbeat {
					t.Errorf("took %v, want at most about %v", waited, c.most)
				}
				if err := l.Verify(nil, 0); err != nil {
					t.Error(err)
				}
				if err := l.Release(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The wait for a silent holder ends with the context and with Release.
func TestWaitingCanBeEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		far, err := remote(t, t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		far.silence()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		if err := New(path, onShare()).Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		l := New(path, onShare())
		got := make(chan error)
		go func() { got <- l.Verify(nil, 0) }()
		time.Sleep(3 * time.Second)
		if err := l.Release(); err != nil {
			t.Error(err)
		}
		if err := <-got; !errors.Is(err, ErrReleased) {
			t.Errorf("the waiting Verify: %v, want ErrReleased", err)
		}
		if waited := time.Since(began); waited > 11*time.Second {
			t.Errorf("took %v", waited)
		}
	})
}

// DESIGN decision 8 as a property: machines that start, crash, fall silent for
// any time and wake up never pass their fence after a later one did.
func TestHeartbeatFenceProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		machines := rapid.IntRange(2, 4).Draw(rt, "machines")
		plans := make([][]int, machines)
		for i := range plans {
			plans[i] = rapid.SliceOfN(rapid.IntRange(0, 3), 3, 6).Draw(rt, "plan")
		}
		stalls := rapid.SliceOfN(rapid.IntRange(1, 90), 8, 8).Draw(rt, "stalls")
		var failure string
		synctest.Test(t, func(t *testing.T) {
			failure = runMachines(t, plans, stalls)
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// fence records who passed it.
type fence struct {
	mu    sync.Mutex
	order []string // instances in the order of their first write
	bad   string
}

// write notes a write of instance: only the last one to have begun may.
func (f *fence) write(instance string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.order)
	if n > 0 && f.order[n-1] == instance {
		return
	}
	for _, old := range f.order {
		if old == instance {
			f.bad = fmt.Sprintf("%s wrote after %s had taken over", instance[:8], f.order[n-1][:8])
		}
	}
	f.order = append(f.order, instance)
}

// runMachines plays one plan a machine: 0 = work and release, 1 = fall silent
// for a while, wake up and go on writing, 2 = crash, 3 = work long.
func runMachines(t *testing.T, plans [][]int, stalls []int) string {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	var f fence
	var wg sync.WaitGroup
	for m, plan := range plans {
		wg.Go(func() {
			for step, what := range plan {
				b, err := remote(t, t.Context(), path)
				if errors.Is(err, ErrBusy) {
					time.Sleep(time.Duration(1+m) * time.Second)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				stall := time.Duration(stalls[(m*3+step)%len(stalls)]) * time.Second
				work(b, &f, what, stall)
			}
		})
	}
	wg.Wait()
	return f.bad
}

func work(b *heartbeat, f *fence, what int, stall time.Duration) {
	b.mu.Lock()
	me := b.text.Instance
	b.mu.Unlock()
	write := func() {
		if b.check() == nil {
			f.write(me)
		}
	}
	write()
	switch what {
	case 1:
		close(b.stop)
		<-b.done
		time.Sleep(stall)
		write()
		b.stop, b.done = make(chan struct{}), make(chan struct{})
		go b.run()
		time.Sleep(time.Second)
		write()
	case 2:
		b.silence()
		return
	case 3:
		time.Sleep(stall)
		write()
	}
	_ = b.release() // a lost one has nothing to tidy up
}
