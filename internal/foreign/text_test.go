package foreign

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// A string is read as encoding/json reads it, whatever stands in it, and what is no
// string is none.
func TestText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	parts := []string{"a", "words and more ", `\n`, `\t`, `\"`, `\\`, `\/`, `\r`, `\b`, `\f`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, "é漢", "\xff", `\u0000`, " "}
	values := []string{`null`, `1`, `true`, `{}`, `["a"]`, ``, `"`, `""`, `"a`, ` "a"`, `"a" `}
	for range 3000 {
		v := `"`
		for range rnd.IntN(12) {
			v += parts[rnd.IntN(len(parts))]
		}
		values = append(values, v+`"`)
	}
	for _, v := range values {
		var want string
		err := json.Unmarshal([]byte(v), &want)
		if got, ok := text(json.RawMessage(v)); ok != (err == nil) || ok && got != want {
			t.Fatalf("%q: %q %v, want %q (%v)", v, got, ok, want, err)
		}
	}
}
