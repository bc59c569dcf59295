package anthropic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/loggen"
	"varve.dev/llm"
	"varve.dev/llm/anthropic"
	"varve.dev/message"
	"varve.dev/modelsim"
	"varve.dev/transcript"
)

// propScript calls a tool when it is asked to, and answers results and anything else.
const propScript = `
split random
on last ~ /use (one|two)\s*$/
  think which
  call read {"path":"a.txt"}
  call read {"path":"b.txt"}
default
  think done
  say Done.
`

// propModels are models of every kind: reasoning bound to its prefix or not, the
// server clearing and compacting or not.
var propModels = []string{"claude-opus-5-5", "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5"}

// TestPropRules: the invariants of API.md 1.5 and 1.6, C-0, C-15, T-13, S-2. Whatever
// the log (damaged lines, boundaries, rewinds, open calls, reasoning of others) and
// whatever is done with it (prompts, calls that stay open, compactions, undos,
// another process, another model), what the engine sends breaks no rule of the API,
// judged by the simulator, which shares no code with the view.
func TestPropRules(t *testing.T) {
	turns, steps := 2, 3
	if os.Getenv("VARVE_FULL") != "" {
		turns, steps = 12, 16
	}
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 9))
		// Reasoning of the log was not signed by the simulator: it is there for a model
		// that binds it, where a log of another program loses it, and not behind
		// boundaries, whose undo by another model would bring it back.
		model := rapid.SampledFrom(propModels).Draw(t, "model")
		log := loggen.Bytes(loggen.Make(rnd, loggen.Options{Turns: rapid.IntRange(1, turns).Draw(t, "turns"),
			Boundaries: model != propModels[0], Rewinds: true, Thinking: model == propModels[0], Damage: rapid.Bool().Draw(t, "damage")}))
		sim, err := modelsim.Start(modelsim.Config{Script: propScript})
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		l, err := transcript.Read(context.Background(), bytes.NewReader(log), int64(len(log)), transcript.ReadOptions{InMemory: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		stamp := transcript.Stamp{SessionID: "s", CWD: "/work", Version: "1"}
		p := &prop{t: t, rnd: rnd, sim: sim, store: engine.MemoryOf(stamp, l)}
		p.open(model)
		for range rapid.IntRange(1, steps).Draw(t, "steps") {
			p.step()
		}
		if v := sim.Violations(); len(v) > 0 {
			t.Fatalf("%d violations, first %s\n%s", len(v), v[0], strings.Join(p.done, "\n"))
		}
	})
}

type prop struct {
	t     *rapid.T
	rnd   *rand.Rand
	sim   *modelsim.Server
	store *engine.Mem
	e     *engine.Engine
	model llm.Model
	n     int
	done  []string
}

func (p *prop) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, strings.Join(p.done, "\n"))
	}
}

// open opens the log with a model, as another process does.
func (p *prop) open(name string) {
	c, ok := caps.Lookup("anthropic", name)
	if !ok {
		p.t.Fatalf("the table does not know %s", name)
	}
	o := anthropic.Options{Thinking: "disabled"}
	if len(c.Thinking.Modes) > 0 && c.Thinking.Modes[0] == "adaptive" {
		o.Thinking = "adaptive"
	}
	p.done = append(p.done, "open with "+name)
	p.e = engine.New(p.store, engine.Config{Caps: c, System: []byte(sysText), Tools: []byte(oneTool), Options: o.JSON(), Ladder: &compact.Ladder{}})
	m := anthropic.New("any", name)
	m.BaseURL = p.sim.URL
	p.model = m
}

func (p *prop) step() {
	ctx := context.Background()
	p.n++
	action := p.rnd.IntN(8)
	if p.n == 1 {
		action = -1 // the log is sent as it is
	}
	switch action {
	case 0:
		p.done = append(p.done, "compact")
		_, err := p.e.Compact(ctx, engine.Ask{})
		p.ok(err)
	case 1:
		if b := p.e.View().Boundary; b != nil {
			p.done = append(p.done, "undo")
			_, err := p.e.Undo(ctx, b.UUID)
			p.ok(err)
		}
	case 2:
		again, err := p.store.Reopen()
		p.ok(err)
		p.store = again
		p.open(propModels[p.rnd.IntN(len(propModels))])
	case 3:
		p.done = append(p.done, "overflow")
		_, err := p.e.Overflow(ctx, 0)
		p.ok(err)
	}
	prompt := fmt.Sprintf("prompt %d: use none", p.n)
	if p.rnd.IntN(2) == 0 {
		prompt = fmt.Sprintf("prompt %d: use two", p.n)
	}
	p.done = append(p.done, prompt)
	p.ok(p.e.Append(message.User(prompt)))
	for range 3 {
		reply := p.send()
		if reply == nil {
			return
		}
		var results []message.Block
		for _, c := range reply.Calls() {
			if p.rnd.IntN(6) > 0 { // else it was interrupted
				results = append(results, message.ToolResult(c.ID, p.rnd.IntN(4) == 0, message.Text("out of it")))
			}
		}
		if len(results) == 0 {
			return
		}
		p.done = append(p.done, fmt.Sprintf("%d of %d results", len(results), len(reply.Calls())))
		p.ok(p.e.Append(message.UserBlocks(results...)))
	}
}

// send sends what the engine prepares; nil when there is nothing to send.
func (p *prop) send() *llm.Reply {
	ctx := context.Background()
	req, err := p.e.Prepare(ctx)
	if errors.Is(err, engine.ErrNotReady) {
		return nil
	}
	p.ok(err)
	r := llm.Of(req)
	r.MaxOutput = 3000
	var reply *llm.Reply
	for ev, err := range p.model.Stream(ctx, r) {
		if err != nil && strings.Contains(err.Error(), "Input tag '") {
			p.t.Skip("damage hit the name of a block's type: what nobody knows is sent as a type of tomorrow is")
		}
		p.ok(err)
		if ev.Kind == llm.Done {
			reply = ev.Reply
		}
	}
	_, err = p.e.RecordReply(ctx, req, reply.Engine())
	p.ok(err)
	return reply
}
