package ledger

import (
	"strings"

	"varve.dev/transcript"
)

// notification is the origin of texts that a background task put into the
// conversation. Any other origin that is not the person at the terminal (a channel,
// another agent) counts as somebody speaking, and is named.
const notification = "task-notification"

func origin(raw []byte) string {
	kind := oneLine(head(member(raw, "kind"), 60), 60)
	if kind == "human" {
		return ""
	}
	return kind
}

// user takes a user entry: prompts, results of calls, summaries, echoes.
func (l *Ledger) user(e *transcript.Entry, p parts) {
	msg := p.message
	side := l.side(e)
	if e.CompactSummary {
		if !side {
			l.summary(e, msg)
		}
		return
	}
	content := msg
	if len(msg) > 0 && msg[0] == '{' {
		content = member(msg, "content")
	}
	w := word{ID: l.s.Upto, Time: oneLine(e.Timestamp, 40)}
	quiet := side || e.Meta || e.TranscriptOnly
	switch {
	case len(content) == 0:
	case content[0] == '"':
		if !quiet {
			l.prompt(w, p, text(content))
		}
	case content[0] == '[':
		l.blocks(content, p, w, side, quiet)
	}
}

// blocks takes the blocks of a user entry.
func (l *Ledger) blocks(content []byte, p parts, w word, side, quiet bool) {
	var texts [][]byte
	extra, answered := p.extra, false
	for el := array(content); el.next(); {
		var kind string
		var b resultBlock
		var body []byte
		for m := object(el.val); m.next(); {
			switch string(m.key) {
			case "type":
				kind = head(m.val, 40)
			case "text":
				body = m.val
			case "tool_use_id":
				b.id = m.val
			case "content":
				b.content = m.val
			case "is_error":
				b.isError = string(m.val) == "true"
			}
		}
		switch kind {
		case "text":
			texts = append(texts, body)
		case "tool_result":
			l.result(readOutcome(b, extra), p.feedback, w, side)
			// The reference writes one result an entry; of several, the entry's extra
			// would be anybody's.
			extra, answered = nil, true
		case "image", "document":
			w.More++
		}
	}
	if quiet {
		return
	}
	for _, t := range texts {
		l.prompt(w, p, text(t))
		w.More = 0
	}
	if len(texts) == 0 && w.More > 0 && !answered {
		w.Text = "[no text]"
		l.put(w)
	}
}

// prompt takes a text of a user entry that is not meta.
func (l *Ledger) prompt(w word, p parts, s string) {
	if w.From = origin(p.origin); w.From == notification {
		return
	}
	l.hear(w, s)
	if m := head(p.permission, 40); m != "" {
		l.s.Plan.Mode = m == "plan"
	}
}

// hear takes a text from the user's side and finds out what it is.
func (l *Ledger) hear(w word, s string) {
	switch classify(s) {
	case saidWords:
		if strings.TrimSpace(s) == resumeText {
			return // ours and the reference's, to go on after an interruption
		}
		w.Text = s
		l.put(w)
	case saidInterrupt:
		l.s.Interrupted = true
	case saidSummary:
		l.keepSummary(s, "")
	case saidCommand:
		if cmd, ok := slash(s); ok {
			w.Kind, w.Text = wordCommand, cmd
			l.put(w)
		}
	case saidShell:
		if cmd := between(s, "<bash-input>", "</bash-input>"); strings.TrimSpace(cmd) != "" {
			l.ran(run{Cmd: commandLine(cmd), User: true, At: l.s.N}, "")
		}
	}
}

// summary keeps the newest summary of what came before. One that the ledger wrote
// says nothing that the ledger does not hold, unless it starts here.
func (l *Ledger) summary(e *transcript.Entry, msg []byte) {
	content := member(msg, "content")
	if len(content) > 0 && content[0] == '[' {
		content = wholeText(content)
	}
	l.keepSummary(text(content), oneLine(head(member(e.Own(), "source"), 40), 40))
}

// maxSummary bounds a summary that is kept, in bytes; the largest recorded ones
// have 15 kB.
const maxSummary = 64 << 10

func (l *Ledger) keepSummary(s, source string) {
	bare := len(l.s.Words) == 0 && l.s.SaidAt == 0 && len(l.s.Files) == 0
	if source == "ledger" && !bare {
		return
	}
	if bare || l.s.Earlier.Bare && l.s.Earlier.Text != "" {
		// What the first summary covered is in no other place; a later one covers it too.
		bare = true
	}
	l.s.Earlier = earlier{Text: strings.TrimSpace(clip(clean(clip(s, 2*maxSummary)), maxSummary)), Source: source, Bare: bare}
}

// reply takes an assistant entry: calls, and what is said.
func (l *Ledger) reply(e *transcript.Entry, p parts) {
	side := l.side(e)
	if e.APIError {
		return
	}
	content := member(p.message, "content")
	if len(content) > 0 && content[0] == '"' {
		if !side {
			l.say(text(content))
		}
		return
	}
	for el := array(content); el.next(); {
		var kind string
		var body, id, name, in []byte
		for m := object(el.val); m.next(); {
			switch string(m.key) {
			case "type":
				kind = head(m.val, 40)
			case "text":
				body = m.val
			case "id":
				id = m.val
			case "name":
				name = m.val
			case "input":
				in = m.val
			}
		}
		switch kind {
		case "text":
			if !side {
				l.say(text(body))
			}
		case "tool_use":
			l.call(e, clip(clean(text(id)), maxID), oneLine(head(name, maxID), maxID), in, side)
		}
	}
}

// maxSaid bounds the assistant's last text, in bytes.
const maxSaid = 4000

func (l *Ledger) say(s string) {
	if strings.TrimSpace(s) == "" {
		return
	}
	l.s.Said, l.s.SaidAt = strings.TrimSpace(clip(clean(clip(s, 2*maxSaid)), maxSaid)), l.s.N
	l.s.Interrupted = false
	l.decide(s)
}

// trimmed is a text of a person as it is kept.
func trimmed(s string) string { return strings.TrimSpace(clip(clean(clip(s, maxWord)), maxWord)) }
