package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/internal/results"
	"varve.dev/internal/validate"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Config says what model an engine prepares requests for, and how.
type Config struct {
	// Caps is what the model can bear; caps.Window(n) for a model of your own.
	Caps caps.Model
	// System, Tools and Options are the fixed part of each request, as JSON in
	// the provider's own form. They may be empty.
	System, Tools, Options json.RawMessage
	// Ladder shrinks the view when it does not fit; nil: [DropOldest].
	Ladder Ladder
	// Budget caps the window or lowers the compaction threshold (B-4).
	Budget tokens.Overrides
	// Estimator estimates what has no usage yet; the zero value is the default.
	Estimator tokens.Estimator
	// Weight corrects estimates of this model by what it reported. Keep one for
	// each model over all sessions; nil: one of this engine's own.
	Weight *tokens.Weight
	// NoUsage says that usage figures in the log are not those of the requests that
	// this engine prepares: a recording is replayed, whose system text and tools
	// are not known. Sizes are estimates then.
	NoUsage bool
	// LongCache says that requests ask for the cache's long lifetime: what C-3, C-16
	// and the expected cache reads (G-12) go by.
	LongCache bool
	// Results is where large tool results go; nil: they stay in the log whole.
	Results *results.Decisions
	// Observe is told of what happens, in order, without locks being held by
	// other calls; it must not call the engine. Nil: not told.
	Observe func(Event)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Engine prepares requests from one log.
type Engine struct {
	mu     sync.Mutex
	store  Store
	frames Frames
	cfg    Config
	stamp  transcript.Stamp
	budget tokens.Thresholds

	log   *transcript.Log
	facts *view.Facts
	view  *view.View
	plain []message.Message // view.Messages as they are sent; shared with requests, never changed in place

	clean    int    // messages from the start of the view that can be sent as they are
	cleanFor string // to this provider

	frame   Frame
	stale   bool
	reframe bool

	meter   tokens.Meter
	fixed   Parts
	prefix  view.Prefix // of the newest request that was prepared
	wire    wireCache
	guard   *validate.Guard
	sent    *sentRequest
	foreign bool    // the log was written by another program and not sent by us yet
	fed     bool    // a reply was fed since the last request
	edited  string  // what was appended since the last request that changes what stood before
	server  *server // summaries that a provider made; nil when the view holds none
	cleared compact.Cleared
	idled   time.Time // of the newest idle period that was compacted
	err     error     // why the engine cannot go on: its store gave up
}

// Parts is what the fixed part of a request is made of, in estimated tokens.
type Parts struct{ System, Tools, Options int }

// New returns an engine over the log of s. The configuration's JSON must be
// valid, otherwise every Prepare fails with an error that says so.
func New(s Store, cfg Config) *Engine {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Weight == nil {
		cfg.Weight = tokens.NewWeight(cfg.Caps.TokenFactor)
	}
	if cfg.Ladder == nil {
		cfg.Ladder = DropOldest{}
	}
	if cfg.Estimator.Memo == nil {
		cfg.Estimator.Memo = tokens.NewMemo()
	}
	cfg.Estimator.Images = tokens.ImageRule(cfg.Caps.Images)
	e := &Engine{store: s, cfg: cfg, stamp: s.Stamp(), log: s.Log()}
	e.frames, _ = s.(Frames)
	for _, raw := range []json.RawMessage{cfg.System, cfg.Tools, cfg.Options} {
		if len(raw) > 0 && !json.Valid(raw) {
			e.err = errors.New("engine: system, tools and options must be JSON")
		}
	}
	e.setBudget()
	e.meter = tokens.Meter{Estimator: cfg.Estimator, Weight: cfg.Weight, Window: cfg.Caps.Window}
	e.measureFixed()
	e.facts = view.FactsOf(e.log)
	e.rebuild()
	e.foreign = e.view.Frame == nil && len(e.plain) > 0
	if cfg.Results != nil {
		for _, entry := range e.log.Entries {
			if entry.Type == transcript.TypeContentReplacement {
				if rs, err := entry.Replacements(); err == nil {
					cfg.Results.Load(rs...)
				}
			}
		}
		cfg.Results.Sent(results.SentIn(e.plain)...)
	}
	e.resumeReceipt()
	return e
}

func (e *Engine) setBudget() {
	b, notices := e.cfg.Budget.Apply(tokens.Budget{Window: e.cfg.Caps.Window, MaxOutput: e.cfg.Caps.MaxOutput, InputLimit: e.cfg.Caps.InputLimit})
	for _, n := range notices {
		e.note(Event{Kind: Notice, Detail: n})
	}
	e.budget = b.Thresholds()
}

func (e *Engine) measureFixed() {
	e.fixed = Parts{System: tokens.Bytes(e.cfg.System), Tools: tokens.Bytes(e.cfg.Tools), Options: tokens.Bytes(e.cfg.Options)}
	e.meter.Fixed = e.fixed.System + e.fixed.Tools + e.fixed.Options
}

// rebuild computes the view afresh and takes the size of what is in it.
func (e *Engine) rebuild() {
	tip := e.log.Tip()
	chain := &transcript.Chain{}
	if tip != nil {
		chain = e.log.Chain(tip)
	}
	e.view = view.Of(view.Input{Chain: chain, Facts: e.facts})
	e.plain, e.clean, e.cleared = e.view.Plain(), 0, compact.Cleared{}
	e.lookForServer(chain)
	e.remeasure(chain)
}

// remeasure starts the meter over: from the usage of the last reply behind the
// newest edit where there is one, else from estimates of everything (B-2).
func (e *Engine) remeasure(c *transcript.Chain) {
	usage := make(map[string]*message.Usage)
	model := ""
	if e.view.Frame != nil {
		model = e.view.Frame.Model
	}
	for _, entry := range measurable(c) {
		switch {
		case e.cfg.NoUsage:
		case changesView(entry):
			clear(usage)
		case entry.Type == transcript.TypeAssistant && !entry.APIError && entry.MessageID != "":
			if m, err := entry.Message(); err == nil && m.Usage != nil && m.Usage.ContextTokens() > 0 && (model == "" || m.Model == model) {
				usage[entry.MessageID] = m.Usage
			}
		}
	}
	from := -1
	for i := len(e.plain) - 1; i >= 0 && len(usage) > 0; i-- {
		if usage[e.plain[i].ID] != nil && e.plain[i].ID != "" {
			from = i
			break
		}
	}
	if from < 0 {
		e.meter.Reset(e.plain...)
		return
	}
	e.meter.Reset()
	anchor := e.plain[from]
	anchor.Usage = usage[anchor.ID]
	e.meter.Append(anchor)
	e.meter.Append(e.plain[from+1:]...)
}

// measurable returns the entries of a chain whose usage may hold for its view. Of
// what a boundary keeps these are the replies that came with the provider's summary:
// their prompt was that summary already.
func measurable(c *transcript.Chain) []*transcript.Entry {
	if c.Boundary == nil || len(c.Kept) == 0 {
		return c.Entries
	}
	if b, err := c.Boundary.Boundary(); err != nil || b.Own.Rung != rungServer {
		return c.Entries
	}
	out := []*transcript.Entry{c.Boundary}
	for _, x := range c.Kept {
		if m, err := x.Message(); err == nil && m.Usage != nil && compacted(*m.Usage) {
			out = append(out, x)
		}
	}
	return append(out, slices.DeleteFunc(slices.Clone(c.Entries), func(x *transcript.Entry) bool { return x == c.Boundary })...)
}

// changesView reports whether an entry changes what stood before it, so that
// usage measured before does not hold behind it.
func changesView(e *transcript.Entry) bool {
	if e.Type != transcript.TypeSystem {
		return false
	}
	switch e.Subtype {
	case transcript.SubCompactBoundary, transcript.SubMicrocompact, transcript.SubStrip, transcript.SubUndo:
		return true
	}
	return false
}

func (e *Engine) switchMeter() {
	e.meter.Switch(e.cfg.Estimator, e.cfg.Weight, e.cfg.Caps.Window)
	e.measureFixed()
	if e.cleared.Tokens > 0 {
		// Another provider is sent all of what this one had cleared (C-2).
		e.cleared = compact.Cleared{}
		e.meter.Reset(e.plain...)
	}
}

// add appends entries to log and store and brings the view up to date.
func (e *Engine) add(entries ...*transcript.Entry) error {
	if e.err != nil {
		return e.err
	}
	if err := e.store.Append(entries...); err != nil {
		e.err = fmt.Errorf("engine: the log cannot be written any more: %w", err)
		return e.err
	}
	for _, x := range entries {
		e.log.Add(x)
		e.facts.Add(x)
		if changesView(x) || x.Subtype == transcript.SubRepair && x.Type == transcript.TypeSystem {
			e.edited = x.Subtype
		}
	}
	before := len(e.plain)
	if !e.view.Append(entries...) {
		e.rebuild()
		return nil
	}
	from := e.view.Changed
	for from < before && from < len(e.view.Messages) && sameBlocks(&e.plain[from], &e.view.Messages[from]) {
		from++ // written anew by the view, and the same
	}
	e.clean = min(e.clean, from)
	if from < before {
		// A message that a request holds grows: the request keeps the old array.
		e.plain = slices.Clone(e.plain[:from])
	}
	for i := from; i < len(e.view.Messages); i++ {
		e.plain = append(e.plain, e.view.Messages[i].Plain())
		if e.server == nil && hasSummaryBlock(&e.view.Messages[i]) {
			e.server = &server{}
		}
	}
	for _, x := range entries {
		e.measure(x)
	}
	return nil
}

// sameBlocks reports whether m holds exactly the blocks of v.
func sameBlocks(m *message.Message, v *view.Message) bool {
	if m.Role != v.Role || m.ID != v.ID || len(m.Content) != len(v.Blocks) {
		return false
	}
	for i := range m.Content {
		if !sameRaw(m.Content[i].Raw, v.Blocks[i].Raw) {
			return false
		}
	}
	return true
}

// sameRaw compares bytes, which mostly are the same piece of memory.
func sameRaw(x, y []byte) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || bytes.Equal(x, y))
}

// measure takes the size of one appended entry.
func (e *Engine) measure(x *transcript.Entry) {
	switch x.Type {
	case transcript.TypeUser, transcript.TypeAssistant:
		if m, err := x.Message(); err == nil && !x.APIError {
			sized := *m
			if e.cfg.NoUsage {
				sized.Usage = nil
			}
			e.meter.Append(sized)
		}
	case transcript.TypeAttachment:
		if texts, _, err := x.Rendered(); err == nil {
			for _, t := range texts {
				e.meter.Append(message.User(t))
			}
		}
	case transcript.TypeContentReplacement:
		rs, err := x.Replacements()
		if err != nil {
			return // it changed nothing
		}
		for _, r := range rs {
			if old := e.resultSize(r.ToolUseID); old > 0 {
				e.meter.Remove(old - tokens.Text(r.Replacement))
			}
		}
	}
}

// resultSize returns the estimate of the stored result of a call.
func (e *Engine) resultSize(call string) int {
	for i := len(e.log.Entries) - 1; i >= 0; i-- {
		x := e.log.Entries[i]
		for _, id := range x.Results {
			if id != call {
				continue
			}
			m, err := x.Message()
			if err != nil {
				return 0
			}
			for _, b := range m.Content {
				if b.ToolUseID == call {
					return e.cfg.Estimator.Block(b)
				}
			}
		}
	}
	return 0
}

// Errors of Append.
var (
	ErrNoCall   = errors.New("engine: no call with that id is in the conversation")
	ErrNotUser  = errors.New("engine: only user messages are appended; replies are recorded")
	ErrNotReady = errors.New("engine: nothing to answer: the conversation is empty or ends with a reply")
)

// Append adds a message of the user side: a prompt, or the results of tool calls.
// It is queued for the log, not yet durable. A result for a call that was
// answered already (a synthetic result was sent in its place) is added as text:
// what was sent stays. The error is [ErrNotUser], [ErrNoCall], or that of a store
// that gave up.
func (e *Engine) Append(m message.Message, extra ...transcript.Extra) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m.Role != message.RoleUser {
		return ErrNotUser
	}
	blocks := make([]message.Block, 0, len(m.Content))
	changed := false
	for _, b := range m.Content {
		if !message.CleanUnicode(b.Raw) {
			fixed, err := message.ParseBlock(message.FixUnicode(b.Raw))
			if err != nil {
				return fmt.Errorf("engine: %w", err)
			}
			b, changed = fixed, true
		}
		if b.Type == message.TypeToolResult {
			answered, known := e.view.Answered(b.ToolUseID)
			if !known {
				return fmt.Errorf("%w: %s", ErrNoCall, b.ToolUseID)
			}
			if answered {
				b, changed = lateResult(b), true
			}
		}
		blocks = append(blocks, b)
	}
	if changed {
		m = message.UserBlocks(blocks...)
	}
	return e.add(e.stamp.User(e.view.Leaf, m, extra...))
}

// Feed adds an entry that was recorded elsewhere, behind the leaf, with all its
// bytes but the parent: a recording is replayed through the engine entry by entry.
// Entries that are no part of a conversation (progress, bookkeeping, the
// recording's own boundaries and summaries) are passed over.
func (e *Engine) Feed(x *transcript.Entry) error {
	switch {
	case x.Type != transcript.TypeUser && x.Type != transcript.TypeAssistant && x.Type != transcript.TypeAttachment, x.CompactSummary, x.APIError:
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, err := x.Raw()
	if err != nil {
		return err
	}
	parent := []byte("null")
	if e.view.Leaf != "" {
		parent = message.AppendString(nil, e.view.Leaf)
	}
	if raw, err = transcript.Splice(raw, "parentUuid", parent); err != nil {
		return err
	}
	fed, err := transcript.Parse(raw)
	if err != nil {
		return err
	}
	e.fed = e.fed || x.Type == transcript.TypeAssistant
	return e.add(fed)
}

// Cover keeps with the log how far a job beside the conversation (session notes,
// extraction) has read it: the cursor by which its result is trusted later. It
// changes no view.
func (e *Engine) Cover(c transcript.Covers) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.add(e.stamp.Side(transcript.TypeCovers, c))
}

// lateResult tells of a result whose call was answered before it came.
func lateResult(b message.Block) message.Block {
	text := "[The result of call " + b.ToolUseID + " arrived after it had been reported as interrupted:]\n"
	for _, c := range b.Content {
		if c.Type == message.TypeText {
			text += c.Text
		} else {
			text += "[" + c.Type + "]"
		}
	}
	return message.Text(text)
}

// Attach adds something injected: what is what it is, for people, rendered what
// the model sees of it. as is "user", "system" (on models that take system
// messages inside a conversation; elsewhere it is sent as the user's) or
// "tool_addition".
func (e *Engine) Attach(what json.RawMessage, rendered []string, as string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !json.Valid(what) {
		return errors.New("engine: an attachment must be JSON")
	}
	if as == "system" && !e.cfg.Caps.MidSystem {
		as = "user"
	}
	var extra []transcript.Extra
	if as != "" && as != "user" {
		extra = append(extra, transcript.Own(map[string]string{"as": as}))
	}
	clean := make([]string, len(rendered))
	for i, r := range rendered {
		clean[i] = string(message.FixUnicode([]byte(r)))
	}
	return e.add(e.stamp.Attachment(e.view.Leaf, what, clean, extra...))
}

// View returns the present view. It must not be changed, and is good until the
// next call.
func (e *Engine) View() *view.View {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.view
}

// Log returns the log as the engine has it, appended entries included. It must
// not be changed, and is good until the next call.
func (e *Engine) Log() *transcript.Log {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log
}

// Size returns the estimated tokens of the next request and where they stand.
func (e *Engine) Size() (tokens.Reading, tokens.Thresholds) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meter.Reading(), e.budget
}

// Sync returns when everything appended so far is durable.
func (e *Engine) Sync(ctx context.Context) error { return e.store.Sync(ctx) }
