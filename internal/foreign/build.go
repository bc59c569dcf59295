package foreign

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// builder collects the entries of one session. Replies are built up from the
// agent's records and flushed when something follows that is not part of them.
type builder struct {
	s    *Session
	leaf string // uuid of the newest chain entry
	line int    // of the record at hand; 0 in documents

	at     time.Time // of the newest record that has one
	branch string    // of git
	used   map[string]int

	reply   *reply
	results []pending // of calls, held until the reply before them is whole
}

// reply is an answer of a model that is being collected.
type reply struct {
	key      string // what its uuid and message id come from
	model    string
	provider string
	stop     string
	at       time.Time
	blocks   []message.Block
	opaque   []json.RawMessage // records kept as they are: reasoning, calls on the provider's side
	usage    *message.Usage
}

// pending is an entry of the user's side that follows the open reply.
type pending struct {
	key   string
	at    time.Time
	block message.Block
}

func newBuilder(f Format) *builder {
	return &builder{s: &Session{Format: f, Skipped: map[string]int{}}, used: map[string]int{}}
}

func (b *builder) fault(path, detail string) {
	b.s.Faults = append(b.s.Faults, Fault{Line: b.line, Path: path, Detail: detail})
}

func (b *builder) skip(what string) { b.s.Skipped[what]++ }

// saw notes the time of a record. Zero times change nothing.
func (b *builder) saw(t time.Time) {
	if t.IsZero() {
		return
	}
	b.at = t
	if b.s.Started.IsZero() {
		b.s.Started = t
	}
}

// lineKey names the record at hand.
func (b *builder) lineKey() string { return "line " + strconv.Itoa(b.line) }

// uuid derives a uuid from the session and a key. It has the shape of version 8,
// whose contents are free (RFC 9562, section 5.8).
func (b *builder) uuid(key string) string {
	b.used[key]++
	if n := b.used[key]; n > 1 {
		key += " #" + strconv.Itoa(n)
	}
	h := sha256.Sum256([]byte(string(b.s.Format) + "\x00" + b.s.ID + "\x00" + key))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

func (b *builder) stamp(id string, at time.Time) transcript.Stamp {
	return transcript.Stamp{SessionID: b.s.ID, CWD: b.s.CWD, Version: b.s.Version, GitBranch: b.branch,
		Now: func() time.Time { return at }, NewID: func() string { return id }}
}

func (b *builder) add(e *transcript.Entry) string {
	b.s.Entries = append(b.s.Entries, e)
	if e.IsChain() {
		b.leaf = e.UUID
	}
	return e.UUID
}

// user adds what stands on the user's side. meta says that no person wrote it.
func (b *builder) user(key string, meta bool, blocks ...message.Block) string {
	b.flush()
	if len(blocks) == 0 {
		return b.leaf
	}
	var extra []transcript.Extra
	if meta {
		extra = append(extra, transcript.Extra{Key: "isMeta", Value: json.RawMessage("true")})
	}
	m := message.UserBlocks(blocks...)
	if len(blocks) == 1 && message.IsText(blocks[0]) {
		m = message.User(blocks[0].Text)
	}
	return b.add(b.stamp(b.uuid(key), b.at).User(b.leaf, m, extra...))
}

// stand moves the place where the conversation goes on to an older entry, and
// records that as a choice, so that the log ends there also when nothing follows.
func (b *builder) stand(leaf string) {
	b.flush()
	if leaf == b.leaf {
		return
	}
	if leaf != "" {
		b.add(b.stamp("", b.at).LastPrompt("", leaf, true))
	}
	b.leaf = leaf
}

// notice keeps what the agent told the person and not the model.
func (b *builder) notice(key, text string) {
	b.flush()
	if !message.IsBlank(text) {
		b.add(b.stamp(b.uuid(key), b.at).System(b.leaf, "informational", text, "info"))
	}
}

// open returns the reply that is being collected, a new one when there is none.
func (b *builder) open(key string) *reply {
	if b.reply == nil {
		b.reply = &reply{key: key, at: b.at}
	}
	return b.reply
}

// call adds a tool call to the open reply. Its input is kept word for word beside
// the call when it is not an object.
func (b *builder) call(r *reply, path, id, name string, input json.RawMessage) {
	if name == "" {
		name = "unknown"
	}
	if cut := []rune(name); len(cut) > 200 { // the provider's limit for a name in a call
		b.fault(path, "the name of a call has more than 200 characters and was cut")
		name = string(cut[:200])
	}
	block, err := message.ToolUse(message.CanonicalID(id), name, input)
	if err != nil {
		b.fault(path, fmt.Sprintf("the input of call %s is not an object; it is kept beside the call", id))
		r.opaque = append(r.opaque, mustJSON(map[string]string{"type": "input", "call": id, "input": string(input)}))
	}
	r.blocks = append(r.blocks, block)
}

// result answers a call. It waits for the end of the open reply.
func (b *builder) result(key, id string, isError bool, blocks ...message.Block) {
	block := message.ToolResult(message.CanonicalID(id), isError, blocks...)
	b.results = append(b.results, pending{key, b.at, block})
}

// flush ends the open reply and returns the uuid of the newest chain entry.
func (b *builder) flush() string {
	if r := b.reply; r != nil {
		b.reply = nil
		b.write(r)
	}
	results := b.results
	b.results = nil
	for _, p := range results {
		b.add(b.stamp(b.uuid(p.key), p.at).User(b.leaf, message.UserBlocks(p.block)))
	}
	return b.leaf
}

func (b *builder) write(r *reply) {
	if len(r.blocks) == 0 {
		if len(r.opaque) > 0 {
			b.skip("reply of reasoning alone")
		} else {
			b.skip("reply without content")
		}
		return
	}
	id := b.uuid(r.key)
	m := message.Assistant(r.blocks...)
	m.ID = "msg_" + strings.ReplaceAll(id, "-", "")[:24]
	m.Model, m.StopReason, m.Usage = r.model, r.stop, r.usage
	if m.StopReason == "" {
		m.StopReason = "end_turn"
		for _, x := range r.blocks {
			if x.Type == message.TypeToolUse {
				m.StopReason = "tool_use"
			}
		}
	}
	if r.model != "" {
		b.s.Model = r.model
	}
	own := struct {
		Provider string            `json:"provider,omitempty"`
		Agent    Format            `json:"agent"`
		Foreign  []json.RawMessage `json:"foreign,omitempty"`
	}{r.provider, b.s.Format, r.opaque}
	b.add(b.stamp(id, r.at).Assistant(b.leaf, m, "", transcript.Own(own)))
}

// compacted adds a boundary behind the leaf and the summary that stands for what
// came before it. kept are the older entries that stay, oldest first.
func (b *builder) compacted(key, trigger string, tokens int64, kept []string, opaque []json.RawMessage, summary ...message.Block) string {
	b.flush()
	if b.leaf == "" {
		b.skip("compaction of nothing")
	}
	at, id := b.uuid(key), b.uuid(key+" summary")
	bound := transcript.Boundary{Trigger: trigger, PreTokens: tokens, Own: transcript.BoundaryOwn{Rung: string(b.s.Format), CoversLeaf: b.leaf}}
	if len(kept) > 0 {
		bound.PreservedMessages = &transcript.PreservedMessages{AnchorUUID: id, UUIDs: kept}
	}
	b.add(b.stamp(at, b.at).CompactBoundary(b.leaf, bound))
	own := struct {
		Source  string            `json:"source"`
		Foreign []json.RawMessage `json:"foreign,omitempty"`
	}{string(b.s.Format), opaque}
	m := message.UserBlocks(summary...)
	if len(summary) == 1 && message.IsText(summary[0]) {
		m = message.User(summary[0].Text)
	}
	return b.add(b.stamp(id, b.at).Summary(at, m, transcript.Own(own)))
}

// media returns the block of a data URL or of base64 data, false for what no
// model takes.
func media(kind, data string) (message.Block, bool) {
	if head, body, ok := strings.Cut(data, ","); ok && strings.HasPrefix(head, "data:") {
		kind, data = strings.TrimSuffix(strings.TrimPrefix(head, "data:"), ";base64"), body
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return message.Block{}, false
	}
	switch kind {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return message.Image(kind, raw), true
	case "application/pdf":
		return message.Document(kind, raw), true
	}
	return message.Block{}, false
}

// texts drops blank blocks, which no provider takes.
func texts(ss ...string) (out []message.Block) {
	for _, s := range ss {
		if !message.IsBlank(s) {
			out = append(out, message.Text(s))
		}
	}
	return out
}

// mustJSON marshals values of our own types, none of which can fail.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

// when reads a time that is written as RFC 3339 or as milliseconds.
func when(raw json.RawMessage) time.Time {
	if s, ok := text(raw); ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return time.Time{}
		}
		return t.UTC()
	}
	var ms float64
	if json.Unmarshal(raw, &ms) == nil && ms > 0 && ms < 253402300800000 { // the year 10000
		return time.UnixMilli(int64(ms)).UTC()
	}
	return time.Time{}
}

// count reads a number of tokens: never negative, whatever the recording says.
func count(n json.Number) int64 {
	f, err := n.Float64()
	if err != nil || !(f > 0) {
		return 0
	}
	return int64(min(f, 1<<53)) // the largest exact integer of a JSON number
}
