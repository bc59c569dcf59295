package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/internal/results"
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
	// Plain says that Messages are not those of the main request: the first attempt
	// failed, images and documents were replaced by their names, long tool outputs
	// shortened, and oldest rounds left out when the request was too long.
	Plain bool
}

// ErrTooLong is wrapped by the error of a [Summarizer] when its request was too
// long. [TooLongError] says by how much.
var ErrTooLong = errors.New("compact: the summary request is too long")

// ErrNoReply is wrapped by the error of a summary that did not arrive in time
// ([Limits].Wait).
var ErrNoReply = errors.New("compact: no summary arrived in time")

// TooLongError is an [ErrTooLong] with the gap that the provider named.
type TooLongError struct{ Gap int } // tokens; 0 when not known

func (e *TooLongError) Error() string { return ErrTooLong.Error() }

// Is makes errors.Is(err, ErrTooLong) true.
func (e *TooLongError) Is(target error) bool { return target == ErrTooLong }

// marker goes before a conversation whose first message is a reply.
const marker = "[Earlier messages were left out to make room for this summary.]"

// inquiry is one question to a summarizer with all it needs, so that it can be
// asked away from the ladder and its situation.
type inquiry struct {
	summarizer Summarizer
	req        SummaryRequest
	retries    int
	wait       time.Duration
	size       func(message.Block) int // tokens
	calls      *atomic.Int64
}

// inquire prepares the question about a part of the view.
func (j *job) inquire(p part) (inquiry, error) {
	prompt, err := Prompt(p.variant, p.pivot, j.Ask.Instructions)
	if err != nil {
		return inquiry{}, err
	}
	// What a unit of estimate weighs is taken now: the meter goes on while the
	// question is asked.
	const unit = 1 << 16
	weight, size := j.Weigh(unit), j.Size
	return inquiry{summarizer: j.ladder.Summarizer, retries: j.limits.Retries, wait: j.limits.Wait, calls: &j.ladder.calls,
		req:  SummaryRequest{Frame: j.Frame, Messages: j.encoded(p.to), Prompt: prompt, Output: j.limits.Output},
		size: func(b message.Block) int { return size(b) * weight / unit }}, nil
}

// ask asks for the summary: as a fork of the main request, on failure as a request
// of its own (C-5), with less each time that is too long (C-6). The number of calls
// is bounded by the retries and two.
func (q inquiry) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, q.wait)
	defer cancel()
	req := q.req
	for long := 0; ; {
		q.calls.Add(1)
		reply, err := q.summarizer.Summarize(ctx, req)
		if err == nil {
			var text string
			if text, err = ParseSummary(reply); err == nil {
				return text, nil
			}
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", fmt.Errorf("%w (%s)", ErrNoReply, q.wait)
		}
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, ErrTooLong):
			if long++; long > q.retries {
				return "", err
			}
			less, ok := q.less(req, err)
			if !ok {
				return "", err
			}
			req.Messages, req.Plain = less, true
		case req.Plain:
			return "", err
		default:
			req.Messages, req.Plain = plain(req.Messages), true
		}
	}
}

// less returns what is asked about after a request was too long: without media and
// with short outputs first, then without its oldest rounds.
func (q inquiry) less(req SummaryRequest, err error) ([]message.Message, bool) {
	var long *TooLongError
	gap := 0
	if errors.As(err, &long) {
		gap = long.Gap
	}
	ms := req.Messages
	if !req.Plain {
		ms = plain(ms)
		if freed := q.sizeOf(req.Messages) - q.sizeOf(ms); gap > 0 && freed >= gap {
			return ms, true
		} else if gap > 0 {
			gap -= freed
		}
	}
	return q.dropForRetry(ms, gap)
}

func (q inquiry) sizeOf(ms []message.Message) int {
	n := 0
	for _, m := range ms {
		for _, b := range m.Content {
			n += q.size(b)
		}
	}
	return n
}

// dropForRetry leaves out the oldest rounds: by the gap that the provider named,
// else a fifth of them, at least one, never the last (C-6). The marker of an
// earlier retry goes first.
func (q inquiry) dropForRetry(ms []message.Message, gap int) ([]message.Message, bool) {
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
			size += q.sizeOf(ms[rounds[drop].Start:rounds[drop].End])
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

// plainOutput is how many bytes of a tool output a request of its own shows: what
// the model needs to know what a call was about, head and tail (C-5).
const plainOutput = 4_000

// plain returns messages without media and with short outputs. Messages that hold
// none of these are shared.
func plain(ms []message.Message) []message.Message {
	out := slices.Clone(ms)
	for i := range out {
		for k, b := range out[i].Content {
			short, changed := plainBlock(b)
			if !changed {
				continue
			}
			if &out[i].Content[0] == &ms[i].Content[0] {
				out[i] = out[i].WithContent(slices.Clone(out[i].Content)...)
			}
			out[i].Content[k] = short
		}
	}
	return out
}

func plainBlock(b message.Block) (message.Block, bool) {
	switch b.Type {
	case message.TypeImage, message.TypeDocument:
		return message.Text("[" + b.Type + "]"), true
	case message.TypeToolResult:
		content, changed := slices.Clone(b.Content), false
		for i, c := range content {
			if c.Type == message.TypeText && len(c.Text) > plainOutput {
				content[i], changed = message.Text(results.HeadTail(c.Text, plainOutput)), true
			} else if c.Type == message.TypeImage || c.Type == message.TypeDocument {
				content[i], changed = message.Text("["+c.Type+"]"), true
			}
		}
		if changed {
			return message.ToolResult(b.ToolUseID, b.IsError, content...), true
		}
	}
	return b, false
}
