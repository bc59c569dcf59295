package replay

import (
	"bytes"
	"time"

	"varve.dev/caps"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Kinds of content in [Turn].Parts.
const (
	PartSummary     = "summary"
	PartUser        = "user text"
	PartAssistant   = "assistant text"
	PartReasoning   = "reasoning"
	PartCalls       = "tool calls"
	PartResults     = "tool results"
	PartImages      = "images"
	PartAttachments = "attachments"
	PartOther       = "other"
)

// Parts lists the kinds in the order in which they are shown.
func Parts() []string {
	return []string{PartSummary, PartUser, PartAssistant, PartReasoning, PartCalls, PartResults, PartImages, PartAttachments, PartOther}
}

// meter compares each request with the one before, block by block, as a
// provider's prompt cache does: what stands unchanged at the beginning is read,
// the rest is written, and nothing is left when the cache's lifetime has passed.
type meter struct {
	est   tokens.Estimator
	cache caps.Cache
	prev  []sized
	spare []sized // what prev was made of the time before, to be overwritten
	total int     // of the last request
	at    time.Time
}

// sized is one block of a request.
type sized struct {
	raw  []byte
	role message.Role
	kind string
	size int // estimated
}

// next takes up a request and returns the turn's sizes. total is what the engine
// makes of the estimates in tokens of the model.
func (m *meter) next(v *view.View, log *transcript.Log, total int, at time.Time) Turn {
	same, grown := 0, false
	next := m.spare[:0]
	estimate, read := 0, 0
	t := Turn{Tokens: total, Parts: map[string]int{}}
	for i := range v.Messages {
		msg := &v.Messages[i]
		for k := range msg.Blocks {
			b := &msg.Blocks[k]
			n := len(next)
			var s sized
			if n < len(m.prev) && m.prev[n].role == msg.Role && sameBytes(m.prev[n].raw, b.Raw) {
				s = m.prev[n]
				if !grown {
					same++
				}
			} else {
				grown = true
				s = sized{raw: b.Raw, role: msg.Role, kind: kindOf(b, log), size: m.est.Block(b.Block)}
			}
			next = append(next, s)
			estimate += s.size
			if !grown {
				read += s.size
			}
			t.Parts[s.kind] += s.size
		}
	}
	scale := 1.0
	if estimate > 0 {
		scale = float64(total) / float64(estimate)
	}
	for k, n := range t.Parts {
		t.Parts[k] = int(float64(n)*scale + 0.5)
	}
	if same > 0 && !m.at.IsZero() && at.Sub(m.at) <= m.cache.Lifetime(false) {
		t.Read = min(int(float64(read)*scale), total)
		if t.Read < m.cache.MinTokens {
			t.Read = 0
		}
	}
	t.Written = total - t.Read
	if total < m.cache.MinTokens || !m.cache.Explicit {
		t.Written, t.Uncached = 0, t.Written // nothing is paid for writing
	}
	m.prev, m.spare, m.at, m.total = next, m.prev, at, total
	return t
}

// sameBytes compares bytes, which mostly are the same piece of memory.
func sameBytes(x, y []byte) bool {
	return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || bytes.Equal(x, y))
}

func kindOf(b *view.Block, log *transcript.Log) string {
	switch b.Type {
	case message.TypeToolUse:
		return PartCalls
	case message.TypeToolResult:
		return PartResults
	case message.TypeImage, message.TypeDocument:
		return PartImages
	case message.TypeText:
	default:
		if b.IsThinking() {
			return PartReasoning
		}
		return PartOther
	}
	x := log.ByUUID(b.Entry)
	switch {
	case x == nil:
		return PartOther
	case x.CompactSummary:
		return PartSummary
	case x.Type == transcript.TypeAttachment || x.Meta:
		return PartAttachments
	case x.Type == transcript.TypeAssistant:
		return PartAssistant
	}
	return PartUser
}

// warm reports whether the cache still holds the last request.
func (m *meter) warm(at time.Time) bool {
	return !m.at.IsZero() && at.Sub(m.at) <= m.cache.Lifetime(false)
}

// last returns the size of the last request in tokens of the model.
func (m *meter) last() int { return m.total }
