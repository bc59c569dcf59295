package transcript

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve.dev/transcript/lease"
)

// The tests of this file run real writer processes: the test binary again, which
// finds its part in the environment.
const (
	childPart  = "VARVE_WRITER_CHILD"
	childLog   = "VARVE_WRITER_LOG"
	childFirst = "VARVE_WRITER_FIRST"
)

// child is a writer process.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func startChild(t *testing.T, part, log string, first int) *child {
	t.Helper()
	exe, err := os.Executable()
	noErr(t, err)
	c := &child{t: t, cmd: exec.Command(exe, "-test.run=^TestWriterChild$", "-test.count=1")}
	c.cmd.Env = append(os.Environ(), childPart+"="+part, childLog+"="+log, childFirst+"="+strconv.Itoa(first))
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	noErr(t, err)
	out, err := c.cmd.StdoutPipe()
	noErr(t, err)
	c.out = bufio.NewScanner(out)
	noErr(t, c.cmd.Start())
	return c
}

// line returns the next line the child prints, "" when it ended.
func (c *child) line() string {
	if c.out.Scan() {
		return c.out.Text()
	}
	return ""
}

// say prints a line and sends it at once, which os.Stdout does.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// TestWriterChild is not a test but the body of the child processes.
func TestWriterChild(t *testing.T) {
	part, path := os.Getenv(childPart), os.Getenv(childLog)
	if part == "" {
		return
	}
	first, err := strconv.Atoi(os.Getenv(childFirst))
	noErr(t, err)
	opt := WriterOptions{Lease: lease.New(path, lease.Options{}), Drain: 3 * time.Millisecond}
	if part == "signal" {
		opt.Drain = time.Hour
	}
	if part == "race" {
		say("ready")
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		noErr(t, err)
	}
	w, err := OpenWriter(path, opt)
	noErr(t, err)
	switch part {
	case "turns":
		childTurns(t, w, first)
	case "race":
		childRace(t, w, first)
	case "signal":
		childSignal(t, w, first)
	}
}

func childEntry(t *testing.T, n, pad int) *Entry {
	return entryOf(t, "user", fmt.Sprintf("k%07d", n), fmt.Sprintf("k%07d", n-1), pad)
}

// childTurns appends turn after turn, single entries and groups, and says which
// entry is acknowledged, until it is killed.
func childTurns(t *testing.T, w *Writer, n int) {
	rnd := rand.New(rand.NewPCG(uint64(n), 1))
	for {
		w.Turn()
		for range 1 + rnd.IntN(5) {
			group := []*Entry{childEntry(t, n, rnd.IntN(3000))}
			if rnd.IntN(3) == 0 {
				group = append(group, childEntry(t, n+1, rnd.IntN(300_000)))
			}
			noErr(t, w.Append(group...))
			n += len(group)
		}
		noErr(t, w.Sync(context.Background()))
		say("%d", n-1)
	}
}

// childRace tries to be the one writer and keeps the log until stdin ends.
func childRace(t *testing.T, w *Writer, n int) {
	noErr(t, w.Append(childEntry(t, n, 10)))
	err := w.Sync(context.Background())
	switch {
	case err == nil:
		say("wrote")
	case errors.Is(err, lease.ErrBusy):
		say("refused")
	default:
		say("%v", err)
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(context.Background()); err != nil && !errors.Is(err, ErrReadOnly) {
		t.Fatal(err)
	}
}

// childSignal queues entries that no timer will write, and drains on a signal,
// as the command does.
func childSignal(t *testing.T, w *Writer, n int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	for i := range 50 {
		noErr(t, w.Append(childEntry(t, n+i, 100)))
	}
	say("queued")
	<-ctx.Done()
	noErr(t, DrainAll(context.Background()))
}

// rounds is how many processes are killed: 20, or 200 with VARVE_FULL=1.
func rounds() int {
	if os.Getenv("VARVE_FULL") == "1" {
		return 200
	}
	return 20
}

// G-8, T-6, T-10, DESIGN decisions 8 and 9, anthropics/claude-code#68314: writer
// processes are killed at random points, one after the other on the same log.
// Every acknowledged entry stays, once, in order; the next process gets the log
// at once and goes on; what was not acknowledged is whole or skipped.
func TestWriterKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "projects", "p", "s.jsonl")
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	acked := map[int]bool{}
	next := 0
	for round := range rounds() {
		c := startChild(t, "turns", path, next)
		from, last := next, -1
		noted := make(chan struct{})
		go func() { // ends with the child's output, awaited below
			defer close(noted)
			for c.out.Scan() {
				if n, err := strconv.Atoi(c.out.Text()); err == nil {
					last = n
				}
			}
		}()
		time.Sleep(time.Duration(rnd.IntN(60_000)) * time.Microsecond)
		noErr(t, c.cmd.Process.Kill())
		<-noted
		if err := c.cmd.Wait(); err == nil {
			t.Fatal("the child ended by itself")
		}
		for n := from; n <= last; n++ {
			acked[n] = true
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) && last < 0 {
			continue // killed before its first write
		}
		noErr(t, err)
		next = checkKilled(t, data, acked)
		if t.Failed() {
			t.Fatalf("round %d, seed %d", round, seed)
		}
	}
	t.Logf("%d rounds, %d entries acknowledged, seed %d", rounds(), len(acked), seed)
}

// checkKilled checks the log against what was acknowledged and returns the
// number for the next entry.
func checkKilled(t *testing.T, data []byte, acked map[int]bool) int {
	t.Helper()
	highest := -1
	seen := map[int]bool{}
	for _, id := range idsOf(string(data)) {
		n, err := strconv.Atoi(strings.TrimPrefix(id, "k"))
		if err != nil {
			continue // a torn line
		}
		if n <= highest {
			t.Errorf("entry %d after %d", n, highest)
		}
		seen[n], highest = true, n
	}
	for n := range acked {
		if !seen[n] {
			t.Errorf("acknowledged entry %d is lost", n)
		}
	}
	l, err := Read(context.Background(), bytes.NewReader(data), int64(len(data)), ReadOptions{})
	noErr(t, err)
	defer l.Close()
	found := map[string]bool{}
	for _, e := range l.Entries {
		found[e.UUID] = true
	}
	for n := range seen {
		if !found[fmt.Sprintf("k%07d", n)] {
			t.Errorf("the reader does not find entry %d", n)
		}
	}
	return highest + 2 // a torn one may have had highest+1
}

// DESIGN decision 8: of two processes that open one session at the same moment,
// one writes and the other is refused; the log is intact.
func TestWriterRace(t *testing.T) {
	for round := range max(rounds()/5, 4) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		want := ""
		if round%2 == 1 { // a session that exists
			w, err := OpenWriter(path, WriterOptions{})
			noErr(t, err)
			noErr(t, w.Append(childEntry(t, 1, 10)))
			noErr(t, w.Close(t.Context()))
			want = "k0000001 "
		}
		var cs []*child
		for i := range 2 {
			cs = append(cs, startChild(t, "race", path, 100*(i+1)))
		}
		for _, c := range cs {
			if got := c.line(); got != "ready" {
				t.Fatalf("child says %q", got)
			}
		}
		for _, c := range cs {
			_, err := io.WriteString(c.in, "go\n")
			noErr(t, err)
		}
		var said []string
		winner := ""
		for i, c := range cs {
			said = append(said, c.line())
			if said[i] == "wrote" {
				winner = fmt.Sprintf("k%07d", 100*(i+1))
			}
		}
		for _, c := range cs {
			noErr(t, c.in.Close())
			for c.out.Scan() { // the test binary's own last words
			}
			if err := c.cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		if sorted := slices.Sorted(slices.Values(said)); !slices.Equal(sorted, []string{"refused", "wrote"}) {
			t.Fatalf("the two say %q", said)
		}
		data, err := os.ReadFile(path)
		noErr(t, err)
		if got := strings.Join(idsOf(string(data)), " "); got != want+winner {
			t.Errorf("log holds %s, want %s", got, want+winner)
		}
	}
}

// anthropics/claude-code#81843: two writers without a lock, 1,000 records each:
// they notice each other and stop; no line is spliced into another's.
func TestWriterNeverSplices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	noErr(t, os.WriteFile(path, []byte("{\"type\":\"mode\"}\n"), 0o600))
	var wg sync.WaitGroup
	for i := range 2 {
		w, err := OpenWriter(path, WriterOptions{Drain: time.Millisecond})
		noErr(t, err)
		wg.Go(func() {
			for n := range 1000 {
				err := w.Append(childEntry(t, 10_000*i+n, 500))
				if err == nil && n%10 == 0 {
					err = w.Flush(t.Context())
				}
				if errors.Is(err, ErrMoved) {
					break
				} else if err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(context.Background()); err != nil && !errors.Is(err, ErrMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(path)
	noErr(t, err)
	if got := idsOf(string(data)); slices.Contains(got, "!") || len(got) < 2 {
		t.Errorf("%d lines, some torn", len(got))
	}
}
