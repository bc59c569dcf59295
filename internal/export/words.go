package export

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"varve.dev/transcript"
)

// timeFormat is how times are shown, always in UTC.
const timeFormat = "2006-01-02 15:04"

// when is the time of an entry, "" where it has none.
func when(e *transcript.Entry) string {
	t, ok := e.Time()
	if !ok {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// anchor names an entry inside a document, by the line of the log that holds it.
func anchor(e *transcript.Entry) string {
	if e.Line > 0 {
		return "e" + strconv.Itoa(e.Line)
	}
	return "e" + strconv.Itoa(e.Seq()+1)
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1000:
		return plural(n, "byte", "bytes")
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64) + " KB"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " MB"
}

// lines says how long a text is.
func lines(s string) string {
	n := strings.Count(strings.TrimRight(s, "\n"), "\n") + 1
	return plural(n, "line", "lines") + ", " + size(len(s))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(int64(n)) + " " + many
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// indent sets JSON out on several lines; what is no JSON stays as it is.
func indent(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// Limits of what is shown of a long text in front of its fold.
const (
	previewLines = 12
	previewBytes = 1500
)

// preview returns the beginning of a text, and false where that is all of it.
func preview(s string) (head string, cut bool) {
	at := 0
	for n := 0; n < previewLines && at < len(s); n++ {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			at = len(s)
			break
		}
		at += i + 1
	}
	if at > previewBytes {
		at = previewBytes
		for at > 0 && s[at]&0xc0 == 0x80 { // not inside a character
			at--
		}
	}
	// A fold that hides three lines is no gain.
	rest := s[at:]
	if strings.Count(strings.TrimRight(rest, "\n"), "\n") < 3 && len(rest) < 300 {
		return s, false
	}
	return strings.TrimRight(s[:at], "\n"), true
}
