package modelsim

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// loop leads an agent through 300 parts by what its tools answer, with reasoning, parallel calls, and faults on the way.
const loop = `
on every 37
  fail 529 always
on result ~ /part (\d+) of 300/ and not result ~ /part (300|\d*[05]) of/
  think after ${1}
  call read {"path":"part-${1+1}.txt"}
on result ~ /part (\d*[05]) of 300/ and not result ~ /part 300/
  think two at once
  call read {"path":"part-${1+1}.txt"}
  call read {"path":"other-${1}.txt"}
  split random
on last ~ /go/ and not result ~ /./
  call read {"path":"part-1.txt"}
default
  say All read.
`

// TestLoop: an agent over the official SDK is led through many steps (300 parts in full runs); it appends, marks the end, retries, and nothing is wrong with it:
// no violation, no break, nearly everything from the cache, every needle still there.
func TestLoop(t *testing.T) {
	parts := 100
	if os.Getenv("VARVE_FULL") != "" {
		parts = 300
	}
	sim := ForTest(t, Config{Script: strings.ReplaceAll(loop, "300", strconv.Itoa(parts)), Clock: NewClock(start)})
	client := sdk(sim)
	ctx := context.Background()
	params := anthropic.BetaMessageNewParams{Model: "claude-opus-5-5", MaxTokens: 4000, CacheControl: anthropic.NewBetaCacheControlEphemeralParam(),
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("go"))},
		Tools:    []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "read", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}}}}}}
	steps, retries := 0, 0
	for {
		stream := client.Beta.Messages.NewStreaming(ctx, params)
		var m anthropic.BetaMessage
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			if retries++; !strings.Contains(err.Error(), "Overloaded") || retries > 20 {
				t.Fatal(err)
			}
			continue
		}
		params.Messages = append(params.Messages, m.ToParam())
		var results []anthropic.BetaContentBlockParamUnion
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				steps++
				var in struct{ Path string }
				if err := json.Unmarshal(b.Input, &in); err != nil {
					t.Fatal(err)
				}
				var n int
				text := "something else"
				if _, err := fmt.Sscanf(in.Path, "part-%d.txt", &n); err == nil {
					text = fmt.Sprintf("part %d of %d\nNEEDLE-%d", n, parts, n)
				}
				results = append(results, anthropic.NewBetaToolResultBlock(b.ID, text, false))
			}
		}
		if len(results) == 0 {
			break
		}
		params.Messages = append(params.Messages, anthropic.NewBetaUserMessage(results...))
	}
	r := sim.Report()
	if steps != parts+parts/5-1 || retries != (parts+1+parts/36)/37 || len(r.Violations) > 0 || r.Breaks > 0 || r.ReadShare() < 0.95 || r.Needles != parts || r.Shown != parts || sim.Err() != nil {
		t.Errorf("%d steps, %d retries, read %.3f: %+v, %v, %v, %v", steps, retries, r.ReadShare(), r, sim.Violations(), sim.Breaks(), sim.Err())
	}
}

// TestConcurrent: many clients at once, records read while requests are under way.
func TestConcurrent(t *testing.T) {
	c := newClient(t, Config{Script: "split 20\non last ~ /drop/\n say long enough to be cut somewhere\n drop always\n", Log: &strings.Builder{}})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 10 {
				text := fmt.Sprint(i, "/", k)
				if k%5 == 4 {
					text = "drop"
				}
				a := c.post("/v1/messages", request("claude-opus-5-5", []string{user(text)}, `"stream":true`))
				if text != "drop" && !strings.Contains(string(a.body), text) {
					t.Errorf("%s: %v %s", text, a.err, a.body)
				}
				c.sim.Report()
			}
		})
	}
	wg.Wait()
	if n := len(c.sim.Requests()); n != 80 {
		t.Errorf("%d requests", n)
	}
	for i, r := range c.sim.Requests() {
		if r.N != i+1 {
			t.Errorf("record %d is of request %d", i, r.N)
		}
	}
}

// TestNoLeak: a closed server leaves no goroutine, whatever was under way.
func TestNoLeak(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		sim, err := Start(Config{Script: "turn\n say x\nturn\n say y\n hang after 10\nturn\n delay 1h\n say z\n"})
		if err != nil {
			t.Fatal(err)
		}
		c := &client{t: t, sim: sim, key: "k"}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 3 {
				c.post("/v1/messages", request("claude-opus-5-5", []string{user("x")}, `"stream":true`))
			}
		})
		waitFor(t, func() bool { return len(sim.Requests()) > 1 })
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := sim.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
	}
	waitFor(t, func() bool { return runtime.NumGoroutine() <= before })
}

// TestHandler: without a port the server is a handler of somebody else's.
func TestHandler(t *testing.T) {
	sim, err := New(Config{Clock: NewClock(start)})
	if err != nil {
		t.Fatal(err)
	}
	if a := direct(sim, request("claude-opus-5-5", []string{user("x")}, "")); a.text() != "x" || sim.URL != "" {
		t.Errorf("%s", a.body)
	}
	if err := sim.Close(); err != nil {
		t.Error(err)
	}
}

// failing is a log that cannot be written.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, context.DeadlineExceeded }

// TestLogFails: a log that cannot be written is told, and nothing else fails.
func TestLogFails(t *testing.T) {
	c := newClient(t, Config{Log: failing{}})
	if a := c.send("claude-opus-5-5", []string{user("x")}, ""); a.status != 200 {
		t.Errorf("%s", a.body)
	}
	waitFor(t, func() bool { return c.sim.Err() != nil })
}

// TestWallClock: the machine's clock waits, and stops waiting when it is told to.
func TestWallClock(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	if err := (wallClock{}).Sleep(ctx, time.Millisecond); err != nil {
		t.Error(err)
	}
	cancel()
	if err := (wallClock{}).Sleep(ctx, time.Hour); err == nil || (wallClock{}).Now().IsZero() {
		t.Error("it waits although the context ended")
	}
}

// FuzzRequest: no body makes the server panic, and each is answered with JSON.
func FuzzRequest(f *testing.F) {
	for _, w := range wrongs {
		body := w.body
		if body == "" {
			m := w.messages
			if m == nil {
				m = []string{user("x")}
			}
			body = request("claude-opus-5-5", m, w.extra)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, lenient := range []bool{false, true} {
			sim, err := New(Config{Lenient: lenient, Clock: NewClock(start), Factor: 1})
			if err != nil {
				t.Fatal(err)
			}
			a := direct(sim, body)
			if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") && a.o == nil {
				t.Fatalf("%d %q", a.status, a.body)
			}
			if a.status == 200 && !lenient && len(sim.Violations()) > 0 {
				t.Fatalf("answered in spite of %v", sim.Violations())
			}
		}
	})
}
