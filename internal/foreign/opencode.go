package foreign

import (
	"encoding/json"
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// opencode reads what `opencode export` prints: one document with the messages and
// their parts.
type opencode struct {
	b      *builder
	spans  []span // entries by message, for compactions that keep a tail
	marked *struct {
		auto bool
		tail string
	} // a compaction was asked for; its summary is the next reply that is one
}

type span struct {
	id      string
	entries []string
}

func (o *opencode) member(key string, value json.RawMessage) {
	if key != "info" {
		return
	}
	var info struct {
		ID, Directory, Title, Version string
		ParentID                      string
		Time                          struct{ Created json.RawMessage }
	}
	if err := json.Unmarshal(value, &info); err != nil {
		o.b.fault("info", err.Error())
	}
	s := o.b.s
	s.ID, s.CWD, s.Version, s.Parent, s.Started = info.ID, info.Directory, info.Version, info.ParentID, when(info.Time.Created)
	if !strings.HasPrefix(info.Title, "New session - ") { // what it is called until it has a title
		s.Title = info.Title
	}
}

type opencodeInfoOf struct {
	ID, Role            string
	ModelID, ProviderID string
	Time                struct{ Created json.RawMessage }
	Summary             json.RawMessage
	Finish              string
	Tokens              *opencodeTokens
	Error               json.RawMessage
}

type opencodeTokens struct {
	Input, Output, Reasoning json.Number
	Cache                    struct{ Read, Write json.Number }
}

type opencodePart struct {
	Type, Text, ID string
	Synthetic      bool
	Ignored        bool
	Tool, CallID   string
	State          opencodeState
	Tokens         *opencodeTokens
	Mime, URL      string
	Auto           bool
	TailStartID    string `json:"tail_start_id"`
}

type opencodeState struct {
	Status, Error string
	Input         json.RawMessage
	Output        json.RawMessage
	Attachments   []struct{ Mime, URL string }
	Time          struct{ End, Compacted json.RawMessage }
}

func (o *opencode) message(i int, value json.RawMessage) {
	path := fmt.Sprintf("messages[%d]", i)
	var m struct {
		Info  json.RawMessage
		Parts []json.RawMessage
	}
	if err := json.Unmarshal(value, &m); err != nil {
		o.b.fault(path, err.Error())
	}
	if len(m.Info) == 0 {
		m.Info = value // the message itself
	}
	var info opencodeInfoOf
	if err := json.Unmarshal(m.Info, &info); err != nil {
		o.b.fault(path+".info", err.Error())
	}
	o.b.saw(when(info.Time.Created))
	if info.ID == "" {
		info.ID = path
	}
	parts := make([]opencodePart, len(m.Parts))
	for j, raw := range m.Parts {
		if err := json.Unmarshal(raw, &parts[j]); err != nil {
			o.b.fault(fmt.Sprintf("%s.parts[%d]", path, j), err.Error())
		}
	}
	before := len(o.b.s.Entries)
	switch info.Role {
	case "user":
		o.user(path, &info, parts)
	case "assistant":
		if string(info.Summary) == "true" {
			o.summary(path, &info, parts, m.Parts)
		} else {
			o.reply(path, &info, parts, m.Parts)
		}
	default:
		o.b.fault(path, fmt.Sprintf("a message of the role %q", info.Role))
	}
	o.b.flush()
	sp := span{id: info.ID}
	for _, e := range o.b.s.Entries[before:] {
		if e.IsChain() && !e.IsBoundary() && !e.CompactSummary {
			sp.entries = append(sp.entries, e.UUID)
		}
	}
	o.spans = append(o.spans, sp)
}

// user adds what the person wrote, and behind it what opencode added: the contents
// of files that were named.
func (o *opencode) user(path string, info *opencodeInfoOf, parts []opencodePart) {
	var words, meta []message.Block
	for j, p := range parts {
		switch {
		case p.Type == "text" && p.Ignored:
			o.b.notice(fmt.Sprintf("%s part %d", info.ID, j), p.Text)
		case p.Type == "text" && p.Synthetic:
			meta = append(meta, texts(p.Text)...)
		case p.Type == "text":
			words = append(words, texts(p.Text)...)
		case p.Type == "file":
			if b, ok := media(p.Mime, p.URL); ok {
				words = append(words, b)
			} else {
				o.b.skip("file") // its text stands in a part of its own
			}
		case p.Type == "compaction":
			o.marked = &struct {
				auto bool
				tail string
			}{p.Auto, p.TailStartID}
		case p.Type == "":
			o.b.fault(fmt.Sprintf("%s.parts[%d]", path, j), "a part without a type")
		default:
			o.b.skip(p.Type)
		}
	}
	if o.b.s.Title == "" {
		o.b.s.Title = title(words)
	}
	o.b.user(info.ID, false, words...)
	o.b.user(info.ID+" added", true, meta...)
}

// summary adds a compaction: the boundary, and the reply as its summary.
func (o *opencode) summary(path string, info *opencodeInfoOf, parts []opencodePart, raws []json.RawMessage) {
	var text []message.Block
	var opaque []json.RawMessage
	for j, p := range parts {
		switch p.Type {
		case "text":
			text = append(text, texts(p.Text)...)
		case "reasoning":
			opaque = append(opaque, raws[j])
			o.b.skip(p.Type)
		default:
			o.b.skip(p.Type)
		}
	}
	if len(text) == 0 || len(info.Error) > 0 && string(info.Error) != "null" {
		o.b.skip("compaction that failed")
		o.reply(path, info, parts, raws)
		return
	}
	trigger, tail := "auto", ""
	if o.marked != nil {
		tail = o.marked.tail
		if !o.marked.auto {
			trigger = "manual"
		}
		o.marked = nil
	}
	var kept []string
	for i, s := range o.spans {
		if tail != "" && (s.id == tail || len(kept) > 0) {
			kept = append(kept, o.spans[i].entries...)
		}
	}
	var tokens int64
	if t := info.Tokens; t != nil {
		tokens = count(t.Input) + count(t.Cache.Read) + count(t.Cache.Write)
	}
	o.b.compacted(info.ID, trigger, tokens, kept, opaque, text...)
}

// reply adds an answer. A message holds one step as a rule and several in older
// exports; each step was one request.
func (o *opencode) reply(path string, info *opencodeInfoOf, parts []opencodePart, raws []json.RawMessage) {
	open := func() *reply {
		r := o.b.open(info.ID)
		r.model, r.provider = info.ModelID, info.ProviderID
		return r
	}
	counted := false
	for j, p := range parts {
		at := fmt.Sprintf("%s.parts[%d]", path, j)
		switch p.Type {
		case "step-start":
			o.b.flush()
		case "step-finish":
			if r := o.b.reply; r != nil && p.Tokens != nil {
				r.usage, counted = p.Tokens.usage(), true
			}
		case "text":
			r := open()
			r.blocks = append(r.blocks, texts(p.Text)...)
		case "reasoning":
			r := open()
			r.opaque = append(r.opaque, raws[j])
			o.b.skip(p.Type)
		case "tool":
			o.tool(open(), at, info.ID, j, &p)
		case "":
			o.b.fault(at, "a part without a type")
		default:
			o.b.skip(p.Type)
		}
	}
	if r := o.b.reply; r != nil && !counted && info.Tokens != nil {
		r.usage = info.Tokens.usage()
	}
	if len(info.Error) > 0 && string(info.Error) != "null" {
		o.b.skip("reply that ended with an error")
	}
	o.b.flush()
}

func (t *opencodeTokens) usage() *message.Usage {
	return &message.Usage{InputTokens: count(t.Input), OutputTokens: count(t.Output) + count(t.Reasoning),
		CacheReadTokens: count(t.Cache.Read), CacheCreationTokens: count(t.Cache.Write)}
}

// pruned is what opencode shows of a result whose time.compacted is set.
const pruned = "[Old tool result content cleared]"

func (o *opencode) tool(r *reply, path, msg string, j int, p *opencodePart) {
	id := p.CallID
	if id == "" {
		id = fmt.Sprintf("%s %d", msg, j)
	}
	o.b.call(r, path, id, p.Tool, p.State.Input)
	key := msg + " result " + id
	o.b.saw(when(p.State.Time.End))
	switch p.State.Status {
	case "completed":
		var s string
		if json.Unmarshal(p.State.Output, &s) != nil {
			s = string(p.State.Output)
		}
		blocks := texts(s)
		for _, a := range p.State.Attachments {
			if b, ok := media(a.Mime, a.URL); ok {
				blocks = append(blocks, b)
			} else {
				o.b.skip("attachment of a result")
			}
		}
		o.b.result(key, id, false, blocks...)
		if !when(p.State.Time.Compacted).IsZero() {
			o.b.add(o.b.stamp("", o.b.at).Replacements(transcript.Replacement{
				Kind: "tool-result", ToolUseID: message.CanonicalID(id), Replacement: pruned}))
		}
	case "error":
		o.b.result(key, id, true, texts(p.State.Error)...)
	case "pending", "running": // it was never answered
	default:
		o.b.fault(path, fmt.Sprintf("a call in the state %q", p.State.Status))
	}
}
