package notes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"varve.dev/internal/notes"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// logWith is a log with these cursors.
func logWith(t *testing.T, cursors ...transcript.Covers) *transcript.Log {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"hi"}}` + "\n")
	for _, c := range cursors {
		fmt.Fprintf(&b, `{"type":"varve-covers","sessionId":"s","kind":%q,"uptoUuid":%q,"hash":%q}`+"\n", c.Kind, c.UptoUUID, c.Hash)
	}
	l, err := transcript.Read(context.Background(), strings.NewReader(b.String()), int64(b.Len()), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const written = "# Title\nFix the parser\n\n# Current state\ntests fail in lexer.go\n"

// TestCurrent: C-4, T-12. Notes are used when they say something and a cursor proves
// how far they reach; else they are skipped.
func TestCurrent(t *testing.T) {
	good := transcript.Covers{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(written))}
	own := "# Where we are\n# Files\nfill in\n"
	for _, c := range []struct {
		name, file string
		cursors    []transcript.Covers
		want       bool
	}{
		{"proven", written, []transcript.Covers{good}, true},
		{"the newest cursor counts", written, []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u0", Hash: "old"}, good}, true},
		{"cursors of others beside it", written, []transcript.Covers{good, {Kind: "ledger", UptoUUID: "u9", Hash: "x"}}, true},
		{"no cursor", written, nil, false},
		{"the cursor of an older file", written, []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte("# Title\n"))}}, false},
		{"a newer cursor of another file", written, []transcript.Covers{good, {Kind: notes.Kind, UptoUUID: "u2", Hash: "other"}}, false},
		{"a cursor without an end", written, []transcript.Covers{{Kind: notes.Kind, Hash: notes.Hash([]byte(written))}}, false},
		{"the template", notes.Template, []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(notes.Template))}}, false},
		{"the user's template", own + "\n\n", []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(own + "\n\n"))}}, false},
		{"headings only", "# A\n## B\n", []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte("# A\n## B\n"))}}, false},
		{"empty", " \n", []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(" \n"))}}, false},
		{"missing", "", []transcript.Covers{good}, false},
		{"far too large", strings.Repeat("words ", 200_000), []transcript.Covers{{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(strings.Repeat("words ", 200_000)))}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			config := filepath.Join(dir, "home", "session-memory", "config")
			if err := os.MkdirAll(config, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(config, "template.md"), []byte(own), 0o600); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, notes.File)
			if c.file != "" {
				if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			l := logWith(t, c.cursors...)
			r := &notes.Reader{Path: path, Log: func() *transcript.Log { return l }, Home: filepath.Join(dir, "home"), Claude: filepath.Join(dir, "none")}
			text, upTo, ok := r.Current(context.Background())
			if ok != c.want || ok && (upTo != "u1" || text != strings.TrimSpace(written)) {
				t.Errorf("%q, %q, %v", text, upTo, ok)
			}
		})
	}
}

// TestNoFolder: a folder in the place of the file is no notes.
func TestNoFolder(t *testing.T) {
	l := logWith(t)
	r := &notes.Reader{Path: t.TempDir(), Log: func() *transcript.Log { return l }}
	if _, _, ok := r.Current(context.Background()); ok {
		t.Error("a folder was read")
	}
}

// TestWait: C-4. Notes that are being written are waited for, but not for long, and
// not when the caller gives up.
func TestWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), notes.File)
	if err := os.WriteFile(path, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	l := logWith(t, transcript.Covers{Kind: notes.Kind, UptoUUID: "u1", Hash: notes.Hash([]byte(written))})
	busy := make(chan struct{})
	r := &notes.Reader{Path: path, Log: func() *transcript.Log { return l }, Writing: func() <-chan struct{} { return busy }, Wait: time.Millisecond}
	if _, _, ok := r.Current(context.Background()); ok {
		t.Error("notes were used while they were written")
	}
	r.Wait = time.Hour
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, ok := r.Current(gone); ok {
		t.Error("a caller that gave up got notes")
	}
	close(busy)
	if _, _, ok := r.Current(context.Background()); !ok {
		t.Error("the notes are there, and are not used")
	}
	r.Writing = func() <-chan struct{} { return nil }
	if _, _, ok := r.Current(context.Background()); !ok {
		t.Error("nobody writes, and the notes are not used")
	}
}

// TestPropShorten: A-4, C-4. Whatever notes hold, they keep to the lengths, every
// heading of notes with a usual number of sections stays, and no character is cut.
func TestPropShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		n := rapid.IntRange(1, 14).Draw(t, "sections")
		for i := range n {
			fmt.Fprintf(&b, "# Section %d\n", i)
			word := rapid.SampledFrom([]string{"word ", "漢字 ", "```\n# no heading\n```\n", "emoji🙂 ", "x"}).Draw(t, "word")
			b.WriteString(strings.Repeat(word, rapid.IntRange(0, 4_000).Draw(t, "words")))
			b.WriteString("\n")
		}
		text := b.String()
		got := notes.Shorten(text)
		if size := tokens.Text(got); size > notes.TotalTokens {
			t.Fatalf("%d tokens", size)
		}
		if !utf8.ValidString(got) {
			t.Fatal("a character was cut")
		}
		for i := range n {
			if !strings.Contains(got, fmt.Sprintf("# Section %d\n", i)) {
				t.Fatalf("section %d is gone", i)
			}
		}
		if tokens.Text(text) <= notes.SectionTokens && got != text {
			t.Fatal("short notes were changed")
		}
	})
}

// TestManyHeadings: thousands of sections keep to the length, too.
func TestManyHeadings(t *testing.T) {
	if size := tokens.Text(notes.Shorten(strings.Repeat("# a heading of its own\nx\n", 20_000))); size > notes.TotalTokens {
		t.Errorf("%d tokens", size)
	}
}
