package view

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"varve.dev/message"
)

// Prefix hashes a request block by block: over the frame and the bytes of the
// blocks in order, cache markers aside. Two requests whose prefixes agree up to a
// block were the same up to there, which is what prompt caches and bound
// reasoning ask for. The zero value is a prefix of nothing.
type Prefix struct {
	frame string
	sums  []blockSum
}

type blockSum struct {
	raw   []byte   // the block's bytes, to know it again without hashing
	block [16]byte // of role and bytes of the block alone
	chain [32]byte // of everything up to and with it
	at    Position
}

// Position names a block of a request.
type Position struct {
	Message int          // index in View.Messages
	Block   int          // index in the message
	Role    message.Role // of the message
	Type    string       // of the block
	Entry   string       // uuid of the entry that it comes from; "" when it was made
}

// String names the block as the API's error messages do.
func (p Position) String() string {
	return fmt.Sprintf("messages.%d.content.%d (%s %s)", p.Message, p.Block, p.Role, p.Type)
}

// PrefixOf hashes the messages of v behind the frame with the given id.
func PrefixOf(frame string, v *View) Prefix {
	return Prefix{}.Next(frame, v)
}

// Next returns the prefix of v, taking over from p what did not change: the cost
// is that of comparing blocks, by address as a rule, and of hashing what is new.
// Of several prefixes made from the same p only the newest may be continued.
func (p Prefix) Next(frame string, v *View) Prefix {
	next := Prefix{frame: frame}
	last := sha256.Sum256([]byte("varve prefix 1\x00" + frame))
	i, same := 0, frame == p.frame
	for mi := range v.Messages {
		m := &v.Messages[mi]
		for bi := range m.Blocks {
			b := &m.Blocks[bi]
			if same && i < len(p.sums) && p.sums[i].is(m.Role, b.Raw) && p.sums[i].at.Message == mi && p.sums[i].at.Block == bi {
				i++
				continue
			}
			if same {
				// Entries behind p's own are not shared with anyone: appending there
				// leaves p as it is.
				same = false
				next.sums = p.sums[:i]
				if i < len(p.sums) {
					next.sums = append(make([]blockSum, 0, len(p.sums)+16), p.sums[:i]...)
				}
				if i > 0 {
					last = p.sums[i-1].chain
				}
			}
			s := blockSum{raw: b.Raw, block: digest(m.Role, b.Raw), at: Position{mi, bi, m.Role, b.Type, b.Entry}}
			var buf [48]byte
			copy(buf[:], last[:])
			copy(buf[32:], s.block[:])
			s.chain = sha256.Sum256(buf[:])
			last = s.chain
			next.sums = append(next.sums, s)
			i++
		}
	}
	if same {
		next.sums = p.sums[:min(i, len(p.sums)):min(i, len(p.sums))]
	}
	return next
}

func (s *blockSum) is(role message.Role, raw []byte) bool {
	return s.at.Role == role && (sameBytes(s.raw, raw) || len(s.raw) == len(raw) && string(s.raw) == string(raw))
}

// sameBytes reports whether a and b are the same piece of memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

func digest(role message.Role, raw []byte) (out [16]byte) {
	h := sha256.New()
	h.Write([]byte(role))
	h.Write([]byte{0})
	h.Write(raw)
	copy(out[:], h.Sum(nil))
	return out
}

// Blocks is how many blocks the prefix covers.
func (p Prefix) Blocks() int { return len(p.sums) }

// Raw returns the bytes of block i.
func (p Prefix) Raw(i int) []byte { return p.sums[i].raw }

// Hash returns the hash over the frame and the first n blocks, in hex.
func (p Prefix) Hash(n int) string {
	if n <= 0 || len(p.sums) == 0 {
		sum := sha256.Sum256([]byte("varve prefix 1\x00" + p.frame))
		return hex.EncodeToString(sum[:])
	}
	return hex.EncodeToString(p.sums[min(n, len(p.sums))-1].chain[:])
}

// Diff compares p with an earlier prefix and returns how many blocks at the start
// agree. When the earlier one does not go on unchanged in p, at names the first
// block of p that differs and what says how: "frame", "changed", or "shorter"
// when p ends before the earlier prefix does.
func (p Prefix) Diff(earlier Prefix) (same int, at Position, what string) {
	if p.frame != earlier.frame {
		return 0, Position{}, "frame"
	}
	n := min(len(p.sums), len(earlier.sums))
	for same < n && p.sums[same].block == earlier.sums[same].block {
		same++
	}
	switch {
	case same == len(earlier.sums):
		return same, Position{}, ""
	case same == len(p.sums):
		return same, earlier.sums[same].at, "shorter"
	}
	return same, p.sums[same].at, "changed"
}
