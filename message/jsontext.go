package message

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement is U+FFFD, which stands for every piece of text that is not Unicode.
const replacement = "\uFFFD"

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, written as JSON.stringify writes it: only quotes, backslashes and control characters
// below U+0020 are escaped, the latter as \b \f \n \r \t or \u00xx in lower case; <, >, &, U+2028 and U+2029 stay as they are
// (63,614 of 63,614 genuine lines of the reference's logs are written so). Each byte of s that is not valid UTF-8 becomes U+FFFD,
// since a request with anything else is refused.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if !utf8.ValidString(s) {
		s = string([]rune(s)) // which makes U+FFFD of each broken byte
	}
	for i := 0; i < len(s); {
		from := i
		for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
			i++
		}
		dst = append(dst, s[from:i]...)
		if i < len(s) {
			dst = appendEscape(dst, s[i])
			i++
		}
	}
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// unquote decodes the interior of a JSON string that was validated before. Lone surrogates and invalid bytes become U+FFFD, one
// each, as encoding/json has it.
func unquote(in []byte) string {
	valid := utf8.Valid(in)
	if valid && bytes.IndexByte(in, '\\') < 0 {
		return string(in)
	}
	return unescapeAll(in, valid)
}

// unescapeAll is unquote for text of which is known whether it is UTF-8.
func unescapeAll(in []byte, valid bool) string {
	var out strings.Builder
	out.Grow(len(in))
	for at := bytes.IndexByte(in, '\\'); at >= 0; at = bytes.IndexByte(in, '\\') {
		writeText(&out, in[:at], valid)
		r, n := unescape(in[at:])
		out.WriteRune(r)
		in = in[at+n:]
	}
	writeText(&out, in, valid)
	return out.String()
}

// appendUnescaped is unescapeAll for valid UTF-8. It appends at most as many bytes as in has.
func appendUnescaped(dst, in []byte) []byte {
	for at := bytes.IndexByte(in, '\\'); at >= 0; at = bytes.IndexByte(in, '\\') {
		dst = append(dst, in[:at]...)
		r, n := unescape(in[at:])
		dst = utf8.AppendRune(dst, r)
		in = in[at+n:]
	}
	return append(dst, in...)
}

func writeText(out *strings.Builder, in []byte, valid bool) {
	if valid {
		out.Write(in)
		return
	}
	for len(in) > 0 {
		r, n := utf8.DecodeRune(in)
		out.WriteRune(r)
		in = in[n:]
	}
}

// unescape decodes the escape at the start of in (validated) and returns its rune and length; a pair of surrogate escapes is one
// escape of twelve bytes, a lone one is U+FFFD.
func unescape(in []byte) (r rune, n int) {
	switch c := in[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(c), 2
	}
	r, _ = hex4(in, 2)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(in) >= 12 && in[6] == '\\' && in[7] == 'u' {
		if low, ok := hex4(in, 8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return utf8.RuneError, 6
}

// CleanUnicode reports whether every string of the JSON text raw is Unicode: valid UTF-8, no escaped half of a surrogate pair.
// The API refuses a request that holds anything else, and with it the whole session (anthropics/claude-code#68325).
func CleanUnicode(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for i := nextSurrogate(raw, 0); i < len(raw); i = nextSurrogate(raw, i) {
		r, n := escapeAt(raw, i)
		if r == utf8.RuneError && n == 6 {
			return false
		}
		i += n
	}
	return true
}

// FixUnicode returns the JSON text raw with each lone surrogate escape and each byte that is not UTF-8 replaced by U+FFFD; all
// other bytes are kept. It returns raw itself when there is nothing to do, so it may be called before every send.
func FixUnicode(raw []byte) []byte {
	if CleanUnicode(raw) {
		return raw
	}
	return appendFixed(make([]byte, 0, len(raw)+8), raw)
}

// appendFixed does FixUnicode's work. In valid JSON a backslash occurs in strings only, so strings need not be told from the rest.
func appendFixed(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == '\\':
			r, n := escapeAt(raw, i)
			if r == utf8.RuneError && n == 6 {
				dst = append(dst, replacement...)
			} else {
				dst = append(dst, raw[i:i+n]...)
			}
			i += n
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

// nextSurrogate returns the index, at or after i, of the next backslash that begins a \ud… escape, or len(raw).
func nextSurrogate(raw []byte, i int) int {
	for i < len(raw) {
		at := bytes.Index(raw[i:], []byte(`\u`))
		if at < 0 {
			return len(raw)
		}
		at += i
		if at+2 >= len(raw) || raw[at+2]|0x20 != 'd' || escaped(raw, at) {
			i = at + 2
			continue
		}
		return at
	}
	return len(raw)
}

// escaped reports whether the backslash at i is itself escaped, that is, follows an odd run of backslashes.
func escaped(raw []byte, i int) bool {
	n := 0
	for i-n-1 >= 0 && raw[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// escapeAt is unescape for text that may be cut off or not valid JSON: what is no escape counts as itself.
func escapeAt(raw []byte, i int) (r rune, n int) {
	in := raw[i:]
	if len(in) < 2 {
		return 0, len(in)
	}
	if in[1] == 'u' {
		if _, ok := hex4(in, 2); !ok {
			return 0, 1
		}
		r, n = unescape(in)
		if r == utf8.RuneError && n == 6 {
			if lit, _ := hex4(in, 2); !utf16.IsSurrogate(lit) {
				return 0, 6 // the text really holds an escaped U+FFFD
			}
		}
		return r, n
	}
	if in[1] >= utf8.RuneSelf {
		return 0, 1
	}
	return 0, 2
}
