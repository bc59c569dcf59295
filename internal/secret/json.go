package secret

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// RedactJSON redacts a JSON text (a value, or several, or lines of them). It
// looks into the strings, whose escapes can hide what [Redact] looks for, and
// then at the text as a whole, where names of members give values away. A valid
// text stays valid; everything that holds no secret keeps its bytes, number
// texts included. A text that is no JSON is treated by [Redact] alone.
//
// Findings have the coordinates of raw. Those inside a string with escapes have
// the range of that string, not of the part of it that is secret.
func RedactJSON(raw []byte) ([]byte, []Finding) {
	text := string(raw)
	whole, found, patches := redactLiterals(text)
	clean, rest := Redact(whole)
	if len(found)+len(rest) == 0 {
		return raw, nil
	}
	for _, f := range rest {
		// The line is the same in both: string literals hold no newline.
		f.Start, f.End = mapBack(patches, f.Start, false), mapBack(patches, f.End, true)
		found = append(found, f)
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Start < found[j].Start })
	return []byte(clean), found
}

// redactLiterals redacts the string literals of a JSON text that have escapes;
// the others are looked at with the text as a whole.
func redactLiterals(text string) (string, []Finding, []patch) {
	var found []Finding
	var patches []patch
	var b strings.Builder
	at, line := 0, 1
	for i := 0; i < len(text); {
		start := strings.IndexByte(text[i:], '"')
		if start < 0 {
			break
		}
		start += i
		end, escaped, ok := stringEnd(text, start)
		i = end
		if !escaped || !ok {
			continue
		}
		clean, fs := redactLiteral(text[start:end])
		if len(fs) == 0 {
			continue
		}
		line += strings.Count(text[at:start], "\n")
		for _, f := range fs {
			found = append(found, Finding{Rule: f.Rule, Line: line, Start: start, End: end})
		}
		b.WriteString(text[at:start])
		patches = append(patches, patch{b.Len(), b.Len() + len(clean), start, end})
		b.WriteString(clean)
		at = end
	}
	if at == 0 {
		return text, nil, nil
	}
	b.WriteString(text[at:])
	return b.String(), found, patches
}

// stringEnd returns the offset behind the JSON string that begins at text[at]
// and whether it has escapes. It is not ok where a raw newline or the end of the
// text comes first, as in a torn line; reading goes on from there.
func stringEnd(text string, at int) (end int, escaped, ok bool) {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, escaped, true
		case '\\':
			escaped = true
			i++
		case '\n':
			return i, escaped, false
		}
	}
	return len(text), escaped, false
}

// redactLiteral redacts what a JSON string literal stands for.
func redactLiteral(lit string) (string, []Finding) {
	s, ok := unquote(lit)
	if !ok {
		return lit, nil
	}
	clean, found := Redact(s)
	if len(found) == 0 {
		return lit, nil
	}
	return quote(clean), found
}

// unquote returns what a JSON string literal stands for; not ok where one of its
// escapes is none. Half a surrogate pair becomes U+FFFD. It takes a fifth of the
// time that encoding/json takes, which would be most of the time of a scan.
func unquote(lit string) (string, bool) {
	lit = lit[1 : len(lit)-1]
	b := make([]byte, 0, len(lit))
	for {
		i := strings.IndexByte(lit, '\\')
		if i < 0 {
			return string(append(b, lit...)), true
		}
		b = append(b, lit[:i]...)
		lit = lit[i+1:]
		if lit == "" {
			return "", false
		}
		if lit[0] == 'u' {
			r, n := unicodeEscape(lit)
			if n == 0 {
				return "", false
			}
			b, lit = utf8.AppendRune(b, r), lit[n:]
			continue
		}
		i = strings.IndexByte(`"\/bfnrt`, lit[0])
		if i < 0 {
			return "", false
		}
		b, lit = append(b, "\"\\/\b\f\n\r\t"[i]), lit[1:]
	}
}

// unicodeEscape reads "uXXXX", or "uXXXX\uXXXX" where that is a surrogate pair,
// and returns the character and the bytes it took, 0 where it is no escape.
func unicodeEscape(s string) (rune, int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(s) > 6 && s[5] == '\\' {
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 11
			}
		}
	}
	return utf8.RuneError, 5
}

// hex4 reads "uXXXX".
func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[1:5], 16, 32)
	return rune(n), err == nil
}

// quote writes a JSON string as JSON.stringify does: nothing is escaped that
// need not be.
func quote(s string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == '\b':
			b = append(b, '\\', 'b')
		case r == '\f':
			b = append(b, '\\', 'f')
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}
