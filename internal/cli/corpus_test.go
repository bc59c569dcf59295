package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// corpus makes a home of the reference client out of the recorded sessions, by
// links, and returns it with the logs in it.
func corpus(t *testing.T) (process, []string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	data := filepath.Join(dir, "..", "shared", "data", "claude")
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Skip("recorded sessions are absent, expected beside the checkout at ../shared/data:", err)
	}
	home := t.TempDir()
	projects := filepath.Join(home, "config", "projects")
	for _, d := range []string{"loose", "whole"} {
		if err := os.MkdirAll(filepath.Join(projects, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var logs []string
	link := func(from, to string) {
		if err := os.Symlink(from, to); err != nil {
			t.Skip("this system makes no symbolic links:", err)
		}
		if strings.HasSuffix(to, ".jsonl") {
			logs = append(logs, to)
		}
	}
	for _, e := range entries {
		from := filepath.Join(data, e.Name())
		if !e.IsDir() {
			link(from, filepath.Join(projects, "loose", e.Name()))
			continue
		}
		inside, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range inside {
			link(filepath.Join(from, f.Name()), filepath.Join(projects, "whole", f.Name()))
		}
	}
	return process{dir: home, env: map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(home, "config")}}, logs
}

// All recorded sessions are listed, shown in every view and exported in every
// format, and nothing that is printed could act on a terminal.
func TestRecordedSessions(t *testing.T) {
	p, logs := corpus(t)
	out, errs, code := p.run(t, "sessions", "list", "-a", "-n", "0", "--empty", "--json")
	var list listJSON
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
		t.Fatalf("list: exit %d, %v\n%s", code, err, errs)
	}
	if list.Total != len(logs) || len(list.Sessions) != len(logs) || len(list.Skipped) > 0 {
		t.Errorf("listed %d of %d logs, skipped %v", list.Total, len(logs), list.Skipped)
	}
	views := [][]string{{"show"}, {"show", "--full"}, {"show", "--chain"}, {"show", "--tree"},
		{"show", "--json"}, {"show", "--chain", "--json"}, {"show", "--tree", "--json"},
		{"export"}, {"export", "-f", "html"}, {"export", "-f", "json"}}
	full := os.Getenv("VARVE_FULL") != ""
	for i, s := range list.Sessions {
		if s.Project == "" || s.FirstPrompt == "" || s.LastUsed == nil {
			t.Errorf("%s: project %q, prompt %q, used %v", s.ID, s.Project, s.FirstPrompt, s.LastUsed)
		}
		if i > 0 && list.Sessions[i-1].LastUsed.Before(*s.LastUsed) {
			t.Errorf("%s stands behind an older one", s.ID)
		}
		for n, args := range views {
			if large := s.Size > 64<<10; large && !full && n != i%len(views) {
				continue // each large one in one view; every view has several of them
			}
			out, errs, code := p.run(t, append(append([]string{"sessions", "-a"}, args...), s.ID)...)
			if code != 0 || out == "" {
				t.Errorf("%v %s: exit %d, %d bytes\n%s", args, s.ID, code, len(out), errs)
			}
			if i := strings.IndexFunc(out+errs, acts); i >= 0 && !slices.Contains(args, "--json") && args[0] == "show" {
				t.Errorf("%v %s prints %q", args, s.ID, (out + errs)[i:min(len(out), i+20)])
			}
			if slices.Contains(args, "--json") && !json.Valid([]byte(out)) {
				t.Errorf("%v %s is no JSON", args, s.ID)
			}
		}
		raw, err := os.ReadFile(s.Path)
		if err != nil {
			t.Fatal(err)
		}
		if out, _, code := p.run(t, "sessions", "show", s.ID, "--raw"); code != 0 || out != string(raw) {
			t.Errorf("--raw %s: exit %d, other bytes", s.ID, code)
		}
	}
}

// acts reports whether a terminal does more with r than show it.
func acts(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// T-10: check names exactly the lines that a second opinion finds damaged.
func TestCheckAgainstSecondOpinion(t *testing.T) {
	p, logs := corpus(t)
	damaged := 0
	for _, path := range logs {
		if st, err := os.Stat(path); err != nil || st.Size() > 1<<20 && os.Getenv("VARVE_FULL") == "" {
			continue // the large ones take most of a minute under the race detector
		}
		out, errs, code := p.run(t, "sessions", "check", "--json", path)
		var doc struct{ Files []fileJSON }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Files) == 0 {
			t.Fatalf("%s: %v\n%s", path, err, errs)
		}
		var got []int
		for _, f := range doc.Files[0].Faults {
			if !f.Harmless && !slices.Contains(got, f.Line) {
				got = append(got, f.Line)
			}
		}
		slices.Sort(got)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := secondOpinion(data)
		if !slices.Equal(got, want) {
			t.Errorf("%s: check names lines %v, a second opinion %v", filepath.Base(path), got, want)
		}
		anywhere := slices.ContainsFunc(doc.Files, func(f fileJSON) bool { return f.Damaged })
		if want := map[bool]int{true: 1, false: 0}[anywhere]; code != want {
			t.Errorf("%s: exit %d, want %d", filepath.Base(path), code, want)
		}
		damaged += len(got)
	}
	if damaged == 0 {
		t.Error("no recorded session is damaged; some were when this was written")
	}
}

// secondOpinion returns the damaged lines of a log. It shares no code with the
// reader: encoding/json and the rules of the format.
func secondOpinion(data []byte) []int {
	type record struct {
		Type    string
		UUID    string `json:"uuid"`
		Parent  string `json:"parentUuid"`
		Message json.RawMessage
	}
	usable := func(r *record) bool {
		var m struct {
			Role    string
			Content json.RawMessage
		}
		return r.UUID != "" && json.Unmarshal(r.Message, &m) == nil && m.Role != "" && m.Content != nil
	}
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	records := make([]*record, len(lines))
	first := make(map[string]int)
	for i, line := range lines {
		var r record
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &r) == nil {
			records[i] = &r
			if _, ok := first[r.UUID]; !ok && r.UUID != "" {
				first[r.UUID] = i
			}
		}
	}
	var out []int
	for i, r := range records {
		if r == nil {
			if len(bytes.TrimSpace(lines[i])) > 0 {
				out = append(out, i+1)
			}
			continue
		}
		spoken := r.Type == "user" || r.Type == "assistant"
		chain := spoken || r.Type == "system" || r.Type == "attachment" || r.Type == "progress"
		_, known := first[r.Parent]
		switch {
		case r.Type == "",
			spoken && !usable(r),
			r.UUID != "" && first[r.UUID] != i,
			chain && r.Parent != "" && !known:
			out = append(out, i+1)
		}
	}
	return out
}
