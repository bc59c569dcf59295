package message

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// The right column is what JSON.stringify prints for the same string.
func TestAppendString(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", `""`},
		{"plain", `"plain"`},
		{"\"\\/", `"\"\\/"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x1b\x1f\x7f", "\"\\u0000\\u001b\\u001f\x7f\""},
		{"<>&\u2028\u2029", "\"<>&\u2028\u2029\""},
		{"é漢😀\uFFFD", "\"é漢😀\uFFFD\""},
		{"a\xff\xc3b\xed\xa0\x80", "\"a\uFFFD\uFFFDb\uFFFD\uFFFD\uFFFD\""},
	} {
		if got := string(AppendString(nil, tc.in)); got != tc.want {
			t.Errorf("AppendString(%q) = %s, want %s", tc.in, got, tc.want)
		}
	}
}

func TestFixUnicode(t *testing.T) {
	const r = "\uFFFD"
	for _, tc := range []struct{ in, want string }{
		{`{"a":"x"}`, `{"a":"x"}`},
		{`"\ud99c"`, `"` + r + `"`},
		{`"\uD99C tail"`, `"` + r + ` tail"`},
		{`"\ude00\ud83d"`, `"` + r + r + `"`},
		{`"\ud83d\ud83d\ude00"`, `"` + r + `\ud83d\ude00"`},
		{`"\ud83d\n\ude00"`, `"` + r + `\n` + r + `"`},
		{`"\\ud99c"`, `"\\ud99c"`}, // the text \ud99c, not an escape
		{`"\\\ud99c"`, `"\\` + r + `"`},
		{`"\ufffd\u001b\u00e9"`, `"\ufffd\u001b\u00e9"`},
		{"\"a\xffb\"", `"a` + r + `b"`},
		{"\"\\ud83d\xed\xb8\x80\"", `"` + r + r + r + r + `"`},
	} {
		got := string(FixUnicode([]byte(tc.in)))
		if got != tc.want {
			t.Errorf("FixUnicode(%s) = %s, want %s", tc.in, got, tc.want)
		}
		if CleanUnicode([]byte(tc.in)) != (tc.in == tc.want) {
			t.Errorf("CleanUnicode(%s) = %v", tc.in, tc.in != tc.want)
		}
		if !CleanUnicode([]byte(got)) {
			t.Errorf("%s is not clean after fixing", got)
		}
	}
	clean := []byte(`{"a":"\u001b"}`)
	if got := FixUnicode(clean); &got[0] != &clean[0] {
		t.Error("clean text was copied")
	}
	// Text that is cut off must not panic either.
	for _, in := range []string{`"\`, `"\u`, `"\ud9`, `"\ud99c\`, `"\ud99c\u`, `\`, "\\\xff"} {
		if out := FixUnicode([]byte(in)); !utf8.Valid(out) {
			t.Errorf("FixUnicode(%q) = %q", in, out)
		}
	}
}

func TestCompactInput(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"compact", `{"a":1}`, `{"a":1}`},
		{"whitespace, key order, number texts", " {\n\t\"z\" : [ 1.0 , 1e+2 , -0 ] ,\r\n \"a b\" : { } , \"n\":12345678901234567890 } ", `{"z":[1.0,1e+2,-0],"a b":{},"n":12345678901234567890}`},
		{"repeated keys and escapes stay", `{"a":"\u00e9\/","a":"\u001b"}`, `{"a":"\u00e9\/","a":"\u001b"}`},
		{"whitespace in strings stays", `{"a \" b":" \\"}`, `{"a \" b":" \\"}`},
		// QwenLM/qwen-code#7377
		{"missing", ``, `{}`},
		{"blank", " \n", `{}`},
		{"null", ` null `, `{}`},
		{"empty", `{}`, `{}`},
		{"string", `"{\"path\": \"a\\nb\", \"n\": 1.0}"`, `{"path":"a\nb","n":1.0}`},
		{"string of a string", `"\"{\\\"a\\\":1}\""`, `{"a":1}`},
		{"empty string", `""`, `{}`},
		{"string null", `"null"`, `{}`},
		// anthropics/claude-code#68325
		{"lone surrogate", `{"a":"x\ud99cy"}`, "{\"a\":\"x\uFFFDy\"}"},
		{"lone surrogate in a string", `"{\"a\":\"x\\ud99cy\"}"`, "{\"a\":\"x\uFFFDy\"}"},
		{"lone surrogate in a key", `{"\udc00":1}`, "{\"\uFFFD\":1}"},
		{"pair stays", `{"a":"\ud83d\ude00"}`, `{"a":"\ud83d\ude00"}`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := CompactInput([]byte(tc.in))
			if err != nil || string(got) != tc.want {
				t.Fatalf("got %s, %v, want %s", got, err, tc.want)
			}
			if !json.Valid(got) || !utf8.Valid(got) {
				t.Errorf("%s is not JSON in UTF-8", got)
			}
		})
	}
	for _, in := range []string{`[]`, `1`, `true`, `"x"`, `{`, `{"a":1}x`, `{"a":}`, `"{\"a\":"`, `"\"\\\"{}\\\"\""`, "\x00", `nul`} {
		if got, err := CompactInput([]byte(in)); !errors.Is(err, ErrInput) || got != nil {
			t.Errorf("CompactInput(%s) = %s, %v, want ErrInput", in, got, err)
		}
	}
	in := []byte(`{"a":1}`)
	got, err := CompactInput(in)
	if err != nil {
		t.Fatal(err)
	}
	if in[1] = 'X'; got[1] != '"' {
		t.Error("the result shares memory with its source")
	}
}

func TestParseReply(t *testing.T) {
	think := `{"type":"thinking","thinking":"\ud99c","signature":"s"}` // bytes of reasoning are never touched
	raw := `{ "id":"m1", "role":"assistant", "content":[` + think + `, {"type":"text","text":"\ud99c"},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{ "a" : "\ud99c" },"caller":{"type": "direct"}},` +
		`{"type":"tool_use","id":"t2","name":"Bash"}], "stop_reason":"tool_use", "x": 1.0 }`
	m, err := ParseReply([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := `{ "id":"m1", "role":"assistant", "content":[` + think + `,{"type":"text","text":"` + "\uFFFD" + `"},` +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"a":"` + "\uFFFD" + `"},"caller":{"type": "direct"}},` +
		`{"type":"tool_use","id":"t2","name":"Bash","input":{}}], "stop_reason":"tool_use", "x": 1.0 }`
	if string(m.Raw) != want || string(m.JSON()) != want {
		t.Errorf("got  %s\nwant %s", m.Raw, want)
	}
	again, err := ParseReply(m.Raw)
	if err != nil || &again.Raw[0] != &m.Raw[0] {
		t.Errorf("a normalised reply was changed again: %s, %v", again.Raw, err)
	}

	m, err = ParseReply([]byte(`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":[1]},{"type":"tool_use","id":"t2","name":"Bash","input":{"a":1}}],"stop_sequence":"\ud99c"}`))
	var bad *InputError
	if m == nil || !errors.Is(err, ErrInput) || !errors.As(err, &bad) || bad.ToolUseID != "t1" || string(bad.Input) != "[1]" {
		t.Fatalf("got %v, %v", m, err)
	}
	if string(m.Content[0].Input) != "{}" || string(m.Content[1].Input) != `{"a":1}` || !CleanUnicode(m.Raw) {
		t.Errorf("message %s", m.Raw)
	}
	if !strings.Contains(err.Error(), "t1") {
		t.Errorf("the error does not name the call: %v", err)
	}
	if m, err := ParseReply([]byte(`{"content":`)); m != nil || err == nil {
		t.Errorf("half a reply: %v, %v", m, err)
	}
}

func TestNormalizeCall(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{`{"type":"tool_use","id":"t","name":"n","input":{"a":1}}`, `{"type":"tool_use","id":"t","name":"n","input":{"a":1}}`},
		{`{"type":"tool_use","id":"t","name":"n"}`, `{"type":"tool_use","id":"t","name":"n","input":{}}`},
		{`{"input":"{\"a\": 1}","type":"tool_use","id":"t","name":"n","z":1.0}`, `{"input":{"a":1},"type":"tool_use","id":"t","name":"n","z":1.0}`},
		{`{"type":"tool_use","id":"t","name":"\ud99c","input":{"a":1},"input":{ }}`, `{"type":"tool_use","id":"t","name":"` + "\uFFFD" + `","input":{"a":1},"input":{}}`},
	} {
		b, err := ParseBlock([]byte(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := NormalizeCall(b)
		if err != nil || string(got.Raw) != tc.want {
			t.Errorf("NormalizeCall(%s) = %s, %v, want %s", tc.in, got.Raw, err, tc.want)
		}
		if string(member(got.Raw, "input")) != string(got.Input) {
			t.Errorf("Input %s is not what Raw says: %s", got.Input, got.Raw)
		}
	}
}

func TestCanonicalID(t *testing.T) {
	seen := map[string]string{}
	for _, native := range []string{"toolu_01", "call_a-B", "", "a.b", "a:b", "ab", "call", "функция", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66), "fc_1|call_1"} {
		got := CanonicalID(native)
		if !ValidID(got) {
			t.Errorf("CanonicalID(%q) = %q, not valid", native, got)
		}
		if ValidID(native) && got != native {
			t.Errorf("CanonicalID changed the valid id %q to %q", native, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both became %q", native, other, got)
		}
		seen[got] = native
	}
}
