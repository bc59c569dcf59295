package message

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// The block types that have decoded fields or a rule in [Check]. A block of any other type is kept and sent as its Raw says.
const (
	TypeText             = "text"
	TypeThinking         = "thinking"
	TypeRedactedThinking = "redacted_thinking"
	TypeToolUse          = "tool_use"
	TypeToolResult       = "tool_result"
	TypeImage            = "image"
	TypeDocument         = "document"
	TypeServerToolUse    = "server_tool_use"
	TypeMCPToolUse       = "mcp_tool_use"
	TypeCompaction       = "compaction" // a server's summary of what came before; opaque
)

// A Block is one piece of a message's content. Raw is what is written and sent; the other fields are Raw decoded, for reading.
// Change a block by building a new one.
type Block struct {
	Type string // the member "type"; "" when the block has none or is not an object

	// Raw is the exact bytes read, received or built. It is always set. Of the text block that stands for a tool result's string it is
	// that string, as the result has it; [Block.JSON] gives such a block as an object.
	Raw json.RawMessage

	Text      string // text: its text. thinking: the reasoning, may be empty beside a signature
	Signature string // thinking
	Data      string // redacted_thinking

	ID    string          // tool_use, server_tool_use and whatever else has an "id"
	Name  string          // the tool's name
	Input json.RawMessage // the call's input as it stands in Raw; nil when there is none

	ToolUseID     string  // tool_result and the server tools' results: the call that is answered
	Content       []Block // tool_result: nil when absent; a string is one text block
	StringContent bool    // tool_result: the content was a JSON string
	IsError       bool    // tool_result

	unicode bool // Raw was seen to hold nothing but Unicode

	Source *Source // image, document
}

// IsUnicode reports whether all of b can be sent: see [CleanUnicode]. It costs nothing for a block that was parsed.
func (b Block) IsUnicode() bool { return b.unicode || CleanUnicode(b.Raw) }

// JSON returns b as an element of a content array: Raw, or the text block for which a string stands there.
func (b Block) JSON() json.RawMessage {
	if !b.isString() {
		return b.Raw
	}
	raw := make([]byte, 0, len(textHead)+len(b.Raw)+1)
	return append(append(append(raw, textHead...), b.Raw...), '}')
}

// isString reports whether b is the text of a string that stands where an array of blocks could.
func (b Block) isString() bool { return b.Type == TypeText && len(b.Raw) > 0 && b.Raw[0] == '"' }

// A Source says where the bytes of an image or a document are.
type Source struct {
	Type      string // "base64", "url", "file", "text", "content"
	MediaType string // "image/png", "application/pdf", …; base64 and text only
	Data      []byte // the member "data" as it stands: base64 text, or plain text for "text". Shares the memory of Raw.
	URL       string
	FileID    string
}

// Decode returns the bytes of a base64 source.
func (s *Source) Decode() ([]byte, error) {
	if s.Type != "base64" {
		return nil, fmt.Errorf("message: a source of type %q holds no bytes", s.Type)
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(s.Data)))
	n, err := base64.StdEncoding.Decode(out, s.Data)
	if err != nil {
		return nil, fmt.Errorf("message: base64 source: %w", err)
	}
	return out[:n], nil
}

// IsThinking reports whether b is reasoning, readable or not: a block that goes back byte for byte or not at all.
func (b Block) IsThinking() bool { return b.Type == TypeThinking || b.Type == TypeRedactedThinking }

// IsServerCall reports whether b is a call that the provider itself answers, inside assistant content.
func (b Block) IsServerCall() bool { return b.Type == TypeServerToolUse || b.Type == TypeMCPToolUse }

// IsServerResult reports whether b is the provider's answer to such a call: web_search_tool_result, mcp_tool_result,
// advisor_tool_result, and whatever else ends in _tool_result.
func (b Block) IsServerResult() bool {
	const end = "_tool_result"
	return len(b.Type) > len(end) && b.Type[len(b.Type)-len(end):] == end
}

// Text returns a text block.
func Text(s string) Block {
	raw := make([]byte, 0, len(textHead)+len(s)+8)
	raw = append(raw, textHead...)
	raw = AppendString(raw, s)
	raw = append(raw, '}')
	return Block{Type: TypeText, Text: s, Raw: raw, unicode: true}
}

const textHead = `{"type":"text","text":`

// Thinking returns a reasoning block, for adapters that receive text and signature apart.
func Thinking(s, signature string) Block {
	raw := AppendString([]byte(`{"type":"thinking","thinking":`), s)
	raw = AppendString(append(raw, `,"signature":`...), signature)
	return Block{Type: TypeThinking, Text: s, Signature: signature, Raw: append(raw, '}')}
}

// RedactedThinking returns a reasoning block that only the provider can read.
func RedactedThinking(data string) Block {
	raw := AppendString([]byte(`{"type":"redacted_thinking","data":`), data)
	return Block{Type: TypeRedactedThinking, Data: data, Raw: append(raw, '}')}
}

// ToolUse returns a tool call as it was received from a model: input goes through [CompactInput]. The error is an *[InputError]; the
// block is then still valid, with the input {}, so that the call can be recorded and answered with an error result.
func ToolUse(id, name string, input json.RawMessage) (Block, error) {
	in, err := CompactInput(input)
	if err != nil {
		in, err = json.RawMessage("{}"), &InputError{ToolUseID: id, Input: input, Err: err}
	}
	raw := make([]byte, 0, len(id)+len(name)+len(in)+64)
	raw = AppendString(append(raw, `{"type":"tool_use","id":`...), id)
	raw = AppendString(append(raw, `,"name":`...), name)
	raw = append(raw, `,"input":`...)
	at := len(raw)
	raw = append(append(raw, in...), '}')
	return Block{Type: TypeToolUse, ID: id, Name: name, Input: json.RawMessage(raw[at : len(raw)-1 : len(raw)-1]), Raw: raw}, err
}

// ToolResult returns the answer to the call id, in the reference's key order. A single plain text becomes a string, as the
// reference writes it; no content at all leaves the member out, which the API accepts.
func ToolResult(id string, isError bool, content ...Block) Block {
	b := Block{Type: TypeToolResult, ToolUseID: id, IsError: isError, Content: content}
	raw := AppendString([]byte(`{"tool_use_id":`), id)
	raw = append(raw, `,"type":"tool_result"`...)
	switch {
	case len(content) == 1 && content[0].isPlainText():
		b.StringContent = true
		raw = AppendString(append(raw, `,"content":`...), content[0].Text)
	case len(content) > 0:
		raw = AppendBlocks(append(raw, `,"content":`...), content)
	}
	if isError {
		raw = append(raw, `,"is_error":true`...)
	}
	b.Raw = append(raw, '}')
	return b
}

// isPlainText reports whether b is a text block with no members but its text (citations, cache markers), so that a string can
// stand for it.
func (b Block) isPlainText() bool {
	if b.Type != TypeText || b.isString() {
		return b.isString()
	}
	s := scanner{data: b.Raw}
	cur, err := s.open(0, '{')
	if err != nil {
		return false
	}
	for n := 0; cur.next(); n++ {
		if n == 2 {
			return false
		}
		if cur.pos, err = s.value(cur.pos); err != nil {
			return false
		}
	}
	return cur.err == nil
}

// Image returns an image block that carries data, in base64.
func Image(mediaType string, data []byte) Block { return media(TypeImage, mediaType, data) }

// Document returns a document block (application/pdf) that carries data, in base64.
func Document(mediaType string, data []byte) Block { return media(TypeDocument, mediaType, data) }

func media(kind, mediaType string, data []byte) Block {
	raw := make([]byte, 0, base64.StdEncoding.EncodedLen(len(data))+len(mediaType)+96)
	raw = append(raw, `{"type":"`...)
	raw = append(raw, kind...)
	raw = AppendString(append(raw, `","source":{"type":"base64","media_type":`...), mediaType)
	raw = append(raw, `,"data":"`...)
	at := len(raw)
	raw = base64.StdEncoding.AppendEncode(raw, data)
	src := &Source{Type: "base64", MediaType: mediaType, Data: raw[at:len(raw):len(raw)]}
	return Block{Type: kind, Raw: append(raw, `"}}`...), Source: src}
}

// AppendBlocks appends blocks as a JSON array of their bytes, as [Block.JSON] has them.
func AppendBlocks(dst []byte, blocks []Block) []byte {
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		if b.isString() {
			dst = append(append(append(dst, textHead...), b.Raw...), '}')
			continue
		}
		dst = append(dst, b.Raw...)
	}
	return append(dst, ']')
}
