package recall

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"varve.dev/transcript"
)

// This file looks for the terms of a query in the bytes of entries, before anything
// is decoded: in a large log, most of what a query has to do. A term is looked for
// at the two bytes of it that are rarest in the log.

// candidate is an entry whose bytes hold terms.
type candidate struct {
	entry *transcript.Entry
	terms uint32 // one bit for each
	score float64
}

// scan looks for terms in the bytes of entries, on every processor.
func scan(ctx context.Context, l *transcript.Log, ts []string) ([]candidate, error) {
	entries := spoken(l.Entries)
	often, err := sample(entries)
	if err != nil {
		return nil, err
	}
	look := needlesOf(ts, &often)
	workers := max(runtime.GOMAXPROCS(0), 1)
	parts := make([][]candidate, workers)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w, part := range divide(entries, workers) {
		wg.Go(func() { parts[w], errs[w] = scanPart(ctx, l, part, look) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(parts...), nil
}

// spoken returns the entries that are looked at: what somebody said or was shown.
func spoken(entries []*transcript.Entry) []*transcript.Entry {
	out := make([]*transcript.Entry, 0, len(entries))
	for _, x := range entries {
		switch x.Type {
		case transcript.TypeUser, transcript.TypeAssistant, transcript.TypeAttachment:
			out = append(out, x)
		}
	}
	return out
}

// divide cuts entries into at most n parts of about as many bytes each.
func divide(entries []*transcript.Entry, n int) [][]*transcript.Entry {
	total := 0
	for _, x := range entries {
		total += x.Len
	}
	parts := make([][]*transcript.Entry, 0, n)
	from, size := 0, 0
	for i, x := range entries {
		if size += x.Len; len(parts) < n-1 && size > total/n*(len(parts)+1) {
			parts = append(parts, entries[from:i+1])
			from = i + 1
		}
	}
	return append(parts, entries[from:])
}

func scanPart(ctx context.Context, l *transcript.Log, entries []*transcript.Entry, look [][]needle) ([]candidate, error) {
	var out []candidate
	var lower []byte
	n := 0
	err := l.Each(entries, func(x *transcript.Entry, raw []byte) error {
		if n&255 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		n++
		if !hasVector {
			lower = fold(lower, raw)
		}
		in := func(n *needle) bool {
			if hasVector {
				return n.vectorIn(raw)
			}
			return n.in(lower)
		}
		var hit uint32
		escaped := unknown // whether anything is, in this entry
		for k, forms := range look {
			for i := range forms {
				n := &forms[i]
				if n.escaped {
					if escaped == unknown {
						escaped = answer(in(&escape))
					}
					if escaped == no {
						continue
					}
				}
				if in(n) {
					hit |= 1 << k
					break
				}
			}
		}
		if hit != 0 {
			out = append(out, candidate{entry: x, terms: hit})
		}
		return nil
	})
	return out, err
}

// tristate is what is known of a question.
type tristate uint8

const (
	unknown tristate = iota
	yes
	no
)

func answer(is bool) tristate {
	if is {
		return yes
	}
	return no
}

// escape is what every escaped form of a term begins with.
var escape = needle{text: `\u`, next: 1}

// needle is one form of a term, in which ASCII letters are lower case.
type needle struct {
	text       string
	rare, next int // index of the rarest byte, and of the second; the same in a text of one
	escaped    bool
}

// in reports whether text whose ASCII letters are lower case holds the needle.
func (n *needle) in(lower []byte) bool {
	c, last := n.text[n.rare], len(lower)-len(n.text)
	for from := 0; from <= last; from++ {
		k := bytes.IndexByte(lower[from+n.rare:last+n.rare+1], c)
		if k < 0 {
			return false
		}
		if from += k; string(lower[from:from+len(n.text)]) == n.text {
			return true
		}
	}
	return false
}

// vectorIn is in for text as it stands, of which nothing has to be copied.
func (n *needle) vectorIn(raw []byte) bool {
	first, off := min(n.rare, n.next), max(n.rare, n.next)-min(n.rare, n.next)
	a, b := n.text[first], n.text[first+off]
	aMask, bMask := caseBit(a), caseBit(b)
	from, last := 0, len(raw)-len(n.text) // the places where it may begin
	for blocks := (last + 1 - from) / 32; blocks > 0; blocks = (last + 1 - from) / 32 {
		k := pairVector(&raw[from+first], blocks, off, a, aMask, b, bMask)
		if k < 0 {
			from += 32 * blocks
			continue
		}
		if n.at(raw, from+k) {
			return true
		}
		from += k + 1
	}
	for ; from <= last; from++ {
		if n.at(raw, from) {
			return true
		}
	}
	return false
}

// at reports whether the needle stands in raw at i.
func (n *needle) at(raw []byte, i int) bool {
	for k := range len(n.text) {
		if c := n.text[k]; raw[i+k]|caseBit(c) != c {
			return false
		}
	}
	return true
}

// caseBit is the bit in which the two cases of a letter in lower case differ; 0 for
// every other byte.
func caseBit(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return 'a' - 'A'
	}
	return 0
}

// Of how many entries, and how much of each, the frequency of bytes is taken.
const (
	sampled      = 16
	sampledBytes = 4 << 10
)

// sample counts how often each byte stands, in lower case, in some of the entries.
func sample(entries []*transcript.Entry) (often [256]int, err error) {
	for i := 0; i < len(entries); i += len(entries)/sampled + 1 {
		raw, err := entries[i].Raw()
		if err != nil {
			return often, err
		}
		for _, c := range fold(nil, raw[:min(len(raw), sampledBytes)]) {
			often[c]++
		}
	}
	return often, nil
}

// needlesOf returns the forms of each term.
func needlesOf(ts []string, often *[256]int) [][]needle {
	out := make([][]needle, len(ts))
	for k, t := range ts {
		for _, f := range forms(t) {
			out[k] = append(out[k], needleOf(f, often))
		}
	}
	return out
}

func needleOf(text string, often *[256]int) needle {
	n := needle{text: text, escaped: strings.Contains(text, escape.text)}
	for i := range len(text) {
		if often[text[i]] < often[text[n.rare]] {
			n.rare = i
		}
	}
	n.next = n.rare
	for i := range len(text) {
		if i != n.rare && (n.next == n.rare || often[text[i]] < often[text[n.next]]) {
			n.next = i
		}
	}
	return n
}

// forms are the ways in which a term in lower case may stand in JSON whose ASCII
// letters are lower case: letters beyond ASCII keep their case there, and may be
// escaped, as some programs write all of them.
func forms(term string) []string {
	var out []string
	for _, s := range []string{term, strings.ToUpper(term), title(term)} {
		for _, f := range []string{asciiLower(s), asciiLower(escapedForm(s))} {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// escapedForm writes every character beyond ASCII as JSON's \uXXXX.
func escapedForm(s string) string {
	var out []byte
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return string(out)
}

func title(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

func asciiLower(s string) string { return string(fold(nil, []byte(s))) }

// fold returns raw with its ASCII letters in lower case, in the memory of dst where
// that is large enough. It takes sixteen bytes at a time.
func fold(dst, raw []byte) []byte {
	if cap(dst) < len(raw) {
		dst = make([]byte, len(raw)+len(raw)/4)
	}
	dst = dst[:len(raw)]
	i := 0
	for ; i+16 <= len(raw); i += 16 {
		in, out := raw[i:i+16:i+16], dst[i:i+16:i+16]
		binary.LittleEndian.PutUint64(out, foldWord(binary.LittleEndian.Uint64(in)))
		binary.LittleEndian.PutUint64(out[8:], foldWord(binary.LittleEndian.Uint64(in[8:])))
	}
	for ; i < len(raw); i++ {
		c := raw[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst[i] = c
	}
	return dst
}

func foldWord(w uint64) uint64 {
	const ones = 0x0101010101010101
	low := w & (0x7f * ones)
	// The high bit of each byte says: at least 'A', and not above 'Z'.
	upper := (low + (0x80-'A')*ones) &^ (low + (0x7f-'Z')*ones) &^ w & (0x80 * ones)
	return w | upper>>2
}
