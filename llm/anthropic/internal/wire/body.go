package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/llm"
	"varve.dev/message"
)

// MaxBody is the largest body the API takes, in bytes (32 MB).
const MaxBody = 32_000_000

// A Body is a request as it is sent.
type Body struct {
	JSON  []byte
	Betas []string // of the header anthropic-beta, sorted
}

// Defaults are what a request does not say itself.
type Defaults struct {
	Model     string
	MaxOutput int // tokens of the reply
	Betas     []string
}

// own are the members that a request has fields for; options must not have them.
var own = []string{"model", "max_tokens", "stream", "messages", "system", "tools", "diagnostics", "compaction"}

// counted are the options that the token count takes.
var counted = []string{"thinking", "tool_choice", "context_management", "output_config", "mcp_servers", "speed"}

func invalid(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.KindInvalid, Message: fmt.Sprintf(format, args...)}
}

// Build puts a request together from the pieces of req, which are copied, never
// decoded and encoded again. The messages come last but for the diagnostics, so
// that the body of a conversation that grows begins as the body before it. With
// count it is a request to count its tokens.
func (d Defaults) Build(req *llm.Request, count bool) (*Body, *llm.Error) {
	opts, betas, err := d.options(req)
	if err != nil {
		return nil, err
	}
	if count {
		opts = slices.DeleteFunc(opts, func(o member) bool { return !slices.Contains(counted, o.name) })
	}
	if len(req.Messages) == 0 {
		return nil, invalid("there are no messages to send")
	}
	msgs, err := cleaned(req, opts)
	if err != nil {
		return nil, err
	}
	betas = append(betas, messageBetas(msgs)...)
	system, tools, bad := fixedParts(req)
	if bad != nil {
		return nil, bad
	}
	var marks []place
	talk := ""
	if req.Cache != llm.CacheOff && !count {
		system, tools, marks, talk = fixedAndPlaces(req, opts, system, tools, msgs)
	}
	b := &Body{JSON: make([]byte, 0, size(req)+1024)}
	if req.Model != "" {
		d.Model = req.Model
	}
	if req.MaxOutput > 0 {
		d.MaxOutput = req.MaxOutput
	}
	b.head(d.Model, req, d.MaxOutput, count, opts)
	b.part("tools", tools)
	b.part("system", system)
	b.messages(msgs, marks, talk)
	if req.PreviousID != "" && !count {
		b.part("diagnostics", fmt.Appendf(nil, `{"previous_message_id":%s}`, message.AppendString(nil, req.PreviousID)))
	}
	b.JSON = append(b.JSON, '}')
	if len(b.JSON) > MaxBody {
		return nil, &llm.Error{Kind: llm.KindOverflow, Type: "request_too_large", Bytes: true,
			Message: fmt.Sprintf("the request has %d bytes and the API takes %d", len(b.JSON), MaxBody)}
	}
	slices.Sort(betas)
	b.Betas = slices.Compact(betas)
	return b, nil
}

// cleaned returns the messages as they are sent, but for the cache marks.
func cleaned(req *llm.Request, opts []member) ([]json.RawMessage, *llm.Error) {
	strip := req.Mismatch == llm.MismatchDrop && !bindable(get(opts, "thinking"))
	msgs := make([]json.RawMessage, 0, len(req.Messages))
	for i, raw := range req.Messages {
		clean, err := unmark(raw)
		if err != nil {
			return nil, invalid("message %d is not JSON: %v", i, err)
		}
		m := wholeContent(clean)
		if !json.Valid(m) || roleOf(m) == "" {
			return nil, invalid("message %d is not a message", i)
		}
		if strip {
			if m = withoutReasoning(m); m == nil {
				continue
			}
		}
		msgs = append(msgs, m)
	}
	if len(msgs) == 0 {
		return nil, invalid("the messages hold nothing but reasoning, which the mode of thinking does not allow to send")
	}
	return msgs, nil
}

// withoutReasoning leaves the reasoning of a reply out; nil when nothing else is in it.
func withoutReasoning(raw json.RawMessage) json.RawMessage {
	if roleOf(raw) != string(message.RoleAssistant) || !bytes.Contains(raw, []byte("thinking")) {
		return raw
	}
	ms, err := members(raw)
	if err != nil {
		return raw
	}
	var items []json.RawMessage
	if json.Unmarshal(get(ms, "content"), &items) != nil {
		return raw
	}
	n := len(items)
	items = slices.DeleteFunc(items, func(b json.RawMessage) bool {
		var head struct{ Type string }
		_ = json.Unmarshal(b, &head) // what is no block has no type, and stays for the API to refuse
		return head.Type == message.TypeThinking || head.Type == message.TypeRedactedThinking
	})
	switch len(items) {
	case n:
		return raw
	case 0:
		return nil
	}
	return object(put(ms, "content", append(append([]byte{'['}, bytes.Join(raws(items), []byte{','})...), ']')))
}

func (b *Body) head(model string, req *llm.Request, maxOutput int, count bool, opts []member) {
	b.JSON = message.AppendString(append(b.JSON, `{"model":`...), model)
	if !count {
		b.JSON = fmt.Appendf(b.JSON, `,"max_tokens":%d,"stream":true`, maxOutput)
	}
	for _, o := range opts {
		b.part(o.name, o.value)
	}
	if req.Summarize != nil && !count {
		b.part("compaction", summarize(req.Summarize))
	}
}

func (b *Body) part(name string, value json.RawMessage) {
	if len(value) > 0 {
		b.JSON = append(appendName(append(b.JSON, ','), name), value...)
	}
}

func (b *Body) messages(msgs []json.RawMessage, marks []place, mark string) {
	b.JSON = append(b.JSON, `,"messages":[`...)
	for i, raw := range msgs {
		if i > 0 {
			b.JSON = append(b.JSON, ',')
		}
		from := 0
		for ; len(marks) > 0 && marks[0].msg == i; marks = marks[1:] {
			b.JSON = append(append(b.JSON, raw[from:marks[0].at]...), mark...)
			from = marks[0].at
		}
		b.JSON = append(b.JSON, raw[from:]...)
	}
	b.JSON = append(b.JSON, ']')
}

func size(req *llm.Request) int {
	n := len(req.System) + len(req.Tools) + len(req.Options)
	for _, m := range req.Messages {
		n += len(m) + 1
	}
	return n
}

// fixedParts returns system and tools as they are sent: the system text always as
// blocks, nothing where there is nothing.
func fixedParts(req *llm.Request) (system, tools json.RawMessage, _ *llm.Error) {
	for _, p := range []struct {
		name string
		raw  json.RawMessage
	}{{"system", req.System}, {"tools", req.Tools}} {
		if len(p.raw) > 0 && !json.Valid(p.raw) {
			return nil, nil, invalid("%s is not JSON", p.name)
		}
	}
	system, tools = bytes.TrimSpace(req.System), bytes.TrimSpace(req.Tools)
	if isNull(tools) || string(tools) == "[]" {
		tools = nil
	}
	switch {
	case isNull(system), string(system) == "[]":
		system = nil
	case system[0] == '"' && message.IsBlank(str(system)):
		system = nil // the API refuses empty text
	case system[0] == '"':
		system = fmt.Appendf(nil, `[{"type":"text","text":%s}]`, system)
	}
	return system, tools, nil
}

// fixedAndPlaces places the cache marks: in system or tools at once, in the
// conversation as places.
func fixedAndPlaces(req *llm.Request, opts []member, system, tools json.RawMessage, msgs []json.RawMessage) (_, _ json.RawMessage, _ []place, mark string) {
	n1, short1 := given(system)
	n2, short2 := given(tools)
	left := maxMarks - n1 - n2
	fixed, talk := policy(req.Cache, short1 || short2)
	if auto := get(opts, "cache_control"); !isNull(auto) {
		return system, tools, nil, "" // automatic caching marks the end of the conversation itself
	}
	if n1+n2 == 0 && left > 0 {
		var ok bool
		if system, tools, ok = markFixed(system, tools, markText(fixed)); ok {
			left--
		}
	}
	return system, tools, places(msgs, left), markText(talk)
}

// options takes the request's options apart and adds what its fields ask for. What
// the options say themselves wins: they belong to the frame.
func (d Defaults) options(req *llm.Request) (opts []member, betas []string, _ *llm.Error) {
	betas = slices.Clone(d.Betas)
	if !isNull(bytes.TrimSpace(req.Options)) {
		var err error
		if opts, err = members(req.Options); err != nil {
			return nil, nil, invalid("the options are no JSON object: %v", err)
		}
	}
	for _, name := range own {
		if get(opts, name) != nil {
			return nil, nil, invalid("%q does not belong into the options", name)
		}
	}
	if raw := get(opts, "betas"); raw != nil {
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, nil, invalid("the betas of the options are no list of names: %v", err)
		}
		betas, opts = append(betas, list...), drop(opts, "betas")
	}
	if thinking := get(opts, "thinking"); req.Mismatch != llm.MismatchDefault && (bindable(thinking) || !isObject(thinking)) {
		thinking, err := bind(get(opts, "thinking"), req.Mismatch)
		if err != nil {
			return nil, nil, invalid("the option thinking: %v", err)
		}
		opts = put(opts, "thinking", thinking)
	}
	if get(opts, "context_management") == nil {
		if cm := contextManagement(req.Clear, req.Threshold); cm != nil {
			opts = append(opts, member{"context_management", cm})
		}
	}
	if req.Summarize != nil {
		if opts, betas = withoutIncompatible(opts), append(betas, betaCompactOnDemand); utf8.RuneCountInString(req.Summarize.Instructions) > maxInstructions {
			return nil, nil, invalid("the instructions of a summary are longer than the %d characters that the API takes", maxInstructions)
		}
	}
	return opts, append(betas, optionBetas(opts)...), nil
}

// maxInstructions is the longest text the API takes for a summary, in characters.
const maxInstructions = 16384

// bindable reports whether the mode of thinking has a field for what happens to
// reasoning whose prefix changed. The modes that do not think (disabled,
// between_tools) have none: with them reasoning is left out of the request, all of
// it, which the API always takes.
func bindable(thinking json.RawMessage) bool {
	var t struct{ Type string }
	return isNull(thinking) || json.Unmarshal(thinking, &t) == nil && (t.Type == "adaptive" || t.Type == "enabled")
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

// bind sets what happens to reasoning whose prefix changed.
func bind(thinking json.RawMessage, m llm.Mismatch) (json.RawMessage, error) {
	if isNull(thinking) {
		thinking = json.RawMessage(`{"type":"adaptive"}`)
	}
	ms, err := members(thinking)
	if err != nil {
		return nil, err
	}
	return object(put(ms, "block_binding", fmt.Appendf(nil, `{"prefix_mismatch_behavior":%s}`, message.AppendString(nil, string(m))))), nil
}

func summarize(s *llm.Summarize) []byte {
	if strings.TrimSpace(s.Instructions) == "" {
		return []byte(`{"type":"summarize"}`)
	}
	return append(message.AppendString([]byte(`{"type":"summarize","instructions":`), s.Instructions), '}')
}

// withoutIncompatible leaves out what the API does not take beside a summary on
// demand: the SDK's own helper leaves out the same.
func withoutIncompatible(opts []member) []member {
	for _, name := range []string{"context_management", "stop_sequences", "output_format"} {
		opts = drop(opts, name)
	}
	var choice struct{ Type string }
	if json.Unmarshal(get(opts, "tool_choice"), &choice) == nil && (choice.Type == "any" || choice.Type == "tool") {
		opts = drop(opts, "tool_choice")
	}
	if out := get(opts, "output_config"); out != nil {
		if ms, err := members(out); err == nil {
			ms = drop(ms, "format")
			if budget, err := members(get(ms, "task_budget")); err == nil {
				ms = put(ms, "task_budget", object(drop(budget, "remaining")))
			}
			opts = put(slices.Clone(opts), "output_config", object(ms))
		}
	}
	return opts
}

// contextManagement writes the server's clearing and compaction; nil without any.
func contextManagement(c *llm.Clear, t *llm.Threshold) json.RawMessage {
	var edits []string
	if c != nil {
		edits = append(edits, string(clearEdit(c)))
	}
	if t != nil {
		e := []byte(`{"type":"compact_20260112"`)
		if t.Tokens > 0 {
			e = fmt.Appendf(e, `,"trigger":{"type":"input_tokens","value":%d}`, t.Tokens)
		}
		if t.Pause {
			e = append(e, `,"pause_after_compaction":true`...)
		}
		if t.Instructions != "" {
			e = message.AppendString(append(e, `,"instructions":`...), t.Instructions)
		}
		edits = append(edits, string(append(e, '}')))
	}
	if edits == nil {
		return nil
	}
	return json.RawMessage(`{"edits":[` + strings.Join(edits, ",") + `]}`)
}

func clearEdit(c *llm.Clear) []byte {
	e := []byte(`{"type":"clear_tool_uses_20250919"`)
	switch {
	case c.TriggerUses > 0:
		e = fmt.Appendf(e, `,"trigger":{"type":"tool_uses","value":%d}`, c.TriggerUses)
	case c.TriggerTokens > 0:
		e = fmt.Appendf(e, `,"trigger":{"type":"input_tokens","value":%d}`, c.TriggerTokens)
	}
	if c.Keep > 0 {
		e = fmt.Appendf(e, `,"keep":{"type":"tool_uses","value":%d}`, c.Keep)
	}
	if c.AtLeast > 0 {
		e = fmt.Appendf(e, `,"clear_at_least":{"type":"input_tokens","value":%d}`, c.AtLeast)
	}
	if len(c.Exclude) > 0 {
		e = append(e, `,"exclude_tools":[`...)
		for i, name := range c.Exclude {
			if i > 0 {
				e = append(e, ',')
			}
			e = message.AppendString(e, name)
		}
		e = append(e, ']')
	}
	if c.Inputs {
		e = append(e, `,"clear_tool_inputs":true`...)
	}
	return append(e, '}')
}

// Options are the options of a request that most callers set, to be kept in a
// frame ([llm.Request.Options]).
type Options struct {
	Thinking  string // adaptive, disabled, between_tools; "" leaves the model's default
	Display   string // of adaptive thinking: summarized, omitted, updates
	Effort    string // low, medium, high, xhigh, max
	Clear     *llm.Clear
	Threshold *llm.Threshold
	Betas     []string // further beta headers
}

// JSON returns the options as a frame keeps them, in a fixed order; nil without any.
func (o Options) JSON() json.RawMessage {
	var ms []member
	if o.Thinking != "" {
		t := []member{{"type", message.AppendString(nil, o.Thinking)}}
		if o.Display != "" {
			t = append(t, member{"display", message.AppendString(nil, o.Display)})
		}
		ms = append(ms, member{"thinking", object(t)})
	}
	if o.Effort != "" {
		ms = append(ms, member{"output_config", object([]member{{"effort", message.AppendString(nil, o.Effort)}})})
	}
	if cm := contextManagement(o.Clear, o.Threshold); cm != nil {
		ms = append(ms, member{"context_management", cm})
	}
	if len(o.Betas) > 0 {
		list := []byte{'['}
		for i, b := range o.Betas {
			if i > 0 {
				list = append(list, ',')
			}
			list = message.AppendString(list, b)
		}
		ms = append(ms, member{"betas", append(list, ']')})
	}
	if ms == nil {
		return nil
	}
	return object(ms)
}
