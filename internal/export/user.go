package export

import (
	"encoding/json"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Texts by which the reference marks user entries that nobody typed.
const (
	interruptMark = "[Request interrupted by user"
	caveatMark    = "Caveat: The messages below"
)

// user shows a user entry: a prompt, a command, results, a summary, or what was
// put in for the model.
func (b *builder) user(e *transcript.Entry) *item {
	m, err := e.Message()
	if err != nil {
		return b.unreadable(e, err)
	}
	switch {
	case e.CompactSummary:
		return b.folded(e, m, "summary", "Summary of what came before", "the model goes on from it")
	case e.Meta:
		return b.folded(e, m, "meta", "Put in for the model", "not typed by anyone")
	case len(e.Results) > 0:
		return b.answers(e, m)
	}
	if tagged := b.tagged(e, m); tagged != nil {
		return tagged
	}
	it := &item{Class: "user", Label: "User"}
	if e.Sidechain {
		it.Label = "Task" // the prompt of a sub-agent was written by a model
	}
	for _, c := range m.Content {
		bs := b.block(e, c)
		for i := range bs {
			if bs[i].Kind == "text" {
				bs[i].Kind = "prompt"
			}
		}
		it.Blocks = append(it.Blocks, bs...)
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}

// folded shows a message behind a fold.
func (b *builder) folded(e *transcript.Entry, m *message.Message, class, label, fold string) *item {
	it := &item{Class: class, Label: label, Folded: fold}
	n := 0
	for _, c := range m.Content {
		bs := b.block(e, c)
		for i := range bs {
			if bs[i].Kind == "text" && class != "summary" { // a summary is Markdown, the rest may be anything
				bs[i].Kind = "verbatim"
			}
		}
		it.Blocks = append(it.Blocks, bs...)
		n += len(c.Text)
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	it.Folded += ", " + size(n)
	return it
}

// answers shows what of a results entry was not shown with its call: results
// without one, and text or images beside them.
func (b *builder) answers(e *transcript.Entry, m *message.Message) *item {
	it := &item{Class: "assistant", Label: labelResult}
	for _, c := range m.Content {
		bs := b.block(e, c)
		if len(bs) > 0 && c.Type != message.TypeToolResult {
			it.Class, it.Label = "user", "User"
		}
		it.Blocks = append(it.Blocks, bs...)
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}

// tagged shows the user entries that the client wrote in tags: commands, their
// output, notices. nil where the text is none of these.
func (b *builder) tagged(e *transcript.Entry, m *message.Message) *item {
	if len(m.Content) != 1 || m.Content[0].Type != message.TypeText {
		return nil
	}
	text := strings.TrimSpace(m.Content[0].Text)
	switch {
	case strings.HasPrefix(text, interruptMark):
		it := &item{Class: "note", Label: "Interrupted by the user"}
		if strings.Contains(text, "for tool use") {
			it.Detail = "during a tool call"
		}
		return it
	case strings.HasPrefix(text, caveatMark), strings.HasPrefix(text, "<local-command-caveat>"), strings.HasPrefix(text, "<system-reminder>"):
		return b.folded(e, m, "meta", "Put in for the model", "not typed by anyone")
	case strings.HasPrefix(text, "<task-notification>"):
		return b.folded(e, m, "meta", "Background task", "notice of its end")
	case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
		return b.command(text)
	case strings.HasPrefix(text, "<bash-input>"):
		return &item{Class: "user", Label: "User", Detail: "shell command", Blocks: []block{{Kind: "prompt", Text: b.red.text(within(text, "bash-input"))}}}
	}
	for _, tag := range []string{"local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr"} {
		if strings.HasPrefix(text, "<"+tag+">") {
			return b.commandOutput(text)
		}
	}
	return nil
}

// command shows a slash command as it was typed.
func (b *builder) command(text string) *item {
	name, args := within(text, "command-name"), within(text, "command-args")
	if name == "" {
		name = within(text, "command-message")
	}
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return &item{Class: "user", Label: "User", Detail: "command", Blocks: []block{{Kind: "prompt", Text: b.red.text(strings.TrimSpace(name + " " + args))}}}
}

// commandOutput shows what a command that the user ran printed.
func (b *builder) commandOutput(text string) *item {
	it := &item{Class: "note", Label: "Output of the command"}
	for _, tag := range []string{"local-command-stdout", "bash-stdout", "local-command-stderr", "bash-stderr"} {
		if out := within(text, tag); !message.IsBlank(out) {
			it.Blocks = append(it.Blocks, block{Kind: "result", Text: b.red.text(out), Note: lines(out), Error: strings.HasSuffix(tag, "stderr")})
		}
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}

// within returns the text between <tag> and </tag>, all that follows where it is
// not closed.
func within(text, tag string) string {
	_, rest, ok := strings.Cut(text, "<"+tag+">")
	if !ok {
		return ""
	}
	inner, _, _ := strings.Cut(rest, "</"+tag+">")
	return inner
}

// attachment shows what the client put beside a prompt.
func (b *builder) attachment(e *transcript.Entry) *item {
	raw, ok := e.Field("attachment")
	if !ok {
		return nil
	}
	var a struct {
		Type, Filename, Path, DisplayPath, HookName, NewDate, Snippet string
		Prompt, Content                                               json.RawMessage
	}
	_ = json.Unmarshal(raw, &a) // what does not fit stays empty; the JSON is shown below
	if a.Type == "queued_command" {
		if it := b.queued(e, a.Prompt); it != nil {
			return it
		}
	}
	if a.Type == "task_reminder" && string(a.Content) == "[]" {
		return nil // half of all attachments of some sessions, and nothing in them
	}
	it := &item{Class: "attachment", Label: "Attachment", Detail: b.red.text(strings.ReplaceAll(a.Type, "_", " "))}
	for _, about := range []string{a.DisplayPath, a.Filename, a.Path, a.HookName, a.NewDate} {
		if about != "" {
			it.Detail += " · " + b.red.text(about)
			break
		}
	}
	texts, _, _ := e.Rendered() // an error leaves none
	if len(texts) == 0 {
		texts = attached(a.Content, a.Snippet)
	}
	n := 0
	for _, t := range texts {
		it.Blocks = append(it.Blocks, block{Kind: "verbatim", Text: b.red.text(t)})
		n += len(t)
	}
	if len(texts) == 0 {
		n = len(raw)
		it.Blocks = []block{{Kind: "verbatim", Text: b.red.text(indent(b.red.json(withoutMedia(raw))))}}
	}
	it.Folded = size(n)
	return it
}

// attached is the text of an attachment whose kind has one: of a file, a
// listing, a note of a hook.
func attached(content json.RawMessage, snippet string) []string {
	var text string
	if json.Unmarshal(content, &text) != nil || message.IsBlank(text) {
		text = snippet
	}
	if message.IsBlank(text) {
		return nil
	}
	return []string{text}
}

// queued shows a prompt that was typed while a turn ran.
func (b *builder) queued(e *transcript.Entry, prompt json.RawMessage) *item {
	blocks, _, err := message.ParseContent(prompt)
	if err != nil {
		return nil
	}
	it := &item{Class: "user", Label: "User", Detail: "typed while the turn ran"}
	kind := "prompt"
	for _, c := range blocks {
		if c.Type == message.TypeText && strings.HasPrefix(strings.TrimSpace(c.Text), "<task-notification>") {
			it.Class, it.Label, it.Detail, it.Folded = "meta", "Background task", "", "notice of its end, "+size(len(c.Text))
			kind = "verbatim"
		}
		bs := b.block(e, c)
		for i := range bs {
			if bs[i].Kind == "text" {
				bs[i].Kind = kind
			}
		}
		it.Blocks = append(it.Blocks, bs...)
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}
