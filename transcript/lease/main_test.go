package lease

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childEnv makes the test binary play another Varve process.
const childEnv = "VARVE_LEASE_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(childMain(mode, os.Args[1]))
	}
	os.Exit(m.Run())
}

// childMain acquires the lease of the log at path once per line of standard
// input and tells how it went. It lets go and ends at the end of input.
func childMain(mode, path string) int {
	if mode == "linger" {
		time.Sleep(time.Minute) // killed long before
		return 0
	}
	l := childLease(mode, path)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		switch in.Text() {
		case "acquire":
			err := l.Acquire(context.Background())
			var busy *BusyError
			switch {
			case err == nil:
				fmt.Println("won")
			case errors.As(err, &busy):
				fmt.Printf("busy %d\n", busy.Holder.PID)
			default:
				fmt.Printf("failed %v\n", err)
			}
		case "release":
			fmt.Println("released", l.Release())
		case "spawn":
			cmd := exec.Command(os.Args[0], path)
			cmd.Env = append(os.Environ(), childEnv+"=linger")
			if err := cmd.Start(); err != nil {
				fmt.Println("failed", err)
				continue
			}
			fmt.Println(cmd.Process.Pid)
		case "count":
			fmt.Println("counted", countUp(l, path))
		}
	}
	if err := l.Release(); err != nil {
		fmt.Println("release failed", err)
		return 1
	}
	return 0
}

// childLease makes the lease of a child: "local" with the kernel's lock,
// "shared" with the heartbeat only, as on a file system without locks.
func childLease(mode, path string) *Lease {
	l := New(path, Options{Kind: "child", Heartbeat: 20 * time.Millisecond, Stale: 400 * time.Millisecond})
	if mode == "shared" {
		l.sys.flock = func(*os.File) error { return &noLocksError{errors.New("made up")} }
		l.sys.fsync = func(*os.File) error { return nil } // a kill does not test it, and it takes most of the time
	}
	return l
}

// countUp appends a number one higher than the last one to the log, 40 times,
// taking the lease anew for each. Two writers at once would repeat a number.
func countUp(l *Lease, path string) error {
	for done := 0; done < 40; {
		err := l.Acquire(context.Background())
		if errors.Is(err, ErrBusy) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if err := appendNumber(l, path); err != nil {
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
		done++
	}
	return nil
}

func appendNumber(l *Lease, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := l.Verify(f, int64(len(raw))); err != nil {
		return err
	}
	if err := l.VerifyIdentity(f); err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%06d\n", strings.Count(string(raw), "\n")), int64(len(raw)))
	return err
}

// child is a running copy of the test binary.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, mode, path string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: exec.Command(exe, path)}
	// The race detector makes a process linger for a second at its end.
	c.cmd.Env = append(os.Environ(), childEnv+"="+mode, "GORACE=atexit_sleep_ms=0")
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // has ended already in most tests
		_ = c.cmd.Wait()
	})
	return c
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// tell sends one command without waiting for the answer.
func (c *child) tell(line string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		c.t.Fatal(err)
	}
}

// answer waits for the child's next line.
func (c *child) answer() string {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("child %d ended without an answer: %v", c.pid(), c.out.Err())
	}
	return c.out.Text()
}

// ask is tell and answer.
func (c *child) ask(line string) string {
	c.t.Helper()
	c.tell(line)
	return c.answer()
}

// kill ends the child as kill -9 does and waits until it is gone.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait() // "signal: killed"
}

// end lets the child finish by itself.
func (c *child) end() {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("child %d: %v", c.pid(), err)
	}
}
