package foreign

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"varve.dev/message"
)

// codex reads rollouts: one record a line, {timestamp, type, payload}.
type codex struct {
	b     *builder
	model string
	metas int
	turns []string // where the conversation stood before each thing that a person said

	usage codexUsage // last token_count that counted
	total string     // its totals: a count that is written again has the same

	said map[string][]string // uuids of plain messages by role and text, while a compaction is read
}

type codexUsage struct {
	Input     json.Number `json:"input_tokens"`
	Cached    json.Number `json:"cached_input_tokens"`
	Output    json.Number `json:"output_tokens"`
	Reasoning json.Number `json:"reasoning_output_tokens"`
	Total     json.Number `json:"total_tokens"`
}

// codexRecord is a line. Of the payload it holds what items, events and contexts
// of turns have; the rest is read again where it is needed.
type codexRecord struct {
	Timestamp json.RawMessage
	Type      string
	Payload   *codexPayload
}

type codexPayload struct {
	codexItem
	Model, Cwd string // of a turn
	NumTurns   int    `json:"num_turns"` // of a rollback
	Info       struct {
		Total json.RawMessage `json:"total_token_usage"`
		Last  codexUsage      `json:"last_token_usage"`
	}
}

type codexItem struct {
	Type, Role, Name, Status string
	ID                       string
	CallID                   string `json:"call_id"`
	Arguments, Input         json.RawMessage
	Action                   json.RawMessage
	Output                   json.RawMessage
	Content                  json.RawMessage
}

type codexPart struct {
	Type, Text string
	ImageURL   json.RawMessage `json:"image_url"`
}

func (c *codex) line(line []byte, r *codexRecord, err error) error {
	before := len(c.b.s.Faults)
	if err := c.b.decoded("", err); err != nil {
		return err
	}
	c.b.saw(when(r.Timestamp))
	if r.Payload == nil {
		if len(c.b.s.Faults) == before { // else it is there and of the wrong type
			c.bare(r.Type, line)
		}
		return nil
	}
	if r.Type != "response_item" && r.Type != "turn_context" {
		// Events have members of the same names and other types, and those that are
		// not read do not matter.
		c.b.s.Faults = c.b.s.Faults[:before]
	}
	switch r.Type {
	case "session_meta":
		c.meta(payload(line))
	case "turn_context":
		if r.Payload.Model != "" {
			c.model = r.Payload.Model
		}
		if c.b.s.CWD == "" {
			c.b.s.CWD = r.Payload.Cwd
		}
	case "response_item":
		c.item(&r.Payload.codexItem, line, true)
	case "event_msg":
		c.event(r.Payload)
	case "compacted":
		c.compacted(payload(line))
	case "":
		c.b.fault("", "a record without a type")
	default:
		c.b.skip(r.Type)
	}
	return nil
}

// payload returns the bytes of the payload of a line.
func payload(line []byte) json.RawMessage {
	var r struct{ Payload json.RawMessage }
	if json.Unmarshal(line, &r) != nil {
		return nil // the line was read before
	}
	return r.Payload
}

// bare reads a record of the first versions, which had no envelope: the header
// without a type, and items.
func (c *codex) bare(kind string, line []byte) {
	switch kind {
	case "message", "reasoning", "function_call", "function_call_output", "local_shell_call":
		var it codexItem
		if c.b.decode("", line, &it) == nil {
			c.item(&it, line, false)
		}
	case "":
		var h struct {
			ID           string
			Timestamp    string
			Instructions *string
		}
		if json.Unmarshal(line, &h) == nil && h.ID != "" && h.Timestamp != "" {
			c.meta(line)
			if h.Instructions != nil {
				c.b.s.Instructions = *h.Instructions
			}
			return
		}
		c.b.skip("record without a type")
	default:
		c.b.fault("", "a record without a payload")
	}
}

// meta reads the header. A fork repeats those of its ancestors behind its own, a
// resumed session its own.
func (c *codex) meta(raw json.RawMessage) {
	var m struct {
		ID, Timestamp, Cwd string
		Version            string                `json:"cli_version"`
		Forked             string                `json:"forked_from_id"`
		Parent             string                `json:"parent_thread_id"`
		Base               struct{ Text string } `json:"base_instructions"`
		Git                struct{ Branch string }
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		c.b.fault("", "session_meta: "+err.Error())
	}
	if c.metas++; c.metas > 1 {
		c.b.skip("session_meta")
		return
	}
	s := c.b.s
	s.ID, s.CWD, s.Version, s.Instructions, c.b.branch = m.ID, m.Cwd, m.Version, m.Base.Text, m.Git.Branch
	if s.Parent = m.Forked; s.Parent == "" {
		s.Parent = m.Parent
	}
}

// end closes the last reply and takes from the file's name what a damaged first
// line did not tell (openai/codex#24425).
func (c *codex) end(name string) {
	c.b.flush()
	if c.b.s.ID == "" {
		if m := rolloutName.FindStringSubmatch(path.Base(strings.ReplaceAll(name, `\`, "/"))); m != nil {
			c.b.s.ID = m[1]
		}
	}
}

// item reads an item. line is what it was read from, in an envelope or bare.
func (c *codex) item(it *codexItem, line []byte, envelope bool) {
	switch it.Type {
	case "message":
		c.message(it)
	case "reasoning", "web_search_call", "image_generation_call", "tool_search_call":
		raw := json.RawMessage(bytes.Clone(line))
		if envelope {
			raw = payload(line)
		}
		r := c.open()
		r.opaque = append(r.opaque, raw)
		c.b.skip(it.Type)
	case "function_call":
		c.b.call(c.open(), "", it.CallID, it.Name, argument(it.Arguments))
	case "custom_tool_call":
		input, ok := text(it.Input)
		if !ok {
			input = string(it.Input)
		}
		c.b.call(c.open(), "", it.CallID, it.Name, mustJSON(map[string]string{"input": input}))
	case "local_shell_call":
		id := it.CallID
		if id == "" {
			id = it.ID
		}
		c.b.call(c.open(), "", id, "local_shell", it.Action)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		if it.CallID == "" {
			c.b.fault("", "a result without the id of its call")
			return
		}
		failed, blocks := c.output(it.Output)
		c.b.result(c.b.lineKey(), it.CallID, failed || it.Status == "failed", blocks...)
	default:
		c.b.skip("response_item " + it.Type)
	}
}

// argument unpacks arguments, which are JSON in a string. What is no JSON stays a
// string, so that it is kept word for word.
func argument(raw json.RawMessage) json.RawMessage {
	s, ok := text(raw)
	if !ok {
		return raw
	}
	if s == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(s)
}

// open returns the open reply. Results that came in mean that the model answered
// anew: calls of one reply are recorded before their results.
func (c *codex) open() *reply {
	if len(c.b.results) > 0 {
		c.b.flush()
	}
	r := c.b.open(c.b.lineKey())
	r.model, r.provider = c.model, "openai"
	return r
}

func (c *codex) message(it *codexItem) {
	if it.Role == "assistant" {
		r := c.open()
		blocks := c.parts(it.Content)
		r.blocks = append(r.blocks, blocks...)
		return
	}
	for _, run := range c.runs(it) {
		if !run.meta {
			c.turns = append(c.turns, c.b.flush())
			if c.b.s.Title == "" {
				c.b.s.Title = title(run.blocks)
			}
		}
		c.b.user(c.b.lineKey(), run.meta, run.blocks...)
	}
}

// codexRun is a part of a message that a person wrote, or one that Codex added.
type codexRun struct {
	meta   bool
	text   string
	blocks []message.Block
}

// added is what Codex puts before and between the person's words: instructions,
// the environment, notices. Each stands in a part of its own.
var added = regexp.MustCompile(`^\s*(?:# AGENTS\.md instructions\b|<(?:environment_context|user_instructions|INSTRUCTIONS|permissions instructions|` +
	`app-context|collaboration_mode|apps_instructions|skills_instructions|plugins_instructions|recommended_plugins|multi_agent_mode|` +
	`personality_spec|model_switch|subagent_notification|turn_aborted|user_shell_command|skill|network_access|hook_prompt)>)`)

func (c *codex) runs(it *codexItem) []codexRun {
	var out []codexRun
	for _, b := range c.parts(it.Content) {
		meta := it.Role != "user" || message.IsText(b) && added.MatchString(b.Text)
		if n := len(out); n == 0 || out[n-1].meta != meta {
			out = append(out, codexRun{meta: meta})
		}
		r := &out[len(out)-1]
		r.text += b.Text + "\x00"
		r.blocks = append(r.blocks, b)
	}
	return out
}

// parts reads content: a string or an array of parts.
func (c *codex) parts(raw json.RawMessage) []message.Block {
	if s, ok := text(raw); ok {
		return texts(s)
	}
	var list []codexPart
	if len(raw) == 0 || c.b.decode("content", raw, &list) != nil {
		return nil
	}
	var out []message.Block
	for _, p := range list {
		switch p.Type {
		case "": // of the wrong type, which was said
		case "input_text", "output_text", "text", "refusal":
			out = append(out, texts(p.Text)...)
		case "input_image":
			var url string
			var nested struct{ URL string }
			if json.Unmarshal(p.ImageURL, &url) != nil && json.Unmarshal(p.ImageURL, &nested) == nil {
				url = nested.URL
			}
			if block, ok := media("", url); ok {
				out = append(out, block)
				continue
			}
			c.b.skip(p.Type)
		default:
			c.b.skip("content " + p.Type)
		}
	}
	return out
}

// output reads what a tool returned: text, parts, or an object with the text and
// whether it went well.
func (c *codex) output(raw json.RawMessage) (failed bool, blocks []message.Block) {
	if s, ok := text(raw); ok {
		return false, texts(s)
	}
	var o struct {
		Content json.RawMessage
		Body    json.RawMessage
		Success *bool
	}
	if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &o) == nil && (len(o.Content) > 0 || len(o.Body) > 0) {
		if len(o.Content) == 0 {
			o.Content = o.Body
		}
		return o.Success != nil && !*o.Success, c.parts(o.Content)
	}
	if len(raw) > 0 && raw[0] == '[' {
		return false, c.parts(raw)
	}
	return false, texts(string(raw))
}

// event reads what Codex tells its own interface. All but the counts says again
// what response items say.
func (c *codex) event(e *codexPayload) {
	if e.Type == "turn_aborted" || e.Type == "task_complete" || e.Type == "task_started" {
		c.b.flush()
	}
	if e.Type == "thread_rolled_back" && e.NumTurns > 0 && len(c.turns) > 0 {
		at := max(0, len(c.turns)-e.NumTurns)
		c.b.stand(c.turns[at])
		c.turns = c.turns[:at]
		return
	}
	if e.Type != "token_count" {
		c.b.skip(e.Type)
		return
	}
	if len(e.Info.Total) == 0 || string(e.Info.Total) == c.total {
		return
	}
	c.total, c.usage = string(e.Info.Total), e.Info.Last
	if r := c.b.reply; r != nil && r.usage == nil {
		// OpenAI's input includes what was cached, the log's does not.
		in, cached := count(c.usage.Input), count(c.usage.Cached)
		r.usage = &message.Usage{InputTokens: max(0, in-cached), CacheReadTokens: cached, OutputTokens: count(c.usage.Output)}
	}
}

// compacted reads a compaction: the history that the model had from then on.
// Messages that stand earlier in the recording stay in view as they are; the rest
// of that history, the summary among it, becomes the summary of the boundary.
func (c *codex) compacted(raw json.RawMessage) {
	var p struct {
		Message string
		History []json.RawMessage `json:"replacement_history"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		c.b.fault("", "compacted: "+err.Error())
	}
	c.b.flush()
	c.index()
	key := c.b.lineKey()
	summary := texts(p.Message)
	var kept []string
	var opaque []json.RawMessage
	for _, raw := range p.History {
		var it codexItem
		if err := json.Unmarshal(raw, &it); err != nil {
			c.b.fault("", "replacement_history: "+err.Error())
			continue
		}
		if it.Type != "message" && it.Type != "" {
			opaque = append(opaque, raw)
			continue
		}
		for _, run := range c.runs(&codexItem{Role: "user", Content: it.Content}) {
			name := run.text
			if it.Role == "assistant" {
				name = "assistant\x00" + name
			}
			if ids := c.said[name]; len(ids) > 0 {
				kept, c.said[name] = append(kept, ids[len(ids)-1]), ids[:len(ids)-1]
				continue
			}
			summary = append(summary, run.blocks...)
		}
	}
	if len(opaque) > 0 && p.Message == "" {
		summary = append(texts(sealed), summary...)
	}
	if len(summary) == 0 {
		summary = texts(cut)
	}
	tokens := count(c.usage.Total)
	c.b.compacted(key, "auto", tokens, kept, opaque, summary...)
}

// What stands for a summary that is not in the recording in clear.
const (
	sealed = "[Codex compacted the conversation before this point. Its summary is encrypted by the provider and cannot be read here; " +
		"the whole conversation is kept with the session.]"
	cut = "[Codex compacted the conversation before this point. The whole conversation is kept with the session.]"
)

// index finds every plain message of the session by its text: those that a person
// wrote and replies of text alone.
func (c *codex) index() {
	clear(c.said)
	for _, e := range c.b.s.Entries {
		if e.Type != "user" && e.Type != "assistant" || e.CompactSummary {
			continue
		}
		m, err := e.Message()
		if err != nil {
			continue
		}
		text := ""
		for _, x := range m.Content {
			if !message.IsText(x) && x.Type != message.TypeImage {
				text = ""
				break
			}
			text += x.Text + "\x00"
		}
		if text == "" {
			continue
		}
		if e.Type == "assistant" {
			text = "assistant\x00" + text
		}
		c.said[text] = append(c.said[text], e.UUID)
	}
}

// title is the beginning of what a person first asked.
func title(blocks []message.Block) string {
	for _, b := range blocks {
		if s := strings.Join(strings.Fields(b.Text), " "); s != "" {
			if r := []rune(s); len(r) > 80 { // as wide as a terminal
				return strings.TrimSpace(string(r[:79])) + "…"
			}
			return s
		}
	}
	return ""
}
