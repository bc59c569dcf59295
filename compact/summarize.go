package compact

import (
	"context"
	"errors"

	"varve.dev/message"
	"varve.dev/view"
)

// SummaryRequest is what a summarizer is asked.
type SummaryRequest struct {
	// Frame and Messages are the main request unchanged, so that the provider's
	// cache serves it: append Prompt as one user message, keep the tools defined
	// and refuse every call (C-5). Messages must not be changed.
	Frame    view.Frame
	Messages []message.Message
	Prompt   string
	Output   int // tokens of the reply at most
	// Plain says that Messages are not those of the main request (something was
	// cut): images and documents may be left out, tool outputs shortened.
	Plain bool
}

// ErrTooLong is wrapped by the error of a [Summarizer] when its request was too
// long. [TooLongError] says by how much.
var ErrTooLong = errors.New("compact: the summary request is too long")

// TooLongError is an [ErrTooLong] with the gap that the provider named.
type TooLongError struct{ Gap int } // tokens; 0 when not known

func (e *TooLongError) Error() string { return ErrTooLong.Error() }

// Is makes errors.Is(err, ErrTooLong) true.
func (e *TooLongError) Is(target error) bool { return target == ErrTooLong }

// marker goes before a conversation whose first message is a reply.
const marker = "[Earlier messages were left out to make room for this summary.]"

// summarize asks the model, with less each time the request is too long (C-6).
func (j *job) summarize(ctx context.Context, p part) (string, error) {
	prompt, err := Prompt(p.variant, p.pivot, j.Ask.Instructions)
	if err != nil {
		return "", err
	}
	ms := j.View.Plain()
	if p.variant == UpTo {
		ms = ms[:p.to]
	}
	req := SummaryRequest{Frame: j.Frame, Messages: ms, Prompt: prompt, Output: j.limits.Output}
	for try := 0; ; try++ {
		reply, err := j.ladder.Summarizer.Summarize(ctx, req)
		if err == nil {
			return ParseSummary(reply)
		}
		if !errors.Is(err, ErrTooLong) || try == j.limits.Retries {
			return "", err
		}
		var long *TooLongError
		gap := 0
		if errors.As(err, &long) {
			gap = long.Gap
		}
		less, ok := j.dropForRetry(req.Messages, gap)
		if !ok {
			return "", err
		}
		req.Messages, req.Plain = less, true
	}
}

// dropForRetry leaves out the oldest rounds: by the gap that the provider named,
// else a fifth of them, at least one, never the last (C-6). The marker of an
// earlier retry goes first.
func (j *job) dropForRetry(ms []message.Message, gap int) ([]message.Message, bool) {
	if len(ms) > 0 && len(ms[0].Content) == 1 && ms[0].Content[0].Text == marker {
		ms = ms[1:]
	}
	rounds := message.Rounds(ms)
	if len(rounds) < 2 {
		return nil, false
	}
	drop := max(len(rounds)/5, 1)
	if gap > 0 {
		drop = 0
		for size := 0; drop < len(rounds)-1 && size < gap; drop++ {
			for _, m := range ms[rounds[drop].Start:rounds[drop].End] {
				for _, b := range m.Content {
					size += j.Weigh(j.Size(b))
				}
			}
		}
		drop = max(drop, 1)
	}
	drop = min(drop, len(rounds)-1)
	ms = ms[rounds[drop].Start:]
	if ms[0].Role == message.RoleAssistant {
		ms = append([]message.Message{message.User(marker)}, ms...)
	}
	return ms, true
}
