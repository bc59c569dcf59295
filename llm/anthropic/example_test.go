package anthropic_test

import (
	"context"
	"fmt"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/llm"
	"varve.dev/llm/anthropic"
	"varve.dev/message"
	"varve.dev/modelsim"
	"varve.dev/transcript"
)

// A conversation with a model: the engine prepares, the adapter sends, the engine
// records. The server is a scripted one here; without BaseURL it is Anthropic's.
func Example() {
	sim, err := modelsim.Start(modelsim.Config{Script: "default\n  say Hello to you.\n"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sim.Close()

	adapter := anthropic.New("your-key", "claude-opus-5-5")
	adapter.BaseURL = sim.URL
	model := llm.NewRetry(adapter)

	ctx := context.Background()
	c, _ := caps.Lookup("anthropic", "claude-opus-5-5")
	e := engine.New(engine.Memory(transcript.Stamp{SessionID: "s", Now: time.Now}), engine.Config{
		Caps: c, System: []byte(`"You are terse."`), Options: anthropic.Options{Thinking: "adaptive"}.JSON()})
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
		case ev.Kind == llm.Text:
			fmt.Print(ev.Text)
		case ev.Kind == llm.Done:
			fmt.Println()
			if _, err := e.RecordReply(ctx, req, ev.Reply.Engine()); err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(ev.Reply.Message.StopReason)
		}
	}
	// Output:
	// Hello to you.
	// end_turn
}
