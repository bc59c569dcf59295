package export

import (
	"encoding/json"
	"sort"

	"varve.dev/internal/secret"
	"varve.dev/internal/term"
	"varve.dev/transcript"
)

// Options change what an export shows. The zero value is the safe one.
type Options struct {
	// Secrets leaves secrets where they are.
	Secrets bool
	// EmbedImages puts images into the document; otherwise their type and size
	// stand in their place.
	EmbedImages bool
}

// Report says what an export did beside writing.
type Report struct {
	Entries    int         // entries that were shown
	Redactions []Redaction // in the order of the document
}

// Redaction says where a secret was taken out. It does not hold the secret.
type Redaction struct {
	Rule string `json:"rule"`
	Line int    `json:"line"` // of the log; 0 outside of an entry, such as in the title
}

// redactor takes secrets out of what is shown and remembers where.
type redactor struct {
	off  bool
	line int // of the entry that is being shown
	seen map[Redaction]bool
	list []Redaction
}

func newRedactor(opt Options) *redactor {
	return &redactor{off: opt.Secrets, seen: map[Redaction]bool{}}
}

func (r *redactor) at(e *transcript.Entry) { r.line = e.Line }

// text redacts a text and makes it safe to show.
func (r *redactor) text(s string) string {
	if !r.off {
		clean, found := secret.Redact(s)
		r.note(found)
		s = clean
	}
	return term.String(s)
}

// json redacts a JSON value; what is redacted stays JSON.
func (r *redactor) json(raw []byte) json.RawMessage {
	if r.off {
		return raw
	}
	clean, found := secret.RedactJSON(raw)
	r.note(found)
	return clean
}

// note remembers each rule once for a line: the same secret is shown in several
// places of some entries.
func (r *redactor) note(found []secret.Finding) {
	for _, f := range found {
		red := Redaction{Rule: f.Rule, Line: r.line}
		if !r.seen[red] {
			r.seen[red] = true
			r.list = append(r.list, red)
		}
	}
}

// ruleCount is how often one rule took something out.
type ruleCount struct {
	Rule  string
	Count int
}

// counts sums the redactions up by rule, in alphabetical order.
func (r *redactor) counts() []ruleCount {
	sum := map[string]int{}
	for _, x := range r.list {
		sum[x.Rule]++
	}
	var out []ruleCount
	for rule, n := range sum {
		out = append(out, ruleCount{rule, n})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Rule < out[j].Rule })
	return out
}
