package export

import (
	"bytes"
	"encoding/json"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/internal/secret"
	"varve.dev/internal/term"
	"varve.dev/message"
)

// corpus returns the recorded sessions beside the project.
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
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
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

// typed returns the texts that a person typed in a log, read without this
// project's reader: of every user entry that is no result and not marked as the
// client's own.
func typed(t *testing.T, path string) []string {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range bytes.Lines(raw) {
		var e struct {
			Type                     string
			IsMeta, IsCompactSummary bool
			Message                  struct{ Content json.RawMessage }
		}
		if json.Unmarshal(line, &e) != nil || e.Type != "user" || e.IsMeta || e.IsCompactSummary {
			continue
		}
		var text string
		if json.Unmarshal(e.Message.Content, &text) == nil {
			out = append(out, text)
			continue
		}
		var blocks []struct{ Type, Text string }
		if json.Unmarshal(e.Message.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type == "text" {
				out = append(out, b.Text)
			}
		}
	}
	return out
}

// sampled is every third of the recorded sessions, and all of them with VARVE_FULL.
func sampled(paths []string) []string {
	if os.Getenv("VARVE_FULL") != "" {
		return paths
	}
	var out []string
	for i := 0; i < len(paths); i += 3 {
		out = append(out, paths[i])
	}
	return out
}

// H-8: every recorded session can be exported in every format, and each text
// that a user typed is in the document, on whatever branch it was.
func TestRecordedSessions(t *testing.T) {
	prompts := 0
	for _, path := range sampled(corpus(t)) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s := open(t, path)
			md, _ := export(t, s, "md", Options{})
			page, _ := export(t, s, "html", Options{})
			doc, _ := export(t, s, "json", Options{})
			page = html.UnescapeString(page)
			if !json.Valid([]byte(doc)) {
				t.Error("the JSON export is no JSON")
			}
			withoutCode(t, md)
			for _, p := range typed(t, path) {
				prompts++
				clean, _ := secret.Redact(p)
				if quoted := string(message.AppendString(nil, clean)); !strings.Contains(doc, quoted) && !decoded(t, doc, clean) {
					t.Errorf("json lacks a prompt: %.100q", p)
				}
				// Commands and their output are shown without their tags, and the
				// mark of an interruption in other words.
				shown := strings.TrimSpace(term.String(clean))
				if strings.HasPrefix(shown, "<command-") || strings.HasPrefix(shown, "<local-command-") || strings.HasPrefix(shown, "<bash-") || strings.HasPrefix(shown, "[Request interrupted") {
					continue
				}
				if !strings.Contains(md, shown) {
					t.Errorf("Markdown lacks a prompt: %.100q", p)
				}
				if !strings.Contains(page, shown) {
					t.Errorf("the page lacks a prompt: %.100q", p)
				}
			}
		})
	}
	t.Logf("%d prompts", prompts)
	if prompts < 100 {
		t.Errorf("only %d prompts in the recorded sessions", prompts)
	}
}

// decoded reports whether a JSON text has a string that holds s, however it is
// written.
func decoded(t *testing.T, doc, s string) bool {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			return false
		}
		if v, ok := tok.(string); ok && strings.Contains(v, s) {
			return true
		}
	}
}

// The numbers of a recorded session keep their text, and every entry its place.
func TestRecordedNumbers(t *testing.T) {
	for _, path := range sampled(corpus(t)) {
		s := open(t, path)
		doc, _ := export(t, s, "json", Options{Secrets: true, EmbedImages: true})
		var parsed struct{ Entries, Others []json.RawMessage }
		if err := json.Unmarshal([]byte(doc), &parsed); err != nil {
			t.Fatalf("%s: %v", filepath.Base(path), err)
		}
		have := map[string]int{}
		for _, raw := range append(parsed.Entries, parsed.Others...) {
			have[string(raw)]++
		}
		entries := 0
		for _, sec := range s.Sections {
			for _, e := range sec.Entries {
				raw, err := e.Raw()
				if err != nil {
					t.Fatal(err)
				}
				if have[string(raw)] == 0 {
					t.Errorf("%s line %d is not in the export as it is in the log", filepath.Base(path), e.Line)
				}
				entries++
			}
		}
		if entries+len(s.Side) != len(parsed.Entries)+len(parsed.Others) {
			t.Errorf("%s: %d entries became %d", filepath.Base(path), entries+len(s.Side), len(parsed.Entries)+len(parsed.Others))
		}
	}
}

// BenchmarkExport writes the largest recorded session.
func BenchmarkExport(b *testing.B) {
	var path string
	var most int64
	for _, f := range corpus(b) {
		if st, err := os.Stat(f); err == nil && st.Size() > most {
			path, most = f, st.Size()
		}
	}
	for _, f := range formats {
		b.Run(f.ext, func(b *testing.B) {
			b.SetBytes(most)
			for b.Loop() {
				s, err := Open(b.Context(), path)
				if err != nil {
					b.Fatal(err)
				}
				var out bytes.Buffer
				if _, err := f.run(&out, s, Options{}); err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
