package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/internal/replay"
	"varve.dev/session"
	"varve.dev/transcript"
	"varve.dev/view"
)

// leaves replays a recording into a session and holds the session to what it must be:
// without a fault but those of kinds that the recording has itself, and what a model
// would be sent of it is what the replay ended with.
func leaves(t *testing.T, rec *replay.Recording, opt replay.Options, own map[transcript.FaultKind]bool) {
	t.Helper()
	ctx := context.Background()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var s *session.Session
	var last *view.View
	opt.Store = func(now func() time.Time) (engine.Store, error) {
		var err error
		s, err = st.Create(ctx, session.Project(t.TempDir()), session.Clock(now))
		return s, err
	}
	opt.End = func(_ string, v *view.View) { last = v }
	if _, err := replay.Run(ctx, rec, opt); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	l, err := transcript.ReadFile(ctx, s.Path, transcript.ReadOptions{})
	if err != nil {
		if len(last.Messages) == 0 {
			return // nothing was said, and nothing was written
		}
		t.Fatal(err)
	}
	defer l.Close()
	faults, err := l.Check(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		if !own[f.Kind] {
			t.Errorf("%v", f)
		}
	}
	again := view.Of(view.Input{Chain: l.Chain(l.Tip()), Facts: view.FactsOf(l)})
	if a, b := wire(last), wire(again); a != b {
		t.Errorf("the view of the file (%d bytes) is not that of the replay (%d bytes)", len(b), len(a))
	}
}

// G-3, U-4: the same of recorded sessions of every agent, on a small window; with
// VARVE_FULL of all of them, and of one of which what left is put aside.
func TestLeavesRecorded(t *testing.T) {
	full := os.Getenv("VARVE_FULL") != ""
	for i, path := range recorded(t, "claude", "codex", "gemini", "opencode", "pi") {
		if !full && i != 3 {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			rec := opened(t, path)
			for _, name := range []string{"anthropic/claude-sonnet-4-6", "anthropic/claude-opus-5-5"} {
				model, _ := caps.Find(name)
				leaves(t, rec, replay.Options{Model: model, Window: 32_000}, faultsOf(t, path))
				rec.Bytes = 1 << 40 // as one that is put aside
			}
		})
	}
}

// faultsOf returns the kinds of what is wrong with a log; of files of other agents,
// which are no logs, there are none.
func faultsOf(t *testing.T, path string) map[transcript.FaultKind]bool {
	t.Helper()
	out := map[transcript.FaultKind]bool{}
	if !strings.Contains(filepath.ToSlash(path), "/claude/") {
		return out
	}
	l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	faults, err := l.Check(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		out[f.Kind] = true
	}
	return out
}
