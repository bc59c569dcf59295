package tokens_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/message"
	"varve.dev/tokens"
)

func call(t testing.TB, name, input string) message.Block {
	t.Helper()
	b, err := message.ToolUse("toolu_1", name, json.RawMessage(input))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parsed(t testing.TB, raw string) message.Block {
	t.Helper()
	b, err := message.ParseBlock([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReference is B-1: UTF-16 units / 4, images and documents 2,000 each, the total × 4/3, rounded up.
func TestReference(t *testing.T) {
	e := tokens.Estimator{Reference: true}
	text := func(n int) message.Block { return message.Text(strings.Repeat("x", n)) }
	big := message.Image("image/png", make([]byte, 50_000))
	for _, c := range []struct {
		name   string
		blocks []message.Block
		want   int
	}{
		{"nothing", nil, 0},
		{"one character: 0.25 × 4/3, up", []message.Block{text(1)}, 1},
		{"three", []message.Block{text(3)}, 1},
		{"four: 1 × 4/3, up", []message.Block{text(4)}, 2},
		{"1,200", []message.Block{text(1200)}, 400},
		{"1,201", []message.Block{text(1201)}, 401},
		{"only the total is rounded", []message.Block{text(1), text(1), text(1)}, 1},
		{"UTF-16 units: one for 漢, two for 🎉", []message.Block{message.Text("漢漢漢漢🎉")}, 2},
		{"an image: 2,000 × 4/3, up", []message.Block{big}, 2667},
		{"a document", []message.Block{message.Document("application/pdf", make([]byte, 9_000))}, 2667},
		{"three images", []message.Block{big, big, big}, 8000},
		{"an image in a result", []message.Block{message.ToolResult("t", false, big)}, 2667},
		{"name + input", []message.Block{call(t, "Bash", `{"command": "ls"}`)}, 7}, // 4 + 16 characters
		{"result text", []message.Block{message.ToolResult("t", true, text(30))}, 10},
		{"thinking: the text, not the signature", []message.Block{message.Thinking(strings.Repeat("x", 30), strings.Repeat("s", 900))}, 10},
		{"redacted thinking: the data", []message.Block{message.RedactedThinking(strings.Repeat("x", 60))}, 20},
		{"unknown: its JSON", []message.Block{parsed(t, `{"type":"new_thing","a":123}`)}, 10}, // 28 characters
		{"server call: its JSON", []message.Block{parsed(t, `{"type":"server_tool_use","id":"a","name":"b","input":{}}`)}, 19},
	} {
		m := message.UserBlocks(c.blocks...)
		if got := e.Message(m); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	two := []message.Message{message.User("x"), message.User("x")}
	if got := e.Messages(two); got != 1 {
		t.Errorf("two messages of a character: %d", got)
	}
}

// TestBlocks: what each kind of block counts by default (G-7).
func TestBlocks(t *testing.T) {
	var e tokens.Estimator
	words := strings.Repeat("word ", 100)
	for _, c := range []struct {
		name     string
		block    message.Block
		min, max int
	}{
		{"text", message.Text(words), 95, 110},
		{"call", call(t, "Bash", `{"command":"ls -la"}`), 40, 60},
		{"result", message.ToolResult("t", false, message.Text(words)), 115, 135},
		{"result of blocks", message.ToolResult("t", false, message.Text(words), message.Text(words)), 215, 240},
		{"empty result", message.ToolResult("t", false), 20, 30},
		{"thinking", message.Thinking(words, ""), 95, 110},
		{"hidden thinking: by its signature", message.Thinking("", strings.Repeat("A", 1000)), 150, 200},
		{"summarized thinking: by its signature", message.Thinking(words, strings.Repeat("A", 10_000)), 1500, 2000},
		{"redacted thinking", message.RedactedThinking(strings.Repeat("A", 1000)), 150, 200},
		{"unknown", parsed(t, `{"type":"search_result","title":"`+words+`"}`), 100, 120},
		{"not an object", parsed(t, `{}`), 1, 3},
	} {
		if got := e.Block(c.block); got < c.min || got > c.max {
			t.Errorf("%s: %d, want %d to %d", c.name, got, c.min, c.max)
		}
	}
}

// TestMessagesAddUp: a conversation costs what its messages cost, but for rounding, and never less with more in it.
func TestMessagesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := tokens.Estimator{Reference: rapid.Bool().Draw(t, "reference")}
		texts := rapid.SliceOfN(rapid.String(), 0, 8).Draw(t, "texts")
		var ms []message.Message
		sum, before := 0, 0
		for _, s := range texts {
			ms = append(ms, message.User(s))
			sum += e.Message(ms[len(ms)-1])
			all := e.Messages(ms)
			if all < before || all > sum || all < sum-len(ms) {
				t.Fatalf("%d after %d, single ones %d", all, before, sum)
			}
			before = all
		}
	})
}

func BenchmarkMessages(b *testing.B) {
	var ms []message.Message
	size := 0
	for range 200 {
		text := strings.Repeat("func (s *Server) Serve(l net.Listener) error {\n\treturn nil\n}\n", 50)
		ms = append(ms, message.Assistant(call(b, "Read", `{"file_path":"/src/main.go"}`)), message.UserBlocks(message.ToolResult("toolu_1", false, message.Text(text))))
		size += len(text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var e tokens.Estimator
	for b.Loop() {
		e.Messages(ms)
	}
}
