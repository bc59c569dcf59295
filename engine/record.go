package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/compact"
	"varve.dev/internal/validate"
	"varve.dev/message"
	"varve.dev/transcript"
)

// Reply is what a provider sent back, with what is known about it beside the
// message. Only the message is needed.
type Reply struct {
	message.Message
	RequestID            string
	Native               json.RawMessage // the reply in the provider's own form, where that is not the canonical one
	AppliedEdits         json.RawMessage // what the server cleared
	InputTransformations json.RawMessage // what the server did to the input
}

// CacheReport compares what a request should have found in the provider's cache
// with what it found (G-12). All in tokens.
type CacheReport struct {
	Expected, Read, Written, Uncached int64
	Broken                            bool
	Cause                             string // when broken, or when less than the last request was expected
}

// Record adds a reply to a request, and a receipt of what was sent for it. When
// the reply ends a turn (it calls no tool) everything is durable when Record
// returns (G-8); otherwise the caller syncs before it runs a tool that changes
// anything.
func (e *Engine) Record(ctx context.Context, req *Request, reply message.Message) error {
	_, err := e.RecordReply(ctx, req, Reply{Message: reply})
	return err
}

// ErrNotReply is returned for a message that is no reply.
var ErrNotReply = errors.New("engine: only assistant messages with content are recorded")

// RecordReply is Record for a reply with everything that is known about it. The
// report says what the cache did.
func (e *Engine) RecordReply(ctx context.Context, req *Request, r Reply) (CacheReport, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.Role != message.RoleAssistant || len(r.Content) == 0 {
		return CacheReport{}, ErrNotReply
	}
	if r.ID == "" {
		r.ID = "msg_" + transcript.NewUUID()
	}
	entry, open := e.replyEntry(req, r)
	receipt := transcript.Receipt{RequestID: r.RequestID, MessageID: r.ID, LeafUUID: req.Leaf, Frame: req.Frame.ID,
		PrefixHash: req.PrefixHash, Blocks: req.Blocks, StopReason: r.StopReason, ExpectedCached: int64(req.ExpectedCached),
		AppliedEdits: r.AppliedEdits, InputTransformations: r.InputTransformations}
	if r.Usage != nil {
		receipt.Usage = r.Usage.AppendJSON(nil)
	}
	e.meetEdits(r)
	if err := e.add(entry, e.stamp.Side(transcript.TypeReceipt, receipt)); err != nil {
		return CacheReport{}, err
	}
	if e.cfg.Results != nil {
		e.cfg.Results.Sent(resultIDs(req.Messages)...)
	}
	if e.guard != nil {
		if m, err := entry.Message(); err == nil {
			// The error says that the reply is no JSON; the next Check says it too.
			_ = e.guard.Received(validate.Request{System: req.Frame.System, Tools: req.Frame.Tools, Messages: req.Wire}, m.AppendRequest(nil))
		}
	}
	report := e.account(req, r)
	e.edited = ""
	if err := e.absorb(ctx, r); err != nil {
		return report, err
	}
	if !open {
		if err := e.store.Sync(ctx); err != nil {
			return report, fmt.Errorf("engine: the turn is not durable: %w", err)
		}
	}
	return report, nil
}

// replyEntry builds the entry of a reply, and reports whether it calls a tool.
func (e *Engine) replyEntry(req *Request, r Reply) (*transcript.Entry, bool) {
	m, open := r.Message, false
	native := make(map[string]string)
	blocks := make([]message.Block, len(m.Content))
	changed := false
	for i, b := range m.Content {
		if b.Type == message.TypeToolUse {
			open = true
			if id := message.CanonicalID(b.ID); id != b.ID {
				if c, err := message.ToolUse(id, b.Name, b.Input); err == nil {
					native[id] = b.ID
					b, changed = c, true
				}
			}
		}
		blocks[i] = b
	}
	if changed {
		m = m.WithContent(blocks...)
	}
	if m.Model == "" {
		m.Model = req.Frame.Model
	}
	own := struct {
		Provider string            `json:"provider,omitempty"`
		Native   json.RawMessage   `json:"native,omitempty"`
		IDs      map[string]string `json:"ids,omitempty"` // canonical tool-use id → the provider's own
	}{Native: r.Native, IDs: native}
	if p := req.Frame.Provider; p != "anthropic" {
		own.Provider = p
	}
	var extra []transcript.Extra
	if own.Provider != "" || own.Native != nil || len(native) > 0 {
		extra = append(extra, transcript.Own(own))
	}
	return e.stamp.Assistant(e.view.Leaf, m, r.RequestID, extra...), open
}

func resultIDs(ms []message.Message) []string {
	var ids []string
	for _, b := range ms[len(ms)-1].Content {
		if b.Type == message.TypeToolResult {
			ids = append(ids, b.ToolUseID)
		}
	}
	return ids
}

// account compares the cache's figures with what was expected and remembers the
// request.
func (e *Engine) account(req *Request, r Reply) CacheReport {
	rep := CacheReport{Expected: int64(req.ExpectedCached), Cause: req.cause}
	prompt := req.Tokens
	if u := r.Usage; u != nil && u.ContextTokens() > 0 {
		rep.Read, rep.Written, rep.Uncached = u.CacheReadTokens, u.CacheCreationTokens, u.InputTokens
		for _, it := range u.Iterations {
			if it.Type == iterationCompaction { // the server summarized first: that call read the conversation, the reply only its summary
				rep.Read, rep.Written, rep.Uncached = rep.Read+it.CacheReadTokens, rep.Written+it.CacheCreationTokens, rep.Uncached+it.InputTokens
			}
		}
		prompt = int(u.ContextTokens())
		// A tenth is left for what stands behind the last mark of the cache.
		if floor := int64(max(e.cfg.Caps.Cache.MinTokens, minCached)); rep.Expected >= floor && rep.Read < rep.Expected-rep.Expected/10 {
			rep.Broken = true
			if rep.Cause == "" {
				rep.Cause = "nothing in the request changed; the provider did not have it any more"
			}
			e.note(Event{Kind: CacheBreak, Expected: int(rep.Expected), Read: int(rep.Read), At: req.at, Detail: rep.Cause})
		}
	}
	e.sent = &sentRequest{prefix: req.prefix, blocks: req.Blocks, hash: req.PrefixHash, frame: req.Frame.ID, tokens: prompt, at: e.cfg.Now(), known: true,
		compacted: r.Usage != nil && compacted(*r.Usage)}
	return rep
}

// iterationCompaction is a call that the server made to summarize (API.md 1.2).
const iterationCompaction = "compaction"

// compacted reports whether the server compacted before it answered.
func compacted(u message.Usage) bool {
	return slices.ContainsFunc(u.Iterations, func(it message.Iteration) bool { return it.Type == iterationCompaction })
}

// minCached is the shortest prefix that any provider caches (API.md 1.7: 512 to
// 4,096 tokens; OpenAI 1,024).
const minCached = 1024

// resumeReceipt takes over from the log what the last request was, so that the
// first one after a resume is compared with it.
func (e *Engine) resumeReceipt() {
	for i := len(e.log.Entries) - 1; i >= 0; i-- {
		x := e.log.Entries[i]
		if x.Type != transcript.TypeReceipt {
			if changesView(x) {
				return // what stood before was changed by an edit
			}
			continue
		}
		r, err := x.Receipt()
		if err != nil || e.log.ByUUID(r.LeafUUID) == nil {
			return // of no use, or of a branch that is not here
		}
		s := &sentRequest{blocks: r.Blocks, hash: r.PrefixHash, frame: r.Frame}
		if u, err := message.ParseUsage(r.Usage); err == nil {
			s.tokens, s.compacted = int(u.ContextTokens()), compacted(u)
		}
		for j := i; j >= 0; j-- {
			if t, ok := e.log.Entries[j].Time(); ok {
				s.at = t
				break
			}
		}
		if e.onChain(r.MessageID) {
			e.sent, e.cleared = s, compact.ParseCleared(r.AppliedEdits)
		}
		return
	}
}

// onChain reports whether the reply is part of the present view.
func (e *Engine) onChain(id string) bool {
	for i := len(e.plain) - 1; i >= 0; i-- {
		if e.plain[i].ID == id {
			return true
		}
	}
	return false
}
