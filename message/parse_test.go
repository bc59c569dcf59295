package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

func mustParse(t testing.TB, raw string) *Message {
	t.Helper()
	m, err := ParseMessage([]byte(raw))
	if err != nil {
		t.Fatalf("ParseMessage(%s): %v", raw, err)
	}
	return m
}

func TestParseMessageFields(t *testing.T) {
	raw := `{"model":"claude-x","id":"msg_1","type":"message","role":"assistant","content":[` +
		`{"type":"thinking","thinking":"hm\u00e9","signature":"c2ln"},` +
		`{"type":"redacted_thinking","data":"cmVk"},` +
		`{"type":"text","text":"hi","citations":null},` +
		`{"type":"tool_use","id":"toolu_1","name":"Read","input":{"b": 1.0, "a":[1e5]},"caller":{"type":"direct"}},` +
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},` +
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"u"}]},` +
		`{"kind":"no type"},7,"bare"],` +
		`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4},"later":{"x":[1.50]}}`
	m := mustParse(t, " "+raw+"\n")
	if string(m.Raw) != raw || string(m.JSON()) != raw {
		t.Errorf("raw bytes changed: %s", m.Raw)
	}
	if m.Role != RoleAssistant || m.ID != "msg_1" || m.Model != "claude-x" || m.StopReason != "tool_use" || m.StringContent {
		t.Errorf("fields: %+v", m)
	}
	if m.Usage == nil || m.Usage.InputTokens != 3 || m.Usage.OutputTokens != 4 {
		t.Errorf("usage: %+v", m.Usage)
	}
	var want struct{ Content []json.RawMessage }
	if err := json.Unmarshal([]byte(raw), &want); err != nil {
		t.Fatal(err)
	}
	if len(m.Content) != len(want.Content) {
		t.Fatalf("%d blocks, want %d", len(m.Content), len(want.Content))
	}
	for i, b := range m.Content {
		if !bytes.Equal(b.Raw, want.Content[i]) {
			t.Errorf("block %d: %s, want %s", i, b.Raw, want.Content[i])
		}
	}
	c := m.Content
	if c[0].Text != "hmé" || c[0].Signature != "c2ln" || !c[0].IsThinking() {
		t.Errorf("thinking: %+v", c[0])
	}
	if c[1].Data != "cmVk" || !c[1].IsThinking() {
		t.Errorf("redacted: %+v", c[1])
	}
	if c[3].ID != "toolu_1" || c[3].Name != "Read" || string(c[3].Input) != `{"b": 1.0, "a":[1e5]}` {
		t.Errorf("tool_use: %+v", c[3])
	}
	if !c[4].IsServerCall() || !c[5].IsServerResult() || c[5].ToolUseID != "srvtoolu_1" || c[5].Content != nil {
		t.Errorf("server tool: %+v %+v", c[4], c[5])
	}
	if c[6].Type != "" || c[7].Type != "" || c[8].Type != "" {
		t.Errorf("untyped blocks got a type: %+v", c[6:])
	}
}

func TestParseToolResult(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		texts     []string
		isString  bool
		isError   bool
	}{
		{"string", `{"tool_use_id":"t1","type":"tool_result","content":"a\nb"}`, []string{"a\nb"}, true, false},
		{"type after content", `{"content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"url","url":"u"}}],"is_error":true,"tool_use_id":"t1","type":"tool_result"}`, []string{"x", ""}, false, true},
		{"absent", `{"type":"tool_result","tool_use_id":"t1","is_error":false}`, nil, false, false},
		{"null", `{"type":"tool_result","tool_use_id":"t1","content":null}`, nil, false, false},
		{"empty string", `{"type":"tool_result","tool_use_id":"t1","content":""}`, []string{""}, true, false},
		{"repeated member", `{"type":"tool_result","content":"no","tool_use_id":"t1","content":[]}`, []string{}, false, false},
		{"repeated, then of another kind", `{"type":"tool_result","content":"no","tool_use_id":"t1","content":null}`, nil, false, false},
		{"escaped names", `{"ty\u0070e":"tool_result","\u0063ontent":"x","tool_use_\u0069d":"t1"}`, []string{"x"}, true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, err := ParseBlock([]byte(tc.raw))
			if err != nil {
				t.Fatal(err)
			}
			if b.Type != TypeToolResult || b.ToolUseID != "t1" || string(b.Raw) != tc.raw || b.StringContent != tc.isString || b.IsError != tc.isError {
				t.Errorf("got %+v", b)
			}
			if (b.Content == nil) != (tc.texts == nil) || len(b.Content) != len(tc.texts) {
				t.Fatalf("content %+v, want %q", b.Content, tc.texts)
			}
			for i, in := range b.Content {
				if in.Text != tc.texts[i] || len(in.Raw) == 0 {
					t.Errorf("content.%d: %+v, want text %q", i, in, tc.texts[i])
				}
			}
		})
	}
}

func TestParseStringContent(t *testing.T) {
	raw := `{"role":"user","content":"caf\u00e9 \ud83d\ude00 \ud99c"}`
	m := mustParse(t, raw)
	if !m.StringContent || len(m.Content) != 1 || m.Content[0].Text != "café 😀 \uFFFD" {
		t.Fatalf("got %+v", m)
	}
	if got, want := string(m.Content[0].Raw), `{"type":"text","text":"caf\u00e9 \ud83d\ude00 \ud99c"}`; got != want {
		t.Errorf("block raw %s, want %s", got, want)
	}
	if string(m.JSON()) != raw {
		t.Errorf("JSON changed the bytes: %s", m.JSON())
	}
}

func TestParseTolerates(t *testing.T) {
	for _, tc := range []struct {
		name, raw string
		blocks    int
	}{
		{"no members", `{}`, 0},
		{"content missing (contenst of an old fixture)", `{"role":"user","contenst":[{"type":"text","text":"x"}]}`, 0},
		{"null everywhere", `{"role":null,"id":null,"model":null,"content":null,"stop_reason":null,"usage":null}`, 0},
		{"wrong kinds", `{"role":1,"id":[],"model":{},"stop_reason":2,"usage":"x","content":[{"type":5,"id":6,"input":"s"}]}`, 1},
		{"one block without its array", `{"role":"user","content":{"type":"text","text":"x"}}`, 1},
		{"content of another kind", `{"role":"user","content":12}`, 1},
		{"invalid UTF-8", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\"}]}", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := mustParse(t, tc.raw)
			if len(m.Content) != tc.blocks || string(m.JSON()) != tc.raw {
				t.Errorf("%d blocks, want %d; JSON %s", len(m.Content), tc.blocks, m.JSON())
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for _, raw := range []string{
		"", " ", "{", `{"role"`, `{"role":}`, `{"role":"user"`, `{"role":"user",}`, `{"a":1 "b":2}`, `{a:1}`, `{"a":01}`, `{"a":1.}`,
		`{"a":-}`, `{"a":1e}`, `{"a":tru}`, `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\":\"\n\"}", `{"a":"`, `{"a":[1,]}`, `{"a":[1}`, `{} {}`,
		`{"content":[{"type":"text","text":"x"]}`, "\ufeff{}", "{\x00}", deep,
	} {
		if json.Valid([]byte(raw)) {
			t.Errorf("test is wrong: %.40q is valid JSON", raw)
		}
		var se *SyntaxError
		if m, err := ParseMessage([]byte(raw)); !errors.As(err, &se) || m != nil {
			t.Errorf("ParseMessage(%.40q) = %v, %v, want a SyntaxError", raw, m, err)
		} else if se.Offset < 0 || se.Offset > len(raw) {
			t.Errorf("ParseMessage(%.40q): offset %d outside the text", raw, se.Offset)
		}
	}
	for _, raw := range []string{`"a message of an old fixture"`, `[]`, `null`, `3`, `true`} {
		if _, err := ParseMessage([]byte(raw)); !errors.Is(err, ErrNotObject) {
			t.Errorf("ParseMessage(%s) = %v, want ErrNotObject", raw, err)
		}
		if _, err := ParseBlock([]byte(raw)); !errors.Is(err, ErrNotObject) {
			t.Errorf("ParseBlock(%s) = %v, want ErrNotObject", raw, err)
		}
	}
	if _, err := ParseMessage([]byte(strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth))); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
}

func TestParseContent(t *testing.T) {
	for _, tc := range []struct {
		raw      string
		n        int
		isString bool
	}{{`"x"`, 1, true}, {`[{"type":"text","text":"x"},{"type":"a"}]`, 2, false}, {` null `, 0, false}, {`{"type":"text"}`, 1, false}} {
		blocks, isString, err := ParseContent([]byte(tc.raw))
		if err != nil || len(blocks) != tc.n || isString != tc.isString {
			t.Errorf("ParseContent(%s) = %v, %v, %v", tc.raw, blocks, isString, err)
		}
	}
	if _, _, err := ParseContent([]byte(`[] x`)); err == nil {
		t.Error("trailing bytes were accepted")
	}
}

func TestSource(t *testing.T) {
	b, err := ParseBlock([]byte(`{"type":"image","source":{"type":"base64","media_type":"image\/png","data":"aGk\u003d"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Source.Decode(); err != nil || string(got) != "hi" || b.Source.MediaType != "image/png" {
		t.Errorf("Decode = %q, %v; %+v", got, err, b.Source)
	}
	b, err = ParseBlock([]byte(`{"type":"document","source":{"type":"file","file_id":"f1"},"title":"t"}`))
	if err != nil || b.Source == nil || b.Source.FileID != "f1" {
		t.Fatalf("%+v, %v", b, err)
	}
	if _, err := b.Source.Decode(); err == nil {
		t.Error("a file source was decoded")
	}
	if b, err := ParseBlock([]byte(`{"type":"image","source":"x"}`)); err != nil || b.Source != nil {
		t.Errorf("a source that is no object: %+v, %v", b.Source, err)
	}
}

func TestJSONAfterChange(t *testing.T) {
	raw := `{"model":"m","future":1.0,"id":"i","role":"assistant","content":[{"type":"text","text":"a"}],"x":{"y":2}}`
	m := *mustParse(t, raw)
	changed := m.WithContent(m.Content[0], Text("b"))
	want := `{"model":"m","future":1.0,"id":"i","role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"x":{"y":2}}`
	if got := string(changed.JSON()); got != want {
		t.Errorf("other content: %s\nwant %s", got, want)
	}
	inPlace := *mustParse(t, raw)
	inPlace.Content[0] = Text("c")
	if got, want := string(inPlace.JSON()), strings.Replace(raw, `"a"`, `"c"`, 1); got != want {
		t.Errorf("content changed in place: %s\nwant %s", got, want)
	}
	if string(m.JSON()) != raw {
		t.Errorf("the original changed: %s", m.JSON())
	}
	m.ID = "other"
	want = `{"model":"m","id":"other","type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":null,"stop_sequence":null}`
	if got := string(m.JSON()); got != want {
		t.Errorf("another id: %s\nwant %s", got, want)
	}
	if own := (Message{Raw: []byte("{}")}); string(own.JSON()) != "{}" {
		t.Errorf("Raw set by hand: %s", own.JSON())
	}
}

func TestConstructors(t *testing.T) {
	call, err := ToolUse("toolu_1", "Bash", json.RawMessage(` { "b" : 1 , "a" : "x y" } `))
	if err != nil {
		t.Fatal(err)
	}
	if string(call.Input) != `{"b":1,"a":"x y"}` {
		t.Errorf("input %s", call.Input)
	}
	reply := Assistant(Thinking("t", "s"), RedactedThinking("d"), Text("<b>\u2028"), call)
	reply.ID, reply.Model, reply.StopReason, reply.Usage = "msg_1", "m", "tool_use", &Usage{InputTokens: 1, Cache1h: 2, CacheCreationTokens: 2}
	cited, err := ParseBlock([]byte(`{"type":"text","text":"x","citations":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		m    Message
		want string
	}{
		{"prompt", User("a\"\x1b"), `{"role":"user","content":"a\"\u001b"}`},
		{"system", System("s"), `{"role":"system","content":[{"type":"text","text":"s"}]}`},
		{"nothing", UserBlocks(), `{"role":"user","content":[]}`},
		{"reply without id", Assistant(Text("x")), `{"role":"assistant","content":[{"type":"text","text":"x"}]}`},
		{"result", UserBlocks(ToolResult("t", false, Text("ok"))), `{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]}`},
		{"error", UserBlocks(ToolResult("t", true, Text(""))), `{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":"","is_error":true}]}`},
		{"no content", UserBlocks(ToolResult("t", false)), `{"role":"user","content":[{"tool_use_id":"t","type":"tool_result"}]}`},
		{"cited text is not made a string", UserBlocks(ToolResult("t", false, cited)),
			`{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"x","citations":[]}]}]}`},
		{"image", UserBlocks(ToolResult("t", false, Text("x"), Image("image/png", []byte("hi")))),
			`{"role":"user","content":[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"x"},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}`},
		{"reply", reply, `{"model":"m","id":"msg_1","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},` +
			`{"type":"redacted_thinking","data":"d"},{"type":"text","text":"<b>` + "\u2028" + `"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"b":1,"a":"x y"}}],` +
			`"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":0,"output_tokens":0,` +
			`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":2}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.m.JSON()
			if string(got) != tc.want {
				t.Fatalf("got  %s\nwant %s", got, tc.want)
			}
			sameMessage(t, mustParse(t, string(got)), &tc.m)
		})
	}
}

func TestAppendRequest(t *testing.T) {
	m := mustParse(t, `{"id":"i","role":"user","content":"a\ud99cb","usage":{}}`)
	want := `{"role":"user","content":[{"type":"text","text":"a` + "\uFFFD" + `b"}]}`
	if got := string(m.AppendRequest(nil)); got != want { // anthropics/claude-code#68325, at request build
		t.Errorf("got %s, want %s", got, want)
	}
}

// sameMessage compares what a caller can see of two messages, their Raw apart.
func sameMessage(t interface {
	Helper()
	Errorf(string, ...any)
}, got, want *Message) {
	t.Helper()
	if got.Role != want.Role || got.ID != want.ID || got.Model != want.Model || got.StopReason != want.StopReason || got.StringContent != want.StringContent {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	sameBlocks(t, got.Content, want.Content)
}

func sameBlocks(t interface {
	Helper()
	Errorf(string, ...any)
}, got, want []Block) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d blocks, want %d", len(got), len(want))
		return
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Type != w.Type || !bytes.Equal(g.Raw, w.Raw) && !bytes.Equal(g.JSON(), w.JSON()) || g.Text != w.Text || g.Signature != w.Signature || g.Data != w.Data || g.ID != w.ID ||
			g.Name != w.Name || !bytes.Equal(g.Input, w.Input) || g.ToolUseID != w.ToolUseID || g.IsError != w.IsError || g.StringContent != w.StringContent {
			t.Errorf("block %d: got %+v\nwant %+v", i, g, w)
		}
		if (g.Source == nil) != (w.Source == nil) || g.Source != nil && (g.Source.MediaType != w.Source.MediaType || !bytes.Equal(g.Source.Data, w.Source.Data)) {
			t.Errorf("block %d: source %+v, want %+v", i, g.Source, w.Source)
		}
		sameBlocks(t, g.Content, w.Content)
	}
}

// checkUnicode compares what parsing noticed of text that is not Unicode with a look at the bytes, and what is shown of a block with what
// encoding/json makes of its bytes.
func checkUnicode(t interface {
	Helper()
	Fatalf(string, ...any)
}, blocks []Block) {
	t.Helper()
	for _, b := range blocks {
		if clean := CleanUnicode(b.Raw); b.IsUnicode() != clean || b.Type != "" && b.unicode != clean {
			t.Fatalf("%s: all Unicode: %v", b.Raw, b.unicode)
		}
		var w map[string]any
		if b.Type != "" && json.Unmarshal(b.JSON(), &w) != nil {
			t.Fatalf("%s is no object", b.JSON())
		}
		var text, signature, data any
		switch b.Type {
		case TypeText:
			text = w["text"]
		case TypeThinking:
			text, signature = w["thinking"], w["signature"]
		case TypeRedactedThinking:
			data = w["data"]
		}
		for _, is := range []struct {
			got  string
			want any
		}{{b.Text, text}, {b.Signature, signature}, {b.Data, data}} {
			if s, _ := is.want.(string); s != is.got {
				t.Fatalf("%s: %q, encoding/json has %q", b.Raw, is.got, s)
			}
		}
		checkUnicode(t, b.Content)
	}
}

// A text in which nothing is escaped shares the memory of bytes that are owned, and of no others: who parses a line in a buffer that the
// next line takes keeps texts.
func TestParseOwned(t *testing.T) {
	const raw = `{"role":"assistant","content":[{"type":"thinking","thinking":"abc","signature":"c2ln"},{"type":"text","text":"a\nb"},` +
		`{"type":"tool_result","tool_use_id":"t","content":"plain"},{"type":"text","text":""}]}`
	for _, owned := range []bool{false, true} {
		buf := []byte(raw)
		m, err := parseMessage(buf, owned, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range buf {
			if c == 'a' || c == 'p' || c == '2' {
				buf[i] = 'X'
			}
		}
		c := m.Content
		want := []string{"abc", "c2ln", "a\nb", "plain", ""}
		if owned {
			want = []string{"Xbc", "cXln", "a\nb", "XlXin", ""}
		}
		got := []string{c[0].Text, c[0].Signature, c[1].Text, c[2].Content[0].Text, c[3].Text}
		if !slices.Equal(got, want) {
			t.Errorf("owned %v: %q, want %q", owned, got, want)
		}
	}
}

// The text that stands for a result's string keeps that string's bytes, and is an object wherever it is written as a block.
func TestStringOfResult(t *testing.T) {
	b, err := ParseBlock([]byte(`{"type":"tool_result","tool_use_id":"t","content":"a\u0041"}`))
	if err != nil {
		t.Fatal(err)
	}
	c := b.Content[0]
	const object = `{"type":"text","text":"a\u0041"}`
	if c.Text != "aA" || string(c.Raw) != `"a\u0041"` || string(c.JSON()) != object {
		t.Errorf("%q, %s, %s", c.Text, c.Raw, c.JSON())
	}
	for name, got := range map[string][]byte{
		"blocks":  AppendBlocks(nil, b.Content),
		"result":  ToolResult("t", false, c, Text("x")).Raw,
		"request": UserBlocks(c).AppendRequest(nil),
		"message": UserBlocks(c).JSON(),
	} {
		if !bytes.Contains(got, []byte(`[`+object)) || !json.Valid(got) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := string(ToolResult("t", false, c).Raw); got != `{"tool_use_id":"t","type":"tool_result","content":"aA"}` {
		t.Errorf("alone: %s", got)
	}
}
