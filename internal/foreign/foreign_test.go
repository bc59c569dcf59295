package foreign_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/internal/foreign"
	"varve.dev/internal/validate"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// recorded returns the recorded sessions of other agents, by path.
func recorded(t testing.TB) map[string][]byte {
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
	out := map[string][]byte{}
	for _, agent := range []string{"codex", "gemini", "opencode", "pi"} {
		files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "data", agent, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			out[f] = b
		}
	}
	if len(out) == 0 {
		t.Skip("no recorded sessions at ../shared/data")
	}
	return out
}

func read(t testing.TB, data []byte, name string) *foreign.Session {
	t.Helper()
	s, err := foreign.Open(context.Background(), bytes.NewReader(data), int64(len(data)), foreign.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check asks the independent validator about the view of a session, proves that
// its entries are a sound log when they are written and read again, and returns
// the view.
func check(t testing.TB, s *foreign.Session) *view.View {
	t.Helper()
	var b bytes.Buffer
	for _, e := range s.Entries {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
		b.WriteByte('\n')
	}
	l, err := transcript.Read(context.Background(), bytes.NewReader(b.Bytes()), int64(b.Len()), transcript.ReadOptions{InMemory: int64(b.Len()) + 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range l.Faults {
		t.Errorf("the entries are no sound log: %v", f)
	}
	tip := l.Tip()
	if tip == nil {
		return nil
	}
	if mem := s.Log().Tip(); mem == nil || mem.UUID != tip.UUID {
		t.Errorf("the log in memory ends elsewhere than the same entries on disk")
	}
	v := of(l)
	if other := of(s.Log()); !slices.EqualFunc(wire(other), wire(v), func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Error("the view of the log in memory is another than that of the same entries on disk")
	}
	if ms := wire(v); len(ms) > 0 {
		if bad := validate.NewGuard(validate.Options{}).Check(validate.Request{Messages: ms}); len(bad) > 0 {
			t.Errorf("%d violations in the view, the first: %v", len(bad), bad[0])
		}
	}
	return v
}

func of(l *transcript.Log) *view.View {
	return view.Of(view.Input{Chain: l.Chain(l.Tip()), Facts: view.FactsOf(l)})
}

// wire is a view as the messages of a request.
func wire(v *view.View) (out []json.RawMessage) {
	ms := v.Plain()
	if n := len(ms); n > 0 && ms[n-1].Role == message.RoleAssistant {
		ms = append(ms, message.User("go on"))
	}
	for _, m := range ms {
		out = append(out, m.AppendRequest(nil))
	}
	return out
}

// lines is what a session holds, as sorted lines that can be compared.
type lines []string

func (l *lines) add(kind string, parts ...string) { *l = append(*l, kind+" "+strings.Join(parts, " ")) }

// canon writes JSON so that equal values are equal strings.
func canon(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	var x any
	if json.Unmarshal(b, &x) != nil {
		return string(b)
	}
	b, _ = json.Marshal(x)
	return string(b)
}

// held lists what the entries of a session hold.
func held(t testing.TB, s *foreign.Session) (out lines) {
	t.Helper()
	for _, e := range s.Entries {
		if e.Type == transcript.TypeSystem && e.Subtype == "informational" {
			var text string
			if raw, ok := e.Field("content"); !ok || json.Unmarshal(raw, &text) != nil {
				t.Fatal("a notice without text")
			}
			out.add("notice", canon(text))
		}
		if e.CompactSummary || e.Type != transcript.TypeUser && e.Type != transcript.TypeAssistant {
			continue
		}
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == transcript.TypeAssistant && m.Usage != nil {
			out.add("usage", fmt.Sprint(m.Usage.InputTokens+m.Usage.CacheReadTokens+m.Usage.CacheCreationTokens, m.Usage.OutputTokens))
		}
		for _, b := range m.Content {
			switch b.Type {
			case message.TypeToolUse:
				out.add("call", b.ID, b.Name, canon(b.Input))
			case message.TypeToolResult:
				text := ""
				for _, c := range b.Content {
					text += c.Text
				}
				out.add("result", b.ToolUseID, fmt.Sprint(b.IsError), canon(text))
			case message.TypeText:
				if e.Type == transcript.TypeAssistant {
					out.add("said", canon(b.Text))
				} else {
					out.add("user", canon(b.Text))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// sample is how large a recording may be that is read in every run; VARVE_FULL
// reads all.
const sample = 500_000

// TestRecorded: of every recorded session each word of people and models, each
// call with its input, each result and each count of tokens is there exactly as
// often as an independent reader finds it; the view is a valid request; a second
// reading gives the same bytes (G-3, G-9, G-14).
func TestRecorded(t *testing.T) {
	sum := map[string]int{}
	data := recorded(t)
	for _, path := range slices.Sorted(maps.Keys(data)) {
		if len(data[path]) > sample && os.Getenv("VARVE_FULL") == "" {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			agent := filepath.Base(filepath.Dir(path))
			s := read(t, data[path], filepath.Base(path))
			if string(s.Format) != agent || s.ID == "" || s.Model == "" || s.Started.IsZero() {
				t.Errorf("format %s, id %q, model %q, started %v", s.Format, s.ID, s.Model, s.Started)
			}
			if agent != "gemini" && s.CWD == "" {
				t.Error("no directory")
			}
			for _, f := range s.Faults {
				t.Errorf("fault: %v", f)
			}
			want, got := independent(t, agent, data[path]), held(t, s)
			sum[agent+" lines"] += len(want)
			for _, x := range want {
				sum[agent+" "+x[:strings.IndexByte(x, ' ')]]++
			}
			if d := difference(want, got); len(d) > 0 {
				t.Errorf("%d of %d differ:\n%s", len(d), len(want), strings.Join(d[:min(len(d), 8)], "\n"))
			}
			v := check(t, s)
			if again := read(t, data[path], filepath.Base(path)); !slices.Equal(raws(t, again), raws(t, s)) {
				t.Error("a second reading differs")
			}
			ids := map[string]bool{}
			for _, e := range s.Entries {
				if e.UUID != "" && ids[e.UUID] {
					t.Errorf("uuid %s twice", e.UUID)
				}
				ids[e.UUID] = true
			}
			t.Logf("%d entries, view of %d messages, %v", len(s.Entries), len(v.Messages), s.Skipped)
		})
	}
	t.Log(sum)
}

func raws(t testing.TB, s *foreign.Session) (out []string) {
	t.Helper()
	for _, e := range s.Entries {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// difference lists what is in one of two sorted lists only.
func difference(want, got lines) (out []string) {
	n := map[string]int{}
	for _, x := range want {
		n[x]++
	}
	for _, x := range got {
		n[x]--
	}
	for x, k := range n {
		if k != 0 {
			out = append(out, fmt.Sprintf("%+d %.200s", -k, x))
		}
	}
	slices.Sort(out)
	return out
}

// TestDetect: damaged beginnings and names help, other files are not taken for
// what they are not (openai/codex#24425, openai/codex#38341).
func TestDetect(t *testing.T) {
	const rollout = "rollout-2026-01-02T03-04-05-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl"
	for _, row := range []struct {
		in, name string
		want     foreign.Format
	}{
		{"", "", ""}, {"{", "", ""}, {"[]", "", ""}, {"null", "", ""}, {"PK\x03\x04", "", ""}, {`{"messages":[]}`, "", ""},
		{`{"type":"session"}`, "", ""}, {`{"info":{"id":"x"}}`, "", ""}, {`{"messages":[{"role":"user","content":"x"}]}`, "", ""},
		{`{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","timestamp":"x","message":{"role":"user","content":"x"}}`, "", ""},
		{`{"sessionId":"s","type":"summary","startTime":1}`, "", ""},
		{`{"type":"session_meta","payload":{}}`, "", foreign.Codex},
		{"{\"timestamp\":\"20\n" + `{"type":"event_msg","payload":{}}`, "", foreign.Codex},
		{`{"type":"session_meta","payload":{"base":"` + strings.Repeat("x", 300<<10), "", foreign.Codex},
		{`half a line`, rollout, foreign.Codex}, {`half a line`, `C:\x\` + rollout, foreign.Codex}, {"", rollout, ""},
		{`{"type":"session","id":"p","timestamp":"t","cwd":"/"}`, "", foreign.Pi},
		{"{\"type\n" + `{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}`, "", foreign.Pi},
		{"\xEF\xBB\xBF{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"h\"", "", foreign.Gemini},
		{`{"messages":[{"id":"1","type":"user","content":"x"}],"sessionId":"s"}`, "", foreign.Gemini},
		{"\n{\n \"info\": {\"id\": \"ses_1\"},", "", foreign.OpenCode},
		{`{"messages":[{"info":{"role":"user"},"parts":[]}],"info":{}}`, "", foreign.OpenCode},
	} {
		got, ok := foreign.Detect([]byte(row.in), row.name)
		if got != row.want || ok != (row.want != "") {
			t.Errorf("%.60q %s: %q, want %q", row.in, row.name, got, row.want)
		}
		if _, err := foreign.Open(context.Background(), strings.NewReader(row.in), int64(len(row.in)), foreign.Options{Name: row.name}); (err == nil) != ok {
			t.Errorf("%.60q: %v", row.in, err)
		} else if err != nil && !errors.Is(err, foreign.ErrFormat) {
			t.Errorf("%.60q: %v", row.in, err)
		}
	}
}

// TestCompactions: after each recorded compaction of Codex the view begins with
// every text of the history that the recording says the model had, and of pi with
// the summary and the messages from the first kept one on (B-5, G-9).
func TestCompactions(t *testing.T) {
	seen := map[string]int{}
	data := recorded(t)
	for _, path := range slices.Sorted(maps.Keys(data)) {
		agent := filepath.Base(filepath.Dir(path))
		if agent != "codex" && agent != "pi" {
			continue
		}
		var upTo []byte
		var records []object
		for line := range bytes.SplitAfterSeq(data[path], []byte("\n")) {
			upTo = append(upTo, line...)
			var r object
			if json.Unmarshal(line, &r) != nil {
				continue
			}
			records = append(records, r)
			var want []string
			switch {
			case r["type"] == "compacted":
				for _, h := range list(sub(r, "payload")["replacement_history"]) {
					want = append(want, texts(h["content"])...)
				}
			case r["type"] == "compaction":
				want = append(want, "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"+str(r["summary"])+"\n</summary>")
				for _, k := range records[num(r["firstKeptEntryIndex"]):] {
					m := sub(k, "message")
					if m["role"] == "user" || m["role"] == "assistant" || m["role"] == "toolResult" {
						want = append(want, texts(m["content"])...)
					}
				}
			default:
				continue
			}
			seen[agent]++
			s := read(t, upTo, "")
			var got []string
			for _, m := range check(t, s).Messages {
				for _, b := range m.Blocks {
					got = append(got, b.Text)
					for _, c := range b.Content {
						got = append(got, c.Text)
					}
				}
			}
			got = slices.DeleteFunc(got, func(s string) bool {
				return strings.TrimSpace(s) == "" || strings.HasPrefix(s, "[Codex compacted") || strings.HasPrefix(s, "[Interrupted: ")
			})
			if agent == "codex" { // the summary comes first here and last there
				slices.Sort(got)
				slices.Sort(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, record %d: the view holds %d texts, the agent's window %d", filepath.Base(path), len(records), len(got), len(want))
				for _, x := range want {
					if !slices.Contains(got, x) {
						t.Errorf("missing: %.100q", x)
					}
				}
				for _, x := range got {
					if !slices.Contains(want, x) {
						t.Errorf("too much: %.100q", x)
					}
				}
			}
		}
	}
	if seen["codex"] < 2 || seen["pi"] < 2 {
		t.Errorf("too few compactions to mean anything: %v", seen)
	}
}

// TestWhoSpoke: what counts as a person's words in a rollout is what Codex's own
// interface recorded as typed, no more and no less.
func TestWhoSpoke(t *testing.T) {
	for path, data := range recorded(t) {
		if filepath.Base(filepath.Dir(path)) != "codex" {
			continue
		}
		var want, got lines
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			var r object
			if json.Unmarshal(line, &r) == nil && r["type"] == "event_msg" && sub(r, "payload")["type"] == "user_message" {
				want.add("typed", canon(sub(r, "payload")["message"]))
			}
		}
		for _, e := range read(t, data, "").Entries {
			text, ok := e.PromptText()
			if !ok || e.Meta || e.CompactSummary {
				continue
			}
			m, err := e.Message()
			if err != nil || len(m.Content) != 1 {
				t.Fatalf("%.60q: %v", text, err)
			}
			got.add("typed", canon(m.Content[0].Text))
		}
		if d := difference(want, got); len(want) == 0 || len(d) > 0 {
			t.Errorf("%s: of %d typed messages %d differ: %v", filepath.Base(path), len(want), len(d), d)
		}
	}
}
