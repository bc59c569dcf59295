package foreign

import (
	"encoding/json"
	"fmt"

	"varve.dev/message"
)

// pi reads sessions of pi: one record a line. Since version 2 each has an id and
// names its parent, before that each follows the one before it.
type pi struct {
	b     *builder
	at    map[string]*piNode // by id
	order []*piNode          // every record of the file, the header too: compactions of version 1 count them
	last  *piNode
}

// piNode is a record and the chain entries that came of it.
type piNode struct {
	parent  *piNode
	entries []string // none for records without a place in the conversation
	leaf    string   // where the conversation stands behind it
	summary bool     // it is a compaction
}

type piRecord struct {
	Type      string
	ID        string
	ParentID  *string `json:"parentId"`
	Timestamp json.RawMessage
	Message   *piMessage

	// Of some types only.
	Cwd, Provider, ModelID string
	Version                json.RawMessage
	BranchedFrom, Parent   string
	ParentSession          string
	Summary, Name          string
	FirstKeptEntryIndex    *int
	FirstKeptEntryID       string `json:"firstKeptEntryId"`
	TokensBefore           json.Number
	CustomType             string
	Content                json.RawMessage
}

type piMessage struct {
	Role       string
	Content    json.RawMessage
	Provider   string
	Model      string
	StopReason string
	Usage      *struct {
		Input, Output, CacheRead, CacheWrite json.Number
	}
	ToolCallID string `json:"toolCallId"`
	IsError    bool

	// Of a command that the person ran.
	Command, Output    string
	ExitCode           *int
	Cancelled          bool
	Truncated          bool
	FullOutputPath     string
	ExcludeFromContext bool

	Summary string // of a branch that was left
}

func (p *pi) line(_ []byte, r *piRecord, err error) error {
	if err := p.b.decoded("", err); err != nil {
		return err
	}
	p.b.saw(when(r.Timestamp))
	n := &piNode{parent: p.last}
	if r.ID != "" && r.Type != "session" && r.ParentID != nil {
		if n.parent = p.at[*r.ParentID]; n.parent == nil {
			p.b.fault("", fmt.Sprintf("its parent %q is not in the file; it follows the record before it", *r.ParentID))
			n.parent = p.last
		}
	}
	p.b.leaf = ""
	if n.parent != nil {
		p.b.leaf = n.parent.leaf
	}
	before := len(p.b.s.Entries)
	p.record(r, n)
	p.b.flush()
	for _, e := range p.b.s.Entries[before:] {
		if e.IsChain() && !n.summary {
			n.entries = append(n.entries, e.UUID)
		}
	}
	n.leaf = p.b.leaf
	p.order = append(p.order, n)
	p.last = n
	if r.ID != "" && r.Type != "session" {
		p.at[r.ID] = n
	}
	return nil
}

// end chooses the branch that the newest record stands on, which may be one that
// tells of nothing but a setting.
func (p *pi) end() {
	if n := len(p.b.s.Entries); p.last != nil && n > 0 {
		for i := n - 1; i >= 0; i-- {
			if e := p.b.s.Entries[i]; e.IsChain() {
				p.b.leaf = e.UUID
				break
			}
		}
		p.b.stand(p.last.leaf)
	}
}

// key names the record at hand: by its id, which a copy in another place keeps.
func (p *pi) key(r *piRecord) string {
	if r.ID != "" {
		return r.ID
	}
	return p.b.lineKey()
}

func (p *pi) record(r *piRecord, n *piNode) {
	s := p.b.s
	switch r.Type {
	case "session":
		if s.ID != "" {
			p.b.skip("session")
			return
		}
		s.ID, s.CWD, s.Model = r.ID, r.Cwd, r.ModelID
		for _, from := range []string{r.BranchedFrom, r.ParentSession, r.Parent} {
			if from != "" {
				s.Parent = from
			}
		}
		if len(r.Version) > 0 {
			s.Version = string(r.Version)
		}
	case "session_info":
		s.Title = r.Name
	case "message":
		if r.Message == nil {
			p.b.fault("", "a message without its message")
			return
		}
		p.message(r)
	case "custom_message":
		p.b.user(p.key(r), true, p.content(r.Content)...)
	case "branch_summary":
		p.b.user(p.key(r), true, texts(branchText(r.Summary))...)
	case "compaction":
		p.compaction(r, n)
	case "":
		p.b.fault("", "a record without a type")
	default:
		p.b.skip(r.Type)
	}
}

// compaction keeps what the record says is kept: everything from the first kept
// record on, along the branch.
func (p *pi) compaction(r *piRecord, n *piNode) {
	var first *piNode
	switch i := r.FirstKeptEntryIndex; {
	case r.FirstKeptEntryID != "":
		first = p.at[r.FirstKeptEntryID]
	case i != nil && *i > 0 && *i < len(p.order):
		first = p.order[*i]
	case i != nil && (*i == 0 || *i == len(p.order)):
		first = n // the header, or what follows: nothing is kept
	}
	if first == nil {
		p.b.fault("", "the first record that the compaction keeps is not in the file; nothing older is kept")
		first = n
	}
	var back []*piNode
	at := n
	for ; at != nil && at != first; at = at.parent {
		back = append(back, at)
	}
	if at == nil {
		p.b.fault("", "the first record that the compaction keeps is on another branch; nothing older is kept")
		back = nil
	} else if at != n {
		back = append(back, at)
	}
	var kept []string
	for i := len(back) - 1; i >= 0; i-- {
		kept = append(kept, back[i].entries...)
	}
	n.summary = true
	p.b.compacted(p.key(r), "auto", count(r.TokensBefore), kept, nil, message.Text(
		"The conversation history before this point was compacted into the following summary:\n\n<summary>\n"+r.Summary+"\n</summary>"))
}

func branchText(summary string) string {
	return "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n" + summary + "\n</summary>"
}

func (p *pi) message(r *piRecord) {
	m := r.Message
	key := p.key(r)
	switch m.Role {
	case "user":
		blocks := p.content(m.Content)
		if p.b.s.Title == "" {
			p.b.s.Title = title(blocks)
		}
		p.b.user(key, false, blocks...)
	case "assistant":
		p.reply(key, m)
	case "toolResult":
		if m.ToolCallID == "" {
			p.b.fault("", "a result without the id of its call")
			return
		}
		p.b.result(key, m.ToolCallID, m.IsError, p.content(m.Content)...)
	case "bashExecution":
		if m.ExcludeFromContext {
			p.b.skip("bashExecution that the model did not see")
			return
		}
		p.b.user(key, true, message.Text(ranText(m)))
	case "branchSummary", "compactionSummary":
		p.b.user(key, true, texts(branchText(m.Summary))...)
	case "custom", "hookMessage":
		p.b.user(key, true, p.content(m.Content)...)
	default:
		p.b.skip("message of " + m.Role)
	}
}

// ranText is what pi tells the model of a command that the person ran.
func ranText(m *piMessage) string {
	s := "Ran `" + m.Command + "`\n"
	if m.Output == "" {
		s += "(no output)"
	} else {
		s += "```\n" + m.Output + "\n```"
	}
	switch {
	case m.Cancelled:
		s += "\n\n(command cancelled)"
	case m.ExitCode != nil && *m.ExitCode != 0:
		s += fmt.Sprintf("\n\nCommand exited with code %d", *m.ExitCode)
	}
	if m.Truncated && m.FullOutputPath != "" {
		s += "\n\n[Output truncated. Full output: " + m.FullOutputPath + "]"
	}
	return s
}

// piStops maps reasons to those of the log.
var piStops = map[string]string{"toolUse": "tool_use", "length": "max_tokens", "stop": "end_turn"}

func (p *pi) reply(key string, m *piMessage) {
	r := p.b.open(key)
	r.model, r.provider, r.stop = m.Model, m.Provider, piStops[m.StopReason]
	if u := m.Usage; u != nil {
		r.usage = &message.Usage{InputTokens: count(u.Input), OutputTokens: count(u.Output),
			CacheReadTokens: count(u.CacheRead), CacheCreationTokens: count(u.CacheWrite)}
	}
	if m.StopReason == "aborted" || m.StopReason == "error" {
		p.b.skip("reply that ended with " + m.StopReason)
	}
	p.each(m.Content, func(raw json.RawMessage, x *piPart) {
		switch x.Type {
		case "text":
			r.blocks = append(r.blocks, texts(x.Text)...)
		case "thinking":
			r.opaque = append(r.opaque, raw)
			p.b.skip(x.Type)
		case "toolCall":
			p.b.call(r, "", x.ID, x.Name, x.Arguments)
		default:
			p.b.skip("content " + x.Type)
		}
	})
}

type piPart struct {
	Type, Text, ID, Name string
	Arguments            json.RawMessage
	Data, MimeType       string
}

// each calls fn with every part of content, which is an array or a string, and with
// the bytes of those that are kept as they are.
func (p *pi) each(raw json.RawMessage, fn func(json.RawMessage, *piPart)) {
	if s, ok := text(raw); ok {
		fn(nil, &piPart{Type: "text", Text: s})
		return
	}
	if len(raw) == 0 {
		return
	}
	var list []piPart
	if p.b.decode("content", raw, &list) != nil {
		return // the line was JSON, so this is
	}
	var raws []json.RawMessage
	for i := range list {
		x, as := &list[i], json.RawMessage(nil)
		if x.Type == "thinking" {
			if raws == nil && json.Unmarshal(raw, &raws) != nil {
				return // not an array, and then there is no part
			}
			as = raws[i]
		}
		if x.Type == "" {
			continue // of the wrong type, which was said
		}
		fn(as, x)
	}
}

func (p *pi) content(raw json.RawMessage) (out []message.Block) {
	p.each(raw, func(_ json.RawMessage, x *piPart) {
		switch x.Type {
		case "text":
			out = append(out, texts(x.Text)...)
		case "image":
			if b, ok := media(x.MimeType, x.Data); ok {
				out = append(out, b)
				return
			}
			p.b.skip("image that no model takes")
		default:
			p.b.skip("content " + x.Type)
		}
	})
	return out
}
