package compact

import (
	"embed"
	"errors"
	"strings"
	"text/template"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Variant says which part of a conversation a summary covers.
type Variant string

// The variants (C-8).
const (
	Whole Variant = "whole" // everything
	From  Variant = "from"  // what follows a pivot; what stands before is kept
	UpTo  Variant = "up_to" // what precedes a pivot; what follows is kept
	// Stretch is what lies between a pivot and the end of what the model is shown:
	// the later stretches of collapse mode (C-17).
	Stretch Variant = "range"
)

// Prompt returns the text that asks for a summary: no tools first, the draft, nine
// sections, the user's instructions, no tools once more (C-8). pivot names, for
// the model, the message at which the part to be summarized begins or ends.
func Prompt(v Variant, pivot, instructions string) (string, error) {
	last := v
	switch v { // section nine is the same
	case From:
		last = Whole
	case Stretch:
		last = UpTo
	}
	task, err := fill(string(v)+".task", map[string]string{"Pivot": pivot})
	if err != nil {
		return "", err
	}
	nine, err := fill(string(last)+".last", nil)
	if err != nil {
		return "", err
	}
	body, err := fill("body", map[string]string{"Task": task, "Last": nine, "Instructions": strings.TrimSpace(instructions)})
	if err != nil {
		return "", err
	}
	pre, err := fill("preamble", nil)
	if err != nil {
		return "", err
	}
	post, err := fill("trailer", nil)
	if err != nil {
		return "", err
	}
	return pre + "\n\n" + body + "\n\n" + post, nil
}

func fill(name string, data map[string]string) (string, error) {
	b, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		return "", err
	}
	t, err := template.New(name).Parse(string(b))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}

// Errors of reading a summary.
var (
	ErrNoSummary = errors.New("compact: the reply holds no usable summary")
	ErrOpenDraft = errors.New("compact: the reply ends inside its draft")
)

// ParseSummary returns the summary of a model's reply (C-9): the draft goes, the
// summary's tags become a plain heading, runs of blank lines become one. Text
// without tags counts as the summary once the draft is gone. The error is
// [ErrOpenDraft] or [ErrNoSummary].
func ParseSummary(reply string) (string, error) {
	text := reply
	for {
		i := strings.Index(text, "<analysis>")
		if i < 0 {
			break
		}
		j := strings.Index(text[i:], "</analysis>")
		if j < 0 {
			if strings.Contains(text[i:], "<summary>") {
				// The draft was not ended, but the summary was begun.
				text = text[:i] + text[i+strings.Index(text[i:], "<summary>"):]
				break
			}
			return "", ErrOpenDraft
		}
		text = text[:i] + text[i+j+len("</analysis>"):]
	}
	if i := strings.Index(text, "<summary>"); i >= 0 {
		in := text[i+len("<summary>"):]
		if j := strings.LastIndex(in, "</summary>"); j >= 0 {
			in = in[:j]
		}
		text = in
	}
	text = squeeze(text)
	if text == "" {
		return "", ErrNoSummary
	}
	return "Summary:\n" + text, nil
}

// squeeze trims text and makes runs of blank lines one.
func squeeze(s string) string {
	var out []string
	blank := false
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		if strings.TrimSpace(line) == "" {
			blank = true
			continue
		}
		if blank && len(out) > 0 {
			out = append(out, "")
		}
		blank = false
		out = append(out, strings.TrimRight(line, " \t\r"))
	}
	return strings.Join(out, "\n")
}

// Notice is the text around a summary that the model sees (C-10).
type Notice struct {
	Transcript string // path of the log; "" when it is not kept
	Recall     bool   // the Recall tool is there
	Verbatim   bool   // recent messages follow as they were
	Automatic  bool   // the user did not ask for it: go on without a word about it
	Autonomous bool   // a loop without a user: it was running before
}

// Wrap puts a summary into the message that stands for what it covers.
func (n Notice) Wrap(summary string) string {
	var b strings.Builder
	b.WriteString("This session continues an earlier conversation that no longer fits the context. The summary below stands for what left it.\n\n")
	b.WriteString(summary)
	b.WriteString("\n")
	if n.Transcript != "" {
		b.WriteString("\nThe full transcript is at " + n.Transcript + ".")
		if n.Recall {
			b.WriteString(" The Recall tool finds anything in it by id, path or words.")
		}
		b.WriteString(" Look there for exact code, messages or output rather than guessing.")
	} else if n.Recall {
		b.WriteString("\nThe Recall tool finds anything that left the context by id, path or words.")
	}
	if n.Verbatim {
		b.WriteString("\nThe most recent messages are kept as they were.")
	}
	if n.Automatic {
		b.WriteString("\nGo on from where the conversation stood, without asking anything, and without acknowledging or repeating this summary or starting with a preface: take up the last task as if there had been no break.")
	}
	if n.Autonomous {
		b.WriteString("\nYou are running autonomously. This is not a first wake-up: continue the loop you were in, do not greet and do not start over.")
	}
	return b.String()
}
