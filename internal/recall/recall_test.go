package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"varve.dev/internal/loggen"
	"varve.dev/internal/recall"
	"varve.dev/message"
	"varve.dev/transcript"
)

func readLog(t testing.TB, data []byte) *transcript.Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return openLog(t, path)
}

func openLog(t testing.TB, path string) *transcript.Log {
	t.Helper()
	l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// story writes a log with the transcript package's own builders.
type story struct {
	strings.Builder
	st   transcript.Stamp
	leaf string
	n    int
	now  time.Time
}

func newStory() *story {
	s := &story{now: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)}
	s.st = transcript.Stamp{SessionID: "s", CWD: "/p", Now: func() time.Time { return s.now }, NewID: func() string { s.n++; return fmt.Sprintf("u%d", s.n) }}
	return s
}

func (s *story) add(x *transcript.Entry) *transcript.Entry {
	raw, err := x.Raw()
	if err != nil {
		panic(err) // made a moment ago
	}
	s.Write(raw)
	s.WriteByte('\n')
	if x.IsChain() {
		s.leaf = x.UUID
	}
	return x
}

func (s *story) user(text string) *transcript.Entry {
	return s.add(s.st.User(s.leaf, message.User(text)))
}

func (s *story) say(blocks ...message.Block) *transcript.Entry {
	m := message.Assistant(blocks...)
	m.ID = fmt.Sprintf("m%d", s.n)
	return s.add(s.st.Assistant(s.leaf, m, ""))
}

func (s *story) call(id, name, in, out string) {
	b, err := message.ToolUse(id, name, json.RawMessage(in))
	if err != nil {
		panic(err) // the test's own JSON
	}
	s.say(b)
	s.add(s.st.User(s.leaf, message.UserBlocks(message.ToolResult(id, false, message.Text(out)))))
}

func states(res *recall.Result) (out []string) {
	for _, h := range res.Hits {
		out = append(out, fmt.Sprintf("%s %s %s", h.Kind, h.State, h.Boundary))
	}
	return out
}

func search(t testing.TB, l *transcript.Log, q string) *recall.Result {
	t.Helper()
	res, err := recall.Search(context.Background(), l, q, 20)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// G-3: what a compaction hid is found and named with it; so is what stands on a
// branch that was left, what was cleared, and what is still there.
func TestStates(t *testing.T) {
	s := newStory()
	s.user("the zebra is striped")
	s.call("toolu_1", "Read", `{"file_path":"/p/zoo.txt"}`, "a zebra and a lion")
	s.say(message.Text("zebra noted"))
	b := s.add(s.st.CompactBoundary(s.leaf, transcript.Boundary{Trigger: "auto"}))
	s.add(s.st.Summary(b.UUID, message.User("summary: an animal was looked at")))
	fork := s.leaf
	s.user("a giraffe on the branch that was left")
	s.say(message.Text("left"))
	s.leaf = fork
	s.user("a walrus here")
	s.call("toolu_2", "Bash", `{"command":"cat walrus.txt"}`, "walrus output")
	s.add(s.st.MicrocompactBoundary(s.leaf, transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"toolu_2"}}))
	s.say(message.Text("done"))
	l := readLog(t, []byte(s.String()))

	for q, want := range map[string][]string{
		"zebra":   {"user compacted " + b.UUID, "assistant compacted " + b.UUID, "result compacted " + b.UUID},
		"giraffe": {"user branch "},
		"walrus":  {"user context ", "call context ", "result cleared "},
		"animal":  {"summary context "},
		"nothing": nil,
		"":        nil,
		"!?":      nil,
	} {
		got := states(search(t, l, q))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
	res, err := recall.Call(context.Background(), l, "toolu_1")
	if err != nil || len(res.Hits) != 2 || res.Hits[0].Text != `Read {"file_path":"/p/zoo.txt"}` || res.Hits[1].Text != "a zebra and a lion" || res.Hits[1].Tool != "Read" {
		t.Errorf("%+v, %v", res, err)
	}
	for name, n := range map[string]int{"zoo.txt": 1, "/p/zoo.txt": 1, "p/zoo.txt": 1, "walrus.txt": 1, "oo.txt": 0, "zoo.tx": 0, "other/zoo.txt": 0} {
		if res, err := recall.Path(context.Background(), l, name, 0); err != nil || len(res.Hits) != n {
			t.Errorf("path %s: %d hits, want %d (%v)", name, len(res.Hits), n, err)
		}
	}
}

// Words are found whatever their case, as parts of identifiers and of scripts
// without blanks; rare words weigh more, people's words most.
func TestWords(t *testing.T) {
	s := newStory()
	s.user("please fix parseHTTPBody in net/http_body.go")
	s.say(message.Text("parse parse parse"))
	s.user("数据库连接失败，请检查配置")
	s.say(message.Text("Das Fenster ist GRÖSSER geworden"))
	for i := range 30 {
		s.call(fmt.Sprintf("t%d", i), "Read", `{"file_path":"/x"}`, strings.Repeat("filler about parse and body ", 200))
	}
	l := readLog(t, []byte(s.String()))
	for q, first := range map[string]string{
		"parsehttpbody": "please fix", "HTTP body": "please fix", "http_body.go": "please fix", "PARSEHTTPBODY": "please fix",
		"连接失败": "数据库", "数据": "数据库", "grösser": "Das Fenster", "größer": "", "fenster": "Das Fenster",
	} {
		res := search(t, l, q)
		switch {
		case first == "" && len(res.Hits) > 0:
			t.Errorf("%q found %q", q, res.Hits[0].Snippet)
		case first != "" && (len(res.Hits) == 0 || !strings.HasPrefix(res.Hits[0].Snippet, first)):
			t.Errorf("%q: %+v", q, res.Hits)
		}
	}
}

// A snippet is cut at characters, and its marks are what was looked for; the same
// query gives the same answer.
func TestSnippets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	alphabet := []string{"word ", "naïve ", "日本語", "🙂 ", "a", "\n", "ÄÖÜ", "needle "}
	for range 20 {
		var b strings.Builder
		for range rnd.IntN(400) {
			b.WriteString(alphabet[rnd.IntN(len(alphabet))])
		}
		s := newStory()
		s.user(b.String() + "needle" + b.String())
		l := readLog(t, []byte(s.String()))
		for _, q := range []string{"needle", "本語 naïve", "äöü"} {
			one, two := search(t, l, q), search(t, l, q)
			if fmt.Sprint(one) != fmt.Sprint(two) {
				t.Fatalf("%q: two answers", q)
			}
			for _, h := range one.Hits {
				if !utf8.ValidString(h.Snippet) || len(h.Snippet) > 400 {
					t.Fatalf("snippet %q", h.Snippet)
				}
				for _, m := range h.Marks {
					if part := h.Snippet[m[0]:m[1]]; !utf8.ValidString(part) || part == "" {
						t.Fatalf("mark %q in %q", part, h.Snippet)
					}
				}
			}
		}
	}
}

// Every needle that is planted in a generated log, damaged ones too, is found.
func TestPlanted(t *testing.T) {
	for seed := range uint64(8) {
		lines := loggen.Make(rand.New(rand.NewPCG(seed, 1)), loggen.Options{Turns: 20, Text: 200, Thinking: true, Rewinds: true})
		n := 0
		for i, line := range lines {
			if strings.Contains(line, `"type":"user"`) && strings.Contains(line, `"content":"`) {
				lines[i] = strings.Replace(line, `"content":"`, fmt.Sprintf(`"content":"planted%dneedle `, n), 1)
				n++
			}
		}
		l := readLog(t, loggen.Bytes(lines))
		for k := range n {
			if res := search(t, l, fmt.Sprintf("planted%dneedle", k)); len(res.Hits) == 0 {
				t.Fatalf("seed %d: needle %d of %d is not found", seed, k, n)
			}
		}
	}
}

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

// G-3: of every recorded session, every message of a person, every call and every
// result is found: the first by its own words, the others by id, whole. The log is
// read a second time here with encoding/json alone. A sample without VARVE_FULL.
func TestRecordedSessions(t *testing.T) {
	step := 24
	if os.Getenv("VARVE_FULL") != "" {
		step = 1
	}
	said, called, answered := 0, 0, 0
	for i, path := range corpus(t) {
		if i%step != 0 {
			continue
		}
		l := openLog(t, path)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			var x struct {
				Type, UUID string
				IsMeta     bool
				Message    struct{ Content json.RawMessage }
			}
			if json.Unmarshal([]byte(line), &x) != nil {
				continue
			}
			var text string
			if json.Unmarshal(x.Message.Content, &text) == nil && x.Type == "user" && strings.ContainsAny(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz") {
				said++
				if res, err := recall.Search(context.Background(), l, text, 50); err != nil || !slices.ContainsFunc(res.Hits, func(h recall.Hit) bool { return h.Entry == x.UUID }) {
					t.Errorf("%s: %.80q is not found (%v)", filepath.Base(path), text, err)
				}
				continue
			}
			var blocks []struct {
				Type, ID string
				Input    json.RawMessage
				ToolUse  string `json:"tool_use_id"`
				Content  json.RawMessage
			}
			if json.Unmarshal(x.Message.Content, &blocks) != nil {
				continue
			}
			for _, b := range blocks {
				switch b.Type {
				case "tool_use":
					called++
					res, err := recall.Call(context.Background(), l, b.ID)
					if err != nil || !slices.ContainsFunc(res.Hits, func(h recall.Hit) bool {
						return h.Kind == recall.KindCall && strings.HasSuffix(h.Text, string(b.Input))
					}) {
						t.Errorf("%s: call %s is not found whole (%v)", filepath.Base(path), b.ID, err)
					}
				case "tool_result":
					if json.Unmarshal(b.Content, &text) != nil || text == "" {
						continue
					}
					answered++
					res, err := recall.Call(context.Background(), l, b.ToolUse)
					if err != nil || !slices.ContainsFunc(res.Hits, func(h recall.Hit) bool { return h.Kind == recall.KindResult && h.Text == text }) {
						t.Errorf("%s: the result of %s is not found whole (%v)", filepath.Base(path), b.ToolUse, err)
					}
				}
			}
		}
	}
	t.Logf("%d messages, %d calls, %d results", said, called, answered)
	if said == 0 || called == 0 || answered == 0 {
		t.Error("nothing was looked for")
	}
}

// BenchmarkSearch: a query over a log of 52 MB in 100 ms, the log being open: words
// that it does not hold, that it holds everywhere, of a script without blanks, and a
// whole question; then with opening the log, which is what the command does.
func BenchmarkSearch(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, largeLog(52<<20), 0o600); err != nil {
		b.Fatal(err)
	}
	l := openLog(b, path)
	for _, q := range []struct{ name, words string }{
		{"absent", "gateway timeout"}, {"everywhere", "parser input"}, {"dense", "再実行漢字"}, {"identifier", "parseHTTPBody in net/http_body.go"},
		{"question", "why did the gateway answer with a timeout when the parser was given an empty input"},
	} {
		b.Run(q.name, func(b *testing.B) { benchSearch(b, q.words, func() *transcript.Log { return l }) })
	}
	b.Run("opening", func(b *testing.B) {
		benchSearch(b, "gateway timeout", func() *transcript.Log { return openLog(b, path) })
	})
}

func benchSearch(b *testing.B, words string, log func() *transcript.Log) {
	b.SetBytes(52 << 20)
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		if _, err := recall.Search(context.Background(), log(), words, 10); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
}

// largeLog makes one conversation of at least size bytes.
func largeLog(size int) []byte {
	var data []byte
	root := ""
	for k := 0; len(data) < size; k++ {
		lines := loggen.Make(rand.New(rand.NewPCG(uint64(k), 2)), loggen.Options{Turns: 100, Thinking: true, Text: 1500, Prefix: fmt.Sprintf("b%d-", k), Root: root})
		data = append(data, loggen.Bytes(lines)...)
		for i := len(lines) - 1; i >= 0; i-- {
			if e, err := transcript.Parse([]byte(lines[i])); err == nil && e.IsChain() {
				root = e.UUID
				break
			}
		}
	}
	return data
}
