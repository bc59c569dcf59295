package modelsim

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func isAbort(r any) bool {
	err, ok := r.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// TestFailures: answers that are errors, their status, type, text and headers, n times, and then the turn they stood in.
func TestFailures(t *testing.T) {
	for _, w := range []struct {
		line   string
		status int
		typ    string
		says   string
		header [2]string
	}{
		{"fail 529", 529, "overloaded_error", "Overloaded", [2]string{}},
		{"fail 429 retry-after=3", 429, "rate_limit_error", "", [2]string{"Retry-After", "3"}},
		{`fail 429 "Number of request tokens has exceeded your limit" x-should-retry="false"`, 429, "rate_limit_error", "exceeded your limit", [2]string{"X-Should-Retry", "false"}},
		{"fail 500", 500, "api_error", "Internal Server Error", [2]string{}},
		{"fail 503", 503, "api_error", "", [2]string{}},
		{"fail 504", 504, "timeout_error", "", [2]string{}},
		{"fail 401", 401, "authentication_error", "", [2]string{}},
		{"fail 402", 402, "billing_error", "", [2]string{}},
		{`fail 400 "Your credit balance is too low"`, 400, "invalid_request_error", "credit", [2]string{}},
		{`fail 400 api_error "odd"`, 400, "api_error", "odd", [2]string{}},
		{"overflow", 400, "invalid_request_error", "prompt is too long: ", [2]string{}},
	} {
		c := newClient(t, Config{Script: "turn\n " + w.line + " times 2\n say fine\n"})
		if w.line == "overflow" {
			c = newClient(t, Config{Script: "turn\n overflow times 2\n say fine\n"})
		}
		for range 2 {
			a := c.send("claude-opus-5-5", []string{user("x")}, "")
			if a.status != w.status || a.o.obj("error").str("type") != w.typ || !strings.Contains(a.errorMessage(), w.says) || w.header[0] != "" && a.header.Get(w.header[0]) != w.header[1] {
				t.Errorf("%s: %d %v %s", w.line, a.status, a.header, a.body)
			}
		}
		if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.text() != "fine" {
			t.Errorf("%s: %s", w.line, a.body)
		}
		if r := c.sim.Report(); r.Refused != 2 || len(r.Violations) > 0 || r.Overflows != 0 {
			t.Errorf("%s: %+v", w.line, r)
		}
	}
	c := newClient(t, Config{Script: "turn\n fail 413 plain\n say fine\non count\n fail 500 always\non request 3\n fail 529\n"})
	if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.status != 413 || a.o != nil || !strings.HasPrefix(string(a.body), "<html>") || a.header.Get("Content-Type") != "text/html" {
		t.Errorf("%s", a.body)
	}
	for range 2 {
		if a := c.post("/v1/messages/count_tokens", `{"model":"claude-opus-5-5","messages":[`+user("x")+`]}`); a.status != 500 {
			t.Errorf("%d", a.status)
		}
	}
	if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.text() != "fine" {
		t.Errorf("%s", a.body)
	}
	if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.status != 529 {
		t.Errorf("%s", a.body)
	}
}

const faultTurn = `
turn
  think some reasoning that is long enough to be cut in its middle, and goes on for a while
  say some text that is long enough to be cut in its middle, and that goes on for a while
  call read {"path":"a path that is long enough to be cut in its middle, and goes on for a while"}
  `

// TestCuts: what of a stream arrives, how it ends, and that the next try has all of it.
func TestCuts(t *testing.T) {
	for _, w := range []struct {
		line    string
		delta   string // a delta of this type was the last
		broken  bool   // the connection broke
		garbage bool   // the last event is no JSON
		event   string // the last event
	}{
		{"drop in call", "input_json_delta", true, false, ""},
		{"drop in think", "thinking_delta", true, false, ""},
		{"drop in say", "text_delta", true, false, ""},
		{"drop", "", true, false, ""},
		{"drop after 0", "none", true, false, ""},
		{"end in say", "text_delta", false, false, ""},
		{"end after 1000", "", false, false, ""},
		{"malformed in say", "text_delta", false, true, ""},
		{"malformed", "", false, true, ""},
		{"error in say", "text_delta", false, false, "error"},
		{`error api_error "boom" after 0`, "none", false, false, "error"},
		{"drop after 1000000", "input_json_delta", true, false, "message_stop"},
	} {
		t.Run(w.line, func(t *testing.T) {
			c := newClient(t, Config{Script: faultTurn + w.line + "\n"})
			body := request("claude-opus-5-5", []string{user("x")}, aTool+`,"stream":true`)
			a := c.post("/v1/messages", body)
			if broken := a.err != nil; broken != w.broken {
				t.Errorf("broken %v: %v", broken, a.err)
			}
			list := events(a.body)
			last, delta := sse{}, "none"
			for _, e := range list {
				last = e
				if o, err := parseObject([]byte(e.data)); err == nil && o.has("delta") && o.str("type") == "content_block_delta" {
					delta = o.obj("delta").str("type")
				}
			}
			if w.delta != "" && delta != w.delta {
				t.Errorf("the last delta is %q", delta)
			}
			if _, err := parseObject([]byte(last.data)); len(list) > 0 && (err != nil) != w.garbage {
				t.Errorf("the last event: %+v", last)
			}
			if w.event != "" && last.name != w.event {
				t.Errorf("the last event: %+v", last)
			}
			waitFor(t, func() bool { return c.sim.Requests()[0].Done })
			if r := c.sim.Requests()[0]; r.Cut != strings.Fields(w.line)[0] || r.Cost == 0 {
				t.Errorf("recorded: %+v", r)
			}
			if b := c.post("/v1/messages", body); b.err != nil || !strings.Contains(string(b.body), "message_stop") {
				t.Errorf("the next try: %v %s", b.err, b.body)
			}
		})
	}
}

// TestCutsWhole: the same without streaming.
func TestCutsWhole(t *testing.T) {
	for line, ok := range map[string]func(a answer) bool{
		"drop":           func(a answer) bool { return a.err != nil },
		"drop after 0":   func(a answer) bool { return a.err != nil },
		"end":            func(a answer) bool { return a.err == nil && a.status == 200 && a.o == nil && len(a.body) > 0 },
		"malformed":      func(a answer) bool { return a.err == nil && a.status == 200 && a.o == nil },
		"error":          func(a answer) bool { return a.status == 529 && a.o.obj("error").str("type") == "overloaded_error" },
		"drop after 1e3": nil,
	} {
		if ok == nil {
			if _, err := ParseScript("turn\n " + line); err == nil {
				t.Errorf("%s was parsed", line)
			}
			continue
		}
		c := newClient(t, Config{Script: faultTurn + line + "\n"})
		if a := c.send("claude-opus-5-5", []string{user("x")}, aTool); !ok(a) {
			t.Errorf("%s: %v %d %s", line, a.err, a.status, a.body)
		}
		if a := c.send("claude-opus-5-5", []string{user("x")}, aTool); a.o.str("stop_reason") != "tool_use" {
			t.Errorf("%s: %s", line, a.body)
		}
	}
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestHang: a reply that stands still ends when the client goes, or when the server closes.
func TestHang(t *testing.T) {
	for _, who := range []string{"client", "server"} {
		sim, err := Start(Config{Script: "turn\n say long enough to be cut somewhere, we hope so\n hang in say\n"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequest(http.MethodPost, sim.URL+"/v1/messages", strings.NewReader(request("claude-opus-5-5", []string{user("x")}, `"stream":true`)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {version2026}, "Content-Type": {"application/json"}}
		tr := &http.Transport{DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: tr}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1)
		if _, err := io.ReadFull(resp.Body, buf); err != nil {
			t.Fatal(err)
		}
		if who == "client" {
			resp.Body.Close()
			waitFor(t, func() bool { return sim.Requests()[0].Done })
		}
		if err := sim.Close(); err != nil {
			t.Errorf("%s: %v", who, err)
		}
		resp.Body.Close()
		if got := sim.Requests()[0]; !got.Done || got.Cut != "hang" && (who == "server" || got.Cut != "client") { // the client may go before the script cuts
			t.Errorf("%s: %+v", who, got)
		}
	}
}

// TestSlow: delays take the time of the clock.
func TestSlow(t *testing.T) {
	clock := NewClock(start)
	c := newClient(t, Config{Clock: clock, Script: "delay 2s\nturn\n say x\nturn\n slow 1s\n delay 10s\n say x\n"})
	c.send("claude-opus-5-5", []string{user("x")}, "")
	if d := clock.Now().Sub(start); d != 2*time.Second {
		t.Errorf("%v", d)
	}
	a := c.post("/v1/messages", request("claude-opus-5-5", []string{user("x")}, `"stream":true`))
	if d := clock.Now().Sub(start); d != 12*time.Second+time.Duration(len(events(a.body)))*time.Second {
		t.Errorf("%v for %d events", d, len(events(a.body)))
	}
	if r := c.sim.Requests()[0]; r.Duration != 2*time.Second {
		t.Errorf("%v", r.Duration)
	}
}

// TestUsage: the client is told what the script says, the record has the truth.
func TestUsage(t *testing.T) {
	c := newClient(t, Config{Script: "turn\n usage zero\n say x\nturn\n usage {\"input_tokens\":7,\"odd\":[1]}\n say x\n"})
	for _, stream := range []string{"", `"stream":true`} {
		c.sim.mu.Lock()
		clear(c.sim.states)
		c.sim.mu.Unlock()
		zero := c.send("claude-opus-5-5", []string{user("x")}, stream)
		wrong := c.send("claude-opus-5-5", []string{user("x")}, stream)
		if stream == "" && (zero.usage("input_tokens") != 0 || zero.usage("output_tokens") != 0 || wrong.usage("input_tokens") != 7 || !wrong.o.obj("usage").has("odd")) {
			t.Errorf("%s %s", zero.body, wrong.body)
		}
		if stream != "" && (strings.Count(string(zero.body), `"input_tokens":0`) != 2 || strings.Count(string(wrong.body), `"input_tokens":7`) != 2) {
			t.Errorf("%s %s", zero.body, wrong.body)
		}
	}
	for _, r := range c.sim.Requests() {
		if r.Usage.InputTokens == 0 || r.Usage.InputTokens == 7 || r.Cost == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestSplit: a stream is the same stream in writes of any size, with pings and events of no known type in it.
func TestSplit(t *testing.T) {
	text := func(script string) (string, int) {
		c := newClient(t, Config{Script: script + faultTurn})
		a := c.post("/v1/messages", request("claude-opus-5-5", []string{user("x")}, aTool+`,"stream":true`))
		var s strings.Builder
		list := events(a.body)
		for _, e := range list {
			if e.name != "ping" && e.name != "odd" {
				s.WriteString(e.data)
			}
		}
		return s.String(), len(list)
	}
	want, n := text("")
	for _, script := range []string{"split 1\n", "split 7\n", "split random\n"} {
		if got, _ := text(script); got != want {
			t.Errorf("%s:\n%s\n%s", script, got, want)
		}
	}
	if got, more := text("ping 2\nevent odd {}\nevent odd []\n"); got != want || more < n+n/2 {
		t.Errorf("%d events, %d without\n%s", more, n, got)
	}
}
