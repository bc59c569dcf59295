package message

import "slices"

// turn is a run of messages of one role, which the API sees as one message: ms[start:end].
type turn struct {
	role       Role
	start, end int
}

func turnsOf(ms []Message) []turn {
	var turns []turn
	for i, m := range ms {
		if n := len(turns); n > 0 && turns[n-1].role == m.Role {
			turns[n-1].end = i + 1
		} else {
			turns = append(turns, turn{m.Role, i, i + 1})
		}
	}
	return turns
}

// sequence checks what follows what, over the merged turns.
func (c *checker) sequence() {
	q := sequence{
		checker: c,
		turns:   turnsOf(c.ms),
		calls:   map[string]place{},
		results: map[string]bool{},
		uses:    map[string]bool{},
		server:  map[string]place{},
	}
	for t := range q.turns {
		switch q.turns[t].role {
		case RoleAssistant:
			q.assistant(t)
		case RoleUser:
			q.user(t)
		case RoleSystem:
			q.system(t)
		}
	}
	q.serverCallsLeftOpen()
	q.splitReplies()
}

type sequence struct {
	*checker
	turns   []turn
	uses    map[string]bool  // ids of all calls so far
	server  map[string]place // calls of server tools that have no result yet
	calls   map[string]place // the calls of the last assistant turn looked at,
	called  int              // and the index of that turn
	mixed   bool             // that turn left a server tool's call open beside the user's
	results map[string]bool  // scratch: ids of the results of one turn
}

// each calls f for each block of turn t, in order.
func (q *sequence) each(t int, f func(at place, b *Block)) {
	for i := q.turns[t].start; i < q.turns[t].end; i++ {
		for j := range q.ms[i].Content {
			f(place{i, j}, &q.ms[i].Content[j])
		}
	}
}

func (q *sequence) assistant(t int) {
	clear(q.calls)
	q.called = t
	blocks, thinking, last := 0, 0, ""
	var open []string // server tools' calls of this turn without a result in it
	q.each(t, func(at place, b *Block) {
		blocks++
		last = b.Type
		switch {
		case b.IsThinking():
			thinking++
		case b.Type == TypeToolUse || b.IsServerCall():
			if q.uses[b.ID] {
				q.report(RuleToolUseRepeated, at, "the id %q occurred before", b.ID)
			}
			q.uses[b.ID] = true
			if b.Type == TypeToolUse {
				q.calls[b.ID] = at
				return
			}
			q.server[b.ID] = at
			open = append(open, b.ID)
		case b.IsServerResult() && b.ToolUseID != "":
			if !q.uses[b.ToolUseID] {
				q.report(RuleServerOrphan, at, "no call %q before this %s", b.ToolUseID, b.Type)
			}
			delete(q.server, b.ToolUseID)
			open = slices.DeleteFunc(open, func(id string) bool { return id == b.ToolUseID })
		}
	})
	q.mixed = len(q.calls) > 0 && len(open) > 0
	end := place{q.turns[t].end - 1, len(q.ms[q.turns[t].end-1].Content) - 1}
	switch {
	case blocks > 0 && thinking == blocks:
		q.report(RuleThinkingOnly, place{q.turns[t].start, whole}, "the reply holds nothing but reasoning")
	case t == len(q.turns)-1 && (last == TypeThinking || last == TypeRedactedThinking):
		q.report(RuleThinkingLast, end, "the last block of the conversation is reasoning")
	}
	q.unanswered(t)
}

// unanswered reports the calls of assistant turn t that the very next turn does not answer.
func (q *sequence) unanswered(t int) {
	if len(q.calls) == 0 {
		return
	}
	clear(q.results)
	if t+1 < len(q.turns) && q.turns[t+1].role == RoleUser {
		q.each(t+1, func(_ place, b *Block) {
			if b.Type == TypeToolResult {
				q.results[b.ToolUseID] = true
			}
		})
	}
	for id, at := range q.calls {
		if !q.results[id] {
			q.report(RuleToolUseOpen, at, "the call %q has no result in the next message", id)
		}
	}
}

func (q *sequence) user(t int) {
	answers := t > 0 && q.called == t-1 && q.turns[t-1].role == RoleAssistant
	clear(q.results)
	other, mixed := false, false
	q.each(t, func(at place, b *Block) {
		if b.Type != TypeToolResult {
			other = true
			if answers && q.mixed && !mixed {
				mixed = true
				q.report(RuleMixedTurn, at, "only results may answer a turn with an open call of a server tool")
			}
			return
		}
		if other {
			q.report(RuleResultOrder, at, "results come first in a user message")
		}
		switch _, called := q.calls[b.ToolUseID]; {
		case !answers || !called:
			q.report(RuleResultOrphan, at, "no call %q in the previous message", b.ToolUseID)
		case q.results[b.ToolUseID]:
			q.report(RuleResultRepeated, at, "a second result for the call %q", b.ToolUseID)
		}
		q.results[b.ToolUseID] = true
	})
}

// system checks a turn of system messages: after a user turn or an assistant turn that ends in a server tool's result, and before
// an assistant turn or last (the API's rule for such messages).
func (q *sequence) system(t int) {
	after := t > 0 && q.turns[t-1].role == RoleUser
	if t > 0 && q.turns[t-1].role == RoleAssistant {
		q.each(t-1, func(_ place, b *Block) { after = b.IsServerResult() })
	}
	before := t == len(q.turns)-1 || q.turns[t+1].role == RoleAssistant
	if !after || !before {
		q.report(RuleSystemPosition, place{q.turns[t].start, whole}, "a system message stands between a user and an assistant turn, or last")
	}
}

// serverCallsLeftOpen reports calls of server tools without a result, but those of the last reply, which may be paused or wait for
// results of other tools (stop reasons pause_turn, tool_use).
func (q *sequence) serverCallsLeftOpen() {
	last := len(q.turns) - 1
	for last >= 0 && q.turns[last].role != RoleAssistant {
		last--
	}
	for id, at := range q.server {
		if at.msg < q.turns[last].start {
			q.report(RuleServerOpen, at, "the call %q of a server tool never got its result", id)
		}
	}
}

// splitReplies reports replies whose parts do not stand together.
func (q *sequence) splitReplies() {
	seen := map[string]int{}
	for i, m := range q.ms {
		if m.Role != RoleAssistant || m.ID == "" {
			continue
		}
		if last, ok := seen[m.ID]; ok && last != i-1 {
			q.report(RuleSplitReply, place{i, whole}, "a part of the reply %q, whose last part is messages.%d", m.ID, last)
		}
		seen[m.ID] = i
	}
}
