package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"varve.dev/compact"
	"varve.dev/message"
)

// Summaries asks a model for the summaries that a ladder wants: it is the
// Summarizer of a [compact.Ladder], and the Server where the provider summarizes
// itself. It is safe for concurrent use if Model is, and Edit and Observe are.
type Summaries struct {
	Model Model
	// Edit makes a request like the main ones: their cache policy and what they say
	// of mismatches, so that the provider's cache serves it. Nil: nothing is set.
	Edit func(*Request)
	// Observe is told of every reply, for what it cost; nil: nobody is.
	Observe func(*Reply)
}

// ErrCutSummary is returned for a summary that ended at the limit of its tokens.
var ErrCutSummary = errors.New("llm: the summary was cut off at its limit of tokens")

// Summarize asks the question behind the conversation. The tools stay defined; a
// call is not answered, and a reply without text is [compact.ErrNoSummary]. An
// overflow is a [*compact.TooLongError].
func (s Summaries) Summarize(ctx context.Context, r compact.SummaryRequest) (string, error) {
	req := s.request(r)
	req.Messages = append(req.Messages, message.User(r.Prompt).AppendRequest(nil))
	reply, err := s.ask(ctx, req)
	if err != nil {
		return "", err
	}
	if reply.Message.StopReason == StopMaxTokens {
		return "", ErrCutSummary
	}
	var text []string
	for _, b := range reply.Message.Content {
		if b.Type == message.TypeText && strings.TrimSpace(b.Text) != "" {
			text = append(text, b.Text)
		}
	}
	if len(text) == 0 {
		return "", fmt.Errorf("%w: the reply stopped with %s", compact.ErrNoSummary, reply.Message.StopReason)
	}
	return strings.Join(text, "\n"), nil
}

// Compact has the provider summarize. No summary comes as a success from it and is
// [compact.ErrNoSummary] here.
func (s Summaries) Compact(ctx context.Context, r compact.SummaryRequest) (compact.ServerSummary, error) {
	req := s.request(r)
	req.Summarize = &Summarize{Instructions: r.Prompt}
	reply, err := s.ask(ctx, req)
	if err != nil {
		return compact.ServerSummary{}, err
	}
	b, ok := reply.Summary()
	if !ok {
		return compact.ServerSummary{}, fmt.Errorf("%w: the reply stopped with %s", compact.ErrNoSummary, reply.Message.StopReason)
	}
	text, _ := compact.SummaryText(b) // "" for one that cannot be read
	return compact.ServerSummary{Native: compact.Native{Provider: r.Frame.Provider, Items: []json.RawMessage{b.Raw}}, Text: text}, nil
}

// request is the main request as it is, with another limit.
func (s Summaries) request(r compact.SummaryRequest) *Request {
	req := &Request{Model: r.Frame.Model, System: r.Frame.System, Tools: r.Frame.Tools, Options: r.Frame.Options}
	for _, m := range r.Messages {
		req.Messages = append(req.Messages, m.AppendRequest(nil))
	}
	if s.Edit != nil {
		s.Edit(req)
	}
	req.MaxOutput = r.Output
	return req
}

func (s Summaries) ask(ctx context.Context, req *Request) (*Reply, error) {
	reply, err := Collect(s.Model.Stream(ctx, req))
	if err == nil {
		if s.Observe != nil {
			s.Observe(reply)
		}
		if e := reply.Err(); e != nil {
			err = e
		}
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == KindOverflow {
		return nil, &compact.TooLongError{Gap: e.TokenGap()}
	}
	return reply, err
}
