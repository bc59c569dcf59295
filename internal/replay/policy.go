package replay

import (
	"context"
	"fmt"
	"math"
	"strings"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/ledger"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// UsualModel is what a recording that names no model is counted for.
const UsualModel = "anthropic/claude-sonnet-4-6"

// Names of policies that are no approximation of somebody else's.
const (
	Own    = "varve"        // the ladder with the ledger, no model
	Model  = "varve-model"  // the ladder with a summary by a model where it would ask one
	Server = "varve-server" // the ladder with server-side clearing before it, simulated
	None   = "none"         // nothing ever leaves the context
)

// PolicyInfo describes a policy for help texts and reports.
type PolicyInfo struct {
	Name, Title   string
	Approximation string // of which agents, on what facts; "" for Varve's own and for none
}

// Policies lists what a recording can be replayed under, in the order in which
// they are compared.
func Policies() []PolicyInfo {
	var out []PolicyInfo
	for _, p := range policies() {
		out = append(out, PolicyInfo{p.name, p.title, p.of})
	}
	return out
}

// PolicyError says that there is no policy of that name.
type PolicyError struct{ Name string }

func (e *PolicyError) Error() string {
	var names []string
	for _, p := range policies() {
		names = append(names, p.name)
	}
	return fmt.Sprintf("no policy is named %q: there are %s, and all", e.Name, strings.Join(names, ", "))
}

// policy is one way to keep a conversation within its window.
type policy struct {
	name, title string
	of          string // what it approximates
	own         bool
	model       func(caps.Model) caps.Model // nil: as it is
	ladder      func(*runner) engine.Ladder
	ask         asking
}

// asking says what a policy's summary costs.
type asking struct {
	calls  int     // requests to a model for one summary
	cached bool    // the first is the main request with a question behind it
	share  float64 // of the context that is sent for it; 0: all of it
}

func (p policy) adapt(m caps.Model) caps.Model {
	if p.model != nil {
		return p.model(m)
	}
	return m
}

// summaryPrompt is what asking for a summary adds to a request, in tokens: about
// the length of Varve's own prompt for it.
const summaryPrompt = 1500

// call returns what a model would have been asked for a compaction; nil when it
// needs none.
func (p policy) call(r *runner, c Compaction) *Call {
	if p.ask.calls == 0 || c.Rung != "summary" && c.Rung != "full" {
		return nil
	}
	out := r.sum.take()
	in := c.Before
	if p.ask.share > 0 {
		in = int(float64(in) * p.ask.share)
	}
	call := &Call{Output: out * p.ask.calls, Uncached: summaryPrompt * p.ask.calls}
	first := in
	if p.ask.cached && r.meter.warm(r.now) {
		call.Read = min(r.meter.last(), in)
		first -= call.Read
	}
	call.Uncached += first + (p.ask.calls-1)*in
	return call
}

// summaries holds the tokens of texts that a model would have written, in order,
// until the compactions that they belong to are counted.
type summaries struct{ pending []int }

func (s *summaries) wrote(text string) { s.pending = append(s.pending, tokens.Text(text)) }

// take returns the oldest one; 0 when there is none.
func (s *summaries) take() int {
	if len(s.pending) == 0 {
		return 0
	}
	n := s.pending[0]
	s.pending = s.pending[1:]
	return n
}

func policyNamed(name string) (policy, bool) {
	for _, p := range policies() {
		if p.name == name {
			return p, true
		}
	}
	return policy{}, false
}

func policies() []policy {
	return append([]policy{
		{name: Own, title: "Varve, no model (ledger)", own: true, ladder: func(r *runner) engine.Ladder { return &compact.Ladder{Now: r.clock} }},
		{name: Model, title: "Varve, a model's summary", ask: asking{calls: 1, cached: true}, ladder: func(r *runner) engine.Ladder {
			m := &modelled{sum: r.sum}
			m.Ladder = compact.Ladder{Now: r.clock, Summarizer: m}
			return m
		}},
		{name: Server, title: "Varve, old results cleared by the server (simulated)", ladder: func(r *runner) engine.Ladder {
			return &cleared{Ladder: compact.Ladder{Now: r.clock}, r: r}
		}},
		{name: None, title: "no compaction", ladder: func(*runner) engine.Ladder { return idle{} }, model: func(m caps.Model) caps.Model {
			m.Window, m.InputLimit = math.MaxInt32, 0
			return m
		}},
	}, peers()...)
}

// idle is the ladder of somebody who never compacts.
type idle struct{}

func (idle) Plan(context.Context, compact.Situation) (string, []*transcript.Entry, error) {
	return "", nil, nil
}

// cleared is Varve's ladder where the server clears old results (L1): simulated,
// with the figures that Varve asks the server for. What is cleared stays in the log
// and in its text; the prefix that the server has cached is lost from there on, as
// it is in life.
type cleared struct {
	compact.Ladder
	r *runner
}

// Figures of server-side clearing (C-2; the interface's own defaults are a trigger
// of 100,000 tokens and three results).
const (
	clearTrigger = 0.5 // of the window
	clearLeast   = 0.1 // of the window, or it is not worth the cache
	clearKeep    = 3   // newest results that stay
)

// Watch clears when the trigger is reached.
func (c *cleared) Watch(ctx context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	rung, plan, err := c.Ladder.Watch(ctx, s)
	if err != nil || len(plan) > 0 || float64(s.Total) < clearTrigger*float64(s.Budget.Window) {
		return rung, plan, err
	}
	p := plain{s, c.r}
	ids, sizes := p.results(0)
	if len(ids) <= clearKeep {
		return "", nil, nil
	}
	ids, sizes = ids[:len(ids)-clearKeep], sizes[:len(sizes)-clearKeep]
	if float64(sum(sizes)) < clearLeast*float64(s.Budget.Window) {
		return "", nil, nil
	}
	_, plan, err = p.clear("", ids)
	return "server", plan, err
}

// modelled is Varve's ladder with the offline summarizer in place of a model.
type modelled struct {
	compact.Ladder
	sum *summaries
	now compact.Situation
}

// Plan remembers the situation that a summary is asked for.
func (m *modelled) Plan(ctx context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	m.now = s
	before := len(m.sum.pending)
	rung, plan, err := m.Ladder.Plan(ctx, s)
	if rung != "full" {
		m.sum.pending = m.sum.pending[:before] // what was written was not used
	}
	return rung, plan, err
}

// Summarize writes the summary without a model.
func (m *modelled) Summarize(_ context.Context, r compact.SummaryRequest) (string, error) {
	text, err := summarize(m.now, offlineSummary)
	m.sum.wrote(text)
	return text, err
}

// offlineSummary is how long a summary is, in tokens, in place of what a model
// would write: measured summaries of the compared agents are 2,000 to 4,000.
const offlineSummary = 3000

// summarize is the summarizer that all policies share in a replay: facts by rules
// over what the policy still has in its view, and the summary before it as far as
// there is room. It knows nothing of what left the view before.
func summarize(s compact.Situation, budget int) (string, error) {
	var entries []*transcript.Entry
	var earlier strings.Builder
	seen := map[string]bool{}
	for _, m := range s.View.Messages {
		for i := range m.Blocks {
			b := &m.Blocks[i]
			x := s.Log.ByUUID(b.Entry)
			switch {
			case x == nil || seen[b.Entry]:
			case x.CompactSummary:
				earlier.WriteString(b.Text)
			default:
				seen[b.Entry] = true
				entries = append(entries, x)
			}
		}
	}
	led, err := ledger.Of(entries)
	if err != nil {
		return "", err
	}
	if earlier.Len() == 0 {
		return led.Render(budget, tokens.Text), nil
	}
	old := cutTo(earlier.String(), budget/2)
	return old + "\n\n" + led.Render(max(budget-tokens.Text(old), ledger.Minimum), tokens.Text), nil
}

// cutTo shortens a text to about n tokens, at a character.
func cutTo(s string, n int) string {
	for tokens.Text(s) > n {
		s = shorten(s, len([]rune(s))*9*n/(10*tokens.Text(s)))
	}
	return s
}

// plain holds what plans of peers are made with.
type plain struct {
	compact.Situation
	r *runner
}

// rounds of the view.
func (p plain) rounds() []message.Round { return message.Rounds(p.View.Plain()) }

// size returns the tokens of messages [from, to).
func (p plain) size(from, to int) int {
	n := 0
	for i := from; i < to; i++ {
		for k := range p.View.Messages[i].Blocks {
			n += p.Size(p.View.Messages[i].Blocks[k].Block)
		}
	}
	return p.Weigh(n)
}

// cut moves i back to where no result is parted from its call.
func (p plain) cut(i int) int {
	for i > 0 && i < len(p.View.Messages) && hasResult(&p.View.Messages[i]) {
		i--
	}
	return i
}

func hasResult(m *view.Message) bool {
	for k := range m.Blocks {
		if m.Blocks[k].Type == message.TypeToolResult {
			return true
		}
	}
	return false
}

// entries returns the uuids of the entries of messages [from, to).
func (p plain) entries(from, to int) []string {
	seen := map[string]bool{}
	var out []string
	for _, m := range p.View.Messages[from:to] {
		for k := range m.Blocks {
			if u := m.Blocks[k].Entry; u != "" && !seen[u] {
				seen[u] = true
				out = append(out, u)
			}
		}
	}
	return out
}

// replace builds the edit that puts a text in the place of everything but the kept
// entries; head says that those stand before it.
func (p plain) replace(rung, text string, kept []string, head bool) (string, []*transcript.Entry, error) {
	id := transcript.NewUUID()
	stamp := p.Stamp
	stamp.NewID = func() string { return id }
	b := transcript.Boundary{Trigger: "auto", PreTokens: int64(p.Total),
		Own: transcript.BoundaryOwn{Rung: rung, Cause: p.Cause, CoversLeaf: p.View.Leaf, Frame: p.Frame.ID, Thinking: "keep"}}
	if p.Caps.PrefixBound {
		b.Own.Thinking = "strip"
	}
	boundary := p.Stamp.CompactBoundary(p.View.Leaf, b)
	if len(kept) > 0 {
		b.PreservedMessages = &transcript.PreservedMessages{AnchorUUID: id, UUIDs: kept}
		if head {
			b.PreservedMessages.AnchorUUID = boundary.UUID
		}
		at := p.Stamp
		at.NewID = func() string { return boundary.UUID }
		boundary = at.CompactBoundary(p.View.Leaf, b)
	}
	return rung, []*transcript.Entry{boundary, stamp.Summary(boundary.UUID, message.User(text))}, nil
}

// clear builds the edit that shows a mark in the place of results.
func (p plain) clear(rung string, ids []string) (string, []*transcript.Entry, error) {
	m := transcript.Microcompact{Trigger: "auto", PreTokens: int64(p.Total), ToolIDs: ids, Thinking: "keep"}
	if p.Caps.PrefixBound {
		m.Thinking = "strip"
	}
	return rung, []*transcript.Entry{p.Stamp.MicrocompactBoundary(p.View.Leaf, m)}, nil
}
