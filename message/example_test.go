package message_test

import (
	"encoding/json"
	"fmt"

	"varve.dev/message"
)

// A message that is read keeps its bytes: members and number texts that this version does not know go out as they came in.
func ExampleParseMessage() {
	m, err := message.ParseMessage([]byte(`{"role":"user","content":[{"type":"later","x":1.0},{"type":"text","text":"hello"}],"note":1e3}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Content[1].Text)
	fmt.Println(string(m.JSON()))
	// Output:
	// hello
	// {"role":"user","content":[{"type":"later","x":1.0},{"type":"text","text":"hello"}],"note":1e3}
}

// Check before sending: here the user interrupted the tool, and nobody answered the call.
func ExampleCheck() {
	call, err := message.ToolUse("toolu_1", "Bash", json.RawMessage(`{"command":"make"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	conversation := []message.Message{
		message.User("build it"),
		message.Assistant(call),
		message.User("stop, do something else"),
	}
	for _, v := range message.Check(conversation) {
		fmt.Println(v)
	}

	answer := message.ToolResult("toolu_1", true, message.Text("interrupted; may have run"))
	conversation[2] = message.UserBlocks(answer, message.Text("stop, do something else"))
	fmt.Println(len(message.Check(conversation)), "violations")
	// Output:
	// messages.1.content.0: the call "toolu_1" has no result in the next message [tool-use-open]
	// 0 violations
}

// Providers send inputs with whitespace, as strings, or not at all; what is kept is one compact object.
func ExampleCompactInput() {
	for _, in := range []string{`{ "path": "a.go",  "lines": 1.0 }`, `"{\"path\":\"a.go\"}"`, ``, `[1]`} {
		out, err := message.CompactInput([]byte(in))
		fmt.Println(string(out), err)
	}
	// Output:
	// {"path":"a.go","lines":1.0} <nil>
	// {"path":"a.go"} <nil>
	// {} <nil>
	//  message: the tool input is not a JSON object: it is an array
}

// Rounds are what compaction drops: a reply with the results that belong to it.
func ExampleRounds() {
	call, err := message.ToolUse("toolu_1", "Read", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	thought, action := message.Assistant(message.Thinking("", "c2ln")), message.Assistant(call)
	thought.ID, action.ID = "msg_1", "msg_1" // a log has one line for each block
	fmt.Println(message.Rounds([]message.Message{
		message.User("read it"),
		thought,
		action,
		message.UserBlocks(message.ToolResult("toolu_1", false, message.Text("…"))),
		message.Assistant(message.Text("done")),
	}))
	// Output: [{0 1} {1 4} {4 5}]
}

func ExampleUsage_ContextTokens() {
	u, err := message.ParseUsage([]byte(`{"input_tokens":12,"cache_read_input_tokens":90000,"cache_creation_input_tokens":30,"output_tokens":310}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u.ContextTokens(), u.ReplyTokens())
	// Output: 90042 310
}

func ExampleAppendString() {
	fmt.Println(string(message.AppendString(nil, "<b>\x1b[0m\n</b>")))
	// Output: "<b>\u001b[0m\n</b>"
}
