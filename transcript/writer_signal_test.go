//go:build !windows

package transcript

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// T-6, anthropics/claude-code#43303: SIGINT, SIGTERM and SIGHUP drain the queue.
func TestWriterDrainsOnSignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		c := startChild(t, "signal", path, 0)
		if got := c.line(); got != "queued" {
			t.Fatalf("child says %q", got)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("written before the signal")
		}
		noErr(t, c.cmd.Process.Signal(sig))
		for c.out.Scan() { // the test binary's own last words
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		data, err := os.ReadFile(path)
		noErr(t, err)
		if got := idsOf(string(data)); len(got) != 50 || got[0] != "k0000000" || got[49] != "k0000049" {
			t.Errorf("%v: %d entries on disk", sig, len(got))
		}
	}
}
