package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// FileError reports a settings file that was left out as a whole because it
// could not be read or is not a JSON object.
type FileError struct {
	Layer Layer
	File  string
	// Line and Column (bytes) are where reading stopped, from 1; 0 when the
	// file could not be read at all.
	Line, Column int
	Err          error
}

func (e *FileError) Error() string {
	at := e.File
	if e.Line > 0 {
		at += ":" + strconv.Itoa(e.Line) + ":" + strconv.Itoa(e.Column)
	}
	return fmt.Sprintf("%s: %v; nothing in this file counts until it is mended", at, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

// ValueError reports a value that is not of the type its key needs.
type ValueError struct {
	Key    string
	Origin Origin
	Want   string // what the key needs, "a whole number"
	Got    string // what stands there, shortened; only its kind where it may be secret
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: %s must be %s, not %s", e.Origin, e.Key, e.Want, e.Got)
}

// DuplicateError reports a member that one object of a file has twice. The last
// one counts, as in every JSON reader; the first was probably forgotten.
type DuplicateError struct {
	Key    string
	Origin Origin // of the one that counts
	First  int    // line of the one that does not
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s: %s stands there twice, first in line %d; the last one counts", e.Origin, e.Key, e.First)
}

// Withheld is a value that its layer may not set, or not yet.
type Withheld struct {
	Key    string // path of the value, joined by dots
	Origin Origin
	Reason string // why, a clause
	// UntilTrusted is true when the value counts once the user trusts the
	// folder, false when it never counts in this layer.
	UntilTrusted bool
	// JSON is the value as it stands in the file, for showing what would be
	// approved; it is attacker input.
	JSON []byte
}

// Error makes a notice of it.
func (w Withheld) Error() string {
	if w.UntilTrusted {
		return fmt.Sprintf("%s: %s is ignored until you trust this folder: %s", w.Origin, w.Key, w.Reason)
	}
	return fmt.Sprintf("%s: %s is ignored: %s", w.Origin, w.Key, w.Reason)
}

// joinKey makes the shown form of a path. Segments that themselves hold dots
// or unprintable text are quoted.
func joinKey(path []string) string {
	var b strings.Builder
	for i, s := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if plainSegment(s) {
			b.WriteString(s)
		} else {
			b.WriteString(strconv.QuoteToASCII(s))
		}
	}
	return b.String()
}

func plainSegment(s string) bool {
	for _, r := range s {
		if r == '.' || r == '"' || r < 0x21 || r > 0x7e {
			return false
		}
	}
	return s != ""
}
