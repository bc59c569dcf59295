package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The events of small streams, one a line. What whole streams become is tested in
// the adapter, over HTTP.
const (
	start      = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":12,"output_tokens":1}}}`
	stop       = `{"type":"message_stop"}`
	textEvents = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n" +
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}` + "\n" + `{"type":"content_block_stop","index":0}`
)

func callEvents(pieces ...string) string {
	out := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_0","name":"bash","input":{}}}` + "\n"
	for _, p := range pieces {
		out += fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":%q}}`, p) + "\n"
	}
	return out + `{"type":"content_block_stop","index":0}`
}

func ends(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":2}}`
}

// TestAccumulator shows that the streams the fuzzer starts from are understood.
func TestAccumulator(t *testing.T) {
	for _, c := range []struct{ stream, content string }{
		{start + "\n" + textEvents + "\n" + ends("end_turn") + "\n" + stop, `[{"type":"text","text":"a"}]`},
		{start + "\n" + callEvents(`{"a"`, `:1}`) + "\n" + ends("tool_use") + "\n" + stop, `[{"type":"tool_use","id":"toolu_0","name":"bash","input":{"a":1}}]`},
		{start + "\n" + callEvents(`{"a`) + "\n" + ends("max_tokens") + "\n" + stop, `[]`},
	} {
		var a Accumulator
		for line := range strings.SplitSeq(c.stream, "\n") {
			if _, err := a.Add("", []byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := a.Reply()
		if err != nil || !a.Done() || !strings.Contains(string(r.Message.Raw), `"content":`+c.content) {
			t.Errorf("%v %+v", err, r)
		}
	}
}

// FuzzAccumulate: no stream breaks the accumulator; what it accepts is a message
// whose raw bytes are JSON, and what it does not has a partial reply that can be
// read.
func FuzzAccumulate(f *testing.F) {
	f.Add([]byte(start + "\n" + textEvents + "\n" + ends("end_turn") + "\n" + stop))
	f.Add([]byte(start + "\n" + callEvents(`{"a"`, `:1}`) + "\n" + ends("tool_use") + "\n" + stop))
	f.Add([]byte(start + "\n" + callEvents(`{"a`) + "\n" + ends("max_tokens") + "\n" + stop))
	f.Add([]byte(start + "\n" + `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"\ud83d"}}` + "\n" + `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"\ude00"}}`))
	f.Add([]byte(`{"type":"message_start","message":{}}` + "\n" + stop))
	f.Add([]byte(`{"type":"error"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Accumulator
		for line := range strings.SplitSeq(string(data), "\n") {
			if _, err := a.Add("", []byte(line)); err != nil || a.Done() {
				break
			}
		}
		if p := a.Partial(); p != nil {
			for _, b := range p.Before {
				if !json.Valid(b.Raw) {
					t.Errorf("%q", b.Raw)
				}
			}
			_ = p.Committed()
		}
		if !a.Done() {
			return
		}
		if r, err := a.Reply(); err == nil && !json.Valid(r.Message.Raw) {
			t.Errorf("%q", r.Message.Raw)
		}
	})
}
