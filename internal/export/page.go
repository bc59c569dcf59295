package export

import (
	"fmt"
	"strings"

	"varve.dev/internal/term"
	"varve.dev/message"
	"varve.dev/transcript"
)

// fact is a line of the heading of a document.
type fact struct{ Name, Value string }

// title is the name under which a session is shown.
func title(s *Session, red *redactor) string {
	for _, t := range []string{s.Lite.Title, firstPrompt(s), s.ID} {
		if t = term.Line(red.text(t), 120); t != "" {
			return t
		}
	}
	return "Session"
}

// firstPrompt is the whole of the first prompt of the conversation.
func firstPrompt(s *Session) string {
	for _, sec := range s.Sections {
		if sec.Kind != SectionMain {
			continue
		}
		for _, e := range sec.Entries {
			if text, ok := promptOf(e); ok {
				return text
			}
		}
	}
	return s.Lite.FirstPrompt
}

// promptOf returns the whole text of a prompt, and false for other entries. The
// short form that lists of sessions use will not do here: a secret that is cut
// off is not recognised and would be shown up to the cut.
func promptOf(e *transcript.Entry) (string, bool) {
	if _, ok := e.PromptText(); !ok {
		return "", false
	}
	m, err := e.Message()
	if err != nil {
		return "", false
	}
	for _, b := range m.Content {
		if b.Type == message.TypeText && !message.IsBlank(b.Text) {
			return b.Text, true
		}
	}
	return "", false
}

// facts are what is known of a session, leaving out what is not.
func facts(s *Session, red *redactor) []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, red.text(value)})
		}
	}
	l := s.Lite
	add("Session", s.ID)
	add("Tag", l.Tag)
	if cwd := l.FirstCWD; cwd != "" {
		add("Directory", cwd)
	} else {
		add("Directory", l.CWD)
	}
	add("Branch", l.Branch)
	if l.PR != nil {
		add("Pull request", l.PR.URL)
	}
	if !l.First.IsZero() {
		span := l.First.UTC().Format(timeFormat)
		if !l.Last.IsZero() {
			last := l.Last.UTC()
			if layout := timeFormat; last.Format("2006-01-02") == l.First.UTC().Format("2006-01-02") {
				span += " to " + last.Format(layout[11:])
			} else {
				span += " to " + last.Format(layout)
			}
		}
		add("Time", span+" UTC")
	}
	add("Client version", l.Version)
	if u := s.Usage; u.Replies > 0 {
		add("Tokens", fmt.Sprintf("%s in (%s of them from the cache), %s out, %s", thousands(u.Input+u.CacheRead+u.CacheWrite), thousands(u.CacheRead),
			thousands(u.Output), plural(u.Replies, "reply", "replies")))
	}
	if n := len(s.Agents); n > 0 {
		add("Sub-agents", thousands(int64(n)))
	}
	return out
}

// sectionTitle names a section.
func sectionTitle(sec Section) string {
	switch sec.Kind {
	case SectionMain:
		return "Conversation"
	case SectionEarlier:
		return "Earlier conversation"
	case SectionBranch:
		return "Another branch, left behind"
	case SectionAgent:
		return "Sub-agent"
	}
	return "Entries without a place in a conversation"
}

// agentFacts says in one line what is known of a sub-agent.
func agentFacts(a Agent, red *redactor) string {
	var parts []string
	for _, t := range []string{a.Type, a.Description} {
		if t = term.Line(red.text(t), 120); t != "" {
			parts = append(parts, t)
		}
	}
	if a.Description == "" {
		if p := term.Line(red.text(a.Prompt), 120); p != "" {
			parts = append(parts, p)
		}
	}
	if a.Messages > 0 {
		parts = append(parts, plural(a.Messages, "message", "messages"))
	}
	if !a.First.IsZero() {
		parts = append(parts, a.First.UTC().Format(timeFormat))
	}
	return strings.Join(parts, " · ")
}

// redactionNote says what was taken out of the document.
func redactionNote(red *redactor) string {
	if red.off {
		return "Secrets were not redacted in this export."
	}
	counts := red.counts()
	if len(counts) == 0 {
		return "No secrets were found. Redaction finds most kinds, not all: look before you share."
	}
	var parts []string
	for _, c := range counts {
		part := c.Rule
		if c.Count > 1 {
			part += fmt.Sprintf(" (%d entries)", c.Count)
		}
		parts = append(parts, part)
	}
	return "Secrets were redacted: " + strings.Join(parts, ", ") + ". Redaction finds most kinds, not all: look before you share."
}
