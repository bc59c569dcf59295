package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/compact"
	"varve.dev/internal/results"
	"varve.dev/internal/validate"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Request is what to send. Its messages are shared with the engine and must not
// be changed; a later Prepare does not change them either.
type Request struct {
	Frame    Frame
	Messages []message.Message
	// Wire holds the messages as bytes, {"role":…,"content":[…]} each, in the
	// canonical (Anthropic) form.
	Wire []json.RawMessage

	Tokens         int // of the whole prompt: measured where possible, else estimated
	Budget         tokens.Thresholds
	Leaf           string // uuid of the newest entry that is in it
	PrefixHash     string // over the frame and all blocks
	Blocks         int    // that PrefixHash covers
	ExpectedCached int    // tokens that the provider's cache should hold of it

	prefix view.Prefix
	cause  string // why less than the whole last request is expected to be cached
	at     view.Position
}

// OverheadError says that the fixed part of a request leaves no room for a
// conversation (G-1). Nothing was sent.
type OverheadError struct {
	Parts     Parts // estimated tokens
	Total     int
	Effective int // tokens that the window has for the prompt
}

func (e *OverheadError) Error() string {
	return fmt.Sprintf("the fixed part of each request needs about %d tokens (system text %d, tools %d, options %d) and the window has room for %d: use a model with a larger window, fewer tools, or shorter instructions",
		e.Total, e.Parts.System, e.Parts.Tools, e.Parts.Options, e.Effective)
}

// FullError says that the conversation does not fit the window and that nothing
// more can leave it. Nothing was sent.
type FullError struct {
	Total, Effective int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the newest part of the conversation alone needs about %d tokens and the window has room for %d: shorten the last message, or use a model with a larger window", e.Total, e.Effective)
}

// RuleError says that a request would break rules of the provider; it is a fault
// of this program, or of a [Ladder]. Nothing was sent.
type RuleError struct{ Violations []validate.Violation }

func (e *RuleError) Error() string {
	return fmt.Sprintf("engine: the request would be refused (%d rules broken), first: %v", len(e.Violations), e.Violations[0])
}

// maxPlans bounds how often a ladder is asked for one request. Four are as many
// as there are rungs that shrink a view.
const maxPlans = 4

// Prepare computes the next request. Repairs, decisions about results, edits of
// the ladder and a new frame become entries on the way; when it returns, they are
// queued for the log, boundaries durably. The errors are [ErrNotReady],
// *[OverheadError], *[FullError], *[RuleError], that of the ladder, or that of a
// store that gave up; with any of them nothing may be sent.
func (e *Engine) Prepare(ctx context.Context) (*Request, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return nil, e.err
	}
	if n := len(e.plain); n == 0 || e.plain[n-1].Role == message.RoleAssistant {
		return nil, ErrNotReady
	}
	for _, step := range []func() error{e.freeze, e.decideResults, e.settleFrame} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := e.watch(ctx); err != nil {
		return nil, err
	}
	if _, err := e.fit(ctx, compact.CauseThreshold, e.limit(), e.budget.Warning, Ask{}); err != nil {
		return nil, err
	}
	if err := e.squeeze(); err != nil {
		return nil, err
	}
	if err := e.keepPrefix(); err != nil {
		return nil, err
	}
	req := e.request()
	if req.Messages[len(req.Messages)-1].Role == message.RoleAssistant {
		return nil, ErrNotReady // a provider's summary of all there is: nothing waits for an answer
	}
	if bad := e.check(req); len(bad) > 0 {
		return nil, &RuleError{bad}
	}
	e.prefix = req.prefix
	return req, nil
}

// freeze turns repairs that are not settled into entries.
func (e *Engine) freeze() error {
	frozen := e.view.Freeze(e.stamp)
	if len(frozen) == 0 {
		return nil
	}
	var kinds []view.RepairKind
	for _, r := range e.view.Repairs {
		if !r.Settled {
			kinds = append(kinds, r.Kind)
		}
	}
	if err := e.add(frozen...); err != nil {
		return err
	}
	e.note(Event{Kind: Repaired, Repairs: kinds, Detail: fmt.Sprintf("%d places of the conversation could not be sent as recorded", len(kinds))})
	return nil
}

// decideResults puts large results of the newest user message on disk.
func (e *Engine) decideResults() error {
	if e.cfg.Results == nil {
		return nil
	}
	last := e.plain[len(e.plain)-1]
	var rs []results.Result
	for _, b := range last.Content {
		if b.Type == message.TypeToolResult {
			rs = append(rs, results.Result{Block: b})
		}
	}
	if len(rs) == 0 {
		return nil
	}
	reps, err := e.cfg.Results.Decide(rs)
	if len(reps) > 0 {
		if err := e.add(e.stamp.Replacements(reps...)); err != nil {
			return err
		}
		e.note(Event{Kind: Persisted, Results: len(reps), Detail: fmt.Sprintf("%d large results are on disk, the model sees previews", len(reps))})
	}
	if err != nil {
		// What could not be written stays in the request whole; the ladder sees to
		// the size.
		e.note(Event{Kind: Notice, Detail: err.Error()})
	}
	return nil
}

// squeeze shortens results that were not sent yet when nothing else can leave the
// view any more: the largest first, each to its head and tail. What is left out
// stays in the log. Decisions are entries like any other, made before the first
// send, so that no model's reasoning is tied to the longer text.
func (e *Engine) squeeze() error {
	for range maxSqueezes {
		over := e.meter.Total() - e.budget.Effective
		if over <= 0 {
			return nil
		}
		var worst *message.Block
		size := 0
		for i := range e.plain[len(e.plain)-1].Content {
			b := &e.plain[len(e.plain)-1].Content[i]
			if n := e.cfg.Estimator.Block(*b); b.Type == message.TypeToolResult && n > size {
				worst, size = b, n
			}
		}
		if worst == nil || size < minSqueezed {
			break
		}
		text := resultText(worst)
		keep := max(len(text)*max(e.meter.Weigh(size)-over-over/8, e.meter.Weigh(size)/8)/max(e.meter.Weigh(size), 1), 400)
		if keep >= len(text) {
			break
		}
		short := results.HeadTail(text, keep)
		before := e.meter.Total()
		if err := e.add(e.stamp.Replacements(transcript.Replacement{Kind: results.KindToolResult, ToolUseID: worst.ToolUseID, Replacement: short})); err != nil {
			return err
		}
		e.note(Event{Kind: Shortened, Results: 1, Before: before, After: e.meter.Total(), Detail: "a result that alone does not fit the window is sent in part; all of it is in the log"})
	}
	if total := e.meter.Total(); total > e.budget.Effective {
		return &FullError{Total: total, Effective: e.budget.Effective}
	}
	return nil
}

const (
	maxSqueezes = 64  // results of one message that are shortened
	minSqueezed = 200 // tokens below which shortening a result is not worth its notice
)

// resultText is the text of a result.
func resultText(b *message.Block) string {
	var out []string
	for _, c := range b.Content {
		if c.Type == message.TypeText {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "\n")
}

// sentRequest is the newest request that was answered.
type sentRequest struct {
	prefix view.Prefix
	blocks int
	hash   string // of the whole of it
	frame  string
	tokens int // its prompt, as the provider counted it
	at     time.Time
	known  bool // prefix is set; false when only a receipt is left of it

	compacted bool // the server compacted before it answered
}

// keepPrefix makes sure, on models that bind reasoning to what stands before it,
// that a request which unexpectedly does not extend the last one carries no
// reasoning that would be refused.
func (e *Engine) keepPrefix() error {
	e.prefix = e.prefix.Next(e.frame.ID, e.sendable())
	if e.foreign {
		e.foreign = false
		if e.cfg.Caps.PrefixBound {
			return e.strip("foreign")
		}
	}
	if e.sent == nil || e.edited != "" || e.sent.frame != e.frame.ID {
		return nil
	}
	if e.sent.known {
		if _, at, what := e.prefix.Diff(e.sent.prefix); what != "" {
			return e.prefixLost(what, at)
		}
		return nil
	}
	if e.prefix.Blocks() < e.sent.blocks || e.prefix.Hash(e.sent.blocks) != e.sent.hash {
		return e.prefixLost("changed", view.Position{})
	}
	return nil
}

func (e *Engine) prefixLost(what string, at view.Position) error {
	e.note(Event{Kind: PrefixLost, At: at, Detail: "the request does not extend the one before: " + what})
	e.edited = "prefix-lost"
	if !e.cfg.Caps.PrefixBound {
		return nil
	}
	return e.strip("mismatch")
}

// strip leaves out all reasoning so far.
func (e *Engine) strip(reason string) error {
	if !slices.ContainsFunc(e.view.Messages, hasReasoning) {
		return nil
	}
	if err := e.add(e.stamp.System(e.view.Leaf, transcript.SubStrip, "", "", transcript.Own(transcript.Strip{UpTo: e.view.Leaf, Reason: reason}))); err != nil {
		return err
	}
	e.prefix = e.prefix.Next(e.frame.ID, e.sendable())
	return nil
}

func hasReasoning(m view.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return b.IsThinking() })
}

func (e *Engine) request() *Request {
	v := e.sendable()
	plain := e.plain
	if v != e.view {
		plain = v.Plain()
	}
	r := &Request{Frame: e.frame, Messages: plain[:len(plain):len(plain)], Budget: e.budget, Tokens: e.meter.Total(),
		Leaf: e.view.Leaf, PrefixHash: e.prefix.Hash(e.prefix.Blocks()), Blocks: e.prefix.Blocks(), prefix: e.prefix}
	r.Wire = e.wire.next(r.Messages)
	r.ExpectedCached, r.cause, r.at = e.expected()
	return r
}

// expected returns how many tokens of the next request the provider's cache should
// hold, and what stands against the whole of the last one.
func (e *Engine) expected() (n int, cause string, at view.Position) {
	s := e.sent
	if s == nil {
		return 0, "", at
	}
	if age := e.cfg.Now().Sub(s.at); age > e.lifetime() {
		return 0, fmt.Sprintf("the cache lives %s and the last request is %s old", e.lifetime(), age.Round(time.Second)), at
	}
	if s.frame != e.frame.ID {
		return 0, "system text, tools or model changed", at
	}
	if s.compacted {
		// The marks were in what it summarized: nothing behind the summary was cached.
		return 0, "the server compacted the conversation", at
	}
	if !s.known {
		if e.prefix.Blocks() >= s.blocks && e.prefix.Hash(s.blocks) == s.hash {
			return s.tokens, "", at
		}
		return 0, "the conversation before changed", at
	}
	same, at, what := e.prefix.Diff(s.prefix)
	if what == "" {
		return s.tokens, "", at
	}
	// The share of the blocks that agree, by their size.
	size, total := 0, 0
	for i := range s.prefix.Blocks() {
		k := len(s.prefix.Raw(i))
		total += k
		if i < same {
			size += k
		}
	}
	if total == 0 {
		return 0, what, at
	}
	return int(float64(s.tokens) * float64(size) / float64(total)), fmt.Sprintf("%s: %s", at, what), at
}

// check asks the independent validator. What it looked at for the last request
// is not looked at again.
func (e *Engine) check(r *Request) []validate.Violation {
	req := validate.Request{System: r.Frame.System, Tools: r.Frame.Tools, Messages: r.Wire}
	if e.guard == nil {
		e.guard = validate.NewGuard(validate.Options{NoPrefill: !e.cfg.Caps.Prefill, NoSystem: !e.cfg.Caps.MidSystem,
			MaxImages: e.cfg.Caps.MaxImages, Bound: e.cfg.Caps.PrefixBound})
		e.fed = true
	}
	if e.fed {
		e.fed = false
		e.seedGuard(r)
	}
	bad := e.guard.Check(req)
	if e.frame.Provider != "anthropic" {
		// Reasoning has no signature with other providers' models.
		bad = slices.DeleteFunc(bad, func(v validate.Violation) bool { return v.Rule == validate.RuleThinkingShape })
	}
	return bad
}

// seedGuard tells the validator of the last reply of a resumed or replayed
// session: it was received for what stands before it.
func (e *Engine) seedGuard(r *Request) {
	for i := len(r.Wire) - 1; i >= 0; i-- {
		if r.Messages[i].Role == message.RoleAssistant {
			// The error says that the reply is no JSON; Check says it too.
			_ = e.guard.Received(validate.Request{System: r.Frame.System, Tools: r.Frame.Tools, Messages: r.Wire[:i]}, r.Wire[i])
			return
		}
	}
}

// wireCache keeps the bytes of messages between requests.
type wireCache struct {
	of   []message.Message
	wire []json.RawMessage
}

func (w *wireCache) next(ms []message.Message) []json.RawMessage {
	same := 0
	for same < len(w.of) && same < len(ms) && sameMessage(&w.of[same], &ms[same]) {
		same++
	}
	wire := w.wire
	if same < len(wire) {
		wire = slices.Clone(wire[:same]) // a request holds the old array
	}
	for _, m := range ms[same:] {
		wire = append(wire, m.AppendRequest(nil))
	}
	w.of, w.wire = ms, wire
	return wire
}

func sameMessage(a, b *message.Message) bool {
	if a.Role != b.Role || len(a.Content) != len(b.Content) {
		return false
	}
	if len(a.Content) == 0 || &a.Content[0] == &b.Content[0] {
		return true
	}
	for i := range a.Content {
		if !sameRaw(a.Content[i].Raw, b.Content[i].Raw) {
			return false
		}
	}
	return true
}
