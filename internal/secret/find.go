package secret

import (
	"strings"
)

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	// maxPEM is how far the end of a private key may be from its beginning. An
	// RSA key of 16,384 bits takes 12.7 KB; indentation and escapes add to it.
	maxPEM = 24 << 10
	// minPEM is the least number of base64 characters of a key: an Ed25519 key
	// in PKCS #8 has 64.
	minPEM = 60
)

// findPEM finds private key blocks: with both marks, cut off before the end, or
// with the beginning cut off. Keys are met in all kinds of dress: with line
// numbers, in JSON, in string literals joined by plus signs. Where the block is
// one stretch of text it is one finding; where quotes stand in between, each run
// of base64 is one, so that the text around stays what it was.
func findPEM(s *scanner, at int) [][2]int {
	text := s.text
	if strings.HasPrefix(text[at:], pemEnd) {
		return findPEMTail(text, at)
	}
	head := pemLabel(text, at+len(pemBegin))
	if head < 0 {
		return nil
	}
	limit := min(len(text), head+maxPEM)
	if next := strings.Index(text[head:limit], pemBegin); next >= 0 {
		limit = head + next
	}
	if end := pemClose(text[:limit], head); end >= 0 {
		body := text[head:end]
		runs := base64Runs(text, head, end, 16)
		if total(runs) < minPEM || uniform(text, runs) {
			return nil
		}
		if isPlainBlock(body) {
			return [][2]int{{at, end}}
		}
		return runs
	}
	// No end: take the runs that follow each other closely, as lines of a key do.
	runs := closeRuns(base64Runs(text, head, limit, 40), head)
	if total(runs) < minPEM || uniform(text, runs) {
		return nil
	}
	if end := runs[len(runs)-1][1]; isPlainBlock(text[head:end]) {
		return [][2]int{{at, end}}
	}
	return runs
}

// findPEMTail finds the end of a key whose beginning is not in the text, as
// `tail key.pem` shows it. at is that of the closing mark.
func findPEMTail(text string, at int) [][2]int {
	if pemLabel(text, at+len(pemEnd)) < 0 {
		return nil
	}
	from := max(0, at-maxPEM)
	if i := strings.LastIndex(text[from:at], pemEnd); i >= 0 {
		from += i
	}
	if strings.LastIndex(text[from:at], pemBegin) >= 0 {
		return nil // found from its beginning
	}
	runs := base64Runs(text, from, at, 16)
	first := len(runs)
	next := at
	for first > 0 && next-runs[first-1][1] <= maxPEMGap {
		first--
		next = runs[first][0]
	}
	runs = runs[first:]
	if total(runs) < minPEM || uniform(text, runs) {
		return nil
	}
	return runs
}

// pemLabel returns the offset behind a label of a private key and its dashes, or
// -1: "RSA PRIVATE KEY-----", "PRIVATE KEY-----", "PGP PRIVATE KEY BLOCK-----".
func pemLabel(text string, from int) int {
	rest := text[from:min(len(text), from+48)]
	end := strings.Index(rest, "-----")
	if end < 0 {
		return -1
	}
	label := strings.TrimSuffix(rest[:end], " BLOCK")
	if !strings.HasSuffix(label, "PRIVATE KEY") || strings.Trim(label, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") != "" {
		return -1
	}
	return from + end + len("-----")
}

// pemClose returns the offset behind the closing mark of the key whose body
// begins at head, or -1 where none closes.
func pemClose(text string, head int) int {
	i := strings.Index(text[head:], pemEnd)
	if i < 0 {
		return -1
	}
	return pemLabel(text, head+i+len(pemEnd))
}

// maxPEMGap is how much may stand between two lines of a key: a line break,
// quotes, a plus sign, indentation, a line number.
const maxPEMGap = 32

var base64Std = bytesOf("A-Za-z0-9+/")

// base64Runs returns the runs of at least least base64 characters in
// text[from:to], with their padding. A letter that belongs to an escape before
// the run is left out.
func base64Runs(text string, from, to, least int) [][2]int {
	var runs [][2]int
	for i := from; i < to; {
		if !base64Std[text[i]] {
			i++
			continue
		}
		start := i
		if start > 0 && text[start-1] == '\\' {
			start++
			if text[i] == 'u' {
				start += 4
			}
		}
		i = max(i+1, min(start, to))
		for i < to && base64Std[text[i]] {
			i++
		}
		if i-start < least {
			continue
		}
		end := i
		for end < to && end-i < 2 && text[end] == '=' {
			end++
		}
		runs = append(runs, [2]int{start, end})
		i = end
	}
	return runs
}

// closeRuns returns the runs from the first on that follow each other, and head,
// with at most maxPEMGap bytes (for the first: the headers of an encrypted key)
// in between.
func closeRuns(runs [][2]int, head int) [][2]int {
	gap := 160
	for i, r := range runs {
		if r[0]-head > gap {
			return runs[:i]
		}
		head, gap = r[1], maxPEMGap
	}
	return runs
}

func total(runs [][2]int) int {
	n := 0
	for _, r := range runs {
		n += r[1] - r[0]
	}
	return n
}

// uniform reports whether the runs are filler, such as a line of AAAA or xxxx.
func uniform(text string, runs [][2]int) bool {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(text[r[0]:r[1]])
	}
	return entropy(b.String()) < 3
}

// isPlainBlock reports whether the body of a key can be replaced as one piece:
// it has only what a key, its headers, line breaks (raw or escaped) and line
// numbers consist of. In particular no quote, so that it lies within one string
// of a JSON text.
func isPlainBlock(body string) bool {
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case base64Std[c], strings.IndexByte("= \t\r\n:,.-|>", c) >= 0:
		case c == '\\' && i+1 < len(body) && strings.IndexByte("nrt\\", body[i+1]) >= 0:
			i++
		case strings.HasPrefix(body[i:], "→"): // the reference's line numbers: "12→"
			i += len("→") - 1
		default:
			return false
		}
	}
	return true
}

// findJWT finds a token of three dotted parts of which the first two are JSON
// objects in base64. It is no pattern because claims can be long.
func findJWT(s *scanner, at int) [][2]int {
	header := s.run(urlSafe, at)
	if header-at < 12 || !strings.HasPrefix(s.text[header:], ".eyJ") {
		return nil
	}
	payload := s.run(urlSafe, header+1)
	if payload-header < 12 || !strings.HasPrefix(s.text[payload:], ".") {
		return nil
	}
	end := s.run(urlSafe, payload+1)
	if end-payload < 17 || isPlaceholder(s.text[payload+1:min(end, payload+judged)]) {
		return nil
	}
	return [][2]int{{at, end}}
}

// findURLPassword finds the password of scheme://user:password@host; at is the
// offset of "://". The user part ends at the last @ before the path, since
// people paste passwords that hold an @ of their own.
func findURLPassword(s *scanner, at int) [][2]int {
	text := s.text
	if at == 0 || !isWord(text[at-1]) {
		return nil
	}
	from := at + len("://")
	end, sign := from, -1
	for end < len(text) && end-from < window {
		c := text[end]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("/?#\"'`<>{}\\|^", c) >= 0 {
			break
		}
		if c == '@' {
			sign = end
		}
		end++
	}
	if sign < 0 || sign+1 == end || !isHostStart(text[sign+1]) || strings.HasPrefix(text[sign+1:], "sha256:") {
		return nil
	}
	user, pass, ok := strings.Cut(text[from:sign], ":")
	if !ok || len(pass) < 4 || strings.EqualFold(user, pass) || isPlaceholder(pass) || isCommonWord(pass) {
		return nil
	}
	return [][2]int{{sign - len(pass), sign}}
}

func isHostStart(b byte) bool { return isWord(b) || b == '[' }
