package recall

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Hit is one block of an entry that answers a query.
type Hit struct {
	Entry    string    `json:"entry"` // uuid
	Line     int       `json:"line"`
	Time     time.Time `json:"time,omitzero"`
	Kind     string    `json:"kind"` // user, summary, assistant, reasoning, call, result, attachment
	Tool     string    `json:"tool,omitempty"`
	Call     string    `json:"call,omitempty"` // tool-use id
	State    State     `json:"state"`
	Boundary string    `json:"boundary,omitempty"` // uuid of the compaction that took it out
	At       int       `json:"boundaryLine,omitempty"`
	Score    float64   `json:"score"`
	Snippet  string    `json:"snippet"`
	Marks    [][2]int  `json:"marks,omitempty"` // ranges of bytes of the snippet that match
	Text     string    `json:"text,omitempty"`  // all of it, for [Call] and [Path]

	entry *transcript.Entry
}

// Result is what a query found.
type Result struct {
	Terms   []string `json:"terms,omitempty"` // what was looked for
	Hits    []Hit    `json:"hits"`            // best first; for a path in the order of the log
	Matched int      `json:"matched"`         // entries that hold any term
}

// Kinds of hits, and what a match in one counts: what people said is what is asked
// for most, bulk output least.
const (
	KindUser       = "user"
	KindSummary    = "summary"
	KindAssistant  = "assistant"
	KindReasoning  = "reasoning"
	KindCall       = "call"
	KindResult     = "result"
	KindAttachment = "attachment"
)

var weights = map[string]float64{KindUser: 3, KindAssistant: 2, KindCall: 1.6, KindResult: 1, KindReasoning: 1, KindSummary: 0.8, KindAttachment: 0.7}

const (
	usualLimit  = 10
	maxDecoded  = 400 // entries that are read in full to rank them
	phraseBonus = 2.0 // what the query word for word is worth beside its terms
)

// Search finds entries by words. limit is how many hits are returned at most; 0
// means ten. The error is that of the context or of reading the log.
func Search(ctx context.Context, l *transcript.Log, query string, limit int) (*Result, error) {
	if limit <= 0 {
		limit = usualLimit
	}
	ts := terms(query)
	res := &Result{Terms: ts, Hits: []Hit{}}
	if len(ts) == 0 {
		return res, nil
	}
	found, err := scan(ctx, l, ts)
	if err != nil {
		return nil, err
	}
	res.Matched = len(found)
	idf := rarity(found, ts, len(l.Entries))
	for i := range found {
		for k := range ts {
			if found[i].terms>>k&1 != 0 {
				found[i].score += idf[k]
			}
		}
		found[i].score *= likely(found[i].entry)
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	if len(found) > maxDecoded {
		found = found[:maxDecoded]
	}
	if len(found) == 0 {
		return res, nil
	}
	// Where entries stand does not depend on what is said in them: both are found out
	// at the same time.
	var at places
	var wg sync.WaitGroup
	wg.Go(func() { at = placesOf(l, uuids(found)) })
	hits := rankAll(found, ts, idf, strings.ToLower(strings.Join(strings.Fields(query), " ")))
	wg.Wait()
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Line, a.Line)) })
	res.Hits = append(res.Hits, hits[:min(len(hits), limit)]...)
	at.set(res.Hits)
	return res, nil
}

// likely is about what rank will make of an entry's kind and length, before it is
// decoded: of a word that stands nearly everywhere only the entries that come first
// by it are.
func likely(x *transcript.Entry) float64 {
	w := weights[KindResult]
	switch {
	case x.Type == transcript.TypeAttachment || x.Meta:
		w = weights[KindAttachment]
	case x.CompactSummary:
		w = weights[KindSummary]
	case x.Type == transcript.TypeAssistant:
		w = weights[KindAssistant]
	case len(x.Results) == 0:
		w = weights[KindUser]
	}
	return w / (1 + math.Log1p(float64(x.Len)/2000))
}

// uuids returns those of the entries of candidates.
func uuids(found []candidate) map[string]bool {
	out := make(map[string]bool, len(found))
	for i := range found {
		out[found[i].entry.UUID] = true
	}
	return out
}

// rarity weighs terms: the fewer entries hold one, the more it tells.
func rarity(found []candidate, ts []string, total int) []float64 {
	df := make([]int, len(ts))
	for _, c := range found {
		for rest := c.terms; rest != 0; rest &= rest - 1 {
			df[bits.TrailingZeros32(rest)]++
		}
	}
	out := make([]float64, len(ts))
	for k, n := range df {
		out[k] = math.Log(1 + float64(total+1)/float64(n+1))
	}
	return out
}

// rankAll ranks the blocks of entries, which are decoded for it, on every processor.
func rankAll(found []candidate, ts []string, idf []float64, phrase string) []Hit {
	hits := make([][]Hit, len(found))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(found)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(found)); i = next.Add(1) - 1 {
				for _, b := range blocksOf(found[i].entry) {
					if h, ok := rank(b, ts, idf, phrase); ok {
						h.on(found[i].entry)
						hits[i] = append(hits[i], h)
					}
				}
			}
		})
	}
	wg.Wait()
	return slices.Concat(hits...)
}

// piece is a block as text.
type piece struct {
	kind, tool, call, text string
}

// blocksOf returns what an entry says, block by block.
func blocksOf(x *transcript.Entry) []piece {
	if x.Type == transcript.TypeAttachment {
		texts, _, err := x.Rendered()
		if err != nil || len(texts) == 0 {
			raw, _ := x.Field("attachment") // as it stands, where nothing was rendered of it
			return []piece{{kind: KindAttachment, text: string(raw)}}
		}
		return []piece{{kind: KindAttachment, text: strings.Join(texts, "\n")}}
	}
	m, err := x.Message()
	if err != nil {
		return nil
	}
	var out []piece
	for i := range m.Content {
		b := &m.Content[i]
		p := piece{kind: KindUser, text: b.Text}
		switch {
		case b.Type == message.TypeToolUse:
			p = piece{kind: KindCall, tool: b.Name, call: b.ID, text: b.Name + " " + string(b.Input)}
		case b.Type == message.TypeToolResult:
			p = piece{kind: KindResult, call: b.ToolUseID, text: textOf(b)}
		case b.IsThinking():
			p.kind = KindReasoning
		case x.CompactSummary:
			p.kind = KindSummary
		case x.Type == transcript.TypeAssistant:
			p.kind = KindAssistant
		case x.Meta:
			p.kind = KindAttachment
		}
		out = append(out, p)
	}
	return out
}

func textOf(b *message.Block) string {
	var out []string
	for i := range b.Content {
		if t := b.Content[i].Text; t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n")
}

// rank scores a block; ok is false when it holds none of the terms.
func rank(p piece, ts []string, idf []float64, phrase string) (h Hit, ok bool) {
	low := strings.ToLower(p.text)
	if len(low) != len(p.text) {
		low = asciiLower(p.text) // positions must agree
	}
	sum, best, at := 0.0, 0.0, -1
	for k, t := range ts {
		n := strings.Count(low, t)
		if n == 0 {
			continue
		}
		sum += idf[k] * (1 + math.Log(float64(n))/4)
		if idf[k] > best {
			best, at = idf[k], strings.Index(low, t)
		}
	}
	if at < 0 {
		return h, false
	}
	if len(ts) > 1 && holdsPhrase(low, phrase) {
		sum *= phraseBonus
		if j := strings.Index(low, phrase); j >= 0 {
			at = j
		}
	}
	// Long texts hold many words by chance.
	sum *= weights[p.kind] / (1 + math.Log1p(float64(len(p.text))/2000))
	h = Hit{Kind: p.kind, Tool: p.tool, Call: p.call, Score: math.Round(sum*1000) / 1000}
	h.Snippet, h.Marks = snippet(p.text, low, at, ts)
	return h, true
}

// holdsPhrase reports whether words stand in a text one behind the other, whatever
// white space is between them; phrase has one blank there.
func holdsPhrase(text, phrase string) bool {
	first, rest, more := strings.Cut(phrase, " ")
	for {
		i := strings.Index(text, first)
		if i < 0 {
			return false
		}
		if !more || goesOn(text[i+len(first):], rest) {
			return true
		}
		text = text[i+1:]
	}
}

// goesOn reports whether a text begins with white space and the words of phrase.
func goesOn(text, phrase string) bool {
	for more := true; more; {
		var word string
		word, phrase, more = strings.Cut(phrase, " ")
		behind := strings.TrimLeftFunc(text, unicode.IsSpace)
		if len(behind) == len(text) || !strings.HasPrefix(behind, word) {
			return false
		}
		text = behind[len(word):]
	}
	return true
}

// snippetBytes is about how much of a text is shown around a match.
const snippetBytes = 240

// snippet cuts a text around a match, at characters and if possible at blanks, and
// marks what matches in it. low is the text in lower case, byte for byte.
func snippet(text, low string, at int, ts []string) (string, [][2]int) {
	from := max(at-snippetBytes/3, 0)
	to := min(from+snippetBytes, len(text))
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	if i := strings.IndexAny(text[from:at], " \n"); from > 0 && i >= 0 {
		from += i + 1
	}
	cut := text[from:to]
	var marks [][2]int
	for _, t := range ts {
		for i := from; ; {
			k := strings.Index(low[i:to], t)
			if k < 0 {
				break
			}
			marks = append(marks, [2]int{i + k - from, i + k - from + len(t)})
			i += k + len(t)
		}
	}
	slices.SortFunc(marks, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], b[1]-a[1]) })
	out := marks[:0]
	for _, m := range marks {
		if n := len(out); n > 0 && m[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], m[1])
			continue
		}
		out = append(out, m)
	}
	return cut, out
}

// on names the entry that a hit is a block of.
func (h *Hit) on(x *transcript.Entry) {
	h.Entry, h.Line, h.entry = x.UUID, x.Line, x
	h.Time, _ = x.Time()
}
