package replay

import (
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/message"
	"varve.dev/tokens"
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
	said    found
	memo    *tokens.Memo // what its texts count
}

// turn is one reply of the recording and what stands before it.
type turn struct {
	before []*transcript.Entry // since the last reply
	reply  []*transcript.Entry // the lines of one message.id, in order; other entries between them too
	at     time.Time
	output int // tokens, as recorded; 0 when it is not
	size   int // tokens of the reply, as its text is estimated
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
	r.memo = tokens.NewMemo()
	est := tokens.Estimator{Memo: r.memo}
	ix := indexer{r: r, open: &turn{}, models: models}
	// Decoding takes nearly all of the time and is done some entries ahead, on every
	// processor; what was decoded is forgotten with them.
	for from := 0; from < len(r.Entries); from += lookAhead {
		part := r.Entries[from:min(from+lookAhead, len(r.Entries))]
		for i, s := range lookAll(part, est) {
			if s == nil {
				continue // nothing that is fed
			}
			if s.err != nil {
				return s.err
			}
			ix.take(from+i, s)
		}
	}
	if len(ix.open.before) > 0 {
		r.turns = append(r.turns, *ix.open) // what the user said last, unanswered
	}
	for m, n := range models {
		if n > models[r.Model] || n == models[r.Model] && m < r.Model {
			r.Model = m
		}
	}
	return nil
}

// lookAhead is how many entries are decoded before they are counted.
const lookAhead = 512

// heard is what an entry says, as far as a recording counts it.
type heard struct {
	err     error            // its bytes could not be read
	message *message.Message // nil where there is none that can be read; without content
	prompt  string           // that a person typed
	typed   bool
	tools   []string // that it calls
	size    int      // of a reply, estimated
	said    needlesIn
}

// lookAll decodes entries; what is not fed stays nil.
func lookAll(entries []*transcript.Entry, est tokens.Estimator) []*heard {
	out := make([]*heard, len(entries))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(entries)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(entries)); i = next.Add(1) - 1 {
				if fed(entries[i]) {
					out[i] = look(entries[i], est)
				}
			}
		})
	}
	wg.Wait()
	return out
}

func look(x *transcript.Entry, est tokens.Estimator) *heard {
	y, err := fresh(x)
	if err != nil {
		return &heard{err: err}
	}
	s := &heard{}
	if x.Type != transcript.TypeAssistant {
		if text, ok := y.PromptText(); ok && !x.Meta {
			s.typed, s.prompt = true, shorten(text, promptShown)
		}
	}
	m, err := y.Message()
	if err != nil {
		return s
	}
	size := est.Message(*m) // of what is no reply for the memo only
	if x.Type == transcript.TypeAssistant {
		s.size = size
		for i := range m.Content {
			if b := &m.Content[i]; b.Type == message.TypeToolUse {
				s.tools = append(s.tools, b.Name)
			}
		}
	}
	if !x.Sidechain || x.AgentID == "" {
		s.said.take(y, m)
	}
	s.message = &message.Message{Model: m.Model, Usage: m.Usage}
	return s
}

// indexer finds the turns of a recording.
type indexer struct {
	r      *Recording
	open   *turn // collects what stands before the next reply
	last   string
	models map[string]int
}

// take counts entry i.
func (ix *indexer) take(i int, s *heard) {
	r, x := ix.r, ix.r.Entries[i]
	r.Recorded.Entries++
	r.span(x)
	if x.SessionID != "" && r.SessionID == "" {
		r.SessionID = x.SessionID
	}
	if x.CWD != "" && r.CWD == "" {
		r.CWD = x.CWD
	}
	r.said.add(s.said)
	if x.Type != transcript.TypeAssistant {
		if n := len(r.turns); n > 0 && partOf(r.Entries[i+1:], ix.last) {
			r.turns[n-1].reply = append(r.turns[n-1].reply, x)
			return
		}
		if s.typed {
			r.Prompts++
			ix.open.prompt = s.prompt
		}
		ix.open.before = append(ix.open.before, x)
		return
	}
	m := s.message
	if m == nil {
		ix.open.before = append(ix.open.before, x) // the view says what is wrong with it
		return
	}
	if n := len(r.turns); n == 0 || x.MessageID == "" || x.MessageID != ix.last {
		at, _ := x.Time()
		ix.open.at = at
		r.turns = append(r.turns, *ix.open)
		ix.open = &turn{}
		ix.last = x.MessageID
		r.Replies++
		if m.Model != "" && m.Model != "<synthetic>" {
			ix.models[m.Model]++
		}
	}
	t := &r.turns[len(r.turns)-1]
	t.reply = append(t.reply, x)
	t.size += s.size
	t.tools = append(t.tools, s.tools...)
	r.Calls += len(s.tools)
	if m.Usage != nil && m.Usage.OutputTokens > 0 {
		t.output = int(m.Usage.OutputTokens) // each line repeats it; the last is whole
	}
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

// inputOf decodes the input of a call into v, and reports whether it could.
func inputOf(b message.Block, v any) bool { return json.Unmarshal(b.Input, v) == nil }
