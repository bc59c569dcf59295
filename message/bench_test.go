package message

import (
	"encoding/json"
	"strings"
	"testing"
)

// bigMessage is a user message of about 100 KB with one result, as reading a large file yields.
func bigMessage(content string) []byte {
	return []byte(`{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":` + content + `}]}`)
}

var bigText = string(AppendString(nil, strings.Repeat("\t12\tfunc (s *scanner) value(i int) (int, error) { // \x1b[0m\n", 1700)))

func BenchmarkParseMessage(b *testing.B) {
	plain := string(AppendString(nil, strings.Repeat("plain text without anything to escape, as base64 has it ", 1800)))
	reply := `{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/a/b.go"}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":30614,"cache_read_input_tokens":0,"output_tokens":151}}`
	for _, bc := range []struct {
		name string
		raw  []byte
	}{
		{"string-100KB", bigMessage(plain)},
		{"escaped-100KB", bigMessage(bigText)},
		{"block-100KB", bigMessage(`[{"type":"text","text":` + plain + `}]`)},
		{"image-100KB", bigMessage(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":` + strings.ReplaceAll(plain, " ", "") + `}}]`)},
		{"tool_use", []byte(reply)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.SetBytes(int64(len(bc.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseMessage(bc.raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding-json-string-100KB", func(b *testing.B) { // for comparison: what one decoding pass costs there
		raw := bigMessage(plain)
		b.SetBytes(int64(len(raw)))
		b.ReportAllocs()
		for b.Loop() {
			var m struct {
				Role    string
				Content []struct{ Type, Tool_use_id, Content string }
			}
			if err := json.Unmarshal(raw, &m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	ms := []Message{User("x")}
	result, err := ParseMessage(bigMessage(bigText))
	if err != nil {
		b.Fatal(err)
	}
	for range 10 {
		call, err := ToolUse(CanonicalID(strings.Repeat("x", len(ms))), "Read", nil)
		if err != nil {
			b.Fatal(err)
		}
		r := result.WithContent(ToolResult(call.ID, false, result.Content[0].Content...))
		ms = append(ms, Assistant(call), r)
	}
	if v := Check(ms); v != nil {
		b.Fatal(v)
	}
	b.ReportAllocs()
	for b.Loop() {
		Check(ms)
	}
}

// The promise behind ParseMessage's doc comment, as a test: the allocations of a 100 KB message do not grow with its size, and
// its bytes are copied at most twice (the text, and the text block that stands for a string).
func TestParseMessageAllocations(t *testing.T) {
	for _, tc := range []struct {
		name string
		raw  []byte
		max  float64
	}{{"string", bigMessage(bigText), 8}, {"block", bigMessage(`[{"type":"text","text":` + bigText + `}]`), 7}} {
		n := testing.AllocsPerRun(20, func() {
			if _, err := ParseMessage(tc.raw); err != nil {
				t.Fatal(err)
			}
		})
		if n > tc.max {
			t.Errorf("%s: %.0f allocations, want at most %.0f", tc.name, n, tc.max)
		}
	}
}
