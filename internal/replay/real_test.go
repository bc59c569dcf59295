package replay_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/internal/foreign"
	"varve.dev/internal/replay"
	"varve.dev/transcript"
)

// recorded returns the recorded sessions in folders beside the checkout.
func recorded(t testing.TB, folders ...string) []string {
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
	for _, folder := range folders {
		_ = filepath.WalkDir(filepath.Join(dir, "..", "shared", "data", folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(filepath.Ext(path), ".json") {
				files = append(files, path)
			}
			return nil
		})
	}
	if len(files) == 0 {
		t.Skip("no recorded sessions at ../shared/data")
	}
	return files
}

// opened reads a recorded session of any agent.
func opened(t *testing.T, path string) *replay.Recording {
	t.Helper()
	ctx := context.Background()
	if !strings.Contains(path, "/claude/") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		s, err := foreign.Open(ctx, f, st.Size(), foreign.Options{Name: path})
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		rec, err := replay.FromLog(s.Log())
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	l, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	rec, err := replay.FromLog(l)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// G-1, G-3, B-5. Every recorded session of every agent on small and usual windows,
// with reasoning bound or not: Varve's own policy never stops, no request exceeds
// the window or breaks a rule (Prepare would fail), and what people said, changed
// files and open tasks are in the last request. Without VARVE_FULL a sample on the
// smallest window.
func TestRecordedSessions(t *testing.T) {
	windows, step := []int{32_000}, 14
	if os.Getenv("VARVE_FULL") != "" {
		windows, step = []int{32_000, 200_000, 1_000_000}, 1
	}
	requests := 0
	for i, path := range recorded(t, "claude", "codex", "gemini", "opencode", "pi") {
		if i%step != 0 {
			continue
		}
		rec := opened(t, path)
		for _, window := range windows {
			for _, name := range []string{"anthropic/claude-sonnet-4-6", "anthropic/claude-opus-5-5"} {
				model, _ := caps.Find(name)
				res, err := replay.Run(context.Background(), rec, replay.Options{Model: model, Window: window})
				if err != nil {
					t.Fatalf("%s: %v", filepath.Base(path), err)
				}
				run := res.Runs[0]
				requests += run.Cost.Requests
				where := fmt.Sprintf("%s, %s, %dk", filepath.Base(path), name, window/1000)
				if run.Stopped != nil || run.Overflows > 0 || run.Peak > res.Limits.Effective {
					t.Errorf("%s: stopped %+v, %d overflows, peak %d of %d", where, run.Stopped, run.Overflows, run.Peak, res.Limits.Effective)
				}
				if k := run.Kept; k.Words.Kept < k.Words.Of || k.Files.Kept < k.Files.Of || k.Todos.Kept < k.Todos.Of {
					t.Errorf("%s: kept %+v", where, k)
				}
			}
		}
	}
	t.Logf("%d requests", requests)
}

// Policies of others run on the same recordings: none breaks a rule, and what each
// asks of a model is counted.
func TestPeersOnRecorded(t *testing.T) {
	for i, path := range recorded(t, "claude") {
		if i%16 != 1 {
			continue
		}
		model, _ := caps.Find("anthropic/claude-sonnet-4-6")
		res, err := replay.Run(context.Background(), opened(t, path), replay.Options{Model: model, Window: 32_000, Policies: allPolicies()})
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(path), err)
		}
		for _, run := range res.Runs {
			t.Logf("%-40.40s %-12s %4d req peak %7d over %3d sums %2d usd %7.3f kept %v %v %v %v", filepath.Base(path), run.Policy, run.Cost.Requests, run.Peak, run.Overflows, run.Cost.Summaries, run.Cost.USD, run.Kept.Words, run.Kept.Files, run.Kept.Todos, run.Kept.Results)
			if run.Cost.Requests > 0 && run.Cost.USD <= 0 {
				t.Errorf("%s costs nothing", run.Policy)
			}
			if run.Policy != replay.None && run.Peak > 32_000 {
				t.Errorf("%s: a request of %d tokens", run.Policy, run.Peak)
			}
		}
	}
}
