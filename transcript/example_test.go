package transcript_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/transcript/lease"
)

// Two entries are appended durably and read again as a conversation.
func Example() {
	dir, err := os.MkdirTemp("", "transcript")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "5f0c.jsonl")
	ctx := context.Background()

	w, err := transcript.OpenWriter(path, transcript.WriterOptions{Lease: lease.New(path, lease.Options{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	stamp := transcript.Stamp{SessionID: "5f0c", CWD: dir, Version: "1.0.0"}
	ask := stamp.User("", message.User("Which day comes after 28 February 2027?"))
	answer := stamp.Assistant(ask.UUID, message.Assistant(message.Text("1 March.")), "")
	fmt.Println("append:", w.Append(ask, answer)) // queued
	fmt.Println("sync:", w.Sync(ctx))             // on disk: a power loss takes nothing of it
	fmt.Println("close:", w.Close(ctx))           // drained, the lease released

	l, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for _, e := range l.Chain(l.Tip()).Entries {
		m, err := e.Message()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.Role, m.Content[0].Text)
	}
	// Output:
	// append: <nil>
	// sync: <nil>
	// close: <nil>
	// user Which day comes after 28 February 2027?
	// assistant 1 March.
}

// A log with a line that was torn by a crash is read around it, and the damage
// is named.
func ExampleReadFile() {
	l, err := transcript.ReadFile(context.Background(), filepath.Join("..", "docs", "example.jsonl"), transcript.ReadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for _, f := range l.Faults {
		fmt.Printf("line %d: %s: %s\n", f.Line, f.Kind, f.Detail)
	}
	fmt.Println(len(l.Chain(l.Tip()).Entries), "entries lead to the tip")
	// Output:
	// line 4: torn: the record breaks off; skipped
	// 4 entries lead to the tip
}
