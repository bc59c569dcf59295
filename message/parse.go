package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNotObject is the error of a text that is JSON but not the JSON object it should be.
var ErrNotObject = errors.New("message: not a JSON object")

// ParseMessage reads a message object: what a log line has under "message", or the body of a reply. Members it does not know are
// kept in Raw. Content may be a string or an array; an element that is no object becomes a block without a type, a single block
// without its array is taken as one. A member of the wrong kind counts as absent; of a repeated member the last counts, as in
// JSON.parse. The error is a *[SyntaxError] or [ErrNotObject].
//
// The message shares the memory of raw.
func ParseMessage(raw []byte) (*Message, error) {
	p := parser{scanner{data: raw}}
	start := p.space(0)
	if err := p.wantObject(start); err != nil {
		return nil, err
	}
	m := new(Message)
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
	p := parser{scanner{data: raw}}
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
	p := parser{scanner{data: raw}}
	start := p.space(0)
	blocks, wasString, end, err := p.content(start)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return nil, false, err
	}
	return blocks, wasString, nil
}

// parser decodes while it scans: every byte is looked at once, and copied at most once.
type parser struct{ scanner }

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
	from := new(origin)
	for cur.next() {
		at, name := cur.pos, cur.name()
		if string(name) == "content" {
			m.Content, m.StringContent, cur.pos, err = p.content(at)
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
			m.ID, _ = text(v)
		case "model":
			m.Model, _ = text(v)
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

// content reads the value of "content" at i.
func (p *parser) content(i int) (blocks []Block, wasString bool, end int, err error) {
	switch p.at(i) {
	case '"':
		if end, err = p.str(i); err != nil {
			return nil, false, i, err
		}
		return []Block{stringBlock(p.data[i:end])}, true, end, nil
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
	blocks := make([]Block, 0, 1) // most messages of a log hold exactly one (24,490 of 24,507 assistant lines)
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

// parts are the members of a block by name, undecoded: which of them matter is known only when the type has been seen, and the
// type may come last.
type parts struct {
	kind, text, thinking, signature, data, isError, source, content []byte
}

func (p *parser) block(i int) (Block, int, error) {
	var b Block
	var f parts
	cur, err := p.open(i, '{')
	if err != nil {
		return b, i, err
	}
	for cur.next() {
		at, name := cur.pos, cur.name()
		if string(name) == "content" && (p.at(at) == '[' || p.at(at) == '"') {
			b.Content, b.StringContent, cur.pos, err = p.content(at)
		} else {
			cur.pos, err = p.value(at)
		}
		if err != nil {
			return b, i, err
		}
		v := p.data[at:cur.pos:cur.pos]
		switch string(name) {
		case "type":
			f.kind = v
		case "text":
			f.text = v
		case "thinking":
			f.thinking = v
		case "signature":
			f.signature = v
		case "data":
			f.data = v
		case "id":
			b.ID, _ = text(v)
		case "name":
			b.Name, _ = text(v)
		case "input":
			b.Input = json.RawMessage(v)
		case "tool_use_id":
			b.ToolUseID, _ = text(v)
		case "is_error":
			f.isError = v
		case "source":
			f.source = v
		case "content":
			f.content = v
		}
	}
	if cur.err != nil {
		return b, i, cur.err
	}
	b.Raw = json.RawMessage(p.data[i:cur.pos:cur.pos])
	b.decode(&f)
	return b, cur.pos, nil
}

func (b *Block) decode(f *parts) {
	b.Type = known(f.kind)
	switch b.Type {
	case TypeText:
		b.Text, _ = text(f.text)
	case TypeThinking:
		b.Text, _ = text(f.thinking)
		b.Signature, _ = text(f.signature)
	case TypeRedactedThinking:
		b.Data, _ = text(f.data)
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

// stringBlock is the text block that the JSON string lit stands for.
func stringBlock(lit []byte) Block {
	raw := make([]byte, 0, len(textHead)+len(lit)+1)
	raw = append(append(append(raw, textHead...), lit...), '}')
	return Block{Type: TypeText, Text: unquote(lit[1 : len(lit)-1]), Raw: raw}
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
