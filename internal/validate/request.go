package validate

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A Request is what is sent, in pieces. The bytes must not be changed afterwards: a [Guard] compares later requests with them.
type Request struct {
	System   json.RawMessage   // a string, an array of text blocks, or nil
	Tools    json.RawMessage   // an array of definitions, or nil
	Messages []json.RawMessage // each an object {"role":…,"content":…}

	Size      int  // of the whole body in bytes; 0 means the sum of the above
	AutoCache bool // the body has a cache_control of its own, which takes one of the four places
	Summarize bool // the body has a member compaction: the reply continues nothing, it is a summary (API.md 2.2)
	Manual    bool // thinking is {"type":"enabled"}: the final assistant turn must start with it
}

// Parse takes the body of a request apart: an object with messages and perhaps system and tools, or a plain array of messages.
func Parse(body []byte) (Request, error) {
	r := Request{Size: len(body)}
	if list, err := parseArray(body); err == nil {
		r.Messages = list
		return r, nil
	}
	o, err := parseObject(body)
	if err != nil {
		return r, fmt.Errorf("validate: the body is neither a request nor an array of messages: %w", err)
	}
	if raw := o.get("messages"); given(raw) {
		if r.Messages, err = parseArray(raw); err != nil {
			return r, fmt.Errorf("validate: messages: %w", err)
		}
	}
	if raw := o.get("system"); given(raw) {
		r.System = raw
	}
	if raw := o.get("tools"); given(raw) {
		r.Tools = raw
	}
	r.AutoCache = given(o.get("cache_control"))
	r.Summarize = given(o.get("compaction"))
	if raw := o.get("thinking"); given(raw) {
		th, _ := parseObject(raw)
		typ, _ := th.str("type")
		r.Manual = typ == "enabled"
	}
	return r, nil
}

// Check names what is wrong with the body of one request, in the order of the request; nil means that it may be sent.
func Check(body []byte, opt Options) []Violation { return CheckAfter(nil, body, opt) }

// An Exchange is a request that was answered.
type Exchange struct {
	Request []byte // as [Parse] takes it
	Reply   []byte // the assistant message as it is sent back from now on, or only its content
}

// CheckAfter is [Check] for a request that follows others, oldest first, so that [Options].Bound and AppendOnly have something to
// compare with. A past request that cannot be read is a violation of its own, at "history.N".
func CheckAfter(history []Exchange, body []byte, opt Options) []Violation {
	g := NewGuard(opt)
	var out []Violation
	for i, x := range history {
		past, err := Parse(x.Request)
		if err == nil {
			err = g.Received(past, x.Reply)
		}
		if err != nil {
			out = append(out, Violation{RuleJSON, fmt.Sprintf("history.%d", i), err.Error()})
		}
	}
	r, err := Parse(body)
	if err != nil {
		return append(out, Violation{RuleJSON, "", err.Error()})
	}
	return append(out, g.Check(r)...)
}

// frame is what was found in system and tools.
type frame struct {
	system, tools json.RawMessage
	found         []Violation
	marks         []mark
	items         [frameItems]item
}

// The items of the frame stand first in the list of a request's items.
const (
	frameItems = 2
	atSystem   = -2
	atTools    = -1
)

func (l *looker) frame(r Request) *frame {
	f := &frame{system: r.System, tools: r.Tools}
	s := &seen{role: "system"} // collects the system blocks as if they were a message
	if len(r.System) == 0 || json.Valid(r.System) {
		l.content(s, r.System, isUnicode(r.System))
	} else {
		s.report("", RuleJSON, "not JSON")
	}
	h := l.hash("")
	for _, it := range s.items {
		l.addSum(h, it.sum)
	}
	f.items[0] = item{sum: h.Sum64(), msg: atSystem, block: whole}
	f.take(s, "system", len(`.content`))
	t := &seen{}
	f.items[1] = item{sum: l.tools(t, r.Tools), msg: atTools, block: whole}
	f.take(t, "tools", 0)
	slices.SortStableFunc(f.marks, func(a, b mark) int { return order(a.path) - order(b.path) })
	return f
}

// order sorts tools before system, the order in which the API reads them.
func order(path string) int {
	if path[0] == 't' {
		return 0
	}
	return 1
}

// take moves what was found at paths below s to paths below the frame's member called name; cut is what these paths have too much.
func (f *frame) take(s *seen, name string, cut int) {
	for _, v := range s.found {
		v.Path = name + v.Path[min(cut, len(v.Path)):]
		f.found = append(f.found, v)
	}
	for _, m := range s.marks {
		m.path = name + m.path[min(cut, len(m.path)):]
		f.marks = append(f.marks, m)
	}
}

// tools looks at the definitions and returns their sum. Tools that are loaded later are no part of the prefix (API.md 1.6).
func (l *looker) tools(s *seen, raw json.RawMessage) uint64 {
	h := l.hash("")
	if !given(raw) {
		return h.Sum64()
	}
	list, err := parseArray(raw)
	if err != nil {
		s.report("", RuleJSON, "%v", err)
		return h.Sum64()
	}
	names := map[string]bool{}
	for i, raw := range list {
		at := fmt.Sprintf(".%d", i)
		o, err := parseObject(raw)
		if err != nil {
			s.report(at, RuleType, "not a tool definition: %v", err)
			continue
		}
		if !isUnicode(raw) {
			s.report(at, RuleUnicode, "the definition holds text that is not Unicode")
		}
		if name, ok := o.str("name"); ok {
			if !matches(name, maxDefinedName) {
				s.report(at, RuleName, "the name %q does not match ^[a-zA-Z0-9_-]{1,%d}$", name, maxDefinedName)
			}
			if names[name] {
				s.report(at, RuleTwice, "Tool names must be unique: %q", name)
			}
			names[name] = true
		} else if o.get("type") == nil {
			s.report(at, RuleName, "a tool without a name")
		}
		l.mark(s, o, other, at)
		if string(o.get("defer_loading")) == "true" {
			continue
		}
		h.WriteByte('[')
		for _, m := range o {
			if m.name != "cache_control" {
				l.add(h, m)
			}
		}
	}
	return h.Sum64()
}
