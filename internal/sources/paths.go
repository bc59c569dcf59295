package sources

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Paths compares directories as the file systems that hold them do. The zero
// value asks the operating system; tests put other answers in its place.
type Paths struct {
	// Resolve follows symbolic links; nil means filepath.EvalSymlinks.
	Resolve func(name string) (string, error)
	// Same reports whether both names exist and lead to one directory; nil asks
	// the file system, except for network names that a log recorded.
	Same func(a, b string) bool
	// Names lists a directory; nil reads it.
	Names func(dir string) ([]string, error)
}

func (p Paths) resolve(name string) (string, error) {
	if p.Resolve != nil {
		return p.Resolve(name)
	}
	return filepath.EvalSymlinks(name)
}

func (p Paths) same(a, b string) bool {
	if p.Same != nil {
		return p.Same(a, b)
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func (p Paths) names(dir string) ([]string, error) {
	if p.Names != nil {
		return p.Names(dir)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return names, err
}

// Canonical is the one name of a directory: absolute, without symbolic links, in
// the case in which the disk has it. What does not exist keeps its name.
func (p Paths) Canonical(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = filepath.Clean(dir)
	}
	if real, err := p.resolve(abs); err == nil {
		abs = real
	}
	if windowsPath(abs) {
		// Resolving gave every part the case of the disk, but for the drive.
		return strings.ToUpper(abs[:1]) + abs[1:]
	}
	return p.diskCase(abs)
}

// diskCase gives the parts of an absolute path the case in which their folders
// list them, where the file system takes both for the same
// (anthropics/claude-code#48645). On others it costs two look-ups for each part.
func (p Paths) diskCase(name string) string {
	done := string(filepath.Separator)
	for part := range strings.SplitSeq(strings.Trim(name, done), string(filepath.Separator)) {
		at := filepath.Join(done, part)
		other := swapCase(part)
		if other != part && p.same(filepath.Join(done, other), at) {
			part = p.listed(done, part)
		}
		done = filepath.Join(done, part)
	}
	return done
}

// listed returns the name under which dir lists part.
func (p Paths) listed(dir, part string) string {
	names, err := p.names(dir)
	if err != nil {
		return part // a folder that may be entered but not listed
	}
	found := part
	for _, n := range names {
		if n == part {
			return part
		}
		if strings.EqualFold(n, part) {
			found = n
		}
	}
	return found
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if u := unicode.ToUpper(r); u != r {
			return u
		}
		return unicode.ToLower(r)
	}, s)
}

// equal reports whether a directory that a log recorded is the canonical one.
// Names that differ only in ways their system ignores are equal without a look at
// the disk; else both must lead to one directory.
func (p Paths) equal(recorded, canonical string) bool {
	if recorded == "" || canonical == "" {
		return false
	}
	if pathKey(recorded) == pathKey(canonical) {
		return true
	}
	if networkPath(recorded) && !networkPath(canonical) {
		// A log is not to be trusted with making this machine log in to a server.
		return false
	}
	if !filepath.IsAbs(recorded) || !utf8.ValidString(recorded) {
		return false
	}
	return p.same(recorded, canonical)
}

// pathKey is equal for names of one directory that can be compared as text.
func pathKey(name string) string {
	if windowsPath(name) {
		return foldWindows(name)
	}
	return path.Clean(name)
}

// windowsPath reports whether name is absolute in the way of Windows: a drive or
// a server. It goes by shape, so that logs may come from another machine.
func windowsPath(name string) bool {
	if len(name) >= 3 && name[1] == ':' && (name[2] == '\\' || name[2] == '/') {
		c := name[0] | 0x20
		return c >= 'a' && c <= 'z'
	}
	return strings.HasPrefix(name, `\\`)
}

func networkPath(name string) bool {
	return strings.HasPrefix(name, `\\`) || strings.HasPrefix(name, "//")
}

// foldWindows makes names of one directory equal: case, direction of slashes, the
// prefix of extended names, a slash at the end.
func foldWindows(name string) string {
	name = strings.ReplaceAll(name, "/", `\`)
	name = strings.TrimPrefix(name, `\\?\`)
	name = strings.ToLower(name)
	if trimmed := strings.TrimRight(name, `\`); len(trimmed) > 2 {
		return trimmed
	}
	return name
}
