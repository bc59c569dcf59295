package message

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":"x"}`,
		`{"model":"m","id":"i","role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"tool_use","id":"t","name":"n","input":{"a":1.0}}],"usage":{"input_tokens":1,"iterations":[{"type":"message"}]}}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"\ud99c"},5]},{"type":"image","source":{"type":"base64","data":"aGk="}}]}`,
		`{"content":{"content":"x","content":[[]]},"content":null}`, `{`, "[]", "\xff", `{"a":"\u12`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ParseMessage(raw)
		if trimmed := bytes.Trim(raw, " \t\r\n"); (err == nil) != (json.Valid(raw) && trimmed[0] == '{') {
			t.Fatalf("ParseMessage(%q): %v; encoding/json says valid: %v", raw, err, json.Valid(raw))
		} else if err == nil && (!bytes.Equal(m.Raw, trimmed) || !bytes.Equal(m.JSON(), trimmed)) {
			t.Fatalf("the bytes changed: %q", m.Raw)
		}
		if err != nil {
			return
		}
		for _, b := range m.Content {
			if !json.Valid(b.Raw) || !utf8.ValidString(b.Text) {
				t.Fatalf("block %+v", b)
			}
			if b.Type != "" {
				again, err := ParseBlock(b.Raw)
				if err != nil {
					t.Fatalf("ParseBlock(%s): %v", b.Raw, err)
				}
				sameBlocks(t, []Block{again}, []Block{b})
			}
		}
		owned, err := ParseOwned(bytes.Clone(raw))
		if err != nil {
			t.Fatalf("ParseOwned(%q): %v", raw, err)
		}
		sameMessage(t, owned, m)
		checkUnicode(t, m.Content)
		if out := m.WithContent(m.Content...).AppendRequest(nil); !json.Valid(out) || !CleanUnicode(out) {
			t.Fatalf("request %q", out)
		}
		checkRounds(t, []Message{*m}, Rounds([]Message{*m}))
		Check([]Message{*m, *m})
		reply, err := ParseReply(raw)
		if reply == nil {
			t.Fatalf("ParseReply: %v", err)
		}
		twice, _ := ParseReply(reply.Raw)
		if twice == nil || !bytes.Equal(twice.Raw, reply.Raw) {
			t.Fatalf("ParseReply is not idempotent: %q, %q", reply.Raw, raw)
		}
	})
}

func FuzzCompactInput(f *testing.F) {
	for _, s := range []string{``, `{}`, ` { "a" : [ 1.0 , "x\ud99c y" ] } `, `"{\"a\":1}"`, `null`, `""`, `"\"{}\""`, `[`, "{\"\xff\":\"\\\\\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) { checkCompactInput(t, in, false) })
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"\\\b\x1b", "\u2028\u2029<>&", "\xff\xed\xa0\x80", `\u2028`, "😀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkAppendString(t, s) })
}

func FuzzFixUnicode(f *testing.F) {
	for _, s := range []string{`"\ud99c"`, `"\\ud99c"`, `"\ud83d\ude00"`, `"\`, "\xff\\", `"\uD83D\\uDE00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out := FixUnicode(in)
		if !CleanUnicode(out) || !utf8.Valid(out) || !bytes.Equal(FixUnicode(out), out) {
			t.Fatalf("FixUnicode(%q) = %q", in, out)
		}
		if CleanUnicode(in) != bytes.Equal(in, out) {
			t.Fatalf("CleanUnicode(%q) = %v, FixUnicode %q", in, CleanUnicode(in), out)
		}
		if !json.Valid(in) {
			return
		}
		if a, b := decode(in), decode(out); !json.Valid(out) || !equalJSON(a, b) {
			t.Fatalf("FixUnicode(%q) = %q: means %v, was %v", in, out, b, a)
		}
	})
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
