package llm

import (
	"encoding/json"
	"testing"

	"varve.dev/message"
)

func parsed(t *testing.T, raw string) Reply {
	t.Helper()
	m, err := message.ParseReply([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return Reply{Message: *m}
}

// TestStops: what every stop reason means to a caller (API.md 1.2).
func TestStops(t *testing.T) {
	for stop, kind := range map[string]Kind{
		StopEnd: "", StopMaxTokens: "", StopSequence: "", StopToolUse: "", StopPause: "", StopCompaction: "", "a_new_one": "",
		StopRefusal: KindRefusal, StopWindow: KindOverflow,
	} {
		r := parsed(t, `{"role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"`+stop+`"}`)
		r.StopDetails = json.RawMessage(`{"type":"refusal","category":"cyber","explanation":"not that"}`)
		err := r.Err()
		if (err == nil) != (kind == "") || err != nil && err.Kind != kind {
			t.Errorf("%s: %v", stop, err)
		}
		if stop == StopRefusal && (err.Code != "cyber" || err.Temporary()) {
			t.Errorf("%+v", err)
		}
	}
}

// TestSummary: C-5, a missing summary comes as HTTP 200 and is a failure.
func TestSummary(t *testing.T) {
	for _, c := range []struct {
		content string
		ok      bool
	}{
		{`[{"type":"compaction","content":"what happened","signature":"s"}]`, true},
		{`[{"type":"compaction","encrypted_content":"AAAA"}]`, true},
		{`[{"type":"compaction","content":null}]`, false},
		{`[{"type":"compaction","content":null,"encrypted_content":"AAAA"}]`, false},
		{`[{"type":"compaction","content":"  "}]`, false},
		{`[{"type":"text","text":"I cannot"}]`, false},
		{`[]`, false},
	} {
		r := parsed(t, `{"role":"assistant","content":`+c.content+`,"stop_reason":"compaction"}`)
		if b, ok := r.Summary(); ok != c.ok || ok && string(b.Raw) != c.content[1:len(c.content)-1] {
			t.Errorf("%s: %v %s", c.content, ok, b.Raw)
		}
	}
}

func TestEngineReply(t *testing.T) {
	r := parsed(t, `{"id":"msg_1","role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"bash","input":{}}],"stop_reason":"tool_use"}`)
	r.RequestID, r.AppliedEdits = "req_1", json.RawMessage(`[]`)
	e := r.Engine()
	if e.RequestID != "req_1" || e.ID != "msg_1" || string(e.AppliedEdits) != `[]` || len(r.Calls()) != 1 {
		t.Errorf("%+v", e)
	}
}
