package validate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
)

// The parts of the requests below.
const (
	hi     = `{"role":"user","content":"hi"}`
	yes    = `{"role":"assistant","content":[{"type":"text","text":"yes"}]}`
	callA  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}}]}`
	callAB = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{}},{"type":"tool_use","id":"b","name":"Read","input":{}}]}`
	resA   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}`
	resB   = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`
	resAB  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[]},{"type":"tool_result","tool_use_id":"a","is_error":true}]}`
	sys    = `{"role":"system","content":[{"type":"text","text":"be brief"}]}`
	auto   = `{"type":"compaction","content":"so far"}` // by threshold: not signed
	comp   = `{"role":"assistant","content":[{"type":"compaction","content":"so far","signature":"s"}]}`
	think  = `{"type":"thinking","thinking":"","signature":"sig"}`
	server = `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`
	found  = `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`
	short  = `"cache_control":{"type":"ephemeral"}`
	hour   = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

func msgs(list ...string) string { return `{"messages":[` + strings.Join(list, ",") + `]}` }

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func txt(s string, more ...string) string {
	b, _ := json.Marshal(s)
	return `{"type":"text","text":` + string(b) + strings.Join(append([]string{""}, more...), ",") + `}`
}

func use(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

// pngOf is an image block of that many pixels.
func pngOf(w, h int) string {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	head := b.Bytes() // IHDR: width and height at 16 and 20, then a checksum that DecodeConfig verifies
	for i := range 4 {
		head[16+i], head[20+i] = byte(w>>(24-8*i)), byte(h>>(24-8*i))
	}
	sum := crc(head[12:29])
	for i := range 4 {
		head[29+i] = byte(sum >> (24 - 8*i))
	}
	return img("image/png", base64.StdEncoding.EncodeToString(head))
}

// crc is the checksum of PNG chunks, bit by bit.
func crc(data []byte) uint32 {
	c := ^uint32(0)
	for _, x := range data {
		c ^= uint32(x)
		for range 8 {
			c = c>>1 ^ 0xedb88320*(c&1)
		}
	}
	return ^c
}

func img(mediaType, data string) string {
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, mediaType, data)
}

// ruleCases are requests and what is wrong with them, as "path rule" in order; G-6, API.md 1.1, 1.5 to 1.7, 2.2.
var ruleCases = []struct {
	name string
	body string
	opt  Options
	want string
}{
	{"a question", msgs(hi), Options{}, ""},
	{"a plain array of messages", `[` + hi + `]`, Options{}, ""},
	{"a tool loop", msgs(hi, callA, resA), Options{NoPrefill: true}, ""},
	{"results in any order", msgs(hi, callAB, resAB), Options{}, ""},
	{"results in two messages of one turn", msgs(hi, callAB, resA, resB), Options{}, ""},
	{"calls in two messages of one turn", msgs(hi, callA, assistant(use("b", "Read", "{}")), resAB), Options{}, ""},
	{"text after results", msgs(hi, callA, resA, hi), Options{}, ""},

	{"not JSON", `{"messages":[`, Options{}, " json"},
	{"a number", `7`, Options{}, " json"},
	{"messages no array", `{"messages":{}}`, Options{}, " json"},
	{"message no object", msgs(hi, `7`), Options{}, "messages.1 json"},
	{"a member twice", msgs(`{"role":"user","role":"user","content":"x"}`), Options{}, "messages.0 json|messages.0 first-role"},
	{"no messages", msgs(), Options{}, " no-messages"},
	{"messages absent", `{}`, Options{}, " no-messages"},
	{"role", msgs(hi, `{"role":"tool","content":"x"}`), Options{}, "messages.1 role"},
	{"names are exact", msgs(`{"Role":"user","content":"x"}`), Options{}, "messages.0 role|messages.0 first-role"},
	{"too large", msgs(hi), Options{MaxBytes: 20}, " size"},
	{"too many", msgs(hi, hi, hi), Options{MaxMessages: 2}, " message-count"},

	{"first message the assistant's", msgs(yes, hi), Options{}, "messages.0 first-role"},
	{"first message a system message", msgs(sys, hi), Options{}, "messages.0 first-role|messages.0 system-position"},
	{"first message a compaction", msgs(comp, hi), Options{}, ""},
	{"first message a compaction that failed", msgs(assistant(`{"type":"compaction","content":null}`), hi), Options{}, "messages.0 first-role"},
	{"two compactions", msgs(comp, hi, comp, hi), Options{}, "messages.2.content.0 compaction"},
	{"a compaction on demand that is not first", msgs(hi, comp, hi), Options{}, "messages.1.content.0 compaction"},
	{"a compaction on demand behind text", msgs(hi, assistant(txt("a"), `{"type":"compaction","content":"s","signature":"s"}`), hi), Options{}, "messages.1.content.1 compaction"},
	{"two compactions by threshold, the head left out", msgs(assistant(auto, txt("go")), hi, assistant(auto, txt("on")), hi), Options{}, ""},
	{"two compactions by threshold in one message", msgs(hi, assistant(auto, txt("go"), auto), hi), Options{}, ""},
	{"a compaction by threshold behind one on demand", msgs(comp, hi, assistant(auto, txt("go")), hi), Options{}, "messages.2.content.0 compaction"},
	{"a compaction on demand behind one by threshold", msgs(assistant(auto, txt("go")), hi, comp, hi), Options{}, "messages.2.content.0 compaction"},
	{"a compaction by threshold", msgs(hi, assistant(`{"type":"compaction","content":"s"}`, txt("go")), hi), Options{}, ""},

	{"system message after user, last", msgs(hi, sys), Options{NoPrefill: true}, ""},
	{"system message between user and assistant", msgs(hi, callA, resA, sys, yes, hi), Options{}, ""},
	{"system message between assistant and user", msgs(hi, yes, sys, hi), Options{}, "messages.2 system-position"},
	{"system message after a server's result", msgs(hi, assistant(server, found), sys), Options{NoPrefill: true}, ""},
	{"system message without content", msgs(hi, `{"role":"system","content":[],"output_config":{"effort":"low"}}`), Options{}, ""},
	{"system message, model takes none", msgs(hi, sys), Options{NoSystem: true}, "messages.1 system-unsupported"},
	{"system message between call and result", msgs(hi, callA, sys, resA), Options{}, "messages.1.content.0 tool-use-open|messages.2 system-position|messages.3.content.0 result-orphan"},

	{"empty content", msgs(user(), yes), Options{}, "messages.0 empty-content"},
	{"content absent", msgs(hi, `{"role":"assistant"}`, hi), Options{}, "messages.1 empty-content"},
	{"final assistant message may be empty", msgs(hi, assistant()), Options{}, ""},
	{"content a number", msgs(hi, `{"role":"user","content":7}`), Options{}, "messages.1.content block-type|messages.1 empty-content"},
	{"empty text", msgs(user(txt(""))), Options{}, "messages.0.content.0 empty-text"},
	{"empty string", msgs(`{"role":"user","content":""}`), Options{}, "messages.0.content empty-text"},
	{"white space", msgs(user(txt("ok"), txt(" \n\u00a0\u2003\x1f"))), Options{}, "messages.0.content.1 empty-text"},
	{"text absent", msgs(user(`{"type":"text"}`)), Options{}, "messages.0.content.0 empty-text"},
	{"empty text in a result", msgs(hi, callA, user(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}`)), Options{}, "messages.2.content.0.content.0 empty-text"},
	{"blank text in a result is text", msgs(hi, callA, user(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":" "}]}`)), Options{}, ""},
	{"empty text in system", `{"system":[` + txt("") + `],"messages":[` + hi + `]}`, Options{}, "system.0 empty-text"},
	{"a call inside a result", msgs(hi, callA, user(`{"type":"tool_result","tool_use_id":"a","content":[`+use("x", "R", "{}")+`]}`)), Options{}, "messages.2.content.0.content.0 result-content"},

	{"block no object", msgs(user(`7`)), Options{}, "messages.0.content.0 block-type"},
	{"block without type", msgs(user(`{"text":"x"}`)), Options{}, "messages.0.content.0 block-type"},
	{"call of the user", msgs(user(use("a", "Read", "{}"))), Options{}, "messages.0.content.0 block-role"},
	{"result of the assistant", msgs(hi, assistant(`{"type":"tool_result","tool_use_id":"a"}`), hi), Options{}, "messages.1.content.0 block-role"},
	{"unknown blocks are kept", msgs(user(`{"type":"container_upload","file_id":"f"}`)), Options{}, ""},

	// anthropics/claude-code#68325
	{"lone high surrogate", msgs(user(`{"type":"text","text":"x\ud99c"}`)), Options{}, "messages.0.content.0 unicode"},
	{"lone low surrogate", msgs(`{"role":"user","content":"x\uDC00"}`), Options{}, "messages.0.content unicode"},
	{"high surrogate before another escape", msgs(hi, assistant(use("a", "R", `{"p":"\ud99c\n"}`)), resA), Options{}, "messages.1.content.0 unicode"},
	{"a pair", msgs(user(`{"type":"text","text":"\ud83d\ude00 \\ud99c"}`)), Options{}, ""},
	{"invalid UTF-8", msgs("{\"role\":\"user\",\"content\":\"\xff\"}"), Options{}, "messages.0.content unicode"},
	{"lone surrogate in system", `{"system":"\udead","messages":[` + hi + `]}`, Options{}, "system unicode"},

	{"id with a dot", msgs(hi, assistant(use("a.b", "Read", "{}")), user(`{"type":"tool_result","tool_use_id":"a.b"}`)), Options{}, "messages.1.content.0 tool-id"},
	{"id too long", msgs(hi, assistant(use(strings.Repeat("x", 65), "R", "{}")), user(`{"type":"tool_result","tool_use_id":"`+strings.Repeat("x", 65)+`"}`)), Options{}, "messages.1.content.0 tool-id"},
	{"name too long", msgs(hi, assistant(use("a", strings.Repeat("ü", 201), "{}")), resA), Options{}, "messages.1.content.0 tool-name"},
	{"name as long as may be", msgs(hi, assistant(use("a", strings.Repeat("ü", 200), "{}")), resA), Options{}, ""},
	{"name absent", msgs(hi, assistant(use("a", "", "{}")), resA), Options{}, "messages.1.content.0 tool-name"},
	// QwenLM/qwen-code#7377
	{"input a string", msgs(hi, assistant(use("a", "Read", `"{}"`)), resA), Options{}, "messages.1.content.0 tool-input"},
	{"input absent", msgs(hi, assistant(`{"type":"tool_use","id":"a","name":"R"}`), resA), Options{}, "messages.1.content.0 tool-input"},
	{"definitions", `{"tools":[{"name":"a b"},{"name":"ok"},{"name":"ok"},{"type":"web_search_20250305","name":"web_search"},{}],"messages":[` + hi + `]}`, Options{},
		"tools.0 tool-name|tools.2 tool-name-repeated|tools.4 tool-name"},

	// anthropics/claude-code#45286, anthropics/claude-code#1894
	{"a call without result", msgs(hi, callAB, resA, yes), Options{}, "messages.1.content.1 tool-use-open"},
	{"a call at the end", msgs(hi, callA), Options{}, "messages.1.content.0 tool-use-open"},
	{"the result one turn late", msgs(hi, callA, hi, yes, resA), Options{}, "messages.1.content.0 tool-use-open|messages.4.content.0 result-orphan"},
	{"a result without call", msgs(hi, yes, resA), Options{}, "messages.2.content.0 result-orphan"},
	{"a result first", msgs(resA), Options{}, "messages.0.content.0 result-orphan"},
	{"a call twice", msgs(hi, callA, resA, callA, resA), Options{}, "messages.3.content.0 tool-use-repeated"},
	{"a call twice in one turn", msgs(hi, assistant(use("a", "R", "{}"), use("a", "R", "{}")), resA), Options{}, "messages.1.content.1 tool-use-repeated"},
	{"a result twice", msgs(hi, callA, resA, resA), Options{}, "messages.3.content.0 result-repeated"},
	// Hmbown/Codewhale#6119 has such a message
	{"text before a result", msgs(hi, callA, user(txt("so"), `{"type":"tool_result","tool_use_id":"a"}`)), Options{}, "messages.2.content.1 result-order"},
	{"text before a result, in two messages", msgs(hi, callA, hi, resA), Options{}, "messages.3.content.0 result-order"},

	{"a server's call and result", msgs(hi, assistant(server, found, txt("so")), hi), Options{}, ""},
	{"a server's call left open", msgs(hi, assistant(server, txt("so")), hi, yes, hi), Options{}, "messages.1.content.0 server-call-open"},
	{"a server's call open in the last reply", msgs(hi, assistant(txt("so"), server)), Options{NoPrefill: true}, ""},
	{"a server's result without call", msgs(hi, assistant(found, txt("so")), hi), Options{}, "messages.1.content.0 server-result-orphan"},
	{"mixed turn", msgs(hi, assistant(server, use("a", "R", "{}")), resA), Options{}, ""},
	{"mixed turn with text", msgs(hi, assistant(server, use("a", "R", "{}")), resA, hi), Options{}, "messages.3.content.0 mixed-turn"},

	// anthropics/claude-code#10199
	{"nothing but thinking", msgs(hi, assistant(think), hi), Options{}, "messages.1 thinking-only"},
	{"thinking last", msgs(hi, assistant(txt("a"), think)), Options{}, "messages.1.content.1 thinking-last"},
	{"thinking without signature", msgs(hi, assistant(`{"type":"thinking","thinking":"x","signature":""}`, txt("a")), hi), Options{}, "messages.1.content.0 thinking-shape"},
	{"thinking without text member", msgs(hi, assistant(`{"type":"thinking","signature":"x"}`, txt("a")), hi), Options{}, "messages.1.content.0 thinking-shape"},
	// anthropics/claude-code#63147: empty text beside a signature is whole
	{"thinking with empty text", msgs(hi, assistant(think, use("a", "R", "{}")), resA), Options{}, ""},
	{"redacted thinking without data", msgs(hi, assistant(`{"type":"redacted_thinking"}`, txt("a")), hi), Options{}, "messages.1.content.0 thinking-shape"},
	{"manual thinking left out", `{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + hi + "," + callA + "," + resA + `]}`, Options{}, "messages.1.content.0 thinking-first"},
	{"manual thinking there", `{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + hi + "," + assistant(think, use("a", "R", "{}")) + "," + resA + `]}`, Options{}, ""},
	{"manual thinking, an earlier turn", `{"thinking":{"type":"enabled","budget_tokens":1024},"messages":[` + hi + "," + callA + "," + resA + "," + yes + "," + hi + `]}`, Options{}, ""},
	{"adaptive thinking left out", `{"thinking":{"type":"adaptive"},"messages":[` + hi + "," + callA + "," + resA + `]}`, Options{}, ""},

	{"four marks", `{"system":[` + txt("s", hour) + `],"tools":[{"name":"t",` + hour + `}],"messages":[` + user(txt("a", short), txt("b", short)) + `]}`, Options{}, ""},
	{"five marks", `{"cache_control":{"type":"ephemeral"},"system":[` + txt("s", hour) + `],"tools":[{"name":"t",` + hour + `}],"messages":[` + user(txt("a", short), txt("b", short)) + `]}`, Options{}, " cache-control-count"},
	{"a mark inside a result", msgs(hi, callA, user(`{"type":"tool_result","tool_use_id":"a","content":[`+txt("x", short)+`,`+txt("x", short)+`,`+txt("x", short)+`,`+txt("x", short)+`],`+short+`}`)), Options{}, " cache-control-count"},
	{"a mark on empty text", msgs(user(txt(" ", short))), Options{}, "messages.0.content.0 empty-text|messages.0.content.0 cache-control-place"},
	{"a mark on thinking", msgs(hi, assistant(think[:len(think)-1]+","+short+"}", txt("a")), hi), Options{}, "messages.1.content.0 cache-control-place"},
	{"a null mark is none", msgs(hi, assistant(think[:len(think)-1]+`,"cache_control":null}`, txt("a")), hi), Options{}, ""},
	{"one hour after five minutes", `{"system":[` + txt("s", short) + `],"messages":[` + user(txt("a", hour)) + `]}`, Options{}, "messages.0.content.0 cache-control-order"},
	{"tools come before system", `{"system":[` + txt("s", hour) + `],"tools":[{"name":"t",` + short + `}],"messages":[` + hi + `]}`, Options{}, "system.0 cache-control-order"},

	{"prefill", msgs(hi, yes), Options{NoPrefill: true}, "messages.1 prefill"},
	{"a summary is asked for behind a finished reply", `{"compaction":{"type":"summarize"},"messages":[` + hi + "," + yes + `]}`, Options{NoPrefill: true}, ""},
	{"a summary is asked for behind a reply with a space at its end", `{"compaction":{"type":"summarize"},"messages":[` + hi + "," + assistant(txt("so ")) + `]}`, Options{}, ""},
	{"a summary is asked for behind an open call", `{"compaction":{"type":"summarize"},"messages":[` + hi + "," + callA + `]}`, Options{NoPrefill: true}, "messages.1.content.0 tool-use-open"},
	{"no summary is asked for", `{"compaction":null,"messages":[` + hi + "," + yes + `]}`, Options{NoPrefill: true}, "messages.1 prefill"},
	{"prefill allowed", msgs(hi, yes), Options{}, ""},
	{"prefill with a space at its end", msgs(hi, assistant(txt("so "))), Options{}, "messages.1.content.0 trailing-space"},
	{"prefill with à at its end", msgs(hi, assistant(txt("voilà"))), Options{}, ""},

	{"image", msgs(user(pngOf(8000, 10))), Options{}, ""},
	{"image too wide", msgs(user(pngOf(8001, 10))), Options{}, "messages.0.content.0 image-pixels"},
	{"image too high, in a result", msgs(hi, callA, user(`{"type":"tool_result","tool_use_id":"a","content":[`+pngOf(1, 9000)+`]}`)), Options{}, "messages.2.content.0.content.0 image-pixels"},
	{"twenty images", msgs(user(strings.Repeat(pngOf(1, 1)+",", 19) + pngOf(2001, 1))), Options{}, ""},
	{"twenty-one images", msgs(user(strings.Repeat(pngOf(1, 1)+",", 20) + pngOf(2001, 1))), Options{}, "messages.0.content.20 image-pixels"},
	{"many images", msgs(user(pngOf(1, 1), pngOf(1, 1), pngOf(1, 1))), Options{MaxImages: 2}, " image-count"},
	{"image of many bytes", msgs(user(img("image/webp", strings.Repeat("A", 101)))), Options{MaxImageBytes: 100}, "messages.0.content.0 image-bytes"},
	{"image of another type", msgs(user(img("image/tiff", "AAAA"))), Options{}, "messages.0.content.0 image-type"},
	{"image without source", msgs(user(`{"type":"image"}`)), Options{}, "messages.0.content.0 image-type"},
	{"image without bytes", msgs(user(img("image/png", ""))), Options{}, "messages.0.content.0 image-type"},
	{"image by address", msgs(user(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`)), Options{}, ""},
	{"image in a system text is unknown to us", `{"system":[` + pngOf(9000, 1) + `],"messages":[` + hi + `]}`, Options{}, ""},
}

// list writes violations as the tables do.
func list(vs []Violation) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Path+" "+v.Rule)
	}
	return strings.Join(out, "|")
}

func TestRules(t *testing.T) {
	for _, c := range ruleCases {
		t.Run(c.name, func(t *testing.T) {
			vs := Check([]byte(c.body), c.opt)
			if got := list(vs); got != c.want {
				t.Errorf("%s\n got %q\nwant %q\n%v", c.body, got, c.want, vs)
			}
		})
	}
}

// TestRulesAreShown fails when a rule has no case, so that every rule can be seen to fire.
func TestRulesAreShown(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range ruleCases {
		for w := range strings.SplitSeq(c.want, "|") {
			_, rule, _ := strings.Cut(w, " ")
			shown[rule] = true
		}
	}
	for _, c := range boundCases {
		for w := range strings.SplitSeq(c.want, "|") {
			_, rule, _ := strings.Cut(w, " ")
			shown[rule] = true
		}
	}
	for _, rule := range []string{RuleJSON, RuleSize, RuleCount, RuleNone, RuleRole, RuleFirst, RuleCompact, RuleSystem, RuleNoSystem, RuleEmpty,
		RuleText, RuleType, RuleWhere, RuleUnicode, RuleID, RuleName, RuleTwice, RuleInput, RuleRepeated, RuleOpen, RuleOrphan, RuleAnswered,
		RuleOrder, RuleNested, RuleMixed, RuleServer, RuleServerID, RuleThinkingShape, RuleThinkingOnly, RuleThinkingLast, RuleThinkingFirst,
		RuleMarks, RuleMarkPlace, RuleMarkOrder, RulePrefill, RuleTrail, RuleImageCount, RuleImageBytes, RuleImagePixels, RuleImageType,
		RuleFrameChanged, RulePrefixChanged, RuleBound, RuleModified, RulePartial, RuleOverlap} {
		if !shown[rule] {
			t.Errorf("no case shows %s", rule)
		}
	}
}

// TestWords: the violations that the API has words for use them, so that what the engine says and what a provider says match.
func TestWords(t *testing.T) {
	for body, want := range map[string]string{
		msgs(hi, callA, hi):                "`tool_use` ids were found without `tool_result` blocks immediately after: a",
		msgs(hi, yes, resA):                "unexpected `tool_use_id` found in `tool_result` blocks: a",
		msgs(hi, callA, resA, callA, resA): "`tool_use` ids must be unique",
		msgs(user(txt(""))):                "text content blocks must be non-empty",
		msgs(hi, yes):                      "This model does not support assistant message prefill. The conversation must end with a user message.",
		msgs(user(txt("a", short), txt("a", short), txt("a", short), txt("a", short), txt("a", short))): "A maximum of 4 blocks with cache_control may be provided. Found 5.",
	} {
		vs := Check([]byte(body), Options{NoPrefill: true})
		if len(vs) == 0 || !strings.Contains(vs[0].String(), want) {
			t.Errorf("%s: %v, want %q", body, vs, want)
		}
	}
}
