package validate

import (
	"bytes"
	"encoding/json"
	"testing"
)

// Splitting a valid text gives the members and elements that encoding/json gives,
// with their exact bytes; names that occur twice and other values are refused.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 , "b\"\\" : [ 1 , "x]" , { "c" : "}" } ] , "d":null}`, `[]`, `[1,[2,[3]],"\\",{}]`, "\t[\n1.5e+3 ,\rtrue]", `"x"`, `12`, `{"a":1,"a":2}`, `{"\u0061":1,"a":2}`, `{"a":{}}`, `{`, `[1 2]`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := parseObject(raw)
		list, aerr := parseArray(raw)
		if !json.Valid(raw) {
			if err == nil || aerr == nil {
				t.Fatalf("%q is no JSON: %v, %v", raw, err, aerr)
			}
			return
		}
		var array []json.RawMessage
		var members map[string]json.RawMessage
		isArray := bytes.TrimSpace(raw)[0] == '['
		isObject := bytes.TrimSpace(raw)[0] == '{'
		if (aerr == nil) != isArray {
			t.Fatalf("%q: %v", raw, aerr)
		}
		if isArray {
			if err := json.Unmarshal(raw, &array); err != nil || len(array) != len(list) {
				t.Fatalf("%q: %d elements, want %d (%v)", raw, len(list), len(array), err)
			}
			for i := range list {
				if !bytes.Equal(list[i], array[i]) {
					t.Fatalf("%q: element %d is %q, want %q", raw, i, list[i], array[i])
				}
			}
		}
		if !isObject {
			if err == nil {
				t.Fatalf("%q was taken for an object", raw)
			}
			return
		}
		if uerr := json.Unmarshal(raw, &members); uerr != nil {
			t.Fatal(uerr)
		}
		if err != nil {
			return // a name occurs twice; the map has it once
		}
		if len(o) != len(members) {
			t.Fatalf("%q: %d members, want %d", raw, len(o), len(members))
		}
		for _, m := range o {
			if !bytes.Equal(m.raw, members[m.name]) {
				t.Fatalf("%q: %q is %q, want %q", raw, m.name, m.raw, members[m.name])
			}
		}
	})
}
