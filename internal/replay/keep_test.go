package replay

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// slowWords is what words must make of a text.
func slowWords(s string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(unicode.ToLower, s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

// G-3: the measure of what is kept finds a text exactly where it stands, word for
// word, and reduces texts to words as a plain reading does.
func TestHaystack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 22))
	alphabet := strings.Split("a ab abc B b1 9 ä Ö 漢 é \u0301 _ . - / \n \u00a0 “ x", " ")
	text := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString(alphabet[rnd.IntN(len(alphabet))])
			if rnd.IntN(3) > 0 {
				b.WriteByte(' ')
			}
		}
		return b.String()
	}
	held := 0
	const times = 4000
	for range times {
		s, n := text(rnd.IntN(60)), text(1+rnd.IntN(4))
		hay, needle := words(s), words(n)
		if want := slowWords(s); hay != want || !utf8.ValidString(hay) {
			t.Fatalf("words of %q: %q, want %q", s, hay, want)
		}
		if needle == "" {
			continue
		}
		// What begins with a word is found; a text that is found stands there.
		want := strings.HasPrefix(hay, needle) || strings.Contains(hay, " "+needle)
		if got := newHaystack(hay).holds(needle); want && !got || got && !strings.Contains(hay, needle) {
			t.Fatalf("%q in %q: %v", needle, hay, got)
		}
		if want {
			held++
		}
	}
	if held < times/10 || held > times*9/10 {
		t.Errorf("%d of %d are held: this tests little", held, times)
	}
}
