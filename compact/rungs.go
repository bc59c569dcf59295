package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// compactable are the tools whose results may be cleared (C-1), by the names that
// the reference uses.
var compactable = []string{"Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write", "MultiEdit", "NotebookEdit"}

// micro plans L2: when the provider's cache has lost the conversation anyway, old
// results of tools that can be run again are cleared (C-3). Not on models that
// bind reasoning to what stands before it, and not for sub-agents.
func (l *Ladder) micro(s Situation) []*transcript.Entry {
	if !l.Policy.allows(CauseThreshold) || l.Policy.NoMicro || s.Caps.PrefixBound || s.Stamp.Sidechain || !l.cold(s) {
		return nil
	}
	lim := l.Limits.withDefaults()
	ids, saved := l.clearable(s, lim)
	if saved < lim.ClearAtLeast {
		return nil
	}
	m := transcript.Microcompact{Trigger: "auto", PreTokens: int64(s.Total), TokensSaved: int64(saved), ToolIDs: ids, Thinking: "keep"}
	return []*transcript.Entry{s.Stamp.MicrocompactBoundary(s.View.Leaf, m)}
}

// cold reports whether the last reply is older than the cache lives. A time that
// is missing or in the future proves nothing.
func (l *Ladder) cold(s Situation) bool {
	for i := len(s.View.Messages) - 1; i >= 0; i-- {
		m := &s.View.Messages[i]
		if m.Role != message.RoleAssistant {
			continue
		}
		for k := len(m.Blocks) - 1; k >= 0; k-- {
			if e := s.Log.ByUUID(m.Blocks[k].Entry); e != nil {
				t, ok := e.Time()
				return ok && l.now().Sub(t) > s.lifetime()
			}
		}
	}
	return false
}

// clearable returns the calls whose results can be cleared, and the tokens that
// this frees.
func (l *Ladder) clearable(s Situation, lim Limits) (ids []string, saved int) {
	var calls []*view.Block      // of the reply before the results
	turn := len(s.View.Messages) // the newest prompt
	for i := len(s.View.Messages) - 1; i >= 0 && turn == len(s.View.Messages); i-- {
		m := &s.View.Messages[i]
		if m.Role == message.RoleUser && slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return b.Type == message.TypeText }) {
			turn = i
		}
	}
	mark := tokens.Text("[Old tool result content cleared]")
	type result struct {
		id   string
		size int
	}
	var rs []result
	// Results stand first in their message: those beside the newest prompt are of
	// the turn before it.
	for i := range s.View.Messages[:min(turn+1, len(s.View.Messages))] {
		if s.View.Messages[i].Role == message.RoleAssistant {
			calls = calls[:0]
		}
		for k := range s.View.Messages[i].Blocks {
			b := &s.View.Messages[i].Blocks[k]
			switch b.Type {
			case message.TypeToolUse:
				calls = append(calls, b)
			case message.TypeToolResult:
				name := ""
				for _, c := range calls {
					if c.ID == b.ToolUseID {
						name = c.Name
					}
				}
				if slices.Contains(compactable, name) || slices.Contains(l.Policy.Tools, name) {
					rs = append(rs, result{b.ToolUseID, s.Size(b.Block)})
				}
			}
		}
	}
	if len(rs) <= lim.KeepResults {
		return nil, 0
	}
	for _, r := range rs[:len(rs)-lim.KeepResults] {
		if gain := r.size - mark; gain > 0 {
			ids = append(ids, r.id)
			saved += gain
		}
	}
	return ids, s.Weigh(saved)
}

// notesRung is L3: the session notes stand for what they cover, and the newest
// messages are kept as they are (C-4). No model is called.
type notesRung struct{}

func (notesRung) name() string { return "notes" }
func (notesRung) final() bool  { return false }

func (notesRung) plan(ctx context.Context, j *job) ([]*transcript.Entry, error) {
	text, upTo, ok := j.ladder.Notes.Current(ctx)
	if !ok || text == "" {
		return nil, nil
	}
	covered := j.messageOf(upTo)
	if covered < 0 {
		return nil, errors.New("what the notes cover is not in the view")
	}
	cut := j.keepFrom(covered + 1)
	if cut <= 0 {
		return nil, nil
	}
	n := j.ladder.Notice
	n.Verbatim, n.Automatic = true, j.Cause != CauseManual
	room := max(j.Target-j.Fixed-j.sizeOf(cut, len(j.View.Messages)), 0)
	text = j.facts.Complete("Summary:\n"+text, min(room/2, j.limits.Output), j.text)
	return j.withAttachments(ctx, edit{rung: "notes", source: "notes", text: n.Wrap(text), kept: j.entriesOf(cut, len(j.View.Messages))})
}

// messageOf returns the index of the last message that holds something of an
// entry, -1 when none does.
func (j *job) messageOf(uuid string) int {
	for i := len(j.View.Messages) - 1; i >= 0; i-- {
		for k := range j.View.Messages[i].Blocks {
			if j.View.Messages[i].Blocks[k].Entry == uuid {
				return i
			}
		}
	}
	return -1
}

// keepFrom moves the start of what is kept backwards from i until enough is kept,
// and to a place where nothing is split that belongs together.
func (j *job) keepFrom(i int) int {
	size, texts := j.sizeOf(i, len(j.View.Messages)), 0
	for k := i; k < len(j.View.Messages); k++ {
		texts += hasText(&j.View.Messages[k])
	}
	for i > 1 && (size < j.limits.KeepTokens || texts < j.limits.KeepTexts) {
		n := j.sizeOf(i-1, i)
		if size+n > j.limits.KeepMost {
			break
		}
		i--
		size += n
		texts += hasText(&j.View.Messages[i])
	}
	return j.cutAt(i)
}

func hasText(m *view.Message) int {
	for k := range m.Blocks {
		if m.Blocks[k].Type == message.TypeText {
			return 1
		}
	}
	return 0
}

// cutAt moves i to where a conversation may be cut before it: no result is parted
// from its call. Replies are whole in a view.
func (j *job) cutAt(i int) int {
	for i > 0 && i < len(j.View.Messages) && slices.ContainsFunc(j.View.Messages[i].Blocks, func(b view.Block) bool { return b.Type == message.TypeToolResult }) {
		i--
	}
	return i
}

// fullRung is L4: everything, or the part that was asked for, is summarized, by
// the model or by the ledger.
type fullRung struct{ model bool }

func (r fullRung) name() string {
	if r.model {
		return "full"
	}
	return "ledger"
}
func (fullRung) final() bool { return false }

func (r fullRung) plan(ctx context.Context, j *job) ([]*transcript.Entry, error) {
	part, err := j.part(!r.model)
	if err != nil {
		return nil, err
	}
	text, source := "", "ledger"
	room := max(j.Target-j.Fixed-j.sizeOf(part.keepFrom, part.keepTo), 0)
	if r.model {
		source = "model"
		reply, err := j.summary(ctx, part)
		if err != nil {
			if ctx.Err() == nil { // a caller who gave up says nothing about the model
				j.ladder.fail()
			}
			return nil, err
		}
		text = j.facts.Complete(reply, room/2, j.text)
	} else {
		text = j.facts.Render(min(room*3/4, j.limits.Output), j.text)
	}
	n := j.ladder.Notice
	n.Verbatim, n.Automatic = part.keepTo > part.keepFrom, j.Cause != CauseManual
	ed := edit{rung: r.name(), source: source, text: n.Wrap(text), head: part.variant == From, kept: j.entriesOf(part.keepFrom, part.keepTo)}
	return j.withAttachments(ctx, ed)
}

// summary asks the model.
func (j *job) summary(ctx context.Context, p part) (string, error) {
	q, err := j.inquire(p)
	if err != nil {
		return "", err
	}
	return q.ask(ctx)
}

// part is which messages a summary covers and which are kept.
type part struct {
	variant          Variant
	from, to         int // summarized
	keepFrom, keepTo int
	pivot            string
}

// part decides what the summary covers: what the user asked for; on models that
// bind reasoning to what stands before it the head is kept and the rest is
// summarized, which alone keeps the reasoning (C-8); else everything, but for the
// newest messages when the summary is the ledger's: facts do not replace what the
// work in progress has just read, and no model is there to tell of it.
func (j *job) part(tail bool) (part, error) {
	n := len(j.View.Messages)
	whole := part{variant: Whole, to: n}
	switch {
	case j.Ask.From != "":
		i := j.messageOf(j.Ask.From)
		if i < 0 {
			return part{}, fmt.Errorf("compact: %s is not in the view", j.Ask.From)
		}
		i = j.cutAt(i)
		if i <= 0 {
			return whole, nil
		}
		return part{variant: From, from: i, to: n, keepTo: i, pivot: j.quote(i)}, nil
	case j.Ask.UpTo != "":
		i := j.messageOf(j.Ask.UpTo)
		if i < 0 {
			return part{}, fmt.Errorf("compact: %s is not in the view", j.Ask.UpTo)
		}
		i = j.cutAt(i)
		if i <= 0 {
			return part{}, errors.New("compact: nothing stands before that message")
		}
		return part{variant: UpTo, to: i, keepFrom: i, keepTo: n, pivot: j.quote(i)}, nil
	case j.Caps.PrefixBound && j.Cause != CauseManual:
		if i := j.head(); i > 0 {
			return part{variant: From, from: i, to: n, keepTo: i, pivot: j.quote(i)}, nil
		}
	case tail && j.Cause != CauseManual:
		if i := j.tail(); i > 0 && i < n {
			return part{variant: UpTo, to: i, keepFrom: i, keepTo: n}, nil
		}
	}
	return whole, nil
}

// tail returns where the newest messages begin that stay beside the ledger: as
// many as session notes would leave (C-4), within a third of the room; of what
// waits for an answer, as much as fits in two thirds. It is the number of messages
// when there is no such place.
func (j *job) tail() int {
	room := j.Target - j.Fixed
	most := min(j.limits.KeepMost, room/3)
	n := len(j.View.Messages)
	best, size, texts := n, 0, 0
	for i := n - 1; i > 0 && (size < j.limits.KeepTokens || texts < j.limits.KeepTexts); i-- {
		if size += j.sizeOf(i, i+1); size > most && (best < n || size > room*2/3) {
			break
		}
		texts += hasText(&j.View.Messages[i])
		if j.cutAt(i) == i {
			best = i
		}
	}
	return best
}

// head returns how many messages at the start may stay: whole rounds, a quarter of
// the target at most, and never the newest round.
func (j *job) head() int {
	rounds := message.Rounds(j.View.Plain())
	end := 0
	for i, r := range rounds {
		if i == len(rounds)-1 || j.sizeOf(0, r.End) > (j.Target-j.Fixed)/4 {
			break
		}
		end = r.End
	}
	if end >= len(j.View.Messages) {
		return 0
	}
	return end
}

// quote names a message for the model by its first words.
func (j *job) quote(i int) string {
	for _, b := range j.View.Messages[i].Blocks {
		if b.Type == message.TypeText && b.Text != "" {
			r := []rune(b.Text)
			return fmt.Sprintf("the message that begins with %q", string(r[:min(len(r), 80)]))
		}
	}
	return fmt.Sprintf("message %d", i+1)
}

// withAttachments adds what goes back into the view; it shrinks before it can miss
// the target (C-5).
func (j *job) withAttachments(ctx context.Context, ed edit) ([]*transcript.Entry, error) {
	plan := j.entries(ed)
	if j.ladder.Attacher == nil {
		return plan, nil
	}
	const most = 50_000 // tokens of files together (C-5)
	for room := min(j.Target-j.trial(plan).Tokens, most); room > 500; room /= 2 {
		list, err := j.ladder.Attacher.Attach(ctx, room)
		if err != nil {
			return plan, nil // a view without attachments is better than none
		}
		ed.attach = list
		full := j.entries(ed)
		if j.trial(full).Tokens <= j.Target {
			return full, nil
		}
	}
	return plan, nil
}

// dropRung is L5: the oldest rounds leave the view, the ledger stands for them.
// It needs no model and works on any view that has something to drop.
type dropRung struct{}

func (dropRung) name() string { return "drop" }
func (dropRung) final() bool  { return true }

func (dropRung) plan(_ context.Context, j *job) ([]*transcript.Entry, error) {
	rounds := message.Rounds(j.View.Plain())
	room := max(j.Target-j.Fixed, 0)
	var best []*transcript.Entry
	for _, share := range []int{2, 4, 8, 16} { // of the room, for the ledger
		text := j.facts.Render(max(room/share, 300), j.text)
		n := j.ladder.Notice
		n.Verbatim, n.Automatic = true, j.Cause != CauseManual
		wrapped := n.Wrap("Summary:\n" + text)
		left := room - j.text(wrapped) - 50
		keep := len(rounds)
		for size := 0; keep > 1; keep-- {
			r := rounds[keep-1]
			size += j.sizeOf(r.Start, r.End)
			if size > left {
				break
			}
		}
		keep = min(max(keep, 1), len(rounds)-1)
		if keep < 1 {
			return nil, nil // a single round: nothing can be dropped
		}
		cut := rounds[keep].Start
		plan := j.entries(edit{rung: "drop", source: "ledger", text: wrapped, kept: j.entriesOf(cut, len(j.View.Messages))})
		t := j.trial(plan).Tokens
		if best == nil || t < j.trial(best).Tokens {
			best = plan
		}
		if t <= j.Target {
			return plan, nil
		}
	}
	return best, nil
}

// text returns the tokens of a text, by the measure of the window.
func (j *job) text(s string) int { return j.Weigh(tokens.Text(s)) }

// hash names the view that a compaction covers.
func (j *job) hash() string { return hashOf(&j.Situation, 0, len(j.View.Messages)) }

// nth returns the value at position n of the sizes in falling order.
func nth(sizes []int, n int) int {
	s := slices.Clone(sizes)
	slices.SortFunc(s, func(a, b int) int { return b - a })
	return s[min(n, len(s))-1]
}
