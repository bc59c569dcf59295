package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// anthropics/claude-code#39151: the second process that opens a session is
// refused and told which process has it and what to do.
func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	c := startChild(t, "local", path)
	if got := c.ask("acquire"); got != "won" {
		t.Fatalf("child: %s", got)
	}
	l := New(path, Options{})
	err := l.Acquire(t.Context())
	var busy *BusyError
	if !errors.As(err, &busy) || !errors.Is(err, ErrBusy) {
		t.Fatalf("got %v, want a BusyError", err)
	}
	if busy.Holder.PID != c.pid() || busy.SameProcess {
		t.Errorf("holder %+v, want pid %d of another process", busy.Holder, c.pid())
	}
	for _, want := range []string{path, fmt.Sprintf("process %d", c.pid()), " since ", "(child)", "wait until it ends", "--fork-session"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message lacks %q: %s", want, err)
		}
	}
	if h, err := ReadHolder(path); err != nil || h.PID != c.pid() || (h.Liveness() == Gone) {
		t.Errorf("ReadHolder = %+v, %v (%v)", h, err, h.Liveness())
	}
	c.end()
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatalf("after the holder ended: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}

// github/copilot-cli#3255: after kill -9 the next process takes over at once,
// and what the dead one left behind is not named.
func TestKillReleasesTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	for range 3 {
		c := startChild(t, "local", path)
		if got := c.ask("acquire"); got != "won" {
			t.Fatalf("child: %s", got)
		}
		c.kill()
		h, err := ReadHolder(path)
		if err != nil || h.PID != c.pid() {
			t.Fatalf("the dead holder's text: %+v, %v", h, err)
		}
		if got := h.Liveness(); got == Running {
			t.Errorf("a killed process is %v", got)
		}
		l := New(path, Options{})
		if err := l.Acquire(t.Context()); err != nil {
			t.Fatalf("after kill -9: %v", err)
		}
		if err := l.Release(); err != nil {
			t.Fatal(err)
		}
		if h, err := ReadHolder(path); err != nil || h.PID != 0 {
			t.Errorf("after release the file names %+v, %v", h, err)
		}
		if _, err := os.Stat(lockPath(path)); err != nil {
			t.Errorf("the lock file must never be unlinked: %v", err)
		}
	}
}

// A background command that the killed process started lives on and does not
// keep the lock.
func TestChildOfTheHolderKeepsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	c := startChild(t, "local", path)
	if got := c.ask("acquire"); got != "won" {
		t.Fatal(got)
	}
	pid, err := strconv.Atoi(c.ask("spawn"))
	if err != nil {
		t.Fatal(err)
	}
	lingering, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lingering.Kill() }() // ends by itself otherwise
	c.kill()
	if _, alive := processStart(pid); !alive {
		t.Fatal("the background command has ended, so this proves nothing")
	}
	l := New(path, Options{})
	if err := l.Acquire(t.Context()); err != nil {
		t.Errorf("kept by a background command: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

// DESIGN decision 8: of eight processes that start at the same time exactly one
// wins, by the kernel's lock and by the heartbeat alone.
func TestEightProcessesRace(t *testing.T) {
	const racers = 8
	for _, mode := range []string{"local", "shared"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			var all []*child
			for range racers {
				all = append(all, startChild(t, mode, path))
			}
			for round := range 5 {
				for _, c := range all {
					c.tell("acquire")
				}
				var winner *child
				busy := map[string]int{}
				for _, c := range all {
					switch got := c.answer(); {
					case got == "won" && winner == nil:
						winner = c
					case strings.HasPrefix(got, "busy "):
						busy[got]++
					default:
						t.Fatalf("round %d: child %d: %s", round, c.pid(), got)
					}
				}
				if winner == nil {
					t.Fatalf("round %d: nobody won: %v", round, busy)
				}
				if named := busy[fmt.Sprintf("busy %d", winner.pid())]; named != racers-1 {
					t.Errorf("round %d: %d of %d losers name the winner %d: %v", round, named, racers-1, winner.pid(), busy)
				}
				if got := winner.ask("release"); got != "released <nil>" {
					t.Fatal(got)
				}
			}
			for _, c := range all {
				c.end()
			}
		})
	}
}

// DESIGN decision 8: processes that take turns never write at the same time,
// also while others of them are killed.
func TestProcessesTakeTurns(t *testing.T) {
	for _, mode := range []string{"local", "shared"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			var all []*child
			for range 4 {
				c := startChild(t, mode, path)
				c.tell("count")
				all = append(all, c)
			}
			victim := startChild(t, mode, path)
			victim.tell("count")
			time.Sleep(30 * time.Millisecond) // anywhere within its work
			victim.kill()
			for _, c := range all {
				if got := c.answer(); got != "counted <nil>" {
					t.Errorf("child %d: %s", c.pid(), got)
				}
				c.end()
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
			if len(lines) < 4*40 {
				t.Errorf("%d lines, want at least %d", len(lines), 4*40)
			}
			for i, line := range lines {
				if line != fmt.Sprintf("%06d", i) {
					t.Fatalf("line %d is %q: two writers at once", i, line)
				}
			}
		})
	}
}

// G-8: a lock file that was removed and taken by another process is a lost
// lock, which stops the writer for good.
func TestLockFileTakenByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := New(path, Options{})
	if err := l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(lockPath(path)); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "local", path)
	if got := c.ask("acquire"); got != "won" {
		t.Fatal(got)
	}
	err := l.VerifyIdentity(nil)
	var gone *LostError
	if !errors.As(err, &gone) || !errors.Is(err, ErrLost) || gone.Holder.PID != c.pid() {
		t.Fatalf("got %v, want a LostError naming %d", err, c.pid())
	}
	if !strings.Contains(err.Error(), "--fork-session") {
		t.Errorf("no advice: %v", err)
	}
	c.end()
	for _, check := range []func() error{
		func() error { return l.Verify(nil, 0) },
		func() error { return l.VerifyIdentity(nil) },
		func() error { return l.Acquire(context.Background()) },
	} {
		if err := check(); !errors.Is(err, ErrLost) {
			t.Errorf("after the loss: %v, want ErrLost", err)
		}
	}
	if l.Held() {
		t.Error("a lost lease is not held")
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if err := l.Acquire(t.Context()); err != nil {
		t.Errorf("after release: %v", err)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
}
