package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/transcript"
)

func corpus(t testing.TB) []string {
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

// TestRealForks: C-0, T-13, S-2. Every recorded session is continued on a model that
// binds reasoning to its prefix: the fork begins with a strip, the independent
// validator has nothing to say about any request, and each extends the one before.
func TestRealForks(t *testing.T) {
	model, ok := caps.Find("anthropic/claude-opus-5-5")
	if !ok || !model.PrefixBound {
		t.Fatal("the catalogue lacks a model that binds reasoning")
	}
	ctx := context.Background()
	requests := 0
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{InMemory: 1 << 30})
			must(t, err)
			mem := engine.MemoryOf(clock(), l)
			var lost []engine.Event
			e := engine.New(mem, engine.Config{Caps: model, System: []byte(`"sys"`), Observe: func(ev engine.Event) {
				if ev.Kind == engine.PrefixLost {
					lost = append(lost, ev)
				}
			}})
			before := ""
			for i := range 3 {
				must(t, e.Append(message.User("go on")))
				req, err := e.Prepare(ctx)
				var rule *engine.RuleError
				if errors.As(err, &rule) {
					t.Fatalf("request %d: %v", i, rule.Violations)
				}
				must(t, err)
				requests++
				now := wire(req)
				if i > 0 && !strings.HasPrefix(now, before) {
					t.Fatalf("request %d does not extend the one before", i)
				}
				before = now[:len(now)-1]
				id := "new" + string(rune('a'+i))
				m := message.Assistant(message.Thinking("about "+id, "c2ln"+id), message.Text("ok"))
				m.ID = id
				must(t, e.Record(ctx, req, m))
			}
			if len(lost) > 0 {
				t.Fatalf("%+v", lost)
			}
		})
	}
	t.Logf("%d requests without a violation", requests)
}
