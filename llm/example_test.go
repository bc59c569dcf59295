package llm_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/llm"
	"varve.dev/message"
	"varve.dev/transcript"
)

// A model of your own is a function. Wrapped in the retry policy it is asked
// again when it is overloaded, and every repetition is an event.
func Example() {
	asked := 0
	own := llm.Func(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if asked++; asked == 1 {
				yield(llm.Event{}, llm.Classify(llm.Failure{Status: 529, Type: "overloaded_error", Message: "Overloaded"}))
				return
			}
			text := fmt.Sprintf("I was sent %d message.", len(req.Messages))
			yield(llm.Event{Kind: llm.Done, Reply: &llm.Reply{Message: message.Assistant(message.Text(text))}}, nil)
		}
	})
	model := llm.NewRetry(own)
	model.Base = time.Millisecond

	ctx := context.Background()
	e := engine.New(engine.Memory(transcript.Stamp{SessionID: "s", Now: time.Now}), engine.Config{Caps: caps.Window(128_000)})
	if err := e.Append(message.User("hello")); err != nil {
		fmt.Println(err)
		return
	}
	req, err := e.Prepare(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range model.Stream(ctx, llm.Of(req)) {
		switch {
		case err != nil:
			fmt.Println(err)
			return
		case ev.Kind == llm.Retrying:
			fmt.Println("attempt", ev.Attempt, "failed:", ev.Err)
		case ev.Kind == llm.Done:
			fmt.Println(ev.Reply.Message.Content[0].Text)
			if _, err := e.RecordReply(ctx, req, ev.Reply.Engine()); err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output:
	// attempt 1 failed: overloaded 529 overloaded_error: Overloaded
	// I was sent 1 message.
}
