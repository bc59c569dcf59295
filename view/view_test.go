package view_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
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

// fataler is what both testing.T and rapid.T are.
type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

func parse(t fataler, b []byte) *transcript.Log {
	t.Helper()
	l, err := transcript.Read(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{InMemory: 1 << 30})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return l
}

func of(l *transcript.Log, leaf *transcript.Entry) *view.View {
	return view.Of(view.Input{Chain: l.Chain(leaf), Facts: view.FactsOf(l)})
}

// dump writes a view as the bytes that would be sent.
func dump(v *view.View) string {
	var b strings.Builder
	for _, m := range v.Messages {
		fmt.Fprintf(&b, "%s %s\n", m.Role, m.ID)
		for _, blk := range m.Blocks {
			b.WriteString("  ")
			b.Write(blk.Raw)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func valid(t fataler, v *view.View, where string) {
	t.Helper()
	if len(v.Messages) == 0 {
		return
	}
	for _, bad := range message.Check(v.Plain()) {
		t.Fatalf("%s: %v", where, bad)
	}
}

// ids gives the stamp of entries that a test appends.
func ids() transcript.Stamp {
	n := 0
	return transcript.Stamp{SessionID: "5e55", CWD: "/work/app", Version: "9.9.9", GitBranch: "main",
		Now:   func() time.Time { return time.Date(2026, 5, 1, 0, 0, n, 0, time.UTC) },
		NewID: func() string { n++; return fmt.Sprintf("new%d", n) }}
}

// TestRealViews: C-15, T-11, S-2. Every recorded session has a valid view at every
// entry where a request could have been made (of the longest at every sixth, without
// VARVE_FULL), by both validators.
func TestRealViews(t *testing.T) {
	turns, repairs, full := 0, map[view.RepairKind]int{}, os.Getenv("VARVE_FULL") != ""
	for _, path := range corpus(t) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		l := parse(t, b)
		for i, e := range l.Entries {
			if e.Type != transcript.TypeUser || e.Meta || len(e.Results) > 0 || l.ByUUID(e.UUID) != e || i%6 != 0 && len(l.Entries) > 600 && !full {
				continue
			}
			v := of(l, e)
			at := fmt.Sprintf("%s line %d", filepath.Base(path), e.Line)
			valid(t, v, at)
			if full || turns%4 == 0 {
				accepted(t, v, at)
			}
			turns++
		}
		v := of(l, l.Tip())
		valid(t, v, filepath.Base(path))
		accepted(t, v, filepath.Base(path))
		for _, r := range v.Repairs {
			repairs[r.Kind]++
		}
	}
	t.Logf("%d views valid; repairs at the tips: %v", turns, repairs)
}

func generated(t *rapid.T, damage bool) []byte { return generatedOf(t, damage, 14) }

// generatedOf is for tests that look at every step of a log, whose cost grows with its square.
func generatedOf(t *rapid.T, damage bool, turns int) []byte {
	return loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), loggen.Options{
		Turns: rapid.IntRange(1, turns).Draw(t, "turns"), Boundaries: true, Rewinds: true, Thinking: true, Damage: damage}))
}

// TestPropValid: C-15, B-… rule 1 of DESIGN section 7. The view of every branch of
// every log is valid and the same each time it is computed.
func TestPropValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, rapid.Bool().Draw(t, "damage"))
		l := parse(t, b)
		for _, leaf := range l.Leaves() {
			v := of(l, leaf)
			valid(t, v, "leaf "+leaf.UUID)
			l2 := parse(t, b)
			again := of(l2, l2.ByUUID(leaf.UUID))
			if dump(v) != dump(again) {
				t.Fatalf("leaf %s: two views of one log differ", leaf.UUID)
			}
		}
	})
}

// TestPropAppend: an extended view equals one computed afresh, for every step of
// a log.
func TestPropAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		turns := 5
		if os.Getenv("VARVE_FULL") != "" {
			turns = 14
		}
		b := generatedOf(t, rapid.IntRange(0, 3).Draw(t, "damage") == 0, turns)
		l := parse(t, b)
		var so []*transcript.Entry
		var v *view.View
		for _, e := range l.Entries {
			so = append(so, e)
			part := relog(t, so)
			tip := part.Tip()
			if tip == nil {
				continue
			}
			fresh := of(part, tip)
			mine := part.Entries[len(part.Entries)-1]
			if v == nil || !v.Append(mine) {
				v = fresh
				continue
			}
			if v.Leaf != tip.UUID {
				v = fresh // a pointer, or an entry of another branch than the tip's
				continue
			}
			if dump(v) != dump(fresh) || fmt.Sprint(v.Repairs) != fmt.Sprint(fresh.Repairs) || v.Leaf != fresh.Leaf {
				t.Fatalf("after %s (%s):\nextended\n%s%v\nafresh\n%s%v", mine.UUID, mine.Type, dump(v), v.Repairs, dump(fresh), fresh.Repairs)
			}
		}
	})
}

func relog(t fataler, es []*transcript.Entry) *transcript.Log {
	t.Helper()
	var b []byte
	for _, e := range es {
		raw, err := e.Raw()
		if err != nil {
			t.Fatalf("%v", err)
		}
		b = append(append(b, raw...), '\n')
	}
	return parse(t, b)
}

// TestPropFreeze: T-13, S-2. Frozen repairs leave the messages as they are, leave
// nothing open, and are not needed twice.
func TestPropFreeze(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, rapid.Bool().Draw(t, "damage"))
		l := parse(t, b)
		tip := l.Tip()
		if tip == nil {
			return
		}
		v := of(l, tip)
		frozen := v.Freeze(ids())
		if len(frozen) == 0 {
			return
		}
		out := bytes.TrimRight(b, "\n")
		for _, e := range frozen {
			raw, _ := e.Raw()
			out = append(append(out, '\n'), raw...)
		}
		l2 := parse(t, append(out, '\n'))
		tip2 := l2.ByUUID(frozen[len(frozen)-1].UUID)
		if tip2 == nil {
			t.Fatalf("frozen entry was not read back")
		}
		after := of(l2, tip2)
		if dump(after) != dump(v) {
			t.Fatalf("before\n%s%v\nafter freezing\n%s%v", dump(v), v.Repairs, dump(after), after.Repairs)
		}
		if more := after.Freeze(ids()); len(more) != 0 {
			t.Fatalf("still open: %v", after.Repairs)
		}
	})
}

// TestPropPrefix: what is sent extends what was sent before unless an edit was
// appended or the branch changed (T-13, G-12).
func TestPropPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := parse(t, generated(t, false))
		st := ids()
		var before view.Prefix
		var last *view.View
		var so []*transcript.Entry
		edited := true
		for _, e := range l.Entries {
			so = append(so, e)
			switch {
			case e.Type == transcript.TypeSystem || e.Type == transcript.TypeContentReplacement || e.Type == transcript.TypeLastPrompt && e.IsRewind() || e.CompactSummary:
				edited = true
			case e.IsChain() && last != nil && e.ParentUUID != last.Leaf && e.Type != transcript.TypeUser:
				edited = true
			}
			if e.Type != transcript.TypeUser || len(e.Results) > 0 {
				continue
			}
			if last != nil && e.ParentUUID != last.Leaf {
				edited = true // a rewind, or entries of which the view is not the tip's
			}
			part := relog(t, so)
			v := of(part, part.Tip())
			for _, f := range v.Freeze(st) {
				so = append(so, f)
				edited = true // in this test the log was recorded without them
			}
			p := before.Next("f", v)
			if full := view.PrefixOf("f", v); full.Hash(full.Blocks()) != p.Hash(p.Blocks()) {
				t.Fatalf("hash taken over differs from hash computed afresh")
			}
			if same, at, what := p.Diff(before); what != "" && !edited {
				t.Fatalf("%s %v after %d blocks, without an edit", what, at, same)
			}
			before, last, edited = p, v, false
		}
	})
}
