package recall

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// slowScan is what scan must find: each entry by itself, in a copy in lower case.
func slowScan(t testing.TB, l *transcript.Log, ts []string) []candidate {
	var out []candidate
	for _, x := range l.Entries {
		switch x.Type {
		case transcript.TypeUser, transcript.TypeAssistant, transcript.TypeAttachment:
		default:
			continue
		}
		raw, err := x.Raw()
		if err != nil {
			t.Fatal(err)
		}
		lower := asciiLowerSlow(raw)
		var hit uint32
		for k, term := range ts {
			for _, f := range forms(term) {
				if strings.Contains(lower, f) {
					hit |= 1 << k
				}
			}
		}
		if hit != 0 {
			out = append(out, candidate{entry: x, terms: hit})
		}
	}
	return out
}

// slowPlace is what placesOf must find: where every entry stands.
func slowPlace(l *transcript.Log) func(h Hit) Hit {
	in, past, cleared := map[string]bool{}, map[string]*transcript.Entry{}, map[string]bool{}
	if tip := l.Tip(); tip != nil {
		now := l.Chain(tip)
		for _, y := range append(append([]*transcript.Entry{}, now.Entries...), now.Kept...) {
			in[y.UUID] = true
			if m, err := y.Microcompact(); err == nil && y.Subtype == transcript.SubMicrocompact {
				for _, id := range m.ToolIDs {
					cleared[id] = true
				}
			}
		}
		var boundary *transcript.Entry
		all := l.History(tip).Entries
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].IsBoundary() {
				boundary = all[i]
			}
			if !in[all[i].UUID] {
				past[all[i].UUID] = boundary
			}
		}
	}
	return func(h Hit) Hit {
		x := h.entry
		h.entry = nil
		switch b, left := past[x.UUID]; {
		case in[x.UUID]:
			if h.State = InContext; h.Kind == KindResult && cleared[h.Call] {
				h.State = Cleared
			}
		case left:
			if h.State = Compacted; b != nil {
				h.Boundary, h.At = b.UUID, b.Line
			}
		case x.IsChain() && !x.Sidechain:
			h.State = Branch
		default:
			h.State = Aside
		}
		return h
	}
}

// G-3: the fast search finds what a plain one finds, entry by entry and term by term,
// in memory and on disk, in whole logs and damaged ones; and says of each hit where
// it stands as a walk over everything does.
func TestSearchIsPlain(t *testing.T) {
	words := strings.Fields("the parser Fails INPUT empty 再実行 проверка ПРОВЕРКА 漢字 漢 quoted main.go read tests e content uuid nothing parseHTTPBody 失败 naïve " + `na\u00efve`)
	for seed := range uint64(6) {
		lines := loggen.Make(rand.New(rand.NewPCG(seed, 5)), loggen.Options{Turns: 12, Text: 20 << (seed % 6), Thinking: true, Rewinds: true, Boundaries: true, Damage: seed%3 == 2})
		if seed%2 == 1 { // a program that escapes everything beyond ASCII
			for i := range lines {
				lines[i] = escapedForm(lines[i])
			}
		}
		data := loggen.Bytes(lines)
		for _, inMemory := range []int64{0, -1} {
			l, err := transcript.Read(context.Background(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{InMemory: inMemory})
			if err != nil {
				t.Fatal(err)
			}
			placed := slowPlace(l)
			rnd := rand.New(rand.NewPCG(seed, 6))
			for range 6 {
				var q []string
				for range 1 + rnd.IntN(4) {
					q = append(q, words[rnd.IntN(len(words))])
				}
				query := strings.Join(q, " ")
				got, err := scan(context.Background(), l, terms(query))
				if want := slowScan(t, l, terms(query)); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("seed %d, %q: %d candidates, want %d (%v)", seed, query, len(got), len(want), err)
				}
				samePlaces(t, l, got, placed)
			}
		}
	}
}

// samePlaces compares where the blocks of candidates stand.
func samePlaces(t *testing.T, l *transcript.Log, found []candidate, placed func(Hit) Hit) {
	t.Helper()
	var hits, want []Hit
	for _, c := range found[:min(len(found), 20)] {
		for _, p := range blocksOf(c.entry) {
			h := Hit{Kind: p.kind, Call: p.call}
			h.on(c.entry)
			hits, want = append(hits, h), append(want, placed(h))
		}
	}
	place(l, hits)
	if fmt.Sprint(hits) != fmt.Sprint(want) {
		t.Fatalf("placed\n%+v, want\n%+v", hits, want)
	}
}

// A text is found, with vectors and without, exactly where bytes.Contains finds it.
func TestNeedle(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	held := 0
	const times = 20_000
	for range times {
		alphabet := [][]rune{[]rune("ab"), []rune("aAbB"), []rune("abcdeé"), []rune("aA@`{[0pP"), []rune("漢字再")}[rnd.IntN(5)]
		text := func(n int) []byte {
			var b []byte
			for range n {
				b = utf8.AppendRune(b, alphabet[rnd.IntN(len(alphabet))])
			}
			return b
		}
		hay, word := text(rnd.IntN(150)), asciiLower(string(text(1+rnd.IntN(7))))
		lower := fold(nil, hay)
		if want := asciiLowerSlow(hay); string(lower) != want {
			t.Fatalf("lower case of %q is %q", hay, lower)
		}
		want := bytes.Contains(lower, []byte(word))
		if want {
			held++
		}
		var often [256]int
		for _, c := range lower {
			often[c]++
		}
		n := needleOf(word, &often)
		if n.in(lower) != want {
			t.Fatalf("%q in %q: %v", word, lower, !want)
		}
		if hasVector && n.vectorIn(hay) != want {
			t.Fatalf("%q in %q, with vectors: %v", word, hay, !want)
		}
	}
	if held < times/10 || held > times*9/10 {
		t.Errorf("%d of %d are held: this tests little", held, times)
	}
}

func asciiLowerSlow(b []byte) string {
	out := append([]byte{}, b...)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// The words of a query are one behind the other whatever white space divides them.
func TestPhrase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "b", " ", "\n", "\u00a0", "é"}), 0, most).Draw(t, name), "")
		}
		text, phrase := draw("text", 30), strings.Join(strings.Fields(draw("phrase", 8)), " ")
		if phrase == "" {
			return
		}
		want := strings.Contains(strings.Join(strings.Fields(text), " "), phrase)
		if got := holdsPhrase(text, phrase); got != want {
			t.Fatalf("%q in %q: %v", phrase, text, got)
		}
	})
}
