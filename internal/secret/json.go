package secret

import (
	"encoding/json"
	"sort"
	"strings"
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
	var s string
	if json.Unmarshal([]byte(lit), &s) != nil {
		return lit, nil
	}
	clean, found := Redact(s)
	if len(found) == 0 {
		return lit, nil
	}
	return quote(clean), found
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
