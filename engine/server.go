package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"varve.dev/compact"
	"varve.dev/message"
	"varve.dev/transcript"
)

// absorb turns a summary that came with a reply into an edit: the provider ignores
// what stands before it from now on (API.md 2.3). The reply is in the log already,
// with the summary in it; where no edit is made the view stays as it is.
func (e *Engine) absorb(ctx context.Context, r Reply) error {
	sum, asked := serverSummary(e.frame.Provider, r.Message)
	if !asked {
		return nil
	}
	if len(sum.Items) == 0 {
		e.note(Event{Kind: Notice, Detail: "the server's compaction gave no summary; the conversation stays as it is"})
		return nil
	}
	l, ok := e.cfg.Ladder.(compact.Absorber)
	if !ok {
		return nil
	}
	before := e.meter.Total()
	rung, plan, err := l.Absorb(ctx, e.situation(compact.CauseServer, before, e.meter.Weigh(e.meter.Fixed), e.budget.Warning, Ask{}), sum)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if len(plan) == 0 {
		return nil
	}
	if err := e.apply(rung, compact.CauseServer, before, plan); err != nil {
		return err
	}
	if err := e.store.Sync(ctx); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// serverSummary returns the summary that a reply carries; the last one counts.
// asked is false when the server did not compact at all.
func serverSummary(provider string, m message.Message) (sum compact.ServerSummary, asked bool) {
	for _, b := range m.Content {
		if b.Type != message.TypeCompaction {
			continue
		}
		asked = true
		if text, ok := compact.SummaryText(b); ok {
			sum = compact.ServerSummary{Native: compact.Native{Provider: provider, Items: []json.RawMessage{b.Raw}}, Text: text}
		}
	}
	return sum, asked
}

// RefuseServerSummary goes on with the readable twin of the provider's summary,
// because the provider does not take it back any more (its signature or its place
// was refused). Reasoning behind it goes with it. It does nothing when the view has
// no such summary.
func (e *Engine) RefuseServerSummary(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil || len(e.view.Messages) == 0 || e.newestSummary(e.view.Messages) < 0 && !e.server.heads(&e.view.Messages[0], e.frame.Provider) {
		return nil
	}
	strip := e.stamp.System(e.view.Leaf, transcript.SubStrip, "", "", transcript.Own(transcript.Strip{UpTo: e.view.Leaf, Reason: reasonRefused}))
	if err := e.add(strip); err != nil {
		return err
	}
	return e.store.Sync(ctx)
}

// Cleared is what the server left out of the last prompt (C-2).
type Cleared struct {
	compact.Cleared
	Results []string // calls whose results the model does not see any more
}

// Cleared returns what the server left out of the last prompt, from its reply or,
// after a resume, from the receipt. A compaction and another provider start over.
func (e *Engine) Cleared() Cleared {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Cleared{e.cleared, e.cleared.Results(e.view, e.neverCleared())}
}

// neverCleared returns the tools that the request's options keep from clearing.
func (e *Engine) neverCleared() []string {
	var o struct {
		Context struct {
			Edits []struct {
				Exclude []string `json:"exclude_tools"`
			} `json:"edits"`
		} `json:"context_management"`
	}
	options := e.frame.Options
	if have := e.view.Frame; e.frame.ID == "" && have != nil { // no request was prepared yet
		if f, err := e.loadFrame(have.Frame); err == nil {
			options = f.Options
		}
	}
	if len(options) == 0 || json.Unmarshal(options, &o) != nil {
		return nil
	}
	var out []string
	for _, x := range o.Context.Edits {
		out = append(out, x.Exclude...)
	}
	return out
}

// meetEdits brings the meter in line with what the server did to the prompt of a
// reply, before its usage is taken: what it cleared is not in the next prompt
// either, and a prompt that it shortened teaches nothing about estimates.
func (e *Engine) meetEdits(r Reply) {
	now := compact.ParseCleared(r.AppliedEdits)
	if diff := now.Tokens - e.cleared.Tokens; diff != 0 {
		e.meter.Remove(e.unweigh(diff))
	}
	e.cleared = now
	if r.Usage != nil && compacted(*r.Usage) {
		e.meter.Remove(0)
	}
}

// unweigh returns the estimate that weighs so many tokens.
func (e *Engine) unweigh(tokens int) int {
	const unit = 1 << 16
	return int(int64(tokens) * unit / int64(max(e.meter.Weigh(unit), 1)))
}
