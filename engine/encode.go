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
	gone    map[string]bool // entries whose summary was taken back, or refused by the provider
}

// lookForServer finds the summaries that providers made; e.server is nil without
// any, so that other conversations pay nothing for them.
func (e *Engine) lookForServer(c *transcript.Chain) {
	var s server
	found := false
	if len(e.view.Messages) > 0 && len(e.view.Messages[0].Blocks) > 0 {
		if x := e.log.ByUUID(e.view.Messages[0].Blocks[0].Entry); x != nil {
			if n, ok := compact.NativeOf(x); ok {
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
	s.gone = e.refused()
	for _, b := range c.Undone {
		if meta, err := b.Boundary(); err == nil && meta.Own.Rung == rungServer && meta.PreservedMessages != nil {
			for _, u := range meta.PreservedMessages.UUIDs {
				s.gone[u] = true
			}
		}
	}
	e.server = &s
}

const (
	rungServer    = "server"         // of boundaries with a provider's summary
	reasonRefused = "server-summary" // of strips: the provider does not take its summary back
)

// refused returns the entries whose summary the provider did not take back: those
// that were in the log then.
func (e *Engine) refused() map[string]bool {
	out := make(map[string]bool)
	for i := len(e.log.Entries) - 1; i >= 0; i-- {
		x := e.log.Entries[i]
		if x.Type != transcript.TypeSystem || x.Subtype != transcript.SubStrip {
			continue
		}
		if s, err := x.Strip(); err != nil || s.Reason != reasonRefused {
			continue
		}
		for _, old := range e.log.Entries[:i] {
			out[old.UUID] = true
		}
		break
	}
	return out
}

func hasSummaryBlock(m *view.Message) bool {
	return m.Role == message.RoleAssistant && slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return b.Type == message.TypeCompaction })
}

// withServer puts the provider's own summary first where the model in use takes it;
// elsewhere its readable twin stays and the provider's blocks are left out. Of
// several the newest counts, and nothing that stands before it is sent: the
// provider would ignore it.
func (e *Engine) withServer(ms []view.Message) []view.Message {
	s := e.server
	takes := e.cfg.Caps.Compaction.Any()
	var out []view.Message
	from := 0
	if takes {
		if i := e.newestSummary(ms); i >= 0 {
			m := ms[i]
			m.Blocks = m.Blocks[lastSummary(m.Blocks):]
			out, from = append(out, m), i+1
		} else if len(ms) > 0 && s.heads(&ms[0], e.frame.Provider) {
			if first, ok := s.message(); ok { // else it cannot be read: the twin is sent
				m := ms[0]
				m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b view.Block) bool { return b.Entry == s.summary })
				if out, from = append(out, first), 1; len(m.Blocks) > 0 {
					out = append(out, m)
				}
			}
		}
	}
	for _, m := range ms[from:] {
		if hasSummaryBlock(&m) {
			// One that failed stands for nothing and stays where it is known.
			known := takes && sameProvider(m.From, e.frame.Provider)
			m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b view.Block) bool {
				_, ok := compact.SummaryText(b.Block)
				return b.Type == message.TypeCompaction && (ok || !known)
			})
		}
		if len(m.Blocks) > 0 && !onlyReasoning(&m) {
			out = append(out, m)
		}
	}
	return out
}

// newestSummary returns the newest reply of the provider's own that holds a summary
// which was not taken back; -1 without one.
func (e *Engine) newestSummary(ms []view.Message) int {
	for i := len(ms) - 1; i >= 0; i-- {
		m := &ms[i]
		if m.Role != message.RoleAssistant || !sameProvider(m.From, e.frame.Provider) {
			continue
		}
		if k := lastSummary(m.Blocks); k >= 0 && !e.server.gone[m.Blocks[k].Entry] {
			return i
		}
	}
	return -1
}

// lastSummary returns which block of a reply is its last summary; -1 without one.
func lastSummary(bs []view.Block) int {
	for k := len(bs) - 1; k >= 0; k-- {
		if _, ok := compact.SummaryText(bs[k].Block); ok {
			return k
		}
	}
	return -1
}

// onlyReasoning reports whether nothing but reasoning is left of a reply: the API
// takes no such message.
func onlyReasoning(m *view.Message) bool {
	return m.Role == message.RoleAssistant && !slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return !b.IsThinking() })
}

// heads reports whether a message begins with a summary that a provider takes back.
func (s *server) heads(m *view.Message, provider string) bool {
	return s.summary != "" && !s.gone[s.summary] && sameProvider(s.native.Provider, provider) &&
		m.Role == message.RoleUser && len(m.Blocks) > 0 && m.Blocks[0].Entry == s.summary
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
