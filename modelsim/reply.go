package modelsim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"varve.dev/message"
)

// An outBlock is one content block of a reply.
type outBlock struct {
	typ       string // text, thinking, redacted_thinking, tool_use, compaction, compaction_delta, raw
	text      string
	signature string
	id, name  string
	input     json.RawMessage
	raw       json.RawMessage // the finished block
	tokens    int
	broken    bool // cut by the limit of the reply: of a call's input only the text arrived
}

// finish writes the block as it stands in the message.
func (b *outBlock) finish() {
	switch b.typ {
	case "text":
		b.raw = message.Text(b.text).Raw
	case "thinking":
		b.raw = message.Thinking(b.text, b.signature).Raw
	case "redacted_thinking":
		b.raw = message.RedactedThinking(b.signature).Raw
	case "tool_use":
		in := b.input
		if b.broken {
			in = json.RawMessage("{}")
		}
		b.raw = marshal(struct {
			Type  string          `json:"type"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}{"tool_use", b.id, b.name, in})
	}
}

// A reply is what a request is answered with when nothing goes wrong.
type reply struct {
	id       string // msg_…
	reply    [6]byte
	blocks   []outBlock
	stop     string
	stopSeq  string
	category string // of a refusal
	refused  string
	side     bool // it is a summary: no part of the main conversation
}

// composer builds the reply to one request.
type composer struct {
	*Server
	c      *call
	ch     *choice
	number int
	walker *walker
	rand   *rand.Rand
	out    *reply
	err    error
}

// compose builds the reply that the chosen section gives; a paused one says nothing yet. An error is a mistake of the script, such as a tool that is not offered.
func (s *Server) compose(c *call, ch *choice, number int, b *bound, paused bool) (*reply, error) {
	s.made[sumOf(c.raw)]++
	var seed [32]byte
	copy(seed[:], mac(s.secret, marshal([]any{sumOf(c.raw), s.made[sumOf(c.raw)]})))
	m := &composer{Server: s, c: c, ch: ch, number: number, walker: b.walker, rand: rand.New(rand.NewChaCha8(seed)), out: &reply{}}
	m.out.id = "msg_" + m.word(22)
	short(m.out.reply[:], []byte(m.out.id))
	st := ch.section.style
	switch {
	case paused:
		m.out.stop = "compaction"
		return m.out, nil
	case c.wantsCompaction() && (st.stop == "" || st.null):
		m.compaction()
	default:
		m.content()
	}
	m.stopReason(st)
	return m.out, m.err
}

// word returns n random letters and digits.
func (m *composer) word(n int) string {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = set[m.rand.IntN(len(set))]
	}
	return string(b)
}

// compaction answers a request for a summary.
func (m *composer) compaction() {
	m.out.side = true
	m.out.stop = "compaction"
	if m.ch.section.style.null {
		m.out.stop = "end_turn"
		m.out.blocks = []outBlock{{typ: "compaction", raw: []byte(`{"type":"compaction","content":null,"encrypted_content":null,"signature":null,"tool_changes":null}`)}}
		return
	}
	var text []string
	for _, a := range m.ch.section.acts {
		switch a.verb {
		case "say":
			text = append(text, m.ch.expand(a.text, m.c, m.number))
		case "summarize":
			text = append(text, m.c.summarize())
		}
	}
	if len(text) == 0 {
		text = append(text, m.c.summarize())
	}
	b := m.onDemand(m.c, m.walker, strings.Join(text, "\n"))
	b.tokens = m.c.model.count(b.text)
	m.out.blocks = []outBlock{b}
}

// content builds the blocks of an ordinary reply.
func (m *composer) content() {
	thinking := 0
	for _, a := range m.ch.section.acts {
		if a.verb == "think" || a.verb == "redacted" {
			thinking++
		}
	}
	index := 0
	for _, a := range m.ch.section.acts {
		if a.fault != nil {
			continue
		}
		for _, b := range m.blocks(a) {
			if b.typ == "thinking" || b.typ == "redacted_thinking" {
				b.signature = m.seal(b, index, thinking)
				index++
				m.walker.pass(thinkingID(b.signature))
			}
			b.finish()
			if b.typ == "text" || b.typ == "tool_use" || b.typ == "raw" {
				m.walker.step("assistant", bare(b.raw))
			}
			b.tokens = m.c.model.countBlock(mustBlock(b.raw))
			m.out.blocks = append(m.out.blocks, b)
		}
	}
}

// blocks are those of one action.
func (m *composer) blocks(a action) []outBlock {
	switch a.verb {
	case "say":
		return []outBlock{{typ: "text", text: m.ch.expand(a.text, m.c, m.number)}}
	case "echo":
		return []outBlock{{typ: "text", text: m.echo()}}
	case "summarize":
		m.out.side = true
		return []outBlock{{typ: "text", text: m.c.summarize()}}
	case "fill":
		return []outBlock{{typ: "text", text: m.fill(a.n)}}
	case "think":
		return []outBlock{{typ: "thinking", text: m.ch.expand(a.text, m.c, m.number)}}
	case "redacted":
		return []outBlock{{typ: "redacted_thinking"}}
	case "block":
		return []outBlock{{typ: "raw", raw: json.RawMessage(m.ch.expand(a.text, m.c, m.number))}}
	case "call":
		return m.call(a)
	}
	return nil
}

func (m *composer) call(a action) []outBlock {
	for _, t := range a.calls {
		if !m.c.hasTool(t.name) {
			continue
		}
		in, err := expandJSON(json.RawMessage(t.input), func(s string) string { return m.ch.expand(s, m.c, m.number) })
		if err != nil {
			m.err = fmt.Errorf("script line %d: %w", a.line, err)
			return nil
		}
		return []outBlock{{typ: "tool_use", id: "toolu_" + m.word(24), name: t.name, input: in}}
	}
	var names []string
	for _, t := range a.calls {
		names = append(names, t.name)
	}
	m.err = fmt.Errorf("script line %d calls %s, which the request does not offer", a.line, strings.Join(names, " or "))
	return nil
}

// expandJSON expands the strings of a JSON text, and keeps everything else byte for byte.
func expandJSON(raw json.RawMessage, expand func(string) string) (json.RawMessage, error) {
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			out = append(out, raw[i])
			continue
		}
		end := i + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		var s string
		if err := json.Unmarshal(raw[i:end+1], &s); err != nil {
			return nil, err
		}
		if x := expand(s); x != s {
			out = message.AppendString(out, x)
		} else {
			out = append(out, raw[i:end+1]...)
		}
		i = end
	}
	return message.CompactInput(out)
}

// echo repeats what the user, or a tool, said last.
func (m *composer) echo() string {
	if r := m.c.lastResults(); r != "" {
		return "result: " + excerpt(r, summaryExcerpt)
	}
	if t := strings.TrimSpace(m.c.lastText()); t != "" {
		return t
	}
	return "(nothing to echo)"
}

var fillWords = strings.Fields("the layer of silt is laid down in spring and covered by finer clay through the long winter so that each year leaves a pair which can be counted")

// fill writes a text of about n tokens of package tokens.
func (m *composer) fill(n int) string {
	var b strings.Builder
	for words := 0; words < n; words++ {
		if words > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(fillWords[m.rand.IntN(len(fillWords))])
	}
	return b.String()
}

// seal signs a reasoning block for where it stands.
func (m *composer) seal(b outBlock, index, total int) string {
	e := seal{kind: 't', account: m.c.account(), model: m.c.modelSum(), reply: m.out.reply, index: byte(index), total: byte(total)}
	p := m.walker.at[0]
	e.prev, e.state = p.prev, p.state
	short(e.content[:], []byte(b.text))
	return e.encode(m.secret)
}

func (m *composer) stopReason(st style) {
	r := m.out
	if st.stop != "" {
		r.stop, r.stopSeq = cutWord(st.stop)
		r.category, r.refused = st.category, st.refused
		return
	}
	if r.stop != "" {
		return
	}
	r.stop = "end_turn"
	for _, b := range r.blocks {
		if b.typ == "tool_use" {
			r.stop = "tool_use"
		}
	}
}

// mustBlock reads a block that was just written.
func mustBlock(raw json.RawMessage) message.Block {
	b, err := message.ParseBlock(raw)
	if err != nil {
		return message.Block{Raw: raw}
	}
	return b
}

func (r *reply) tokens() (all, thinking int) {
	for _, b := range r.blocks {
		all += b.tokens
		if b.typ == "thinking" || b.typ == "redacted_thinking" {
			thinking += b.tokens
		}
	}
	return all, thinking
}

// limit cuts the reply to n tokens and sets the stop reason when it had to. A call is left half written, reasoning goes altogether.
func (r *reply) limit(n int, reason string) {
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.tokens <= n {
			n -= b.tokens
			continue
		}
		keep := i
		switch {
		case b.typ == "text" && n > 0:
			b.text = strings.ToValidUTF8(b.text[:len(b.text)*n/b.tokens], "")
			if strings.TrimSpace(b.text) != "" {
				keep++
			}
		case b.typ == "tool_use" && n > 0:
			b.input, b.broken = b.input[:len(b.input)*n/b.tokens], true
			keep++
		}
		b.tokens = n
		b.finish()
		r.blocks = r.blocks[:keep]
		r.stop, r.stopSeq = reason, ""
		return
	}
}

// secretOf is the key under which everything is signed and drawn.
func secretOf(seed uint64, given string) []byte {
	if given != "" {
		return []byte(given)
	}
	s := sumOf([]byte("modelsim"), marshal(seed))
	return []byte(base64.StdEncoding.EncodeToString(s[:]))
}
