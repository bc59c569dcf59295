package ledger

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stated is a decision or finding in the assistant's own words.
type stated struct {
	Text string `json:"t"`
	At   int    `json:"at"`
}

// Bounds of what is kept of decisions: few and short, since a rule cannot tell a
// decision that held from one that was dropped a moment later.
const (
	maxDecisions    = 300
	maxDecision     = 280 // bytes of a sentence; longer ones explain, they do not decide
	minDecision     = 24  // bytes; "Found the bug!" settles nothing
	decisionsOfText = 3   // of one text
)

// openings begin a sentence in which something was decided or found out, in lower
// case. Intentions ("I'll run the tests") are none: they say what comes next, not
// what was settled.
var openings = []string{"decision:", "decided:", "i've decided", "i have decided", "i decided", "we decided", "we've decided", "i'm going with", "i am going with", "i'll go with", "i went with",
	"going with", "let's go with", "i chose", "i've chosen", "i'll keep", "i kept", "i'm keeping", "i opted", "i'm using", "i used", "i'll use", "we'll use", "we will use", "i will use",
	"root cause", "the root cause", "the cause is", "the cause was", "the problem is", "the problem was", "the bug is", "the bug was", "the issue is", "the issue was", "the real issue",
	"the fix is", "the fix was", "the fix:", "the reason is", "found the issue", "found the bug", "found the problem", "found the cause", "trade-off:", "tradeoff:", "assumption:", "i assumed", "i'm assuming", "conclusion:",
	"決定:", "決定：", "方針:", "方針：", "結論:", "結論：", "原因は", "根本原因", "原因是", "问题是", "问题在于", "問題は", "决定", "结论", "采用", "改用", "我决定", "我们决定",
	"결정:", "원인은", "решение:", "причина"}

// within are words that mark a decision anywhere in a short sentence.
var within = []string{" instead of ", " rather than ", "ことにしました", "ことにする", "に決めました", "而不是", " 대신 ", " вместо "}

// decide notes the decisions in a text that the assistant wrote.
func (l *Ledger) decide(s string) {
	n := 0
	fence := false
	for row := range strings.SplitSeq(s, "\n") {
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "```") || strings.HasPrefix(row, "~~~") {
			fence = !fence
			continue
		}
		if fence || row == "" || row[0] == '|' || row[0] == '>' {
			continue
		}
		row = strings.TrimLeft(row, "#-*+ 0123456789.)")
		for row != "" && n < decisionsOfText {
			var one string
			one, row = sentence(row)
			if decisive(one) {
				l.decision(strings.NewReplacer("**", "", "__", "").Replace(one))
				n++
			}
		}
	}
}

// sentence cuts the first sentence off a line.
func sentence(s string) (first, rest string) {
	for i, r := range s {
		switch r {
		case '。', '！', '？':
			end := i + utf8.RuneLen(r)
			return s[:end], strings.TrimSpace(s[end:])
		case '.', '!', '?':
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); i+1 == len(s) || unicode.IsSpace(next) {
				return s[:i+1], strings.TrimSpace(s[i+1:])
			}
		}
	}
	return s, ""
}

// decisive reports whether a sentence states a decision or a finding.
func decisive(s string) bool {
	if len(s) < minDecision || len(s) > maxDecision || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, ":") {
		return false
	}
	low := strings.ToLower(strings.TrimLeft(s, "*_`\"'“ "))
	low = strings.ReplaceAll(low, "’", "'")
	for _, o := range openings {
		if strings.HasPrefix(low, o) {
			return true
		}
	}
	for _, w := range within {
		if strings.Contains(low, w) && (strings.HasPrefix(low, "i ") || strings.HasPrefix(low, "i'") || strings.HasPrefix(low, "we ") || strings.HasPrefix(low, "use ") || strings.HasPrefix(low, "using ") || w[0] >= 0x80) {
			return true
		}
	}
	return false
}

func (l *Ledger) decision(s string) {
	s = strings.Clone(line(s))
	if n := len(l.s.Stated); n > 0 && l.s.Stated[n-1].Text == s {
		return
	}
	l.s.Stated = append(l.s.Stated, stated{Text: s, At: l.s.N})
	if n := len(l.s.Stated) - maxDecisions; n > 0 {
		l.s.Lost.Decisions += n
		l.s.Stated = append(l.s.Stated[:0], l.s.Stated[n:]...)
	}
}
