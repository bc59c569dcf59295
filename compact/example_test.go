package compact_test

import (
	"context"
	"fmt"
	"strings"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
)

// Without a summarizer the ledger stands in: any conversation fits any window
// without a model.
func ExampleLadder() {
	ctx := context.Background()
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: caps.Window(8_000), Ladder: &compact.Ladder{}})
	for i := range 20 {
		if err := e.Append(message.User(fmt.Sprintf("task %d: %s", i, strings.Repeat("details ", 400)))); err != nil {
			fmt.Println(err)
			return
		}
		req, err := e.Prepare(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if req.Tokens > req.Budget.Effective {
			fmt.Println("too large")
		}
		m := message.Assistant(message.Text("done"))
		m.ID = fmt.Sprint("m", i)
		if err := e.Record(ctx, req, m); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("compacted:", e.View().Boundary != nil)
	// Output: compacted: true
}
