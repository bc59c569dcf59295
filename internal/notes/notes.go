// Package notes reads the notes that are kept on a session while it goes on
// (`notes.md` beside its log), so that a compaction can use them as its summary
// without asking a model (C-4).
//
// It reads only; whoever keeps the notes writes the file, and with it a cursor into
// the log: a side entry varve-covers of the kind "notes", which names the last entry
// that was read and the [Hash] of the file. Notes without a cursor that fits them
// say nothing about how far they reach, and are not used.
//
// Start with [Reader], which is the Notes of a compact.Ladder. It guarantees: what it
// returns is proven to cover the log up to an entry, is never the empty template,
// and keeps to the lengths of A-4, cut only between characters and said.
package notes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"varve.dev/internal/vfs"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// File is the name of the notes in a session's folder.
const File = "notes.md"

// Kind is that of the cursors of notes.
const Kind = "notes"

// Lengths of A-4, in tokens.
const (
	SectionTokens = 2_000
	TotalTokens   = 12_000
)

const (
	// maxFile is the largest file that is read: 20 times what notes may hold.
	maxFile = 1 << 20
	// waitFor bounds the wait for notes that are being written: what a forked request
	// of a few thousand tokens takes. A compaction by a model would take longer.
	waitFor = 15 * time.Second
)

// Template is what notes begin as: sections to be filled.
const Template = `# Title
# Current state
# What was asked for
# Files
# Commands
# Errors and what fixed them
# Decisions and why
# What was learned
# Open tasks
# Course of the work
`

// Reader finds the notes of one session.
type Reader struct {
	Path string                 // of the file
	Log  func() *transcript.Log // where the cursor stands
	// Home and Claude are $VARVE_HOME and ~/.claude, where the user may have put a
	// template of their own (session-memory/config/template.md); "" for none.
	Home, Claude string
	// Writing returns a channel that is closed when the notes that are being written
	// are there, nil when none are; a nil func: nobody writes.
	Writing func() <-chan struct{}
	Wait    time.Duration // for Writing; 0: 15 seconds
	FS      vfs.FS        // nil: the system's
}

// Hash ties a cursor to the notes that it is about.
func Hash(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// Current returns the notes' text and the uuid of the last entry that they are proven
// to cover. ok is false when there are none, they are the template, or nothing proves
// how far they reach. It waits for notes that are being written, bounded.
func (r *Reader) Current(ctx context.Context) (text, upTo string, ok bool) {
	if !r.wait(ctx) {
		return "", "", false
	}
	data, err := r.read()
	if err != nil {
		return "", "", false
	}
	text = strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD"))
	if text == "" || r.isTemplate(text) {
		return "", "", false
	}
	c, ok := Cursor(r.Log())
	if !ok || c.Hash != Hash(data) || c.UptoUUID == "" {
		return "", "", false
	}
	return Shorten(text), c.UptoUUID, true
}

func (r *Reader) wait(ctx context.Context) bool {
	if r.Writing == nil {
		return true
	}
	done := r.Writing()
	if done == nil {
		return true
	}
	limit := r.Wait
	if limit <= 0 {
		limit = waitFor
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false // the file may be half of what it will be
	}
}

func (r *Reader) fs() vfs.FS {
	if r.FS == nil {
		return vfs.OS
	}
	return r.FS
}

var errTooLarge = errors.New("notes: the file is larger than notes are")

func (r *Reader) read() ([]byte, error) {
	st, err := r.fs().Stat(r.Path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxFile {
		return nil, errTooLarge
	}
	return vfs.ReadFile(r.fs(), r.Path)
}

// Cursor returns the newest cursor of notes in a log.
func Cursor(l *transcript.Log) (transcript.Covers, bool) {
	for i := len(l.Entries) - 1; i >= 0; i-- {
		e := l.Entries[i]
		if e.Type != transcript.TypeCovers {
			continue
		}
		if c, err := e.Covers(); err == nil && c.Kind == Kind {
			return c, true
		}
	}
	return transcript.Covers{}, false
}

// isTemplate reports whether nothing was written into the template, the built-in one
// or the user's.
func (r *Reader) isTemplate(text string) bool {
	for _, t := range r.templates() {
		if slices.Equal(lines(text), lines(t)) {
			return true
		}
	}
	return len(slices.DeleteFunc(lines(text), func(l string) bool { return strings.HasPrefix(l, "#") })) == 0
}

// templates returns the templates that notes may have begun as.
func (r *Reader) templates() []string {
	out := []string{Template}
	for _, home := range []string{r.Home, r.Claude} {
		if home == "" {
			continue
		}
		name := filepath.Join(home, "session-memory", "config", "template.md")
		if st, err := r.fs().Stat(name); errors.Is(err, fs.ErrNotExist) || err != nil || st.Size() > maxFile {
			continue
		}
		if data, err := vfs.ReadFile(r.fs(), name); err == nil {
			out = append(out, string(data))
		}
	}
	return out
}

// lines are the lines that hold anything, without the space around them.
func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// Shorten brings notes down to what A-4 allows: each section to 2,000 tokens, all
// together to 12,000, the longest sections first. Head and tail of a section stay.
func Shorten(text string) string {
	sections := split(text)
	for limit := SectionTokens; ; limit = limit * 3 / 4 {
		total := 0
		out := make([]string, len(sections))
		for i, s := range sections {
			out[i] = cut(s, limit)
			total += tokens.Text(out[i])
		}
		if total <= TotalTokens || limit < 20 {
			return whole(strings.Join(out, ""))
		}
	}
}

// split cuts text before each heading of the first level outside of code.
func split(text string) []string {
	var out []string
	var b strings.Builder
	code := false
	for l := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			code = !code
		}
		if strings.HasPrefix(l, "# ") && !code && b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
		}
		b.WriteString(l)
	}
	return append(out, b.String())
}

// cut shortens a section to limit tokens.
func cut(s string, limit int) string {
	n := tokens.Text(s)
	if n <= limit {
		return s
	}
	heading, body, _ := strings.Cut(s, "\n")
	for max := len(body) * limit / n; max > 0; max = max * 9 / 10 {
		short := heading + "\n" + middle(body, max) + "\n"
		if tokens.Text(short) <= limit {
			return short
		}
	}
	return fmt.Sprintf("%.200s\n[… %d characters left out …]\n", heading, utf8.RuneCountInString(body))
}

// middle leaves the middle of s out, so that about max bytes of it stay, and says so.
func middle(s string, max int) string {
	from, to := max/2, len(s)-max/2
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s", s[:from], utf8.RuneCountInString(s[from:to]), s[to:])
}

// whole is the last resort for notes of thousands of headings: their beginning.
func whole(text string) string {
	if n := tokens.Text(text); n > TotalTokens {
		return middle(text, len(text)/(n/TotalTokens+1))
	}
	return text
}
