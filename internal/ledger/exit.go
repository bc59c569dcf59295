package ledger

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// readExit finds the exit code, in the words of each agent's shell tool: before
// the command's output (Claude Code where it failed, Codex) or behind it (Gemini,
// Qwen, pi). Lines in the middle are the command's own and say nothing.
func readExit(o *outcome, e ends, reference bool) {
	switch {
	case o.Refused || o.Void || o.Running:
		return
	case reference:
		// The output stands apart, and what failed is an error with another shape.
		o.HasExit = !o.Error && o.Note == ""
		return
	case strings.HasPrefix(e.head, "{"):
		o.Exit, o.HasExit = jsonExit(e.tail)
		return
	}
	n := 0
	for l := range strings.SplitSeq(e.head, "\n") {
		if n++; n > 8 || !isHeader(l) {
			break
		}
		if id, ok := strings.CutPrefix(l, "Process running with session ID "); ok {
			o.Running, o.Session = true, oneLine(id, 40)
			return
		}
		if code, ok := exitLine(l); ok {
			o.Exit, o.HasExit = code, true
			return
		}
	}
	lines := strings.Split(e.tail, "\n")
	for i := len(lines) - 1; i >= max(0, len(lines)-8); i-- {
		if strings.HasPrefix(lines[i], "Exit Code: ") || strings.HasPrefix(lines[i], "Command exited with code ") {
			o.Exit, o.HasExit = exitLine(lines[i])
			return
		}
	}
}

// headers begin the lines that a shell tool writes before a command's output.
var headers = []string{"Exit code", "Command: ", "Chunk ID: ", "Wall time", "Process exited with code ", "Process running with session ID ", "Original token count: ", "Directory: "}

func isHeader(l string) bool {
	for _, h := range headers {
		if strings.HasPrefix(l, h) {
			return true
		}
	}
	return false
}

// exitWords stand before an exit code.
var exitWords = []string{"Exit code ", "Exit code: ", "Exit Code: ", "Process exited with code ", "Command exited with code "}

func exitLine(l string) (int, bool) {
	for _, w := range exitWords {
		if rest, ok := strings.CutPrefix(l, w); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err == nil && n >= -1<<31 && n <= 1<<32 {
				return n, true
			}
			return 0, false
		}
	}
	return 0, false
}

// jsonExit reads {"output":…,"metadata":{"exit_code":…}} from the end of a text
// whose middle was not decoded.
func jsonExit(s string) (int, bool) {
	const key = `"exit_code":`
	i := strings.LastIndex(s, key)
	if i < 0 {
		return 0, false
	}
	s = strings.TrimLeft(s[i+len(key):], " ")
	n := 0
	for n < len(s) && n < 10 && (s[n] >= '0' && s[n] <= '9' || n == 0 && s[n] == '-') {
		n++
	}
	code, err := strconv.Atoi(s[:n])
	return code, err == nil
}

// maxLine bounds the line that an outcome is told by, in characters.
const maxLine = 160

// outcomeLine picks the line that says most about a result: the first that names
// an error where there is one, else the last.
func outcomeLine(e ends, failed bool) string {
	texts := []string{body(e.head)}
	if !e.whole {
		texts = append(texts, e.tail)
	}
	last, commit := "", ""
	for _, t := range texts {
		for l := range strings.SplitSeq(t, "\n") {
			s := strings.TrimSpace(l)
			switch {
			case s == "" || !worded(s) || isHeader(l) || strings.HasPrefix(s, "</") || strings.HasPrefix(l, "Exit Code: ") ||
				strings.HasPrefix(s, "Shell cwd was reset to ") ||
				strings.HasPrefix(s, "(Bash completed with no output") || strings.HasPrefix(l, "Background PIDs") || strings.HasPrefix(l, "Process Group") || strings.HasPrefix(l, "Signal: ") || s == "Error: (none)":
				continue
			case failed && names(s):
				return outLine(s)
			case commit == "" && isCommit(s):
				commit = s
			}
			last = s
		}
	}
	if commit != "" {
		last = commit
	}
	return outLine(last)
}

func outLine(s string) string {
	s, _ = shorten(line(strings.TrimSuffix(s, "</tool_use_error>")), maxLine)
	return strings.Clone(s)
}

// body leaves out what a shell tool writes before a command's output.
func body(s string) string {
	if strings.HasPrefix(s, `{"output":"`) {
		s, _, _ = strings.Cut(s[len(`{"output":"`):], `","metadata"`)
		return string(unescape(nil, []byte(s)))
	}
	if isHeader(s) {
		if _, rest, ok := strings.Cut(s, "\nOutput:"); ok {
			return strings.TrimPrefix(rest, " ")
		}
	}
	return strings.TrimPrefix(s, "<tool_use_error>")
}

// worded reports whether a line holds a letter or digit: rules and frames say
// nothing.
func worded(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' {
			return true
		}
		if c >= 0xe3 && utf8.RuneStart(c) && c <= 0xed { // kana, ideographs, hangul
			return true
		}
	}
	return false
}

// alarms are words of error messages, in lower case.
var alarms = []string{"error", "fail", "panic:", "fatal", "exception", "not found", "cannot ", "can't ", "undefined", "no such ", "denied", "refused", "traceback", "unexpected", "invalid", "conflict",
	"エラー", "失敗", "错误", "失败", "오류", "실패"}

// names reports whether a line names an error: by a word, or by a place in a file
// (name:12: or name:12:5).
func names(s string) bool {
	low := strings.ToLower(s)
	for _, a := range alarms {
		i := strings.Index(low, a)
		if i < 0 {
			continue
		}
		if strings.Contains(low, "0 fail") || strings.Contains(low, "0 error") || strings.Contains(low, "no error") {
			return false
		}
		return true
	}
	for rest := s; ; {
		i := strings.IndexByte(rest, ':')
		if i < 0 {
			return false
		}
		rest = rest[i+1:]
		n := 0
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		if n > 0 && n < len(rest) && rest[n] == ':' && strings.Contains(s, ".") {
			return true
		}
	}
}

// isCommit recognises the line with which git tells of a commit.
func isCommit(s string) bool {
	if !strings.HasPrefix(s, "[") {
		return false
	}
	in, _, ok := strings.Cut(s[1:], "] ")
	if !ok {
		return false
	}
	i := strings.LastIndexByte(in, ' ')
	if i < 0 || len(in)-i-1 < 7 {
		return false
	}
	for _, c := range in[i+1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
