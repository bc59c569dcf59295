package compact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/notes"
	"varve.dev/message"
	"varve.dev/transcript"
)

// noted is a conversation with notes on disk, kept as their writer keeps them.
func noted(t *testing.T, window int) (*talk, func(text, upTo string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), notes.File)
	var k *talk
	ladder := &compact.Ladder{Facts: noFacts}
	k = newTalk(t, window, ladder)
	ladder.Notes = &notes.Reader{Path: path, Log: func() *transcript.Log { return k.store.Log() }}
	write := func(text, upTo string) {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, k.e.Cover(transcript.Covers{Kind: notes.Kind, UptoUUID: upTo, Hash: notes.Hash([]byte(text))}))
	}
	return k, write
}

// TestNotes: C-4. Notes stand for what they are proven to cover, without a model: what
// came after stays word for word, extended backwards to 10,000 tokens and five
// messages with text, not beyond 40,000.
func TestNotes(t *testing.T) {
	k, write := noted(t, 100_000)
	for range 40 {
		k.turn(700)
	}
	covered := k.e.View().Leaf
	last := k.n
	k.turn(700)
	write("# Title\nwords NOTED-1\n", covered)
	k.until(700, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "notes" {
		t.Fatalf("rungs %v, said %+v", k.rungs, k.said)
	}
	got := dump(k.e)
	if !strings.Contains(got, "NOTED-1") {
		t.Error("the notes are not in the view")
	}
	for i := last; i < k.n; i++ {
		if !strings.Contains(got, fmt.Sprintf("reply %d ", i)) {
			t.Errorf("reply %d, which the notes do not cover, is gone", i)
		}
	}
	if strings.Contains(got, "reply 3 ") {
		t.Error("what the notes cover stays, far behind what is kept beside them")
	}
	meta, err := k.e.View().Boundary.Boundary()
	must(t, err)
	if meta.Own.Rung != "notes" || meta.PreservedMessages == nil {
		t.Errorf("boundary %+v", meta)
	}
	// Once more: the notes do not reach behind the boundary now, so they are no use.
	k.rungs = nil
	k.until(700, "a second compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] == "notes" {
		t.Error("the same notes were used for what they do not cover")
	}
}

// TestNotesKept: C-4's bounds of what stays, one by one.
func TestNotesKept(t *testing.T) {
	for _, c := range []struct {
		name        string
		after       int // turns behind what the notes cover
		words       int
		least, most int // turns that stay
	}{
		{"at least ten thousand tokens", 1, 700, 8, 14},
		{"at least five texts", 0, 4_000, 2, 4},
		{"not more than forty thousand", 0, 30_000, 1, 2},
		{"what is not covered stays whole", 30, 700, 30, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, write := noted(t, 200_000)
			k.turn(c.words)
			size := k.total()
			for auto := k.e.Context().Budget.Auto; k.total() < auto-(c.after+2)*size; {
				k.turn(c.words)
			}
			write("# Title\nwords\n", k.e.View().Leaf)
			before := k.n
			k.until(c.words, "a compaction", func() bool { return len(k.rungs) > 0 })
			if k.rungs[0] != "notes" {
				t.Fatalf("rungs %v: %+v", k.rungs, k.said)
			}
			got, kept := dump(k.e), 0
			for i := range k.n - 1 { // the last reply came behind the compaction
				if strings.Contains(got, fmt.Sprintf("reply %d ", i)) {
					kept++
				} else if i >= before {
					t.Errorf("reply %d is gone, the notes cover %d", i, before)
				}
			}
			if kept < c.least || kept > c.most {
				t.Errorf("%d turns of %d tokens stay, want %d to %d", kept, size, c.least, c.most)
			}
		})
	}
}

// TestNotesUnproven: C-4. Notes whose end is not in the view, or that would not make
// room, are skipped, and the next rung is asked.
func TestNotesUnproven(t *testing.T) {
	for name, upTo := range map[string]func(*talk) string{
		"another conversation": func(*talk) string { return "nobody" },
		"the very first entry": func(k *talk) string { return k.e.View().Messages[0].Blocks[0].Entry },
	} {
		t.Run(name, func(t *testing.T) {
			k, write := noted(t, 60_000)
			for range 20 {
				k.turn(700)
			}
			write("# Title\nNOTED\n", upTo(k))
			k.until(700, "a compaction", func() bool { return len(k.rungs) > 0 })
			if k.rungs[0] != "ledger" || strings.Contains(dump(k.e), "NOTED") {
				t.Errorf("rungs %v", k.rungs)
			}
		})
	}
}

// TestNotesPairs: C-4, C-15. The cut is moved to where no result is parted from its
// call.
func TestNotesPairs(t *testing.T) {
	k, write := noted(t, 60_000)
	must(t, k.e.Append(message.User("read them all")))
	for i := range 60 {
		k.step("Read", fmt.Sprintf(`{"file_path":"/a/%d"}`, i), lines(fmt.Sprint("file ", i), 400))
		if i == 30 {
			write("# Title\nNOTED\n", k.e.View().Leaf) // a result: the next reply is not there yet
		}
		if len(k.rungs) > 0 {
			break
		}
	}
	if len(k.rungs) == 0 || k.rungs[0] != "notes" {
		t.Fatalf("rungs %v: %+v", k.rungs, k.said)
	}
	req, err := k.e.Prepare(context.Background())
	must(t, err)
	if bad := message.Check(req.Messages); len(bad) > 0 {
		t.Errorf("%v", bad)
	}
}

// TestNotesOff: C-11. Switched off, by hand and after an overflow they are not used.
func TestNotesOff(t *testing.T) {
	for _, c := range []string{"off", "manual", "overflow"} {
		k, write := noted(t, 100_000)
		k.ladder.Policy.NoNotes = c == "off"
		for range 40 {
			k.turn(700)
		}
		write("# Title\nNOTED\n", k.e.View().Leaf)
		var err error
		switch c {
		case "manual":
			_, err = k.e.Compact(context.Background(), engine.Ask{})
		case "overflow":
			_, err = k.e.Overflow(context.Background(), 1000)
		default:
			k.until(700, "a compaction", func() bool { return len(k.rungs) > 0 })
		}
		must(t, err)
		if k.rungs[0] == "notes" {
			t.Errorf("%s: rungs %v", c, k.rungs)
		}
	}
}

// TestNotesComplete: G-2. What the notes leave out of what people said is appended.
func TestNotesComplete(t *testing.T) {
	k, write := noted(t, 60_000)
	k.ladder.Facts = nil // the ledger
	for range 20 {
		k.turn(700)
	}
	write("# Title\nNOTED\n", k.e.View().Leaf)
	k.until(700, "a compaction", func() bool { return len(k.rungs) > 0 })
	got := dump(k.e)
	if k.rungs[0] != "notes" || !strings.Contains(got, "NEEDLE-0") || !strings.Contains(got, "NOTED") {
		t.Errorf("rungs %v", k.rungs)
	}
	var b struct{ Source string }
	if own := k.e.View().Boundary; own != nil {
		for _, e := range k.store.Log().Entries {
			if e.CompactSummary {
				must(t, json.Unmarshal(e.Own(), &b))
			}
		}
	}
	if b.Source != "notes" {
		t.Errorf("source %q", b.Source)
	}
}
