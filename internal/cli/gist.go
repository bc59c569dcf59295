package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/internal/term"
	"varve.dev/message"
	"varve.dev/transcript"
)

// entryJSON is one entry as `--json` shows it. Record is the whole of it where
// its bytes are JSON.
type entryJSON struct {
	Line      int             `json:"line"`
	Offset    int64           `json:"offset"`
	Type      string          `json:"type"`
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parentUuid,omitempty"`
	Timestamp string          `json:"timestamp,omitempty"`
	Gist      string          `json:"gist"`
	Record    json.RawMessage `json:"record,omitempty"`
}

func entryToJSON(e *transcript.Entry) (entryJSON, error) {
	raw, err := e.Raw()
	if err != nil {
		return entryJSON{}, err
	}
	_, what := gist(e)
	j := entryJSON{Line: e.Line, Offset: e.Offset, Type: e.Type, UUID: e.UUID, Parent: e.ParentUUID, Timestamp: e.Timestamp, Gist: what}
	if json.Valid(raw) && utf8.Valid(raw) {
		j.Record = raw
	}
	return j, nil
}

// passing returns a copy of e that is dropped after use, body included: an entry of
// a log keeps what was decoded of it, and a log may be larger than memory.
func passing(e *transcript.Entry) *transcript.Entry {
	raw, err := e.Raw()
	if err != nil {
		return e
	}
	c, err := transcript.Parse(raw)
	if err != nil {
		return e
	}
	c.Line, c.Offset = e.Line, e.Offset
	return c
}

// entryMessage decodes the message of an entry without keeping it.
func entryMessage(e *transcript.Entry) *message.Message {
	raw, err := e.MessageRaw()
	if err != nil || raw == nil {
		return nil
	}
	m, err := message.ParseMessage(raw)
	if err != nil {
		return nil
	}
	return m
}

// gistMax bounds the one line that stands for an entry.
const gistMax = 300

func fitTo(s string, columns int) string { return term.Line(s, columns) }

// gist says in a word who speaks and in one line what an entry is about.
func gist(e *transcript.Entry) (who, what string) {
	e = passing(e)
	switch e.Type {
	case transcript.TypeUser:
		who, what = gistUser(e)
	case transcript.TypeAssistant:
		who, what = "assistant", gistBlocks(entryMessage(e))
	case transcript.TypeSystem:
		who, what = "system", gistSystem(e)
	case transcript.TypeAttachment:
		who, what = "attachment", attachmentKind(e)
	default:
		who, what = e.Type, ""
	}
	return who, fitTo(what, gistMax)
}

func gistUser(e *transcript.Entry) (who, what string) {
	m := entryMessage(e)
	if p, ok := e.PromptText(); ok {
		return "user", p
	}
	switch {
	case m == nil:
		return "user", "(no message)"
	case e.CompactSummary:
		return "summary", gistBlocks(m)
	case len(e.Results) > 0:
		return "result", gistBlocks(m)
	}
	text := gistBlocks(m)
	if cmd, ok := slashCommand(text); ok {
		return "command", cmd
	}
	if strings.HasPrefix(text, interruptMark) {
		return "interrupt", text
	}
	if e.Sidechain && !e.Meta {
		return "user", text // a sub-agent's prompt, which its parent wrote
	}
	return "injected", text
}

// interruptMark begins the text that the reference client leaves where a person
// stopped a turn.
const interruptMark = "[Request interrupted"

// slashCommand reads the echo that the reference client keeps of a command.
func slashCommand(text string) (string, bool) {
	_, rest, ok := strings.Cut(text, "<command-name>")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "</command-name>")
	if _, args, ok := strings.Cut(text, "<command-args>"); ok {
		args, _, _ = strings.Cut(args, "</command-args>")
		name += " " + args
	}
	return strings.TrimSpace(name), true
}

func gistBlocks(m *message.Message) string {
	if m == nil {
		return "(no message)"
	}
	var parts []string
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			parts = append(parts, b.Text)
		case message.TypeThinking:
			parts = append(parts, strings.TrimSpace("(thinking) "+b.Text))
		case message.TypeToolUse, message.TypeServerToolUse, message.TypeMCPToolUse:
			parts = append(parts, "▸ "+b.Name+" "+callGist(b.Input))
		case message.TypeToolResult:
			mark := ""
			if b.IsError {
				mark = "error: "
			}
			parts = append(parts, mark+resultText(b))
		default:
			parts = append(parts, "("+blockKind(b)+")")
		}
		if len(strings.Join(parts, " ")) > 4*gistMax {
			break
		}
	}
	if text := strings.Join(parts, "  "); strings.TrimSpace(text) != "" {
		return text
	}
	return "(empty)"
}

func blockKind(b message.Block) string {
	if b.Source != nil && b.Source.MediaType != "" {
		return b.Type + " " + b.Source.MediaType
	}
	if b.Type == "" {
		return "unknown block"
	}
	return b.Type
}

// resultText is what a tool result says, other blocks by their kind.
func resultText(b message.Block) string {
	var parts []string
	for _, c := range b.Content {
		if c.Type == message.TypeText {
			parts = append(parts, c.Text)
		} else {
			parts = append(parts, "("+blockKind(c)+")")
		}
	}
	return strings.Join(parts, "\n")
}

// telling are the inputs of well-known tools that say most, best first.
var telling = []string{"command", "file_path", "path", "notebook_path", "pattern", "query", "url", "description", "prompt", "skill", "question"}

// callGist is what a tool call is about.
func callGist(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return string(input)
	}
	for _, key := range telling {
		var s string
		if json.Unmarshal(in[key], &s) == nil && s != "" {
			return s
		}
	}
	if len(in) == 0 {
		return ""
	}
	return string(input)
}

func gistSystem(e *transcript.Entry) string {
	switch e.Subtype {
	case transcript.SubCompactBoundary:
		return boundaryText(e)
	case transcript.SubMicrocompact:
		if m, err := e.Microcompact(); err == nil {
			return fmt.Sprintf("%s cleared, %d tokens saved", count(len(m.ToolIDs), "result"), m.TokensSaved)
		}
	}
	var content string
	if raw, ok := e.Field("content"); ok && json.Unmarshal(raw, &content) == nil && content != "" {
		return e.Subtype + ": " + content
	}
	return e.Subtype
}

func boundaryText(e *transcript.Entry) string {
	b, err := e.Boundary()
	if err != nil {
		return "compacted (its details cannot be read)"
	}
	text := "compacted"
	if b.Trigger != "" {
		text += " (" + b.Trigger + ")"
	}
	switch {
	case b.PreTokens > 0 && b.PostTokens > 0:
		text += fmt.Sprintf(": %d → %d tokens", b.PreTokens, b.PostTokens)
	case b.PreTokens > 0:
		text += fmt.Sprintf(": %d tokens before", b.PreTokens)
	}
	return text
}

func attachmentKind(e *transcript.Entry) string {
	var at struct {
		Type        string `json:"type"`
		Filename    string `json:"filename"`
		DisplayPath string `json:"displayPath"`
	}
	raw, ok := e.Field("attachment")
	if !ok || json.Unmarshal(raw, &at) != nil {
		return ""
	}
	for _, name := range []string{at.DisplayPath, at.Filename} {
		if name != "" {
			return at.Type + " " + name
		}
	}
	return at.Type
}
