package cli

import (
	"context"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// resultLines is how many lines of a tool's result a conversation shows; the first
// ones tell most. --full shows all.
const resultLines = 6

// talk shows the whole conversation, through every compaction, for reading.
func (v *view) talk(ctx context.Context) error {
	v.header()
	tip := v.log.Tip()
	if tip == nil {
		v.a.out.note("The log holds no conversation.")
		return nil
	}
	h := v.log.History(tip)
	gaps := v.gaps(h)
	t := talker{view: v, tools: make(map[string]string)}
	for _, e := range h.Entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if g, ok := gaps[e]; ok {
			t.rule(yellow, gapText(g))
		}
		t.entry(passing(e))
	}
	return nil
}

// talker writes a conversation, entry after entry.
type talker struct {
	*view
	speaker string            // who the last heading named
	tools   map[string]string // names of the calls, by id
}

// rule writes a line that parts the conversation.
func (t *talker) rule(look style, text string) {
	t.a.out.line("")
	t.a.out.line("%s", styled{look, text})
	t.speaker = ""
}

// heading names who speaks, once for a run of entries.
func (t *talker) heading(who string, e *transcript.Entry) {
	if t.speaker == who && who != "you" {
		return
	}
	t.speaker = who
	at := ""
	if ts, ok := e.Time(); ok {
		at = " · " + ts.Local().Format("2006-01-02 15:04:05")
	}
	t.a.out.line("")
	look := cyan
	if who == "you" {
		look = green
	}
	t.a.out.line("%s%s", styled{look, "── " + who}, styled{dim, at})
}

func (t *talker) entry(e *transcript.Entry) {
	switch e.Type {
	case transcript.TypeUser:
		t.user(e)
	case transcript.TypeAssistant:
		t.assistant(e)
	case transcript.TypeSystem:
		t.system(e)
	case transcript.TypeAttachment:
		if t.full {
			t.aside("attachment: "+attachmentKind(e), rendered(e))
		}
	}
}

func (t *talker) user(e *transcript.Entry) {
	m := entryMessage(e)
	if m == nil {
		return
	}
	if e.CompactSummary {
		t.heading("summary", e)
		t.text(gistBlocks(m), firstLines(e, m, t.full))
		return
	}
	typed := false
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeToolResult:
			t.result(b)
		case message.TypeText:
			t.said(e, b.Text, &typed)
		default:
			t.heading("you", e)
			t.a.out.line("%s", styled{dim, "(" + blockKind(b) + ")"})
		}
	}
}

// said shows a text of a user entry: typed, a command, or injected by a program.
func (t *talker) said(e *transcript.Entry, text string, typed *bool) {
	cmd, isCmd := slashCommand(text)
	_, prompt := e.PromptText()
	prompt = prompt || e.Sidechain && !e.Meta
	switch {
	case isCmd:
		t.heading("you", e)
		t.a.out.line("%s", styled{bold, cmd})
	case prompt:
		if !*typed {
			t.heading("you", e)
		}
		*typed = true
		t.a.out.line("%s", prose(strings.TrimRight(text, "\n")))
	case t.full:
		t.aside("injected", text)
	case strings.HasPrefix(text, interruptMark):
		t.rule(yellow, text)
	}
}

// firstLines is the text of a summary, its beginning unless full.
func firstLines(e *transcript.Entry, m *message.Message, full bool) string {
	var parts []string
	for _, b := range m.Content {
		if b.Type == message.TypeText {
			parts = append(parts, b.Text)
		}
	}
	text := strings.Join(parts, "\n")
	if full {
		return text
	}
	return cutLines(text, 2*resultLines)
}

func (t *talker) text(fallback, text string) {
	if strings.TrimSpace(text) == "" {
		text = fallback
	}
	t.a.out.line("%s", prose(strings.TrimRight(text, "\n")))
}

func (t *talker) assistant(e *transcript.Entry) {
	m := entryMessage(e)
	if m == nil {
		return
	}
	who := m.Model
	if who == "" || who == "<synthetic>" {
		who = "assistant"
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
			t.heading(who, e)
			t.a.out.line("%s", prose(strings.Trim(b.Text, "\n")))
		case message.TypeThinking, message.TypeRedactedThinking:
			if t.full && b.Text != "" {
				t.heading(who, e)
				t.aside("thinking", b.Text)
			}
		case message.TypeToolUse, message.TypeServerToolUse, message.TypeMCPToolUse:
			t.heading(who, e)
			t.call(b)
		default:
			t.heading(who, e)
			t.a.out.line("%s", styled{dim, "(" + blockKind(b) + ")"})
		}
	}
}

func (t *talker) call(b message.Block) {
	t.tools[b.ID] = b.Name
	about := callGist(b.Input)
	if t.full {
		about = string(b.Input)
	}
	t.a.out.line("%s %s", styled{bold, "▸ " + b.Name}, t.fit(about, len(b.Name)+4))
}

func (t *talker) result(b message.Block) {
	text := strings.Trim(resultText(b), "\n")
	if !t.full {
		text = cutLines(text, resultLines)
	}
	look := dim
	if b.IsError {
		look = red
	}
	if text == "" {
		text = "(nothing)"
	}
	t.block(look, text)
}

// block writes a text of which every line is set in and styled.
func (t *talker) block(look style, text string) {
	for line := range strings.SplitSeq(text, "\n") {
		t.a.out.line("  %s", styled{look, t.fit(strings.TrimRight(line, "\r"), 2)})
	}
}

// aside writes something that was not said aloud.
func (t *talker) aside(what, text string) {
	t.a.out.line("%s", styled{dim, "(" + what + ")"})
	if text != "" {
		t.block(dim, strings.Trim(text, "\n"))
	}
}

// cutLines returns the first n lines and how many follow.
func cutLines(text string, n int) string {
	lines := strings.SplitN(text, "\n", n+1)
	if len(lines) <= n {
		return text
	}
	rest := strings.Count(lines[n], "\n") + 1
	return strings.Join(lines[:n], "\n") + "\n… " + count(rest, "more line")
}

func (t *talker) system(e *transcript.Entry) {
	switch {
	case e.IsBoundary():
		t.rule(yellow, "── "+boundaryText(e)+" ──")
	case e.Subtype == transcript.SubMicrocompact:
		t.rule(yellow, "── "+gistSystem(e)+" ──")
	case t.full:
		t.aside("system", gistSystem(e))
	}
}

// rendered is what the model saw of an attachment.
func rendered(e *transcript.Entry) string {
	var at struct {
		Rendered []struct {
			Content string `json:"content"`
		} `json:"rendered"`
	}
	if e.Decode(&at) != nil {
		return ""
	}
	var parts []string
	for _, r := range at.Rendered {
		parts = append(parts, r.Content)
	}
	return strings.Join(parts, "\n")
}
