package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/compact"
	"varve.dev/internal/results"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Report says what a compaction did.
type Report struct {
	Rungs         []string
	Before, After int // tokens of the next request
}

// fit asks the ladder until the request is below limit. A plan has to bring it to
// target.
func (e *Engine) fit(ctx context.Context, cause string, limit, target int, ask Ask) (Report, error) {
	fixed := e.meter.Weigh(e.meter.Fixed)
	rep := Report{Before: e.meter.Total()}
	rep.After = rep.Before
	if fixed >= e.budget.Effective {
		return rep, &OverheadError{Parts: e.fixed, Total: fixed, Effective: e.budget.Effective}
	}
	for range maxPlans {
		total := e.meter.Total()
		if total < limit {
			break
		}
		rung, plan, err := e.cfg.Ladder.Plan(ctx, e.situation(cause, total, fixed, target, ask))
		if err != nil {
			return rep, fmt.Errorf("engine: %w", err)
		}
		if len(plan) == 0 {
			break
		}
		if err := e.apply(rung, cause, total, plan); err != nil {
			return rep, err
		}
		rep.Rungs, rep.After = append(rep.Rungs, rung), e.meter.Total()
		if rep.After >= total || rep.After <= target {
			break // no gain, or all that was asked for
		}
	}
	if len(rep.Rungs) > 0 {
		// A boundary is durable before anything is sent behind it.
		if err := e.store.Sync(ctx); err != nil {
			return rep, fmt.Errorf("engine: %w", err)
		}
	}
	return rep, nil
}

// apply appends a plan and what it needs.
func (e *Engine) apply(rung, cause string, before int, plan []*transcript.Entry) error {
	had := entriesIn(e.view)
	if err := e.add(e.withDecisions(plan)...); err != nil {
		return err
	}
	if err := errors.Join(e.freeze(), e.settleFrame()); err != nil {
		return err
	}
	// What left the view is in the log as bytes; decoded too, a long session would
	// hold all of itself twice.
	has := entriesIn(e.view)
	for id := range had {
		if x := e.log.ByUUID(id); x != nil && !has[id] {
			x.Forget()
		}
	}
	after := e.meter.Total()
	e.note(Event{Kind: Compacted, Rung: rung, Before: before, After: after, Detail: fmt.Sprintf("%s: %d → %d tokens (%s)", rung, before, after, cause)})
	return nil
}

// entriesIn names the entries that a view is made of.
func entriesIn(v *view.View) map[string]bool {
	out := make(map[string]bool)
	for i := range v.Messages {
		for k := range v.Messages[i].Blocks {
			out[v.Messages[i].Blocks[k].Entry] = true
		}
	}
	return out
}

// watch gives a ladder the chance to make edits that cost nothing.
func (e *Engine) watch(ctx context.Context) error {
	w, ok := e.cfg.Ladder.(compact.Watcher)
	if !ok {
		return nil
	}
	total := e.meter.Total()
	rung, plan, err := w.Watch(ctx, e.situation(compact.CauseRequest, total, e.meter.Weigh(e.meter.Fixed), total, Ask{}))
	if err != nil || len(plan) == 0 {
		return err
	}
	if !slices.ContainsFunc(plan, (*transcript.Entry).IsChain) {
		return e.add(plan...) // drafts: they change no view
	}
	return e.apply(rung, compact.CauseRequest, total, plan)
}

func (e *Engine) situation(cause string, total, fixed, target int, ask Ask) compact.Situation {
	off, _ := e.store.(interface{ Offset(uuid string) int64 })
	// Most situations are looked at before a request and lead to nothing: the walk
	// over the log waits until somebody asks.
	chain := sync.OnceValue(func() *transcript.Chain {
		if tip := e.log.ByUUID(e.view.Leaf); tip != nil {
			return e.log.Chain(tip)
		}
		return &transcript.Chain{}
	})
	return compact.Situation{View: e.view, Chain: chain, Log: e.log, Stamp: e.stamp, Caps: e.cfg.Caps, Budget: e.budget, Frame: e.frame,
		Total: total, Fixed: fixed, Cause: cause, Target: target, Ask: ask, Weigh: e.meter.Weigh, Size: e.cfg.Estimator.Block, Each: e.cfg.Estimator.Message(message.Message{}),
		Lifetime: e.lifetime(), Encode: e.encoded, Estimate: func() int { return fixed + e.estimate(e.plain) }, Hash: e.viewHash,
		Offset: func(uuid string) int64 {
			if off != nil {
				return off.Offset(uuid)
			}
			return 0
		},
		Try: func(entries []*transcript.Entry) compact.Trial { return e.try(chain(), fixed, entries) }}
}

// viewHash is the hash over the first n blocks of the view; what was hashed for the
// last request is not hashed again.
func (e *Engine) viewHash(n int) string {
	e.prefix = e.prefix.Next(e.frame.ID, e.view)
	return e.prefix.Hash(n)
}

// try computes what a plan would lead to.
func (e *Engine) try(chain *transcript.Chain, fixed int, entries []*transcript.Entry) compact.Trial {
	facts := e.facts.With(entries...)
	v := view.Of(view.Input{Chain: e.log.Preview(chain, entries...), Facts: facts, Render: e.view.Render})
	plain := v.Plain()
	return compact.Trial{View: v, Tokens: fixed + e.estimate(plain), Broken: e.broken(v, plain)}
}

// estimate returns the tokens of messages by estimate, as the meter counts, whatever
// was measured: after a resume the meter knows only the sum of what was.
func (e *Engine) estimate(ms []message.Message) int {
	size := 0
	for i := range ms {
		size += e.cfg.Estimator.Message(ms[i])
	}
	return e.meter.Weigh(size)
}

// broken returns the rules that a view breaks, as it is and as the model in use
// would be sent it.
func (e *Engine) broken(v *view.View, plain []message.Message) []message.Violation {
	bad := message.Check(plain)
	if len(bad) == 0 && e.server != nil {
		bad = message.Check(e.encode(v, 0).Plain())
	}
	return bad
}

// limit is the size from which the ladder is asked.
func (e *Engine) limit() int {
	if l, ok := e.cfg.Ladder.(compact.Limiter); ok {
		return l.Limit(e.budget)
	}
	return e.budget.Auto
}

// lifetime is how long the provider's cache keeps what requests mark.
func (e *Engine) lifetime() time.Duration { return e.cfg.Caps.Cache.Lifetime(e.cfg.LongCache) }

// idler is a ladder that compacts conversations that nobody goes on with.
type idler interface {
	Idle(s compact.Situation, last, done time.Time) compact.Idle
}

// Idle returns when the conversation is to be compacted if nobody goes on (C-16),
// so that the caller can set a timer, and calls [Engine.CompactIdle] then. ok is
// false when it is not to be.
func (e *Engine) Idle() (at time.Time, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.idle().At()
}

func (e *Engine) idle() compact.Idle {
	l, ok := e.cfg.Ladder.(idler)
	if !ok || e.sent == nil || len(e.plain) == 0 || e.plain[len(e.plain)-1].Role != message.RoleAssistant {
		return compact.Idle{} // never due: nothing was sent yet, or a turn is under way
	}
	total := e.meter.Total()
	return l.Idle(e.situation(compact.CauseIdle, total, e.meter.Weigh(e.meter.Fixed), min(e.budget.Warning, total-1), Ask{}), e.sent.at, e.idled)
}

// CompactIdle shrinks the conversation because nobody goes on with it and the
// provider's cache is about to be lost, once in an idle period. It does nothing
// when that is not due. Cancel ctx when the person comes back.
func (e *Engine) CompactIdle(ctx context.Context) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if total := e.meter.Total(); !e.idle().Due(e.cfg.Now()) {
		return Report{Before: total, After: total}, nil
	}
	e.idled = e.sent.at
	return e.fit(ctx, compact.CauseIdle, 0, min(e.budget.Warning, e.meter.Total()-1), Ask{})
}

// Close ends what the ladder does in the background, and waits for it. The store is
// its owner's to close.
func (e *Engine) Close() {
	if l, ok := e.cfg.Ladder.(interface{ Close() }); ok {
		l.Close()
	}
}

// Compact shrinks the conversation because the user asked for it. The error is
// that of the ladder or the store; a report without rungs says that there was
// nothing to do.
func (e *Engine) Compact(ctx context.Context, ask Ask) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.freeze(); err != nil {
		return Report{}, err
	}
	return e.fit(ctx, compact.CauseManual, 0, e.meter.Total()-1, ask)
}

// Overflow shrinks the conversation because the provider refused the last request
// as too long. gap is by how many tokens, 0 when the provider did not say. The
// caller prepares the request again; a report without rungs says that nothing
// more can leave it.
func (e *Engine) Overflow(ctx context.Context, gap int) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Repairs that were never sent are part of what is weighed.
	if err := e.freeze(); err != nil {
		return Report{}, err
	}
	total := e.meter.Total()
	target := min(e.budget.Blocking, total-1)
	if gap > 0 {
		// The provider's count is the true one: what is above its limit has to go,
		// with a little more for what the estimate of the rest gets wrong.
		target = min(target, total-gap-gap/10)
	}
	return e.fit(ctx, compact.CauseOverflow, 0, max(target, 1), Ask{})
}

// Undo takes a boundary back: what it covered returns to the view, later turns
// stay. It is refused with a *[FullError] when the view would not fit.
func (e *Engine) Undo(ctx context.Context, boundary string) (Report, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.log.ByUUID(boundary)
	if b == nil || !b.IsBoundary() {
		return Report{}, fmt.Errorf("engine: %s is no compaction boundary of this session", boundary)
	}
	rep := Report{Before: e.meter.Total()}
	undo := e.stamp.System(e.view.Leaf, transcript.SubUndo, "", "", transcript.Own(transcript.Undo{BoundaryUUID: boundary}))
	s := e.situation(compact.CauseManual, rep.Before, e.meter.Weigh(e.meter.Fixed), e.budget.Effective, Ask{})
	if t := s.Try([]*transcript.Entry{undo}); t.Tokens > e.budget.Effective {
		return rep, &FullError{Total: t.Tokens, Effective: e.budget.Effective}
	}
	plan := []*transcript.Entry{undo}
	if e.cfg.Caps.PrefixBound && slices.ContainsFunc(e.view.Messages, hasReasoning) {
		plan = append(plan, e.stamp.System(undo.UUID, transcript.SubStrip, "", "", transcript.Own(transcript.Strip{UpTo: undo.UUID, Reason: "undo"})))
	}
	if err := e.apply("undo", compact.CauseManual, rep.Before, plan); err != nil {
		return rep, err
	}
	// Replies come back that this process may never have seen received.
	e.guard = nil
	rep.Rungs, rep.After = []string{"undo"}, e.meter.Total()
	return rep, e.store.Sync(ctx)
}

// withDecisions adds to a plan that keeps older messages the decisions about their
// results, so that a reader of the log's tail finds them.
func (e *Engine) withDecisions(plan []*transcript.Entry) []*transcript.Entry {
	out := slices.Clone(plan)
	for _, p := range plan {
		if !p.IsBoundary() {
			continue
		}
		b, err := p.Boundary()
		if err != nil || b.PreservedMessages == nil {
			continue
		}
		var reps []transcript.Replacement
		for _, id := range b.PreservedMessages.UUIDs {
			x := e.log.ByUUID(id)
			if x == nil {
				continue
			}
			for _, call := range x.Results {
				if text, ok := e.facts.Replaced[call]; ok {
					reps = append(reps, transcript.Replacement{Kind: results.KindToolResult, ToolUseID: call, Replacement: text})
				}
			}
		}
		if len(reps) > 0 {
			out = append(out, e.stamp.Replacements(reps...))
		}
	}
	return out
}
