package message_test

import (
	"testing"

	"varve.dev/message"
)

// TestReplaceText: R-3. The text of a result is replaced, images and every other byte of it stay.
func TestReplaceText(t *testing.T) {
	rows := []struct{ in, want string }{
		{`{"type":"tool_result","content":"long","tool_use_id":"x","n":1.0}`, `{"type":"tool_result","content":"short","tool_use_id":"x","n":1.0}`},
		{`{"tool_use_id":"x","type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}],"is_error":true}`,
			`{"tool_use_id":"x","type":"tool_result","content":[{"type":"text","text":"short"},{"type":"image","source":{}}],"is_error":true}`},
		{`{"tool_use_id":"x","type":"tool_result"}`, `{"tool_use_id":"x","type":"tool_result","content":"short"}`},
		{`{"tool_use_id":"x","type":"tool_result","content":[{"type":"image","source":{}}]}`,
			`{"tool_use_id":"x","type":"tool_result","content":[{"type":"text","text":"short"},{"type":"image","source":{}}]}`},
	}
	for _, row := range rows {
		b, err := message.ParseBlock([]byte(row.in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(message.ReplaceText(b, "short").Raw); got != row.want {
			t.Errorf("%s\n got %s\nwant %s", row.in, got, row.want)
		}
	}
}
