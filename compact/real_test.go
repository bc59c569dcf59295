package compact_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/transcript"
)

func corpus(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
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

// TestRealSessions: G-1, C-15, C-0. Every recorded session, fed entry by entry on
// windows of 32k, 200k and 1M tokens with the ledger in place of a model: each
// request is valid (Prepare would fail) and fits, reasoning bound or not. Without
// VARVE_FULL every eighth session is fed on the smallest window, which compacts most.
func TestRealSessions(t *testing.T) {
	ctx := context.Background()
	windows, step := []int{32_000}, 8
	if os.Getenv("VARVE_FULL") != "" {
		windows, step = []int{32_000, 200_000, 1_000_000}, 1
	}
	for _, window := range windows {
		for _, bound := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dk bound %v", window/1000, bound), func(t *testing.T) {
				requests, compactions := 0, map[string]int{}
				for i, path := range corpus(t) {
					if i%step != 0 {
						continue
					}
					l, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{InMemory: 1 << 30})
					must(t, err)
					model := caps.Window(window)
					model.PrefixBound = bound
					e := engine.New(engine.Memory(stamp()), engine.Config{Caps: model, NoUsage: true, Ladder: &compact.Ladder{}, System: []byte(`"sys"`), Observe: func(ev engine.Event) {
						if ev.Kind == engine.Compacted {
							compactions[ev.Rung]++
						}
						if ev.Kind == engine.PrefixLost && !bound {
							t.Errorf("%s: %+v", filepath.Base(path), ev)
						}
					}})
					reply := ""
					for _, x := range l.History(l.Tip()).Entries {
						if x.Type == transcript.TypeAssistant && !x.APIError && x.MessageID != reply {
							reply = x.MessageID
							req, err := e.Prepare(ctx)
							if errors.Is(err, engine.ErrNotReady) {
								continue
							}
							if err != nil {
								t.Fatalf("%s line %d: %v", filepath.Base(path), x.Line, err)
							}
							if req.Tokens > req.Budget.Effective {
								t.Fatalf("%s line %d: %d tokens, room for %d", filepath.Base(path), x.Line, req.Tokens, req.Budget.Effective)
							}
							requests++
						}
						must(t, e.Feed(x))
					}
				}
				t.Logf("%d requests, compactions %v", requests, compactions)
			})
		}
	}
}
