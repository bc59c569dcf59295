package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"varve.dev/llm"
	"varve.dev/message"
)

// The rules of the API's prompt cache (API reference, prompt caching): at most
// four marks; an entry is found in the 20 positions before a mark, itself
// included; marks that live an hour stand before those that live five minutes.
const (
	maxMarks = 4
	lookBack = 20
)

// Where this adapter puts its marks: on the last block of the system text, which
// covers the tools as well; on the last block of the conversation, where the next
// request finds it; and where the request before this one ended, so that its entry
// is found however many blocks the turn appended. That place is known from the
// conversation alone: the newest reply answered everything before it. When more
// blocks lie between the two than a look-back reaches, the end of the reply is
// marked as well. Marks are no part of the prompt: they may move.

func markText(long bool) string {
	if long {
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// A place is where a mark goes: before the closing brace of a block.
type place struct{ msg, at int }

var cacheControl = []byte(`"cache_control"`)

// given counts the marks that the caller put into JSON of its own (system or
// tools), and reports whether one of them lives the short time.
func given(list json.RawMessage) (n int, short bool) {
	if !bytes.Contains(list, cacheControl) {
		return 0, false
	}
	var items []struct {
		Cache *struct {
			TTL string `json:"ttl"`
		} `json:"cache_control"`
	}
	if json.Unmarshal(list, &items) != nil {
		return 0, false
	}
	for _, it := range items {
		if it.Cache != nil {
			n++
			short = short || it.Cache.TTL != "1h"
		}
	}
	return n, short
}

// markLast puts a mark on the last element of an array of objects that passes ok.
func markLast(list json.RawMessage, mark string, ok func(raw json.RawMessage) bool) (json.RawMessage, bool) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return list, false
	}
	for i := len(items) - 1; i >= 0; i-- {
		if b := items[i]; len(b) > 2 && b[0] == '{' && ok(b) {
			items[i] = append(append(slices.Clone(b[:len(b)-1]), mark...), '}')
			out := append([]byte{'['}, bytes.Join(raws(items), []byte{','})...)
			return append(out, ']'), true
		}
	}
	return list, false
}

func raws(items []json.RawMessage) [][]byte {
	out := make([][]byte, len(items))
	for i, it := range items {
		out[i] = it
	}
	return out
}

// markFixed marks the end of the fixed part: the system text, or the tools where
// there is none.
func markFixed(system, tools json.RawMessage, mark string) (json.RawMessage, json.RawMessage, bool) {
	if out, ok := markLast(system, mark, func(b json.RawMessage) bool {
		var t struct{ Text string }
		return json.Unmarshal(b, &t) == nil && !message.IsBlank(t.Text)
	}); ok {
		return out, tools, true
	}
	out, ok := markLast(tools, mark, func(b json.RawMessage) bool {
		var t struct {
			Deferred bool `json:"defer_loading"`
		}
		return json.Unmarshal(b, &t) == nil && !t.Deferred // a deferred tool is no part of the prefix
	})
	return system, out, ok
}

// cacheable reports whether a block may carry a mark: never reasoning or empty
// text, and nothing whose rules are not known.
func (s span) cacheable() bool {
	switch s.kind {
	case message.TypeText:
		return !s.blank
	case message.TypeImage, message.TypeDocument, message.TypeToolUse, message.TypeToolResult, message.TypeServerToolUse,
		message.TypeMCPToolUse, message.TypeCompaction, "search_result":
		return true
	}
	return strings.HasSuffix(s.kind, "_tool_result")
}

// lastPlace finds the last block at or before message i that may be marked.
func lastPlace(msgs []json.RawMessage, i int) (place, bool) {
	for ; i >= 0; i-- {
		if roleOf(msgs[i]) == string(message.RoleSystem) {
			continue
		}
		list, err := spans(msgs[i])
		if err != nil {
			return place{}, false
		}
		for k := len(list) - 1; k >= 0; k-- {
			if list[k].cacheable() {
				return place{i, list[k].end - 1}, true
			}
		}
	}
	return place{}, false
}

// lastReply returns the messages of the newest reply, [from, to); it is empty
// when there is none.
func lastReply(msgs []json.RawMessage) (from, to int) {
	for i := len(msgs) - 1; i >= 0; i-- {
		if roleOf(msgs[i]) != string(message.RoleAssistant) {
			continue
		}
		from, to = i, i+1
		for from > 0 && roleOf(msgs[from-1]) == string(message.RoleAssistant) {
			from--
		}
		return from, to
	}
	return 0, 0
}

// places chooses at most n places of the conversation, in its order.
func places(msgs []json.RawMessage, n int) []place {
	end, ok := lastPlace(msgs, len(msgs)-1)
	if !ok || n <= 0 {
		return nil
	}
	out := []place{end}
	add := func(p place, ok bool) {
		if ok && len(out) < n && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	from, to := lastReply(msgs)
	if from > 0 {
		add(lastPlace(msgs, from-1))
		if blocksBetween(msgs, from) > lookBack {
			add(lastPlace(msgs, to-1))
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		if a.msg != b.msg {
			return a.msg - b.msg
		}
		return a.at - b.at
	})
	return out
}

// blocksBetween counts the blocks of the messages from i on.
func blocksBetween(msgs []json.RawMessage, i int) int {
	n := 0
	for _, m := range msgs[i:] {
		list, err := spans(m)
		if err != nil {
			continue // said when the message is built
		}
		n += max(1, len(list))
	}
	return n
}

// unmark removes marks that a message came with: they were another request's.
func unmark(raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, cacheControl) {
		return raw, nil
	}
	ms, err := members(raw)
	if err != nil {
		return nil, err
	}
	content := get(ms, "content")
	if clean, changed := unmarkBlocks(content); changed {
		return object(put(ms, "content", clean)), nil
	}
	return raw, nil
}

func unmarkBlocks(list json.RawMessage) (json.RawMessage, bool) {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return list, false
	}
	changed := false
	for i, b := range items {
		if !bytes.Contains(b, cacheControl) {
			continue
		}
		ms, err := members(b)
		if err != nil {
			continue
		}
		mine := false
		if get(ms, "cache_control") != nil {
			ms, mine = drop(ms, "cache_control"), true
		}
		if str(get(ms, "type")) == message.TypeToolResult {
			if inner, ok := unmarkBlocks(get(ms, "content")); ok {
				ms, mine = put(ms, "content", inner), true
			}
		}
		if mine {
			items[i], changed = object(ms), true
		}
	}
	if !changed {
		return list, false
	}
	return append(append([]byte{'['}, bytes.Join(raws(items), []byte{','})...), ']'), true
}

// wholeContent turns a content that is a string into a text block, so that it can
// be marked; the API takes the two for the same.
func wholeContent(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"content":"`)) {
		return raw
	}
	ms, err := members(raw)
	if err != nil {
		return raw
	}
	c := get(ms, "content")
	if len(c) == 0 || c[0] != '"' {
		return raw
	}
	return object(put(ms, "content", fmt.Appendf(nil, `[{"type":"text","text":%s}]`, c)))
}

// policy returns how long the marks of the fixed part and of the conversation
// live.
func policy(c llm.Cache, givenShort bool) (fixed, talk bool) {
	fixed = c == llm.CacheLong || c == llm.CacheMixed
	return fixed, c == llm.CacheLong && !givenShort
}
