package modelsim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// a request with one thing wrong with it.
type wrong struct {
	name     string
	body     string // "" is a good request of model with extra
	model    string
	messages []string
	extra    string
	betas    string
	change   func(*http.Request)
	path     string
	status   int // 0 means 400
	rule     string
	says     string // part of the message
}

const (
	call1   = `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{}}]}`
	mixed   = `{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}},{"type":"tool_use","id":"toolu_1","name":"read","input":{}}]}`
	result1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]}`
)

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
}

// wrongs has a case for each rule of this package and for each invariant of API.md 1.5 (numbers in parentheses) that does not need
// history; reasoning and compaction have tests of their own.
var wrongs = []wrong{
	{name: "no key", change: header("X-Api-Key", ""), status: 401, rule: "auth", says: "x-api-key"},
	{name: "no version", change: header("Anthropic-Version", ""), rule: "header", says: "anthropic-version"},
	{name: "unknown version", change: header("Anthropic-Version", "2020-01-01"), rule: "header", says: "not a valid version"},
	{name: "no content type", change: header("Content-Type", "text/plain"), rule: "header", says: "content-type"},
	{name: "unknown beta", betas: "whatever", rule: "beta-unknown", says: "Unexpected value(s) `whatever`"},
	{name: "not JSON", body: `{"model":`, rule: "json", says: "not valid JSON"},
	{name: "member twice", body: `{"model":"claude-opus-5-5","model":"x","max_tokens":1,"messages":[]}`, rule: "json"},
	{name: "no messages", body: `{"model":"claude-opus-5-5","max_tokens":1}`, rule: "field no-messages", says: "messages: Field required"},
	{name: "messages no array", body: `{"model":"claude-opus-5-5","max_tokens":1,"messages":{}}`, rule: "field", says: "messages"},
	{name: "unknown member", extra: `"foo":1`, rule: "field", says: "foo: Extra inputs are not permitted"},
	{name: "no max_tokens", body: `{"model":"claude-opus-5-5","messages":[` + user("x") + `]}`, rule: "field", says: "max_tokens: Field required"},
	{name: "negative max_tokens", body: `{"model":"claude-opus-5-5","max_tokens":-1,"messages":[` + user("x") + `]}`, rule: "field"},
	{name: "streamed warming", body: `{"model":"claude-opus-5-5","max_tokens":0,"stream":true,"messages":[` + user("x") + `]}`, rule: "field", says: "warms"},
	{name: "too many max_tokens", body: `{"model":"claude-opus-5-5","max_tokens":128001,"messages":[` + user("x") + `]}`, rule: "max-tokens", says: "128001 > 128000, which is the maximum allowed number of output tokens"},
	{name: "no model", body: `{"max_tokens":1,"messages":[` + user("x") + `]}`, rule: "field", says: "model: Field required"},
	{name: "unknown model", model: "claude-opus-9", status: 404, rule: "model", says: "claude-opus-9"},
	{name: "stream no boolean", extra: `"stream":1`, rule: "field", says: "stream"},
	{name: "blank stop sequence", extra: `"stop_sequences":[" "]`, rule: "field", says: "stop_sequences.0"},
	{name: "long user", extra: `"metadata":{"user_id":"` + strings.Repeat("x", 257) + `"}`, rule: "field", says: "user_id"},
	{name: "temperature", extra: `"temperature":0.5`, rule: "sampling", says: "temperature"},
	{name: "default temperature in the new version", model: "claude-sonnet-4-5", extra: `"temperature":1`, change: header("Anthropic-Version", version2026), rule: "sampling", says: "Extra inputs"},
	{name: "document of the assistant", messages: []string{user("x"), `{"role":"assistant","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]}`, user("y")}, change: header("Anthropic-Version", version2026), rule: "block-role"},
	{name: "citations of the user", messages: []string{`{"role":"user","content":[{"type":"text","text":"x","citations":[{}]}]}`}, change: header("Anthropic-Version", version2026), rule: "field", says: "citations"},
	{name: "manual thinking (11)", extra: `"thinking":{"type":"enabled","budget_tokens":2000}`, rule: "thinking-mode", says: `"thinking.type.enabled" is not supported for this model`},
	{name: "adaptive thinking (11)", model: "claude-sonnet-4-5", extra: `"thinking":{"type":"adaptive"}`, rule: "thinking-mode", says: "adaptive thinking is not supported on this model"},
	{name: "unknown thinking", extra: `"thinking":{"type":"hard"}`, rule: "thinking-mode"},
	{name: "small budget", model: "claude-sonnet-4-5", extra: `"thinking":{"type":"enabled","budget_tokens":100}`, rule: "thinking-budget", says: "1024"},
	{name: "budget over max_tokens", model: "claude-sonnet-4-5", extra: `"thinking":{"type":"enabled","budget_tokens":9000}`, rule: "thinking-budget", says: "`max_tokens` must be greater than"},
	{name: "effort", extra: `"output_config":{"effort":"extreme"}`, rule: "effort"},
	{name: "task budget", extra: `"output_config":{"task_budget":{}}`, rule: "beta-missing", says: "task-budgets-2026-03-13"},
	{name: "fallbacks", extra: `"fallbacks":[]`, rule: "beta-missing"},
	{name: "MCP servers", extra: `"mcp_servers":[]`, rule: "beta-missing"},
	{name: "binding without beta", extra: `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}}`, rule: "beta-missing", says: "thinking.block_binding: Extra inputs are not permitted"},
	{name: "unknown binding", betas: "thinking-binding-controls-2026-08-01", extra: `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"maybe"}}`, rule: "thinking-mode"},
	{name: "editing without beta", extra: `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, rule: "beta-missing", says: "context_management: Extra inputs"},
	{name: "unknown edit", extra: `"context_management":{"edits":[{"type":"clear_all"}]}`, betas: "context-management-2025-06-27", rule: "edit"},
	{name: "edits out of order", extra: `"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}]}`, betas: "context-management-2025-06-27", rule: "edit", says: "must be the first edit"},
	{name: "low trigger", extra: `"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":49999}}]}`, betas: betaThreshold, rule: "edit", says: "50000"},
	{name: "threshold compaction of an old model", model: "claude-sonnet-4-5", extra: `"context_management":{"edits":[{"type":"compact_20260112"}]}`, betas: betaThreshold, rule: "edit"},
	{name: "summary without beta", extra: `"compaction":{"type":"summarize"}`, rule: "beta-missing"},
	{name: "tool without schema", extra: `"tools":[{"name":"x"}]`, rule: "tool-schema", says: "tools.0.custom.input_schema: Field required"},
	{name: "schema no object", extra: `"tools":[{"name":"x","input_schema":{"type":"string"}}]`, rule: "tool-schema"},
	{name: "tool name", extra: `"tools":[{"name":"a b","input_schema":{"type":"object"}}]`, rule: "tool-name"},
	{name: "tool name twice", extra: `"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`, rule: "tool-name-repeated", says: "Tool names must be unique"},
	{name: "choice without tools", extra: `"tool_choice":{"type":"auto"}`, rule: "tool-choice"},
	{name: "choice of nothing", extra: aTool + `,"tool_choice":{"type":"some"}`, rule: "tool-choice"},
	{name: "choice of an unknown tool", model: "claude-opus-5", extra: aTool + `,"tool_choice":{"type":"tool","name":"x"}`, rule: "tool-choice", says: "Tool 'x' not found"},
	{name: "forced (11)", extra: aTool + `,"tool_choice":{"type":"any"}`, rule: "tool-choice", says: "not supported on this model"},
	{name: "forced with manual thinking (11)", model: "claude-sonnet-4-5", extra: aTool + `,"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":2000}`, rule: "tool-choice"},
	{name: "cache mark", messages: []string{`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"forever"}}]}`}, rule: "cache-control"},
	{name: "cache lifetime", messages: []string{`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"2h"}}]}`}, rule: "cache-control", says: "2h"},
	{name: "unknown block", messages: []string{`{"role":"user","content":[{"type":"video"}]}`}, rule: "block-type", says: "Input tag 'video'"},
	{name: "unknown member of a block", messages: []string{`{"role":"user","content":[{"type":"text","text":"x","id":1}]}`}, rule: "field", says: "messages.0.content.0.text.id"},
	{name: "unknown member of a message", messages: []string{`{"role":"user","content":"x","uuid":"1"}`}, rule: "field", says: "messages.0.uuid"},
	{name: "no content", messages: []string{`{"role":"user"}`}, rule: "empty-content field"},
	{name: "image as system text", extra: `"system":[{"type":"image"}]`, rule: "block-type image-type"},
	{name: "block inside a result", messages: []string{user("x"), call1, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"video"}]}]}`}, rule: "result-content"},
	{name: "result without id", messages: []string{user("x"), call1, result1, user("y"), `{"role":"user","content":[{"type":"tool_result"}]}`}, rule: "field result-orphan result-order"},
	{name: "tool change without beta", messages: []string{user("x"), `{"role":"system","content":[{"type":"tool_addition","tool":{"name":"x"}}]}`}, rule: "beta-missing"},
	{name: "clear_at without beta", messages: []string{user("x"), `{"role":"system","content":"y","clear_at":"next_user_message"}`}, rule: "beta-missing"},
	{name: "effort of a message without beta", messages: []string{user("x"), `{"role":"system","content":[],"output_config":{"effort":"low"}}`}, rule: "beta-missing"},

	{name: "open call (1)", messages: []string{user("x"), call1, user("y")}, rule: "tool-use-open", says: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
	{name: "orphan (2)", messages: []string{user("x"), assistant("y"), result1}, rule: "result-orphan", says: "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
	{name: "id twice (3)", messages: []string{user("x"), call1, result1, call1, result1}, rule: "tool-use-repeated", says: "`tool_use` ids must be unique"},
	{name: "result not first (4)", messages: []string{user("x"), call1, user("y"), result1}, rule: "result-order"},
	{name: "empty text (5)", messages: []string{`{"role":"user","content":""}`}, rule: "empty-text", says: "text content blocks must be non-empty"},
	{name: "blank text (5)", messages: []string{user(" \n")}, rule: "empty-text"},
	{name: "empty message (5)", messages: []string{`{"role":"user","content":[]}`}, rule: "empty-content"},
	{name: "five marks (6)", messages: []string{`{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5), ",") + `]}`}, rule: "cache-control-count", says: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
	{name: "four marks and automatic caching (6)", extra: `"cache_control":{"type":"ephemeral"}`, messages: []string{`{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4), ",") + `]}`}, rule: "cache-control-count"},
	{name: "marks out of order", extra: `"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]`, messages: []string{`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`}, rule: "cache-control-order"},
	{name: "prefill (7)", messages: []string{user("x"), assistant("y")}, rule: "prefill", says: "This model does not support assistant message prefill. The conversation must end with a user message."},
	{name: "manual thinking without thinking (8)", model: "claude-sonnet-4-5", extra: aTool + `,"thinking":{"type":"enabled","budget_tokens":2000}`, messages: []string{user("x"), call1, result1}, rule: "thinking-first"},
	{name: "foreign reasoning (10)", messages: []string{user("x"), `{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"c2ln"},{"type":"text","text":"y"}]}`, user("z")}, rule: "thinking-signature", says: "messages.1.content.0: Invalid `signature` in `thinking` block"},
	{name: "foreign redacted reasoning (10)", messages: []string{user("x"), `{"role":"assistant","content":[{"type":"redacted_thinking","data":"c2ln"},{"type":"text","text":"y"}]}`, user("z")}, rule: "thinking-signature", says: "Invalid `data` in `redacted_thinking` block"},
	{name: "text in a mixed turn (12)", messages: []string{user("x"), mixed, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"},{"type":"text","text":"and"}]}`}, rule: "mixed-turn", says: "messages.2.content.1: a server_tool_use block is still open"},
	{name: "lone surrogate (13)", messages: []string{`{"role":"user","content":"\ud800"}`}, rule: "unicode"},
	{name: "assistant first", messages: []string{assistant("x"), user("y")}, rule: "first-role", says: "first message must use the user role"},
	{name: "system first", messages: []string{`{"role":"system","content":"x"}`, user("y")}, rule: "first-role system-position"},
	{name: "system inside, old model", model: "claude-sonnet-4-5", messages: []string{user("x"), `{"role":"system","content":"y"}`}, rule: "system-unsupported"},
	{name: "count: sampling", path: "/v1/messages/count_tokens", body: `{"model":"claude-opus-5-5","max_tokens":1,"messages":[` + user("x") + `]}`, rule: "field", says: "max_tokens"},
	{name: "count: pairs", path: "/v1/messages/count_tokens", body: `{"model":"claude-opus-5-5","messages":[` + user("x") + "," + call1 + "," + user("y") + `]}`, rule: "tool-use-open"},
}

// TestRules: each rule is found, named, refused in the API's words, and uses no turn of the script.
func TestRules(t *testing.T) {
	for _, w := range wrongs {
		t.Run(w.name, func(t *testing.T) {
			c := newClient(t, Config{Script: "turn\n say first\ndefault\n say other\n"})
			if w.betas != "" {
				c.betas = []string{w.betas}
			}
			model, messages := w.model, w.messages
			if model == "" {
				model = "claude-opus-5-5"
			}
			if messages == nil {
				messages = []string{user("x")}
			}
			body, path, status := w.body, w.path, w.status
			if body == "" {
				body = request(model, messages, w.extra)
			}
			if path == "" {
				path = "/v1/messages"
			}
			if status == 0 {
				status = 400
			}
			a := c.do(path, body, w.change)
			if a.status != status || a.o.str("type") != "error" || a.o.obj("error").str("type") != errorType(status) || a.o.str("request_id") == "" || a.header.Get("Request-Id") != a.o.str("request_id") {
				t.Errorf("status %d: %s", a.status, a.body)
			}
			if got := rules(c.sim.Violations()); !sameWords(got, w.rule) {
				t.Errorf("rules %q, want %q: %v", got, w.rule, c.sim.Violations())
			}
			if !strings.Contains(a.errorMessage(), w.says) {
				t.Errorf("message %q, want %q in it", a.errorMessage(), w.says)
			}
			c.betas = nil
			if got := c.send("claude-opus-5-5", []string{user("good")}, "").text(); got != "first" {
				t.Errorf("the next good request is answered %q", got)
			}
		})
	}
}

func sameWords(a, b string) bool {
	left, right := map[string]bool{}, map[string]bool{}
	for _, w := range strings.Fields(a) {
		left[w] = true
	}
	for _, w := range strings.Fields(b) {
		right[w] = true
	}
	return fmt.Sprint(left) == fmt.Sprint(right)
}

// TestGood: what the API takes is taken, in both versions.
func TestGood(t *testing.T) {
	c := newClient(t, Config{})
	c.betas = []string{"mid-conversation-system-clear-at-2026-08-21", "mid-conversation-tool-changes-2026-07-01", "mid-conversation-output-config-2026-07-01", "claude-code-20250219", "compact-2026-09-04"}
	for name, w := range map[string]wrong{
		"bearer":                 {change: func(r *http.Request) { r.Header.Del("X-Api-Key"); r.Header.Set("Authorization", "Bearer x") }},
		"new version":            {change: header("Anthropic-Version", version2026)},
		"charset":                {change: header("Content-Type", "application/json; charset=utf-8")},
		"default temperature":    {extra: `"temperature":1`},
		"old model, sampling":    {model: "claude-sonnet-4-5", extra: `"temperature":0.3,"top_p":0.9`},
		"old model, prefill":     {model: "claude-sonnet-4-5", messages: []string{user("x"), assistant("{")}},
		"old model, thinking":    {model: "claude-sonnet-4-5", extra: `"thinking":{"type":"enabled","budget_tokens":2000}`},
		"consecutive users":      {messages: []string{user("x"), user("y")}},
		"a mixed turn":           {messages: []string{user("x"), mixed, result1}},
		"a mixed turn, ended":    {messages: []string{user("x"), strings.Replace(mixed, `}},{`, `}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{`, 1), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"},{"type":"text","text":"and"}]}`}},
		"text after results":     {messages: []string{user("x"), call1, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true},{"type":"text","text":"go on"}]}`}},
		"system after results":   {messages: []string{user("x"), call1, result1, `{"role":"system","content":"be brief"}`}},
		"system for a turn":      {messages: []string{user("x"), `{"role":"system","content":"be brief","clear_at":"next_user_message"}`}},
		"effort for what comes":  {messages: []string{user("x"), `{"role":"system","content":[],"output_config":{"effort":"low"}}`}},
		"a tool added":           {messages: []string{user("x"), `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"x"}}]}`}},
		"a server's tool":        {extra: `"tools":[{"type":"web_search_20260209","name":"web_search"}]`},
		"null members":           {extra: `"system":null,"tools":null,"thinking":null,"compaction":null`},
		"a result with pictures": {messages: []string{user("x"), call1, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"url","url":"u"}}]}]}`}},
		"everything else":        {extra: aTool + `,"tool_choice":{"type":"auto"},"stop_sequences":["END"],"metadata":{"user_id":"u"},"service_tier":"auto","thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"},"diagnostics":{"previous_message_id":null}`},
	} {
		if w.messages == nil {
			w.messages = []string{user("x")}
		}
		if w.model == "" {
			w.model = "claude-opus-5-5"
		}
		if a := c.do("/v1/messages", request(w.model, w.messages, w.extra), w.change); a.status != 200 {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if v := c.sim.Violations(); len(v) > 0 {
		t.Errorf("%v", v)
	}
}

// TestLenient: violations are counted and answered; what cannot be answered is refused nevertheless.
func TestLenient(t *testing.T) {
	c := newClient(t, Config{Lenient: true})
	if a := c.send("claude-opus-5-5", []string{user("x"), call1, user("y")}, `"foo":1`); a.status != 200 || a.text() != "y" {
		t.Errorf("%s", a.body)
	}
	if got := rules(c.sim.Violations()); got != "field tool-use-open" {
		t.Errorf("%q", got)
	}
	for _, body := range []string{`{`, `{"model":"no-such","max_tokens":1,"messages":[` + user("x") + `]}`, `{"model":"claude-opus-5-5","max_tokens":1,"messages":[]}`} {
		if a := c.post("/v1/messages", body); a.status < 400 {
			t.Errorf("%s: %d", body, a.status)
		}
	}
	c.key = ""
	if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.status != 401 {
		t.Errorf("%d", a.status)
	}
}

// TestPaths: other paths and methods are refused and no violation; a body over the limit is refused with 413, before all else.
func TestPaths(t *testing.T) {
	c := newClient(t, Config{Models: map[string]Model{"mine": {Window: 64_000}}})
	if a := c.post("/v1/other", "{}"); a.status != 404 {
		t.Errorf("%d", a.status)
	}
	if a := c.do("/v1/messages", "", func(r *http.Request) { r.Method = http.MethodGet }); a.status != 405 {
		t.Errorf("%d", a.status)
	}
	get := func(r *http.Request) { r.Method = http.MethodGet }
	if a := c.do("/v1/models/mine", "", get); a.status != 200 || !strings.Contains(string(a.body), `"max_input_tokens":64000`) {
		t.Errorf("%s", a.body)
	}
	if a := c.do("/v1/models/none", "", get); a.status != 404 {
		t.Errorf("%s", a.body)
	}
	if a := c.do("/v1/models", "", get); a.status != 200 || !strings.Contains(string(a.body), `"id":"mine"`) || !strings.Contains(string(a.body), `"id":"claude-opus-5-5"`) {
		t.Errorf("%s", a.body)
	}
	if v := c.sim.Violations(); len(v) > 0 {
		t.Errorf("%v", v)
	}
	if a := c.send("claude-opus-5-5", []string{user(strings.Repeat("x", 33_000_000))}, ""); a.status != 413 || a.o.obj("error").str("type") != "request_too_large" {
		t.Errorf("%d %s", a.status, a.errorMessage())
	}
}

// elsewhere are the tests of what API.md 1.5 and 1.6 demand and a single request cannot show: it needs reasoning that was made here.
var elsewhere = map[int]func(*testing.T){
	9:  TestBinding, // reasoning of the latest reply that is not as it was
	10: TestBinding, // the place of reasoning, API 1.6; foreign reasoning is in the table
}

// TestInvariantsHaveCases: each of the 13 invariants of API.md 1.5 has a case that is refused; none can be lost unnoticed.
func TestInvariantsHaveCases(t *testing.T) {
	for n := 1; n <= 13; n++ {
		mark := fmt.Sprintf("(%d)", n)
		in := func(w wrong) bool { return strings.Contains(w.name, mark) }
		if elsewhere[n] == nil && !slices.ContainsFunc(wrongs, in) {
			t.Errorf("API 1.5 has invariant %d, and no case breaks it", n)
		}
	}
}
