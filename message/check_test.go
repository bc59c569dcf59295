package message

import (
	"fmt"
	"strings"
	"testing"
)

// conversation reads messages written one a line as "role[#id]: content", content in JSON.
func conversation(t testing.TB, text string) []Message {
	t.Helper()
	var ms []Message
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		head, content, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("line %q", line)
		}
		role, id, _ := strings.Cut(head, "#")
		blocks, isString, err := ParseContent([]byte(shorthand.Replace(content)))
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		ms = append(ms, Message{Role: Role(role), ID: id, Content: blocks, StringContent: isString})
	}
	return ms
}

// shorthand keeps the tables readable: call(x), result(x), …
var shorthand = func() *strings.Replacer {
	var pairs []string
	for _, id := range []string{"a", "b", "c"} {
		pairs = append(pairs,
			"server_call("+id+")", `{"type":"server_tool_use","id":"`+id+`","name":"web_search","input":{}}`,
			"server_result("+id+")", `{"type":"web_search_tool_result","tool_use_id":"`+id+`","content":[]}`,
			"call("+id+")", `{"type":"tool_use","id":"`+id+`","name":"Read","input":{}}`,
			"result("+id+")", `{"type":"tool_result","tool_use_id":"`+id+`","content":"ok"}`)
	}
	return strings.NewReplacer(append(pairs,
		"thinking", `{"type":"thinking","thinking":"","signature":"c2ln"}`,
		"redacted", `{"type":"redacted_thinking","data":"ZA=="}`,
		"summary", `{"type":"compaction","content":"s","signature":"x"}`,
		"txt", `{"type":"text","text":"x"}`)...)
}()

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string // "rule path"
	}{
		{"plain", `user: "hi"
			assistant: [txt]
			user: [txt]`, nil},
		{"calls and results", `user: "hi"
			assistant#m1: [thinking, txt, call(a), call(b)]
			user: [result(b), result(a), txt]
			assistant#m2: [txt]`, nil},
		{"parts of one reply and of its results, as a log has them", `user: "hi"
			assistant#m1: [thinking]
			assistant#m1: [call(a)]
			assistant#m1: [call(b)]
			user: [result(a)]
			user: [result(b)]
			user: [txt]`, nil},
		{"ends with an empty assistant message", `user: "hi"
			assistant: []`, nil},

		// calls without results
		{"unanswered at the end", `user: "hi"
			assistant: [call(a)]`, []string{"tool-use-open messages.1.content.0"}},
		{"interrupted after the first of three (anthropics/claude-code#1894, #45286)", `user: "hi"
			assistant: [call(a), call(b), call(c)]
			user: [result(a)]
			user: "new prompt"`, []string{"tool-use-open messages.1.content.1", "tool-use-open messages.1.content.2"}},
		{"answered too late", `user: "hi"
			assistant: [call(a)]
			user: "wait"
			assistant: [txt]
			user: [result(a)]`, []string{"tool-use-open messages.1.content.0", "result-orphan messages.4.content.0"}},
		{"a reply of another id between, merged by the API", `user: "hi"
			assistant#m1: [call(a)]
			assistant#m2: [txt]
			user: [result(a)]`, nil},
		{"a system message between", `user: "hi"
			assistant: [call(a)]
			system: [txt]
			user: [result(a)]`, []string{"tool-use-open messages.1.content.0", "system-position messages.2", "result-orphan messages.3.content.0"}},

		// results without calls
		{"orphan after a cut between use and result (openclaw/openclaw#8525)", `user: [result(a)]
			assistant: [txt]`, []string{"result-orphan messages.0.content.0"}},
		{"a user's result for a server's call", `user: "hi"
			assistant: [server_call(a)]
			user: [result(a)]`, []string{"result-orphan messages.2.content.0"}},
		{"two results for one call", `user: "hi"
			assistant: [call(a)]
			user: [result(a), result(a)]`, []string{"result-repeated messages.2.content.1"}},
		{"two results in two messages", `user: "hi"
			assistant: [call(a)]
			user: [result(a)]
			user: [result(a)]`, []string{"result-repeated messages.3.content.0"}},

		// ids
		{"a streamed message replayed twice", `user: "hi"
			assistant: [call(a)]
			assistant: [call(a)]
			user: [result(a)]`, []string{"tool-use-repeated messages.2.content.0"}},
		{"an id used again later", `user: "hi"
			assistant: [call(a)]
			user: [result(a)]
			assistant: [call(a)]
			user: [result(a)]`, []string{"tool-use-repeated messages.3.content.0"}},

		// the order of a user message
		{"text before a result (Hmbown/Codewhale#6119)", `user: "hi"
			assistant: [call(a)]
			user: [txt, result(a)]`, []string{"result-order messages.2.content.1"}},
		{"text before a result, in another message of the turn", `user: "hi"
			assistant: [call(a)]
			user: "meanwhile"
			user: [result(a)]`, []string{"result-order messages.3.content.0"}},
		{"result without content", `user: "hi"
			assistant: [call(a)]
			user: [{"type":"tool_result","tool_use_id":"a"}]`, nil},
		{"result with an empty string, and one with whitespace", `user: "hi"
			assistant: [call(a), call(b)]
			user: [{"type":"tool_result","tool_use_id":"a","content":""}, {"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"\n"}]}]`, nil},

		// content
		{"empty and blank text", `user: ""
			assistant: [{"type":"text","text":" \n\t\u00a0\u2028\u001f"}, txt]
			user: [{"type":"text"}]`, []string{"empty-text messages.0.content.0", "empty-text messages.1.content.0", "empty-text messages.2.content.0"}},
		{"an empty text in a result", `user: "hi"
			assistant: [call(a)]
			user: [{"type":"tool_result","tool_use_id":"a","content":[txt, {"type":"text","text":""}, 3]}]`,
			[]string{"empty-text messages.2.content.0", "block-type messages.2.content.0"}},
		{"empty messages", `user: []
			assistant: []
			user: null`, []string{"empty-content messages.0", "empty-content messages.1", "empty-content messages.2"}},

		// roles
		{"starts with a reply (tontinton/maki#641)", `assistant: [txt]
			user: "hi"`, []string{"first-role messages.0"}},
		{"starts with a system message", `system: [txt]
			assistant: [txt]`, []string{"first-role messages.0", "system-position messages.0"}},
		{"unknown role", `user: "hi"
			tool: [txt]`, []string{"role messages.1"}},
		{"system messages where they may be", `user: "hi"
			system: [txt]
			assistant: [server_call(a), server_result(a)]
			system: []`, nil},
		{"system after a reply, and before a user message", `user: "hi"
			assistant: [txt]
			system: [txt]
			user: "x"
			system: [txt]
			user: "y"`, []string{"system-position messages.2", "system-position messages.4"}},
		{"blocks of other roles", `user: [txt, call(a), thinking, summary]
			assistant: [result(a)]
			system: [server_call(b)]`, []string{"block-role messages.0.content.1", "block-role messages.0.content.2", "block-role messages.0.content.3",
			"block-role messages.1.content.0", "system-position messages.2", "block-role messages.2.content.0"}},

		// C-15's exception
		{"a server's compaction first", `assistant: [summary]
			user: "go on"`, nil},
		{"with a kept reply after it", `assistant#m0: [summary]
			assistant#m1: [call(a)]
			user: [result(a)]`, nil},
		{"two compactions", `assistant: [summary]
			user: "x"
			assistant: [summary]`, []string{"compaction messages.2.content.0"}},
		{"two compactions, the first not at the start, the API ignores what is before the last", `user: "x"
			assistant: [summary, txt]
			user: "x"
			assistant: [summary, txt]`, nil},
		{"a compaction that failed", `assistant: [{"type":"compaction","content":null}]
			user: "x"`, []string{"first-role messages.0"}},
		{"a compaction without content", `assistant: [{"type":"compaction"}]
			user: "x"`, []string{"first-role messages.0"}},

		// C-15, message.id groups
		{"a reply split around its results (anthropics/claude-code#64066)", `user: "hi"
			assistant#m1: [thinking, call(a)]
			user: [result(a)]
			assistant#m1: [thinking, call(b)]
			user: [result(b)]`, []string{"split-reply messages.3"}},
		{"another reply inside a reply", `user: "hi"
			assistant#m1: [txt]
			assistant#m2: [txt]
			assistant#m1: [txt]`, []string{"split-reply messages.3"}},

		// thinking
		{"stream cut in the reasoning (anthropics/claude-code#10199)", `user: "hi"
			assistant: [thinking]`, []string{"thinking-only messages.1"}},
		{"orphan reasoning in the middle", `user: "hi"
			assistant: [thinking]
			assistant: [redacted]
			user: "x"`, []string{"thinking-only messages.1"}},
		{"ends with reasoning", `user: "hi"
			assistant: [txt]
			assistant: [redacted]`, []string{"thinking-last messages.2.content.0"}},
		{"reasoning last in an earlier reply is accepted", `user: "hi"
			assistant: [txt, thinking]
			user: "x"`, nil},

		// server tools
		{"server call and result", `user: "hi"
			assistant: [server_call(a), server_result(a), txt]
			user: "x"`, nil},
		{"paused turn", `user: "hi"
			assistant: [txt, server_call(a)]`, nil},
		{"server call left open", `user: "hi"
			assistant: [server_call(a), txt]
			user: "x"
			assistant: [txt]`, []string{"server-call-open messages.1.content.0"}},
		{"server result without its call", `user: "hi"
			assistant: [server_result(a), txt]`, []string{"server-result-orphan messages.1.content.0"}},
		{"mixed turn", `user: "hi"
			assistant: [server_call(a), call(b)]
			user: [result(b)]
			assistant: [server_result(a), txt]`, nil},
		{"mixed turn with text beside the result", `user: "hi"
			assistant: [server_call(a), call(b)]
			user: [result(b), txt, txt]`, []string{"mixed-turn messages.2.content.1"}},
		{"MCP through the server", `user: "hi"
			assistant: [{"type":"mcp_tool_use","id":"m","name":"x","server_name":"s","input":{}}, {"type":"mcp_tool_result","tool_use_id":"m","content":[]}]
			user: "x"`, nil},

		// the members of blocks
		{"bad calls (QwenLM/qwen-code#7377)", `user: "hi"
			assistant: [{"type":"tool_use","id":"a.b","name":"n","input":{}}, {"type":"tool_use","id":"b","name":"","input":{}}, {"type":"tool_use","id":"c","name":"n","input":"{}"}, {"type":"tool_use","id":"d","name":"n"}]
			user: [{"type":"tool_result","tool_use_id":"a.b"}, result(b), result(c), {"type":"tool_result","tool_use_id":"d"}]`,
			[]string{"tool-id messages.1.content.0", "tool-name messages.1.content.1", "tool-input messages.1.content.2", "tool-input messages.1.content.3"}},
		{"long name", `user: "hi"
			assistant: [{"type":"tool_use","id":"a","name":"` + strings.Repeat("é", 201) + `","input":{}}, {"type":"tool_use","id":"b","name":"` + strings.Repeat("é", 200) + `","input":{}}]
			user: [result(a), result(b)]`, []string{"tool-name messages.1.content.0"}},
		{"no blocks at all", `user: [1, {"x":1}, "s"]`, []string{"block-type messages.0.content.0", "block-type messages.0.content.1", "block-type messages.0.content.2"}},
		{"unknown blocks are the API's business", `user: [{"type":"container_upload","file_id":"f"}]
			assistant: [{"type":"tool_addition"}, txt]`, nil},
		{"lone surrogate (anthropics/claude-code#68325)", `user: [{"type":"text","text":"\ud99c"}, {"type":"text","text":"\\ud99c \ud83d\ude00"}]`, []string{"unicode messages.0.content.0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, v := range Check(conversation(t, tc.in)) {
				got = append(got, v.Rule+" "+v.Path)
				if v.Detail == "" || v.String() != v.Path+": "+v.Detail+" ["+v.Rule+"]" {
					t.Errorf("text of %+v: %s", v, v)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
		})
	}
	if got := Check(nil); len(got) != 1 || got[0].Rule != RuleNoMessages {
		t.Errorf("Check(nil) = %v", got)
	}
}

func TestRounds(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []Round
	}{
		{"prompts only", "user: \"a\"\nuser: \"b\"", []Round{{0, 2}}},
		{"usual", "user: \"a\"\nassistant#1: [thinking]\nassistant#1: [call(a)]\nuser: [result(a)]\nassistant#2: [txt]\nuser: \"b\"\nsystem: [txt]\nassistant#3: [txt]",
			[]Round{{0, 1}, {1, 4}, {4, 7}, {7, 8}}},
		{"results between the parts of one reply (T-11)", "user: \"a\"\nassistant#1: [call(a)]\nuser: [result(a)]\nassistant#1: [call(b)]\nuser: [result(b)]\nassistant#2: [txt]",
			[]Round{{0, 1}, {1, 5}, {5, 6}}},
		{"starts with a reply", "assistant#1: [txt]\nuser: \"a\"", []Round{{0, 2}}},
		{"replies without ids", "user: \"a\"\nassistant: [txt]\nassistant: [txt]\nuser: \"a\"\nassistant: [txt]\nassistant#1: [txt]",
			[]Round{{0, 1}, {1, 4}, {4, 5}, {5, 6}}},
		{"an id comes again after another", "assistant#1: [txt]\nuser: \"a\"\nassistant#2: [txt]\nuser: \"a\"\nassistant#1: [txt]\nassistant#3: [txt]",
			[]Round{{0, 5}, {5, 6}}},
		{"a result after another reply", "user: \"a\"\nassistant#1: [call(a)]\nassistant#2: [call(b)]\nuser: [result(b), result(a)]\nassistant#3: [txt]",
			[]Round{{0, 1}, {1, 4}, {4, 5}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Rounds(conversation(t, tc.in)); fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	if got := Rounds(nil); got != nil {
		t.Errorf("Rounds(nil) = %v", got)
	}
}

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name, raw      string
		context, reply int64
	}{
		{"plain (B-2)", `{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":90000,"output_tokens":310}`, 90042, 310},
		{"the last message iteration counts, not the sum", `{"input_tokens":30,"cache_read_input_tokens":200,"output_tokens":9,"iterations":[` +
			`{"type":"message","input_tokens":10,"output_tokens":4},{"type":"message","input_tokens":20,"cache_read_input_tokens":100,"cache_creation_input_tokens":3,"output_tokens":5}]}`, 123, 5},
		{"never a compaction, even when last", `{"input_tokens":7,"output_tokens":1,"iterations":[{"type":"message","input_tokens":180000,"output_tokens":20},{"type":"compaction","input_tokens":4000,"output_tokens":900}]}`, 180000, 20},
		{"no message among the iterations", `{"input_tokens":7,"output_tokens":1,"iterations":[{"type":"compaction","input_tokens":4000},3,null]}`, 7, 1},
		{"iterations null", `{"input_tokens":7,"iterations":null,"cache_creation":null}`, 7, 0},
		{"not numbers", `{"input_tokens":"7","cache_read_input_tokens":null,"cache_creation_input_tokens":-5,"output_tokens":true}`, 0, 0},
		{"fractions and powers", `{"input_tokens":1.9e2,"output_tokens":2.5}`, 190, 2},
		{"absurd", `{"input_tokens":9e18,"cache_read_input_tokens":9223372036854775807,"cache_creation_input_tokens":1e999,"output_tokens":99999999999999999999}`, 3 * maxTokens, maxTokens},
	} {
		u, err := ParseUsage([]byte(tc.raw))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if u.ContextTokens() != tc.context || u.ReplyTokens() != tc.reply {
			t.Errorf("%s: context %d, reply %d, want %d, %d", tc.name, u.ContextTokens(), u.ReplyTokens(), tc.context, tc.reply)
		}
		if string(u.AppendJSON(nil)) != tc.raw {
			t.Errorf("%s: bytes changed: %s", tc.name, u.AppendJSON(nil))
		}
	}
	built := Usage{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheCreationTokens: 9, Cache5m: 4, Cache1h: 5,
		Iterations: []Iteration{{Type: "message", Model: "m", InputTokens: 6, Cache1h: 7}}}
	got, err := ParseUsage(built.AppendJSON(nil))
	if err != nil {
		t.Fatal(err)
	}
	if got.Raw = nil; fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", built) {
		t.Errorf("read(write(u)) = %+v, want %+v", got, built)
	}
	if _, err := ParseUsage([]byte(`{"iterations":[`)); err == nil {
		t.Error("half a usage was accepted")
	}
}
