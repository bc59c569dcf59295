package ledger

import (
	"strings"
)

// maxCommand bounds a command line that is kept, in bytes.
const maxCommand = 2000

// segments splits a command line into the simple commands it runs, each as its
// words, at && || ; | & and line ends outside of quotes. It reads the shapes that
// agents write, not a shell's grammar: a here-document ends the reading, and a
// word with an expansion is kept as it is.
func segments(cmd string) [][]string {
	var out [][]string
	var words []string
	var w strings.Builder
	inWord := false
	flushWord := func() {
		if inWord {
			words = append(words, w.String())
			w.Reset()
			inWord = false
		}
	}
	flush := func() {
		flushWord()
		if len(words) > 0 {
			out = append(out, words)
			words = nil
		}
	}
	for i := 0; i < len(cmd); i++ {
		switch c := cmd[i]; c {
		case ' ', '\t':
			flushWord()
		case '\n', ';', '|':
			flush()
		case '&':
			if i > 0 && cmd[i-1] == '>' || i+1 < len(cmd) && cmd[i+1] == '>' {
				w.WriteByte(c)
				inWord = true
				continue
			}
			flush()
		case '\'', '"':
			inWord = true
			end := strings.IndexByte(cmd[i+1:], c)
			if end < 0 {
				end = len(cmd) - i - 1
			}
			w.WriteString(cmd[i+1 : i+1+end])
			i += end + 1
		case '$', '`':
			inWord = true
			n := expansion(cmd[i:])
			w.WriteString(cmd[i : i+n])
			i += n - 1
		case '\\':
			inWord = true
			if i+1 < len(cmd) {
				i++
				w.WriteByte(cmd[i])
			}
		case '<':
			if strings.HasPrefix(cmd[i:], "<<") {
				flush()
				return out
			}
			flushWord()
		default:
			w.WriteByte(c)
			inWord = true
		}
	}
	flush()
	return out
}

// expansion returns the length of the command substitution at the start of s, 1 when
// there is none: what runs inside is part of a word.
func expansion(s string) int {
	if s[0] == '`' {
		if i := strings.IndexByte(s[1:], '`'); i >= 0 {
			return i + 2
		}
		return 1
	}
	if len(s) < 2 || s[1] != '(' {
		return 1
	}
	depth := 0
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// core leaves out of a command's segments what does not say what is run: changes
// of folder, settings of variables, and what only cuts the output.
func core(segs [][]string) [][]string {
	var out [][]string
	for i, s := range segs {
		for len(s) > 0 && (strings.Contains(s[0], "=") && !strings.HasPrefix(s[0], "-") || s[0] == "time" || s[0] == "env" || s[0] == "sudo") {
			s = s[1:]
		}
		var words []string
		for k := 0; k < len(s); k++ {
			if redirect(s[k]) {
				if strings.HasSuffix(s[k], ">") {
					k++ // the file is a word of its own
				}
				continue
			}
			words = append(words, s[k])
		}
		if len(words) == 0 || words[0] == "cd" || words[0] == "export" || words[0] == "set" || words[0] == "true" {
			continue
		}
		if i > 0 && len(out) > 0 && cutter[words[0]] {
			continue
		}
		out = append(out, words)
	}
	return out
}

func redirect(w string) bool {
	w = strings.TrimLeft(w, "012&")
	return strings.HasPrefix(w, ">")
}

// cutter are commands that stand at the end of a pipe to shorten what is shown.
var cutter = map[string]bool{"head": true, "tail": true, "grep": true, "rg": true, "sed": true, "awk": true, "tee": true, "cat": true, "sort": true, "wc": true,
	"uniq": true, "cut": true, "tr": true, "xargs": true, "echo": true, "less": true, "jq": true}

// commandKey is what two runs of the same command share.
func commandKey(segs [][]string) string {
	var b strings.Builder
	for i, s := range segs {
		if i > 0 {
			b.WriteString(" && ")
		}
		b.WriteString(strings.Join(s, " "))
	}
	return clip(clean(b.String()), 400)
}

// lookers only show something: that they fail is no failure to be fixed, and of
// all that was run they are the least worth keeping.
var lookers = map[string]bool{"ls": true, "cat": true, "head": true, "tail": true, "grep": true, "rg": true, "egrep": true, "fgrep": true, "ag": true, "find": true, "fd": true,
	"awk": true, "wc": true, "pwd": true, "which": true, "whereis": true, "type": true, "echo": true, "printf": true, "tree": true, "stat": true, "file": true,
	"diff": true, "env": true, "printenv": true, "date": true, "whoami": true, "id": true, "uname": true, "du": true, "df": true, "ps": true, "jq": true, "yq": true, "sort": true,
	"uniq": true, "cut": true, "tr": true, "nl": true, "xxd": true, "od": true, "less": true, "more": true, "basename": true, "dirname": true, "realpath": true,
	"readlink": true, "sleep": true, "test": true, "[": true, "man": true, "history": true, "column": true, "strings": true, "hexdump": true, "md5sum": true, "sha256sum": true,
	"Get-Content": true, "Get-ChildItem": true, "Select-String": true, "dir": true}

// lookVerbs are the first words after a program that does both.
var lookVerbs = map[string]string{
	"git":     " status log diff show branch blame remote rev-parse ls-files ls-tree ls-remote rev-list describe reflog shortlog cat-file grep config merge-base for-each-ref ",
	"gh":      " view list diff status checks ",
	"docker":  " ps images logs inspect ",
	"go":      " doc env list version ",
	"npm":     " ls list view outdated ",
	"kubectl": " get describe logs ",
}

// looks reports whether a command only shows something.
func looks(segs [][]string) bool {
	for _, s := range segs {
		if !looksOne(s) {
			return false
		}
	}
	return true
}

func looksOne(s []string) bool {
	name := s[0]
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	if lookers[name] {
		return true
	}
	if name == "sed" {
		for _, w := range s[1:] {
			if strings.HasPrefix(w, "-i") || w == "--in-place" {
				return false
			}
		}
		return true
	}
	verbs, ok := lookVerbs[name]
	if !ok {
		return false
	}
	n := 0
	for _, w := range s[1:] {
		if strings.HasPrefix(w, "-") || strings.Contains(w, "/") || strings.Contains(w, "=") {
			continue
		}
		if strings.Contains(verbs, " "+w+" ") {
			return true
		}
		// `gh pr view`: the verb may be the second word.
		if n++; n > 1 || name != "gh" {
			return false
		}
	}
	return false
}

// family names what kind of check a command is ("go test", "npm test"), "" when it
// is none. A check of everything that passes says that a narrower one would.
func family(s []string) string {
	if len(s) == 0 {
		return ""
	}
	switch s[0] {
	case "pytest", "tox", "jest", "vitest", "rspec", "phpunit", "ctest", "tsc", "golangci-lint", "staticcheck", "eslint", "mypy", "ruff":
		return s[0]
	case "go", "cargo", "npm", "pnpm", "yarn", "bun", "mix", "make", "mise", "just", "dotnet", "gradle", "./gradlew", "mvn", "swift", "zig", "deno", "bundle", "rake", "task":
		words := []string{s[0]}
		for _, w := range s[1:] {
			if strings.HasPrefix(w, "-") {
				continue
			}
			words = append(words, w)
			if w != "run" && w != "exec" {
				break
			}
		}
		if len(words) > 1 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// wide reports whether a check covers everything: no argument names a part.
func wide(s []string) bool {
	fam := strings.Count(family(s), " ") + 1
	n := 0
	for _, w := range s {
		if strings.HasPrefix(w, "-") {
			if strings.HasPrefix(w, "-run") || strings.HasPrefix(w, "-k") || strings.HasPrefix(w, "--filter") || w == "-t" {
				return false
			}
			continue
		}
		if n++; n > fam && w != "./..." && w != "." {
			return false
		}
	}
	return true
}

// covers reports whether a run that succeeded shows that the failed one would now
// succeed too.
func covers(ok, failed [][]string) bool {
	for _, f := range failed {
		fam := family(f)
		if fam == "" {
			continue
		}
		for _, s := range ok {
			if family(s) == fam && wide(s) {
				return true
			}
		}
		return false
	}
	return false
}

// folder returns the folder in which a command line ends up: that of the call, changed
// by each cd whose target is plain.
func folder(dir string, segs [][]string) string {
	for _, s := range segs {
		if len(s) == 2 && s[0] == "cd" && !strings.ContainsAny(s[1], "*?[]{}$`~-") {
			dir = fileKey(dir, s[1])
		}
	}
	return dir
}

// shellDeletes returns the paths that a command line removes or moves, as changes,
// if it succeeds. Words with expansions name no path that a rule could know.
func shellDeletes(segs [][]string) []change {
	var out []change
	for _, s := range segs {
		if len(s) > 2 && s[0] == "git" && (s[1] == "rm" || s[1] == "mv") {
			s = s[1:]
		}
		if s[0] != "rm" && s[0] != "mv" && s[0] != "unlink" {
			continue
		}
		var paths []string
		for _, w := range s[1:] {
			if w == "--cached" {
				paths = nil
				break
			}
			if !strings.HasPrefix(w, "-") {
				paths = append(paths, w)
			}
		}
		if len(paths) > maxChanges || s[0] == "mv" && len(paths) != 2 {
			continue
		}
		for i, p := range paths {
			if strings.ContainsAny(p, "*?[]{}$`~") {
				continue
			}
			act := actDelete
			if s[0] == "mv" && i == 1 {
				if strings.HasSuffix(p, "/") {
					continue
				}
				act = actWrite
			}
			if p = storePath(p); p != "" {
				out = append(out, change{Path: p, Act: act})
			}
		}
	}
	return out
}
