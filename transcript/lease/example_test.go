package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"varve.dev/transcript/lease"
)

// A writer asks before each write, and the second writer is refused.
func Example() {
	dir, err := os.MkdirTemp("", "lease")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "5c1e.jsonl")

	mine := lease.New(path, lease.Options{Kind: "interactive"})
	if err := mine.Acquire(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	log, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer log.Close()
	fmt.Println("may write at 0:", mine.Verify(log, 0) == nil)

	other := lease.New(path, lease.Options{})
	fmt.Println("second writer refused:", errors.Is(other.Acquire(context.Background()), lease.ErrBusy))

	fmt.Fprintln(log, "somebody else's line") // not counted by the writer
	fmt.Println("moved:", errors.Is(mine.Verify(log, 0), lease.ErrMoved))
	fmt.Println("released:", mine.Release())
	// Output:
	// may write at 0: true
	// second writer refused: true
	// moved: true
	// released: <nil>
}
