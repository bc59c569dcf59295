package foreign_test

import (
	"fmt"
	"strings"
	"testing"

	"varve.dev/internal/foreign"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// told writes what a view shows, message by message.
func told(v *view.View) string {
	if v == nil {
		return ""
	}
	var out []string
	for _, m := range v.Messages {
		var parts []string
		for _, b := range m.Blocks {
			switch b.Type {
			case message.TypeToolUse:
				parts = append(parts, fmt.Sprintf("call %s %s", b.Name, b.Input))
			case message.TypeToolResult:
				text := "result"
				if b.IsError {
					text = "failure"
				}
				for _, c := range b.Content {
					said, _, _ := strings.Cut(c.Text, ": no result was recorded") // the view's own words
					text += " " + c.Type[:1] + ":" + said
				}
				parts = append(parts, text)
			default:
				parts = append(parts, b.Type[:1]+":"+b.Text)
			}
		}
		out = append(out, string(m.Role[0])+"["+strings.Join(parts, " | ")+"]")
	}
	return strings.Join(out, "\n")
}

// what describes entries in file order, one word each.
func what(s *foreign.Session) string {
	var out []string
	for _, e := range s.Entries {
		w := e.Type
		switch {
		case e.IsBoundary():
			w = "boundary"
		case e.CompactSummary:
			w = "summary"
		case e.Meta:
			w = "meta"
		case e.Type == transcript.TypeSystem:
			w = "notice"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

const (
	codexHead = `{"timestamp":"2026-01-02T03:04:05Z","type":"session_meta","payload":{"id":"c1","cwd":"/p","cli_version":"1","base_instructions":{"text":"be good"},"git":{"branch":"main"}}}
{"type":"turn_context","payload":{"model":"gpt-x"}}
`
	piHead  = `{"type":"session","version":3,"id":"p1","cwd":"/p","timestamp":"2026-01-02T03:04:05Z"}` + "\n"
	onePNG  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	summary = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
)

func item(s string) string  { return `{"type":"response_item","payload":` + s + "}\n" }
func event(s string) string { return `{"type":"event_msg","payload":` + s + "}\n" }
func words(role, kind, s string) string {
	return item(fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":%q,"text":%q}]}`, role, kind, s))
}
func piSays(id, parent, msg string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-02T03:04:06Z","message":%s}`+"\n", id, parent, msg)
}

// TestMade: made-up sessions of every format with what the recorded ones lack.
func TestMade(t *testing.T) {
	for _, row := range []struct{ name, in, view, entries, faults string }{
		{"codex: parallel calls are one reply, inputs become objects, results keep their order (QwenLM/qwen-code#7377)", codexHead +
			words("user", "input_text", "<environment_context>x</environment_context>") + words("user", "input_text", "do <b>it</b>") +
			item(`{"type":"reasoning","encrypted_content":"z","summary":[]}`) +
			item(`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"a"}`) +
			item(`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"b"}`) +
			item(`{"type":"local_shell_call","call_id":"l","action":{"type":"exec","command":["pwd"]}}`) +
			item(`{"type":"function_call_output","call_id":"b","output":"ok"}`) +
			item(`{"type":"function_call_output","call_id":"a","output":{"content":"no","success":false}}`) +
			item(`{"type":"local_shell_call_output","call_id":"l","output":[{"type":"input_text","text":"/p"},{"type":"input_image","image_url":"data:image/png;base64,`+onePNG+`"}]}`) +
			words("assistant", "output_text", "done"),
			`u[t:<environment_context>x</environment_context> | t:do <b>it</b>]
a[call shell {"command":["ls"]} | call apply_patch {"input":"*** Begin"} | call local_shell {"type":"exec","command":["pwd"]}]
u[failure t:no | result t:ok | result t:/p i:]
a[t:done]`, "meta user assistant user user user assistant", ""},
		{"codex: a call without an object, one without a result, a result without a call", codexHead + words("user", "input_text", "q") +
			item(`{"type":"function_call","name":"f","arguments":"not json","call_id":"a"}`) +
			item(`{"type":"function_call_output","call_id":"a","output":"bad"}`) +
			item(`{"type":"function_call","name":"g","arguments":"","call_id":"b"}`) +
			item(`{"type":"function_call_output","call_id":"zz","output":"whose"}`) +
			item(`{"type":"function_call_output","output":"nobody's"}`),
			`u[t:q]
a[call f {}]
u[result t:bad]
a[call g {}]
u[failure t:[Interrupted]`, "user assistant user assistant user", "line 4: the input of call a is not an object; it is kept beside the call; line 8: a result without the id of its call"},
		{"codex: a compaction keeps what stands earlier and summarizes the rest", codexHead + words("user", "input_text", "one") + words("assistant", "output_text", "two") +
			words("user", "input_text", "three") + item(`{"type":"function_call","name":"f","arguments":"{}","call_id":"a"}`) + item(`{"type":"function_call_output","call_id":"a","output":"r"}`) +
			`{"type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"three"}]},{"type":"message","role":"user","content":[{"type":"input_text","text":"in short"}]}]}}` + "\n" +
			words("user", "input_text", "four"),
			`u[t:in short | t:one | t:three | t:four]`, "user assistant user assistant user boundary summary user", ""},
		{"codex: a sealed summary is said and kept", codexHead + words("user", "input_text", "one") +
			`{"type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},{"type":"compaction","encrypted_content":"xyz"}]}}` + "\n",
			`u[t:[Codex compacted the conversation before this point. Its summary is encrypted by the provider and cannot be read here; the whole conversation is kept with the session.] | t:one]`, "user boundary summary", ""},
		{"codex: an old compaction has its summary alone", codexHead + words("user", "input_text", "one") + `{"type":"compacted","payload":{"message":"so far"}}` + "\n" + words("user", "input_text", "two"),
			`u[t:so far | t:two]`, "user boundary summary user", ""},
		{"codex: turns that were rolled back are a branch", codexHead + words("user", "input_text", "one") + words("assistant", "output_text", "1") + words("user", "input_text", "two") +
			words("assistant", "output_text", "2") + event(`{"type":"thread_rolled_back","num_turns":1}`),
			"u[t:one]\na[t:1]", "user assistant user assistant last-prompt", ""},
		{"codex: the first versions had no envelope (openai/codex#45150)", `{"id":"0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee","timestamp":"2025-06-01T00:00:00Z","instructions":"be good","git":{}}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
{"record_type":"state"}
{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"a"}
{"type":"function_call_output","call_id":"a","output":"x"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}`,
			"u[t:hi]\na[call shell {\"command\":[\"ls\"]}]\nu[result t:x]\na[t:yes]", "user assistant user assistant", ""},
		{"pi: branches, and a compaction that keeps a tail", piHead + piSays("1", "null", `{"role":"user","content":"old"}`) + piSays("2", `"1"`, `{"role":"user","content":"left branch"}`) +
			piSays("3", `"1"`, `{"role":"assistant","content":[{"type":"thinking","thinking":"h","thinkingSignature":"s"},{"type":"toolCall","id":"t|x","name":"read","arguments":{"path":"x"}}],"model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}`) +
			piSays("4", `"3"`, `{"role":"toolResult","toolCallId":"t|x","content":[{"type":"text","text":"X"},{"type":"image","mimeType":"image/png","data":"`+onePNG+`"}],"isError":true}`) +
			`{"type":"compaction","id":"5","parentId":"4","summary":"sum","firstKeptEntryId":"3","tokensBefore":9}` + "\n" + piSays("6", `"5"`, `{"role":"user","content":"new"}`),
			`u[t:` + summary + `sum
</summary>]
a[call read {"path":"x"}]
u[failure t:X i: | t:new]`, "user user assistant user boundary summary user", ""},
		{"pi: a setting on an older branch chooses it; commands of the person, summaries of branches, what extensions add", piHead + piSays("1", "null", `{"role":"user","content":"a"}`) +
			`{"type":"branch_summary","id":"b","parentId":"1","summary":"went wrong"}` + "\n" +
			piSays("2", `"b"`, `{"role":"bashExecution","command":"ls","output":"","exitCode":2}`) + piSays("s", `"2"`, `{"role":"bashExecution","command":"x","output":"y","excludeFromContext":true}`) +
			`{"type":"custom_message","id":"c","parentId":"s","content":"ext"}` + "\n" + piSays("3", `"c"`, `{"role":"user","content":"gone"}`) + `{"type":"session_info","id":"n","parentId":"c","name":"T"}`,
			"u[t:a | t:The following is a summary of a branch that this conversation came back from:\n\n<summary>\nwent wrong\n</summary> | t:Ran `ls`\n(no output)\n\nCommand exited with code 2 | t:ext]", "user meta meta meta user last-prompt", ""},
		{"pi: a parent and a first kept record that are not there", piHead + piSays("1", `"x"`, `{"role":"user","content":"a"}`) + `{"type":"compaction","id":"2","parentId":"1","summary":"s","firstKeptEntryId":"zz"}`,
			`u[t:` + summary + "s\n</summary>]", "user boundary summary", `line 2: its parent "x" is not in the file; it follows the record before it; line 3: the first record that the compaction keeps is not in the file; nothing older is kept`},
		{"gemini: errors, notices, parts, odd messages", `{"sessionId":"g1","projectHash":"h","messages":[{"type":"user","content":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"` + onePNG + `"}}]},{"type":"info","content":"i"},
{"type":"gemini","content":"yes","toolCalls":[{"name":"read_file","args":{"a":1},"status":"error","result":[{"functionResponse":{"response":{"error":"gone"}}}]},{"id":"y","name":"f","args":{},"result":[{"functionResponse":{"response":{"k":1}}},{"text":"more"}]},{"id":"z","name":"open","args":{}}]},7,{"type":"user","content":"end"}]}`,
			`u[t:hi | i:]
a[t:yes | call read_file {"a":1} | call f {} | call open {}]
u[failure t:gone | result t:{"k":1} t:more | failure t:[Interrupted | t:end]`, "user notice assistant user user user", "messages[3]: json: cannot unmarshal number into Go value of type foreign.geminiMessage; messages[3]: a message without a type"},
		{"gemini: one record a line, written anew, rewound", `{"sessionId":"g1","projectHash":"h","startTime":"2026-01-02T03:04:05Z"}
{"id":"1","type":"user","content":"a"}
{"id":"2","type":"gemini","content":"thin"}
{"id":"2","type":"gemini","content":"full","model":"m"}
{"$set":{"summary":"T"}}
{"id":"3","type":"user","content":"wrong"}
{"$rewindTo":"3"}
{"id":"4","type":"user","content":"right"}
{"what":1}`,
			"u[t:a]\na[t:full]\nu[t:right]", "user assistant user last-prompt user", "line 9: a record that is neither header, message, change nor rewind"},
		{"opencode: steps are replies, cleared results keep their whole, a compaction keeps a tail", `{"info":{"id":"ses_1","directory":"/p","title":"T"},"messages":[{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"hi"},{"type":"text","text":"env","synthetic":true},{"type":"file","mime":"image/png","url":"data:image/png;base64,` + onePNG + `"}]},
{"info":{"id":"m2","role":"assistant","modelID":"m"},"parts":[{"type":"step-start"},{"type":"reasoning","text":"r"},{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls"},"output":"o","time":{"compacted":1700000000000}}},{"type":"tool","tool":"bash","callID":"d","state":{"status":"running","input":{}}},{"type":"step-finish","tokens":{"input":1,"output":2}},{"type":"step-start"},{"type":"text","text":"end"}]},
{"info":{"id":"m3","role":"user"},"parts":[{"type":"compaction","auto":true,"tail_start_id":"m2"}]},
{"info":{"id":"m4","role":"assistant","summary":true},"parts":[{"type":"text","text":"summed"}]},
{"info":{"id":"m5","role":"user"},"parts":[{"type":"text","text":"go on","synthetic":true}]}]}`,
			`u[t:summed]
a[call bash {"command":"ls"} | call bash {}]
u[result t:[Old tool result content cleared] | failure t:[Interrupted]
a[t:end]
u[t:go on]`, "user meta content-replacement assistant user assistant boundary summary meta", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := read(t, []byte(row.in), "")
			if got := told(check(t, s)); got != row.view {
				t.Errorf("view:\n%s\nwant:\n%s", got, row.view)
			}
			if got := what(s); got != row.entries {
				t.Errorf("entries: %s, want: %s", got, row.entries)
			}
			var faults []string
			for _, f := range s.Faults {
				faults = append(faults, f.String())
			}
			if got := strings.Join(faults, "; "); got != row.faults {
				t.Errorf("faults: %s\nwant: %s", got, row.faults)
			}
		})
	}
}

// TestFacts: what is known of a session beside its entries, and of each entry.
func TestFacts(t *testing.T) {
	s := read(t, []byte(codexHead+words("user", "input_text", "  please\n do it ")+
		item(`{"type":"reasoning","encrypted_content":"opaque"}`)+item(`{"type":"web_search_call","status":"completed"}`)+
		words("assistant", "output_text", "x")+
		event(`{"type":"token_count","info":{"total_token_usage":{"total_tokens":1},"last_token_usage":{"input_tokens":100,"cached_input_tokens":60,"output_tokens":7}}}`)), "")
	if s.ID != "c1" || s.CWD != "/p" || s.Title != "please do it" || s.Version != "1" || s.Model != "gpt-x" || s.Instructions != "be good" || s.Started.Year() != 2026 {
		t.Errorf("%+v", s)
	}
	e := s.Entries[1]
	m, err := e.Message()
	if err != nil {
		t.Fatal(err)
	}
	if u := m.Usage; u == nil || u.InputTokens != 40 || u.CacheReadTokens != 60 || u.OutputTokens != 7 || m.Model != "gpt-x" || e.SessionID != "c1" || e.CWD != "/p" {
		t.Errorf("usage %+v, model %s", u, m.Model)
	}
	own := string(e.Own())
	for _, want := range []string{`"provider":"openai"`, `"encrypted_content":"opaque"`, `"web_search_call"`} {
		if !strings.Contains(own, want) {
			t.Errorf("%s is not kept: %s", want, own)
		}
	}
	if raw, err := e.Raw(); err != nil || !strings.Contains(string(raw), `"gitBranch":"main"`) {
		t.Errorf("no branch in %s", raw)
	}
	if s.Skipped["reasoning"] != 1 || s.Skipped["web_search_call"] != 1 {
		t.Error(s.Skipped)
	}
}
