package sources

import (
	"strings"
	"unicode"
)

// Command is how to continue a session of another project (S-5), as data: the
// directory to go to and what to run there.
type Command struct {
	Dir  string
	Args []string
}

// ResumeCommand returns the command that continues the session where it belongs.
// It is false when the session recorded no directory, or one whose name could not
// be shown and typed safely.
func (s *Session) ResumeCommand() (Command, bool) {
	dir := s.Dir()
	if dir == "" || strings.ContainsFunc(dir, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Command{}, false
	}
	return Command{Dir: dir, Args: []string{"varve", "--resume", s.ID}}, true
}

// String is the command for a POSIX shell, or, where the directory is one of
// Windows, for PowerShell. The directory is always quoted: a log names it.
func (c Command) String() string {
	and, quote := " && ", `'\''`
	if windowsPath(c.Dir) {
		and, quote = "; ", `''`
	}
	var b strings.Builder
	b.WriteString("cd '" + strings.ReplaceAll(c.Dir, "'", quote) + "'" + and)
	for i, a := range c.Args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if strings.ContainsFunc(a, func(r rune) bool { return !alnum(r) && !strings.ContainsRune("-_./", r) }) {
			a = "'" + strings.ReplaceAll(a, "'", quote) + "'"
		}
		b.WriteString(a)
	}
	return b.String()
}
