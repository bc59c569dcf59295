package tokens_test

import (
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/tokens"
)

func ExampleText() {
	fmt.Println(tokens.Text("Read the file and fix the failing test."))
	fmt.Println(tokens.Text("读取文件并修复失败的测试。"))
	fmt.Println(tokens.Text(`{"id":12345,"ok":true,"name":"alpha"}`))
	// Output:
	// 9
	// 10
	// 14
}

func ExampleMeter() {
	m := tokens.Meter{Weight: tokens.NewWeight(1.2), Fixed: 5_000, Window: 200_000}
	m.Append(message.User("What is in the log?"))

	// The reply came with usage: from here on the size is measured.
	reply := message.Assistant(message.Text("I will look."))
	reply.ID, reply.Usage = "msg_1", &message.Usage{InputTokens: 8, CacheReadTokens: 6_200, OutputTokens: 40}
	m.Append(reply)
	fmt.Println(m.Reading().Measured, m.Reading().Estimated)

	// What is appended since is estimated, with the weight that the usage taught.
	m.Append(message.User(strings.Repeat("line of the log\n", 500)))
	r := m.Reading()
	fmt.Println(r.Total > 8_000, r.Total < 9_500)

	budget := tokens.Budget{Window: 200_000, MaxOutput: 64_000}.Thresholds()
	fmt.Println(budget.State(r.Total), budget.Left(r.Total) > 150_000)
	// Output:
	// 6248 0
	// true true
	// fine true
}

func ExampleBudget() {
	t := tokens.Budget{Window: 200_000, MaxOutput: 64_000}.Thresholds()
	fmt.Println(t.Effective, t.Auto, t.Warning, t.Blocking)

	b, notices := tokens.Overrides{Window: "200k", WindowName: "VARVE_WINDOW"}.Apply(tokens.Budget{Window: 1_000_000})
	fmt.Println(b.Thresholds().Effective, notices)
	// Output:
	// 180000 167000 147000 177000
	// 980000 [VARVE_WINDOW is "200k" and was ignored: give a whole number of tokens, at least 4000]
}
