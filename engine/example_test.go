package engine_test

import (
	"context"
	"fmt"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/message"
)

// myModel stands for a model of the embedder's own.
func myModel(f engine.Frame, ms []message.Message) (message.Message, error) {
	last := ms[len(ms)-1]
	return message.Assistant(message.Text(fmt.Sprintf("You said %q.", last.Content[0].Text))), nil
}

// An agent with a model of its own needs four calls. Without a summarizer the
// engine drops the oldest rounds when the window is full.
func Example() {
	ctx := context.Background()
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: caps.Window(128_000)})
	if err := e.Append(message.User("hello")); err != nil {
		fmt.Println(err)
		return
	}
	req, err := e.Prepare(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := myModel(req.Frame, req.Messages)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.Record(ctx, req, reply); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range e.View().Plain() {
		fmt.Printf("%s: %s\n", m.Role, m.Content[0].Text)
	}
	// Output:
	// user: hello
	// assistant: You said "hello".
}

// Context says what fills the window.
func ExampleEngine_Context() {
	e := engine.New(engine.Memory(clock()), engine.Config{Caps: caps.Window(128_000), System: []byte(`"You are terse."`)})
	if err := e.Append(message.User("What does main.go do?")); err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range e.Context().Parts {
		fmt.Println(p.Kind, p.Count)
	}
	// Output:
	// system 1
	// user text 1
}
