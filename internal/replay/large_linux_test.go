package replay_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/internal/loggen"
	"varve.dev/internal/replay"
	"varve.dev/transcript"
)

// writeLarge writes one conversation of at least size bytes.
func writeLarge(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	root, n := "", int64(0)
	for k := 0; n < size; k++ {
		lines := loggen.Make(rand.New(rand.NewPCG(uint64(k), 2)), loggen.Options{Turns: 100, Thinking: true, Text: 1500, Prefix: fmt.Sprintf("b%d-", k), Root: root})
		for _, line := range lines {
			if _, err := w.WriteString(line + "\n"); err != nil {
				t.Fatal(err)
			}
			n += int64(len(line)) + 1
		}
		for i := len(lines) - 1; i >= 0; i-- {
			if e, err := transcript.Parse([]byte(lines[i])); err == nil && e.IsChain() {
				root = e.UUID
				break
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

const largeChild = "VARVE_TEST_LARGE_REPLAY"

// TestGigabyteChild is the process whose memory TestGigabyte measures.
func TestGigabyteChild(t *testing.T) {
	path := os.Getenv(largeChild)
	if path == "" {
		t.Skip("run by TestGigabyte")
	}
	l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rec, err := replay.FromLog(l)
	if err != nil {
		t.Fatal(err)
	}
	model, _ := caps.Find(replay.UsualModel)
	res, err := replay.Run(context.Background(), rec, replay.Options{Model: model, Window: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	run := res.Runs[0]
	if run.Stopped != nil || run.Overflows > 0 || run.Peak > res.Limits.Effective || run.Cost.Requests == 0 {
		t.Errorf("stopped %+v, %d overflows, peak %d, %d requests", run.Stopped, run.Overflows, run.Peak, run.Cost.Requests)
	}
	fmt.Printf("%d requests, %d compactions\n", run.Cost.Requests, len(run.Compactions))
}

// A recording of a gigabyte is replayed to its end, and memory holds what is known of
// its entries, not the entries: less than twice its size, the collector's share
// included, where four times stood before. With VARVE_FULL only: it takes minutes.
func TestGigabyte(t *testing.T) {
	if os.Getenv("VARVE_FULL") == "" {
		t.Skip("VARVE_FULL is not set")
	}
	const size = 1 << 30
	path := filepath.Join(t.TempDir(), "large.jsonl")
	writeLarge(t, path, size)
	cmd := exec.Command(os.Args[0], "-test.run=^TestGigabyteChild$", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), largeChild+"="+path, "GOGC=50")
	started := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	t.Logf("%s; %.0f s, %d MB at most", strings.SplitN(string(out), "\n", 2)[0], time.Since(started).Seconds(), peak>>20)
	if peak > 2*size {
		t.Errorf("%d MB of memory for a recording of %d MB", peak>>20, size>>20)
	}
}
