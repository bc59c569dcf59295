package validate

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
)

// kind is what the rules distinguish among content blocks.
type kind uint8

const (
	other kind = iota
	textBlock
	thinking // redacted or not
	call
	result
	serverCall
	serverResult
	compaction
)

func kindOf(typ string) kind {
	switch typ {
	case "text":
		return textBlock
	case "thinking", "redacted_thinking":
		return thinking
	case "tool_use":
		return call
	case "tool_result":
		return result
	case "server_tool_use", "mcp_tool_use":
		return serverCall
	case "compaction":
		return compaction
	}
	if strings.HasSuffix(typ, "_tool_result") {
		return serverResult
	}
	return other
}

// A block is what the rules about sequences need of a content block.
type block struct {
	kind kind
	id   string // of a call, or the call that is answered
	once bool   // of a compaction: it was made on demand, and there is one, at the start
	item int    // index into the items of its message
}

// A mark is a cache_control: its position and lifetime.
type mark struct {
	path string
	ttl  string
}

// A picture is one block that counts against the limit on images.
type picture struct {
	path          string
	width, height int // pixels; 0 when not known
}

// An item is one piece of a request for the comparison with what was sent before: a block with its role, cache marks aside.
type item struct {
	sum        uint64
	msg, block int32 // of the request; msg is atSystem or atTools for those
	kind       kind
	assistant  bool
}

// seen is one message that was looked at: what is wrong with it in itself, and what the rules about sequences need.
type seen struct {
	raw       json.RawMessage
	role      string
	blocks    []block
	items     []item      // blocks, and before them the members of the message beside role and content
	found     []Violation // Path is relative to the message: "" or ".content.2"
	marks     []mark
	images    []picture
	summary   bool            // the first block is a compaction that succeeded
	last      json.RawMessage // the text of the last block, nil when that is no text
	emptyText bool            // scratch: the block at hand is empty text
}

// looker takes messages apart.
type looker struct {
	seed maphash.Seed
	opt  *Options
}

func (s *seen) report(at, rule, format string, args ...any) {
	s.found = append(s.found, Violation{rule, at, fmt.Sprintf(format, args...)})
}

// message looks at one message by itself. What is in it is split without a second check.
func (l *looker) message(raw json.RawMessage) *seen {
	s := &seen{raw: raw}
	o, err := parseObject(raw)
	if err != nil {
		s.report("", RuleJSON, "the message is no JSON object: %v", err)
		return s
	}
	s.role, _ = o.str("role")
	switch s.role {
	case "user", "assistant", "system":
	default:
		s.report("", RuleRole, "unknown role %q", s.role)
	}
	l.extras(s, o)
	clean := isUnicode(raw)
	found := len(s.found)
	l.content(s, o.get("content"), clean)
	if !clean && !reported(s.found[found:], RuleUnicode) {
		s.report("", RuleUnicode, "the message holds text that is not Unicode")
	}
	return s
}

func reported(list []Violation, rule string) bool {
	for _, v := range list {
		if v.Rule == rule {
			return true
		}
	}
	return false
}

// extras makes an item of the members beside role and content (clear_at, output_config), which are part of the prefix too.
func (l *looker) extras(s *seen, o object) {
	h, n := l.hash(s.role), 0
	for _, m := range o {
		if m.name != "role" && m.name != "content" {
			l.add(h, m)
			n++
		}
	}
	if n > 0 {
		s.items = append(s.items, item{sum: h.Sum64(), block: whole, assistant: s.role == "assistant"})
	}
}

func (l *looker) content(s *seen, raw json.RawMessage, clean bool) {
	var list []json.RawMessage
	switch {
	case !given(raw):
		return
	case raw[0] == '"':
		l.block(s, object{{"type", json.RawMessage(`"text"`)}, {"text", raw}}, ".content")
		if !clean && !isUnicode(raw) {
			s.report(".content", RuleUnicode, "the text is not Unicode")
		}
		return
	case raw[0] == '[':
		var err error
		if list, err = splitArray(raw); err != nil {
			s.report(".content", RuleJSON, "%v", err)
			return
		}
	default:
		s.report(".content", RuleType, "content is neither a string nor an array")
		return
	}
	for i, raw := range list {
		at := fmt.Sprintf(".content.%d", i)
		if !clean && !isUnicode(raw) {
			s.report(at, RuleUnicode, "the block holds text that is not Unicode")
		}
		o, err := splitObject(raw)
		if err != nil {
			s.report(at, RuleType, "not a content block: %v", err)
		}
		l.block(s, o, at)
	}
}

// block looks at one content block; a nil object is one that is broken and has been reported.
func (l *looker) block(s *seen, o object, at string) {
	typ, ok := o.str("type")
	if o != nil && (!ok || typ == "") {
		s.report(at, RuleType, "the block has no type")
	}
	b := block{kind: kindOf(typ), item: len(s.items)}
	s.last, s.emptyText = nil, false
	switch b.kind {
	case textBlock:
		l.text(s, o, at)
	case thinking:
		l.thinking(s, o, typ, at)
	case call, serverCall:
		b.id, _ = o.str("id")
		l.call(s, o, b.id, at)
	case result, serverResult:
		b.id, _ = o.str("tool_use_id")
	case compaction:
		if c, _ := o.str("content"); c != "" && len(s.blocks) == 0 {
			s.summary = true
		}
		b.once = given(o.get("signature")) // compact_20260112 has none
	case other:
		l.media(s, o, typ, at)
	}
	if want := roleOf(b.kind); want != "" && want != s.role {
		s.report(at, RuleWhere, "a %s block in a message of role %q", typ, s.role)
	}
	l.mark(s, o, b.kind, at)
	h := l.hash(s.role)
	for _, m := range o {
		switch {
		case m.name == "cache_control":
		case b.kind == result && m.name == "content" && m.raw[0] == '[':
			l.nested(s, h, m.raw, at+".content")
		default:
			l.add(h, m)
		}
	}
	s.items = append(s.items, item{sum: h.Sum64(), block: int32(len(s.blocks)), kind: b.kind, assistant: s.role == "assistant"})
	s.blocks = append(s.blocks, b)
}

// roleOf is the role whose messages alone may hold a block of kind k, "" when there is no such rule.
func roleOf(k kind) string {
	switch k {
	case result:
		return "user"
	case call, serverCall, thinking, compaction:
		return "assistant"
	}
	return ""
}

func (l *looker) text(s *seen, o object, at string) {
	s.last = o.get("text")
	if s.emptyText = blank(s.last); s.emptyText {
		s.report(at, RuleText, "text content blocks must be non-empty and contain non-whitespace text")
	}
}

func (l *looker) thinking(s *seen, o object, typ, at string) {
	if typ == "redacted_thinking" {
		if data, _ := o.str("data"); data == "" {
			s.report(at, RuleThinkingShape, "redacted_thinking without data")
		}
		return
	}
	if raw := o.get("thinking"); len(raw) == 0 || raw[0] != '"' {
		s.report(at, RuleThinkingShape, "thinking without text (it may be empty)")
	}
	if raw := o.get("signature"); len(raw) < 3 || raw[0] != '"' {
		s.report(at, RuleThinkingShape, "thinking without a signature")
	}
}

func (l *looker) call(s *seen, o object, id, at string) {
	if !matches(id, maxID) {
		s.report(at, RuleID, "the id %q is not [A-Za-z0-9_-]{1,%d}", id, maxID)
	}
	name, _ := o.str("name")
	if n := len([]rune(name)); n == 0 || n > maxCalledName {
		s.report(at, RuleName, "tool_use.name: String should have at most %d characters and at least one; it has %d", maxCalledName, n)
	}
	if in := o.get("input"); len(in) == 0 || in[0] != '{' {
		s.report(at, RuleInput, "the input is not an object")
	}
}

// matches reports whether s is [A-Za-z0-9_-]{1,limit}.
func matches(s string, limit int) bool {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return s != "" && len(s) <= limit && strings.Trim(s, set) == "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(set, r) })
}

// nested looks at the blocks inside a result.
func (l *looker) nested(s *seen, h *maphash.Hash, raw json.RawMessage, at string) {
	list, err := splitArray(raw)
	if err != nil {
		s.report(at, RuleJSON, "%v", err)
		return
	}
	for i, raw := range list {
		at := fmt.Sprintf("%s.%d", at, i)
		o, err := splitObject(raw)
		typ, _ := o.str("type")
		k := kindOf(typ)
		s.emptyText = false
		switch {
		case err != nil || typ == "":
			s.report(at, RuleType, "not a content block with a type")
		case k == textBlock:
			if t := o.get("text"); len(t) < 3 || t[0] != '"' {
				s.emptyText = true
				s.report(at, RuleText, "text content blocks must be non-empty")
			}
		case k != other:
			s.report(at, RuleNested, "a %s block inside a result", typ)
		default:
			l.media(s, o, typ, at)
		}
		l.mark(s, o, k, at)
		h.WriteByte('[')
		for _, m := range o {
			if m.name != "cache_control" {
				l.add(h, m)
			}
		}
	}
}

// mark records the block's cache_control.
func (l *looker) mark(s *seen, o object, k kind, at string) {
	c := o.get("cache_control")
	if !given(c) {
		return
	}
	if k == thinking || s.emptyText {
		s.report(at, RuleMarkPlace, "cache_control cannot be set on thinking or empty text")
	}
	s.marks = append(s.marks, mark{at, lifetime(c)})
}

func lifetime(cacheControl json.RawMessage) string {
	o, err := parseObject(cacheControl)
	if ttl, ok := o.str("ttl"); err == nil && ok {
		return ttl
	}
	return "5m"
}

// hash starts the sum of an item.
func (l *looker) hash(role string) *maphash.Hash {
	h := new(maphash.Hash)
	h.SetSeed(l.seed)
	h.WriteString(role)
	return h
}

// add adds a member to the sum: the bytes of its name and value, but for white space between tokens, which no reader sees.
func (l *looker) add(h *maphash.Hash, m member) {
	h.WriteByte(0)
	h.WriteString(m.name)
	h.WriteByte(0)
	if m.raw[0] != '{' && m.raw[0] != '[' {
		h.Write(m.raw)
		return
	}
	for i, from := 0, 0; ; { // valid JSON: strings end
		switch {
		case i == len(m.raw):
			h.Write(m.raw[from:])
			return
		case m.raw[i] == '"':
			i = stringEnd(m.raw, i)
		case m.raw[i] == ' ' || m.raw[i] == '\n' || m.raw[i] == '\t' || m.raw[i] == '\r':
			h.Write(m.raw[from:i])
			i++
			from = i
		default:
			i++
		}
	}
}
