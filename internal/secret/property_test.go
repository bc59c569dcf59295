package secret

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawText draws a text in which fake secrets, the literals that rules look for
// and noise stand side by side.
func drawText(t *rapid.T) string {
	samples := newMaker(rapid.Uint64().Draw(t, "seed")).samples()
	var literals []string
	for _, r := range ruleTable() {
		literals = append(literals, r.keywords...)
	}
	literals = append(literals, pemBegin+"RSA "+"PRIVATE KEY-----", pemEnd+"PRIVATE KEY-----", "\\n", "\\", "\"", "'", "\n", " ", "=", ": ", "@", "://u:",
		"[REDACTED:", "]", "[REDACTED:jwt]", "\\u00", "é", "\xff", "→", "EXAMPLE", "Bearer ", "_", "-", ".")
	var b strings.Builder
	for range rapid.IntRange(0, 12).Draw(t, "pieces") {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			b.WriteString(rapid.SampledFrom(samples).Draw(t, "sample").text())
		case 1:
			s := rapid.SampledFrom(samples).Draw(t, "part").text()
			b.WriteString(s[:rapid.IntRange(0, len(s)).Draw(t, "cut")])
		case 2:
			b.WriteString(rapid.String().Draw(t, "noise"))
		default:
			b.WriteString(rapid.SampledFrom(literals).Draw(t, "literal"))
		}
	}
	return b.String()
}

// checkFindings fails where findings are not sorted, disjoint and inside text.
func checkFindings(t interface{ Fatalf(string, ...any) }, text string, found []Finding) {
	at := 0
	for _, f := range found {
		if f.Start < at || f.End <= f.Start || f.End > len(text) {
			t.Fatalf("bad range %d-%d behind %d in %d bytes", f.Start, f.End, at, len(text))
		}
		if want := 1 + strings.Count(text[:f.Start], "\n"); f.Line != want {
			t.Fatalf("line %d, want %d", f.Line, want)
		}
		at = f.End
	}
}

// H-8: redacting twice is redacting once, findings are in order, and what is
// outside of them is kept.
func TestRedactProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawText(t)
		clean, found := Redact(text)
		checkFindings(t, text, found)
		if want := replace(text, found); clean != want {
			t.Fatalf("text outside of the findings changed")
		}
		if again, fs := Redact(clean); again != clean || len(fs) > 0 {
			t.Fatalf("redacted twice: %v\n%q\n%q", fs, clean, again)
		}
	})
}

// H-8: JSON stays JSON, whether it is redacted as JSON or as text.
func TestRedactKeepsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.Custom(drawText), 1, 3).Draw(t, "texts")
		doc := map[string]any{"password": texts[0], "list": texts, texts[0]: 1.50, "inner": marshal(texts)}
		raw := []byte(marshal(doc))
		clean, _ := Redact(string(raw))
		if !json.Valid([]byte(clean)) {
			t.Fatalf("text: no longer JSON\n%s\n%s", raw, clean)
		}
		out, found := RedactJSON(raw)
		if !json.Valid(out) {
			t.Fatalf("no longer JSON\n%s\n%s", raw, out)
		}
		if again, fs := RedactJSON(out); string(again) != string(out) || len(fs) > 0 {
			t.Fatalf("not idempotent: %v\n%s\n%s", fs, out, again)
		}
		if (len(found) == 0) != (string(out) == string(raw)) {
			t.Fatalf("%d findings, changed: %t", len(found), string(out) != string(raw))
		}
	})
}

// unquote agrees with encoding/json on what is JSON.
func TestUnquote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`\n`, `\"`, `\\`, `\/`, `\u0041`, `\ud83d\ude00`, `\ud83d`, `\ude00\ud83d`, `\uD83D\n`, `\b\f\r\t`, `\x`, `\u12`, `\u+123`}))
		lit := `"` + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "") + `"`
		var want string
		if json.Unmarshal([]byte(lit), &want) != nil {
			return
		}
		if got, ok := unquote(lit); !ok || got != want {
			t.Fatalf("unquote(%s) = %q, %t; want %q", lit, got, ok, want)
		}
	})
	for _, bad := range []string{`"\x"`, `"\u12"`, `"\u12g4"`, `"\u+123"`, `"\"`} {
		if got, ok := unquote(bad); ok {
			t.Errorf("unquote(%s) = %q", bad, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range newMaker(10).samples() {
		f.Add(s.text())
		f.Add(quote(s.text()))
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean, found := Redact(text)
		checkFindings(t, text, found)
		if again, fs := Redact(clean); again != clean {
			t.Fatalf("not idempotent: %v", fs)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(clean)) {
			t.Fatalf("no longer JSON: %q", clean)
		}
	})
}

func FuzzRedactJSON(f *testing.F) {
	for _, s := range newMaker(11).samples() {
		f.Add([]byte(`{"a":` + quote(s.text()) + `}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean, found := RedactJSON(raw)
		for _, x := range found {
			if x.Start < 0 || x.Start >= x.End || x.End > len(raw) {
				t.Fatalf("bad range %+v of %d", x, len(raw))
			}
		}
		if json.Valid(raw) && !json.Valid(clean) {
			t.Fatalf("no longer JSON: %q", clean)
		}
		if again, fs := RedactJSON(clean); string(again) != string(clean) {
			t.Fatalf("not idempotent: %v", fs)
		}
	})
}

// LIBS 3.4: people turn a scanner off that cries wolf. At most one false alarm in
// 100 KB of documents: those of the Go distribution, of the modules in the cache
// and of this project.
func TestFalseAlarmsInDocuments(t *testing.T) {
	var bytes, alarms int
	most := 4_000_000
	if os.Getenv("VARVE_FULL") != "" {
		most = 1 << 30
	}
	for _, root := range documentRoots(t) {
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if d != nil && (d.Name() == ".git" || d.Name() == "testdata") {
					return filepath.SkipDir
				}
				return nil
			}
			if bytes > most {
				return filepath.SkipAll
			}
			if ext := strings.ToLower(filepath.Ext(path)); ext != ".md" && ext != ".html" && ext != ".txt" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return nil
			}
			bytes += len(text)
			for _, f := range Scan(string(text)) {
				alarms++
				t.Logf("%s: %s", path, f)
			}
			return nil
		})
	}
	if bytes < 100_000 {
		t.Fatalf("only %d bytes of documents", bytes)
	}
	t.Logf("%d alarms in %d KB", alarms, bytes/1000)
	if alarms*100_000 > bytes {
		t.Errorf("%d alarms in %d bytes: more than one in 100 KB", alarms, bytes)
	}
}

// documentRoots returns the folders with documents that this machine has.
func documentRoots(t *testing.T) []string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	roots := []string{root}
	out, err := exec.Command("go", "env", "GOROOT", "GOMODCACHE").Output()
	if err != nil {
		t.Fatalf("go env: %v", err)
	}
	for dir := range strings.FieldsFuncSeq(string(out), func(r rune) bool { return r == '\n' || r == '\r' }) {
		roots = append(roots, dir)
	}
	return roots
}

// cleanText returns text like that of tool output: Go source without secrets.
func cleanText(tb testing.TB, size int) string {
	var b strings.Builder
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) == 0 {
		tb.Fatal("no source to read")
	}
	for b.Len() < size {
		for _, n := range names {
			if strings.HasSuffix(n, "_test.go") {
				continue
			}
			src, err := os.ReadFile(n)
			if err != nil {
				tb.Fatal(err)
			}
			b.Write(src)
		}
	}
	return b.String()[:size]
}

// The target is 100 MB/s on clean text. The source of this package is the worst
// of clean texts: it speaks of tokens and passwords in every other line.
func BenchmarkScan(b *testing.B) {
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog, again and again; nothing else happens on this line of text.\n", 10_000)
	for name, text := range map[string]string{"prose": prose, "source of this package": cleanText(b, 1<<20)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Scan(text)
			}
		})
	}
}

func BenchmarkRedactJSON(b *testing.B) {
	raw := []byte(`{"content":` + quote(cleanText(b, 1<<20)) + `}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		RedactJSON(raw)
	}
}
