package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// chosen lets a property test decide what a generated log holds.
type chosen struct{ t *rapid.T }

func (c chosen) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "n") }

// Whatever a log holds, each view ends, prints nothing that acts on a terminal, and
// the tree counts every entry of the conversation once.
func TestViewsOfAnyLog(t *testing.T) {
	dir := t.TempDir()
	p := process{dir: dir}
	path := filepath.Join(dir, "any.jsonl")
	rapid.Check(t, func(rt *rapid.T) {
		opt := loggen.Options{Turns: rapid.IntRange(1, 6).Draw(rt, "turns"), Boundaries: true, Rewinds: true, Thinking: true,
			Damage: rapid.Bool().Draw(rt, "damage")}
		data := loggen.Bytes(loggen.Make(chosen{rt}, opt))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			rt.Fatal(err)
		}
		views := []string{"show", "show --full", "show --chain", "show --tree", "show --json", "show --chain --json", "check", "check --json"}
		from := rapid.IntRange(0, len(views)-3).Draw(rt, "views")
		for _, args := range views[from : from+3] {
			out, errs, code := p.run(t, append(append([]string{"sessions"}, strings.Fields(args)...), path)...)
			if code > 1 || code == 1 && !strings.HasPrefix(args, "check") {
				rt.Fatalf("%s: exit %d: %s", args, code, errs)
			}
			if strings.HasSuffix(args, "--json") {
				if !json.Valid([]byte(out)) {
					rt.Fatalf("%s: no JSON: %s", args, out)
				}
			} else if strings.ContainsFunc(out+errs, acts) {
				rt.Fatalf("%s prints controls", args)
			}
		}
		l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		defer l.Close()
		want, b := 0, newTreeBuilder(l)
		for _, e := range l.Entries {
			if e.IsChain() && l.ByUUID(e.UUID) == e && e.Sidechain == (b.tip != nil && b.tip.Sidechain) {
				want++
			}
		}
		got, tips := 0, 0
		var count func(ss []*stretch)
		count = func(ss []*stretch) {
			for _, s := range ss {
				got += s.entries
				if s.last {
					tips++
				}
				count(s.next)
			}
		}
		count(b.roots())
		if got != want || want > 0 && tips != 1 {
			rt.Fatalf("the tree has %d entries and %d tips, the log %d", got, tips, want)
		}
	})
}

// A conversation of any length is drawn without a stack of its depth.
func TestDeepTree(t *testing.T) {
	s := transcript.Stamp{SessionID: "s", CWD: "/w"}
	var b strings.Builder
	leaf := ""
	for range 20_000 {
		e := s.System(leaf, "note", "x", "info")
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
		leaf = e.UUID
	}
	l, err := transcript.Read(context.Background(), strings.NewReader(b.String()), int64(b.Len()), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if roots := newTreeBuilder(l).roots(); len(roots) != 1 || roots[0].entries != 20_000 {
		t.Errorf("%d trees", len(roots))
	}
}
