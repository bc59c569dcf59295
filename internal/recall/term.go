package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTerms is how many terms of a query count: a pasted paragraph is told from
// others by far fewer.
const maxTerms = 24

// terms divides a query into what is looked for: words in lower case, the parts of
// identifiers beside them (camelCase, snake_case, paths and dots divide), and pairs
// of characters where a script has no blanks between words. Each is there once, in
// the order of the query.
func terms(query string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(t string) {
		if t = strings.ToLower(t); t != "" && !seen[t] && len(out) < maxTerms {
			seen[t] = true
			out = append(out, t)
		}
	}
	for _, run := range runs(query) {
		if dense(run) {
			for _, pair := range pairs(run) {
				add(pair)
			}
			continue
		}
		add(run)
		if parts := humps(run); len(parts) > 1 {
			for _, p := range parts {
				if utf8.RuneCountInString(p) > 2 {
					add(p)
				}
			}
		}
	}
	return out
}

// runs returns the stretches of letters and digits, those of scripts without
// blanks by themselves.
func runs(s string) []string {
	var out []string
	start, kind := -1, 0
	for i, r := range s {
		k := 0
		switch {
		case isDense(r):
			k = 2
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			k = 1
		}
		if k != kind {
			if kind != 0 {
				out = append(out, s[start:i])
			}
			start, kind = i, k
		}
	}
	if kind != 0 {
		out = append(out, s[start:])
	}
	return out
}

// isDense reports whether a character belongs to a script that is written without
// blanks between words.
func isDense(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

func dense(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isDense(r)
}

// pairs returns each two neighbouring characters; the one there is, if it is alone.
func pairs(s string) []string {
	r := []rune(s)
	if len(r) < 2 {
		return []string{s}
	}
	out := make([]string, 0, len(r)-1)
	for i := 0; i+1 < len(r); i++ {
		out = append(out, string(r[i:i+2]))
	}
	return out
}

// humps divides camelCase: parseHTTPBody is parse, HTTP, Body.
func humps(s string) []string {
	r := []rune(s)
	var out []string
	start := 0
	for i := 1; i < len(r); i++ {
		up := unicode.IsUpper(r[i])
		switch {
		case up && !unicode.IsUpper(r[i-1]),
			up && i+1 < len(r) && unicode.IsLower(r[i+1]),
			unicode.IsDigit(r[i]) != unicode.IsDigit(r[i-1]):
			out = append(out, string(r[start:i]))
			start = i
		}
	}
	return append(out, string(r[start:]))
}
