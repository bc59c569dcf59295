package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Render is the renderer version that new logs are written with. A change of any
// text below, or of what is rendered at all, needs a new version beside the old
// one: what was sent once must come out the same for ever.
const Render = "1"

// renderer holds everything that a view writes of itself.
type renderer struct {
	version     string
	cleared     string // in place of a cleared tool result
	noFirstUser string // before a conversation that starts with a reply
	unanswered  string // result of a call that nothing answered
	unreadable  string // result of a call whose input could not be read
	noImage     string // in place of an image or a document that cannot be one
	attachment  func(*transcript.Entry) []string
}

// renderers by version. Tests add one to prove that old logs keep theirs.
var renderers = map[string]*renderer{"1": {
	version: "1",
	// The reference's literal (FORMAT.md section 6).
	cleared:     "[Old tool result content cleared]",
	noFirstUser: "[The beginning of this conversation is not available.]",
	unanswered:  "[Interrupted: no result was recorded for this call. The tool may have run, in part or in full; check before running it again.]",
	unreadable:  "[Not run: the input of this call could not be read as a JSON object.]",
	noImage:     "[An image or a document that cannot be read.]",
	attachment:  attachmentText1,
}}

// rendererFor returns the renderer of a version. An unknown one (a log of a newer
// program) gets the current renderer: the caller sees [View.Render] differ from
// its frame and writes a strip.
func rendererFor(version string) *renderer {
	if r, ok := renderers[version]; ok {
		return r
	}
	return renderers[Render]
}

func (r *renderer) interrupted(call string, unreadable bool) message.Block {
	text := r.unanswered
	if unreadable {
		text = r.unreadable
	}
	return message.ToolResult(call, true, message.Text(text))
}

// fixed returns b with text that is not Unicode replaced by U+FFFD.
func fixed(b message.Block) message.Block {
	if n, err := message.ParseBlock(message.FixUnicode(b.Raw)); err == nil {
		return n
	}
	return message.Text("[A block that cannot be read.]")
}

// maxToolName is the API's limit on the name of a call in the history.
const maxToolName = 200

// acceptable returns a call whose id and name the API takes. Foreign logs have ids
// with other characters.
func acceptable(b message.Block) message.Block {
	id, name := message.CanonicalID(b.ID), b.Name
	switch {
	case name == "":
		name = "unknown"
	case len(name) > maxToolName:
		name = strings.ToValidUTF8(name[:maxToolName], "")
	}
	if id == b.ID && name == b.Name {
		return b
	}
	if n, err := message.ToolUse(id, name, b.Input); err == nil {
		return n
	}
	return b
}

// attachmentText1 gives the text of an attachment whose client did not record what
// it sent. What describes that client's own tools and agents is left out: they
// are not ours.
func attachmentText1(e *transcript.Entry) []string {
	raw, ok := e.Field("attachment")
	if !ok {
		return nil
	}
	var a struct {
		Type          string          `json:"type"`
		Filename      string          `json:"filename"`
		Path          string          `json:"path"`
		DisplayPath   string          `json:"displayPath"`
		Content       json.RawMessage `json:"content"`
		Snippet       string          `json:"snippet"`
		Prompt        json.RawMessage `json:"prompt"`
		HookName      string          `json:"hookName"`
		NewDate       string          `json:"newDate"`
		BlockingError struct {
			Text string `json:"blockingError"`
		} `json:"blockingError"`
		LineStart, LineEnd int
	}
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	switch a.Type {
	case "queued_command":
		return promptTexts(a.Prompt)
	case "file", "new_file":
		return remind("The user attached the file %s:\n%s", a.Filename, fileText(a.Content))
	case "directory", "new_directory":
		return remind("The user attached the directory %s, which holds:\n%s", a.Path, stringOf(a.Content))
	case "edited_text_file":
		return remind("The file %s was changed outside this conversation. The changed part:\n%s", a.Filename, a.Snippet)
	case "nested_memory":
		return remind("Instructions from %s:\n%s", a.Path, memoryText(a.Content))
	case "selected_lines_in_ide":
		return remind("The user selected lines %d to %d of %s in the editor:\n%s", a.LineStart, a.LineEnd, a.Filename, stringOf(a.Content))
	case "opened_file_in_ide":
		return remind("The user has %s open in the editor.", a.Filename)
	case "hook_additional_context":
		return remind("Context from the hook %s:\n%s", a.HookName, strings.Join(listOf(a.Content), "\n"))
	case "hook_blocking_error":
		return remind("The hook %s reported an error:\n%s", a.HookName, a.BlockingError.Text)
	case "hook_success":
		if s := stringOf(a.Content); s != "" {
			return remind("Output of the hook %s:\n%s", a.HookName, s)
		}
	case "date_change":
		return remind("The date is now %s.", a.NewDate)
	}
	return nil
}

func remind(format string, args ...any) []string {
	return []string{"<system-reminder>\n" + fmt.Sprintf(format, args...) + "\n</system-reminder>"}
}

func stringOf(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s) // any other shape has no text
	return s
}

func listOf(raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		if s := stringOf(raw); s != "" {
			return []string{s}
		}
	}
	return list
}

func fileText(raw json.RawMessage) string {
	var c struct {
		File struct {
			Content string `json:"content"`
		} `json:"file"`
	}
	_ = json.Unmarshal(raw, &c) // images and notebooks carry no text here
	return c.File.Content
}

func memoryText(raw json.RawMessage) string {
	var c struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return stringOf(raw)
	}
	return c.Content
}

// promptTexts returns the texts of a prompt that was typed while a turn ran.
func promptTexts(raw json.RawMessage) []string {
	blocks, _, err := message.ParseContent(raw)
	if err != nil {
		return nil
	}
	var out []string
	for _, b := range blocks {
		if b.Type == message.TypeText {
			out = append(out, b.Text)
		}
	}
	return out
}
