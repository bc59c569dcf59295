package transcript

import (
	"encoding/json"

	"varve.dev/message"
)

// metadataEvery is how many bytes of new log may follow a metadata block before
// it is appended again: the reference repeats it at a median of 37.9 kB, and a
// reader of the last 64 KiB must find it (T-9).
const metadataEvery = 32 << 10

// typeBridgeSession is metadata of the reference's remote control, which we only
// carry on.
const typeBridgeSession = "bridge-session"

// metadataOrder is the order of a block, the reference's with the types it never
// wrote together put beside their likes (FORMAT.md section 8).
var metadataOrder = [...]string{
	TypeLastPrompt, TypeCustomTitle, TypeAgentName, TypeAgentColor, TypeAgentSetting, TypeAITitle, TypeTag,
	TypeMode, TypePermissionMode, TypePRLink, TypeWorktreeState, typeBridgeSession,
}

// metadata is what a writer knows of its session's current metadata.
type metadata struct {
	slots [len(metadataOrder)]metaLine
	leaf  string // the newest main-chain entry since last-prompt was set, "" when none
	since int64  // bytes of log since the last block
}

// metaLine is an entry with its bytes, which stay when the log it was read from
// is closed. e is nil in an empty slot.
type metaLine struct {
	e   *Entry
	raw []byte
}

func metadataSlot(typ string) int {
	for i, t := range metadataOrder {
		if t == typ {
			return i
		}
	}
	return -1
}

// load takes the metadata that a resumed log has. Its distance from the end is
// not known and grows with every resume that dies early, so a block is due after
// the first message.
func (m *metadata) load(entries []*Entry) error {
	for _, e := range entries {
		i := metadataSlot(e.Type)
		if i < 0 {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return err
		}
		m.slots[i], m.since = metaLine{e, raw}, metadataEvery
	}
	return nil
}

// note takes one appended entry into account.
func (m *metadata) note(e *Entry, raw []byte) {
	m.since += int64(len(raw)) + 1
	if e.IsChain() {
		if !e.Sidechain {
			m.leaf = e.UUID
		}
		return
	}
	i := metadataSlot(e.Type)
	if i < 0 {
		return
	}
	m.slots[i] = metaLine{e, raw}
	if e.Type == TypeLastPrompt {
		m.leaf = ""
	}
}

// retract forgets an entry that was taken back.
func (m *metadata) retract(e *Entry) {
	if m.leaf == e.UUID && e.UUID != "" {
		m.leaf = e.ParentUUID
	}
	if i := metadataSlot(e.Type); i >= 0 && m.slots[i].e == e {
		m.slots[i] = metaLine{}
	}
}

func (m *metadata) due() bool { return m.since >= metadataEvery }

// block returns the current metadata, in order, and starts counting anew.
func (m *metadata) block() []metaLine {
	m.since = 0
	m.advance()
	var out []metaLine
	for _, line := range m.slots {
		if line.e != nil {
			out = append(out, line)
		}
	}
	return out
}

// advance makes the last-prompt entry point to the newest entry of the main
// chain. Repeated as it was, it would call readers back to an older leaf, and a
// rewind would happen a second time (S-7).
func (m *metadata) advance() {
	old := m.slots[0]
	if old.e == nil || m.leaf == "" {
		return
	}
	raw, err := Splice(old.raw, "leafUuid", message.AppendString(nil, m.leaf))
	if err == nil && rewinds(old.raw) {
		raw, err = Splice(raw, "varve", json.RawMessage(`{"rewind":false}`))
	}
	if err != nil {
		return // an entry of Parse can always be spliced; if not, it stays as it is
	}
	e, err := Parse(raw)
	if err != nil {
		return
	}
	m.slots[0], m.leaf = metaLine{e, raw}, ""
}

// rewinds is [Entry.IsRewind] for bytes.
func rewinds(raw []byte) bool {
	e, err := Parse(raw)
	return err == nil && e.IsRewind()
}

// userTitle reports whether a title that the user gave is in force.
func (m *metadata) userTitle() bool {
	e := m.slots[metadataSlot(TypeCustomTitle)].e
	if e == nil || generatedTitle(e) {
		return false
	}
	title, ok := e.metaValue()
	return ok && title != ""
}

// generatedTitle reports whether a custom-title is marked as not the user's own,
// by varve{generated:true}: such as the name of a worktree, which newer reference
// clients stamp as a title.
func generatedTitle(e *Entry) bool {
	var own struct {
		Generated bool `json:"generated"`
	}
	return json.Unmarshal(e.Own(), &own) == nil && own.Generated
}

// visible is the part of an entry's bytes that a model is shown.
func visible(e *Entry) int64 {
	switch e.Type {
	case TypeUser, TypeAssistant:
		return int64(e.body.to - e.body.from)
	case TypeAttachment:
		if b, ok := e.Field("rendered"); ok {
			return int64(len(b))
		}
		b, _ := e.Field("attachment")
		return int64(len(b))
	}
	return 0
}
