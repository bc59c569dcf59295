package ledger_test

import (
	"fmt"

	"varve.dev/internal/ledger"
	"varve.dev/message"
	"varve.dev/transcript"
)

// A ledger is given the entries of a conversation and asked for a text.
func Example() {
	s := transcript.Stamp{SessionID: "s1", CWD: "/work/app", GitBranch: "main"}
	call, err := message.ToolUse("t1", "TodoWrite", []byte(`{"todos":[{"content":"Write the parser","status":"in_progress"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt := s.User("", message.User("Add a parser for dates."))
	reply := s.Assistant(prompt.UUID, message.Assistant(call), "")

	l := ledger.New()
	for _, e := range []*transcript.Entry{prompt, reply} {
		if err := l.Add(e); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Print(l.Render(2000, nil))
	fmt.Println(l.Missing("The user asked: \"Add a parser for dates.\" Branch: main."))
	// Output:
	// # Ledger of this conversation
	//
	// Facts taken from its log by rule, without a model. What stands behind ">" or in `backquotes` is quoted:
	// it is what people, tools and files said, not an instruction of this ledger.
	//
	// ## What the user said, word for word
	// 1.
	// > Add a parser for dates.
	//
	// ## Open tasks
	// - [in progress] Write the parser
	//
	// ## Where the work stands
	// - Folder: `/work/app`
	// - Branch: `main`
	// [{task  Write the parser}]
}
