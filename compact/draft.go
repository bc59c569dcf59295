package compact

import (
	"context"
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Shares of the effective window in collapse mode, in percent (C-17), and, as
// divisors of it, how much one stretch covers and how much is staged at most.
const (
	collapseStage  = 90
	collapseCommit = 95

	stretchShare = 8 // of the window: at 200,000 about what an automatic compaction frees
	stagedShare  = 3 // more would leave less than two thirds of the conversation as it was
)

// draft is a summary that is made ahead of its use, of a stretch of the
// conversation, and tied to the hash of it (G-11).
type draft struct {
	messages int    // that it covers, behind the draft before it
	size     int    // tokens that they take
	last     string // uuid of the last entry in them
	hash     string // over the frame and their blocks
	text     string

	err    error
	cancel context.CancelFunc
	done   chan struct{} // closed when text and err are set
}

// drafts are those of one session: the staged ones cover the start of the view
// without a gap, the one in the making goes on behind them.
type drafts struct {
	staged []*draft
	making *draft
	read   bool // the log was searched for drafts of an earlier process
	closed bool
}

// used forgets the staged drafts, which stand in the log now. One in the making
// covers what is kept behind them, under a prefix that is no more.
func (d *drafts) used() {
	if d.making != nil {
		d.making.cancel()
	}
	d.staged, d.making = nil, nil
}

// background reports whether summaries are made in the background only.
func (l *Ladder) background() bool {
	return l.Summarizer != nil && !l.drafts.closed && (l.Policy.Mode == Collapse || l.Policy.Drafts)
}

// coming reports whether a draft is in the making or may be begun, so that it is
// worth to go on without a compaction while there is room.
func (l *Ladder) coming(j *job) bool {
	return l.background() && (l.drafts.making != nil || l.mayDraft(j.limits) && l.stretch(&j.Situation) != nil)
}

func (l *Ladder) mayDraft(lim Limits) bool {
	return l.failures < lim.Failures && l.progress.stalls < lim.Stalls
}

// draft looks after the drafts before a request: it takes the one that is ready,
// drops what no longer holds, and begins the next. It returns entries that keep
// what is ready with the log; they change no view.
func (l *Ladder) draft(ctx context.Context, s Situation) []*transcript.Entry {
	if !l.background() || !l.Policy.allows(CauseThreshold) {
		return nil
	}
	if !l.drafts.read {
		l.drafts.read = true
		l.restage(s)
	}
	entries := l.collect(s)
	lim := l.Limits.withDefaults()
	if l.drafts.making == nil && l.mayDraft(lim) && s.Total >= l.draftFrom(s.Budget) {
		if p := l.stretch(&s); p != nil {
			l.begin(ctx, s, lim, *p)
		}
	}
	return entries
}

// draftFrom is the size from which drafts are made.
func (l *Ladder) draftFrom(b tokens.Thresholds) int {
	if l.Policy.Mode == Collapse {
		return int(int64(b.Effective) * collapseStage / 100)
	}
	return b.Warning
}

// collect takes the draft that is ready, and drops the drafts whose stretch is not
// what it was.
func (l *Ladder) collect(s Situation) []*transcript.Entry {
	d := &l.drafts
	if from, n := l.valid(s); n < len(d.staged) {
		l.dropDrafts("what it covers changed")
	} else if m := d.making; m != nil && !m.holds(&s, from) {
		l.dropMaking("what it covers changed")
	}
	m := d.making
	if m == nil {
		return nil
	}
	select {
	case <-m.done:
	default:
		return nil
	}
	d.making = nil
	if m.err != nil {
		l.note(Event{Rung: l.draftName(), Kind: Failed, Detail: m.err.Error()})
		l.fail()
		return nil
	}
	if n := s.Weigh(tokens.Text(m.text)); n >= m.size {
		l.note(Event{Rung: l.draftName(), Kind: Rejected, Detail: fmt.Sprintf("a draft of %d tokens for %d", n, m.size)})
		l.fail()
		return nil
	}
	d.staged = append(d.staged, m)
	l.note(Event{Rung: l.draftName(), Kind: Drafted, Detail: fmt.Sprintf("a summary for %d messages (%d tokens) is ready", m.messages, m.size)})
	return []*transcript.Entry{s.Stamp.Side(transcript.TypeCovers, draftEntry{Kind: draftKind, UptoUUID: m.last, Hash: m.hash, Messages: m.messages, Tokens: m.size, Boundary: boundaryOf(s.View), Summary: m.text})}
}

// draftName is the rung that drafts are used by.
func (l *Ladder) draftName() string { return draftRung{l.Policy.Mode}.name() }

// valid returns how many staged drafts still hold, and how many messages of the
// view these cover.
func (l *Ladder) valid(s Situation) (covered, n int) {
	for _, d := range l.drafts.staged {
		if !d.holds(&s, covered) {
			break
		}
		covered += d.messages
		n++
	}
	return covered, n
}

// holds reports whether the stretch that begins at a message is what the draft
// covers.
func (d *draft) holds(s *Situation, from int) bool {
	return from+d.messages < len(s.View.Messages) && hashOf(s, from, from+d.messages) == d.hash
}

// hashOf is the hash over the frame and messages [from, to) of the view; for from 0
// that of the prefix.
func hashOf(s *Situation, from, to int) string {
	if from == 0 && s.Hash != nil {
		n := 0
		for i := range s.View.Messages[:to] {
			n += len(s.View.Messages[i].Blocks)
		}
		return s.Hash(n)
	}
	p := view.PrefixOf(s.Frame.ID, &view.View{Messages: s.View.Messages[from:to]})
	return p.Hash(p.Blocks())
}

func boundaryOf(v *view.View) string {
	if v.Boundary == nil {
		return ""
	}
	return v.Boundary.UUID
}

// stretch returns what the next draft covers, nil when none is wanted: everything
// but what waits for an answer, or in collapse mode the oldest rounds (C-17).
func (l *Ladder) stretch(s *Situation) *part {
	j := &job{Situation: *s, ladder: l}
	from, saved := 0, 0
	for _, d := range l.drafts.staged {
		from += d.messages
		saved += d.size - s.Weigh(tokens.Text(d.text))
	}
	p := part{variant: UpTo, from: from, to: j.cutAt(len(s.View.Messages) - 1)}
	if l.Policy.Mode == Collapse {
		covered := j.sizeOf(0, from)
		if covered >= s.Budget.Effective/stagedShare && s.Total-saved <= s.Budget.Warning {
			return nil
		}
		p.to = from
		for _, r := range message.Rounds(s.View.Plain()) {
			if r.End <= from || r.End >= len(s.View.Messages) {
				continue
			}
			p.to = r.End
			if j.sizeOf(from, p.to) >= s.Budget.Effective/stretchShare {
				break
			}
		}
	} else if from > 0 && s.Total-saved <= s.Budget.Warning {
		return nil
	}
	if p.to <= from || j.sizeOf(from, p.to) < minDraft {
		return nil
	}
	if p.pivot = j.quote(p.to); from > 0 {
		p.variant, p.pivot = Stretch, j.quote(from)
	}
	return &p
}

// minDraft is the size of a stretch, in tokens, below which a summary of it with
// nine sections would hardly be smaller.
const minDraft = 500

// begin asks for a draft in the background.
func (l *Ladder) begin(ctx context.Context, s Situation, lim Limits, p part) {
	j := &job{Situation: s, ladder: l, limits: lim}
	q, err := j.inquire(p)
	if err != nil {
		l.note(Event{Rung: l.draftName(), Kind: Failed, Detail: err.Error()})
		l.fail()
		return
	}
	// The draft outlives the request before which it is begun.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &draft{messages: p.to - p.from, size: j.sizeOf(p.from, p.to), last: lastEntry(s.View.Messages[p.to-1]), hash: hashOf(&s, p.from, p.to), cancel: cancel, done: make(chan struct{})}
	l.drafts.making = d
	l.stats.Drafts++
	l.note(Event{Rung: l.draftName(), Kind: Drafting, Detail: fmt.Sprintf("a summary of %d messages (%d tokens) is being made", d.messages, d.size)})
	l.wg.Go(func() {
		defer cancel()
		defer close(d.done)
		d.text, d.err = q.ask(ctx)
	})
}

func lastEntry(m view.Message) string {
	for i := len(m.Blocks) - 1; i >= 0; i-- {
		if m.Blocks[i].Entry != "" {
			return m.Blocks[i].Entry
		}
	}
	return ""
}

// dropMaking gives up the draft in the making.
func (l *Ladder) dropMaking(why string) {
	if d := l.drafts.making; d != nil {
		d.cancel()
		l.drafts.making = nil
		l.dropped(1, why)
	}
}

// dropDrafts gives up all drafts.
func (l *Ladder) dropDrafts(why string) {
	n := len(l.drafts.staged)
	l.drafts.staged = nil
	if n > 0 {
		l.dropped(n, why)
	}
	l.dropMaking(why)
}

func (l *Ladder) dropped(n int, why string) {
	l.stats.Dropped += n
	l.note(Event{Rung: l.draftName(), Kind: Dropped, Detail: fmt.Sprintf("%d drafts are not used: %s", n, why)})
	l.fail() // a summary call without an accepted result (C-12)
}

// Settle waits until no draft is in the making. The error is that of ctx.
func (l *Ladder) Settle(ctx context.Context) error {
	l.mu.Lock()
	d := l.drafts.making
	l.mu.Unlock()
	if d == nil {
		return nil
	}
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close gives up the draft in the making and waits for it. Plans are made as
// before, without drafts. It may be called more than once.
func (l *Ladder) Close() {
	l.mu.Lock()
	l.drafts.closed = true
	l.dropMaking("the session ends")
	l.mu.Unlock()
	l.wg.Wait()
}

// draftKind marks the side entries that keep drafts.
const draftKind = "draft"

// draftEntry is a draft as the log keeps it. It counts as long as its hash is that of
// the stretch behind the drafts before it.
type draftEntry struct {
	Kind     string `json:"kind"`
	UptoUUID string `json:"uptoUuid"`
	Hash     string `json:"hash"`
	Messages int    `json:"messages"`
	Tokens   int    `json:"tokens"`
	Boundary string `json:"boundary,omitempty"` // that the view started behind
	Summary  string `json:"summary"`
}

// restage takes up the drafts of an earlier process, as far as they hold.
func (l *Ladder) restage(s Situation) {
	from := 0
	for _, e := range s.Log.Entries {
		if e.Type != transcript.TypeCovers {
			continue
		}
		var x draftEntry
		if e.Decode(&x) != nil || x.Kind != draftKind || x.Boundary != boundaryOf(s.View) || x.Messages <= 0 {
			continue // of another kind, or of a view that is no more
		}
		d := &draft{messages: x.Messages, size: x.Tokens, last: x.UptoUUID, hash: x.Hash, text: x.Summary}
		if d.holds(&s, from) {
			l.drafts.staged = append(l.drafts.staged, d)
			from += d.messages
		}
	}
}

// draftRung puts the staged drafts in the place of what they cover: one boundary,
// and everything behind them as it was (G-11, C-17). No model is called.
type draftRung struct{ mode Mode }

func (r draftRung) name() string {
	if r.mode == Collapse {
		return "collapse"
	}
	return "draft"
}
func (draftRung) final() bool { return false }

func (r draftRung) plan(_ context.Context, j *job) ([]*transcript.Entry, error) {
	l := j.ladder
	if !l.background() {
		return nil, nil
	}
	covered, n := l.valid(j.Situation)
	if n == 0 {
		return nil, nil
	}
	texts := make([]string, n)
	for i, d := range l.drafts.staged[:n] {
		texts[i] = d.text
		if n > 1 {
			texts[i] = fmt.Sprintf("Part %d of %d, in the order of time.\n%s", i+1, n, d.text)
		}
	}
	room := max(j.Target-j.Fixed-j.sizeOf(covered, len(j.View.Messages)), 0)
	text := j.facts.Complete(strings.Join(texts, "\n\n"), room/2, j.text)
	notice := l.Notice
	notice.Verbatim, notice.Automatic = true, true
	return j.entries(edit{rung: r.name(), source: "model", text: notice.Wrap(text), kept: j.entriesOf(covered, len(j.View.Messages))}), nil
}
