package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/llm"
	"varve.dev/message"
)

var update = flag.Bool("update", false, "write the golden request bodies anew")

// model is what requests go to.
var model = Defaults{Model: "claude-opus-5-5", MaxOutput: 8192}

func messages(ms ...message.Message) []json.RawMessage {
	var out []json.RawMessage
	for _, m := range ms {
		out = append(out, m.AppendRequest(nil))
	}
	return out
}

func toolUse(id string) message.Block {
	b, err := message.ToolUse(id, "bash", []byte(`{"command":"ls"}`))
	if err != nil {
		panic(err)
	}
	return b
}

const (
	testSystem = `[{"type":"text","text":"You are terse."}]`
	testTools  = `[{"name":"bash","description":"runs","input_schema":{"type":"object"}},{"name":"late","defer_loading":true,"input_schema":{"type":"object"}}]`
	summaryOne = `{"role":"assistant","content":[{"type":"compaction","content":"so far","signature":"c1"}]}`
	summaryOld = `{"role":"assistant","content":[{"type":"compaction","content":"so far"},{"type":"text","text":"on"}]}`
	toolChange = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"x"}}}]}`
	nowSystem  = `{"role":"system","content":[{"type":"text","text":"The date is known."}],"clear_at":"next_user_message"}`
)

// turn is a conversation of one whole turn and a new prompt.
func turn() []json.RawMessage {
	return messages(message.User("list"),
		message.Assistant(message.Thinking("hm", "sig"), toolUse("toolu_1")),
		message.UserBlocks(message.ToolResult("toolu_1", false, message.Text("a <b> & \u2028c"))),
		message.Assistant(message.Text("One file."), message.Thinking("end", "sig2")),
		message.User("and now?"))
}

func many(n int) []json.RawMessage {
	var calls, results []message.Block
	for i := range n {
		id := fmt.Sprintf("toolu_%d", i)
		calls, results = append(calls, toolUse(id)), append(results, message.ToolResult(id, false, message.Text("ok")))
	}
	return messages(message.User("all of them"), message.Assistant(calls...), message.UserBlocks(results...))
}

var golden = []struct {
	name  string
	req   llm.Request
	betas string
}{
	{"plain", llm.Request{Messages: messages(message.User("hi"))}, ""},
	{"no-cache", llm.Request{System: json.RawMessage(testSystem), Tools: json.RawMessage(testTools), Messages: turn(), Cache: llm.CacheOff}, ""},
	{"turn", llm.Request{System: json.RawMessage(testSystem), Tools: json.RawMessage(testTools), Messages: turn(), MaxOutput: 64000}, ""},
	{"long", llm.Request{System: json.RawMessage(testSystem), Messages: turn(), Cache: llm.CacheLong}, ""},
	{"mixed", llm.Request{System: json.RawMessage(`"You are terse."`), Messages: turn(), Cache: llm.CacheMixed}, ""},
	{"tools-only", llm.Request{System: json.RawMessage(`""`), Tools: json.RawMessage(testTools), Messages: messages(message.User("hi"))}, ""},
	{"given-marks", llm.Request{System: json.RawMessage(`[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"c","cache_control":{"type":"ephemeral"}}]`),
		Messages: turn(), Cache: llm.CacheLong}, ""},
	{"automatic", llm.Request{Options: json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`), System: json.RawMessage(testSystem), Messages: turn()}, ""},
	{"many-blocks", llm.Request{System: json.RawMessage(testSystem), Messages: many(12)}, ""},
	{"foreign-marks", llm.Request{Messages: []json.RawMessage{
		json.RawMessage(`{"role":"user","content":[{"type":"text","text":"a \"cache_control\" b","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`),
		json.RawMessage(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"x","input":{"cache_control":1},"cache_control":{"type":"ephemeral"}}]}`),
		json.RawMessage(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"r","cache_control":{"type":"ephemeral"}}]}]}`)}}, ""},
	{"string-content", llm.Request{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"hi"}`)}}, ""},
	{"thinking-last", llm.Request{Messages: messages(message.User("hi"), message.Assistant(message.Thinking("", "s"))), Options: json.RawMessage(`{"thinking":{"type":"adaptive"}}`)}, ""},
	{"options", llm.Request{Messages: messages(message.User("hi")), PreviousID: "msg_0", Options: Options{Thinking: "adaptive", Display: "summarized", Effort: "high", Betas: []string{"x-2026-01-01"}}.JSON()}, "x-2026-01-01"},
	{"clear", llm.Request{Messages: messages(message.User("hi")), Clear: &llm.Clear{TriggerTokens: 100000, Keep: 3, AtLeast: 20000, Exclude: []string{"memory"}, Inputs: true}}, "context-management-2025-06-27"},
	{"clear-uses", llm.Request{Messages: messages(message.User("hi")), Clear: &llm.Clear{TriggerUses: 50}}, "context-management-2025-06-27"},
	{"threshold", llm.Request{Messages: []json.RawMessage{json.RawMessage(summaryOld), messages(message.User("go"))[0]}, Threshold: &llm.Threshold{Tokens: 150000, Pause: true, Instructions: "Keep paths."}}, "compact-2026-01-12"},
	{"frame-wins", llm.Request{Messages: messages(message.User("hi")), Options: Options{Clear: &llm.Clear{}}.JSON(), Threshold: &llm.Threshold{}}, "context-management-2025-06-27"},
	{"summarize", llm.Request{Messages: turn(), Summarize: &llm.Summarize{Instructions: "Keep paths."},
		Options: json.RawMessage(`{"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"stop_sequences":["x"],"tool_choice":{"type":"any"},"output_config":{"effort":"high","format":{"type":"json_schema"},"task_budget":{"type":"tokens","total":9,"remaining":3}}}`)}, "compact-2026-09-04,task-budgets-2026-03-13"},
	{"after-summary", llm.Request{Messages: []json.RawMessage{json.RawMessage(summaryOne), messages(message.User("go"))[0]}}, "compact-2026-09-04"},
	{"drop", llm.Request{Messages: turn(), Options: json.RawMessage(`{"thinking":{"type":"adaptive","display":"omitted"}}`), Mismatch: llm.MismatchDrop}, "thinking-binding-controls-2026-08-01"},
	{"drop-default", llm.Request{Messages: turn(), Mismatch: llm.MismatchDrop}, "thinking-binding-controls-2026-08-01"},
	{"drop-disabled", llm.Request{Messages: turn(), Options: json.RawMessage(`{"thinking":{"type":"disabled"}}`), Mismatch: llm.MismatchDrop}, ""},
	{"drop-between", llm.Request{Messages: messages(message.User("a"), message.Assistant(message.Thinking("only", "s")), message.User("b")), Options: json.RawMessage(`{"thinking":{"type":"between_tools"}}`), Mismatch: llm.MismatchDrop}, ""},
	{"error-disabled", llm.Request{Messages: turn(), Options: json.RawMessage(`{"thinking":{"type":"disabled"}}`), Mismatch: llm.MismatchError}, ""},
	{"system-inside", llm.Request{Messages: []json.RawMessage{messages(message.User("hi"))[0], json.RawMessage(toolChange), json.RawMessage(nowSystem)}},
		"inline-tools-2026-09-15,mid-conversation-system-clear-at-2026-08-21,mid-conversation-tool-changes-2026-07-01"},
	{"other-betas", llm.Request{Messages: messages(message.User("hi")), Options: json.RawMessage(`{"speed":"fast","fallbacks":[{"model":"x"}],"mcp_servers":[{"name":"m"}],"thinking":{"type":"adaptive","display":"updates"}}`)},
		"fast-mode-2026-02-01,mcp-client-2025-11-20,server-side-fallback-2026-07-01,thinking-display-updates-2026-08-18"},
}

// TestBodies compares whole bodies with those kept, and checks what must hold for
// each of them.
func TestBodies(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			b, bad := model.Build(&g.req, false)
			if bad != nil {
				t.Fatal(bad)
			}
			if got := strings.Join(b.Betas, ","); got != g.betas {
				t.Errorf("betas %s, want %s", got, g.betas)
			}
			checkMarks(t, b.JSON)
			file := filepath.Join("testdata", g.name+".json")
			if *update {
				if err := os.WriteFile(file, append(b.JSON, '\n'), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(b.JSON)+"\n" != string(want) {
				t.Errorf("got  %s\nwant %s", b.JSON, want)
			}
		})
	}
}

// A look is what a checker that knows nothing of this package sees of a body.
type look struct {
	System   []map[string]json.RawMessage
	Tools    []map[string]json.RawMessage
	Messages []struct {
		Role    string
		Content []map[string]json.RawMessage
	}
}

// checkMarks: at most four, the long-lived first, none on reasoning or empty text.
func checkMarks(t interface{ Errorf(string, ...any) }, body []byte) {
	var l look
	if err := json.Unmarshal(body, &l); err != nil {
		t.Errorf("%v: %s", err, body)
		return
	}
	all := slices.Concat(l.Tools, l.System)
	for _, m := range l.Messages {
		all = append(all, m.Content...)
	}
	n, short := 0, false
	for _, b := range all {
		raw, ok := b["cache_control"]
		if !ok {
			continue
		}
		n++
		long := strings.Contains(string(raw), "1h")
		if long && short {
			t.Errorf("a mark of an hour after one of five minutes: %s", body)
		}
		short = short || !long
		if k := string(b["type"]); k == `"thinking"` || k == `"redacted_thinking"` || k == `"text"` && message.IsBlank(str(b["text"])) {
			t.Errorf("a mark on %s", k)
		}
	}
	if n > 4 {
		t.Errorf("%d marks", n)
	}
}

func TestRefused(t *testing.T) {
	hi := messages(message.User("hi"))
	for name, req := range map[string]llm.Request{
		"no messages":     {},
		"no JSON":         {Messages: []json.RawMessage{json.RawMessage(`{"role":`)}},
		"no message":      {Messages: []json.RawMessage{json.RawMessage(`[]`)}},
		"options":         {Messages: hi, Options: json.RawMessage(`[1]`)},
		"own member":      {Messages: hi, Options: json.RawMessage(`{"model":"x"}`)},
		"betas":           {Messages: hi, Options: json.RawMessage(`{"betas":"x"}`)},
		"system":          {Messages: hi, System: json.RawMessage(`{`)},
		"thinking":        {Messages: hi, Options: json.RawMessage(`{"thinking":1}`), Mismatch: llm.MismatchDrop},
		"long summary":    {Messages: hi, Summarize: &llm.Summarize{Instructions: strings.Repeat("ä", maxInstructions+1)}},
		"glued injection": {Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":[]},{"role":"user","content":[]}`)}},
	} {
		if _, bad := model.Build(&req, false); bad == nil || bad.Kind != llm.KindInvalid || bad.Temporary() {
			t.Errorf("%s: %v", name, bad)
		}
	}
	big := llm.Request{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("x", MaxBody) + `"}]}`)}}
	if _, bad := model.Build(&big, false); bad == nil || bad.Kind != llm.KindOverflow || !bad.Bytes {
		t.Errorf("too large: %v", bad)
	}
}

func TestCountBody(t *testing.T) {
	req := llm.Request{System: json.RawMessage(testSystem), Messages: turn(), PreviousID: "m", Summarize: &llm.Summarize{},
		Options: json.RawMessage(`{"thinking":{"type":"adaptive"},"metadata":{"user_id":"u"},"service_tier":"auto"}`)}
	b, bad := model.Build(&req, true)
	if bad != nil {
		t.Fatal(bad)
	}
	for _, no := range []string{"max_tokens", "stream", "metadata", "service_tier", "diagnostics", "cache_control", `"compaction":`} {
		if bytes.Contains(b.JSON, []byte(no)) {
			t.Errorf("%s in %s", no, b.JSON)
		}
	}
	if !bytes.Contains(b.JSON, []byte(`"thinking":{"type":"adaptive"}`)) {
		t.Errorf("%s", b.JSON)
	}
}

// unmarked takes the marks out of a body by text alone.
func unmarked(body []byte) string {
	return strings.NewReplacer(markText(true), "", markText(false), "").Replace(string(body))
}

// conversation draws whole turns; every prefix that ends with the user is a
// request.
func conversation(t *rapid.T) []json.RawMessage {
	text := rapid.StringMatching(`[a-z"\\<&é\n ]{0,12}`)
	var ms []message.Message
	id := 0
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		ms = append(ms, message.User("p"+text.Draw(t, "prompt")))
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			var reply, results []message.Block
			if rapid.Bool().Draw(t, "thinks") {
				reply = append(reply, message.Thinking(text.Draw(t, "thought"), "sig"))
			}
			for range rapid.IntRange(1, 14).Draw(t, "calls") {
				id++
				reply = append(reply, toolUse(fmt.Sprintf("toolu_%d", id)))
				results = append(results, message.ToolResult(fmt.Sprintf("toolu_%d", id), false, message.Text("r"+text.Draw(t, "result"))))
			}
			ms = append(ms, message.Assistant(reply...), message.UserBlocks(results...))
		}
		ms = append(ms, message.Assistant(message.Text("a"+text.Draw(t, "answer"))))
	}
	return messages(ms...)
}

// simCache is the provider's cache as documented: a request writes an entry at each
// of its marks, and reads the longest entry that ends at one of the 20 positions
// before a mark, itself included.
type simCache map[string]bool

// request returns how many positions were read.
func (c simCache) request(body []byte) int {
	var l look
	if err := json.Unmarshal(body, &l); err != nil {
		panic(err)
	}
	var prefixes []string
	var marks []int
	var all [32]byte // hash of the prompt so far
	add := func(b map[string]json.RawMessage) {
		if b["cache_control"] != nil {
			marks = append(marks, len(prefixes))
		}
		delete(b, "cache_control")
		raw, err := json.Marshal(b)
		if err != nil {
			panic(err)
		}
		all = sha256.Sum256(append(all[:], raw...))
		prefixes = append(prefixes, string(all[:]))
	}
	for _, b := range slices.Concat(l.Tools, l.System) {
		add(b)
	}
	for _, m := range l.Messages {
		for _, b := range m.Content {
			add(b)
		}
	}
	read := 0
	for _, m := range marks {
		for i := m; i >= max(0, m-lookBack+1); i-- {
			if c[prefixes[i]] {
				read = max(read, i+1)
				break
			}
		}
	}
	for _, m := range marks {
		c[prefixes[m]] = true
	}
	return read
}

// TestPrefixStable: a conversation that grows only appends to the body, marks
// aside, and finds in the cache all that the request before it sent, however many
// blocks a turn appends (G-12).
func TestPrefixStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := conversation(t)
		policy := rapid.SampledFrom([]llm.Cache{llm.CacheShort, llm.CacheLong, llm.CacheMixed}).Draw(t, "policy")
		last, sent := "", 0
		cache := simCache{}
		for n := 1; n <= len(msgs); n++ {
			if roleOf(msgs[n-1]) != "user" {
				continue
			}
			req := llm.Request{System: json.RawMessage(testSystem), Tools: json.RawMessage(testTools), Messages: msgs[:n], Cache: policy}
			b, bad := model.Build(&req, false)
			if bad != nil {
				t.Fatal(bad)
			}
			checkMarks(t, b.JSON)
			plain := unmarked(b.JSON)
			if !json.Valid(b.JSON) || !strings.HasPrefix(plain, strings.TrimSuffix(last, "]}")) {
				t.Fatalf("does not extend the body before:\n%s\n%s", last, plain)
			}
			if read := cache.request(b.JSON); read != sent {
				t.Fatalf("read %d of the %d positions that were sent before:\n%s", read, sent, b.JSON)
			}
			last, sent = plain, 2+1
			for _, raw := range msgs[:n] {
				list, err := spans(raw)
				if err != nil {
					t.Fatal(err)
				}
				sent += len(list)
			}
		}
	})
}

// TestExactBytes: what is sent is what was given, number texts and escapes
// included.
func TestExactBytes(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"x","input":{"n":1.0e+02,"u":"\u00e9\/","b":2, "a":1}}]}`
	system := `[ {"text":"a\u2028","type":"text"} ]`
	req := llm.Request{System: json.RawMessage(system), Messages: []json.RawMessage{json.RawMessage(raw)}, Cache: llm.CacheOff}
	b, bad := model.Build(&req, false)
	if bad != nil {
		t.Fatal(bad)
	}
	if !bytes.Contains(b.JSON, []byte(raw)) || !bytes.Contains(b.JSON, []byte(system)) {
		t.Errorf("%s", b.JSON)
	}
	if string(req.Messages[0]) != raw {
		t.Error("the request was changed")
	}
}

// TestLifetimeStays: anthropics/claude-code#47261. A session that is resumed asks for
// the same lifetime as before, from its first request on: it depends on the policy
// alone, not on how long the conversation is or whose marks it came with.
func TestLifetimeStays(t *testing.T) {
	for _, c := range []struct {
		cache       llm.Cache
		long, short bool
	}{{llm.CacheShort, false, true}, {llm.CacheMixed, true, true}, {llm.CacheLong, true, false}} {
		for n := 1; n <= 12; n += 2 {
			var msgs []json.RawMessage
			for range n {
				msgs = append(msgs, turn()...)
			}
			msgs = append(msgs, json.RawMessage(`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`))
			b, bad := model.Build(&llm.Request{System: json.RawMessage(testSystem), Tools: json.RawMessage(testTools), Messages: msgs, Cache: c.cache}, false)
			if bad != nil {
				t.Fatal(bad)
			}
			long := strings.Contains(string(b.JSON), `"cache_control":{"type":"ephemeral","ttl":"1h"}`)
			short := strings.Contains(string(b.JSON), `"cache_control":{"type":"ephemeral"}`)
			if long != c.long || short != c.short {
				t.Errorf("%q, %d turns: marks of an hour %v, of five minutes %v", c.cache, n, long, short)
			}
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, g := range golden {
		f.Add([]byte(g.req.System), []byte(g.req.Options), []byte(g.req.Messages[0]))
	}
	f.Fuzz(func(t *testing.T, system, options, msg []byte) {
		req := llm.Request{System: system, Options: options, Messages: []json.RawMessage{msg, json.RawMessage(summaryOld)}, Mismatch: llm.MismatchDrop}
		b, bad := model.Build(&req, false)
		if bad == nil && !json.Valid(b.JSON) {
			t.Errorf("not JSON: %s", b.JSON)
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	var msgs []json.RawMessage
	for range 500 {
		msgs = append(msgs, turn()...)
	}
	req := llm.Request{System: json.RawMessage(testSystem), Tools: json.RawMessage(testTools), Messages: msgs}
	b.ReportAllocs()
	b.SetBytes(int64(size(&req)))
	for b.Loop() {
		if _, bad := model.Build(&req, false); bad != nil {
			b.Fatal(bad)
		}
	}
}
