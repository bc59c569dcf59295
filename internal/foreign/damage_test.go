package foreign_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/internal/foreign"
)

// long makes a session of n turns in a format, the way its agent writes it.
func long(f foreign.Format, n int) []byte {
	var b bytes.Buffer
	switch f {
	case foreign.Codex:
		b.WriteString(codexHead)
		for i := range n {
			b.WriteString(words("user", "input_text", fmt.Sprintf("ask %d", i)))
			b.WriteString(item(fmt.Sprintf(`{"type":"function_call","name":"f","arguments":"{\"n\":%d}","call_id":"c%d"}`, i, i)))
			b.WriteString(item(fmt.Sprintf(`{"type":"function_call_output","call_id":"c%d","output":"r%d"}`, i, i)))
			b.WriteString(words("assistant", "output_text", fmt.Sprintf("tell %d", i)))
		}
	case foreign.Pi:
		b.WriteString(piHead)
		parent := "null"
		add := func(id, msg string) { b.WriteString(piSays(id, parent, msg)); parent = fmt.Sprintf("%q", id) }
		for i := range n {
			add(fmt.Sprint("u", i), fmt.Sprintf(`{"role":"user","content":"ask %d"}`, i))
			add(fmt.Sprint("a", i), fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":"c%d","name":"f","arguments":{"n":%d}}]}`, i, i))
			add(fmt.Sprint("r", i), fmt.Sprintf(`{"role":"toolResult","toolCallId":"c%d","content":[{"type":"text","text":"r%d"}]}`, i, i))
			add(fmt.Sprint("t", i), fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"tell %d"}]}`, i))
		}
	case foreign.Gemini:
		b.WriteString(`{"sessionId":"g1","projectHash":"h","messages":[`)
		for i := range n {
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, `{"id":"u%d","type":"user","content":"ask %d"},{"id":"a%d","type":"gemini","content":"tell %d","toolCalls":[{"id":"c%d","name":"f","args":{"n":%d},"result":[{"functionResponse":{"response":{"output":"r%d"}}}]}]}`, i, i, i, i, i, i, i)
		}
		b.WriteString("]}")
	case foreign.OpenCode:
		b.WriteString(`{"info":{"id":"ses_1","directory":"/p"},"messages":[`)
		for i := range n {
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(&b, `{"info":{"id":"u%d","role":"user"},"parts":[{"type":"text","text":"ask %d"}]},{"info":{"id":"a%d","role":"assistant"},"parts":[{"type":"text","text":"tell %d"},{"type":"tool","callID":"c%d","tool":"f","state":{"status":"completed","input":{"n":%d},"output":"r%d"}}]}`, i, i, i, i, i, i, i)
		}
		b.WriteString("]}")
	}
	return b.Bytes()
}

var formats = []foreign.Format{foreign.Codex, foreign.Gemini, foreign.OpenCode, foreign.Pi}

// TestCut: a file that breaks off anywhere gives everything before the break, says
// that something is missing, and its view is valid (openai/codex#6950).
func TestCut(t *testing.T) {
	for _, f := range formats {
		t.Run(string(f), func(t *testing.T) {
			whole := long(f, 6)
			all := held(t, read(t, whole, ""))
			if len(all) != 24 {
				t.Fatalf("%d things in the whole, want 24", len(all))
			}
			most := 0
			for n := len(codexHead); n < len(whole); n += 29 {
				s := read(t, whole[:n], "")
				if f == foreign.Gemini && s.ID == "" {
					t.Error("no id")
				}
				got := held(t, s)
				for _, d := range difference(all, got) {
					if strings.HasPrefix(d, "+") {
						t.Errorf("cut at %d: %s is not in the whole", n, d)
					}
				}
				if whole[n-1] != '\n' && whole[n] != '\n' && len(s.Faults) == 0 {
					t.Errorf("cut at %d: nothing is said", n)
				}
				if len(got) < most-1 { // the last call waits for nothing, but a reply is whole or not there
					t.Errorf("cut at %d: %d things, %d before", n, len(got), most)
				}
				most = max(most, len(got))
				check(t, s)
			}
			if most < 20 {
				t.Errorf("at most %d things were found", most)
			}
		})
	}
}

// TestDamaged: damage of every kind costs what it hit and nothing else, and is
// named by line or path.
func TestDamaged(t *testing.T) {
	swap := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	}
	for _, row := range []struct {
		name   string
		f      foreign.Format
		damage func([]byte) []byte
		lost   int // of the 24 things
		faults int
	}{
		{"a line of zeros", foreign.Codex, swap(words("user", "input_text", "ask 3"), strings.Repeat("\x00", 99)+"\n"), 1, 1},
		{"zeros before a line", foreign.Codex, swap(words("user", "input_text", "ask 3"), "\x00\x00"+words("user", "input_text", "ask 3")), 0, 1},
		{"half a line", foreign.Pi, swap(`"content":"ask 3"}}`, `"conte`), 1, 2}, // the record after it has lost its parent
		{"glued lines", foreign.Codex, swap(words("user", "input_text", "ask 3"), strings.TrimSpace(words("user", "input_text", "ask 3"))), 2, 1},
		{"lines that are no objects", foreign.Codex, swap(words("user", "input_text", "ask 3"), "7\n[]\nnull\n\n"+words("user", "input_text", "ask 3")), 0, 3},
		{"CR LF and a byte order mark", foreign.Codex, func(b []byte) []byte {
			return append([]byte("\xEF\xBB\xBF"), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))...)
		}, 0, 0},
		{"a payload of the wrong type", foreign.Codex, swap(`"payload":{"type":"message","role":"user"`, `"payload":"x","y":{"type":"message"`), 1, 1},
		{"a content of the wrong type", foreign.Codex, swap(`"content":[{"type":"input_text","text":"ask 0"}]`, `"content":{"a":1}`), 1, 1},
		{"an unknown field and type", foreign.Codex, swap(words("user", "input_text", "ask 3"), `{"type":"new","ordinal":7,"payload":{}}`+"\n"+words("user", "input_text", "ask 3")), 0, 0},
		{"the first line is gone", foreign.Codex, func(b []byte) []byte { return b[20:] }, 0, 1},
		{"a number for text", foreign.Pi, swap(`"content":"ask 3"`, `"content":3`), 1, 1},
		{"an invalid byte", foreign.Pi, swap(`ask 3`, "ask \xff"), 2, 0}, // one thing is another
		{"half a pair of surrogates", foreign.Pi, swap(`ask 3`, `ask \ud83d`), 2, 0},
		{"a cut document", foreign.Gemini, func(b []byte) []byte { return b[:bytes.Index(b, []byte(`{"id":"u3"`))] }, 12, 1},
		{"a message of the wrong type", foreign.Gemini, swap(`{"id":"u3","type":"user","content":"ask 3"}`, `"u3"`), 1, 2},
		{"messages of the wrong type", foreign.OpenCode, swap(`"messages":[`, `"messages":7,"x":[`), 24, 1},
		{"a part of the wrong type", foreign.OpenCode, swap(`{"type":"text","text":"tell 3"}`, `["text"]`), 1, 2},
		{"a number for a flag", foreign.OpenCode, swap(`{"type":"text","text":"ask 3"}`, `{"type":"text","text":"ask 3","synthetic":1}`), 0, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			whole := long(row.f, 6)
			hurt := row.damage(bytes.Clone(whole))
			if bytes.Equal(hurt, whole) {
				t.Fatal("nothing was damaged")
			}
			s := read(t, hurt, "")
			if d := difference(held(t, read(t, whole, "")), held(t, s)); len(d) != row.lost {
				t.Errorf("%d differ, want %d: %v", len(d), row.lost, d)
			}
			if len(s.Faults) != row.faults {
				t.Errorf("faults: %v, want %d", s.Faults, row.faults)
			}
			for _, f := range s.Faults {
				if f.Line == 0 && f.Path == "" || f.Detail == "" {
					t.Errorf("%+v names no place", f)
				}
			}
			check(t, s)
		})
	}
}

// TestName: a rollout whose header is damaged takes its id from its name
// (openai/codex#24425).
func TestName(t *testing.T) {
	s := read(t, long(foreign.Codex, 1)[20:], `/x/rollout-2026-01-02T03-04-05-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl`)
	if s.ID != "0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee" || len(held(t, s)) != 4 || len(s.Faults) != 1 {
		t.Errorf("id %q, %v", s.ID, s.Faults)
	}
}

// TestGrowing: of a recording in lines that grows, what was read stays as it was:
// all entries but those of the reply that was still open.
func TestGrowing(t *testing.T) {
	data := map[string][]byte{"codex": long(foreign.Codex, 9), "pi": long(foreign.Pi, 9)}
	if os.Getenv("VARVE_FULL") != "" {
		maps.Copy(data, recorded(t))
	}
	for _, path := range slices.Sorted(maps.Keys(data)) {
		if filepath.Ext(path) == ".json" {
			continue
		}
		ends := []int{}
		for i, c := range data[path] {
			if c == '\n' {
				ends = append(ends, i+1)
			}
		}
		whole := raws(t, read(t, data[path], ""))
		r := rand.New(rand.NewPCG(1, 2))
		for range 4 {
			n := ends[1+r.IntN(len(ends)-1)]
			part := raws(t, read(t, data[path][:n], ""))
			same := 0
			for same < len(part) && same < len(whole) && part[same] == whole[same] {
				same++
			}
			const open = 24 // entries of one reply: itself, and the results of its calls
			if len(part)-same > open {
				t.Errorf("%s cut at byte %d: %d of %d entries changed", filepath.Base(path), n, len(part)-same, len(part))
			}
			for _, x := range part[same:] {
				if strings.Contains(x, `"type":"user"`) && !strings.Contains(x, `"tool_result"`) {
					t.Errorf("%s cut at byte %d: %.150s", filepath.Base(path), n, x)
				}
			}
		}
	}
}

// TestLimits: long lines are read up to the limit and named beyond it, long
// documents are refused in words, a reader that fails and a cancelled context end
// the reading.
func TestLimits(t *testing.T) {
	ctx := context.Background()
	big := codexHead + words("user", "input_text", strings.Repeat("x", 600<<10)) + words("user", "input_text", "after")
	s := read(t, []byte(big), "")
	if got := held(t, s); len(got) != 2 || len(s.Faults) != 0 {
		t.Errorf("%d things, %v", len(got), s.Faults)
	}
	s, err := foreign.Open(ctx, strings.NewReader(big), int64(len(big)), foreign.Options{MaxValue: 400 << 10})
	if err != nil || len(held(t, s)) != 1 || len(s.Faults) != 1 || s.Faults[0].Line != 3 {
		t.Errorf("%v, %v", err, s)
	}
	doc := long(foreign.Gemini, 9)
	var large *foreign.TooLargeError
	if _, err := foreign.Open(ctx, bytes.NewReader(doc), int64(len(doc)), foreign.Options{MaxValue: 99}); !errors.As(err, &large) || large.Max != 99 {
		t.Error(err)
	}
	broken := &failing{data: long(foreign.Codex, 3000), from: 1 << 20}
	if _, err := foreign.Open(ctx, broken, int64(len(broken.data)), foreign.Options{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	for _, f := range formats {
		data := long(f, 9)
		if _, err := foreign.Open(stopped, bytes.NewReader(data), int64(len(data)), foreign.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

var errBroken = errors.New("the disk is broken")

// failing is a file that cannot be read from a place on.
type failing struct {
	data []byte
	from int64
}

func (f *failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errBroken
	}
	return copy(p, f.data[off:]), nil
}

var _ io.ReaderAt = (*failing)(nil)

// TestDisguised: sessions of the reference and other files are refused.
func TestDisguised(t *testing.T) {
	for _, in := range []string{
		`{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"x"}}` + "\n",
		"\x00\x00\x00", "%PDF-1.7", `{"type":"response_item"}`, `[{"role":"user"}]`, `{"info":7,"messages":[]}`, `{"messages":[{"type":"user"}]}`,
	} {
		if _, err := foreign.Open(context.Background(), strings.NewReader(in), int64(len(in)), foreign.Options{}); !errors.Is(err, foreign.ErrFormat) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestOpenFile: a file is read like its bytes; what is none is said.
func TestOpenFile(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	path := filepath.Join(dir, "rollout-2026-01-02T03-04-05-0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee.jsonl")
	if err := os.WriteFile(path, long(foreign.Codex, 2), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := foreign.OpenFile(ctx, path, foreign.Options{})
	if err != nil || !slices.Equal(raws(t, s), raws(t, read(t, long(foreign.Codex, 2), ""))) {
		t.Errorf("%v", err)
	}
	if _, err := foreign.OpenFile(ctx, dir, foreign.Options{}); !errors.Is(err, foreign.ErrFormat) {
		t.Error(err)
	}
	if _, err := foreign.OpenFile(ctx, path+"x", foreign.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// fuzz is the body of the fuzz targets: whatever stands in a file, no panic, a
// sound log, a valid view, and the same twice.
func fuzz(f *testing.F, format foreign.Format, seeds ...string) {
	f.Add(long(format, 2))
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := foreign.Open(context.Background(), bytes.NewReader(data), int64(len(data)), foreign.Options{})
		if err != nil {
			return
		}
		check(t, s)
		if again := read(t, data, ""); !slices.Equal(raws(t, again), raws(t, s)) {
			t.Error("a second reading differs")
		}
	})
}

func FuzzCodex(f *testing.F) {
	fuzz(f, foreign.Codex, codexHead+words("user", "input_text", "a")+`{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message","role":"user","content":"a"},{"type":"compaction"}]}}`,
		codexHead+words("user", "input_text", "a")+item(`{"type":"function_call","call_id":"","arguments":"[]"}`)+event(`{"type":"thread_rolled_back","num_turns":9}`)+words("assistant", "output_text", "b"))
}
func FuzzPi(f *testing.F) {
	fuzz(f, foreign.Pi, piHead+piSays("1", `"1"`, `{"role":"user","content":"a"}`)+piSays("1", `"2"`, `{"role":"assistant","content":[{"type":"toolCall"},{"type":"image"}]}`)+
		`{"type":"compaction","id":"3","parentId":"1","firstKeptEntryIndex":1}`+"\n"+`{"type":"compaction","id":"4","parentId":"3","firstKeptEntryId":"3"}`)
}
func FuzzGemini(f *testing.F) {
	fuzz(f, foreign.Gemini, `{"sessionId":"g","projectHash":"h"}`+"\n"+`{"id":"1","type":"user","content":"a"}`+"\n"+`{"$rewindTo":"1"}`+"\n"+`{"id":"1","type":"gemini","toolCalls":[{"result":[7]}]}`)
}
func FuzzOpenCode(f *testing.F) {
	fuzz(f, foreign.OpenCode, `{"messages":[{"info":{"role":"assistant","summary":true},"parts":[{"type":"text","text":"s"}]},{"role":"user","parts":[{"type":"compaction","tail_start_id":"messages[0]"}]}],"info":{"id":"ses_1"}}`)
}

// BenchmarkOpen reads every recorded session.
func BenchmarkOpen(b *testing.B) {
	data := recorded(b)
	var n int64
	for _, d := range data {
		n += int64(len(d))
	}
	b.SetBytes(n)
	b.ReportAllocs()
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		for _, d := range data {
			read(b, d, "")
		}
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(n)/1e6/best.Seconds(), "best-MB/s")
}
