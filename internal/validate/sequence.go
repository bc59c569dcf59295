package validate

import "unicode/utf8"

// A ref is the position of a block with the id it carries.
type ref struct {
	id         string
	msg, block int
}

// sequence checks what follows what. The API merges consecutive messages of one role, so it looks at the merged turns. It begins where
// the last request that was in order began its last turn, if nothing before that changed.
type sequence struct {
	*run
	start, end int // the messages of the turn at hand
	lastReply  int // the first message of the last assistant turn

	used    map[string]bool // ids of all calls so far
	calls   []ref           // the calls of the assistant turn just before
	server  []ref           // calls of server tools that have no result yet
	mixed   bool            // the assistant turn just before left a server tool's call open beside the user's
	answers answers

	last struct { // what was known at the start of the last turn looked at
		ok            bool
		start         int
		calls, server []ref
		mixed         bool
		used          []string // ids that came later
	}
}

func (q *sequence) check(r *run) {
	q.run = r
	q.lastReply = r.lastReply()
	found := len(r.found)
	q.rewind()
	r.first(q.start)
	for ; q.start < len(r.msgs); q.start = q.end {
		q.save()
		role := r.msgs[q.start].role
		for q.end = q.start + 1; q.end < len(r.msgs) && r.msgs[q.end].role == role; {
			q.end++
		}
		q.turn(role)
	}
	q.leftOpen()
	if r.req.Manual {
		q.manual()
	}
	q.last.ok = len(r.found) == found
	q.run = nil
}

func (q *sequence) turn(role string) {
	q.empty()
	switch role {
	case "assistant":
		q.assistant()
		if q.end == len(q.msgs) || q.msgs[q.end].role != "user" {
			for _, c := range q.calls {
				q.unanswered(c)
			}
		}
		return
	case "user":
		q.user()
	case "system":
		q.system()
	}
	q.calls, q.mixed = q.calls[:0], false
}

// save remembers where the last turn begins.
func (q *sequence) save() {
	l := &q.last
	l.start, l.mixed, l.used = q.start, q.mixed, l.used[:0]
	l.calls, l.server = append(l.calls[:0], q.calls...), append(l.server[:0], q.server...)
}

// cut says that messages from n on are no longer those that were looked at. A message more may belong to the turn before it, so one of
// the last turn must be left for the turn to begin where it did.
func (q *sequence) cut(n int) { q.last.ok = q.last.ok && q.last.start < n }

// rewind goes back to where the last turn begins, or to the start.
func (q *sequence) rewind() {
	l := &q.last
	if !l.ok {
		q.start, q.mixed, q.calls, q.server = 0, false, q.calls[:0], q.server[:0]
		q.used = make(map[string]bool, len(q.msgs)/2)
		return
	}
	q.start, q.mixed = l.start, l.mixed
	q.calls, q.server = append(q.calls[:0], l.calls...), append(q.server[:0], l.server...)
	for _, id := range l.used {
		delete(q.used, id)
	}
}

// manual checks, where the conversation waits for the model after tool results, that the reply which began these calls starts with
// thinking, as manual extended thinking wants it.
func (q *sequence) manual() {
	first := -1
	for i := len(q.msgs) - 1; i >= 0; i-- {
		s := q.msgs[i]
		if s.role == "assistant" {
			first = i
		} else if s.role == "user" && (len(s.blocks) == 0 || s.blocks[0].kind != result) {
			break
		}
	}
	if first < 0 || q.msgs[len(q.msgs)-1].role != "user" {
		return
	}
	if b := q.msgs[first].blocks; len(b) > 0 && b[0].kind != thinking {
		q.report(path(first, 0), RuleThinkingFirst, "when `thinking` is enabled, a final `assistant` message must start with a thinking block")
	}
}

func (r *run) lastReply() int {
	i := len(r.msgs) - 1
	for i >= 0 && r.msgs[i].role != "assistant" {
		i--
	}
	for i > 0 && r.msgs[i-1].role == "assistant" {
		i--
	}
	return i
}

// first checks who begins, and that a compaction made on demand stands first and alone (API.md 2.2). Of those made by threshold there may
// be several: what stands before the last is ignored, and may have been left out up to any of them (2.3). Nothing before message from
// changed.
func (r *run) first(from int) {
	s := r.msgs[0]
	if s.role != "user" && (s.role != "assistant" || !s.summary) {
		r.report(path(0, whole), RuleFirst, "first message must use the user role, or be a server's compaction")
		return
	}
	alone := s.summary && s.blocks[0].once
	for i := from; i < len(r.msgs); i++ {
		for j, b := range r.msgs[i].blocks {
			switch {
			case b.kind != compaction || i+j == 0:
			case alone:
				r.report(path(i, j), RuleCompact, "a second compaction beside the one that stands first")
			case b.once:
				r.report(path(i, j), RuleCompact, "compaction_block_misplaced: a compaction made on demand stands first")
			}
		}
	}
}

// empty reports messages without content. Only the last may have none, when it is the assistant's, and a system message, which may
// carry output_config alone.
func (q *sequence) empty() {
	for i := q.start; i < q.end; i++ {
		s := q.msgs[i]
		if len(s.blocks) == 0 && s.role != "system" && (s.role != "assistant" || i < len(q.msgs)-1) && !reported(s.found, RuleJSON) {
			q.report(path(i, whole), RuleEmpty, "all messages must have non-empty content except for the optional final assistant message")
		}
	}
}

func (q *sequence) assistant() {
	q.calls = q.calls[:0]
	blocks, reasoning, last := 0, 0, other
	before := len(q.server)
	for i := q.start; i < q.end; i++ {
		for j, b := range q.msgs[i].blocks {
			blocks++
			last = b.kind
			switch b.kind {
			case thinking:
				reasoning++
			case call, serverCall:
				q.call(b, ref{b.id, i, j})
			case serverResult:
				before = min(before, q.serverResult(b.id, i, j))
			}
		}
	}
	q.mixed = len(q.calls) > 0 && len(q.server) > before
	switch {
	case blocks > 0 && reasoning == blocks:
		q.report(path(q.start, whole), RuleThinkingOnly, "the reply holds nothing but reasoning")
	case q.end == len(q.msgs) && last == thinking:
		q.report(path(q.end-1, len(q.msgs[q.end-1].blocks)-1), RuleThinkingLast, "the final block in an assistant message cannot be `thinking`")
	}
}

func (q *sequence) call(b block, at ref) {
	if q.used[b.id] {
		q.report(path(at.msg, at.block), RuleRepeated, "`tool_use` ids must be unique: %q occurred before", b.id)
	} else {
		q.used[b.id] = true
		q.last.used = append(q.last.used, b.id)
	}
	if b.kind == call {
		q.calls = append(q.calls, at)
	} else {
		q.server = append(q.server, at)
	}
}

// serverResult closes the call of a server tool and returns where in the list it stood.
func (q *sequence) serverResult(id string, msg, block int) int {
	for k := len(q.server) - 1; k >= 0; k-- {
		if q.server[k].id == id {
			q.server = append(q.server[:k], q.server[k+1:]...)
			return k
		}
	}
	if id != "" && !q.used[id] {
		q.report(path(msg, block), RuleServerID, "unexpected `tool_use_id`: no call %q before this result", id)
	}
	return len(q.server)
}

func (q *sequence) unanswered(c ref) {
	q.report(path(c.msg, c.block), RuleOpen, "`tool_use` ids were found without `tool_result` blocks immediately after: %s", c.id)
}

func (q *sequence) user() {
	answers := &q.answers
	answers.reset(q.calls)
	others, mixed := false, false
	for i := q.start; i < q.end; i++ {
		for j, b := range q.msgs[i].blocks {
			if b.kind != result {
				others = true
				if q.mixed && !mixed {
					mixed = true
					q.report(path(i, j), RuleMixed, "only results may answer a turn with an open call of a server tool")
				}
				continue
			}
			if others {
				q.report(path(i, j), RuleOrder, "`tool_result` blocks come first in a user message")
			}
			switch answers.take(b.id) {
			case missing:
				q.report(path(i, j), RuleOrphan, "unexpected `tool_use_id` found in `tool_result` blocks: %s", b.id)
			case taken:
				q.report(path(i, j), RuleAnswered, "a second result for the call %q", b.id)
			}
		}
	}
	for k, c := range q.calls {
		if !answers.done[k] {
			q.unanswered(c)
		}
	}
}

// answers pairs results with the calls of one turn.
type answers struct {
	calls []ref
	index map[string][]int // of calls, when there are many
	done  []bool
}

type answer int

const (
	fresh   answer = iota // the first result for its call
	taken                 // there was one before
	missing               // there is no such call
)

// fewCalls is up to where looking through the calls is faster than a map.
const fewCalls = 8

func (a *answers) reset(calls []ref) {
	a.calls, a.index = calls, nil
	a.done = append(a.done[:0], make([]bool, len(calls))...)
	if len(calls) > fewCalls {
		a.index = make(map[string][]int, len(calls))
		for i, c := range calls {
			a.index[c.id] = append(a.index[c.id], i)
		}
	}
}

// take marks the calls called id (more than one are a violation of their own) as answered.
func (a *answers) take(id string) answer {
	state := missing
	mark := func(i int) {
		if a.done[i] {
			state = taken
		} else {
			state = fresh
		}
		a.done[i] = true
	}
	if a.index != nil {
		for _, i := range a.index[id] {
			mark(i)
		}
		return state
	}
	for i, c := range a.calls {
		if c.id == id {
			mark(i)
		}
	}
	return state
}

// system checks the place of system messages inside the conversation (API.md 1.1).
func (q *sequence) system() {
	if q.opt.NoSystem {
		q.report(path(q.start, whole), RuleNoSystem, "the model takes no system message inside the conversation")
		return
	}
	after := q.start > 0 && q.msgs[q.start-1].role == "user"
	if q.start > 0 && q.msgs[q.start-1].role == "assistant" {
		after = q.lastKind(q.start-1) == serverResult
	}
	before := q.end == len(q.msgs) || q.msgs[q.end].role == "assistant"
	if !after || !before {
		q.report(path(q.start, whole), RuleSystem, "a system message stands between a user and an assistant turn, or last")
	}
}

// lastKind is the kind of the last block of the turn that ends with message i.
func (q *sequence) lastKind(i int) kind {
	role := q.msgs[i].role
	for ; i >= 0 && q.msgs[i].role == role; i-- {
		if b := q.msgs[i].blocks; len(b) > 0 {
			return b[len(b)-1].kind
		}
	}
	return other
}

// leftOpen reports calls of server tools without a result, but those of the last reply, which may be paused or wait for results of
// other tools.
func (q *sequence) leftOpen() {
	for _, c := range q.server {
		if c.msg < q.lastReply {
			q.report(path(c.msg, c.block), RuleServer, "the call %q of a server tool never got its result", c.id)
		}
	}
}

// ending checks what the conversation ends with. A reply that a server's tool paused (stop reason pause_turn) is sent back as it is, and a
// finished one may be the last thing that is to be summarized.
func (r *run) ending() {
	last := len(r.msgs) - 1
	s := r.msgs[last]
	if s.role != "assistant" || r.req.Summarize {
		return
	}
	for i := last; i >= 0 && r.msgs[i].role == "assistant"; i-- {
		for _, b := range r.msgs[i].blocks {
			if b.kind == serverCall {
				return
			}
		}
	}
	if r.opt.NoPrefill {
		r.report(path(last, whole), RulePrefill, "This model does not support assistant message prefill. The conversation must end with a user message.")
		return
	}
	t, _ := text(s.last)
	if end, _ := utf8.DecodeLastRuneInString(t); t != "" && isSpace(end) {
		r.report(path(last, len(s.blocks)-1), RuleTrail, "final assistant content cannot end with trailing whitespace")
	}
}
