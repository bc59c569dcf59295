// Package secret finds credentials in text and takes them out: keys of
// providers, private keys, passwords in URLs, authorization headers and values
// that are assigned to names such as "password". It stands at the places where
// text leaves the machine or is copied to a second place: exports, the search
// index, events, error messages and pushes of team memory.
//
// Start with [Redact], which returns the text with each secret replaced by
// "[REDACTED:rule]", or with [Scan], which only says where they are. Use
// [RedactJSON] for a JSON document, whose strings it looks into.
//
// What the package guarantees: a [Finding] never holds the secret, so it may be
// printed, logged and sent. Redacting twice is the same as redacting once. A
// valid JSON text stays valid. The time taken is linear in the length of the
// text. All functions are safe for concurrent use.
//
// What it is not: a proof that a text is free of secrets. Rules are chosen for
// precision, so that people leave the scanner on; a password without any
// context cannot be found by looking at it, nor one that was encoded or split.
// Values that documents use as examples (EXAMPLE, placeholder, xxxx) are not
// findings.
package secret

import (
	"fmt"
	"sort"
	"strings"
)

// Finding says where a secret stands in a text. It never holds the secret.
type Finding struct {
	// Rule is the identifier of the rule that matched; see [Rules].
	Rule string `json:"rule"`
	// Line is the line on which the secret begins, from 1, counted by newline
	// bytes.
	Line int `json:"line"`
	// Start and End delimit the secret in the scanned text, in bytes; the byte
	// at End is the first one behind it.
	Start int `json:"start"`
	End   int `json:"end"`
}

// String returns the line and the rule, as a person is told of it.
func (f Finding) String() string {
	return fmt.Sprintf("line %d: %s", f.Line, f.Rule)
}

// marker is what stands in a redacted text in place of a secret.
func marker(rule string) string { return "[REDACTED:" + rule + "]" }

// Scan returns where text holds secrets, in order of their start; the ranges
// do not overlap. It returns nil for a text without any.
func Scan(text string) []Finding {
	found := locate(text)
	if len(found) == 0 {
		return nil
	}
	out := make([]Finding, len(found))
	line, at := 1, 0
	for i, s := range found {
		line += strings.Count(text[at:s.start], "\n")
		at = s.start
		out[i] = Finding{Rule: table().rules[s.rule].id, Line: line, Start: s.start, End: s.end}
	}
	return out
}

// Redact returns text with every secret replaced by "[REDACTED:rule]", and what
// was replaced, in coordinates of the text given. A text without secrets is
// returned as it is.
func Redact(text string) (string, []Finding) {
	found := Scan(text)
	if len(found) == 0 {
		return text, nil
	}
	return replace(text, found), found
}

// replace puts markers in place of the findings, which are sorted and disjoint.
func replace(text string, found []Finding) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		b.WriteString(marker(f.Rule))
		at = f.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// Info describes one rule to a person.
type Info struct {
	ID, Doc string
}

// Rules returns the rules in the order of their precedence.
func Rules() []Info {
	rules := table().rules
	out := make([]Info, len(rules))
	for i, r := range rules {
		out[i] = Info{ID: r.id, Doc: r.doc}
	}
	return out
}

// maxPasses bounds how often a text is looked at again after its secrets were
// replaced. A secret can hide the boundary of its neighbour, so that the
// neighbour only shows once the first is gone; each pass needs one more such
// neighbour, and more than two in a row were only ever seen in fuzzing.
const maxPasses = 32

// locate finds the secrets of text and then of what redacting them leaves, until
// nothing more is found: this makes redaction idempotent. Ranges are those of
// text itself.
func locate(text string) []span {
	found := scan(text)
	for pass := 1; pass < maxPasses && len(found) > 0; pass++ {
		again := scan(redacted(text, found))
		if len(again) == 0 {
			break
		}
		patches := markers(found)
		for i, s := range again {
			again[i] = span{mapBack(patches, s.start, false), mapBack(patches, s.end, true), s.rule}
		}
		next := merge(append(again, found...))
		if sameCover(found, next) {
			break
		}
		found = next
	}
	return found
}

// redacted is replace for spans.
func redacted(text string, found []span) string {
	var b strings.Builder
	b.Grow(len(text))
	at := 0
	for _, s := range found {
		b.WriteString(text[at:s.start])
		b.WriteString(marker(table().rules[s.rule].id))
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// patch is a replacement: what stands at [from,to) of the new text stands for
// [start,end) of the old one.
type patch struct{ from, to, start, end int }

// mapBack converts an offset of the new text to the old one. An offset inside a
// replacement becomes the start of what it stands for or, for the end of a
// range, its end. Patches are sorted and disjoint.
func mapBack(patches []patch, off int, isEnd bool) int {
	i := sort.Search(len(patches), func(i int) bool {
		return patches[i].to > off || isEnd && patches[i].to == off
	})
	if i < len(patches) {
		p := patches[i]
		switch {
		case isEnd && off > p.from:
			return p.end
		case !isEnd && off >= p.from:
			return p.start
		}
	}
	if i == 0 {
		return off
	}
	return off - patches[i-1].to + patches[i-1].end
}

// markers returns the patches that replacing the spans by their markers makes.
func markers(found []span) []patch {
	out := make([]patch, len(found))
	shift := 0
	for i, s := range found {
		n := len(marker(table().rules[s.rule].id))
		from := s.start + shift
		out[i] = patch{from, from + n, s.start, s.end}
		shift += n - (s.end - s.start)
	}
	return out
}

// sameCover reports whether two lists of spans cover the same bytes.
func sameCover(a, b []span) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].start != b[i].start || a[i].end != b[i].end {
			return false
		}
	}
	return true
}
