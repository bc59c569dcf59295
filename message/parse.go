package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"
)

// ErrNotObject is the error of a text that is JSON but not the JSON object it should be.
var ErrNotObject = errors.New("message: not a JSON object")

// ParseMessage reads a message object: what a log line has under "message", or the body of a reply. Members it does not know are
// kept in Raw. Content may be a string or an array; an element that is no object becomes a block without a type, a single block
// without its array is taken as one. A member of the wrong kind counts as absent; of a repeated member the last counts, as in
// JSON.parse. The error is a *[SyntaxError] or [ErrNotObject].
//
// The message shares the memory of raw, but its texts do not.
func ParseMessage(raw []byte) (*Message, error) { return parseMessage(raw, false, nil) }

// ParseOwned is [ParseMessage] for bytes that nobody changes any more: texts in which nothing is escaped share their memory, too.
func ParseOwned(raw []byte) (*Message, error) { return parseMessage(raw, true, nil) }

func parseMessage(raw []byte, owned bool, mem *Decoder) (*Message, error) {
	p := parser{scanner: scanner{data: raw}, owned: owned, mem: mem}
	start := p.space(0)
	if err := p.wantObject(start); err != nil {
		return nil, err
	}
	m := p.mem.message()
	end, err := p.message(start, m)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ParseBlock reads one content block. It shares the memory of raw.
func ParseBlock(raw []byte) (Block, error) {
	p := parser{scanner: scanner{data: raw}}
	start := p.space(0)
	if err := p.wantObject(start); err != nil {
		return Block{}, err
	}
	b, end, err := p.block(start)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return Block{}, err
	}
	return b, nil
}

// ParseContent reads the value of a member "content": a string (one text block, and true), an array of blocks, one block without
// its array, or null (no blocks). The blocks share the memory of raw.
func ParseContent(raw []byte) (blocks []Block, wasString bool, err error) {
	p := parser{scanner: scanner{data: raw}}
	start := p.space(0)
	blocks, wasString, end, err := p.content(start, false)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return nil, false, err
	}
	return blocks, wasString, nil
}

// parser decodes while it scans: every byte is looked at once, and copied at most once.
type parser struct {
	scanner
	owned bool     // texts may share the memory of data
	mem   *Decoder // where what is made goes; nil: anywhere
}

// wantObject tells a text that is JSON but no object from one that is no JSON.
func (p *parser) wantObject(i int) error {
	if p.at(i) == '{' {
		return nil
	}
	end, err := p.value(i)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it is %s", ErrNotObject, kindOf(p.data[i]))
}

func (p *parser) message(start int, m *Message) (int, error) {
	cur, err := p.open(start, '{')
	if err != nil {
		return start, err
	}
	from := p.mem.origin()
	for cur.next() {
		at, name := cur.pos, cur.name()
		if string(name) == "content" {
			m.Content, m.StringContent, cur.pos, err = p.content(at, false)
			from.content = [2]int{at - start, cur.pos - start}
		} else {
			cur.pos, err = p.value(at)
		}
		if err != nil {
			return start, err
		}
		v := p.data[at:cur.pos:cur.pos]
		switch string(name) {
		case "role":
			m.Role = Role(known(v))
		case "id":
			m.ID = p.name(v)
		case "model":
			m.Model = p.name(v)
		case "stop_reason":
			m.StopReason = known(v)
		case "usage":
			if u, err := ParseUsage(v); err == nil {
				m.Usage = &u
			}
		}
	}
	if cur.err != nil {
		return start, cur.err
	}
	m.Raw = p.data[start:cur.pos:cur.pos]
	from.remember(m)
	return cur.pos, nil
}

// content reads the value of "content" at i: of a tool result or of a message.
func (p *parser) content(i int, ofResult bool) (blocks []Block, wasString bool, end int, err error) {
	switch p.at(i) {
	case '"':
		if end, err = p.str(i); err != nil {
			return nil, false, i, err
		}
		b := Block{Type: TypeText, Text: p.string(p.literal(i, end)), Raw: p.data[i:end:end], unicode: p.last&notUnicode == 0}
		if !ofResult {
			b.Raw = b.JSON()
		}
		return append(p.mem.blocks(), b), true, end, nil
	case '[':
		blocks, end, err = p.blocks(i)
		return blocks, false, end, err
	case 'n':
		end, err = p.value(i)
		return nil, false, end, err
	}
	b, end, err := p.element(i)
	if err != nil {
		return nil, false, i, err
	}
	return []Block{b}, false, end, nil
}

func (p *parser) blocks(i int) ([]Block, int, error) {
	cur, err := p.open(i, '[')
	if err != nil {
		return nil, i, err
	}
	blocks := p.mem.blocks()
	for cur.next() {
		var b Block
		if b, cur.pos, err = p.element(cur.pos); err != nil {
			return nil, i, err
		}
		blocks = append(blocks, b)
	}
	return blocks, cur.pos, cur.err
}

// element reads one element of a content array; what is not an object is kept as a block without a type.
func (p *parser) element(i int) (Block, int, error) {
	if p.at(i) == '{' {
		return p.block(i)
	}
	end, err := p.value(i)
	if err != nil {
		return Block{}, i, err
	}
	return Block{Raw: json.RawMessage(p.data[i:end:end])}, end, nil
}

// literal is a JSON value as it stands, and what its text is like if it is a string.
type literal struct {
	raw   []byte
	shape shape
}

// literal returns the value at [i, end), which has just been read.
func (p *parser) literal(i, end int) literal { return literal{p.data[i:end:end], p.last} }

// string decodes v; "" when it is no string.
func (p *parser) string(v literal) string {
	if len(v.raw) < 2 || v.raw[0] != '"' {
		return ""
	}
	in := v.raw[1 : len(v.raw)-1]
	switch {
	case v.shape&notUTF8 != 0:
		return unescapeAll(in, false)
	case v.shape&hasEscapes != 0:
		return p.mem.unescape(in)
	case p.owned && len(in) > 0:
		return unsafe.String(&in[0], len(in))
	}
	return string(in)
}

// name decodes v, a string that is short and may outlive data; "" when it is no string.
func (p *parser) name(v []byte) string {
	if p.mem == nil || len(v) < 2 || v[0] != '"' || p.last != 0 {
		s, _ := text(v)
		return s
	}
	return p.mem.copy(v[1 : len(v)-1])
}

// parts are the members of a block by name, undecoded: which of them matter is known only when the type has been seen, and the
// type may come last.
type parts struct {
	kind, isError, source, content  []byte
	text, thinking, signature, data literal
}

func (p *parser) block(i int) (Block, int, error) {
	var b Block
	var f parts
	before := p.all
	p.all = 0
	cur, err := p.open(i, '{')
	if err != nil {
		return b, i, err
	}
	for cur.next() {
		at, name := cur.pos, cur.name()
		if string(name) == "content" && (p.at(at) == '[' || p.at(at) == '"') {
			b.Content, b.StringContent, cur.pos, err = p.content(at, true)
		} else {
			cur.pos, err = p.value(at)
		}
		if err != nil {
			return b, i, err
		}
		v := p.literal(at, cur.pos)
		switch string(name) {
		case "type":
			f.kind = v.raw
		case "text":
			f.text = v
		case "thinking":
			f.thinking = v
		case "signature":
			f.signature = v
		case "data":
			f.data = v
		case "id":
			b.ID = p.name(v.raw)
		case "name":
			b.Name = p.name(v.raw)
		case "input":
			b.Input = json.RawMessage(v.raw)
		case "tool_use_id":
			b.ToolUseID = p.name(v.raw)
		case "is_error":
			f.isError = v.raw
		case "source":
			f.source = v.raw
		case "content":
			f.content = v.raw
		}
	}
	if cur.err != nil {
		return b, i, cur.err
	}
	b.Raw = json.RawMessage(p.data[i:cur.pos:cur.pos])
	b.unicode = p.all&notUnicode == 0
	p.all |= before
	p.decode(&b, &f)
	return b, cur.pos, nil
}

func (p *parser) decode(b *Block, f *parts) {
	b.Type = known(f.kind)
	switch b.Type {
	case TypeText:
		b.Text = p.string(f.text)
	case TypeThinking:
		b.Text = p.string(f.thinking)
		b.Signature = p.string(f.signature)
	case TypeRedactedThinking:
		b.Data = p.string(f.data)
	case TypeImage, TypeDocument:
		b.Source = parseSource(f.source)
	case TypeToolResult:
		b.IsError = string(f.isError) == "true"
		if len(f.content) > 0 && (f.content[0] == '[' || f.content[0] == '"') {
			return
		}
	}
	b.Content, b.StringContent = nil, false // another type's content has another shape, and stays in Raw
}

// parseSource reads the valid JSON value v.
func parseSource(v []byte) *Source {
	p := scanner{data: v}
	cur, err := p.open(0, '{')
	if err != nil {
		return nil
	}
	src := new(Source)
	for cur.next() {
		at, name := cur.pos, cur.name()
		if cur.pos, err = p.value(at); err != nil {
			return nil
		}
		m := v[at:cur.pos]
		switch string(name) {
		case "type":
			src.Type, _ = text(m)
		case "media_type":
			src.MediaType, _ = text(m)
		case "url":
			src.URL, _ = text(m)
		case "file_id":
			src.FileID, _ = text(m)
		case "data":
			src.Data = sourceData(m)
		}
	}
	return src
}

func sourceData(m []byte) []byte {
	if len(m) < 2 || m[0] != '"' {
		return nil
	}
	in := m[1 : len(m)-1 : len(m)-1]
	if bytes.IndexByte(in, '\\') >= 0 {
		return []byte(unquote(in))
	}
	return in
}

// known decodes a JSON string that is nearly always one of a few words, for which it does not allocate.
func known(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	switch w := v[1 : len(v)-1]; string(w) {
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "system":
		return "system"
	case TypeText:
		return TypeText
	case TypeThinking:
		return TypeThinking
	case TypeRedactedThinking:
		return TypeRedactedThinking
	case TypeToolUse:
		return TypeToolUse
	case TypeToolResult:
		return TypeToolResult
	case TypeImage:
		return TypeImage
	case TypeDocument:
		return TypeDocument
	case "message":
		return "message"
	case "end_turn":
		return "end_turn"
	default:
		return unquote(w)
	}
}
