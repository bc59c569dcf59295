package compact

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// progress tells compactions that lead on from those that do not (G-5): the window
// fills again at once, with hardly a reply between, or with what was read again
// because it had just left.
type progress struct {
	stalls int             // compactions in a row that brought nothing
	last   string          // leaf that the last automatic compaction covered
	gone   map[string]bool // calls whose results left with it, by what they ask
}

// minGain is the share of the view that a compaction has to free to count as one
// that brings anything, as a divisor: a twentieth. The distance from the threshold
// to the target is an eighth of the window.
const minGain = 20

// useless says why an accepted plan is no progress; "" when it is.
func (p *progress) useless(j *job, after int) string {
	if j.now-after < j.now/minGain {
		return fmt.Sprintf("it freed %d of %d tokens", j.now-after, j.now)
	}
	if p.last == "" {
		return ""
	}
	if roundsSince(j, p.last) < 2 {
		return "the window filled again right after the last one" + largestResult(j)
	}
	if again := p.reread(j); len(again) > 0 {
		return fmt.Sprintf("most of what came since the last one was read again: %s", strings.Join(again, ", "))
	}
	return ""
}

// reread names the first calls since the last compaction that ask what calls asked
// whose results had just left, when their results are at least half of all that
// came since.
func (p *progress) reread(j *job) (again []string) {
	old, all := 0, 0
	asks := make(map[string]string)
	for i := j.messageOf(p.last) + 1; i < len(j.View.Messages); i++ {
		for k := range j.View.Messages[i].Blocks {
			b := &j.View.Messages[i].Blocks[k]
			switch b.Type {
			case message.TypeToolUse:
				asks[b.ID] = askOf(b)
			case message.TypeToolResult:
				ask, ok := asks[b.ToolUseID]
				if !ok {
					continue
				}
				n := j.Size(b.Block)
				all += n
				if p.gone[ask] {
					old += n
					if name := shortAsk(ask); len(again) < 3 && !slices.Contains(again, name) {
						again = append(again, name)
					}
				}
			}
		}
	}
	if 2*old < all {
		return nil
	}
	return again
}

// askOf is what a call asks: the tool and its input, whose bytes a model repeats
// when it asks the same again.
func askOf(b *view.Block) string { return b.Name + "\x00" + string(b.Input) }

// shortAsk names a call for people: the tool and the last part of what it names.
func shortAsk(ask string) string {
	name, in, _ := strings.Cut(ask, "\x00")
	for _, quoted := range strings.Split(in, `"`) {
		if strings.ContainsRune(quoted, '/') {
			return name + " " + clipped(path.Base(quoted), 60)
		}
	}
	return name
}

// clipped is s, at most n runes of it.
func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// largestResult names the tool whose results take most of the view, so that the
// person knows what to change.
func largestResult(j *job) string {
	names, sizes := make(map[string]string), make(map[string]int)
	best := ""
	for i := range j.View.Messages {
		for k := range j.View.Messages[i].Blocks {
			b := &j.View.Messages[i].Blocks[k]
			switch b.Type {
			case message.TypeToolUse:
				names[b.ID] = b.Name
			case message.TypeToolResult:
				name := names[b.ToolUseID]
				sizes[name] += j.Weigh(j.Size(b.Block))
				if name != "" && (best == "" || sizes[name] > sizes[best]) {
					best = name
				}
			}
		}
	}
	if best == "" || sizes[best] < (j.Total-j.Fixed)/2 {
		return ""
	}
	return fmt.Sprintf(", with about %d tokens from the tool %s", sizes[best], clipped(best, 60))
}

// leaves remembers what leaves the view with an accepted plan.
func (p *progress) leaves(j *job, kept map[string]bool) {
	p.last, p.gone = j.View.Leaf, make(map[string]bool)
	for i := range j.View.Messages {
		for k := range j.View.Messages[i].Blocks {
			if b := &j.View.Messages[i].Blocks[k]; b.Type == message.TypeToolUse && !kept[b.Entry] {
				p.gone[askOf(b)] = true
			}
		}
	}
}

// roundsSince counts the replies that were recorded behind an entry.
func roundsSince(j *job, uuid string) int {
	n := 0
	seen := make(map[string]bool)
	for i := len(j.Log.Entries) - 1; i >= 0; i-- {
		e := j.Log.Entries[i]
		if e.UUID == uuid {
			break
		}
		if e.Type == transcript.TypeAssistant && !seen[e.MessageID] {
			seen[e.MessageID] = true
			n++
		}
	}
	return n
}

// accepted notes a plan that goes into the log. One that brings nothing counts as a
// failure of the summary it came with, and does not reset the breaker (C-12).
func (l *Ladder) accepted(r rung, j *job, plan []*transcript.Entry) {
	paid := asksModel(r)
	if paid {
		l.stats.Accepted++
	}
	if _, ok := r.(draftRung); ok {
		l.drafts.used()
	} else {
		l.dropDrafts("the conversation was compacted by another rung")
	}
	if j.Cause != CauseThreshold {
		if paid {
			l.failures = 0
		}
		return
	}
	why := l.progress.useless(j, j.trial(plan).Tokens)
	l.progress.leaves(j, j.tried[plan[0]].kept)
	if why == "" {
		l.progress.stalls = 0
		if paid {
			l.failures = 0
		}
		return
	}
	if paid {
		l.fail()
	}
	l.progress.stalls++
	if l.progress.stalls == j.limits.Stalls {
		l.note(Event{Rung: r.name(), Kind: Stalled, Detail: fmt.Sprintf("%d compactions in a row brought nothing (%s); automatic compaction stops in this session, and only what does not fit is dropped", l.progress.stalls, why)})
	}
}

// asksModel reports whether a rung's plan came from a model.
func asksModel(r rung) bool {
	switch r := r.(type) {
	case fullRung:
		return r.model
	case draftRung, serverRung:
		return true
	}
	return false
}

// missed counts a summary that was not accepted (C-12).
func (l *Ladder) missed(r rung, j *job) {
	switch r := r.(type) {
	case fullRung:
		if r.model {
			l.fail()
		}
	case serverRung:
		l.fail()
	case draftRung:
		// A draft that frees too little yet is completed by the next one; where no
		// room is left for that, it was made for nothing.
		if !l.coming(j) || j.Total >= j.Budget.Blocking {
			l.dropDrafts("it does not free enough")
			l.fail()
		}
	}
}

func (l *Ladder) fail() {
	l.failures++
	l.stats.Failed++
	if l.failures == l.Limits.withDefaults().Failures {
		l.note(Event{Rung: "summary", Kind: Breaker, Detail: "three summaries in a row failed; the ledger stands in for them in this session"})
	}
}

// Reset forgets failures and stalls, as after /clear.
func (l *Ladder) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.progress = 0, progress{}
}
