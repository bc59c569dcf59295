// Package llmtest holds every adapter of package llm to the same promises, whatever
// protocol it speaks: how events come, what a broken stream leaves, which kind an
// error has, that a context ends a request and nothing stays behind.
//
// It is test support and no test of a protocol: an adapter's own tests hold its bytes.
// Start with [Run], giving it a [Provider] that says how the protocol writes each
// [Scene]. It starts its own HTTP servers and needs no network.
package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/llm"
	"varve.dev/message"
)

// Scene names what a provider is asked to write.
type Scene string

// Scenes. Each is the body of an answer with HTTP status 200.
const (
	// Answer is the text [SaidText] in two pieces, the stop reason end_turn,
	// and usage: 12 tokens of input, 7 of output.
	Answer Scene = "answer"
	// Calls are the text [SaidText] and two calls of the tool [Tool] in one reply,
	// with the inputs {"path":"one"} and {"path":"two"}, stop reason tool_use.
	Calls Scene = "calls"
	// CutCall is the text [SaidText] and one call whose input ends in the middle,
	// because the limit of the output was reached: stop reason max_tokens.
	CutCall Scene = "cut-call"
	// BrokenText ends without a word in the middle of the text [SaidText].
	BrokenText Scene = "broken-text"
	// BrokenCall ends in the middle of the input of the first call.
	BrokenCall Scene = "broken-call"
	// BrokenAfterCall ends in the middle of the second call, behind a finished first
	// one with the input {"path":"one"}.
	BrokenAfterCall Scene = "broken-after-call"
	// OverloadInside is the text [SaidText], unfinished, then an error inside the
	// stream that says that the provider is overloaded.
	OverloadInside Scene = "overload-inside"
	// OverflowInside is an error inside the stream before anything else: the prompt
	// is too long.
	OverflowInside Scene = "overflow-inside"
)

// What scenes say.
const (
	SaidText = "Looking at both."
	Tool     = "read"
)

// A Provider is a protocol and the adapter that speaks it.
type Provider struct {
	// Model returns the adapter under test, with requests going to the server.
	Model func(baseURL string) llm.Model
	// Kind is the Content-Type of a stream.
	Kind string
	// Write returns the body of a scene.
	Write func(Scene) string
	// Errors are answers with another status than 200, beside those without a body,
	// which are the same for all.
	Errors []Failure
}

// Failure is an answer that is an error, and what it is to be taken for.
type Failure struct {
	Status int
	Body   string
	Kind   llm.Kind
}

// bare are answers without a body: their kind is known by the status alone.
var bare = []Failure{
	{401, "", llm.KindAuth}, {402, "", llm.KindSpend}, {403, "", llm.KindAuth}, {404, "", llm.KindModel}, {413, "", llm.KindOverflow},
	{400, "", llm.KindInvalid}, {422, "", llm.KindInvalid}, {429, "", llm.KindRateLimit}, {500, "", llm.KindServer}, {502, "", llm.KindServer}, {503, "", llm.KindOverloaded},
}

// Run holds the adapter to all promises.
func Run(t *testing.T, p Provider) {
	t.Run("answer", p.answer)
	t.Run("calls", p.calls)
	t.Run("cut call", p.cutCall)
	t.Run("broken", p.broken)
	t.Run("errors", p.errors)
	t.Run("retries", p.retries)
	t.Run("leaving", p.leaving)
}

// request is one that every adapter can send.
func request() *llm.Request {
	return &llm.Request{MaxOutput: 1000, Messages: []json.RawMessage{message.User("hi").AppendRequest(nil)}}
}

// serve answers with a scene and counts requests.
func (p Provider) serve(t *testing.T, s Scene) (llm.Model, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	body := p.Write(s)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.Header().Set("Content-Type", p.Kind)
		_, _ = io.WriteString(w, body) // a client that went away is part of some scenes
	}))
	t.Cleanup(srv.Close)
	return p.Model(srv.URL), &n
}

// collect ranges over a stream and holds its order: started, then blocks that open
// before anything is in them and close once, then done, then nothing.
func collect(t *testing.T, m llm.Model) (reply *llm.Reply, shown string, failed *llm.Error) {
	t.Helper()
	started, ended, open := false, false, map[int]bool{}
	for ev, err := range m.Stream(t.Context(), request()) {
		if ended {
			t.Fatalf("%s behind the end", ev.Kind)
		}
		if err != nil {
			e, ok := errors.AsType[*llm.Error](err)
			if !ok {
				t.Fatalf("an error of type %T: %v", err, err)
			}
			failed, ended = e, true
			continue
		}
		switch ev.Kind {
		case llm.Started:
			started = true
		case llm.BlockOpen:
			open[ev.Index] = true
		case llm.Text, llm.Thinking, llm.Input:
			if !open[ev.Index] {
				t.Errorf("%s for block %d, which is not open", ev.Kind, ev.Index)
			}
			if ev.Kind == llm.Text {
				shown += ev.Text
			}
		case llm.BlockDone:
			if !open[ev.Index] || ev.Block == nil {
				t.Errorf("block %d ends without having begun", ev.Index)
			}
			delete(open, ev.Index)
		case llm.Done:
			if len(open) > len(ev.Reply.CutCalls) || !started { // a call that was cut is never complete
				t.Errorf("done with %d open blocks, started %v", len(open), started)
			}
			reply, ended = ev.Reply, true
		}
	}
	if !ended {
		t.Fatal("the stream ends with neither a reply nor an error")
	}
	return reply, shown, failed
}

func (p Provider) answer(t *testing.T) {
	m, _ := p.serve(t, Answer)
	r, shown, err := collect(t, m)
	if err != nil {
		t.Fatal(err)
	}
	u := r.Message.Usage
	if shown != SaidText || len(r.Message.Content) != 1 || r.Message.Content[0].Text != SaidText || r.Message.StopReason != llm.StopEnd || r.Err() != nil {
		t.Errorf("%q, %+v", shown, r.Message)
	}
	if u == nil || u.ContextTokens() != 12 || u.ReplyTokens() != 7 {
		t.Errorf("usage %+v", u)
	}
}

func (p Provider) calls(t *testing.T) {
	m, _ := p.serve(t, Calls)
	r, _, err := collect(t, m)
	if err != nil {
		t.Fatal(err)
	}
	calls := r.Calls()
	if len(calls) != 2 || r.Message.StopReason != llm.StopToolUse || len(r.BadInputs)+len(r.CutCalls) != 0 {
		t.Fatalf("%s", r.Message.Raw)
	}
	for i, want := range []string{"one", "two"} {
		if c := calls[i]; c.Name != Tool || string(c.Input) != `{"path":"`+want+`"}` || c.ID == "" || c.ID == calls[1-i].ID {
			t.Errorf("call %d: %s", i, c.Raw)
		}
	}
}

func (p Provider) cutCall(t *testing.T) {
	m, _ := p.serve(t, CutCall)
	r, _, err := collect(t, m)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Calls()) != 0 || len(r.CutCalls) != 1 || r.Message.StopReason != llm.StopMaxTokens {
		t.Errorf("a call that was cut would run: %s, %d cut", r.Message.Raw, len(r.CutCalls))
	}
}

func (p Provider) broken(t *testing.T) {
	for _, c := range []struct {
		scene Scene
		kind  llm.Kind
		begun bool
		calls int
	}{
		{BrokenText, llm.KindNetwork, true, 0},
		{BrokenCall, llm.KindNetwork, true, 0},
		{BrokenAfterCall, llm.KindNetwork, true, 1},
		{OverloadInside, llm.KindOverloaded, true, 0},
		{OverflowInside, llm.KindOverflow, false, 0},
	} {
		t.Run(string(c.scene), func(t *testing.T) {
			m, _ := p.serve(t, c.scene)
			_, _, err := collect(t, m)
			if err == nil || err.Kind != c.kind || !err.InStream || err.Temporary() != (c.kind != llm.KindOverflow) {
				t.Fatalf("%+v", err)
			}
			kept := err.Partial.Committed()
			if (err.Partial != nil) != c.begun || (kept != nil) != (c.calls > 0) {
				t.Fatalf("%+v", err.Partial)
			}
			if kept != nil && (len(err.Partial.Calls) != c.calls || string(err.Partial.Calls[0].Input) != `{"path":"one"}`) {
				t.Errorf("%+v", err.Partial.Calls)
			}
		})
	}
}

func (p Provider) errors(t *testing.T) {
	for _, f := range append(slices.Clone(bare), p.Errors...) {
		n := 0
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(f.Status)
			_, _ = io.WriteString(w, f.Body) // nobody is left to tell
		}))
		_, _, err := collect(t, p.Model(srv.URL))
		srv.Close()
		if err == nil || err.Kind != f.Kind || err.Status != f.Status || err.RetryAfter != 7*time.Second || err.Partial != nil {
			t.Errorf("%d %q: %+v, want %s", f.Status, f.Body, err, f.Kind)
		}
		if n != 1 {
			t.Errorf("%d %q was sent %d times: the SDK repeats on its own", f.Status, f.Body, n)
		}
	}
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close() // nobody listens there now
	if _, _, err := collect(t, p.Model(srv.URL)); err == nil || err.Kind != llm.KindNetwork || err.InStream {
		t.Errorf("%+v", err)
	}
}

// retries: the policy of package llm repeats what broke, visibly, and keeps what a
// finished call makes worth keeping.
func (p Provider) retries(t *testing.T) {
	for scene, want := range map[Scene]int64{BrokenText: 3, BrokenCall: 3, OverloadInside: 3, BrokenAfterCall: 1, OverflowInside: 1} {
		m, n := p.serve(t, scene)
		r := llm.NewRetry(m)
		r.Attempts, r.Sleep = 3, func(context.Context, time.Duration) error { return nil }
		seen := int64(0)
		for ev, err := range r.Stream(t.Context(), request()) {
			if err != nil && ev.Kind != "" {
				t.Errorf("%s: an event beside an error: %+v", scene, ev)
			}
			if ev.Kind == llm.Retrying {
				seen++
			}
		}
		if n.Load() != want || seen != want-1 {
			t.Errorf("%s: sent %d times, told %d, want %d", scene, n.Load(), seen, want)
		}
	}
}

// leaving: a context that ends, or a reader that stops, ends the request at the
// server, and no goroutine stays.
func (p Provider) leaving(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, cancelled := range []bool{true, false} {
		gone := make(chan struct{})
		half := p.Write(BrokenText)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that the client went away
			w.Header().Set("Content-Type", p.Kind)
			_, _ = io.WriteString(w, half) // the client reads it, or the test fails below
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			close(gone)
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		for _, err := range p.Model(srv.URL).Stream(ctx, request()) {
			last = err
			if !cancelled {
				break
			}
			cancel()
		}
		if cancelled && (llm.KindOf(last) != llm.KindCancelled || !errors.Is(last, context.Canceled)) {
			t.Errorf("cancelled: %v", last)
		}
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			t.Error("the request goes on at the server")
		}
		cancel()
		srv.CloseClientConnections()
		srv.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+2 && time.Now().Before(deadline) { // two may belong to the test runner
		time.Sleep(10 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+2 {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}
