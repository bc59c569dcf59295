package transcript

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// both runs f with and without vector code, and returns what each said.
func both(f func() string) (vector, careful string) {
	vector = f()
	had := hasVector
	hasVector = false
	defer func() { hasVector = had }()
	return vector, f()
}

// compare scans b from every place where a scan may begin.
func compare(t *testing.T, b []byte) {
	t.Helper()
	for i, c := range b {
		v, w := both(func() string {
			switch c {
			case '{', '[':
				end, err := skipContainer(b, i)
				return fmt.Sprint(end, err)
			case '"':
				end, err := skipString(b, i)
				return fmt.Sprint(end, err)
			}
			return ""
		})
		if v != w {
			t.Fatalf("%q at %d: %s with vector code, %s without", b, i, v, w)
		}
	}
	for i := 0; i <= len(b); i += 1 + i/7 {
		v, w := both(func() string { return fmt.Sprint(newlineOrZero(b, i)) })
		if v != w {
			t.Fatalf("%q: newline from %d: %s with vector code, %s without", b, i, v, w)
		}
	}
}

// T-7, T-8: vector code and careful scan find the same ends, also in text that is
// no JSON at all, wherever a block of 64 bytes begins.
func TestVectorAgrees(t *testing.T) {
	if !hasVector {
		t.Skip("this processor has no AVX2")
	}
	rnd := rand.New(rand.NewPCG(7, 11))
	alphabets := []string{`{}[]"\,:a `, `"\`, `{}"aaaaaaaaaaaaaaaaaaaaaaaaaaaa`, `{[\"x` + "\n\x00", `[]{}`, `ab\\\"`}
	for n := range 2000 {
		set := alphabets[n%len(alphabets)]
		b := make([]byte, 1+rnd.IntN(330))
		for i := range b {
			b[i] = set[rnd.IntN(len(set))]
		}
		b[0] = `{"[`[n%3]
		compare(t, b)
	}
	// Runs of backslashes that end at, before and behind the border of a block.
	for before := range 140 {
		for slashes := range 6 {
			b := []byte(`{"`)
			for range before {
				b = append(b, 'x')
			}
			for range slashes {
				b = append(b, '\\')
			}
			b = append(b, `"y"}}`+"\n"+`z"}`...)
			for len(b) < 300 {
				b = append(b, `,"k":["v"]}`...)
			}
			compare(t, b)
		}
	}
}

func FuzzVector(f *testing.F) {
	f.Add([]byte(`{"a":"b\\\"c","d":[1,{"e":"]}"}],"f":"0123456789012345678901234567890123456789012345678901234567890123456789"}` + "\n"))
	f.Add([]byte("[\"\x00\"]\\\"{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if hasVector && len(b) < 4096 {
			compare(t, b)
		}
	})
}
