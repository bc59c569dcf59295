package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// aboutKeys are the members of a tool's input that say best what a call is
// about, the best first.
var aboutKeys = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "subject", "skill", "prompt", "taskId", "task_id"}

// summaryWidth is the longest text, in bytes, that is shown on a line with its
// name.
const summaryWidth = 120

// call shows a tool call with its result, where the section has it.
func (b *builder) call(e *transcript.Entry, c message.Block) block {
	out := block{Kind: "call", Title: b.red.text(c.Name)}
	out.Fields, out.Summary = b.input(c.Input)
	from := b.results[c.ID]
	if from == nil || b.done[resultKey{from, c.ID}] {
		out.Note = "no result"
		return out
	}
	m, err := from.Message()
	if err != nil {
		return out // the entry itself is shown as unreadable at its place
	}
	b.red.at(from)
	defer b.red.at(e)
	for _, r := range m.Content {
		if r.Type == message.TypeToolResult && r.ToolUseID == c.ID {
			out.Results = append(out.Results, b.result(r)...)
			b.done[resultKey{from, c.ID}] = true
			break
		}
	}
	for _, r := range out.Results {
		out.Error = out.Error || r.Error
	}
	if id := agentOf(from, c.Name); id != "" {
		out.Note = "sub-agent " + b.red.text(id)
	}
	return out
}

// ResultLabel says what stands above a result of a call: nothing where it is
// plain what it is.
func (b block) ResultLabel(i int) string {
	switch r := b.Results[i]; {
	case i > 0:
		return ""
	case r.Error:
		return "Error"
	case r.Kind == "note":
		return ""
	}
	for _, f := range b.Fields {
		if f.Long {
			return "Result"
		}
	}
	return ""
}

// agentOf returns the id of the sub-agent that a call started.
func agentOf(result *transcript.Entry, tool string) string {
	if tool != "Task" && tool != "Agent" {
		return ""
	}
	raw, ok := result.Field("toolUseResult")
	if !ok {
		return ""
	}
	var r struct{ AgentID string }
	if json.Unmarshal(raw, &r) != nil {
		return ""
	}
	return r.AgentID
}

// input splits the input of a call into fields, in the order of its members, and
// says what it is about.
func (b *builder) input(raw json.RawMessage) ([]field, string) {
	clean := b.red.json(withoutMedia(raw))
	keys, values, ok := members(clean)
	if !ok {
		if len(clean) == 0 {
			return nil, ""
		}
		return []field{{Name: "input", Value: b.red.text(indent(clean)), Long: true}}, ""
	}
	var fields []field
	for i, k := range keys {
		var s string
		if json.Unmarshal(values[i], &s) != nil {
			s = indent(values[i])
		}
		f := field{Name: b.red.text(k), Value: b.red.text(s)}
		f.Long = strings.Contains(f.Value, "\n") || len(f.Value) > summaryWidth
		switch k {
		case "old_string":
			f.Mark = "removed"
		case "new_string":
			f.Mark = "added"
		case "description":
			f.Name = "" // it speaks for itself
		}
		f.Long = f.Long || f.Mark != ""
		fields = append(fields, f)
	}
	rest, about := summarize(keys, fields)
	old := slices.IndexFunc(rest, func(f field) bool { return f.Mark == "removed" })
	if old > 0 && rest[old-1].Mark == "added" { // the old before the new, as in a diff
		rest[old-1], rest[old] = rest[old], rest[old-1]
	}
	return rest, about
}

// summarize takes the field that a call is about out of the list and returns it
// as the summary. One that is too long for it stays, first and without a name,
// and the description is the summary.
func summarize(keys []string, fields []field) ([]field, string) {
	for _, about := range aboutKeys {
		i := slices.Index(keys, about)
		if i < 0 || fields[i].Value == "" {
			continue
		}
		f := fields[i]
		fields = slices.Delete(fields, i, i+1)
		if !f.Long {
			return fields, f.Value
		}
		f.Name = ""
		summary := ""
		if i := slices.IndexFunc(fields, func(f field) bool { return f.Name == "" && !f.Long }); i >= 0 {
			summary = fields[i].Value
			fields = slices.Delete(fields, i, i+1)
		}
		return append([]field{f}, fields...), summary
	}
	return fields, ""
}

// members splits a JSON object, in the order of its members.
func members(raw []byte) (keys []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		t, err := d.Token()
		k, isKey := t.(string)
		var v json.RawMessage
		if err != nil || !isKey || d.Decode(&v) != nil {
			return nil, nil, false
		}
		keys, values = append(keys, k), append(values, v)
	}
	return keys, values, true
}

// result shows a tool result.
func (b *builder) result(c message.Block) []block {
	var out []block
	for _, part := range c.Content {
		switch part.Type {
		case message.TypeText:
			if !message.IsBlank(part.Text) {
				out = append(out, block{Kind: "result", Text: b.red.text(part.Text), Note: lines(part.Text)})
			}
		case message.TypeImage, message.TypeDocument:
			out = append(out, b.media(part))
		default:
			out = append(out, b.data(part.Type, part.Raw))
		}
	}
	if len(out) == 0 {
		out = []block{{Kind: "note", Text: "The result is empty"}}
	}
	for i := range out {
		out[i].Error = c.IsError
	}
	return out
}

// imageTypes are the types of images that a page may hold: those that cannot
// hold scripts.
var imageTypes = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true}

// media shows an image or a document: its type and size, or the image itself
// where it is to be embedded.
func (b *builder) media(c message.Block) block {
	what := "Image"
	if c.Type == message.TypeDocument {
		what = "Document"
	}
	s := c.Source
	if s == nil {
		return block{Kind: "note", Text: what + " without a source"}
	}
	switch s.Type {
	case "url":
		return block{Kind: "note", Text: what + " at " + b.red.text(s.URL)}
	case "file":
		return block{Kind: "note", Text: what + " in the provider's store, " + b.red.text(s.FileID)}
	case "base64":
	default:
		return block{Kind: "result", Text: b.red.text(string(s.Data))}
	}
	out := block{Kind: "note", Text: what + ", " + b.red.text(s.MediaType) + ", " + size(base64.StdEncoding.DecodedLen(len(s.Data)))}
	if !b.opt.EmbedImages || !imageTypes[s.MediaType] {
		return out
	}
	data, err := s.Decode()
	if err != nil {
		out.Text += ", which cannot be decoded"
		return out
	}
	out.Kind = "image"
	// Safe: the type is one of four and the rest was encoded here.
	out.Image = template.URL("data:" + s.MediaType + ";base64," + base64.StdEncoding.EncodeToString(data))
	return out
}
