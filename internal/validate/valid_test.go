package validate

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

var validSeeds = []string{
	`{}`, ` { "a" : 1 , "b\"\\" : [ 1 , "x]" , { "c" : "}" } ] , "d":null}`, `[]`, "\t[\n1.5e+3 ,\rtrue]", `"x"`, `12`, `-0`, `01`, `-`, `1.`, `.5`, `1e`, `1E-7`,
	`"\u00e9\ud83d\ude00"`, `"\u00g0"`, `"\x"`, "\"a\x01b\"", "\"\x7f\xff\"", `"0123456789abcdef\"ghijklmnop"`, `"0123456789abcdef`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{,}`,
	`tru`, `nulll`, `[}`, `{]`, ``, ` `, `{"a":1}x`, strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat("[", 11_000) + strings.Repeat("]", 11_000), strings.Repeat(`{"a":`, 250) + "1",
}

// What is valid is what encoding/json takes for valid.
func FuzzValid(f *testing.F) {
	for _, s := range validSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := valid(raw), json.Valid(raw); got != want {
			t.Fatalf("%q: %v, encoding/json says %v", raw, got, want)
		}
	})
}

// The same for texts that are nearly valid: bytes of valid ones changed, lost and
// doubled.
func TestValidNearly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 12))
	const bytes = `"\{}[]:,u0eE+-.tfn 19a` + "\n\x00\x1f\x80"
	good := 0
	for range 40_000 {
		raw := []byte(validSeeds[rnd.IntN(len(validSeeds))])
		raw = raw[:min(len(raw), 400)]
		for range rnd.IntN(3) {
			if len(raw) == 0 {
				break
			}
			i := rnd.IntN(len(raw))
			switch rnd.IntN(3) {
			case 0:
				raw[i] = bytes[rnd.IntN(len(bytes))]
			case 1:
				raw = append(raw[:i], raw[i+1:]...)
			case 2:
				raw = append(raw[:i+1], raw[i:]...)
			}
		}
		want := json.Valid(raw)
		if want {
			good++
		}
		if valid(raw) != want {
			t.Fatalf("%q: encoding/json says %v", raw, want)
		}
	}
	if good < 5000 {
		t.Errorf("only %d were valid", good)
	}
}
