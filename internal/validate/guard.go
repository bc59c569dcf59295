package validate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"hash/maphash"
	"slices"
)

// A Guard judges the requests of one conversation, one after the other. It keeps what it learned about the last request's messages:
// a request that extends the last one costs what is new in it, and a look at the rest ([Request] bytes are compared, not trusted). It
// is not safe for concurrent use.
type Guard struct {
	opt  Options
	look looker

	frame   *frame
	raws    []json.RawMessage // the messages of the last request looked at
	msgs    []*seen
	notable []int  // those of msgs with something to report or to count: found, marks, images
	items   []item // of that request: the frame's, then those of msgs
	ends    []int  // ends[i] is the index in items after message i

	good int // thinking among the first good items was found to be where it belongs
	seq  sequence

	history history
}

// NewGuard returns a guard without a history.
func NewGuard(opt Options) *Guard {
	g := &Guard{opt: opt.filled()}
	g.look = looker{seed: maphash.MakeSeed(), opt: &g.opt}
	g.history.init()
	return g
}

// SetAppendOnly changes [Options].AppendOnly for the requests from here on: true while no edit was made since the last exchange.
func (g *Guard) SetAppendOnly(on bool) { g.opt.AppendOnly = on }

// run is the judgement of one request.
type run struct {
	*Guard
	req   Request
	found []Violation
}

func (r *run) report(at, rule, format string, args ...any) {
	s := seen{found: r.found}
	s.report(at, rule, format, args...)
	r.found = s.found
}

// Check names what is wrong with the request, in the order of the request; nil means that it may be sent.
func (g *Guard) Check(req Request) []Violation {
	g.read(req)
	r := &run{Guard: g, req: req}
	r.limits()
	r.found = append(r.found, g.frame.found...)
	for _, i := range g.notable {
		for _, v := range g.msgs[i].found {
			v.Path = path(i, whole) + v.Path
			r.found = append(r.found, v)
		}
	}
	if len(g.msgs) > 0 {
		g.seq.check(r)
		r.ending()
	}
	r.marks()
	r.images()
	r.prefix()
	slices.SortStableFunc(r.found, func(a, b Violation) int { return cmp.Compare(position(a.Path), position(b.Path)) })
	return r.found
}

// read takes the request apart, but for what it shares with the last one.
func (g *Guard) read(req Request) {
	if g.frame == nil || !bytes.Equal(g.frame.system, req.System) || !bytes.Equal(g.frame.tools, req.Tools) {
		g.frame = g.look.frame(req)
		g.items = slices.Clone(g.frame.items[:])
		g.good = 0
		g.cut(0)
	} else {
		g.cut(g.shared(req.Messages))
	}
	for i := len(g.msgs); i < len(req.Messages); i++ {
		s := g.look.message(req.Messages[i])
		g.raws, g.msgs = append(g.raws, s.raw), append(g.msgs, s)
		g.note(i, s)
		for _, it := range s.items {
			it.msg = int32(i)
			g.items = append(g.items, it)
		}
		g.ends = append(g.ends, len(g.items))
	}
}

// shared counts the messages at the start of a request that are those of the last. A message that differs in its cache marks only
// does not end the count, since it has the same items.
func (g *Guard) shared(messages []json.RawMessage) int {
	n := min(len(messages), len(g.raws))
	for i, raw := range messages[:n] {
		if bytes.Equal(g.raws[i], raw) {
			continue
		}
		s := g.look.message(raw)
		if len(s.items) != len(g.msgs[i].items) || !sameItems(s.items, g.msgs[i].items) {
			return i
		}
		g.raws[i], g.msgs[i] = raw, s
		g.note(i, s)
	}
	return n
}

// cut forgets all but the first n messages.
func (g *Guard) cut(n int) {
	g.seq.cut(n)
	end := frameItems
	if n > 0 {
		end = g.ends[n-1]
	}
	if end < len(g.items) {
		g.items = g.items[:end:end] // the history may hold the rest
	}
	g.raws, g.msgs, g.ends = g.raws[:n], g.msgs[:n], g.ends[:n]
	for len(g.notable) > 0 && g.notable[len(g.notable)-1] >= n {
		g.notable = g.notable[:len(g.notable)-1]
	}
	// A reply that is cut is looked at again as a whole.
	g.good = min(g.good, len(g.items))
	for g.good > frameItems && g.items[g.good-1].assistant {
		g.good--
	}
}

// note keeps the list of notable messages.
func (g *Guard) note(i int, s *seen) {
	at, was := slices.BinarySearch(g.notable, i)
	is := len(s.found)+len(s.marks)+len(s.images) > 0
	switch {
	case is && !was:
		g.notable = slices.Insert(g.notable, at, i)
	case was && !is:
		g.notable = slices.Delete(g.notable, at, at+1)
	}
}

// limits checks what concerns the request as a whole.
func (r *run) limits() {
	size := r.req.Size
	if size == 0 {
		size = len(r.req.System) + len(r.req.Tools)
		for _, m := range r.req.Messages {
			size += len(m) + 1
		}
	}
	if size > r.opt.MaxBytes {
		r.report("", RuleSize, "request_too_large: %d bytes, at most %d", size, r.opt.MaxBytes)
	}
	switch n := len(r.req.Messages); {
	case n == 0:
		r.report("", RuleNone, "a request needs at least one message")
	case n > r.opt.MaxMessages:
		r.report("", RuleCount, "%d messages, at most %d", n, r.opt.MaxMessages)
	}
}

// marks checks number and order of the cache_control members.
func (r *run) marks() {
	n, five := 0, ""
	if r.req.AutoCache {
		n++
	}
	each := func(prefix string, list []mark) {
		for _, m := range list {
			n++
			switch {
			case m.ttl != "1h":
				five = cmp.Or(five, prefix+m.path)
			case five != "":
				r.report(prefix+m.path, RuleMarkOrder, "a ttl of 1h after the ttl of 5m at %s", five)
			}
		}
	}
	each("", r.frame.marks)
	for _, i := range r.notable {
		each(path(i, whole), r.msgs[i].marks)
	}
	if n > maxMarks {
		r.report("", RuleMarks, "A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, n)
	}
}

// position orders paths as the request does: the whole, tools, system, messages by number.
func position(at string) int64 {
	var msg int64
	switch {
	case at == "":
		return -3
	case at[0] == 't':
		return -2
	case at[0] == 's':
		return -1
	}
	for _, c := range at[min(len("messages."), len(at)):] {
		if c < '0' || c > '9' {
			break
		}
		msg = msg*10 + int64(c-'0')
	}
	return msg
}

// addSum adds a finished sum to another.
func (l *looker) addSum(h *maphash.Hash, sum uint64) {
	for range 8 {
		h.WriteByte(byte(sum))
		sum >>= 8
	}
}

// Received adds an answered request to the history: reply is the assistant message as it is sent back from now on, or its content. Its
// reasoning is bound to the request from here on. Requests that were refused are not told. The error says that reply is not JSON of
// that shape; the history is then unchanged.
func (g *Guard) Received(req Request, reply json.RawMessage) error {
	s, err := g.look.reply(reply)
	if err != nil {
		return err
	}
	g.read(req)
	g.history.add(g.items, s)
	return nil
}
