package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"varve.dev/message"
)

// Entry types that other parts of Varve ask for by name. Any other type is kept
// and passed on; the list of all that were ever seen is in
// docs/transcript-format.md.
const (
	TypeUser       = "user"
	TypeAssistant  = "assistant"
	TypeSystem     = "system"
	TypeAttachment = "attachment"
	TypeProgress   = "progress"

	TypeSummary            = "summary"
	TypeLastPrompt         = "last-prompt"
	TypeCustomTitle        = "custom-title"
	TypeAITitle            = "ai-title"
	TypeTag                = "tag"
	TypeAgentName          = "agent-name"
	TypeAgentColor         = "agent-color"
	TypeAgentSetting       = "agent-setting"
	TypeMode               = "mode"
	TypePermissionMode     = "permission-mode"
	TypeWorktreeState      = "worktree-state"
	TypePRLink             = "pr-link"
	TypeFileSnapshot       = "file-history-snapshot"
	TypeFileDelta          = "file-history-delta"
	TypeContentReplacement = "content-replacement"
	TypeQueueOperation     = "queue-operation"

	TypeReceipt = "varve-receipt"
	TypePartial = "varve-partial"
	TypeCovers  = "varve-covers"
)

// Subtypes of system entries.
const (
	SubCompactBoundary = "compact_boundary"
	SubMicrocompact    = "microcompact_boundary"
	SubFrame           = "varve_frame"
	SubStrip           = "varve_strip"
	SubRepair          = "varve_repair"
	SubUndo            = "varve_undo"
)

// Head is what the structural scan takes down of an entry: the members by which
// entries are linked and told apart. Members that the line does not have are
// zero.
type Head struct {
	Type, Subtype     string
	UUID, ParentUUID  string
	LogicalParentUUID string
	LeafUUID          string // last-prompt, summary
	SessionID         string
	AgentID           string
	Timestamp         string // RFC 3339 as written
	CWD               string
	Version           string
	GitBranch         string

	MessageID string   // message.id of an assistant entry
	Role      string   // message.role
	Calls     []string // ids of the tool_use blocks in the message
	Results   []string // tool_use_id of the tool_result blocks in the message

	HasParent      bool // the member parentUuid exists, null or not
	Sidechain      bool
	Meta           bool
	CompactSummary bool
	TranscriptOnly bool
	APIError       bool
	forked         bool // the member forkedFrom exists

	body span // the message member's value
	own  span // the varve member's value
}

// Entry is one record of a log. Its bytes never change.
type Entry struct {
	Head
	Line   int   // 1-based number of its line in the file; 0 when unknown
	Offset int64 // position of its first byte in the file; -1 when it is not in one
	Len    int   // bytes, without the newline

	raw    []byte
	src    io.ReaderAt
	seq    int    // position among the entries of its log
	parent *Entry // resolved parent, progress entries included; nil when none
	msg    *message.Message
	shown  *rendered // of an attachment, once it was asked for
	early  bool      // a child of this entry stands before it in the file
	childs bool      // a main-chain entry descends from it directly
	second bool      // an entry before it has the same uuid: that one counts

	part     *Entry // the next part of the same reply, in file order
	lastPart *Entry // of the first part: the last
}

// ErrNoMessage is returned by [Entry.Message] for an entry that carries none.
var ErrNoMessage = errors.New("transcript: entry has no message")

// Parse reads one line (without its newline). The bytes are kept and must not be
// changed afterwards. It fails only when the line is not one JSON object; [Read]
// mends what can be mended in damaged lines.
func Parse(line []byte) (*Entry, error) {
	e := &Entry{Offset: -1, Len: len(line), raw: line}
	i := skipSpace(line, 0)
	end, err := (*scanner)(nil).head(line, i, &e.Head)
	if err != nil {
		return nil, fmt.Errorf("transcript: parse line: %w", err)
	}
	if skipSpace(line, end) != len(line) {
		return nil, fmt.Errorf("transcript: parse line: %w: bytes follow the object", errSyntax)
	}
	return e, nil
}

// IsChain reports whether the entry takes part in the parent chain. Progress
// entries are transient: they are bridged, never part of a chain (T-8).
func (e *Entry) IsChain() bool {
	switch e.Type {
	case TypeUser, TypeAssistant, TypeSystem, TypeAttachment:
		return e.UUID != ""
	}
	return false
}

// IsBoundary reports whether the entry is a compaction boundary.
func (e *Entry) IsBoundary() bool {
	return e.Type == TypeSystem && e.Subtype == SubCompactBoundary
}

// Seq is the entry's position among the entries of its log, in file order.
func (e *Entry) Seq() int { return e.seq }

// Raw returns the exact bytes of the entry without its newline. They are shared:
// do not change them. An entry of a large log that was not loaded is read from
// its file at each call; [Log.Load] reads many at once and keeps them.
func (e *Entry) Raw() ([]byte, error) {
	if e.raw != nil {
		return e.raw, nil
	}
	return e.read(0, e.Len)
}

func (e *Entry) read(from, to int) ([]byte, error) {
	if e.raw != nil {
		return e.raw[from:to], nil
	}
	if e.src == nil {
		return nil, fmt.Errorf("transcript: entry %s: its log is closed", e.UUID)
	}
	b := make([]byte, to-from)
	if n, err := e.src.ReadAt(b, e.Offset+int64(from)); n < len(b) {
		return nil, fmt.Errorf("transcript: read entry at byte %d: %w", e.Offset, err)
	}
	return b, nil
}

// Field returns the raw value of a top-level member. Of a member that stands
// twice the last one counts, as in JSON.parse.
func (e *Entry) Field(name string) (json.RawMessage, bool) {
	raw, err := e.Raw()
	if err != nil {
		return nil, false
	}
	return field(raw, name)
}

func field(raw []byte, name string) (json.RawMessage, bool) {
	var found json.RawMessage
	m := openObject(raw, skipSpace(raw, 0))
	for m.next() {
		if string(m.key) == name {
			sp := m.value()
			found = json.RawMessage(raw[sp.from:sp.to])
		}
	}
	return found, found != nil && m.err == nil
}

// Decode unmarshals the whole entry into v, for callers that need many members.
func (e *Entry) Decode(v any) error {
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("transcript: entry %s: %w", e.ref(), err)
	}
	return nil
}

// Own returns the value of the member varve, in which Varve keeps its own facts
// about an entry; nil when there is none.
func (e *Entry) Own() json.RawMessage {
	if e.own.empty() {
		return nil
	}
	b, err := e.read(int(e.own.from), int(e.own.to))
	if err != nil {
		return nil
	}
	return b
}

// Message returns the message of a user or assistant entry. It is decoded once
// and kept. Of an entry that was not loaded only the message is read from disk.
func (e *Entry) Message() (*message.Message, error) {
	if e.msg != nil {
		return e.msg, nil
	}
	if e.body.empty() {
		return nil, ErrNoMessage
	}
	b, err := e.read(int(e.body.from), int(e.body.to))
	if err != nil {
		return nil, err
	}
	m, err := message.ParseOwned(b)
	if err != nil {
		return nil, fmt.Errorf("transcript: entry %s: %w", e.ref(), err)
	}
	e.msg = m
	return m, nil
}

// Forget drops what was decoded of the entry, which is decoded again when it is
// asked for: for entries that are not needed now, where memory counts.
func (e *Entry) Forget() { e.msg, e.shown = nil, nil }

// MessageRaw returns the exact bytes of the message member, nil when absent.
func (e *Entry) MessageRaw() (json.RawMessage, error) {
	if e.body.empty() {
		return nil, nil
	}
	return e.read(int(e.body.from), int(e.body.to))
}

// Time returns the entry's timestamp. Timestamps are shown and used for ages,
// never for order (S-7).
func (e *Entry) Time() (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, e.Timestamp)
	return t, err == nil
}

// ref names the entry for people: its line where known, else its byte offset.
func (e *Entry) ref() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("on line %d", e.Line)
	case e.Offset >= 0:
		return fmt.Sprintf("at byte %d", e.Offset)
	}
	return e.UUID
}

// Splice returns raw with the top-level member key set to value: replaced where
// it stands, else appended as the last member. Every other byte is kept. Of a
// member that stands more than once the last is replaced, since that is the one
// readers see.
func Splice(raw []byte, key string, value json.RawMessage) ([]byte, error) {
	var at span
	found := false
	m := openObject(raw, skipSpace(raw, 0))
	for m.next() {
		if string(m.key) == key {
			at, found = m.value(), true
		}
	}
	if m.err != nil {
		return nil, fmt.Errorf("transcript: splice %q: %w", key, m.err)
	}
	if found {
		out := make([]byte, 0, len(raw)+len(value))
		out = append(out, raw[:at.from]...)
		out = append(out, value...)
		return append(out, raw[at.to:]...), nil
	}
	last := len(bytes.TrimRight(raw[:m.end-1], " \t\r\n"))
	out := make([]byte, 0, len(raw)+len(value)+len(key)+4)
	out = append(out, raw[:last]...)
	if m.any {
		out = append(out, ',')
	}
	out = message.AppendString(out, key)
	out = append(out, ':')
	out = append(out, value...)
	return append(out, raw[last:]...), nil
}
