package validate

import (
	"strings"
	"testing"
)

func th(name string) string {
	return `{"type":"thinking","thinking":"` + name + `","signature":"sig-` + name + `"}`
}

func req(messages ...string) string {
	return `{"system":"be good","tools":[{"name":"Read"}],"messages":[` + strings.Join(messages, ",") + `]}`
}

// The conversation of the cases below: three replies in a tool loop, then a fourth.
var (
	q1   = user(txt("one"))
	r1   = assistant(th("t1"), use("a", "Read", `{"p":1}`))
	q2   = user(`{"type":"tool_result","tool_use_id":"a","content":[` + txt("file") + `]}`)
	r2   = assistant(th("t2"), txt("so"), th("t2b"), use("b", "Read", "{}"))
	q3   = user(`{"type":"tool_result","tool_use_id":"b","content":"data"}`)
	r3   = assistant(th("t3"), txt("done"))
	q4   = user(txt("two"))
	past = []Exchange{
		{[]byte(req(q1)), []byte(r1)},
		{[]byte(req(q1, r1, q2)), []byte(r2)},
		{[]byte(req(q1, r1, q2, r2, q3)), []byte(r3)},
	}

	bare1 = assistant(use("a", "Read", `{"p":1}`))
	bare2 = assistant(txt("so"), use("b", "Read", "{}"))
	bare3 = assistant(txt("done"))

	// The conversation so far was summarized by the server on demand, and went on.
	c1      = assistant(`{"type":"compaction","content":"all of it","signature":"c"}`)
	r4      = assistant(th("t4"), txt("four"))
	compact = append(past[:3:3],
		Exchange{[]byte(req(q1, r1, q2, r2, q3, r3)), []byte(c1)},
		Exchange{[]byte(req(c1, q4)), []byte(r4)})
	// Only the head was summarized, in the background.
	c2   = assistant(`{"type":"compaction","content":"the head","signature":"c2"}`)
	head = append(past[:3:3], Exchange{[]byte(req(q1, r1, q2)), []byte(c2)})
	// A summary of a summary.
	c3    = assistant(`{"type":"compaction","content":"more","signature":"c3"}`)
	twice = append(head[:4:4], Exchange{[]byte(req(c2, r2, q3)), []byte(c3)})
	// The server summarized by itself, in the middle of a reply's turn.
	r5        = assistant(`{"type":"compaction","content":"by threshold"}`, th("t5"), use("c", "Read", "{}"))
	q6        = user(`{"type":"tool_result","tool_use_id":"c"}`)
	threshold = append(past[:3:3], Exchange{[]byte(req(q1, r1, q2, r2, q3, r3, q4)), []byte(r5)})
)

// T-13, C-0, G-12, DESIGN decision 7; API.md 1.5 (9, 10), 1.6, 2.2, 2.3.
var boundCases = []struct {
	name    string
	history []Exchange
	body    string
	opt     Options // Bound is set
	want    string
}{
	{"no history, no thinking", nil, req(q1, bare1, q2), Options{}, ""},
	{"foreign reasoning", nil, req(q1, r1, q2), Options{}, "messages.1.content.0 thinking-modified"},
	{"the conversation goes on", past, req(q1, r1, q2, r2, q3, r3, q4), Options{AppendOnly: true}, ""},
	{"the same request again", past, req(q1, r1, q2, r2, q3), Options{}, ""},
	{"it goes on after a resume: only the last exchange is known", past[2:], req(q1, r1, q2, r2, q3, r3, q4), Options{AppendOnly: true}, ""},
	{"a prompt becomes blocks and a mark moves", past,
		req(user(txt("one", short)), r1, user(`{"type":"tool_result","tool_use_id":"a","content":[`+txt("file", short)+`],`+short+`}`), r2, q3, r3, q4), Options{AppendOnly: true}, ""},
	{"a string becomes a block", []Exchange{{[]byte(req(`{"role":"user","content":"one"}`)), []byte(r1)}}, req(q1, r1, q2), Options{AppendOnly: true}, ""},
	{"white space between tokens", past, req(q1, strings.ReplaceAll(r1, `","`, `" , "`), q2), Options{}, ""},
	{"messages divided otherwise", past, req(q1, assistant(th("t1")), assistant(use("a", "Read", `{"p":1}`)), q2, r2, q3, r3, q4), Options{AppendOnly: true}, ""},
	{"the reply as a whole message", []Exchange{{[]byte(req(q1)), []byte(`{"id":"msg_1","type":"message","role":"assistant","content":[` + th("t1") + `,` + use("a", "Read", "{}") + `],"usage":{}}`)}},
		req(q1, assistant(th("t1"), use("a", "Read", "{}")), q2), Options{AppendOnly: true}, ""},

	// API.md 1.5 (9); openclaw/openclaw#85912
	{"a thinking block modified", past, req(q1, r1, q2, assistant(th("t2"), txt("so"), th("T2b"), use("b", "Read", "{}")), q3), Options{},
		"messages.3.content.2 thinking-modified|messages.3.content.0 thinking-partial"},
	{"thinking in another order", past, req(q1, r1, q2, assistant(th("t2b"), txt("so"), th("t2"), use("b", "Read", "{}")), q3), Options{},
		"messages.3.content.0 thinking-bound|messages.3.content.2 thinking-bound"},
	{"a signature written otherwise", past, req(q1, strings.Replace(r1, "sig-t1", `sig\u002dt1`, 1), q2), Options{}, "messages.1.content.0 thinking-modified"},
	{"some of a reply's thinking left out", past, req(q1, r1, q2, assistant(txt("so"), th("t2b"), use("b", "Read", "{}")), q3), Options{},
		"messages.3.content.1 thinking-bound|messages.3.content.1 thinking-partial"},
	{"the end of a reply's thinking left out", past, req(q1, r1, q2, assistant(th("t2"), txt("so"), use("b", "Read", "{}")), q3), Options{},
		"messages.3.content.0 thinking-partial"},

	{"all thinking left out", past, req(q1, bare1, q2, bare2, q3, bare3, q4), Options{AppendOnly: true}, ""},
	{"thinking left out from the start", past, req(q1, bare1, q2, r2, q3, r3, q4), Options{AppendOnly: true}, ""},
	{"thinking left out up to the end", past, req(q1, r1, q2, bare2, q3, bare3, q4), Options{AppendOnly: true}, ""},
	{"thinking left out in the middle", past, req(q1, r1, q2, bare2, q3, r3, q4), Options{}, "messages.5.content.0 thinking-bound"},
	{"the same, appended only", past, req(q1, r1, q2, bare2, q3, r3, q4), Options{AppendOnly: true}, "messages.5.content.0 prefix-changed|messages.5.content.0 thinking-bound"},
	{"thinking put back", []Exchange{past[0], past[1], {[]byte(req(q1, bare1, q2, r2, q3)), []byte(r3)}}, req(q1, r1, q2, r2, q3, r3, q4), Options{}, "messages.5.content.0 thinking-bound"},

	{"an old result cleared", past, req(q1, r1, strings.Replace(q2, "file", "[Old tool result content cleared]", 1), r2, q3, r3, q4), Options{},
		"messages.3.content.0 thinking-bound|messages.3.content.2 thinking-bound|messages.5.content.0 thinking-bound"},
	{"an old result cleared and later thinking stripped", past, req(q1, r1, strings.Replace(q2, "file", "[Old tool result content cleared]", 1), bare2, q3, bare3, q4), Options{}, ""},
	{"an old result cleared, drop option set", past, req(q1, r1, strings.Replace(q2, "file", "x", 1), r2, q3, r3, q4), Options{DropMismatch: true}, ""},
	{"an old result cleared without an edit", past, req(q1, r1, strings.Replace(q2, "file", "x", 1), bare2, q3, bare3, q4), Options{AppendOnly: true}, "messages.2.content.0 prefix-changed"},
	{"the first message rewritten", past, req(user(txt("One")), r1, q2), Options{}, "messages.1.content.0 thinking-bound"},
	{"a message dropped", past, req(q1, r1, q2, r2, q3, q4), Options{AppendOnly: true}, "messages.5.content.0 prefix-changed"},
	{"the end missing", past, req(q1, r1, q2, r2, q3), Options{AppendOnly: true}, "messages.5 prefix-changed"},
	{"another role", past, req(q1, r1, q2, r2, q3, user(txt("done")), q4), Options{AppendOnly: true}, "messages.5.content.0 prefix-changed"},
	{"key order", past, req(q1, strings.Replace(r1, `"name":"Read","input":{"p":1}`, `"input":{"p":1},"name":"Read"`, 1), q2, r2, q3), Options{},
		"messages.3.content.0 thinking-bound|messages.3.content.2 thinking-bound"},
	{"a number written otherwise", past, req(q1, strings.Replace(r1, `{"p":1}`, `{"p":1.0}`, 1), q2), Options{AppendOnly: true}, "messages.1.content.1 prefix-changed"},
	{"the system text changed", past, strings.Replace(req(q1, r1, q2), "be good", "be bad", 1), Options{AppendOnly: true}, "system frame-changed|messages.1.content.0 thinking-bound"},
	{"a tool changed", past, strings.Replace(req(q1, bare1, q2), "Read", "Write", 1), Options{AppendOnly: true}, "tools frame-changed"},
	{"a tool that is loaded later is added", past, strings.Replace(req(q1, r1, q2, r2, q3, r3, q4), `{"name":"Read"}`, `{"name":"Read"},{"name":"X","defer_loading":true}`, 1), Options{AppendOnly: true}, ""},
	{"a system message appended", past, req(q1, r1, q2, r2, q3, r3, q4, sys), Options{AppendOnly: true}, ""},
	{"a member of a message is part of it", []Exchange{{[]byte(req(q1, `{"role":"system","content":[],"output_config":{"effort":"low"}}`)), []byte(r1)}},
		req(q1, `{"role":"system","content":[],"output_config":{"effort":"high"}}`, r1, q2), Options{AppendOnly: true}, "messages.1 prefix-changed|messages.2.content.0 thinking-bound"},

	{"a server's compaction first", compact[:4], req(c1, q4), Options{AppendOnly: true}, ""},
	{"it goes on", compact, req(c1, q4, r4, q4), Options{AppendOnly: true}, ""},
	{"compaction left out", compact, req(q1, bare1, q2, bare2, q3, bare3, q4, r4, q4), Options{}, "messages.7.content.0 thinking-bound"},
	{"covered messages left behind it", compact[:4], req(c1, r3, q4), Options{}, "messages.1.content.0 thinking-bound|messages.1.content.0 compaction-overlap"},
	{"covered messages left behind it, without thinking", compact[:4], req(c1, bare3, q4), Options{}, "messages.1.content.0 compaction-overlap"},
	{"the head summarized, the rest kept", head, req(c2, r2, q3, r3, q4), Options{}, ""},
	{"the head summarized, the rest changed", head, req(c2, r2, strings.Replace(q3, "data", "x", 1), r3, q4), Options{}, "messages.3.content.0 thinking-bound"},
	{"the head summarized, some of the rest missing", head, req(c2, r3, q4), Options{}, "messages.1.content.0 thinking-bound"},
	{"a summary of a summary", twice, req(c3, r3, q4), Options{}, ""},
	{"a summary never received", past, req(c1, r3, q4), Options{}, "messages.1.content.0 thinking-bound"},
	{"a server's compaction in the middle", threshold, req(q1, r1, q2, r2, q3, r3, q4, r5, q6), Options{AppendOnly: true}, ""},
	{"what stands before it is dropped", threshold, req(r5, q6), Options{AppendOnly: true}, ""},
	{"the frame changed behind a summary", head, strings.Replace(req(c2, r2, q3, r3, q4), "be good", "be bad", 1), Options{},
		"messages.1.content.0 thinking-bound|messages.1.content.2 thinking-bound|messages.3.content.0 thinking-bound"},
}

func TestBound(t *testing.T) {
	for _, c := range boundCases {
		t.Run(c.name, func(t *testing.T) {
			c.opt.Bound = true
			vs := CheckAfter(c.history, []byte(c.body), c.opt)
			if got := list(vs); got != c.want {
				t.Errorf("%s\n got %q\nwant %q\n%v", c.body, got, c.want, vs)
			}
		})
	}
}

// TestBrokenHistory: what cannot be read is said, the rest is judged.
func TestBrokenHistory(t *testing.T) {
	h := []Exchange{{[]byte(`{`), []byte(r1)}, {[]byte(req(q1)), []byte(`7`)}, {[]byte(req(q1)), []byte(`{"role":"assistant"}`)}, past[0]}
	vs := CheckAfter(h, []byte(req(q1, r1, q2)), Options{Bound: true})
	if got, want := list(vs), "history.0 json|history.1 json|history.2 json"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
