package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var drawID = rapid.StringMatching(`toolu_[A-Za-z0-9]{1,8}`)

// drawText leans towards what JSON writers get wrong.
var drawText = rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x00\x1b\x1f\x7f\"\\/<>&\u2028\u2029\uFFFD😀é\n "))))

// drawJSON draws JSON text of a value, with whitespace, escapes of every kind, odd number texts and lone surrogates.
func drawJSON(t *rapid.T, depth int) string {
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r\n  "}).Draw(t, "space")
	if depth <= 0 || rapid.Bool().Draw(t, "leaf") {
		return space + rapid.OneOf(
			rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1.0", "1e5", "1E-07", "12345678901234567890", "545.2778597981155"}),
			rapid.Custom(drawLiteral)).Draw(t, "leaf value") + space
	}
	out := space
	n := rapid.IntRange(0, 4).Draw(t, "n")
	if rapid.Bool().Draw(t, "array") {
		out += "["
		for i := range n {
			if i > 0 {
				out += ","
			}
			out += drawJSON(t, depth-1)
		}
		return out + space + "]"
	}
	return out + drawObject(t, depth, n)
}

func drawObject(t *rapid.T, depth, n int) string {
	out := "{ "
	for i := range n {
		if i > 0 {
			out += ", "
		}
		out += drawLiteral(t) + " :" + drawJSON(t, depth-1)
	}
	return out + "}"
}

func drawLiteral(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{"a", "{", " ", "}", ",", "é", "😀", `\n`, `\"`, `\\`, `\/`, `\u00e9`, `\u001b`, `\ud83d\ude00`, `\ud99c`, `\uDC00`, "\xff", "\u2028", `\ufffd`})
	out := `"`
	for _, p := range rapid.SliceOfN(piece, 0, 6).Draw(t, "string") {
		out += p
	}
	return out + `"`
}

func drawBlock(t *rapid.T) Block {
	switch rapid.IntRange(0, 7).Draw(t, "block") {
	case 0:
		return Thinking(drawText.Draw(t, "thinking"), drawText.Draw(t, "signature"))
	case 1:
		return RedactedThinking(drawText.Draw(t, "data"))
	case 2:
		b, err := ToolUse(drawID.Draw(t, "id"), drawText.Draw(t, "name"), json.RawMessage(drawObject(t, 2, rapid.IntRange(0, 3).Draw(t, "n"))))
		if err != nil {
			t.Fatalf("ToolUse: %v", err)
		}
		return b
	case 3:
		var in []Block
		for range rapid.IntRange(0, 3).Draw(t, "results") {
			in = append(in, rapid.Custom(drawLeaf).Draw(t, "content"))
		}
		return ToolResult(drawID.Draw(t, "id"), rapid.Bool().Draw(t, "error"), in...)
	case 4: // a block of a later version
		raw := `{"type":"later","x":` + drawJSON(t, 2) + `}`
		b, err := ParseBlock([]byte(raw))
		if err != nil || string(b.Raw) != raw {
			t.Fatalf("ParseBlock(%s) = %s, %v", raw, b.Raw, err)
		}
		return b
	default:
		return drawLeaf(t)
	}
}

func drawLeaf(t *rapid.T) Block {
	switch rapid.IntRange(0, 3).Draw(t, "leaf") {
	case 0:
		return Image("image/png", rapid.SliceOf(rapid.Byte()).Draw(t, "data"))
	case 1:
		return Document("application/pdf", rapid.SliceOf(rapid.Byte()).Draw(t, "data"))
	default:
		return Text(drawText.Draw(t, "text"))
	}
}

// read(write(x)) = x, for messages built here; and what was read is written with the same bytes.
func TestPropertyReadWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Message
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			m = User(drawText.Draw(t, "prompt"))
		case 1:
			m = UserBlocks(rapid.SliceOfN(rapid.Custom(drawBlock), 0, 4).Draw(t, "blocks")...)
		default:
			m = Assistant(rapid.SliceOfN(rapid.Custom(drawBlock), 0, 4).Draw(t, "blocks")...)
			m.ID, m.Model, m.StopReason = drawText.Draw(t, "id"), drawText.Draw(t, "model"), drawText.Draw(t, "stop")
			m.Usage = &Usage{InputTokens: rapid.Int64Range(0, maxTokens).Draw(t, "in"), Cache5m: 2}
		}
		written := m.JSON()
		if !json.Valid(written) {
			t.Fatalf("not JSON: %s", written)
		}
		read, err := ParseMessage(written)
		if err != nil {
			t.Fatalf("ParseMessage(%s): %v", written, err)
		}
		sameMessage(t, read, &m)
		if m.Usage != nil && (read.Usage.InputTokens != m.Usage.InputTokens || read.Usage.Cache5m != 2) {
			t.Fatalf("usage %+v", read.Usage)
		}
		if !bytes.Equal(read.JSON(), written) {
			t.Fatalf("written again: %s\nwas %s", read.JSON(), written)
		}
		if request := m.AppendRequest(nil); !json.Valid(request) || !utf8.Valid(request) || !CleanUnicode(request) {
			t.Fatalf("not a request: %s", request)
		}
	})
}

// AppendString is encoding/json's output without its three extra escapes.
func TestPropertyAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkAppendString(t, rapid.OneOf(drawText, rapid.String()).Draw(t, "s")) })
}

func checkAppendString(t interface{ Fatalf(string, ...any) }, s string) {
	got := AppendString(nil, s)
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatalf("encoding/json: %v", err)
	}
	// encoding/json escapes U+2028, U+2029 and broken bytes; undo these three, but not the same letters after a backslash.
	plain := want.Bytes()
	plain = plain[:len(plain)-1]
	var undone []byte
	for i := 0; i < len(plain); {
		if plain[i] != '\\' {
			undone = append(undone, plain[i])
			i++
			continue
		}
		if i+6 <= len(plain) {
			switch string(plain[i : i+6]) {
			case `\u2028`, `\u2029`, `\ufffd`:
				r, _ := unescape(plain[i:])
				undone = utf8.AppendRune(undone, r)
				i += 6
				continue
			}
		}
		undone = append(undone, plain[i], plain[i+1])
		i += 2
	}
	if !bytes.Equal(got, undone) {
		t.Fatalf("AppendString(%q) = %s, want %s", s, got, undone)
	}
	var back string
	if err := json.Unmarshal(got, &back); err != nil || utf8.ValidString(s) && back != s {
		t.Fatalf("AppendString(%q) reads back as %q, %v", s, back, err)
	}
	if own := unquote(got[1 : len(got)-1]); own != back {
		t.Fatalf("unquote(%s) = %q, want %q", got, own, back)
	}
}

// CompactInput is idempotent and keeps what the input means.
func TestPropertyCompactInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawObject(t, 3, rapid.IntRange(0, 4).Draw(t, "n"))
		if rapid.Bool().Draw(t, "wrapped") && CleanUnicode([]byte(in)) {
			in = string(AppendString(nil, in))
		}
		checkCompactInput(t, []byte(in), true)
	})
}

func checkCompactInput(t interface{ Fatalf(string, ...any) }, in []byte, must bool) {
	out, err := CompactInput(in)
	if err != nil {
		if _, isObject := meaning(in).(map[string]any); must || isObject {
			t.Fatalf("CompactInput(%s): %v", in, err)
		}
		return
	}
	again, err := CompactInput(out)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("CompactInput(%s) = %s, again %s, %v", in, out, again, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, out); err != nil || !bytes.Equal(compact.Bytes(), out) || !CleanUnicode(out) {
		t.Fatalf("CompactInput(%s) = %s, which is not compact: %v", in, out, err)
	}
	want := meaning(in)
	if want == nil || want == any("") {
		want = map[string]any{}
	}
	if got := decode(out); !reflect.DeepEqual(got, want) {
		t.Fatalf("CompactInput(%s) = %s: means %v, want %v", in, out, got, want)
	}
}

// meaning is what encoding/json reads in an input, strings unwrapped.
func meaning(in []byte) any {
	v := decode(in)
	for range maxUnwrap {
		if s, ok := v.(string); ok {
			v = decode([]byte(s))
		}
	}
	return v
}

// decode returns nil for what is not one JSON value.
func decode(raw []byte) (v any) {
	if !json.Valid(raw) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil
	}
	return v
}

// drawConversation draws conversations as logs have them: mostly right, with parts of replies split, results out of order or missing.
func drawConversation(t *rapid.T) []Message {
	ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
	var ms []Message
	for range rapid.IntRange(0, 14).Draw(t, "messages") {
		switch rapid.IntRange(0, 5).Draw(t, "role") {
		case 0:
			ms = append(ms, User("x"))
		case 1, 2:
			ms = append(ms, UserBlocks(ToolResult(ids.Draw(t, "result"), false, Text("r"))))
		case 3:
			ms = append(ms, System("s"))
		default:
			b, err := ToolUse(ids.Draw(t, "call"), "n", nil)
			if err != nil {
				t.Fatal(err)
			}
			m := Assistant(b)
			m.ID = rapid.SampledFrom([]string{"", "1", "2", "3", "4"}).Draw(t, "message.id")
			ms = append(ms, m)
		}
	}
	return ms
}

func TestPropertyRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := drawConversation(t)
		checkRounds(t, ms, Rounds(ms))
	})
}

// checkRounds verifies what Rounds promises: whole coverage in order, no reply and no call with its result in two rounds.
func checkRounds(t interface{ Fatalf(string, ...any) }, ms []Message, rounds []Round) {
	at, of := 0, make([]int, len(ms))
	for n, r := range rounds {
		if r.Start != at || r.End <= r.Start {
			t.Fatalf("round %d is %v, want it to start at %d", n, r, at)
		}
		for ; at < r.End; at++ {
			of[at] = n
		}
	}
	if at != len(ms) {
		t.Fatalf("the rounds end at %d of %d", at, len(ms))
	}
	replies, calls := map[string]int{}, map[string]int{}
	for i, m := range ms {
		if m.ID != "" && m.Role == RoleAssistant {
			if n, ok := replies[m.ID]; ok && n != of[i] {
				t.Fatalf("reply %q is in rounds %d and %d", m.ID, n, of[i])
			}
			replies[m.ID] = of[i]
		}
		for _, b := range m.Content {
			if b.Type == TypeToolUse {
				calls[b.ID] = of[i]
			}
			if n, ok := calls[b.ToolUseID]; ok && b.Type == TypeToolResult && n != of[i] {
				t.Fatalf("call %q is in round %d, its result in %d", b.ToolUseID, n, of[i])
			}
		}
	}
}

// A valid conversation without any of its rounds but the first is still valid: this is what lets compaction drop rounds (C-6, C-15).
func TestPropertyRoundsMayGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := []Message{User("start")}
		call := 0
		for n := range rapid.IntRange(1, 6).Draw(t, "replies") {
			var ids []string
			for part := range rapid.IntRange(1, 3).Draw(t, "parts") {
				m := Assistant(Thinking("", "s"), Text("x"))
				if part > 0 || rapid.Bool().Draw(t, "calls") {
					id := fmt.Sprint("t", call)
					call++
					b, err := ToolUse(id, "Read", nil)
					if err != nil {
						t.Fatal(err)
					}
					m.Content, ids = append(m.Content, b), append(ids, id)
				}
				m.ID = fmt.Sprint("m", n)
				ms = append(ms, m)
			}
			for _, id := range ids {
				ms = append(ms, UserBlocks(ToolResult(id, false, Text("r"))))
			}
			if len(ids) == 0 || rapid.Bool().Draw(t, "prompt") {
				ms = append(ms, User("more"))
			}
		}
		if v := Check(ms); v != nil {
			t.Fatalf("the test is wrong: %v", v)
		}
		rounds := Rounds(ms)
		gone := rapid.IntRange(1, len(rounds)-1).Draw(t, "gone")
		left := append(append([]Message{}, ms[:rounds[gone].Start]...), ms[rounds[gone].End:]...)
		if v := Check(left); v != nil {
			t.Fatalf("without round %d of %v: %v", gone, rounds, v)
		}
	})
}

// What a Decoder makes of messages is what ParseMessage makes of each, however many follow: nothing is written over.
func TestPropertyDecoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raws [][]byte
		for range rapid.IntRange(1, 6).Draw(t, "messages") {
			blocks := rapid.SliceOfN(rapid.Custom(drawBlock), 0, 3).Draw(t, "blocks")
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				blocks = append(blocks, Text(drawText.Draw(t, "text")+strings.Repeat("a\n", rapid.IntRange(0, maxText).Draw(t, "n"))))
			}
			raw := UserBlocks(blocks...).JSON()
			if rapid.IntRange(0, 4).Draw(t, "literal") == 0 {
				raw = []byte(`{"role":"user","content":` + drawLiteral(t) + `,"id":` + drawLiteral(t) + `,"model":` + drawLiteral(t) + `}`)
			}
			raws = append(raws, raw)
		}
		var d Decoder
		var got, want []*Message
		for i := range slabSize + len(raws) {
			raw := raws[i%len(raws)]
			m, err := d.Message(raw)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
			if i < len(raws) {
				w, err := ParseMessage(raw)
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, w)
			}
		}
		for i := range got {
			w := want[i%len(want)]
			sameMessage(t, got[i], w)
			if !bytes.Equal(got[i].JSON(), w.JSON()) {
				t.Fatalf("message %d: %s, want %s", i, got[i].JSON(), w.JSON())
			}
			if i < len(want) {
				checkUnicode(t, got[i].Content)
			}
		}
	})
}
