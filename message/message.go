package message

import (
	"bytes"
	"encoding/json"
)

// A Role says who speaks.
type Role string

// The roles of the Messages API. A system message inside the conversation is accepted by some models only.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// A Message is one message of a conversation. A log holds one reply as several messages with the same ID, one block each; see
// [Rounds].
//
// A Message is a value; copies share Content's array and Raw.
type Message struct {
	Role          Role
	ID            string // of an assistant message: the reply it belongs to; "" otherwise
	Model         string // of an assistant message
	Content       []Block
	StringContent bool // Content was, and is written as, a JSON string
	StopReason    string
	Usage         *Usage // of an assistant message; nil when not told
	Raw           []byte // the exact bytes of the message object when read or received; nil when built here

	from *origin // what Raw was parsed into, so that JSON can tell a changed message
}

// origin remembers what a message looked like when its Raw was parsed.
type origin struct {
	content  [2]int // of Raw: the value of "content"; zero when there is none
	meta     meta
	isString bool
	blocks   []json.RawMessage
	inline   [2]json.RawMessage // the first of blocks, to save an allocation
}

type meta struct {
	role            Role
	id, model, stop string
	usage           *Usage
}

func (m *Message) meta() meta { return meta{m.Role, m.ID, m.Model, m.StopReason, m.Usage} }

func (o *origin) remember(m *Message) {
	o.meta, o.isString = m.meta(), m.StringContent
	o.blocks = o.inline[:0]
	for _, b := range m.Content {
		o.blocks = append(o.blocks, b.Raw)
	}
	m.from = o
}

// sameContent compares blocks by their bytes. Blocks that were not touched share memory with Raw, which makes the comparison free.
func (o *origin) sameContent(m *Message) bool {
	if len(o.blocks) != len(m.Content) || o.isString != m.StringContent {
		return false
	}
	for i, b := range m.Content {
		if !bytes.Equal(b.Raw, o.blocks[i]) {
			return false
		}
	}
	return true
}

// User returns a prompt: a user message whose content is the string s.
func User(s string) Message {
	return Message{Role: RoleUser, Content: []Block{Text(s)}, StringContent: true}
}

// UserBlocks returns a user message of blocks: tool results first, then what the user adds.
func UserBlocks(blocks ...Block) Message { return Message{Role: RoleUser, Content: blocks} }

// Assistant returns an assistant message of blocks. Set ID and Model when they are known.
func Assistant(blocks ...Block) Message { return Message{Role: RoleAssistant, Content: blocks} }

// System returns a system message inside the conversation. Text from a repository, a tool or a foreign log never goes there.
func System(s string) Message {
	return Message{Role: RoleSystem, Content: []Block{Text(s)}}
}

// WithContent returns m with other content; the members of Raw that are not content are kept.
func (m Message) WithContent(blocks ...Block) Message {
	m.Content, m.StringContent = blocks, false
	return m
}

// JSON returns the message as a log keeps it. For a message that was read or received and not changed these are exactly its Raw
// bytes; when its Content was changed since, Raw with only that member replaced; when another field was changed, or nothing was
// ever read, a new object in the reference's key order. The result may share memory with Raw.
func (m Message) JSON() []byte {
	if m.Raw != nil {
		o := m.from
		if o == nil || o.meta == m.meta() && o.sameContent(&m) {
			return m.Raw
		}
		if o.meta == m.meta() && o.content[1] > 0 {
			dst := append(make([]byte, 0, len(m.Raw)+m.size()), m.Raw[:o.content[0]]...)
			return append(m.appendContent(dst), m.Raw[o.content[1]:]...)
		}
	}
	dst := make([]byte, 0, m.size())
	if m.Role != RoleAssistant || m.ID == "" && m.Model == "" && m.StopReason == "" && m.Usage == nil {
		dst = AppendString(append(dst, `{"role":`...), string(m.Role))
		dst = append(dst, `,"content":`...)
		return append(m.appendContent(dst), '}')
	}
	dst = AppendString(append(dst, `{"model":`...), m.Model)
	dst = AppendString(append(dst, `,"id":`...), m.ID)
	dst = append(dst, `,"type":"message","role":"assistant","content":`...)
	dst = append(m.appendContent(dst), `,"stop_reason":`...)
	if m.StopReason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = AppendString(dst, m.StopReason)
	}
	dst = append(dst, `,"stop_sequence":null`...)
	if m.Usage != nil {
		dst = m.Usage.AppendJSON(append(dst, `,"usage":`...))
	}
	return append(dst, '}')
}

// AppendRequest appends the message as a request carries it: role and content blocks only, the content always an array, the blocks'
// bytes as they are but for text that is not Unicode ([FixUnicode]), which would make the whole request invalid.
func (m Message) AppendRequest(dst []byte) []byte {
	dst = AppendString(append(dst, `{"role":`...), string(m.Role))
	dst = append(dst, `,"content":[`...)
	for i, b := range m.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		if b.IsUnicode() {
			dst = append(dst, b.JSON()...)
		} else {
			dst = append(dst, FixUnicode(b.JSON())...)
		}
	}
	return append(dst, "]}"...)
}

func (m *Message) size() int {
	n := 256
	for _, b := range m.Content {
		n += len(b.Raw) + 1
	}
	return n
}

func (m *Message) appendContent(dst []byte) []byte {
	if m.StringContent && len(m.Content) == 1 && m.Content[0].Type == TypeText {
		return AppendString(dst, m.Content[0].Text)
	}
	return AppendBlocks(dst, m.Content)
}
