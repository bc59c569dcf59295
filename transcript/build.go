package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"varve.dev/message"
)

// Stamp holds what all entries of one session have in common. Its methods build
// entries whose members stand in the order that the reference writes (FORMAT.md
// section 10), so that other readers' shortcuts work on our files too. What is
// ours comes last, under the member varve.
//
// A Stamp is a plain value; copy it to change a member.
type Stamp struct {
	SessionID  string
	CWD        string
	Version    string // of the program that writes
	GitBranch  string
	Entrypoint string // cli, sdk; omitted when empty
	AgentID    string // in a sub-agent's file
	Sidechain  bool
	PromptID   string // same for all user entries of one turn; omitted when empty
	Slug       string // omitted when empty

	Now   func() time.Time // nil: time.Now
	NewID func() string    // nil: random UUIDv4
}

// Extra adds a member to an entry that is being built, behind the reference's
// own. Value must be JSON.
type Extra struct {
	Key   string
	Value json.RawMessage
}

// Own is the extra that holds Varve's own facts: v is marshalled under varve.
func Own(v any) Extra { return Extra{Key: "varve", Value: mustJSON(v)} }

// mustJSON marshals v as JSON.stringify would: nothing escaped that need not be.
func mustJSON(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only values of our own types come here; none of them can fail.
		panic(fmt.Sprintf("transcript: marshal %T: %v", v, err))
	}
	return unescapeSeparators(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// unescapeSeparators writes U+2028 and U+2029 as themselves, which encoding/json
// escapes even when it is told not to escape HTML and JSON.stringify does not.
func unescapeSeparators(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u202`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			out = append(out, b[i])
			continue
		}
		if i+6 <= len(b) && (string(b[i:i+6]) == `\u2028` || string(b[i:i+6]) == `\u2029`) {
			out = append(out, 0xE2, 0x80, 0xA0+(b[i+5]-'0')) // U+202n is E2 80 An in UTF-8
			i += 5
			continue
		}
		out = append(out, b[i], b[i+1])
		i++
	}
	return out
}

// object writes members in order.
type object struct{ b []byte }

func newObject() *object { return &object{b: append(make([]byte, 0, 512), '{')} }

func (o *object) raw(key string, v []byte) *object {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = message.AppendString(o.b, key)
	o.b = append(o.b, ':')
	o.b = append(o.b, v...)
	return o
}

func (o *object) str(key, v string) *object {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = message.AppendString(o.b, key)
	o.b = append(o.b, ':')
	o.b = message.AppendString(o.b, v)
	return o
}

// opt writes the member only when it has a value.
func (o *object) opt(key, v string) *object {
	if v == "" {
		return o
	}
	return o.str(key, v)
}

func (o *object) boolean(key string, v bool) *object {
	if v {
		return o.raw(key, []byte("true"))
	}
	return o.raw(key, []byte("false"))
}

func (o *object) parent(uuid string) *object {
	if uuid == "" {
		return o.raw("parentUuid", []byte("null"))
	}
	return o.str("parentUuid", uuid)
}

func (o *object) extras(xs []Extra) *object {
	for _, x := range xs {
		o.raw(x.Key, x.Value)
	}
	return o
}

// entry ends the object and parses it, so that an entry that was built and one
// that was read are the same kind of thing.
func (o *object) entry() *Entry {
	e, err := Parse(append(o.b, '}'))
	if err != nil {
		panic(fmt.Sprintf("transcript: built an entry that is not JSON: %v", err)) // extras were not JSON: a bug of the caller
	}
	return e
}

func (s Stamp) now() string {
	if s.Now != nil {
		return formatTime(s.Now())
	}
	return formatTime(time.Now())
}

func (s Stamp) id() string {
	if s.NewID != nil {
		return s.NewID()
	}
	return NewUUID()
}

// tail writes the members that end every chain entry.
func (s Stamp) tail(o *object) *object {
	return o.str("userType", "external").opt("entrypoint", s.Entrypoint).str("cwd", s.CWD).
		str("sessionId", s.SessionID).str("version", s.Version).str("gitBranch", s.GitBranch).opt("slug", s.Slug)
}

// User builds a user entry: a prompt, a tool result, or meta text. parent is the
// uuid of the entry before it, "" at a root.
func (s Stamp) User(parent string, m message.Message, extra ...Extra) *Entry {
	o := newObject().parent(parent).boolean("isSidechain", s.Sidechain).opt("promptId", s.PromptID).
		opt("agentId", s.AgentID).str("type", TypeUser).raw("message", m.JSON())
	pre, post := split(extra, "isMeta", "isVisibleInTranscriptOnly", "isCompactSummary")
	o.extras(pre).str("uuid", s.id()).str("timestamp", s.now())
	ref, ours := split(post, "permissionMode", "origin", "promptSource", "toolUseResult", "sourceToolUseID", "sourceToolAssistantUUID",
		"interruptedMessageId", "forkedFrom")
	return s.tail(o.extras(ref)).extras(ours).entry()
}

// split parts extras into those with one of the given keys, in the order of the
// keys, and the rest, in their own.
func split(xs []Extra, keys ...string) (in, out []Extra) {
	for _, k := range keys {
		for _, x := range xs {
			if x.Key == k {
				in = append(in, x)
			}
		}
	}
	for _, x := range xs {
		if !slices.Contains(keys, x.Key) {
			out = append(out, x)
		}
	}
	return in, out
}

// Assistant builds an assistant entry. m.Raw, when set, is written as it is.
func (s Stamp) Assistant(parent string, m message.Message, requestID string, extra ...Extra) *Entry {
	pre, post := split(extra, "attributionSkill", "attributionPlugin")
	ref, ours := split(post, "isApiErrorMessage", "error", "apiErrorStatus", "effort", "forkedFrom")
	o := newObject().parent(parent).boolean("isSidechain", s.Sidechain).raw("message", m.JSON()).
		opt("requestId", requestID).extras(pre).opt("agentId", s.AgentID).str("type", TypeAssistant).
		str("uuid", s.id()).str("timestamp", s.now()).extras(ref)
	return s.tail(o).extras(ours).entry()
}

// Attachment builds an attachment entry. rendered is what the model sees of it,
// block by block; it is the truth from then on, the attachment is for people.
func (s Stamp) Attachment(parent string, attachment json.RawMessage, rendered []string, extra ...Extra) *Entry {
	o := newObject().parent(parent).boolean("isSidechain", s.Sidechain).raw("attachment", attachment).
		opt("agentId", s.AgentID).str("type", TypeAttachment).str("uuid", s.id()).str("timestamp", s.now())
	if len(rendered) > 0 {
		list := []byte{'['}
		for i, r := range rendered {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, `{"content":`...)
			list = message.AppendString(list, r)
			list = append(list, '}')
		}
		o.raw("rendered", append(list, ']'))
	}
	return s.tail(o).extras(extra).entry()
}

// System builds a system entry of the given subtype.
func (s Stamp) System(parent, subtype, content, level string, extra ...Extra) *Entry {
	o := newObject().parent(parent).boolean("isSidechain", s.Sidechain).opt("agentId", s.AgentID).
		str("type", TypeSystem).str("subtype", subtype).opt("content", content)
	pre, ours := split(extra, "hookCount", "durationMs", "messageCount", "error", "retryInMs", "retryAttempt", "maxRetries")
	o.extras(pre).opt("level", level).str("timestamp", s.now()).str("uuid", s.id()).boolean("isMeta", false)
	return s.tail(o).extras(ours).entry()
}

// CompactBoundary builds a compaction boundary. leaf is the entry that the
// conversation ended with before; it becomes logicalParentUuid, and parentUuid is
// null. own is what Varve adds.
func (s Stamp) CompactBoundary(leaf string, b Boundary) *Entry {
	meta := newObject().str("trigger", b.Trigger).raw("preTokens", mustJSON(b.PreTokens))
	if b.PostTokens > 0 {
		meta.raw("postTokens", mustJSON(b.PostTokens))
	}
	if b.PreservedMessages != nil {
		meta.raw("preservedMessages", mustJSON(b.PreservedMessages))
	}
	o := newObject().parent("").str("logicalParentUuid", leaf).boolean("isSidechain", s.Sidechain).
		str("userType", "external").opt("entrypoint", s.Entrypoint).str("cwd", s.CWD).
		str("sessionId", s.SessionID).str("version", s.Version).str("gitBranch", s.GitBranch).opt("agentId", s.AgentID).
		opt("slug", s.Slug).str("type", TypeSystem).str("subtype", SubCompactBoundary).
		str("content", "Conversation compacted").boolean("isMeta", false).str("timestamp", s.now()).str("uuid", s.id()).
		str("level", "info").raw("compactMetadata", append(meta.b, '}'))
	return o.extras([]Extra{Own(b.Own)}).entry()
}

// MicrocompactBoundary builds a micro-compaction boundary (L2).
func (s Stamp) MicrocompactBoundary(parent string, m Microcompact) *Entry {
	ids, cleared := m.ToolIDs, m.ClearedAttachments
	if ids == nil {
		ids = []string{}
	}
	if cleared == nil {
		cleared = []string{}
	}
	meta := newObject().str("trigger", m.Trigger).raw("preTokens", mustJSON(m.PreTokens)).raw("tokensSaved", mustJSON(m.TokensSaved)).
		raw("compactedToolIds", mustJSON(ids)).raw("clearedAttachmentUUIDs", mustJSON(cleared))
	o := newObject().parent(parent).boolean("isSidechain", s.Sidechain).
		str("userType", "external").opt("entrypoint", s.Entrypoint).str("cwd", s.CWD).
		str("sessionId", s.SessionID).str("version", s.Version).str("gitBranch", s.GitBranch).opt("agentId", s.AgentID).
		opt("slug", s.Slug).str("type", TypeSystem).str("subtype", SubMicrocompact).
		str("content", "Context microcompacted").boolean("isMeta", false).str("timestamp", s.now()).str("uuid", s.id()).
		str("level", "info").raw("microcompactMetadata", append(meta.b, '}'))
	own := newObject().opt("placeholder", m.Placeholder).opt("thinking", m.Thinking)
	return o.extras([]Extra{{Key: "varve", Value: append(own.b, '}')}}).entry()
}

// Summary builds the user entry that stands for what a boundary covers.
func (s Stamp) Summary(boundary string, m message.Message, extra ...Extra) *Entry {
	t := json.RawMessage("true")
	return s.User(boundary, m, append([]Extra{{"isVisibleInTranscriptOnly", t}, {"isCompactSummary", t}}, extra...)...)
}

// Meta builds a one-valued metadata side entry: a title, a tag, a mode. It is for
// the types in which the value is one string named after the type.
func (s Stamp) Meta(typ, value string) *Entry {
	return newObject().str("type", typ).str(metaKeys[typ], value).str("sessionId", s.SessionID).entry()
}

// LastPrompt builds the pointer entry. prompt may be empty; rewind marks a
// deliberate choice of an older leaf.
func (s Stamp) LastPrompt(prompt, leaf string, rewind bool) *Entry {
	o := newObject().str("type", TypeLastPrompt).opt("lastPrompt", prompt).opt("leafUuid", leaf).str("sessionId", s.SessionID)
	if rewind {
		o.raw("varve", []byte(`{"rewind":true}`))
	}
	return o.entry()
}

// PRLink builds a pr-link entry.
func (s Stamp) PRLink(p PRLink) *Entry {
	return newObject().str("type", TypePRLink).str("sessionId", s.SessionID).raw("prNumber", mustJSON(p.Number)).
		str("prUrl", p.URL).str("prRepository", p.Repository).str("timestamp", s.now()).entry()
}

// WorktreeState builds a worktree-state entry; nil says explicitly that the
// session is in none.
func (s Stamp) WorktreeState(w *WorktreeSession) *Entry {
	return newObject().str("type", TypeWorktreeState).raw("worktreeSession", mustJSON(w)).str("sessionId", s.SessionID).entry()
}

// Replacements builds a content-replacement entry.
func (s Stamp) Replacements(rs ...Replacement) *Entry {
	return newObject().str("type", TypeContentReplacement).str("sessionId", s.SessionID).opt("agentId", s.AgentID).
		raw("replacements", mustJSON(rs)).entry()
}

// Side builds a side entry of any type, ours above all: the members of v (a
// struct or map that marshals to an object) behind type and sessionId.
func (s Stamp) Side(typ string, v any) *Entry {
	o := newObject().str("type", typ).str("sessionId", s.SessionID)
	body := mustJSON(v)
	m := openObject(body, 0)
	for m.next() {
		key := string(m.key)
		sp := m.value()
		o.raw(key, body[sp.from:sp.to])
	}
	return o.entry()
}
