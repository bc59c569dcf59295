package validate

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzCheck: nothing panics, the same bytes give the same answer, what is no JSON is said, and a request that is accepted is JSON.
func FuzzCheck(f *testing.F) {
	for _, c := range ruleCases {
		f.Add([]byte(c.body))
	}
	for _, c := range boundCases {
		f.Add([]byte(c.body))
	}
	opt := Options{NoPrefill: true, Bound: true, AppendOnly: true}
	f.Fuzz(func(t *testing.T, body []byte) {
		vs := CheckAfter(past, body, opt)
		if again := CheckAfter(past, body, opt); !slices.Equal(vs, again) {
			t.Fatalf("%v\nthen %v", vs, again)
		}
		if len(vs) == 0 && !json.Valid(body) {
			t.Fatal("accepted what is not JSON")
		}
		g := NewGuard(opt)
		if r, err := Parse(body); err == nil && len(r.Messages) > 0 {
			last := len(r.Messages) - 1
			if g.Received(Request{System: r.System, Tools: r.Tools, Messages: r.Messages[:last]}, r.Messages[last]) == nil {
				g.Check(r)
			}
		}
	})
}
