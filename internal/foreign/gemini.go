package foreign

import (
	"encoding/json"
	"fmt"

	"varve.dev/message"
)

// gemini reads sessions of the Gemini CLI: one document.
type gemini struct{ b *builder }

func (g *gemini) member(key string, value json.RawMessage) {
	s := g.b.s
	into := map[string]*string{"sessionId": &s.ID, "summary": &s.Title, "cwd": &s.CWD}[key]
	switch {
	case into != nil:
		if json.Unmarshal(value, into) != nil {
			g.b.fault(key, "not a string")
		}
	case key == "startTime":
		s.Started = when(value)
	case key == "directories":
		var dirs []string
		if json.Unmarshal(value, &dirs) == nil && len(dirs) > 0 && s.CWD == "" {
			s.CWD = dirs[0]
		}
	}
}

type geminiMessage struct {
	ID        string
	Timestamp json.RawMessage
	Type      string
	Content   json.RawMessage
	Model     string
	Thoughts  json.RawMessage
	Tokens    *struct {
		Input, Output, Cached, Thoughts json.Number
	}
	ToolCalls []json.RawMessage
}

type geminiCall struct {
	ID, Name, Status string
	Args, Result     json.RawMessage
	Timestamp        json.RawMessage
	ResultDisplay    json.RawMessage
}

type geminiPart struct {
	Text             string
	Thought          bool
	InlineData       *struct{ MimeType, Data string }
	FunctionResponse *struct{ Response json.RawMessage }
}

func (g *gemini) message(i int, value json.RawMessage) {
	g.record(fmt.Sprintf("messages[%d]", i), value)
}

// record adds a message; path names it in a document.
func (g *gemini) record(path string, value json.RawMessage) {
	var m geminiMessage
	if err := json.Unmarshal(value, &m); err != nil {
		g.b.fault(path, err.Error())
	}
	g.b.saw(when(m.Timestamp))
	key := m.ID
	if key == "" {
		key = path
	}
	switch m.Type {
	case "user":
		blocks := g.parts(path+".content", m.Content)
		if g.b.s.Title == "" {
			g.b.s.Title = title(blocks)
		}
		g.b.user(key, false, blocks...)
	case "gemini":
		g.reply(path, key, &m)
	case "":
		g.b.fault(path, "a message without a type")
	case "info", "warning", "error":
		for _, b := range g.parts(path+".content", m.Content) {
			g.b.notice(key, b.Text)
		}
	default:
		g.b.skip(m.Type)
	}
}

func (g *gemini) reply(path, key string, m *geminiMessage) {
	g.b.flush()
	r := g.b.open(key)
	r.model, r.provider = m.Model, "google"
	if u := m.Tokens; u != nil {
		// Google's input includes what was cached, its output leaves out the thoughts;
		// the log's figures do neither.
		cached := count(u.Cached)
		r.usage = &message.Usage{InputTokens: max(0, count(u.Input)-cached), CacheReadTokens: cached, OutputTokens: count(u.Output) + count(u.Thoughts)}
	}
	if len(m.Thoughts) > 2 { // more than []
		r.opaque = append(r.opaque, m.Thoughts)
		g.b.skip("thoughts")
	}
	r.blocks = append(r.blocks, g.parts(path+".content", m.Content)...)
	for j, raw := range m.ToolCalls {
		at := fmt.Sprintf("%s.toolCalls[%d]", path, j)
		var c geminiCall
		if err := json.Unmarshal(raw, &c); err != nil {
			g.b.fault(at, err.Error())
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("%s %d", key, j)
		}
		g.b.call(r, at, c.ID, c.Name, c.Args)
		if len(c.Result) == 0 || string(c.Result) == "null" {
			continue
		}
		g.b.saw(when(c.Timestamp))
		failed, blocks := g.result(at+".result", c.Result)
		g.b.result(key+" result "+c.ID, c.ID, failed || c.Status == "error" || c.Status == "cancelled", blocks...)
	}
	g.b.flush()
}

// parts reads content: a string, a part, or an array of them.
func (g *gemini) parts(path string, raw json.RawMessage) (out []message.Block) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return texts(s)
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			g.b.fault(path, err.Error())
			return nil
		}
	}
	for _, raw := range list {
		var p geminiPart
		if json.Unmarshal(raw, &s) == nil {
			out = append(out, texts(s)...)
			continue
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			g.b.fault(path, err.Error())
			continue
		}
		switch {
		case p.Thought:
			g.b.skip("thoughts")
		case p.InlineData != nil:
			if b, ok := media(p.InlineData.MimeType, p.InlineData.Data); ok {
				out = append(out, b)
			} else {
				g.b.skip("inlineData that no model takes")
			}
		default:
			out = append(out, texts(p.Text)...)
		}
	}
	return out
}

// result reads what a tool returned: parts, one of them the function's response.
func (g *gemini) result(path string, raw json.RawMessage) (failed bool, out []message.Block) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return false, g.parts(path, raw)
	}
	for _, raw := range list {
		var p geminiPart
		if json.Unmarshal(raw, &p) != nil || p.FunctionResponse == nil {
			out = append(out, g.parts(path, raw)...)
			continue
		}
		var r struct{ Output, Error *string }
		err := json.Unmarshal(p.FunctionResponse.Response, &r)
		switch {
		case err == nil && r.Error != nil:
			failed = true
			out = append(out, texts(*r.Error)...)
		case err == nil && r.Output != nil:
			out = append(out, texts(*r.Output)...)
		default:
			out = append(out, texts(string(p.FunctionResponse.Response))...)
		}
	}
	return failed, out
}
