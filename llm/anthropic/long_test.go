package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/llm"
	"varve.dev/llm/anthropic"
	"varve.dev/message"
	"varve.dev/modelsim"
	"varve.dev/session"
)

// longTurns are prompts of the person, each with one round of calls; a sixth of them in short tests.
const longTurns = 300

// longScript answers every prompt with two calls and their results with a word.
const longScript = `
split random
ping 7
on every 19
  fail 529 always
on every 23
  think lost
  say This is cut.
  drop always
on last ~ /next prompt (\d+)\s*$/
  think about ${1}
  call read {"path":"a-${1}.txt"}
  call read {"path":"b-${1}.txt"}
on result ~ /a-(\d+)\.txt/
  think read ${1}
  say Part ${1} is read.
`

// long is the conversation, opened from its log as often as the test likes.
type long struct {
	t      *testing.T
	st     *session.Store
	s      *session.Session
	e      *engine.Engine
	model  llm.Model
	now    func() time.Time
	opts   []byte
	events []engine.Event
	words  int // of a result, in units of four

	retries, server int
	minCache        int
	before          int64 // tokens of the prompt before
	resent, read    int64 // tokens, where the cache should have them
	causes          []string
}

func (k *long) open(id string) {
	k.t.Helper()
	ctx := k.t.Context()
	var err error
	if k.s == nil {
		k.s, err = k.st.Create(ctx, session.ID(id), session.Project(k.t.TempDir()), session.Clock(k.now))
	} else {
		if err := k.s.Close(ctx); err != nil {
			k.t.Fatal(err)
		}
		k.s, err = k.st.Open(ctx, id, session.Clock(k.now))
	}
	if err != nil {
		k.t.Fatal(err)
	}
	c, _ := caps.Lookup("anthropic", "claude-opus-5-5")
	k.minCache = max(c.Cache.MinTokens, 1024)
	k.e = engine.New(k.s, engine.Config{Caps: c, System: []byte(sysText), Tools: []byte(oneTool), Options: k.opts, Now: k.now,
		Ladder: &compact.Ladder{Now: k.now}, Observe: func(ev engine.Event) { k.events = append(k.events, ev) }})
}

// send sends one request, with streaming, and records the reply.
func (k *long) send() *llm.Reply {
	k.t.Helper()
	ctx := k.t.Context()
	req, err := k.e.Prepare(ctx)
	if err != nil {
		k.t.Fatal(err)
	}
	r := llm.Of(req)
	r.MaxOutput = 4000
	var reply *llm.Reply
	for ev, err := range k.model.Stream(ctx, r) {
		if err != nil {
			k.t.Fatal(err)
		}
		switch ev.Kind {
		case llm.Retrying:
			k.retries++
		case llm.Done:
			reply = ev.Reply
		}
	}
	rep, err := k.e.RecordReply(ctx, req, reply.Engine())
	if err != nil {
		k.t.Fatal(err)
	}
	k.measure(reply, rep)
	return reply
}

func (k *long) turn(n int) {
	k.t.Helper()
	if err := k.e.Append(message.User(fmt.Sprintf("next prompt %d", n))); err != nil {
		k.t.Fatal(err)
	}
	reply := k.send()
	if len(reply.Calls()) != 2 {
		k.t.Fatalf("turn %d: %s", n, reply.Message.Raw)
	}
	var results []message.Block
	for _, c := range reply.Calls() {
		var in struct{ Path string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			k.t.Fatal(err)
		}
		results = append(results, message.ToolResult(c.ID, false, message.Text(in.Path+": "+strings.Repeat("line of a file ", k.words))))
	}
	if err := k.e.Append(message.UserBlocks(results...)); err != nil {
		k.t.Fatal(err)
	}
	if reply = k.send(); len(reply.Calls()) != 0 {
		k.t.Fatalf("turn %d goes on: %s", n, reply.Message.Raw)
	}
}

// TestLong: T-13, S-2, B-2, G-12, C-0. 300 turns on a model that binds reasoning to
// its prefix, streamed in pieces, with parallel calls, overloads and broken streams;
// the server compacts once by threshold and the engine once by its ladder, and the
// session is opened anew from its log in the middle, twice. Nothing is refused, all
// but what is new comes from the cache, and the engine knows why where it does not.
func TestLong(t *testing.T) {
	clock := modelsim.NewClock(time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC))
	sim := modelsim.ForTest(t, modelsim.Config{Script: longScript, Clock: clock})
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	m := anthropic.New("any", "claude-opus-5-5")
	m.BaseURL, m.Now = sim.URL, clock.Now
	r := llm.NewRetry(m)
	r.Now = clock.Now
	r.Sleep = func(_ context.Context, d time.Duration) error { clock.Advance(d); return nil }
	k := &long{t: t, st: st, model: r, now: clock.Now,
		opts: anthropic.Options{Thinking: "adaptive", Threshold: &llm.Threshold{Tokens: 50_000}}.JSON()}
	k.open("long")
	turns := longTurns
	if os.Getenv("VARVE_FULL") == "" {
		turns /= 6
	}
	k.words = max((90_000/turns-350)/12, 1) // the threshold is reached once before the engine compacts
	for n := 1; n <= turns; n++ {
		switch n {
		case turns / 3, turns * 7 / 10:
			k.open("long") // another process
		case turns * 3 / 5:
			clock.Advance(10 * time.Minute) // twice the life of the cache
		case turns * 4 / 5:
			rep, err := k.e.Compact(t.Context(), engine.Ask{})
			if err != nil || len(rep.Rungs) == 0 {
				t.Fatalf("%+v, %v", rep, err)
			}
		}
		k.turn(n)
		clock.Advance(20 * time.Second)
	}
	k.check(sim)
}

// measure holds what the cache gave against what was sent before. A request that
// follows another within the cache's life should read all of that one's prompt; if
// it does not, the engine has to say why.
func (k *long) measure(reply *llm.Reply, rep engine.CacheReport) {
	u := reply.Message.Usage
	read, compacted := u.CacheReadTokens, false
	for _, it := range u.Iterations {
		if it.Type == "compaction" {
			read, compacted = read+it.CacheReadTokens, true
		}
	}
	if compacted {
		k.server++
	}
	if k.before >= int64(k.minCache) { // a shorter prompt is in no cache
		if rep.Cause == "" || rep.Broken {
			k.resent, k.read = k.resent+k.before, k.read+min(read, k.before)
		} else {
			k.causes = append(k.causes, rep.Cause)
		}
		if read < k.before*9/10 && (rep.Cause == "" || rep.Broken) {
			k.t.Errorf("%d of %d tokens were read, and nothing says why: %+v", read, k.before, rep)
		}
	}
	k.before = u.ContextTokens()
}

func (k *long) check(sim *modelsim.Server) {
	t := k.t
	rep := sim.Report()
	share := float64(k.read) / float64(k.resent)
	t.Logf("%d requests, %d sent again, %d compactions by the server, %d tokens sent again, %.4f read, %d explained: %q", rep.Requests, k.retries, k.server, k.resent, share, len(k.causes), k.causes)
	if v := sim.Violations(); len(v) > 0 || sim.Err() != nil {
		t.Errorf("%d violations, first %+v; %v", len(v), v[:min(len(v), 1)], sim.Err())
	}
	if !(share >= 0.95) {
		t.Errorf("%.4f of what was sent again came from the cache", share)
	}
	if k.server != 1 || k.retries < 5 {
		t.Errorf("%d compactions by the server, %d requests sent again", k.server, k.retries)
	}
	// What the engine said: two compactions, one made of the server's summary, and no
	// break that it cannot explain.
	own := 0
	for _, ev := range k.events {
		switch ev.Kind {
		case engine.Compacted:
			own++
		case engine.CacheBreak, engine.PrefixLost, engine.FrameLost:
			t.Errorf("%s: %s", ev.Kind, ev.Detail)
		}
	}
	b := sim.Breaks()
	if own != 2 || len(b) != 2 || !b[0].Shorter || !b[1].Shorter || len(k.causes) < 2 {
		t.Errorf("%d compactions of the engine, breaks %v, causes %q", own, b, k.causes)
	}
}
