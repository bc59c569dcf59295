package engine

import (
	"slices"

	"varve.dev/compact"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// This file turns the view into what one provider is sent. What is left out or
// exchanged here stays in the log and is there again after switching back (DESIGN
// decision 7).

// sendable is the view without what the model in use cannot be given: reasoning
// of another provider, and on Anthropic's API reasoning without signature. A
// summary that the provider itself made stands in the place of its readable twin.
func (e *Engine) sendable() *view.View {
	if e.cleanFor != e.frame.Provider {
		e.clean, e.cleanFor = 0, e.frame.Provider
	}
	for e.clean < len(e.view.Messages) && !e.unsendable(&e.view.Messages[e.clean]) {
		e.clean++
	}
	return e.encode(e.view, e.clean)
}

// encoded returns messages [0, to) of the view as the model in use is sent them.
func (e *Engine) encoded(to int) []message.Message {
	part := *e.view
	part.Messages = e.view.Messages[:to:to]
	return e.encode(&part, 0).Plain()
}

// encode returns what is sent of v, which is v itself as a rule. Messages before
// clean hold nothing that is left out.
func (e *Engine) encode(v *view.View, clean int) *view.View {
	if clean == len(v.Messages) && e.server == nil {
		return v
	}
	out := *v
	out.Messages = slices.Clone(v.Messages)
	for i := clean; i < len(out.Messages); i++ {
		if m := &out.Messages[i]; e.unsendable(m) {
			m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b view.Block) bool { return b.IsThinking() })
		}
	}
	if e.server != nil {
		out.Messages = e.withServer(out.Messages)
	}
	return &out
}

// unsendable reports whether m is a reply with reasoning that the model in use
// cannot be given.
func (e *Engine) unsendable(m *view.Message) bool {
	if m.Role != message.RoleAssistant {
		return false
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		if b.IsThinking() && (!sameProvider(m.From, e.frame.Provider) ||
			e.frame.Provider == "anthropic" && b.Type == message.TypeThinking && b.Signature == "") {
			return true
		}
	}
	return false
}

// sameProvider compares where a reply came from with where a request goes. A log
// that names no provider holds replies in the canonical form: Anthropic's, or
// those of an embedder's own model.
func sameProvider(from, to string) bool {
	return from == to || from == "" && to == "anthropic"
}

// server is what is known of summaries that a provider made, when the view holds
// any: as the summary it starts with, or as a block of a reply.
type server struct {
	native  compact.Native
	summary string          // uuid of the summary entry that the view starts with; "" when it has no native form
	started bool            // the view starts behind a boundary
	undone  map[string]bool // replies whose summary was taken back
}

// lookForServer finds the summaries that providers made; e.server is nil without
// any, so that other conversations pay nothing for them.
func (e *Engine) lookForServer(c *transcript.Chain) {
	s := server{started: e.view.Boundary != nil, undone: map[string]bool{}}
	found := false
	if len(e.view.Messages) > 0 && len(e.view.Messages[0].Blocks) > 0 {
		if x := e.log.ByUUID(e.view.Messages[0].Blocks[0].Entry); x != nil {
			if n, ok := compact.NativeOf(x); ok && !refused(c) {
				s.native, s.summary, found = n, x.UUID, true
			}
		}
	}
	for i := range e.view.Messages {
		found = found || hasSummaryBlock(&e.view.Messages[i])
	}
	if e.server = nil; !found {
		return
	}
	for _, b := range c.Undone {
		if meta, err := b.Boundary(); err == nil && meta.Own.Rung == rungServer && meta.PreservedMessages != nil {
			for _, u := range meta.PreservedMessages.UUIDs {
				s.undone[u] = true
			}
		}
	}
	e.server = &s
}

const (
	rungServer    = "server"         // of boundaries with a provider's summary
	reasonRefused = "server-summary" // of strips: the provider does not take its summary back
)

// refused reports whether the provider's form of a summary is not used any more.
func refused(c *transcript.Chain) bool {
	for _, x := range c.Entries {
		if x.Type == transcript.TypeSystem && x.Subtype == transcript.SubStrip {
			if s, err := x.Strip(); err == nil && s.Reason == reasonRefused {
				return true
			}
		}
	}
	return false
}

func hasSummaryBlock(m *view.Message) bool {
	return m.Role == message.RoleAssistant && slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return b.Type == message.TypeCompaction })
}

// withServer puts the provider's own summary first, in place of its readable twin,
// where the model in use takes it; elsewhere the twin stays and the provider's
// blocks are left out.
func (e *Engine) withServer(ms []view.Message) []view.Message {
	s := e.server
	takes := e.cfg.Caps.Compaction.Any()
	linked := takes && s.summary != "" && sameProvider(s.native.Provider, e.frame.Provider) && len(ms) > 0 && s.heads(&ms[0])
	inside := linked && len(ms) > 1 && s.holdsNative(&ms[1])
	out := make([]view.Message, 0, len(ms)+1)
	for i, m := range ms {
		switch {
		case i == 0 && linked:
			if !inside {
				if first, ok := s.message(); ok {
					out = append(out, first)
				} else {
					linked = false // it cannot be read: the twin is sent
					out = append(out, m)
					continue
				}
			}
			m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b view.Block) bool { return b.Entry == s.summary })
		case i == 1 && inside:
			// What stands before the summary is ignored by the provider.
			at := slices.IndexFunc(m.Blocks, func(b view.Block) bool { return sameRaw(b.Raw, s.native.Items[0]) })
			m.Blocks = m.Blocks[at:]
		case hasSummaryBlock(&m) && !(takes && sameProvider(m.From, e.frame.Provider) && !s.started && !s.undone[m.Blocks[0].Entry]):
			// Everything before such a block would be ignored, the view's own summary
			// included. One that failed stands for nothing and stays.
			m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b view.Block) bool {
				_, ok := compact.SummaryText(b.Block)
				return b.Type == message.TypeCompaction && (ok || !takes || !sameProvider(m.From, e.frame.Provider))
			})
		}
		if len(m.Blocks) > 0 && !onlyReasoning(&m) {
			out = append(out, m)
		}
	}
	return out
}

// onlyReasoning reports whether nothing but reasoning is left of a reply: the API
// takes no such message.
func onlyReasoning(m *view.Message) bool {
	return m.Role == message.RoleAssistant && !slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return !b.IsThinking() })
}

// heads reports whether a message begins with the summary.
func (s *server) heads(m *view.Message) bool {
	return m.Role == message.RoleUser && len(m.Blocks) > 0 && m.Blocks[0].Entry == s.summary
}

// holdsNative reports whether a reply holds the provider's summary: it came with it.
func (s *server) holdsNative(m *view.Message) bool {
	return m.Role == message.RoleAssistant && slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return sameRaw(b.Raw, s.native.Items[0]) })
}

// message is the provider's summary as the first message. It is false when an item
// is no block, or where the API would not take what it holds as a beginning.
func (s *server) message() (view.Message, bool) {
	m := view.Message{Role: message.RoleAssistant, From: s.native.Provider}
	for _, raw := range s.native.Items {
		b, err := message.ParseBlock(raw)
		if err != nil {
			return m, false
		}
		m.Blocks = append(m.Blocks, view.Block{Block: b, Entry: s.summary})
	}
	_, ok := compact.SummaryText(m.Blocks[0].Block)
	return m, ok
}
