package modelsim_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"varve.dev/modelsim"
)

// A client that forgets the result of a call is told so, and what it did is on record.
func Example() {
	sim, err := modelsim.Start(modelsim.Config{Script: `
turn
  call read {"path":"go.mod"}
default
  say Thank you.
`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sim.Close()
	body := `{"model":"claude-opus-5-5","max_tokens":1000,"tools":[{"name":"read","input_schema":{"type":"object"}}],"messages":[
		{"role":"user","content":"read it"},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"go.mod"}}]},
		{"role":"user","content":"and then?"}]}`
	req, _ := http.NewRequest("POST", sim.URL+"/v1/messages", strings.NewReader(body))
	req.Header = http.Header{"X-Api-Key": {"any"}, "Anthropic-Version": {"2026-10-21"}, "Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, strings.Contains(string(answer), "ids were found without `tool_result` blocks immediately after"))
	for _, v := range sim.Violations() {
		fmt.Println(v.Rule, v.Path)
	}
	// Output:
	// 400 true
	// tool-use-open messages.1.content.0
}
