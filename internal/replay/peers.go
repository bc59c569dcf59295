package replay

import (
	"context"
	"slices"
	"strings"

	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
	"varve.dev/view"
)

// peers are approximations of what other agents do, from their published sources
// and from measurements of what they send. The figures are theirs. All share the
// summarizer of [summarize], so what is compared is when a policy acts, what it
// keeps as it was, and what it has to pay for.
func peers() []policy {
	with := func(plan func(p plain) (string, []*transcript.Entry, error), watch func(p plain) []string) func(*runner) engine.Ladder {
		return func(r *runner) engine.Ladder { return &peer{r: r, plan: plan, watch: watch} }
	}
	return []policy{
		{name: "reference", title: "clear when the cache is cold, summary at window - 33k, last round and 5 files",
			of:     "Claude Code's layers without session notes: the whole conversation is summarized by the main request with a question behind it; the last round and up to five files (5,000 tokens each) come back.",
			ask:    asking{calls: 1, cached: true},
			ladder: with(planReference, clearCold)},
		{name: "single70", title: "one summary at 70 % of the window, newest 30 % kept",
			of:     "Qwen Code until mid 2026: a side request without tools, so nothing of it is cached.",
			ask:    asking{calls: 1, share: 0.7},
			ladder: with(planTail(0.7), nil)},
		{name: "half", title: "masking, summary at 50 % of the window in two calls, newest 30 % kept",
			of:     "Gemini CLI: tool output beyond the newest 50,000 tokens is masked when 30,000 can go; the summary is written and then criticised by a second request.",
			ask:    asking{calls: 2, share: 0.7},
			ladder: with(planTail(0.5), clearOld(50_000, 30_000, 1))},
		{name: "prune", title: "tool output beyond 40k pruned by 20k, summary at window - 20k, last two turns kept",
			of:     "OpenCode: pruning, and a summary of a shortened conversation (tool output cut to 2,000 characters).",
			ask:    asking{calls: 1, share: 0.3},
			ladder: with(planTurns, clearOld(40_000, 20_000, 2))},
		{name: "users", title: "summary at 90 % of the window, newest 20k of user messages kept",
			of:     "Codex, local compaction: assistant text and all tool results go.",
			ask:    asking{calls: 1},
			ladder: with(planUsers, nil)},
		{name: "truncate", title: "oldest rounds dropped at the threshold, no summary",
			of:     "sliding windows of simple agents.",
			ladder: func(*runner) engine.Ladder { return engine.DropOldest{} }},
	}
}

// peer is a ladder made of one plan, and one look before each request.
type peer struct {
	r     *runner
	plan  func(p plain) (string, []*transcript.Entry, error)
	watch func(p plain) []string // calls whose results are cleared
}

// Plan is asked at the threshold of Varve's own budget; a peer that acts later
// waits, one that acts earlier has acted in Watch.
func (p *peer) Plan(_ context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	return p.plan(plain{s, p.r})
}

// Watch clears results, and acts where the peer's threshold is below Varve's.
func (p *peer) Watch(_ context.Context, s compact.Situation) (string, []*transcript.Entry, error) {
	x := plain{s, p.r}
	if p.watch != nil {
		if ids := p.watch(x); len(ids) > 0 {
			return x.clear("clear", ids)
		}
	}
	if s.Total < s.Budget.Auto {
		return p.plan(x)
	}
	return "", nil, nil
}

// planReference: at the threshold everything but the last round is summarized, and
// what was read last comes back.
func planReference(p plain) (string, []*transcript.Entry, error) {
	if p.Total < p.Budget.Auto {
		return "", nil, nil
	}
	rounds := p.rounds()
	if len(rounds) < 2 {
		return "", nil, nil
	}
	text, err := p.summary(offlineSummary)
	if err != nil {
		return "", nil, err
	}
	cut := p.cut(rounds[len(rounds)-1].Start)
	if p.size(cut, len(p.View.Messages)) > p.Target/2 {
		cut = len(p.View.Messages) // the last round alone would fill the window again
	}
	rung, plan, err := p.replace("summary", text, p.entries(cut, len(p.View.Messages)), false)
	if err != nil {
		return "", nil, err
	}
	parent := plan[1].UUID
	room := min(p.Target/2, 50_000)
	for _, file := range lastRead(p.View, 5, 5000) {
		if room -= p.Weigh(tokens.Text(file)); room < 0 {
			break
		}
		x := p.Stamp.Attachment(parent, []byte(`{"type":"file"}`), []string{file})
		plan, parent = append(plan, x), x.UUID
	}
	return rung, plan, nil
}

// lastRead returns the newest n results of reading tools, each cut to size tokens.
func lastRead(v *view.View, n, size int) []string {
	name := map[string]string{}
	var out []string
	for _, m := range v.Messages {
		for i := range m.Blocks {
			switch b := &m.Blocks[i]; b.Type {
			case message.TypeToolUse:
				name[b.ID] = b.Name
			case message.TypeToolResult:
				if strings.EqualFold(name[b.ToolUseID], "read") {
					out = append(out, cutTo(resultText(&b.Block), size))
				}
			}
		}
	}
	return out[max(len(out)-n, 0):]
}

func resultText(b *message.Block) string {
	var out []string
	for _, c := range b.Content {
		if c.Type == message.TypeText {
			out = append(out, c.Text)
		}
	}
	return strings.Join(out, "\n")
}

// planTail summarizes at a share of the window, and keeps the newest 30 % of the
// conversation from a message of the user's on, or from a round where there is none.
func planTail(share float64) func(p plain) (string, []*transcript.Entry, error) {
	return func(p plain) (string, []*transcript.Entry, error) {
		if float64(p.Total) < share*float64(p.Budget.Window) {
			return "", nil, nil
		}
		n := len(p.View.Messages)
		rounds := p.rounds()
		if len(rounds) < 2 {
			return "", nil, nil
		}
		all, cut := p.size(0, n), rounds[len(rounds)-1].Start
		for i := len(rounds) - 1; i > 0 && p.size(rounds[i].Start, n) <= all*3/10; i-- {
			cut = rounds[i].Start
		}
		text, err := p.summary(offlineSummary)
		if err != nil {
			return "", nil, err
		}
		return p.replace("summary", text, p.entries(p.cut(cut), n), false)
	}
}

// planTurns summarizes when the window less 20,000 is reached, and keeps the last
// two turns as far as they fit in 8,000 tokens.
func planTurns(p plain) (string, []*transcript.Entry, error) {
	reserve := min(20_000, p.Budget.Window/10)
	if p.Total < min(p.Budget.Window-reserve, p.Budget.Effective) {
		return "", nil, nil
	}
	rounds := p.rounds()
	if len(rounds) < 2 {
		return "", nil, nil
	}
	n, cut := len(p.View.Messages), rounds[len(rounds)-1].Start
	for i, turns := len(rounds)-1, 0; i > 0 && turns < 2; i-- {
		if p.size(rounds[i].Start, n) > min(8000, p.Budget.Window/4) {
			break
		}
		cut = rounds[i].Start
		if spoken(&p.View.Messages[max(cut-1, 0)]) {
			turns++
		}
	}
	text, err := p.summary(offlineSummary)
	if err != nil {
		return "", nil, err
	}
	return p.replace("summary", text, p.entries(p.cut(cut), n), false)
}

// spoken reports whether a message holds text of the user's.
func spoken(m *view.Message) bool {
	return m.Role == message.RoleUser && slices.ContainsFunc(m.Blocks, func(b view.Block) bool { return b.Type == message.TypeText })
}

// planUsers summarizes at 90 % and keeps nothing but the newest words of the user.
func planUsers(p plain) (string, []*transcript.Entry, error) {
	if p.Total < p.Budget.Window*9/10 && p.Total < p.Budget.Effective {
		return "", nil, nil
	}
	var kept []string
	left := min(20_000, p.Budget.Window/10)
	for i := len(p.View.Messages) - 1; i >= 0; i-- {
		m := &p.View.Messages[i]
		if !spoken(m) || hasResult(m) {
			continue
		}
		for k := len(m.Blocks) - 1; k >= 0; k-- {
			b := &m.Blocks[k]
			x := p.Log.ByUUID(b.Entry)
			if x == nil || x.CompactSummary || x.Type != transcript.TypeUser || slices.Contains(kept, b.Entry) {
				continue
			}
			if left -= p.Weigh(p.Size(b.Block)); left < 0 {
				break
			}
			kept = append(kept, b.Entry)
		}
	}
	slices.Reverse(kept)
	text, err := p.summary(offlineSummary)
	if err != nil {
		return "", nil, err
	}
	return p.replace("summary", text, kept, true)
}

// summary asks the summarizer that all share, and notes what it wrote.
func (p plain) summary(budget int) (string, error) {
	text, err := summarize(p.Situation, min(budget, max(p.Budget.Window/10, 400)))
	if err != nil {
		return "", err
	}
	p.r.sum.wrote(text)
	return "This session goes on from an earlier conversation, summarized here:\n" + text, nil
}

// clearCold clears results but the newest five when the cache is cold and 20,000
// tokens can go.
func clearCold(p plain) []string {
	if p.Caps.PrefixBound || p.r.meter.warm(p.r.now) || p.r.meter.at.IsZero() {
		return nil
	}
	ids, sizes := p.results(0)
	if len(ids) <= 5 {
		return nil
	}
	ids, sizes = ids[:len(ids)-5], sizes[:len(sizes)-5]
	if sum(sizes) < 20_000 {
		return nil
	}
	return ids
}

// clearOld clears results beyond the newest keep tokens when least can go; the
// newest turns of the user are left alone.
func clearOld(keep, least, turns int) func(p plain) []string {
	return func(p plain) []string {
		ids, sizes := p.results(turns)
		i, newest := len(ids), 0
		for i > 0 && newest+sizes[i-1] <= keep {
			i--
			newest += sizes[i]
		}
		if sum(sizes[:i]) < least {
			return nil
		}
		return ids[:i]
	}
}

func sum(ns []int) int {
	n := 0
	for _, x := range ns {
		n += x
	}
	return n
}

// results returns the calls whose results stand in full before the newest turns of
// the user, oldest first, and what clearing each frees.
func (p plain) results(turns int) (ids []string, sizes []int) {
	end := len(p.View.Messages)
	for i := end - 1; i >= 0 && turns > 0; i-- {
		if spoken(&p.View.Messages[i]) {
			end = i
			turns--
		}
	}
	mark := tokens.Text("[Old tool result content cleared]")
	for i := range p.View.Messages[:end] {
		for k := range p.View.Messages[i].Blocks {
			b := &p.View.Messages[i].Blocks[k]
			if b.Type != message.TypeToolResult {
				continue
			}
			if n := p.Weigh(p.Size(b.Block)) - p.Weigh(mark); n > 0 {
				ids, sizes = append(ids, b.ToolUseID), append(sizes, n)
			}
		}
	}
	return ids, sizes
}
