package view_test

import (
	"bytes"
	"context"
	"fmt"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// A log that ends in a call without a result, as a crash leaves it, still gives
// messages that the API accepts; what was answered for it is said.
func Example() {
	stamp := transcript.Stamp{SessionID: "5f0c", CWD: "/home/alice/parser", Version: "1.0.0"}
	call, err := message.ToolUse("toolu_01", "Bash", []byte(`{"command":"make test"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	ask := stamp.User("", message.User("Run the tests."))
	reply := stamp.Assistant(ask.UUID, message.Assistant(call), "")
	var file []byte
	for _, e := range []*transcript.Entry{ask, reply} {
		raw, err := e.Raw()
		if err != nil {
			fmt.Println(err)
			return
		}
		file = append(append(file, raw...), '\n')
	}

	log, err := transcript.Read(context.Background(), bytes.NewReader(file), int64(len(file)), transcript.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := view.Of(view.Input{Chain: log.Chain(log.Tip()), Facts: view.FactsOf(log)})
	for _, m := range v.Messages {
		fmt.Println(m.Role, m.Blocks[0].Type)
	}
	for _, r := range v.Repairs {
		fmt.Println(r.Kind)
	}
	// Output:
	// user text
	// assistant tool_use
	// user tool_result
	// missing-result
}
