package sources

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Lengths in bytes. A file name may have 255 on most systems and 143 on one that
// encrypts names (eCryptfs).
const (
	readableMax  = 100 // of the readable part of our folder names
	hashLen      = 12  // base32 characters of a hash: 60 bits
	referenceCut = 200 // where the reference client cuts a folder name
)

// Slug is the name of the folder that holds our sessions of the canonical
// directory dir. Different directories have different names, also on a file
// system that takes upper and lower case for the same: a path of lower-case
// letters, digits and slashes is written with '-' for '/', which can be read back;
// any other gets the first characters of a hash behind '_', which the
// former never holds. The readable part of a long path is its end.
func Slug(dir string) string {
	if plainPath(dir) {
		return strings.ReplaceAll(dir, "/", "-")
	}
	sum := sha256.Sum256([]byte(slugKey(dir)))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:hashLen])
	readable := dashed(dir)
	if len(readable) > readableMax {
		readable = readable[len(readable)-readableMax:]
	}
	return readable + "_" + hash
}

// slugKey is what the hash is of. Windows paths differ by case without naming
// different directories (anthropics/claude-code#90588).
func slugKey(dir string) string {
	if windowsPath(dir) {
		return foldWindows(dir)
	}
	return dir
}

// plainPath reports whether '-' for '/' can be undone: no part is empty, or holds
// anything that would become '-' too, or an upper-case letter, which a
// case-folding file system could not tell from another path's lower-case one.
func plainPath(dir string) bool {
	if dir == "/" {
		return true
	}
	if len(dir) > readableMax || !strings.HasPrefix(dir, "/") {
		return false
	}
	prev := byte(0)
	for i := 0; i < len(dir); i++ {
		c := dir[i]
		if c == '/' && prev == '/' || c != '/' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
		prev = c
	}
	return prev != '/'
}

// dashed writes '-' for everything but ASCII letters and digits, one for each
// character.
func dashed(s string) string {
	var b strings.Builder
	for _, r := range s {
		if alnum(r) {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

func alnum(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// ReferenceSlug is how the reference client names the folder of dir: everything
// but ASCII letters and digits becomes '-', one for each UTF-16 unit. Of a name
// over 200 only that much is returned, and cut is true; the client adds '-' and a
// hash that depends on the runtime it was built for. Different directories may
// get one name; use it only to find candidates.
func ReferenceSlug(dir string) (name string, cut bool) {
	var b strings.Builder
	for _, r := range dir {
		switch {
		case alnum(r):
			b.WriteRune(r)
		case utf16.RuneLen(r) == 2:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	name = b.String()
	if len(name) > referenceCut {
		return name[:referenceCut], true
	}
	return name, false
}

// matcher tells from names alone which folders may hold sessions of some
// directories. It errs on the side of too many: which sessions belong is decided
// by the directory they recorded.
type matcher struct {
	names    map[string]bool // lower case
	prefixes []string        // lower case, of names that were cut
	patterns []*regexp.Regexp
}

func newMatcher(dirs []string) *matcher {
	m := &matcher{names: make(map[string]bool)}
	for _, dir := range dirs {
		m.names[strings.ToLower(Slug(dir))] = true
		name, cut := ReferenceSlug(dir)
		if name = strings.ToLower(name); cut {
			m.prefixes = append(m.prefixes, name)
			continue
		}
		m.names[name] = true
		if p := otherForms(dir); p != nil {
			m.patterns = append(m.patterns, p)
		}
	}
	return m
}

// match compares without case: the folder may have been made when the directory
// was spelled with another (anthropics/claude-code#84499).
func (m *matcher) match(folder string) bool {
	folder = strings.ToLower(folder)
	if m.names[folder] {
		return true
	}
	for _, p := range m.prefixes {
		// Older clients did not cut: then the folder's name is the whole one.
		if strings.HasPrefix(folder, p) {
			return true
		}
	}
	for _, p := range m.patterns {
		if p.MatchString(folder) {
			return true
		}
	}
	return false
}

// otherForms matches the folder names that dir has when its accented letters or
// syllables are spelled in another Unicode normal form: the reference client
// composes them, a file system may hand them out decomposed. A run of characters
// outside ASCII is one or more dashes, after an optional letter that the
// decomposed form begins with. It is nil for ASCII paths.
func otherForms(dir string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	runes := []rune(dir)
	ascii := true
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		if r < unicode.MaxASCII {
			if alnum(r) {
				b.WriteRune(unicode.ToLower(r))
				if i+1 < len(runes) && unicode.Is(unicode.Mn, runes[i+1]) {
					b.WriteByte('?')
				}
			} else {
				b.WriteByte('-')
			}
			continue
		}
		ascii = false
		for i+1 < len(runes) && runes[i+1] > unicode.MaxASCII {
			i++
		}
		b.WriteString("[a-z]?-+")
	}
	if ascii {
		return nil
	}
	p, err := regexp.Compile(b.String() + "$")
	if err != nil {
		return nil // the pattern is too large for the package; the exact name still matches
	}
	return p
}
