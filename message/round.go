package message

import "sort"

// A Round is a range of messages: ms[Start:End]. See [Rounds].
type Round struct{ Start, End int }

// Rounds divides a conversation into rounds, the smallest pieces that may leave a context: one reply (all assistant messages of one
// message.id) with the user and system messages that follow it. Messages before the first reply form the first round. The rounds cover
// ms without gaps, in order; no reply is in two rounds, and no tool call is in another round than its result, even where a log has
// them out of order: such rounds are one.
//
// An assistant message without an id is a reply of its own, together with those without id directly after it.
func Rounds(ms []Message) []Round {
	var rounds []Round
	replies := map[string]int{} // message.id → index of its first message
	calls := map[string]int{}   // tool-use id → index of the message with the call
	// join makes one round of everything from the round that holds message i on.
	join := func(i int) {
		k := sort.Search(len(rounds), func(k int) bool { return rounds[k].End > i })
		if k < len(rounds) {
			rounds[k].End = rounds[len(rounds)-1].End
			rounds = rounds[:k+1]
		}
	}
	for i, m := range ms {
		if i == 0 || m.startsReply(&ms[i-1]) {
			rounds = append(rounds, Round{i, i + 1})
		} else {
			rounds[len(rounds)-1].End = i + 1
		}
		if m.Role == RoleAssistant && m.ID != "" {
			if first, seen := replies[m.ID]; seen {
				join(first)
			} else {
				replies[m.ID] = i
			}
		}
		for _, b := range m.Content {
			switch b.Type {
			case TypeToolUse:
				calls[b.ID] = i
			case TypeToolResult:
				if at, ok := calls[b.ToolUseID]; ok {
					join(at)
				}
			}
		}
	}
	return rounds
}

// startsReply reports whether m, which follows prev, begins another reply than the one prev belongs to. A reply that goes on after
// results in between is found by its id.
func (m *Message) startsReply(prev *Message) bool {
	return m.Role == RoleAssistant && (prev.Role != RoleAssistant || m.ID != prev.ID)
}
