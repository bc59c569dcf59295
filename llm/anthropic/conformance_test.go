package anthropic

import (
	"fmt"
	"testing"

	"varve.dev/llm"
	"varve.dev/llm/internal/llmtest"
)

// TestConformance: the promises that every adapter keeps.
func TestConformance(t *testing.T) {
	const begin = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":12,"output_tokens":1}}}`
	said := textBlock(0, llmtest.SaidText[:7], llmtest.SaidText[7:])
	use := func(i int) string {
		return open(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%q,"input":{}}`, i, llmtest.Tool))
	}
	input := func(i int, text string) string {
		return delta(i, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, text))
	}
	one := []string{use(1), input(1, `{"path":`), input(1, `"one"}`), shut(1)}
	half := []string{use(2), input(2, `{"pa`)}
	scenes := map[llmtest.Scene][]string{
		llmtest.Answer:          join(begin, said, ends("end_turn", `,"usage":{"output_tokens":7}`), stop),
		llmtest.Calls:           join(begin, said, one, use(2), input(2, `{"path":"two"}`), shut(2), ends("tool_use", ""), stop),
		llmtest.CutCall:         join(begin, said, use(1), input(1, `{"pa`), shut(1), ends("max_tokens", ""), stop),
		llmtest.BrokenText:      join(begin, said[:2]),
		llmtest.BrokenCall:      join(begin, said, use(1), input(1, `{"pa`)),
		llmtest.BrokenAfterCall: join(begin, said, one, half),
		llmtest.OverloadInside:  join(begin, said[:2], `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		llmtest.OverflowInside:  {`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`},
	}
	wrap := func(kind, text string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, text)
	}
	llmtest.Run(t, llmtest.Provider{
		Model: func(url string) llm.Model {
			m := New(testKey, "claude-opus-5-5")
			m.BaseURL = url
			return m
		},
		Kind:  "text/event-stream",
		Write: func(s llmtest.Scene) string { return sse(scenes[s]...) },
		Errors: []llmtest.Failure{
			{Status: 400, Body: wrap("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), Kind: llm.KindOverflow},
			{Status: 400, Body: wrap("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), Kind: llm.KindSpend},
			{Status: 429, Body: wrap("rate_limit_error", "slow down"), Kind: llm.KindRateLimit},
			{Status: 529, Body: wrap("overloaded_error", "Overloaded"), Kind: llm.KindOverloaded},
		},
	})
}
