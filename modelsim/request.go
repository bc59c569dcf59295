package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"varve.dev/message"
)

// A call is one request of a client, taken apart.
type call struct {
	path   string // "/v1/messages", "/v1/messages/count_tokens"
	header http.Header
	key    string // the API key, which is the account
	betas  map[string]bool
	raw    []byte
	body   object
	model  *model // nil when it is not known
	tools  []tool
	system []block
	msgs   []msg

	prompt []piece // what the model sees: after edits, drops and compaction
	sent   []piece // what was sent, before all that
}

// A tool is one definition.
type tool struct {
	name     string
	raw      json.RawMessage
	o        object
	deferred bool // loaded later: no part of the prefix
}

// A msg is one message of a request.
type msg struct {
	role   string
	o      object
	blocks []block
}

// A block is one content block.
type block struct {
	message.Block
	o    object
	path string // messages.3.content.1
	role string
	bare []byte // without cache marks and insignificant white space
	sum  sum    // of role and bare
	mark string // the lifetime of its cache mark, "" when it has none

	dropped bool // reasoning that the model does not see
	cleared bool // a result, or a call's input, that the server's editing took out
}

func (b *block) isThinking() bool { return b.IsThinking() }

// isSummary reports whether b is a compaction that succeeded.
func (b *block) isSummary() bool { return b.Type == "compaction" && b.o.str("content") != "" }

// isOnDemand reports whether the summary was asked for by a request of its own: such a block carries a signature.
func (b *block) isOnDemand() bool { return b.Type == "compaction" && b.o.has("signature") }

// isResult reports whether b answers a call.
func (b *block) isResult() bool { return b.Type == "tool_result" }

// newCall takes the body apart. What cannot be read is left out: the rules say what is wrong with it.
func newCall(r *http.Request, body []byte, known *parsed) *call {
	c := &call{path: r.URL.Path, header: r.Header.Clone(), raw: body, betas: map[string]bool{}}
	c.key = r.Header.Get("X-Api-Key")
	if c.key == "" {
		c.key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	for _, line := range r.Header.Values("Anthropic-Beta") {
		for b := range strings.SplitSeq(line, ",") {
			if b = strings.TrimSpace(b); b != "" {
				c.betas[b] = true
			}
		}
	}
	c.body, _ = parseObject(body)
	tools, _ := asArray(c.body.get("tools"))
	for _, raw := range tools {
		o, _ := parseObject(raw)
		c.tools = append(c.tools, tool{name: o.str("name"), raw: raw, o: o, deferred: o.flag("defer_loading")})
	}
	c.system = contentBlocks(c.body.get("system"), "system", "system")
	msgs, _ := asArray(c.body.get("messages"))
	for i, raw := range msgs {
		c.msgs = append(c.msgs, known.message(i, raw))
	}
	return c
}

// parsed keeps messages that were taken apart: a request sends again nearly all that the one before it sent.
type parsed struct {
	mu   sync.Mutex
	list map[sum]msg
}

// message takes message i of a request apart. The blocks are the caller's to mark.
func (p *parsed) message(i int, raw json.RawMessage) msg {
	key := sumOf([]byte(itoa(i)), raw)
	p.mu.Lock()
	m, ok := p.list[key]
	p.mu.Unlock()
	if !ok {
		m.o, _ = parseObject(raw)
		m.role = m.o.str("role")
		m.blocks = contentBlocks(m.o.get("content"), m.role, fmt.Sprintf("messages.%d.content", i))
		p.mu.Lock()
		p.list[key] = m
		p.mu.Unlock()
	}
	m.blocks = slices.Clone(m.blocks)
	return m
}

// contentBlocks reads a content: a string is one text block.
func contentBlocks(raw json.RawMessage, role, at string) []block {
	if s, ok := asString(raw); ok {
		raw = marshalText(raw)
		return []block{{Block: message.Block{Type: "text", Raw: raw, Text: s}, o: object{{"type", json.RawMessage(`"text"`)}, {"text", raw}}, path: at, role: role, bare: raw, sum: sumOf([]byte(role), raw)}}
	}
	list, _ := asArray(raw)
	blocks := make([]block, 0, len(list))
	for i, raw := range list {
		b, err := message.ParseBlock(raw)
		if err != nil {
			b = message.Block{Raw: raw}
		}
		o, _ := parseObject(raw)
		plain := bare(raw)
		blocks = append(blocks, block{Block: b, o: o, path: fmt.Sprintf("%s.%d", at, i), role: role, bare: plain, sum: sumOf([]byte(role), plain), mark: markOf(o)})
	}
	return blocks
}

// marshalText writes the text block that a string stands for.
func marshalText(text json.RawMessage) json.RawMessage {
	return bare([]byte(`{"type":"text","text":` + string(text) + `}`))
}

// markOf returns the lifetime of the cache mark of a block or tool, or of the blocks in it.
func markOf(o object) string {
	if o.has("cache_control") {
		if ttl := o.obj("cache_control").str("ttl"); ttl != "" {
			return ttl
		}
		return "5m"
	}
	list, _ := asArray(o.get("content"))
	mark := ""
	for _, raw := range list {
		if sub, err := parseObject(raw); err == nil && sub.has("cache_control") {
			mark = markOf(sub)
		}
	}
	return mark
}

// each calls f for all blocks of the messages, in order.
func (c *call) each(f func(*block)) {
	for i := range c.msgs {
		for j := range c.msgs[i].blocks {
			f(&c.msgs[i].blocks[j])
		}
	}
}

// extras returns what a message carries beside role and content, nil when that is nothing.
func (m *msg) extras() []byte {
	var out []byte
	for _, f := range m.o {
		if f.name != "role" && f.name != "content" {
			out = append(append(append(out, f.name...), 0), bare(f.raw)...)
		}
	}
	return out
}

// text returns what can be read in a block.
func (b *block) text() string {
	switch b.Type {
	case "text", "thinking":
		return b.Text
	case "tool_use":
		return string(b.Input)
	case "compaction":
		return b.o.str("content")
	case "tool_result":
		var s []string
		for _, c := range b.Content {
			if c.Type == "text" {
				s = append(s, c.Text)
			}
		}
		return strings.Join(s, "\n")
	}
	return ""
}

// lastTurn returns the blocks of the last turn of the user.
func (c *call) lastTurn() []*block {
	end := len(c.msgs)
	for end > 0 && c.msgs[end-1].role != "user" {
		end--
	}
	start := end
	for start > 0 && c.msgs[start-1].role == "user" {
		start--
	}
	var out []*block
	for i := start; i < end; i++ {
		for j := range c.msgs[i].blocks {
			out = append(out, &c.msgs[i].blocks[j])
		}
	}
	return out
}

// lastText is the text of the last user turn, results aside; with none there, of the last turn that has one.
func (c *call) lastText() string {
	for end := len(c.msgs) - 1; end >= 0; end-- {
		if c.msgs[end].role != "user" {
			continue
		}
		var s []string
		for _, b := range c.msgs[end].blocks {
			if b.Type == "text" {
				s = append(s, b.Text)
			}
		}
		if len(s) > 0 {
			return strings.Join(s, "\n")
		}
	}
	return ""
}

// lastResults is the text of the tool results in the last user turn.
func (c *call) lastResults() string {
	var s []string
	for _, b := range c.lastTurn() {
		if b.isResult() {
			s = append(s, b.text())
		}
	}
	return strings.Join(s, "\n")
}

// allText is everything readable in the messages.
func (c *call) allText() string {
	var s strings.Builder
	c.each(func(b *block) {
		s.WriteString(b.text())
		s.WriteByte('\n')
	})
	return s.String()
}

// hasTool reports whether the client offers the tool.
func (c *call) hasTool(name string) bool {
	for _, t := range c.tools {
		if t.name == name {
			return true
		}
	}
	return false
}

// wantsCompaction reports whether the request asks for a summary of itself.
func (c *call) wantsCompaction() bool { return c.body.has("compaction") && !c.isCount() }

func (c *call) isCount() bool { return strings.HasSuffix(c.path, "/count_tokens") }
