package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Options say how a recording is replayed.
type Options struct {
	Model caps.Model
	// Window caps the model's window, in tokens; 0: the model's own.
	Window int
	// Policies are the names of policies, of [Policies]; none: Varve's own.
	Policies []string
	// Store makes the place where the session of Varve's own policy is left; nil:
	// in memory. now is the clock of the recording. The caller closes it.
	Store func(now func() time.Time) (engine.Store, error)
	// Observe is told of the progress; nil: not told.
	Observe func(Progress)
	// End is given the last view of each policy; nil: not told.
	End func(policy string, v *view.View)
}

// Progress tells how far a replay is.
type Progress struct {
	Policy    string
	Turn, Of  int
	Tokens    int    // of the newest request
	Compacted string // the rung that fired before it; "" when none did
}

// Run replays a recording under each policy. The error is that of the context, of
// an unknown policy, or of reading the recording; a policy that has no way on is
// no error but a [Stop].
func Run(ctx context.Context, rec *Recording, opt Options) (*Result, error) {
	if len(opt.Policies) == 0 {
		opt.Policies = []string{Own}
	}
	if opt.Window > 0 {
		opt.Model.Window = min(opt.Model.Window, opt.Window)
		if opt.Model.InputLimit > opt.Model.Window {
			opt.Model.InputLimit = 0
		}
	}
	b := tokens.Budget{Window: opt.Model.Window, MaxOutput: opt.Model.MaxOutput, InputLimit: opt.Model.InputLimit}.Thresholds()
	res := &Result{Schema: Schema, Recording: rec.Recorded, Model: modelName(opt.Model), Window: b.Window,
		Limits: Limits{Effective: b.Effective, Auto: b.Auto, Warning: b.Warning, Blocking: b.Blocking},
		Notes: []string{
			"The system text and the tools are not in a recording and count nothing, for every policy alike.",
			"Replies and results are those of the recording: what a model would have said after another compaction is not known.",
		}}
	if rec.SubAgents > 0 {
		res.Notes = append(res.Notes, fmt.Sprintf("%d sub-agents have logs of their own beside it; they are not part of this context.", rec.SubAgents))
	}
	for _, name := range opt.Policies {
		p, ok := policyNamed(name)
		if !ok {
			return nil, &PolicyError{Name: name}
		}
		run, err := runOne(ctx, rec, opt, p)
		if err != nil {
			return nil, err
		}
		res.Runs = append(res.Runs, *run)
	}
	return res, nil
}

func modelName(m caps.Model) string {
	if m.Provider == "" {
		return m.Name
	}
	return m.Provider + "/" + m.Name
}

// runner replays one recording under one policy.
type runner struct {
	rec    *Recording
	opt    Options
	policy policy
	run    *PolicyRun
	engine *engine.Engine
	meter  meter
	now    time.Time
	events []engine.Event // compactions since the last request
	seen   int            // entries of the engine's log that were looked at
	sum    *summaries
	window int // above which the provider refuses

	spool  *spool              // of a large recording
	rested int                 // entries of the engine's log that were put aside, or are held
	held   []*transcript.Entry // before that, but in the view
}

func runOne(ctx context.Context, rec *Recording, opt Options, p policy) (run *PolicyRun, err error) {
	started := time.Now()
	r := &runner{rec: rec, opt: opt, policy: p, run: &PolicyRun{Policy: p.name, Title: p.title, Approximation: p.of, Turns: []Turn{}, Compactions: []Compaction{}, Rungs: []Rung{}}}
	r.run.Cost.Priced = opt.Model.Price.Known()
	r.sum, r.window = &summaries{}, opt.Model.Window
	model := p.adapt(opt.Model)
	var store engine.Store = engine.Memory(transcript.Stamp{CWD: rec.CWD, Version: "replay", Now: r.clock})
	if p.own && opt.Store != nil {
		made, err := opt.Store(r.clock)
		if err != nil {
			return nil, err
		}
		store = made
	}
	est := tokens.Estimator{Images: tokens.ImageRule(model.Images), Memo: rec.memo}
	r.meter = meter{est: est, cache: model.Cache}
	r.engine = engine.New(store, engine.Config{Caps: model, Estimator: est, NoUsage: true, Ladder: p.ladder(r), Now: r.clock, Weight: tokens.NewWeight(model.TokenFactor),
		Observe: func(e engine.Event) {
			if e.Kind == engine.Compacted {
				r.events = append(r.events, e)
			}
		}})
	if rec.Bytes >= spoolFrom {
		if r.spool, err = newSpool(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.spool.close()) }()
	}
	for i := range rec.turns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.turn(ctx, i); err != nil {
			return nil, err
		}
		if r.run.Stopped != nil {
			break
		}
	}
	if opt.End != nil {
		opt.End(p.name, r.engine.View())
	}
	r.run.Kept = keptIn(rec, r.engine.View())
	r.addRungs()
	r.run.Millis = float64(time.Since(started).Microseconds()) / 1000
	return r.run, nil
}

func (r *runner) clock() time.Time {
	if r.now.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return r.now
}

// turn feeds what stands before a reply, prepares the request, and feeds the reply.
func (r *runner) turn(ctx context.Context, i int) error {
	t := &r.rec.turns[i]
	if t.at.After(r.now) {
		r.now = t.at
	}
	for _, x := range t.before {
		if err := r.engine.Feed(x); err != nil {
			return fmt.Errorf("replay: line %d: %w", x.Line, err)
		}
	}
	if len(t.reply) == 0 {
		return nil // unanswered: no request was recorded for it
	}
	started := time.Now()
	req, err := r.engine.Prepare(ctx)
	spent := float64(time.Since(started).Microseconds()) / 1000
	if err := r.compactions(len(r.run.Turns)+1, spent); err != nil {
		return err
	}
	switch {
	case err == nil:
		r.request(t, req)
	case errors.Is(err, engine.ErrNotReady): // a reply to nothing: two in a row
	case isFull(err):
		r.run.Overflows++
		r.run.Stopped = &Stop{Turn: len(r.run.Turns) + 1, Reason: err.Error()}
		return nil
	default:
		return fmt.Errorf("replay: %s: request %d: %w", r.policy.name, len(r.run.Turns)+1, err)
	}
	for _, x := range t.reply {
		if err := r.engine.Feed(x); err != nil {
			return fmt.Errorf("replay: line %d: %w", x.Line, err)
		}
	}
	return nil
}

func isFull(err error) bool {
	var full *engine.FullError
	var over *engine.OverheadError
	return errors.As(err, &full) || errors.As(err, &over)
}

// request counts one request.
func (r *runner) request(t *turn, req *engine.Request) {
	u := r.meter.next(r.engine.View(), r.engine.Log(), req.Tokens, r.now)
	u.Turn, u.Time = len(r.run.Turns)+1, t.at
	u.Line = t.reply[0].Line
	// Recordings of streams often hold the figure of the stream's beginning.
	u.Output = max(t.output, t.size)
	u.Prompt, u.Tools = shorten(t.prompt, promptShown), t.tools
	r.run.Peak = max(r.run.Peak, u.Tokens)
	if u.Tokens > r.window {
		r.run.Overflows++
	}
	r.run.Cost.add(r.opt.Model.Price, u.Read, u.Written, u.Uncached, u.Output)
	r.run.Cost.Requests++
	r.run.Turns = append(r.run.Turns, u)
	if r.opt.Observe != nil {
		p := Progress{Policy: r.policy.name, Turn: u.Turn, Of: len(r.rec.turns), Tokens: u.Tokens}
		if n := len(r.run.Compactions); n > 0 && r.run.Compactions[n-1].Turn == u.Turn {
			p.Compacted = r.run.Compactions[n-1].Rung
		}
		r.opt.Observe(p)
	}
}

func (c *Cost) add(p caps.Price, read, written, uncached, output int) float64 {
	c.Read += int64(read)
	c.Written += int64(written)
	c.Uncached += int64(uncached)
	c.Output += int64(output)
	usd := p.Cost(message.Usage{InputTokens: int64(uncached), CacheReadTokens: int64(read), CacheCreationTokens: int64(written), OutputTokens: int64(output)})
	c.USD += usd
	return usd
}

const (
	promptShown  = 120  // characters of a prompt that a turn carries
	summaryShown = 4000 // and of a summary that a compaction carries
)

// compactions takes up the edits that were made before a request.
func (r *runner) compactions(turn int, spent float64) error {
	log := r.engine.Log()
	from := r.seen
	r.seen = len(log.Entries)
	if len(r.events) == 0 {
		return nil
	}
	events := r.events
	r.events = nil
	var found []Compaction
	for _, x := range log.Entries[from:] {
		switch {
		case x.IsBoundary():
			c := Compaction{Boundary: x.UUID}
			b, err := x.Boundary()
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			var loss compact.Loss
			if len(b.Own.Loss) > 0 && json.Unmarshal(b.Own.Loss, &loss) == nil {
				c.Lost, c.LostCount = loss.Kinds, loss.Messages
			}
			c.Cause = b.Own.Cause
			found = append(found, c)
		case x.Type == transcript.TypeSystem && x.Subtype == transcript.SubMicrocompact:
			found = append(found, Compaction{Boundary: x.UUID, Cause: compact.CauseRequest})
		case x.CompactSummary && len(found) > 0:
			if text, ok := x.PromptText(); ok {
				found[len(found)-1].Summary = shorten(text, summaryShown)
			} else if m, err := x.Message(); err == nil && len(m.Content) > 0 {
				found[len(found)-1].Summary = shorten(m.Content[0].Text, summaryShown)
			}
		}
	}
	for i, e := range events {
		c := Compaction{}
		if i < len(found) {
			c = found[i]
		}
		c.Turn, c.Rung, c.Before, c.After, c.Millis = turn, e.Rung, e.Before, e.After, spent/float64(len(events))
		if call := r.policy.call(r, c); call != nil {
			call.USD = r.run.Cost.add(r.opt.Model.Price, call.Read, 0, call.Uncached, call.Output)
			r.run.Cost.Summaries++
			c.Call = call
		}
		r.run.Compactions = append(r.run.Compactions, c)
	}
	if r.spool != nil && slices.ContainsFunc(log.Entries[from:], (*transcript.Entry).IsBoundary) {
		return r.rest()
	}
	return nil
}

// addRungs adds the compactions up by rung, in the order of first use.
func (r *runner) addRungs() {
	at := map[string]int{}
	for _, c := range r.run.Compactions {
		i, ok := at[c.Rung]
		if !ok {
			i = len(r.run.Rungs)
			at[c.Rung] = i
			r.run.Rungs = append(r.run.Rungs, Rung{Rung: c.Rung})
		}
		r.run.Rungs[i].Times++
		r.run.Rungs[i].Freed += max(c.Before-c.After, 0)
		r.run.Rungs[i].Millis += c.Millis
	}
}

// shorten cuts a text to at most n characters, at a character.
func shorten(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
