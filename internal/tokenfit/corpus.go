// Package tokenfit makes the texts to which the weights of package tokens are fitted, and fits them. It is a tool of this
// repository: no program or library links it, and it downloads nothing.
//
// The texts are of two sorts: files of the Go installation, read where they are, and texts made by the generators of
// this package from a fixed seed. Exact token counts come from the command in the folder fit, a Go module of its own, so
// that the vocabulary (12 MB) is no dependency of Varve. Start there: its comment has the command line.
package tokenfit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// ChunkSize is the length, in bytes, that chunks are cut to (at a rune).
const ChunkSize = 2048

// Chunk is one text of the corpus.
type Chunk struct {
	Kind   string // what it is: go, prose, base64 …
	Source string // file below GOROOT with offset, or generator with number
	Text   string
	Held   bool // held out: measured, not fitted
}

// Generated returns per chunks of every generator; every third is held out.
func Generated(per int) []Chunk { return generated(per, false) }

// GeneratedHeld returns those of [Generated] that are held out, without making the others.
func GeneratedHeld(per int) []Chunk { return generated(per, true) }

func generated(per int, heldOnly bool) []Chunk {
	var out []Chunk
	for g, gen := range generators {
		for i := range per {
			held := i%3 == 2
			if heldOnly && !held {
				continue
			}
			r := rng(uint64(g)<<32 | uint64(i) + 1)
			out = append(out, Chunk{Kind: gen.kind, Source: fmt.Sprintf("%s/%d", gen.kind, i), Text: clip(gen.make(&r, ChunkSize), ChunkSize), Held: held})
		}
	}
	return out
}

// clip cuts a text to at most n bytes without cutting a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// installed lists the kinds taken from the Go installation: which files, and what is made of their text.
var installed = []struct {
	kind string
	dirs []string
	ext  string
	edit func(string) string
}{
	{"go", []string{"src"}, ".go", nil},
	{"go-numbered", []string{"src"}, ".go", numbered},
	{"prose", []string{"src"}, ".go", comments},
	{"diff", []string{"src"}, ".go", diff},
	{"escaped", []string{"src"}, ".go", escaped},
	{"assembly", []string{"src/runtime", "src/crypto", "src/internal"}, ".s", nil},
	{"c", []string{"src/runtime", "src/cmd/cgo", "misc"}, ".c", nil},
	{"javascript", []string{"src", "lib", "misc"}, ".js", nil},
	{"markdown", []string{"doc", "src"}, ".md", nil},
	{"html", []string{"doc", "src"}, ".html", nil},
	{"shell", []string{"src"}, ".bash", nil},
	{"shell", []string{"src"}, ".sh", nil},
	{"python", []string{"src/runtime"}, ".py", nil},
	{"json-file", []string{"src"}, ".json", nil},
	{"txt", []string{"src", "test", "api"}, ".txt", nil},
}

// Installed returns chunks of the files of a Go installation, about per of each kind, spread evenly over its files;
// it reads only the files it takes.
// Files of one folder are either all fitted or all held out.
func Installed(goroot string, per int) ([]Chunk, error) {
	everything, err := walk(goroot)
	if err != nil {
		return nil, err
	}
	var out []Chunk
	for _, k := range installed {
		files := below(everything, k.dirs, k.ext)
		got := 0
		step := max(1, len(files)*2/(per*3))
		for i := step / 2; i < len(files) && got < per; i += step {
			chunks, err := cut(goroot, files[i], k.kind, k.edit, max(1, min(4, per*2/len(files))))
			if err != nil {
				return nil, err
			}
			out = append(out, chunks...)
			got += len(chunks)
		}
	}
	return out, nil
}

// Goroot returns the folder of the Go installation that is first in the path.
func Goroot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// walk lists the files below the folders that [installed] names, sorted.
func walk(goroot string) ([]string, error) {
	var files []string
	for _, dir := range []string{"api", "doc", "lib", "misc", "src", "test"} {
		err := filepath.WalkDir(filepath.Join(goroot, dir), func(name string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				rel, _ := filepath.Rel(goroot, name)
				files = append(files, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	sort.Strings(files)
	return files, nil
}

// below keeps the files with an extension that lie below one of the folders.
func below(files, dirs []string, ext string) []string {
	var out []string
	for _, name := range files {
		for _, dir := range dirs {
			if strings.HasSuffix(name, ext) && strings.HasPrefix(name, dir+"/") {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// cut returns up to parts chunks of a file: where its name's hash says when it is one, else from the start on.
func cut(goroot, name, kind string, edit func(string) string, parts int) ([]Chunk, error) {
	b, err := os.ReadFile(filepath.Join(goroot, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	text := string(b)
	if edit != nil {
		text = edit(text)
	}
	var out []Chunk
	for p := range parts {
		part := p
		if parts == 1 {
			part = int(sum(name) % 4)
		}
		if len(text) < 4*ChunkSize {
			part = 0
		}
		at := len(text) / 4 * part
		if len(text)-at < ChunkSize/2 || p > 0 && part == 0 {
			break
		}
		if part > 0 {
			if nl := strings.IndexByte(text[at:], '\n'); nl >= 0 && nl < ChunkSize {
				at += nl + 1
			}
			for at < len(text) && text[at]&0xC0 == 0x80 {
				at++
			}
		}
		out = append(out, Chunk{Kind: kind, Source: fmt.Sprintf("%s+%d", name, at), Text: clip(text[at:], ChunkSize), Held: sum(filepath.Dir(name))%3 == 2})
	}
	return out, nil
}

func sum(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// numbered writes a text as file readers of agents show it.
func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(text, "\n") {
		fmt.Fprintf(&b, "%6d→%s", i+1, line)
	}
	return b.String()
}

// comments keeps the text of line comments: technical prose.
func comments(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "// "); ok {
			b.WriteString(rest + "\n")
		} else if line == "//" {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// diff writes a text as a unified diff in which some lines changed.
func diff(text string) string {
	r := rng(len(text))
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i%40 == 0 {
			fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex %s..%s 100644\n@@ -%d,9 +%d,11 @@\n", r.path(".go"), r.path(".go"), r.hex(7), r.hex(7), r.n(900), r.n(900))
		}
		switch {
		case r.chance(12):
			fmt.Fprintf(&b, "-%s\n+%s\n", line, strings.ReplaceAll(line, r.one("err", "s", "ctx", "return"), r.camel()))
		case r.chance(10):
			fmt.Fprintf(&b, "+%s\n", line)
		default:
			fmt.Fprintf(&b, " %s\n", line)
		}
	}
	return b.String()
}

// escaped writes a text as the JSON input of an edit tool.
func escaped(text string) string {
	return marshal(map[string]any{"file_path": "/src/main.go", "content": text}, "")
}
