package modelsim

import (
	"strconv"

	"varve.dev/message"
	"varve.dev/tokens"
)

// The sections of a prompt, in the order in which the model reads them.
const (
	inTools = iota
	inSystem
	inMessages
)

// A piece is one tool definition or block of a prompt.
type piece struct {
	section int
	sum     sum
	tokens  int
	path    string
	mark    string // lifetime of the cache mark behind it, "" for none
	noMark  bool   // reasoning cannot be marked, not even by automatic caching
}

func itoa(n int) string { return strconv.Itoa(n) }

func rawTokens(s string) int { return tokens.Text(s) }

func total(list []piece) int {
	n := 0
	for _, p := range list {
		n += p.tokens
	}
	return n
}

// frame lists tools and system text.
func (c *call) frame() []piece {
	var out []piece
	for i, t := range c.tools {
		if t.deferred {
			continue
		}
		b := bare(t.raw)
		out = append(out, piece{section: inTools, sum: sumOf(b), tokens: c.model.count(string(b)), path: "tools." + itoa(i), mark: markOf(t.o)})
	}
	for _, b := range c.system {
		out = append(out, piece{section: inSystem, sum: sumOf(b.bare), tokens: c.model.countOnce(&b), path: b.path, mark: b.mark})
	}
	return out
}

// whole lists everything the request sends.
func (c *call) whole() []piece {
	out := c.frame()
	for i := range c.msgs {
		m := &c.msgs[i]
		if x := m.extras(); x != nil {
			out = append(out, piece{section: inMessages, sum: sumOf([]byte(m.role), x), path: "messages." + itoa(i)})
		}
		for k := range m.blocks {
			out = append(out, c.piece(&m.blocks[k]))
		}
	}
	return out
}

func (c *call) piece(b *block) piece {
	return piece{section: inMessages, sum: b.sum, tokens: c.model.countOnce(b), path: b.path, mark: b.mark, noMark: b.isThinking()}
}

// render lists what the model reads: without what stands before the last compaction, without reasoning that was dropped or that this
// model does not keep, without system messages whose time is over, and with what editing cleared replaced.
func (c *call) render() []piece {
	out := c.frame()
	start, first := c.lastSummary()
	current := c.turnStart()
	for i := start; i < len(c.msgs); i++ {
		m := &c.msgs[i]
		if m.o.str("clear_at") == "next_user_message" && i < current {
			continue
		}
		if x := m.extras(); x != nil {
			out = append(out, piece{section: inMessages, sum: sumOf([]byte(m.role), x), path: "messages." + itoa(i)})
		}
		for k := range m.blocks {
			b := &m.blocks[k]
			switch {
			case i == start && k < first, b.dropped, b.isThinking() && !c.model.Thinking.Kept && i < current, b.Type == "compaction" && !b.isSummary():
			case b.cleared:
				out = append(out, c.clearedPiece(b))
			default:
				out = append(out, c.piece(b))
			}
		}
	}
	return out
}

// clearedPiece is a result, or a call's input, that editing took out.
func (c *call) clearedPiece(b *block) piece {
	p := c.piece(b)
	if b.isResult() {
		n := message.ToolResult(b.ToolUseID, b.IsError, message.Text(clearedText))
		p.sum, p.tokens = sumOf([]byte(b.role), n.Raw), c.model.countBlock(n)
		return p
	}
	p.sum = sumOf([]byte(b.role), []byte("cleared input"), []byte(b.ID), []byte(b.Name))
	p.tokens = c.model.count(b.Name) + 4
	return p
}

// lastSummary finds the last compaction that succeeded: message and block index, 0, 0 when there is none.
func (c *call) lastSummary() (msg, blk int) {
	for i := range c.msgs {
		for k := range c.msgs[i].blocks {
			if c.msgs[i].blocks[k].isSummary() {
				msg, blk = i, k
			}
		}
	}
	return msg, blk
}

// turnStart is the index of the last user message that holds more than results: where the current turn begins.
func (c *call) turnStart() int {
	for i := len(c.msgs) - 1; i >= 0; i-- {
		if c.msgs[i].role != "user" {
			continue
		}
		for k := range c.msgs[i].blocks {
			if !c.msgs[i].blocks[k].isResult() {
				return i
			}
		}
	}
	return 0
}
