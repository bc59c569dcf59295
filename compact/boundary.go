package compact

import (
	"bytes"
	"encoding/json"
	"slices"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Loss is what left the view with a compaction (G-3). It stands on the boundary.
type Loss struct {
	Messages int            `json:"messages"`
	Tokens   int            `json:"tokens"`
	Kinds    map[string]int `json:"kinds"`             // tokens by kind of block
	Entries  []LostEntry    `json:"entries,omitempty"` // the largest, at most 200
	More     int            `json:"more,omitempty"`    // how many entries are not listed
}

// LostEntry is one entry that left the view.
type LostEntry struct {
	UUID   string `json:"uuid"`
	Kind   string `json:"kind"`
	Tokens int    `json:"tokens"`
}

// maxLost bounds the list on a boundary; Recall finds what is not on it.
const maxLost = 200

// loss lists what of the view is not among the kept entries.
func (j *job) loss(kept map[string]bool) Loss {
	out := Loss{Kinds: map[string]int{}}
	at := make(map[string]int, len(j.View.Messages))
	for mi := range j.View.Messages {
		m, lost := &j.View.Messages[mi], false
		for k := range m.Blocks {
			b := &m.Blocks[k]
			if kept[b.Entry] {
				continue
			}
			n := j.Weigh(j.Size(b.Block))
			out.Tokens += n
			out.Kinds[b.Type] += n
			lost = true
			if last := len(out.Entries) - 1; last >= 0 && out.Entries[last].UUID == b.Entry {
				out.Entries[last].Tokens += n
			} else if i, ok := at[b.Entry]; ok {
				out.Entries[i].Tokens += n
			} else if b.Entry != "" {
				at[b.Entry] = len(out.Entries)
				out.Entries = append(out.Entries, LostEntry{b.Entry, b.Type, n})
			}
		}
		if lost {
			out.Messages++
		}
	}
	if n := len(out.Entries) - maxLost; n > 0 {
		out.Entries, out.More = largest(out.Entries, maxLost), n
	}
	return out
}

// largest returns the n largest of es, in their order.
func largest(es []LostEntry, n int) []LostEntry {
	sizes := make([]int, len(es))
	for i, e := range es {
		sizes[i] = e.Tokens
	}
	cut := nth(sizes, n)
	out := make([]LostEntry, 0, n)
	for _, e := range es {
		if e.Tokens > cut && len(out) < n {
			out = append(out, e)
		}
	}
	for _, e := range es {
		if e.Tokens == cut && len(out) < n {
			out = append(out, e)
		}
	}
	return out
}

// edit is a compaction to be written.
type edit struct {
	rung, source string
	text         string   // of the summary, ready to be sent
	kept         []string // uuids of entries that stay, in the order of the view
	head         bool     // the kept entries stand before the summary (from)
	attach       []Attachment

	native *Native // what the provider is sent in place of the text
	added  string  // what a provider's summary leaves out: it stands directly behind it
}

// entries builds the entries of a compaction: boundary, summary, attachments, in
// one write (C-13).
func (j *job) entries(ed edit) []*transcript.Entry {
	keep := make(map[string]bool, len(ed.kept))
	for _, u := range ed.kept {
		keep[u] = true
	}
	boundaryID, summaryID := j.id(), j.id()
	anchorID := summaryID
	if ed.added != "" {
		anchorID = j.id()
	}
	own := transcript.BoundaryOwn{Rung: ed.rung, Cause: j.Cause, CoversLeaf: j.View.Leaf, CoversHash: j.hash(), Thinking: "keep", Frame: j.Frame.ID}
	if loss, err := json.Marshal(j.loss(keep)); err == nil {
		own.Loss = loss
	}
	if len(ed.kept) > 0 && ed.native == nil && (j.Caps.PrefixBound && !ed.head || j.stripped(ed.kept)) {
		own.Thinking = "strip" // what stood before the kept part is gone (C-0), or was stripped before
	}
	trigger := "auto"
	if j.Cause == CauseManual {
		trigger = "manual"
	}
	b := transcript.Boundary{Trigger: trigger, PreTokens: int64(j.Total)}
	if len(ed.kept) > 0 {
		anchor := anchorID
		if ed.head {
			anchor = boundaryID
		}
		b.PreservedMessages = &transcript.PreservedMessages{AnchorUUID: anchor, UUIDs: ed.kept}
		own.KeptOffsets = map[string]int64{}
		for _, u := range ed.kept {
			if off := j.Offset(u); off > 0 {
				own.KeptOffsets[u] = off
			}
		}
	}
	b.Own = own
	facts := j.checkpoint()
	build := func(b transcript.Boundary) []*transcript.Entry {
		out := []*transcript.Entry{j.stampWith(boundaryID).CompactBoundary(j.View.Leaf, b),
			j.stampWith(summaryID).Summary(boundaryID, message.User(ed.text), summaryOwn{ed.source, ed.native}.extra())}
		parent := summaryID
		if ed.added != "" {
			out, parent = append(out, j.stampWith(anchorID).Attachment(summaryID, factsAttachment, []string{ed.added}, transcript.OfBoundary(boundaryID))), anchorID
		}
		for _, a := range ed.attach {
			e := j.Stamp.Attachment(parent, a.What, a.Rendered, transcript.OfBoundary(boundaryID))
			out, parent = append(out, e), e.UUID
		}
		return append(out, facts...)
	}
	t := j.Try(build(b))
	b.PostTokens = int64(t.Tokens)
	out := build(b)
	j.tried[out[0]] = tried{t, keep} // the figure on the boundary changes no view
	return out
}

// stripped reports whether reasoning of kept entries left the view by an edit, which
// does not reach them any more behind the new boundary.
func (j *job) stripped(kept []string) bool {
	shown := make(map[string]bool)
	for i := range j.View.Messages {
		for k := range j.View.Messages[i].Blocks {
			if b := &j.View.Messages[i].Blocks[k]; b.IsThinking() {
				shown[b.Entry] = true
			}
		}
	}
	for _, u := range kept {
		e := j.Log.ByUUID(u)
		if e == nil || e.Type != transcript.TypeAssistant || shown[u] {
			continue
		}
		m, err := e.Message()
		if err == nil && slices.ContainsFunc(m.Content, func(b message.Block) bool { return b.IsThinking() }) {
			return true
		}
	}
	return false
}

// summaryOwn is what Varve adds to a summary entry.
type summaryOwn struct {
	Source string  `json:"source"`
	Native *Native `json:"native,omitempty"`
}

// extra is the member of the entry. A provider's items keep their bytes, which
// encoding/json would not.
func (s summaryOwn) extra() transcript.Extra {
	own := transcript.Own(s)
	if s.Native == nil {
		return own
	}
	quoted := func(v string) []byte { return transcript.Own(v).Value }
	b := append([]byte(`{"source":`), quoted(s.Source)...)
	b = append(append(b, `,"native":{"provider":`...), quoted(s.Native.Provider)...)
	b = append(b, `,"items":[`...)
	for i, raw := range s.Native.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if bytes.ContainsAny(raw, "\r\n") { // a record is one line
			var line bytes.Buffer
			if json.Compact(&line, raw) != nil {
				return own
			}
			raw = line.Bytes()
		}
		b = append(b, raw...)
	}
	own.Value = append(b, "]}}"...)
	return own
}

func (j *job) id() string {
	if j.Stamp.NewID != nil {
		return j.Stamp.NewID()
	}
	return transcript.NewUUID()
}

func (j *job) stampWith(id string) transcript.Stamp {
	st := j.Stamp
	st.NewID = func() string { return id }
	return st
}

// entriesOf returns the uuids of the entries that messages [from, to) of the view
// come from, in the order of the view.
func (j *job) entriesOf(from, to int) []string {
	seen := make(map[string]bool)
	var out []string
	for _, m := range j.View.Messages[from:to] {
		for _, b := range m.Blocks {
			if b.Entry != "" && !seen[b.Entry] {
				seen[b.Entry] = true
				out = append(out, b.Entry)
			}
		}
	}
	return out
}

// sizeOf returns the estimated tokens of messages [from, to) of the view.
func (j *job) sizeOf(from, to int) int {
	n := max(to-from, 0) * j.Each
	for i := from; i < to; i++ {
		for k := range j.View.Messages[i].Blocks {
			n += j.Size(j.View.Messages[i].Blocks[k].Block)
		}
	}
	return j.Weigh(n)
}
