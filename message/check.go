package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Violation is one thing about a conversation that the API refuses, or that would lose what a model said.
type Violation struct {
	Rule   string // one of the Rule constants; stable
	Path   string // where, in the API's own notation: "messages.3.content.1"; the numbers are indexes into the slice given to Check
	Detail string // for people
}

func (v Violation) String() string { return v.Path + ": " + v.Detail + " [" + v.Rule + "]" }

// The rules of [Check]. Where the API has a text of its own, the comment quotes it; the other
// rules come from the documentation of tool use, server tools and compaction.
const (
	RuleNoMessages      = "no-messages"          // there is nothing to send
	RuleRole            = "role"                 // a role that is not user, assistant or system
	RuleFirstRole       = "first-role"           // the first message is neither from the user nor a server's compaction
	RuleCompaction      = "compaction"           // a second compaction block beside one that stands first
	RuleSystemPosition  = "system-position"      // a system message that does not stand between a user and an assistant turn
	RuleSplitReply      = "split-reply"          // parts of one message.id with messages of others between them (C-15)
	RuleEmptyContent    = "empty-content"        // a message without content (only a final assistant message and a system message may be)
	RuleEmptyText       = "empty-text"           // "text content blocks must be non-empty", "must contain non-whitespace text"
	RuleBlockType       = "block-type"           // a block that is not an object with a type
	RuleBlockRole       = "block-role"           // a call or reasoning outside an assistant message, a result outside a user message
	RuleUnicode         = "unicode"              // a lone surrogate or invalid UTF-8 (anthropics/claude-code#68325)
	RuleToolID          = "tool-id"              // an id that is not [A-Za-z0-9_-]+
	RuleToolName        = "tool-name"            // no name, or "String should have at most 200 characters"
	RuleToolInput       = "tool-input"           // an input that is not an object (QwenLM/qwen-code#7377)
	RuleToolUseRepeated = "tool-use-repeated"    // "`tool_use` ids must be unique"
	RuleToolUseOpen     = "tool-use-open"        // "`tool_use` ids were found without `tool_result` blocks immediately after"
	RuleResultOrphan    = "result-orphan"        // "unexpected `tool_use_id` found in `tool_result` blocks"
	RuleResultRepeated  = "result-repeated"      // two results for one call
	RuleResultOrder     = "result-order"         // results that do not come first in their user turn
	RuleMixedTurn       = "mixed-turn"           // text beside the results while a server tool's call is still open
	RuleServerOpen      = "server-call-open"     // a server tool's call that an earlier reply left without its result
	RuleServerOrphan    = "server-result-orphan" // a server tool's result without its call before it
	RuleThinkingOnly    = "thinking-only"        // a reply of nothing but reasoning (anthropics/claude-code#10199)
	RuleThinkingLast    = "thinking-last"        // "The final block in an assistant message cannot be `thinking`", in the last message
)

// maxToolName is the API's limit on the name of a recorded call, in characters: "String should have at most 200 characters".
const maxToolName = 200

// IsBlank reports whether the API takes s for a text without content: empty or whitespace only, the latter as Unicode and Python
// (whose strip the API uses) see it.
func IsBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && (r < 0x1c || r > 0x1f) }) < 0
}

// Check tells what of a conversation the Messages API would refuse, in the order of the messages; nil means that it may be sent.
// The API merges consecutive messages of one role, so the rules that look at neighbours look at the merged turns. Whether the model
// accepts a conversation that ends with the assistant, system messages in the middle, or reasoning of another model depends on
// the model, and is not checked here; nor is whether the bytes of reasoning are still those that were received.
//
// As the one exception to "the first message is the user's" the first message may be the server's compaction, and the only
// one (C-15). Calls of server tools are not answered by the user: their results stand in assistant messages.
func Check(ms []Message) []Violation {
	c := checker{ms: ms}
	if len(ms) == 0 {
		c.report(RuleNoMessages, place{0, whole}, "a conversation needs at least one message")
		return c.violations()
	}
	c.first()
	for i := range ms {
		c.message(i)
	}
	c.sequence()
	return c.violations()
}

// member returns the value of the last member called name of the JSON object raw, nil when there is none.
func member(raw []byte, name string) []byte {
	s := scanner{data: raw}
	cur, err := s.open(s.space(0), '{')
	if err != nil {
		return nil
	}
	var v []byte
	for cur.next() {
		at := cur.pos
		if cur.pos, err = s.value(at); err != nil {
			return nil
		}
		if string(cur.name()) == name {
			v = raw[at:cur.pos]
		}
	}
	return v
}

// place is a block's position: ms[msg].Content[block]; block is whole when the message itself is meant.
type place struct{ msg, block int }

const whole = -1

type finding struct {
	at place
	v  Violation
}

// checker holds one run of Check: message checks messages and blocks by themselves, sequence (in sequence.go) what follows what.
type checker struct {
	ms    []Message
	found []finding
}

func (c *checker) report(rule string, at place, format string, args ...any) {
	path := fmt.Sprintf("messages.%d", at.msg)
	if at.block != whole {
		path += fmt.Sprintf(".content.%d", at.block)
	}
	c.found = append(c.found, finding{at, Violation{Rule: rule, Path: path, Detail: fmt.Sprintf(format, args...)}})
}

// violations returns what was found in the order of the messages.
func (c *checker) violations() []Violation {
	slices.SortStableFunc(c.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at.msg, b.at.msg), cmp.Compare(a.at.block, b.at.block))
	})
	var out []Violation
	for _, f := range c.found {
		out = append(out, f.v)
	}
	return out
}

func (c *checker) first() {
	m := &c.ms[0]
	if m.Role == RoleUser {
		return
	}
	if m.Role != RoleAssistant || len(m.Content) == 0 || !isSummary(m.Content[0]) {
		c.report(RuleFirstRole, place{0, whole}, "the first message is from %q, want a user message or a server's compaction", m.Role)
		return
	}
	for i, m := range c.ms {
		for j, b := range m.Content {
			if b.Type == TypeCompaction && (i > 0 || j > 0) {
				c.report(RuleCompaction, place{i, j}, "a second compaction beside the one that stands first")
			}
		}
	}
}

// isSummary reports whether b is a compaction that succeeded: content null is a failed one, which comes as a success and stands
// for nothing.
func isSummary(b Block) bool {
	if b.Type != TypeCompaction {
		return false
	}
	s, ok := text(member(b.Raw, "content"))
	return ok && s != ""
}

func (c *checker) message(i int) {
	m := &c.ms[i]
	at := place{i, whole}
	switch m.Role {
	case RoleUser, RoleAssistant, RoleSystem:
	default:
		c.report(RuleRole, at, "unknown role %q", m.Role)
	}
	optional := m.Role == RoleSystem || m.Role == RoleAssistant && i == len(c.ms)-1
	if len(m.Content) == 0 && !optional {
		c.report(RuleEmptyContent, at, "the message has no content")
	}
	for j := range m.Content {
		c.block(m.Role, &m.Content[j], place{i, j})
	}
}

func (c *checker) block(role Role, b *Block, at place) {
	if b.Type == "" {
		c.report(RuleBlockType, at, "not a content block with a type")
	}
	if !b.IsUnicode() {
		c.report(RuleUnicode, at, "the block holds text that is not Unicode")
	}
	if want := onlyRole(b); want != "" && want != role {
		c.report(RuleBlockRole, at, "a %s block in a message of role %q", b.Type, role)
	}
	switch {
	case b.Type == TypeText && IsBlank(b.Text):
		c.report(RuleEmptyText, at, "text must contain non-whitespace text")
	case b.Type == TypeToolUse || b.IsServerCall():
		c.call(b, at)
	case b.Type == TypeToolResult && !b.StringContent:
		for k, in := range b.Content {
			switch {
			case in.Type == "":
				c.report(RuleBlockType, at, "content.%d of the result is not a content block with a type", k)
			case in.Type == TypeText && in.Text == "":
				c.report(RuleEmptyText, at, "content.%d of the result is an empty text", k)
			}
		}
	}
}

// onlyRole returns the role whose messages alone may hold b, "" when there is no such rule.
func onlyRole(b *Block) Role {
	switch {
	case b.Type == TypeToolResult:
		return RoleUser
	case b.Type == TypeToolUse, b.Type == TypeCompaction, b.IsServerCall(), b.IsThinking():
		return RoleAssistant
	}
	return ""
}

// call checks the members of a tool call. The API's pattern for ids has no limit of length; [ValidID] has one, for other providers.
func (c *checker) call(b *Block, at place) {
	if b.ID == "" || strings.IndexFunc(b.ID, func(r rune) bool { return r > 0x7f || !isIDByte(byte(r)) }) >= 0 {
		c.report(RuleToolID, at, "the id %q is not [A-Za-z0-9_-]+", b.ID)
	}
	if n := utf8.RuneCountInString(b.Name); n == 0 || n > maxToolName {
		c.report(RuleToolName, at, "the name has %d characters, want 1 to %d", n, maxToolName)
	}
	if len(b.Input) == 0 || b.Input[0] != '{' {
		c.report(RuleToolInput, at, "the input is not a JSON object")
	}
}
