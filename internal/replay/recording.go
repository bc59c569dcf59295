package replay

import (
	"encoding/json"
	"slices"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Recording is a session to replay: the entries of one conversation in order, from
// its very beginning. Its entries are not changed.
type Recording struct {
	Recorded
	Model   string // of most replies; "" when none says
	CWD     string
	Entries []*transcript.Entry
	turns   []turn
}

// turn is one reply of the recording and what stands before it.
type turn struct {
	before []*transcript.Entry // since the last reply
	reply  []*transcript.Entry // the lines of one message.id, in order; other entries between them too
	at     time.Time
	output int // tokens, as recorded; 0 when it is not
	prompt string
	tools  []string
}

// FromLog takes the conversation that a log ends in. The entries' bytes may lie on
// disk: the log stays open until the replay is over.
func FromLog(l *transcript.Log) (*Recording, error) {
	r := &Recording{}
	if tip := l.Tip(); tip != nil {
		r.Entries = l.History(tip).Entries
	}
	r.Bytes, r.Faults = l.Size, len(l.Faults)
	return r, r.Index()
}

// FromEntries takes a conversation that was read elsewhere.
func FromEntries(entries []*transcript.Entry) (*Recording, error) {
	r := &Recording{Entries: entries}
	return r, r.Index()
}

// Index counts what the recording holds and finds its turns. The error is one of
// reading an entry's bytes.
func (r *Recording) Index() error {
	models := map[string]int{}
	var open *turn // collects what stands before the next reply
	open = &turn{}
	last := ""
	for i, x := range r.Entries {
		if !fed(x) {
			continue
		}
		r.Recorded.Entries++
		r.span(x)
		if x.SessionID != "" && r.SessionID == "" {
			r.SessionID = x.SessionID
		}
		if x.CWD != "" && r.CWD == "" {
			r.CWD = x.CWD
		}
		y, err := fresh(x)
		if err != nil {
			return err
		}
		if x.Type != transcript.TypeAssistant {
			if n := len(r.turns); n > 0 && partOf(r.Entries[i+1:], last) {
				r.turns[n-1].reply = append(r.turns[n-1].reply, x)
				continue
			}
			if text, ok := y.PromptText(); ok && !x.Meta {
				r.Prompts++
				open.prompt = shorten(text, promptShown)
			}
			open.before = append(open.before, x)
			continue
		}
		m, err := y.Message()
		if err != nil {
			open.before = append(open.before, x) // the view says what is wrong with it
			continue
		}
		if n := len(r.turns); n == 0 || x.MessageID == "" || x.MessageID != last {
			at, _ := x.Time()
			open.at = at
			r.turns = append(r.turns, *open)
			open = &turn{}
			last = x.MessageID
			r.Replies++
			if m.Model != "" && m.Model != "<synthetic>" {
				models[m.Model]++
			}
		}
		t := &r.turns[len(r.turns)-1]
		t.reply = append(t.reply, x)
		r.reply(t, m)
	}
	if len(open.before) > 0 {
		r.turns = append(r.turns, *open) // what the user said last, unanswered
	}
	for m, n := range models {
		if n > models[r.Model] || n == models[r.Model] && m < r.Model {
			r.Model = m
		}
	}
	return nil
}

// fresh returns an entry of the same bytes that nobody else holds: what is decoded
// of it goes with it, where a recording of gigabytes would keep everything.
func fresh(x *transcript.Entry) (*transcript.Entry, error) {
	raw, err := x.Raw()
	if err != nil {
		return nil, err
	}
	return transcript.Parse(raw)
}

// partOf reports whether the reply last goes on in what follows: an entry before
// that is a result that was recorded before the reply's next part.
func partOf(next []*transcript.Entry, last string) bool {
	i := slices.IndexFunc(next, func(x *transcript.Entry) bool { return x.Type == transcript.TypeAssistant })
	return last != "" && i >= 0 && next[i].MessageID == last
}

// fed reports whether the engine takes an entry of a recording.
func fed(x *transcript.Entry) bool {
	switch x.Type {
	case transcript.TypeUser, transcript.TypeAssistant, transcript.TypeAttachment:
		return !x.CompactSummary && !x.APIError
	}
	return false
}

func (r *Recording) span(x *transcript.Entry) {
	t, ok := x.Time()
	if !ok {
		return
	}
	if r.First.IsZero() || t.Before(r.First) {
		r.First = t
	}
	if t.After(r.Last) {
		r.Last = t
	}
}

func (r *Recording) reply(t *turn, m *message.Message) {
	if m.Usage != nil && m.Usage.OutputTokens > 0 {
		t.output = int(m.Usage.OutputTokens) // each line repeats it; the last is whole
	}
	for _, b := range m.Content {
		if b.Type == message.TypeToolUse {
			t.tools = append(t.tools, b.Name)
			r.Calls++
		}
	}
}

// inputOf decodes the input of a call into v, and reports whether it could.
func inputOf(b message.Block, v any) bool { return json.Unmarshal(b.Input, v) == nil }
