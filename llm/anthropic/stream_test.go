package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve.dev/llm"
	"varve.dev/message"
)

// sse writes events, each a JSON object with its type.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(e), &head) // tests send broken events as well
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", head.Type, e)
	}
	return b.String()
}

const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":5,"cache_read_input_tokens":90000,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":0},"output_tokens":1}}}`
	stop  = `{"type":"message_stop"}`
	ping  = `{"type":"ping"}`
)

func open(i int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block)
}

func delta(i int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d)
}

func shut(i int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i) }

func ends(reason, more string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null}%s}`, reason, more)
}

func textBlock(i int, pieces ...string) []string {
	out := []string{open(i, `{"type":"text","text":""}`)}
	for _, p := range pieces {
		out = append(out, delta(i, fmt.Sprintf(`{"type":"text_delta","text":%q}`, p)))
	}
	return append(out, shut(i))
}

func callBlock(i int, pieces ...string) []string {
	out := []string{open(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"bash","input":{}}`, i))}
	for _, p := range pieces {
		raw, _ := json.Marshal(p) // a string always encodes
		out = append(out, delta(i, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, raw)))
	}
	return append(out, shut(i))
}

func join(parts ...any) []string {
	var out []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			out = append(out, p)
		case []string:
			out = append(out, p...)
		}
	}
	return out
}

// serve answers every request with the text as an event stream.
func serve(t *testing.T, text string) *Model {
	t.Helper()
	return handle(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Request-Id", "req_1")
		_, _ = io.WriteString(w, text) // a client that went away is part of some tests
	})
}

const testKey = "sk-test-5f0c2d9a77b14e"

func handle(t *testing.T, h http.HandlerFunc) *Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m := New(testKey, "claude-opus-5-5")
	m.BaseURL = s.URL
	return m
}

func wireOf(ms ...message.Message) []json.RawMessage {
	var out []json.RawMessage
	for _, m := range ms {
		out = append(out, m.AppendRequest(nil))
	}
	return out
}

func hi() *llm.Request {
	return &llm.Request{Messages: wireOf(message.User("hi"))}
}

// ask collects the reply and the pieces of text that were shown.
func ask(t *testing.T, m *Model) (*llm.Reply, string, *llm.Error) {
	t.Helper()
	var shown strings.Builder
	for ev, err := range m.Stream(t.Context(), hi()) {
		if err != nil {
			e, ok := errors.AsType[*llm.Error](err)
			if !ok {
				t.Fatalf("%T is not of the package's errors: %v", err, err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", e, *e), testKey) {
				t.Errorf("the key is in an error: %+v", *e)
			}
			return nil, shown.String(), e
		}
		switch ev.Kind {
		case llm.Text, llm.Thinking, llm.Input:
			fmt.Fprintf(&shown, "%s%d:%s ", ev.Kind, ev.Index, ev.Text)
		case llm.Done:
			return ev.Reply, shown.String(), nil
		}
	}
	t.Fatal("the stream ended without a reply and without an error")
	return nil, "", nil
}

// TestAccumulate: what a stream becomes (API.md 1.3), as the bytes of the content.
func TestAccumulate(t *testing.T) {
	end := ends("end_turn", `,"usage":{"output_tokens":9}`)
	for _, c := range []struct {
		name    string
		events  []string
		content string
		shown   string
	}{
		{"text", join(start, ping, textBlock(0, "Hel", "lo"), end, stop), `[{"type":"text","text":"Hello"}]`, "text0:Hel text0:lo "},
		{"unknown events", join(`{"type":"news","x":1}`, start, `{"type":"news"}`, textBlock(0, "a"), end, stop), `[{"type":"text","text":"a"}]`, "text0:a "},
		{"thinking", join(start, open(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"a<","estimated_tokens":3}`),
			delta(0, `{"type":"thinking_delta","thinking":"\u003cb"}`), delta(0, `{"type":"signature_delta","signature":"SIG=="}`), shut(0), textBlock(1, "x"), end, stop),
			`[{"type":"thinking","thinking":"a<\u003cb","signature":"SIG=="},{"type":"text","text":"x"}]`, "thinking0:a< thinking0:<b text1:x "},
		{"omitted thinking", join(start, open(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"signature_delta","signature":"S"}`), shut(0), textBlock(1, "x"), end, stop),
			`[{"type":"thinking","thinking":"","signature":"S"},{"type":"text","text":"x"}]`, "text1:x "},
		{"redacted", join(start, open(0, `{"type":"redacted_thinking","data":"AAA"}`), shut(0), textBlock(1, "x"), end, stop),
			`[{"type":"redacted_thinking","data":"AAA"},{"type":"text","text":"x"}]`, "text1:x "},
		{"interleaved deltas", join(start, open(0, `{"type":"text","text":""}`), open(1, `{"type":"text","text":""}`), delta(1, `{"type":"text_delta","text":"b"}`),
			delta(0, `{"type":"text_delta","text":"a"}`), shut(1), shut(0), end, stop), `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "text1:b text0:a "},
		{"a pair of surrogates cut in two", join(start, open(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"\ud83d"}`), delta(0, `{"type":"text_delta","text":"\ude00"}`), shut(0), end, stop),
			`[{"type":"text","text":"\ud83d\ude00"}]`, "text0:\uFFFD text0:\uFFFD "},
		{"a lone surrogate (anthropics/claude-code#68325)", join(start, open(0, `{"type":"text","text":""}`), delta(0, `{"type":"text_delta","text":"x\ud99cy"}`), shut(0), end, stop),
			"[{\"type\":\"text\",\"text\":\"x\uFFFDy\"}]", "text0:x\uFFFDy "},
		{"call", join(start, callBlock(0, "", `{"b": 1.0,`, ` "a":"x"}`), ends("tool_use", ""), stop), `[{"type":"tool_use","id":"toolu_0","name":"bash","input":{"b":1.0,"a":"x"}}]`, `input0:{"b": 1.0, input0: "a":"x"} `},
		{"call without input", join(start, callBlock(0), ends("tool_use", ""), stop), `[{"type":"tool_use","id":"toolu_0","name":"bash","input":{}}]`, ""},
		{"citations", join(start, open(0, `{"type":"text","text":"","citations":[]}`), delta(0, `{"type":"citations_delta","citation":{"type":"x","n":1}}`), delta(0, `{"type":"text_delta","text":"a"}`),
			delta(0, `{"type":"citations_delta","citation":{"n":2}}`), shut(0), end, stop), `[{"type":"text","text":"a","citations":[{"type":"x","n":1},{"n":2}]}]`, "text0:a "},
		{"unknown block and delta", join(start, open(0, `{"type":"novel","x":1.50}`), delta(0, `{"type":"novel_delta","y":2}`), shut(0), end, stop), `[{"type":"novel","x":1.50}]`, ""},
		{"summary on demand", join(start, open(0, `{"type":"compaction","content":"so far","signature":"c1","tool_changes":null}`), shut(0), ends("compaction", ""), stop),
			`[{"type":"compaction","content":"so far","signature":"c1","tool_changes":null}]`, ""},
		{"summary at a threshold", join(start, open(0, `{"type":"compaction","content":null}`), delta(0, `{"type":"compaction_delta","content":"so far","encrypted_content":"E"}`), shut(0), textBlock(1, "on"), end, stop),
			`[{"type":"compaction","content":"so far","encrypted_content":"E"},{"type":"text","text":"on"}]`, "text1:on "},
		{"nothing", join(start, end, stop), `[]`, ""},
		{"server tool", join(start, open(0, `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), delta(0, `{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}`), shut(0),
			open(1, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), shut(1), end, stop),
			`[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]`, `input0:{"query":"x"} `},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, shown, err := ask(t, serve(t, sse(c.events...)))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(message.AppendBlocks(nil, r.Message.Content)); got != c.content {
				t.Errorf("got  %s\nwant %s", got, c.content)
			}
			if shown != c.shown {
				t.Errorf("shown %q, want %q", shown, c.shown)
			}
			if r.RequestID != "req_1" || r.Message.ID != "msg_1" || r.Message.Model != "claude-opus-5-5" {
				t.Errorf("%+v", r)
			}
			if !json.Valid(r.Message.Raw) {
				t.Errorf("%s", r.Message.Raw)
			}
		})
	}
}

// TestUsage: counts of message_delta are totals, absent ones stay (B-2).
func TestUsage(t *testing.T) {
	r, _, err := ask(t, serve(t, sse(join(start, textBlock(0, "a"),
		ends("end_turn", `,"usage":{"output_tokens":100,"cache_read_input_tokens":null}`),
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_details":null},"usage":{"output_tokens":310,"input_tokens":15,"iterations":[{"type":"message","input_tokens":7,"cache_read_input_tokens":50,"output_tokens":8},{"type":"compaction","input_tokens":900}]},"context_management":{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":3,"cleared_input_tokens":9000}]},"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0"}]}`,
		stop)...)))
	if err != nil {
		t.Fatal(err)
	}
	u := r.Message.Usage
	if u.InputTokens != 15 || u.OutputTokens != 310 || u.CacheReadTokens != 90000 || u.CacheCreationTokens != 5 || u.Cache5m != 5 || u.ContextTokens() != 57 || u.ReplyTokens() != 8 {
		t.Errorf("%+v", *u)
	}
	if !strings.Contains(string(r.AppliedEdits), "9000") || !strings.Contains(string(r.InputTransformations), "thinking_dropped") {
		t.Errorf("%s %s", r.AppliedEdits, r.InputTransformations)
	}
	if r.Message.StopReason != "end_turn" {
		t.Error(r.Message.StopReason)
	}
}

// TestStopReasons: all of them arrive, and what they cut is apart.
func TestStopReasons(t *testing.T) {
	whole, half := []string{`{"command":"ls"}`}, []string{`{"comm`}
	for _, c := range []struct {
		stop              string
		call              []string // nil: none
		calls, cuts, bads int
		kind              llm.Kind
	}{
		{"end_turn", nil, 0, 0, 0, ""},
		{"stop_sequence", nil, 0, 0, 0, ""},
		{"pause_turn", nil, 0, 0, 0, ""},
		{"max_tokens", nil, 0, 0, 0, ""},
		{"model_context_window_exceeded", nil, 0, 0, 0, llm.KindOverflow},
		{"refusal", nil, 0, 0, 0, llm.KindRefusal},
		{"compaction", nil, 0, 0, 0, ""},
		{"invented", nil, 0, 0, 0, ""},
		{"tool_use", whole, 1, 0, 0, ""},
		{"tool_use", half, 1, 0, 1, ""}, // the model wrote no JSON: answered with an error
		{"tool_use", []string{`[1]`}, 1, 0, 1, ""},
		{"max_tokens", half, 0, 1, 0, ""}, // cut: never run
		{"max_tokens", []string{}, 0, 1, 0, ""},
		{"max_tokens", whole, 1, 0, 0, ""},
		{"model_context_window_exceeded", half, 0, 1, 0, llm.KindOverflow},
		{"refusal", half, 0, 1, 0, llm.KindRefusal},
	} {
		events := join(start, textBlock(0, "Well."))
		if c.call != nil {
			events = append(events, callBlock(1, c.call...)...)
		}
		r, _, err := ask(t, serve(t, sse(join(events, ends(c.stop, ""), stop)...)))
		if err != nil {
			t.Fatalf("%s: %v", c.stop, err)
		}
		if len(r.Calls()) != c.calls || len(r.CutCalls) != c.cuts || len(r.BadInputs) != c.bads || r.Message.StopReason != c.stop {
			t.Errorf("%s %q: %d calls, %d cut, %d bad", c.stop, c.call, len(r.Calls()), len(r.CutCalls), len(r.BadInputs))
		}
		if e := r.Err(); (e == nil) != (c.kind == "") || e != nil && e.Kind != c.kind {
			t.Errorf("%s: %v", c.stop, e)
		}
		for _, b := range r.Calls() {
			if c.bads > 0 && string(b.Input) != "{}" {
				t.Errorf("a bad input stands: %s", b.Input)
			}
		}
	}
}

func TestRefusalDetails(t *testing.T) {
	r, _, err := ask(t, serve(t, sse(join(start, textBlock(0, "No."), `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"not this"}}}`, stop)...)))
	if err != nil {
		t.Fatal(err)
	}
	if e := r.Err(); e == nil || e.Code != "cyber" || !strings.Contains(e.Message, "not this") {
		t.Errorf("%v", e)
	}
}

// TestBroken: streams that end too soon or break the protocol. What was finished is
// kept, calls apart; half blocks are lost.
func TestBroken(t *testing.T) {
	think := []string{open(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"hm"}`), delta(0, `{"type":"signature_delta","signature":"S"}`), shut(0)}
	call := callBlock(1, `{"command":"ls"}`)
	halfCall := []string{open(2, `{"type":"tool_use","id":"toolu_2","name":"bash","input":{}}`), delta(2, `{"type":"input_json_delta","partial_json":"{\"co"}`)}
	for _, c := range []struct {
		name          string
		body          string
		kind          llm.Kind
		begun         bool
		blocks, calls int
		text          string
	}{
		{"nothing at all", "", llm.KindNetwork, false, 0, 0, ""},
		{"only a ping", sse(ping), llm.KindNetwork, false, 0, 0, ""},
		{"dropped in a text", sse(join(start, think, open(1, `{"type":"text","text":""}`), delta(1, `{"type":"text_delta","text":"half a sen"}`))...), llm.KindNetwork, true, 1, 0, "half a sen"},
		{"dropped in a call", sse(join(start, think, call, halfCall)...), llm.KindNetwork, true, 1, 1, ""},
		{"dropped in the first call", sse(join(start, think, call[:2])...), llm.KindNetwork, true, 1, 0, ""},
		{"dropped before the end", sse(join(start, think, call, ends("tool_use", ""))...), llm.KindNetwork, true, 1, 1, ""},
		{"dropped inside a line", sse(join(start, think)...) + "event: content_block_start\ndata: {\"type\":\"conten", llm.KindNetwork, true, 1, 0, ""},
		{"error after the beginning", sse(join(start, think, call, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)...), llm.KindOverloaded, true, 1, 1, ""},
		{"error at once", sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.KindOverloaded, false, 0, 0, ""},
		{"overflow in the stream", sse(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`), llm.KindOverflow, false, 0, 0, ""},
		{"error that is no JSON", "event: error\ndata: boom\n\n", llm.KindServer, false, 0, 0, ""},
		{"not JSON", sse(join(start, think)...) + "event: content_block_delta\ndata: {\"type\":\n\n", llm.KindNetwork, true, 1, 0, ""},
		{"gap", sse(join(start, open(1, `{"type":"text","text":""}`))...), llm.KindNetwork, true, 0, 0, ""},
		{"again", sse(join(start, textBlock(0, "a"), textBlock(0, "b"))...), llm.KindNetwork, true, 1, 0, ""},
		{"no index", sse(join(start, `{"type":"content_block_start","content_block":{}}`)...), llm.KindNetwork, true, 0, 0, ""},
		{"delta without a block", sse(join(start, delta(0, `{"type":"text_delta","text":"a"}`))...), llm.KindNetwork, true, 0, 0, ""},
		{"delta after the block", sse(join(start, textBlock(0, "a"), delta(0, `{"type":"text_delta","text":"b"}`))...), llm.KindNetwork, true, 1, 0, ""},
		{"block before the message", sse(textBlock(0, "a")...), llm.KindNetwork, false, 0, 0, ""},
		{"two starts", sse(start, start), llm.KindNetwork, true, 0, 0, ""},
		{"end with an open block", sse(join(start, open(0, `{"type":"text","text":"x"}`), stop)...), llm.KindNetwork, true, 0, 0, "x"},
		{"end without a message", sse(stop), llm.KindNetwork, false, 0, 0, ""},
		{"a call that is no JSON", sse(join(start, think, callBlock(1, `{"a`))...), llm.KindNetwork, true, 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := ask(t, serve(t, c.body))
			if err == nil {
				t.Fatal("no error")
			}
			if err.Kind != c.kind || !err.InStream || (err.Partial != nil) != c.begun {
				t.Fatalf("%+v", err)
			}
			if p := err.Partial; p != nil && (len(p.Blocks) != c.blocks || len(p.Calls) != c.calls || p.Text != c.text || p.ID != "msg_1") {
				t.Errorf("%+v", p)
			}
			m := err.Partial.Committed()
			if (m != nil) != (c.calls > 0) {
				t.Fatalf("%+v", m)
			}
			if m != nil && (len(m.Content) != 2 || !strings.Contains(string(m.Content[0].Raw), `"signature":"S"`)) {
				t.Errorf("%+v", m.Content)
			}
			if err.Kind == llm.KindNetwork && !err.Temporary() {
				t.Error("would not be sent again")
			}
		})
	}
}

// TestNoStream: answers with status 200 that are no event stream.
func TestNoStream(t *testing.T) {
	answer := func(kind, body string) *Model {
		return handle(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body) // as in serve
		})
	}
	r, _, err := ask(t, answer("application/json", `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`))
	if err != nil || r.Message.Content[0].Text != "ok" {
		t.Errorf("%v", err)
	}
	if _, _, err := ask(t, answer("application/json", `{"error":{"type":"overloaded_error","message":"busy"}}`)); err == nil || err.Kind != llm.KindOverloaded {
		t.Errorf("%v", err)
	}
	if _, _, err := ask(t, answer("text/html", `<html>Sign in to this network</html>`)); err == nil || err.Kind != llm.KindServer || !strings.Contains(err.Message, "Sign in") {
		t.Errorf("%v", err)
	}
}

// TestStopsReading: ending the range ends the request at the server.
func TestStopsReading(t *testing.T) {
	gone := make(chan struct{})
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, sse(start)) // as in serve
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for range m.Stream(t.Context(), hi()) {
		break
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the request goes on")
	}
}

// TestIdle: a stream that goes silent is a network error, and not the user's doing.
func TestIdle(t *testing.T) {
	for _, begun := range []bool{false, true} {
		m := handle(t, func(w http.ResponseWriter, r *http.Request) {
			if begun {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, sse(join(start, textBlock(0, "a"))...)) // as in serve
				w.(http.Flusher).Flush()
			}
			// Until the body is read the server does not see that the client went away.
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		m.Idle = 100 * time.Millisecond
		_, _, err := ask(t, m)
		if err == nil || err.Kind != llm.KindNetwork || !err.Temporary() || !strings.Contains(err.Message, "nothing arrived") {
			t.Errorf("begun %v: %v", begun, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // as above
		cancel()
		<-r.Context().Done()
	})
	_, err := llm.Collect(m.Stream(ctx, hi()))
	if llm.KindOf(err) != llm.KindCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
