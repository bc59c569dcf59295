package secret

import (
	"regexp"
	"sort"
	"sync"
)

// span is a match of one rule, in bytes of the text; rule indexes the table.
type span struct {
	start, end int
	rule       int
}

// window is how many bytes behind a keyword a pattern may look. It bounds the
// work of a match, and with it the time of a scan.
const window = 512

// compiled is the table of rules made ready for scanning.
type compiled struct {
	rules []rule
	res   []*regexp.Regexp // by rule, nil where it has no pattern
	auto  *automaton
}

// table compiles the rules once, at the first scan: a process that scans
// nothing pays nothing.
var table = sync.OnceValue(func() *compiled { return compile(ruleTable()) })

func compile(rules []rule) *compiled {
	c := &compiled{rules: rules, res: make([]*regexp.Regexp, len(rules))}
	var words []keyword
	for i, r := range rules {
		if r.pattern != "" {
			c.res[i] = regexp.MustCompile(`\A` + r.pattern)
		}
		for _, k := range r.keywords {
			words = append(words, keyword{text: k, fold: r.fold, rule: i})
		}
	}
	c.auto = newAutomaton(words)
	return c
}

// scanner is the state of one pass over a text.
type scanner struct {
	*compiled
	text  string
	found []span
	known [4]stretch // runs measured last
	last  int
}

// stretch is a run of bytes of a class, [from,end).
type stretch struct {
	class     *class
	from, end int
}

// scan makes one pass over text and returns the merged matches.
func scan(text string) []span {
	s := scanner{compiled: table(), text: text}
	s.auto.each(text, s.match)
	return merge(s.found)
}

// run returns the end of the run of bytes of c at from. It remembers the runs it
// measured, so that a text in which a keyword follows itself again and again
// within one run takes no longer than another.
func (s *scanner) run(c *class, from int) int {
	for _, k := range s.known {
		if k.class == c && from >= k.from && from < k.end {
			return k.end
		}
	}
	end := from
	for end < len(s.text) && c[s.text[end]] {
		end++
	}
	if end-from > 256 {
		s.last = (s.last + 1) % len(s.known)
		s.known[s.last] = stretch{c, from, end}
	}
	return end
}

// match tries the rule of keyword k, which stands at text[at:].
func (s *scanner) match(k *keyword, at int) {
	r := &s.rules[k.rule]
	if n := len(s.found); n > 0 && k.rule >= s.found[n-1].rule && at >= s.found[n-1].start && at < s.found[n-1].end {
		return // inside a secret already found and named as well
	}
	if !r.inside && !leftBoundary(s.text, at) {
		return
	}
	if r.find != nil {
		for _, f := range r.find(s, at) {
			s.found = append(s.found, span{f[0], f[1], k.rule})
		}
		return
	}
	behind := at + len(k.text)
	start, end, ok := at, at, false
	switch {
	case r.named:
		start, end, ok = assigned(s.text, behind)
		behind = start
		ok = ok && (r.body == nil || all(s.text[start:end], r.body))
	case r.body != nil:
		end = s.run(r.body, behind)
		ok = end == len(s.text) || !isWord(s.text[end])
	default:
		start, end, ok = s.pattern(k.rule, at)
		behind = start
	}
	if ok && !breaksEscape(s.text, start) && r.allows(s.text[behind:end]) {
		s.found = append(s.found, span{start, end, k.rule})
	}
}

// judged is how much of a value is looked at to judge it. Real secrets beside
// keys and signed tokens are shorter.
const judged = 1 << 10

// allows judges a value by its length and by what it looks like.
func (r *rule) allows(value string) bool {
	if len(value) < r.min || r.max > 0 && len(value) > r.max {
		return false
	}
	value = value[:min(len(value), judged)]
	switch {
	case r.entropy > 0 && entropy(value) < r.entropy, isPlaceholder(value):
		return false
	}
	return r.accept == nil || r.accept(value)
}

// all reports whether s consists of bytes of the class.
func all(s string, c *class) bool {
	for i := range len(s) {
		if !c[s[i]] {
			return false
		}
	}
	return true
}

// pattern matches the rule's regular expression at text[at:] and returns the
// range of the first group that took part, or of the whole match where none did.
func (s *scanner) pattern(rule, at int) (start, end int, ok bool) {
	m := s.res[rule].FindStringSubmatchIndex(s.text[at:min(len(s.text), at+window)])
	if m == nil {
		return 0, 0, false
	}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			return at + m[g], at + m[g+1], true
		}
	}
	return at, at + m[1], true
}

// merge sorts spans and joins those that overlap. The joined one has the rule
// that stands first in the table, which is the more specific one.
func merge(found []span) []span {
	if len(found) < 2 {
		return found
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].start != found[j].start {
			return found[i].start < found[j].start
		}
		return found[i].end > found[j].end
	})
	out := found[:1]
	for _, s := range found[1:] {
		last := &out[len(out)-1]
		if s.start >= last.end {
			out = append(out, s)
			continue
		}
		last.end = max(last.end, s.end)
		last.rule = min(last.rule, s.rule)
	}
	return out
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// leftBoundary reports whether a token can begin at text[at]. A letter or digit
// before it speaks against that, except where it is the tail of an escape: the
// n of \n and the digits of \u001b in JSON text, the m that ends a terminal
// colour, the digits of %3D in a URL.
func leftBoundary(text string, at int) bool {
	if at == 0 || !isWord(text[at-1]) {
		return true
	}
	prev := text[at-1]
	if at >= 2 && text[at-2] == '\\' {
		switch prev {
		case 'n', 't', 'r', 'b', 'f':
			return true
		}
	}
	if at >= 3 && text[at-3] == '%' && isHex(text[at-2]) && isHex(prev) {
		return true
	}
	if at >= 6 && text[at-6] == '\\' && text[at-5] == 'u' && isHex(text[at-4]) && isHex(text[at-3]) && isHex(text[at-2]) && isHex(prev) {
		return true
	}
	return prev == 'm' && endsColour(text, at-1)
}

// endsColour reports whether the m at text[at] ends a terminal colour sequence,
// raw or in one of the ways in which source code and JSON write the escape.
func endsColour(text string, at int) bool {
	i := at - 1
	for i >= 0 && at-i < 24 && (text[i] >= '0' && text[i] <= '9' || text[i] == ';' || text[i] == ':') {
		i--
	}
	if i < 1 || text[i] != '[' {
		return false
	}
	switch text[i-1] {
	case 0x1b, 'b', 'B', 'e', '3': // raw, \x1b and \u001b, \e, \033
		return true
	}
	return false
}

// breaksEscape reports whether a secret that begins at text[start] would begin
// inside a backslash escape, as the letter n of \n does. Replacing it there
// would make JSON text invalid; such a match is not a secret in any case, since
// its first letter belongs to the escape.
func breaksEscape(text string, start int) bool {
	if start == 0 || text[start-1] != '\\' || start >= len(text) {
		return false
	}
	switch text[start] {
	case 'n', 't', 'r', 'b', 'f', 'u', '/', '"', '\\':
		return true
	}
	return false
}
