package validate

import (
	"encoding/json"
	"errors"
)

// history is what was sent and received, as items.
type history struct {
	items []item // of the last exchange: the request and its reply
	known map[uint64]origin
	cover map[uint64]covered
	n     int // exchanges so far
}

// origin is where a thinking block comes from.
type origin struct {
	before []item // everything before it, in the request and in its own reply
	reply  *reply // nil when it was part of a request before it was seen in a reply
}

// reply counts the thinking blocks of one reply.
type reply struct{ thinking int }

// covered is what a server's compaction block stands for: the request that asked for it, the n-th.
type covered struct {
	items []item
	n     int
}

func (h *history) init() {
	h.known = map[uint64]origin{}
	h.cover = map[uint64]covered{}
}

// reply looks at a reply, a whole message or its content.
func (l *looker) reply(raw json.RawMessage) (*seen, error) {
	s := &seen{role: "assistant"}
	content, ok := raw, valid(raw)
	if ok {
		if o, err := splitObject(raw); err == nil {
			content = o.get("content")
		}
	}
	if !ok || len(content) == 0 || content[0] != '[' && content[0] != '"' {
		return nil, errors.New("validate: the reply is neither an assistant message nor its content")
	}
	l.content(s, content, isUnicode(content))
	return s, nil
}

// add appends an answered request. Thinking of the request that was never seen in a reply counts as accepted where it stands.
func (h *history) add(request []item, s *seen) {
	h.n++
	news := 0
	if len(h.items) >= len(request) || !sameItems(h.items, request[:len(h.items)]) {
		h.items = request[:len(request):len(request)]
	} else {
		news = len(h.items)
		h.items = append(h.items, request[news:]...)
	}
	at := int32(0)
	if len(request) > frameItems {
		at = request[len(request)-1].msg + 1
	}
	for i := news; i < len(request); i++ {
		if it := request[i]; it.kind == thinking {
			if _, ok := h.known[it.sum]; !ok {
				h.known[it.sum] = origin{before: h.items[:i]}
			}
		}
	}
	if len(s.blocks) > 0 && s.summary {
		sum := s.items[s.blocks[0].item].sum
		if _, ok := h.cover[sum]; !ok {
			h.cover[sum] = covered{h.items[:len(h.items):len(h.items)], h.n}
		}
	}
	rep := &reply{}
	for _, it := range s.items {
		it.msg = at
		if it.kind == thinking {
			rep.thinking++
			if _, ok := h.known[it.sum]; !ok {
				h.known[it.sum] = origin{before: h.items, reply: rep}
			}
		}
		h.items = append(h.items, it)
	}
}

func sameItems(a, b []item) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if a[i].sum != b[i].sum {
			return false
		}
	}
	return true
}

// prefix checks the request against the history.
func (r *run) prefix() {
	if r.opt.AppendOnly && r.history.n > 0 {
		r.appended()
	}
	if r.opt.Bound {
		r.bound()
	}
	if (r.opt.Bound || r.opt.AppendOnly) && len(r.items) > frameItems && r.items[frameItems].kind == compaction {
		r.overlap()
	}
}

// appended checks that the request begins with the last exchange.
func (r *run) appended() {
	w := walk{history: &r.history, s: r.history.items, r: r.items, fromEnd: true}
	if w.follow() && w.restIsThinking() {
		return
	}
	rule := RulePrefixChanged
	if w.j < frameItems {
		rule = RuleFrameChanged
	}
	r.report(r.itemPath(w.j), rule, "not what was sent before, although no edit was made")
}

// itemPath is the path of item i; after the last one it is the end of the messages.
func (r *run) itemPath(i int) string {
	if i >= len(r.items) {
		return path(len(r.msgs), whole)
	}
	it := r.items[i]
	switch it.msg {
	case atSystem:
		return "system"
	case atTools:
		return "tools"
	}
	return path(int(it.msg), int(it.block))
}

// bound checks that every thinking block was received, stands where it stood then, and was not left alone by its reply. What was
// found good in the last request, whole replies, is good still.
func (r *run) bound() {
	found := len(r.found)
	kept := map[*reply]int{}
	where := map[*reply]int{}
	var replies []*reply
	var w walk
	for i := r.good; i < len(r.items); i++ {
		it := r.items[i]
		if it.kind != thinking {
			continue
		}
		o, ok := r.history.known[it.sum]
		if !ok {
			r.report(r.itemPath(i), RuleModified, "thinking blocks cannot be modified: this is not one that was received")
			continue
		}
		if o.reply != nil {
			if kept[o.reply]++; kept[o.reply] == 1 {
				where[o.reply] = i
				replies = append(replies, o.reply)
			}
		}
		if !r.opt.DropMismatch {
			r.place(i, o, &w)
		}
	}
	for _, rep := range replies {
		if kept[rep] < rep.thinking {
			r.report(r.itemPath(where[rep]), RulePartial, "%d of the %d thinking blocks of this reply are left out", rep.thinking-kept[rep], rep.thinking)
		}
	}
	r.good = 0
	if len(r.found) == found {
		r.good = len(r.items)
	}
}

// place checks that what stands before thinking item i is what stood before it when it was made. w is the walk of the thinking block
// before, which goes on where the two were made in one conversation: a request is walked once, not once for each block.
func (r *run) place(i int, o origin, w *walk) {
	if len(w.s) == 0 || len(o.before) < len(w.s) || &o.before[0] != &w.s[0] {
		*w = walk{history: &r.history}
	}
	w.s, w.r = o.before, r.items[:i]
	if w.follow() && w.j == i && w.restIsThinking() {
		return
	}
	r.report(r.itemPath(i), RuleBound, "Invalid `signature` in `thinking` block. The block is bound to a different conversation: %s is not what stood there", r.itemPath(min(w.j, i)))
}

// A walk follows a request r along s, something that was sent. At its end s[i] and r[j] are the first that differ, if both are there.
type walk struct {
	*history
	s, r    []item
	i, j    int
	fromEnd bool // thinking may also be missing at the end of s
	depth   int  // exchanges from this number on are not looked up as covered

	gap, kept bool // thinking was left out after some was kept; some was kept
}

// follow walks as far as both have the same, leaving out thinking of s that may be missing. It reports whether one of them ended.
func (w *walk) follow() bool {
	if w.i == 0 && w.j == 0 && !w.summary() {
		return false
	}
	for w.i < len(w.s) && w.j < len(w.r) {
		s, r := w.s[w.i], w.r[w.j]
		switch {
		case s.sum == r.sum:
			if s.kind == thinking {
				if w.gap {
					return false
				}
				w.kept = true
			}
			w.i++
			w.j++
		case s.kind == thinking && w.skip():
		default:
			return false
		}
	}
	return true
}

// skip leaves out the thinking block s[i], if that is allowed.
func (w *walk) skip() bool {
	if w.kept {
		if !w.fromEnd {
			return false
		}
		w.gap = true
	}
	w.i++
	return true
}

// restIsThinking reports whether s ended, or what is left of it is thinking that may be missing.
func (w *walk) restIsThinking() bool {
	for w.i < len(w.s) {
		if w.s[w.i].kind != thinking || !w.skip() {
			return false
		}
	}
	return true
}

// summary steps over what a server's compaction block at the start of r stands for. It reports false when that is not at the start of s.
func (w *walk) summary() bool {
	if len(w.r) <= frameItems || w.r[frameItems].kind != compaction {
		return true
	}
	sum := w.r[frameItems].sum
	for p := len(w.s) - 1; p >= frameItems; p-- {
		if w.s[p].sum != sum {
			continue
		}
		// The API ignores what stands before the last compaction block; it may have been left out.
		if w.i, w.j = 0, 0; !w.sameFrame() {
			return false
		}
		w.i, w.j = p, frameItems
		return true
	}
	c, ok := w.cover[sum]
	if !ok || w.depth > 0 && c.n >= w.depth {
		return true // the comparison will find the block
	}
	if !w.sameFrame() {
		return false
	}
	in := walk{history: w.history, s: w.s, r: c.items, depth: c.n}
	if !in.follow() || in.j < len(in.r) {
		w.i, w.j = in.i, frameItems
		return false
	}
	w.i, w.j = in.i, frameItems+1
	return true
}

// sameFrame compares system and tools, and leaves j at the one that differs.
func (w *walk) sameFrame() bool {
	for k := range frameItems {
		if k >= len(w.s) || w.s[k].sum != w.r[k].sum {
			w.j = k
			return false
		}
	}
	return true
}

// overlap looks for messages behind a leading compaction block that it covers already: the silent mistake of leaving them there. What
// is looked for is an end of what was covered, with something the assistant said in it, at the start of what follows.
func (r *run) overlap() {
	c, ok := r.history.cover[r.items[frameItems].sum]
	if !ok {
		return
	}
	rest := r.items[frameItems+1:]
	for from := frameItems; from < len(c.items); from++ {
		tail := c.items[from:]
		if len(tail) > len(rest) || !sameItems(tail, rest[:len(tail)]) {
			continue
		}
		for _, it := range tail {
			if it.assistant {
				r.report(r.itemPath(frameItems+1), RuleOverlap, "%s after the compaction block that it covers", count(len(tail), "block"))
				return
			}
		}
	}
}
