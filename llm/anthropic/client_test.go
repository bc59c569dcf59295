package anthropic

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/llm"
)

var good = sse(join(start, textBlock(0, "ok"), ends("end_turn", ""), stop)...)

// TestHeaders: what a request carries, and that it is the bytes that were built.
func TestHeaders(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Env: 1")
	var got http.Header
	var path, body string
	h := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body) // compared below
		got, path, body = r.Header.Clone(), r.URL.Path, string(raw)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, good) // as in serve
	}
	m := handle(t, h)
	m.Header.Set("X-Mine", "2")
	m.Betas = []string{"b-2026-01-01", "a-2026-01-01", "b-2026-01-01"}
	for _, suffix := range []string{"", "/", "/v1", "/v1/"} {
		m.BaseURL = strings.TrimRight(strings.TrimSuffix(m.BaseURL, "/v1/"), "/")
		m.BaseURL = strings.TrimSuffix(m.BaseURL, "/v1") + suffix
		if _, _, err := ask(t, m); err != nil {
			t.Fatal(err)
		}
		if path != "/v1/messages" {
			t.Errorf("base with %q: %s", suffix, path)
		}
	}
	b, bad := m.build(hi(), false)
	if bad != nil || body != string(b.JSON) {
		t.Errorf("sent %s\nbuilt %s", body, b.JSON)
	}
	for name, want := range map[string]string{"X-Api-Key": testKey, "Authorization": "", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json",
		"Anthropic-Beta": "a-2026-01-01,b-2026-01-01", "X-Mine": "2", "X-Env": "", "X-Stainless-Retry-Count": "0", "Traceparent": ""} {
		if v := got.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}

	base := m.BaseURL
	m = NewBearer("tok-123456", "x")
	m.BaseURL = base
	if _, _, err := ask(t, m); err != nil || got.Get("Authorization") != "Bearer tok-123456" || got.Get("X-Api-Key") != "" {
		t.Errorf("%v %v", err, got)
	}
}

func TestFromEnv(t *testing.T) {
	env := func(kv map[string]string) func(string) string { return func(k string) string { return kv[k] } }
	if _, err := FromEnv(env(nil), "m"); !errors.Is(err, ErrNoKey) {
		t.Error(err)
	}
	m, err := FromEnv(env(map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "http://x", "ANTHROPIC_CUSTOM_HEADERS": "X-A: 1\nX-B:2:3\nnonsense"}), "m")
	if err != nil || m.BaseURL != "http://x" || m.Header.Get("X-A") != "1" || m.Header.Get("X-B") != "2:3" {
		t.Errorf("%+v %v", m, err)
	}
	h := http.Header{}
	m.auth(h)
	if h.Get("X-Api-Key") != "k" || h.Get("Authorization") != "" {
		t.Error(h)
	}
	m, err = FromEnv(env(map[string]string{"ANTHROPIC_AUTH_TOKEN": "t"}), "m")
	if err != nil || m.BaseURL != DefaultBaseURL {
		t.Errorf("%+v %v", m, err)
	}
	if s := fmt.Sprintf("%v %+v %#v", *New(testKey, "m"), *New(testKey, "m"), *New(testKey, "m")); strings.Contains(s, testKey) {
		t.Error("printing a model prints its key")
	}
}

func TestBaseURL(t *testing.T) {
	for _, base := range []string{"", "api.anthropic.com", "ftp://x", "http://", "file:///etc"} {
		m := New("k", "m")
		m.BaseURL = base
		if _, err := llm.Collect(m.Stream(t.Context(), hi())); llm.KindOf(err) != llm.KindInvalid {
			t.Errorf("%q: %v", base, err)
		}
	}
}

// TestStatus: answers that are errors, with what their headers say. Nothing is sent
// twice by the adapter or the SDK.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		header map[string]string
		kind   llm.Kind
		wait   time.Duration
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"},"request_id":"req_body"}`, nil, llm.KindOverflow, 0},
		{413, "", nil, llm.KindOverflow, 0},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, map[string]string{"Retry-After": "7"}, llm.KindRateLimit, 7 * time.Second},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, map[string]string{"Retry-After-Ms": "1500", "X-Should-Retry": "true"}, llm.KindOverloaded, 1500 * time.Millisecond},
		{500, `oops`, nil, llm.KindServer, 0},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + testKey + `"}}`, nil, llm.KindAuth, 0},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`, nil, llm.KindModel, 0},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block."}}`, nil, llm.KindMismatch, 0},
		{204, "", nil, llm.KindServer, 0},
	} {
		calls := 0
		m := handle(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			w.Header().Set("Request-Id", "req_header")
			for k, v := range c.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body) // as in serve
		})
		_, _, err := ask(t, m)
		if err == nil {
			t.Fatalf("%d: no error", c.status)
		}
		want := "req_header"
		if strings.Contains(c.body, "req_body") {
			want = "req_body"
		}
		if err.Kind != c.kind || err.Status != c.status || err.RetryAfter != c.wait || err.RequestID != want || err.InStream || calls != 1 {
			t.Errorf("%d: %+v, %d calls", c.status, err, calls)
		}
	}
}

// TestRedirect: a redirect is not followed, so the key goes nowhere else.
func TestRedirect(t *testing.T) {
	var leaked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { leaked.Add(1) }))
	defer other.Close()
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, _, err := ask(t, m); err == nil || err.Status != 307 || leaked.Load() != 0 {
		t.Errorf("%v, %d requests elsewhere", err, leaked.Load())
	}
}

func TestNoServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	m := New(testKey, "m")
	m.BaseURL = strings.Replace(s.URL, "http://", "http://user:hunter22secret@", 1)
	s.Close()
	_, _, err := ask(t, m)
	if err == nil || err.Kind != llm.KindNetwork || !err.Temporary() || strings.Contains(err.Error(), "hunter22secret") {
		t.Errorf("%v", err)
	}
}

// TestRetried: with the policy above it, two overloads and a dropped stream end in
// an answer (what peers fail at: 529 twice, a stream dropped inside a tool call).
func TestRetried(t *testing.T) {
	calls := 0
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		switch calls {
		case 1, 2:
			w.WriteHeader(529)
		case 3:
			w.Header().Set("Content-Type", "text/event-stream")
			call := callBlock(0, `{"a`)
			_, _ = io.WriteString(w, sse(join(start, call[:len(call)-1])...)) // as in serve
		case 4:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, sse(start)+"event: content_block_start\ndata: {{{\n\n") // as in serve
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, good) // as in serve
		}
	})
	r := llm.NewRetry(m)
	r.Base = time.Millisecond
	reply, err := llm.Collect(r.Stream(t.Context(), hi()))
	if err != nil || calls != 5 || reply.Message.Content[0].Text != "ok" {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestCountTokens(t *testing.T) {
	var path, beta string
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		path, beta = r.URL.Path, r.Header.Get("Anthropic-Beta")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":2095,"context_management":{"original_input_tokens":9000}}`) // as in serve
	})
	req := hi()
	req.Clear = &llm.Clear{}
	n, err := m.CountTokens(t.Context(), req)
	if err != nil || n != (llm.Count{Input: 2095, Original: 9000}) || path != "/v1/messages/count_tokens" || beta != "context-management-2025-06-27" {
		t.Errorf("%v %v %s %s", n, err, path, beta)
	}
	m = handle(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(413) })
	if _, err := m.CountTokens(t.Context(), req); llm.KindOf(err) != llm.KindOverflow {
		t.Error(err)
	}
	m = handle(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") })
	if _, err := m.CountTokens(t.Context(), req); llm.KindOf(err) != llm.KindServer {
		t.Error(err)
	}
	m = handle(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	m.Idle = 50 * time.Millisecond
	if _, err := m.Probe(t.Context()); llm.KindOf(err) != llm.KindNetwork {
		t.Error(err)
	}
}

func TestModels(t *testing.T) {
	const opus = `{"type":"model","id":"claude-opus-5-5","display_name":"Claude Opus 5.5","max_input_tokens":1000000,"max_tokens":128000,"lifecycle":"active","capabilities":{"x":1}}`
	m := handle(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/models/claude-opus-5-5":
			_, _ = io.WriteString(w, opus) // as in serve
		case r.URL.Query().Get("after_id") == "":
			_, _ = io.WriteString(w, `{"data":[`+opus+`],"has_more":true,"last_id":"a b"}`) // as in serve
		case r.URL.Query().Get("after_id") == "a b":
			_, _ = io.WriteString(w, `{"data":[{"id":"old","max_input_tokens":-1,"lifecycle":"retired"}],"has_more":true,"last_id":"a b"}`) // as in serve
		}
	})
	p, err := m.Probe(t.Context())
	if want := (caps.Probe{Window: 1_000_000, MaxOutput: 128_000}); err != nil || p != want {
		t.Errorf("%+v %v", p, err)
	}
	list, err := m.Models(t.Context())
	if err != nil || len(list) != 2 || string(list[0].Raw) != opus || list[1].Probe.Window != 0 || list[1].Lifecycle != "retired" {
		t.Errorf("%+v %v", list, err)
	}
	for _, ok := range []bool{has[llm.Counter](m), has[llm.Prober](m), has[llm.Lister](m)} {
		if !ok {
			t.Error("a power of the adapter is not found")
		}
	}
}

func has[T any](m llm.Model) bool {
	_, ok := llm.As[T](llm.NewRetry(m))
	return ok
}

func TestOptionsJSON(t *testing.T) {
	if raw := (Options{}).JSON(); raw != nil {
		t.Errorf("%s", raw)
	}
	o := Options{Thinking: "adaptive", Effort: "low", Betas: []string{"a", "b"}}
	if a, b := o.JSON(), o.JSON(); !reflect.DeepEqual(a, b) || string(a) != `{"thinking":{"type":"adaptive"},"output_config":{"effort":"low"},"betas":["a","b"]}` {
		t.Errorf("%s", a)
	}
}
