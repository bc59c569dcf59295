package compact_test

import (
	"context"
	"fmt"
	"testing"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
)

// G-1: a conversation of thousands of messages of one word fits like any other.
func TestThousandsOfTinyMessages(t *testing.T) {
	ctx := context.Background()
	rungs := map[string]int{}
	var said []string
	ladder := &compact.Ladder{Observe: func(e compact.Event) { said = append(said, fmt.Sprintf("%s %s: %s", e.Rung, e.Kind, e.Detail)) }}
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: caps.Window(8_000), NoUsage: true, Ladder: ladder, Observe: func(ev engine.Event) {
		if ev.Kind == engine.Compacted {
			rungs[ev.Rung]++
		}
	}})
	for i := range 900 {
		must(t, e.Append(message.User("d")))
		req, err := e.Prepare(ctx)
		if err != nil {
			t.Fatalf("request %d: %v; the ladder said %q", i, err, said[max(len(said)-6, 0):])
		}
		reply := message.Assistant(message.Text("d"))
		reply.ID = fmt.Sprintf("m%d", i)
		must(t, e.Record(ctx, req, reply))
	}
	if rungs["ledger"] == 0 || rungs["ledger"] > 20 {
		t.Errorf("rungs %v", rungs)
	}
}
