package modelsim

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
)

// A seal is what the signature of a reasoning or compaction block says: where the block belongs. It is bound with an HMAC under the
// server's secret, so that a client can neither change it nor the block.
type seal struct {
	kind    byte    // 't' thinking, 'c' compaction
	account [4]byte // the key it was made for
	model   [4]byte
	reply   [6]byte // the reply it is part of
	index   byte    // which of the reply's reasoning blocks, from 0
	total   byte    // how many the reply has
	prev    [6]byte // the reasoning block before it in the request, zero for none
	state   sum     // of everything before it but reasoning
	content [8]byte // of its own text
	covered []sum   // compaction: the states at the end of what it stands for
}

// maxCovered limits how many older states a compaction keeps valid reasoning for.
const maxCovered = 4

const macSize = 16

func (e *seal) encode(secret []byte) string {
	b := []byte{e.kind}
	b = append(append(b, e.account[:]...), e.model[:]...)
	b = append(append(b, e.reply[:]...), e.index, e.total)
	b = append(append(append(b, e.prev[:]...), e.state[:]...), e.content[:]...)
	for _, s := range e.covered {
		b = append(b, s[:]...)
	}
	return base64.StdEncoding.EncodeToString(append(b, mac(secret, b)...))
}

// sealSize is the size of a seal without covered states and MAC.
const sealSize = 1 + 4 + 4 + 6 + 1 + 1 + 6 + 16 + 8

// openSeal reads a signature. ok is false when this server never wrote it.
func openSeal(secret []byte, text string, kind byte) (e seal, ok bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < sealSize+macSize || (len(b)-sealSize-macSize)%len(sum{}) != 0 {
		return e, false
	}
	b, tag := b[:len(b)-macSize], b[len(b)-macSize:]
	if !hmac.Equal(tag, mac(secret, b)) || b[0] != kind {
		return e, false
	}
	e.kind, b = b[0], b[1:]
	take := func(to []byte) { b = b[copy(to, b):] }
	take(e.account[:])
	take(e.model[:])
	take(e.reply[:])
	e.index, e.total, b = b[0], b[1], b[2:]
	take(e.prev[:])
	take(e.state[:])
	take(e.content[:])
	for len(b) > 0 {
		var s sum
		take(s[:])
		e.covered = append(e.covered, s)
	}
	return e, true
}

func mac(secret, b []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(b)
	return h.Sum(nil)[:macSize]
}

// short cuts a sum down to the length of dst.
func short(dst []byte, parts ...[]byte) {
	s := sumOf(parts...)
	copy(dst, s[:])
}

// A position is a place in a conversation: what stands before it.
type position struct {
	state sum
	prev  [6]byte // the last reasoning block before it; zero for none
}

// A walker goes along a conversation and knows where it is. There is one position, and beside it those that a compaction stands for:
// reasoning that was made before it stays valid when what follows it is unchanged (API.md 2.2).
type walker struct {
	at []position // the first is the one new blocks are bound to
}

// frameSum names system and tools. Tools that are loaded later are no part of it.
func (c *call) frameSum() sum {
	s := sumOf([]byte("frame"))
	for _, t := range c.tools {
		if !t.deferred {
			s = s.then([]byte("tool"), bare(t.raw))
		}
	}
	for _, b := range c.system {
		s = s.then([]byte("system"), b.bare)
	}
	return s
}

func newWalker(frame sum) *walker { return &walker{at: []position{{state: frame}}} }

// step goes over a block that is no reasoning, or over the extras of a message.
func (w *walker) step(role string, bytes []byte) {
	for i := range w.at {
		w.at[i].state = w.at[i].state.then([]byte(role), bytes)
	}
}

// fits reports whether reasoning sealed with e belongs here.
func (w *walker) fits(e seal) bool {
	for i := range w.at {
		if p := &w.at[i]; p.state == e.state && (p.prev == e.prev || p.prev == [6]byte{}) {
			return true
		}
	}
	return false
}

// pass goes over a reasoning block that was found to fit.
func (w *walker) pass(id [6]byte) {
	for i := range w.at {
		w.at[i].prev = id
	}
}

// restart goes over a compaction: everything before it is gone.
func (w *walker) restart(frame sum, e seal, signature string) {
	w.at = []position{{state: frame.then([]byte("compaction"), []byte(signature))}}
	for _, s := range e.covered {
		w.at = append(w.at, position{state: s})
	}
}

// covered lists the states that a compaction made here stands for.
func (w *walker) covered() []sum {
	var list []sum
	for _, p := range w.at[:min(len(w.at), maxCovered)] {
		list = append(list, p.state)
	}
	return list
}

// thinkingID names a reasoning block by its signature.
func thinkingID(signature string) (id [6]byte) {
	short(id[:], []byte(signature))
	return id
}

// signature is where a reasoning or compaction block carries its seal.
func (b *block) signature() string {
	switch {
	case b.Type == "redacted_thinking":
		return b.Data
	case b.Type == "compaction" && !b.isOnDemand():
		return b.o.str("encrypted_content")
	case b.Type == "compaction":
		return b.o.str("signature")
	}
	return b.Signature
}

// A Transformation is one entry of input_transformations: what the server did with a reasoning block of the request.
type Transformation struct {
	Type   string `json:"type"` // thinking_dropped, thinking_mismatch_allowed
	Path   string `json:"path"`
	Reason string `json:"reason"` // organization_binding_mismatch, model_binding_mismatch, prefix_binding_mismatch
}

// bound is what following a request's reasoning found.
type bound struct {
	walker  *walker // at the end of the request
	changed []Transformation
	replies map[[6]byte]*replyParts
}

// replyParts counts what a request holds of the reasoning of one reply.
type replyParts struct {
	path  string
	total int
	kept  []int
}

// follow walks along the request, checks every sealed block and drops what the model must not see. Violations go to j.
func (s *Server) follow(c *call, j *judge) *bound {
	frame := c.frameSum()
	b := &bound{walker: newWalker(frame), replies: map[[6]byte]*replyParts{}}
	latest := len(c.msgs) - 1
	for latest >= 0 && c.msgs[latest].role != "assistant" {
		latest--
	}
	dropping := false
	for i := range c.msgs {
		m := &c.msgs[i]
		if x := m.extras(); x != nil {
			b.walker.step(m.role, x)
		}
		for k := range m.blocks {
			blk := &m.blocks[k]
			switch {
			case blk.isThinking():
				dropping = s.followThinking(c, j, b, blk, i == latest, dropping)
				continue
			case blk.Type == "compaction":
				s.followCompaction(c, j, b, blk, frame)
			default:
				b.walker.step(m.role, blk.bare)
			}
			dropping = false
		}
	}
	s.partial(b, j)
	return b
}

// followThinking checks one reasoning block. dropping says that the one just before it was dropped for its place; the result says it
// of this one.
func (s *Server) followThinking(c *call, j *judge, b *bound, blk *block, latest, dropping bool) bool {
	what := "Invalid `signature` in `thinking` block"
	if blk.Type == "redacted_thinking" {
		what = "Invalid `data` in `redacted_thinking` block"
	}
	e, ok := openSeal(s.secret, blk.signature(), 't')
	var content [8]byte
	short(content[:], []byte(blk.Text))
	switch {
	case ok && e.content != content && latest:
		j.add("thinking-modified", blk.path, "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.")
		return false
	case !ok || e.content != content:
		j.add("thinking-signature", blk.path, "%s", what)
		return false
	}
	b.count(e, blk)
	reason := ""
	switch {
	case e.account != c.account():
		reason = "organization_binding_mismatch"
	case e.model != c.modelSum():
		// Not an error: the block stays in the history for a later switch back (API.md 1.6).
		blk.dropped = true
		b.changed = append(b.changed, Transformation{"thinking_dropped", blk.path, "model_binding_mismatch"})
		return false
	case c.model != nil && c.model.PrefixBound && (dropping || !b.walker.fits(e)):
		reason = "prefix_binding_mismatch"
	default:
		b.walker.pass(thinkingID(blk.signature()))
		return false
	}
	switch c.mismatchBehavior(s.cfg.OldAccount) {
	case "drop_block":
		blk.dropped = true
		b.changed = append(b.changed, Transformation{"thinking_dropped", blk.path, reason})
	case "allow":
		b.changed = append(b.changed, Transformation{"thinking_mismatch_allowed", blk.path, reason})
		b.walker.pass(thinkingID(blk.signature()))
		return false
	default:
		j.add("thinking-bound", blk.path, "%s. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", what)
	}
	return true
}

// mismatchBehavior is what happens to reasoning in the wrong place: "error", "drop_block" or, on an old account that did not ask for
// a check, "allow".
func (c *call) mismatchBehavior(oldAccount bool) string {
	if set := c.body.obj("thinking").obj("block_binding").str("prefix_mismatch_behavior"); set != "" {
		return set
	}
	if oldAccount {
		return "allow"
	}
	return "error"
}

func (c *call) account() (a [4]byte) {
	short(a[:], []byte(c.key))
	return a
}

func (c *call) modelSum() (m [4]byte) {
	if c.model != nil {
		short(m[:], []byte(c.model.canonical))
	}
	return m
}

func (b *bound) count(e seal, blk *block) {
	p := b.replies[e.reply]
	if p == nil {
		p = &replyParts{path: blk.path, total: int(e.total)}
		b.replies[e.reply] = p
	}
	p.kept = append(p.kept, int(e.index))
}

// partial reports replies of which some reasoning was left out and some kept, or whose reasoning is not in its order. Replies whose
// stream was cut reached nobody as a whole.
func (s *Server) partial(b *bound, j *judge) {
	for _, reply := range slices.SortedFunc(maps.Keys(b.replies), func(a, b [6]byte) int { return bytes.Compare(a[:], b[:]) }) {
		p := b.replies[reply]
		if s.cut[reply] {
			continue
		}
		if len(p.kept) < p.total || !slices.IsSorted(p.kept) {
			j.add("thinking-partial", p.path, "`thinking` or `redacted_thinking` blocks must be passed back unmodified and in their original order: this reply had %d, the request has %d of them", p.total, len(p.kept))
		}
	}
}
