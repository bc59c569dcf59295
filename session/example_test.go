package session_test

import (
	"context"
	"fmt"
	"os"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/session"
)

// A session on disk is the store of an engine.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "varve-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	st, err := session.OpenStore(session.Home{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := st.Create(ctx, session.Project("."))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)
	e := engine.New(s, engine.Config{Caps: caps.Window(128_000)})
	if err := e.Append(message.User("hello")); err != nil {
		fmt.Println(err)
		return
	}
	req, err := e.Prepare(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(req.Messages), "message to send")
	// Output: 1 message to send
}
