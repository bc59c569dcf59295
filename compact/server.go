package compact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// Server has the provider itself summarize (C-5; Anthropic's compaction on demand,
// OpenAI's compact endpoint). The same rules hold as for a [Summarizer].
type Server interface {
	// Compact returns what stands for Messages from now on. The error is
	// [ErrNoSummary] when the provider answered without a summary, which comes as a
	// success; the conversation stays as it is then.
	Compact(ctx context.Context, r SummaryRequest) (ServerSummary, error)
}

// ServerSummary is a summary that the provider made.
type ServerSummary struct {
	Native
	// Text is what of it can be read; "" when it is opaque. It, or the ledger, is
	// what other providers are sent.
	Text string
}

// Native is a summary in its provider's own form. It goes back unmodified, first,
// in place of exactly what it covers.
type Native struct {
	Provider string            `json:"provider"`
	Items    []json.RawMessage `json:"items"` // content blocks of one assistant message
}

// NativeOf returns what the provider is sent in place of a summary entry's text;
// false when there is nothing but the text.
func NativeOf(e *transcript.Entry) (Native, bool) {
	if !e.CompactSummary {
		return Native{}, false
	}
	var own summaryOwn
	if raw := e.Own(); raw == nil || json.Unmarshal(raw, &own) != nil || own.Native == nil || len(own.Native.Items) == 0 {
		return Native{}, false
	}
	return *own.Native, true
}

// SummaryText returns the readable text of a provider's summary block. It is false
// for blocks of other types and for one that failed: content null comes as a
// success and stands for nothing.
func SummaryText(b message.Block) (string, bool) {
	if b.Type != message.TypeCompaction {
		return "", false
	}
	var c struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(b.Raw, &c) != nil || c.Content == nil || strings.TrimSpace(*c.Content) == "" {
		return "", false
	}
	return *c.Content, true
}

// serverRung asks the provider to summarize everything but the prompt that waits.
type serverRung struct{}

func (serverRung) name() string { return "server" }
func (serverRung) final() bool  { return false }

// serverPrompt is what takes the place of the provider's own instructions: nothing,
// unless the user wishes something of the summary, which these would not say.
func serverPrompt(wish string) string {
	if strings.TrimSpace(wish) == "" {
		return ""
	}
	return "Summarize the conversation so far so that the work can go on from the summary alone: what was asked for, in the user's own words; what was decided and why; files that were read and changed, with what matters of them; errors and what fixed them; what is still open, and what was being done last. Call no tools. The user wishes of this summary: " + wish
}

// goOn follows a summary that covers the results which the model waited for: a
// conversation cannot end with the model's own words.
const goOn = "[The conversation up to here was summarized, what you waited for included. Go on from where it stood.]"

func (serverRung) plan(ctx context.Context, j *job) ([]*transcript.Entry, error) {
	l := j.ladder
	n := len(j.View.Messages)
	if n == 0 || j.Ask.From != "" || j.Ask.UpTo != "" {
		return nil, nil // a part of it is not what the provider offers
	}
	to, last := n, &j.View.Messages[n-1]
	if last.Role == message.RoleUser && !holds(last, message.TypeToolResult) {
		to-- // what is kept begins with another role than what is covered ends with
	}
	if to == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, j.limits.Wait)
	defer cancel()
	l.calls.Add(1)
	sum, err := l.Server.Compact(ctx, SummaryRequest{Frame: j.Frame, Messages: j.encoded(to), Prompt: serverPrompt(j.Ask.Instructions), Output: j.limits.Output})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("%w (%s)", ErrNoReply, j.limits.Wait)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && len(sum.Items) == 0:
		err = ErrNoSummary
	}
	if err != nil {
		l.fail()
		return nil, err
	}
	return j.serverEdit(sum, to, to == n && last.Role == message.RoleUser), nil
}

func holds(m *view.Message, typ string) bool {
	for i := range m.Blocks {
		if m.Blocks[i].Type == typ {
			return true
		}
	}
	return false
}

// serverEdit puts a provider's summary in the place of messages [0, to): with a
// readable twin for other providers, a resume and people, and with what it leaves
// out as a message of its own, which every provider is sent.
func (j *job) serverEdit(sum ServerSummary, to int, open bool) []*transcript.Entry {
	room := max(j.Target-j.Fixed-j.sizeOf(to, len(j.View.Messages)), 0)
	text, added := "", ""
	if strings.TrimSpace(sum.Text) != "" {
		text = "Summary:\n" + squeeze(sum.Text)
		added = strings.TrimPrefix(j.facts.Complete(text, min(room/4, maxAdded), j.text), text)
	} else {
		text = j.facts.Render(min(room/2, j.limits.Output), j.text)
	}
	if added = strings.TrimSpace(added); open {
		added = strings.TrimSpace(added + "\n\n" + goOn)
	}
	notice := j.ladder.Notice
	notice.Verbatim, notice.Automatic = to < len(j.View.Messages), false
	ed := edit{rung: "server", source: "server", text: notice.Wrap(text), kept: j.entriesOf(to, len(j.View.Messages)), native: &sum.Native, added: added}
	if to < len(j.View.Messages) && j.View.Messages[to].Role == message.RoleAssistant && added != "" {
		// The summary came inside the reply that is kept: what stands before that is
		// not read.
		ed.added, ed.attach = "", []Attachment{{What: factsAttachment, Rendered: []string{added}}}
	}
	return j.entries(ed)
}

// factsAttachment says what an attachment is that completes a provider's summary.
var factsAttachment = []byte(`{"type":"compaction_facts"}`)

// maxAdded bounds what is put behind a provider's summary, in tokens: a quarter of
// what a summary may take, since the summary is there already.
const maxAdded = 5_000

// Absorb plans the edit for a summary that came with a reply, which is the view's
// last one: everything before it leaves the view, since the provider ignores it
// from now on. The same bar holds as for every plan: without a gain, or where the
// view would break a rule, there is none.
func (l *Ladder) Absorb(_ context.Context, s Situation, sum ServerSummary) (string, []*transcript.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls.Add(1)
	j, err := l.job(s)
	if err != nil {
		return "", nil, err
	}
	to := len(s.View.Messages) - 1
	for to >= 0 && s.View.Messages[to].Role != message.RoleAssistant {
		to-- // what stands behind the reply repairs its open calls
	}
	if to < 0 {
		return "", nil, nil
	}
	came, only := false, true
	for _, b := range s.View.Messages[to].Blocks {
		came = came || len(sum.Items) > 0 && bytes.Equal(b.Raw, sum.Items[0])
		only = only && b.Type == message.TypeCompaction
	}
	if !came {
		return "", nil, nil // of another branch
	}
	if only {
		to++ // the reply is the summary and nothing else
	}
	plan := j.serverEdit(sum, to, only)
	if why := j.reject(plan, true); why != "" {
		l.note(Event{Rung: serverRung{}.name(), Kind: Rejected, Detail: why})
		l.fail()
		return "", nil, nil
	}
	l.accepted(serverRung{}, j, plan)
	return serverRung{}.name(), plan, nil
}
