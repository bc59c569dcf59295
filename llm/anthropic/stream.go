package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"varve.dev/llm"
	"varve.dev/llm/anthropic/internal/wire"
)

// Stream sends req. See llm.Model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		b, bad := m.build(req, false)
		if bad != nil {
			yield(llm.Event{}, bad)
			return
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		s := &stream{m: m, ctx: ctx, yield: yield, timer: time.AfterFunc(m.idle(), func() { cancel(errIdle) })}
		defer s.timer.Stop()
		if bad := s.run(b); bad != nil {
			yield(llm.Event{}, bad)
		}
	}
}

func (m *Model) idle() time.Duration {
	if m.Idle > 0 {
		return m.Idle
	}
	return DefaultIdle
}

// A stream is one request under way.
type stream struct {
	m     *Model
	ctx   context.Context
	yield func(llm.Event, error) bool
	timer *time.Timer // ends ctx when nothing arrives
	acc   wire.Accumulator
	res   *http.Response
}

// run returns the error that ended the stream; nil when it was told whole, or the
// range over it was ended.
func (s *stream) run(b *wire.Body) *llm.Error {
	res, bad := s.m.call(s.ctx, "v1/messages", b)
	if bad != nil {
		return bad
	}
	defer func() { _ = res.Body.Close() }() // what was wanted was read
	s.res = res
	if !isStream(res) {
		return s.whole()
	}
	dec := ssestream.NewDecoder(res)
	for dec.Next() {
		s.timer.Reset(s.m.idle())
		ev := dec.Event()
		events, err := s.acc.Add(ev.Type, ev.Data)
		if err != nil {
			return s.broken(err, ev.Data)
		}
		for _, e := range events {
			if !s.yield(e, nil) {
				return nil
			}
		}
		if s.acc.Done() {
			return s.finish(dec)
		}
	}
	err := dec.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return s.broken(err, nil)
}

// drain is how long the end of a body is waited for, so that its connection can be
// used again.
const drain = 50 * time.Millisecond

func (s *stream) finish(dec ssestream.Decoder) *llm.Error {
	r, err := s.acc.Reply()
	if err != nil {
		return s.broken(err, nil)
	}
	r.RequestID = s.requestID()
	s.timer.Reset(drain)
	for dec.Next() {
		continue // nothing comes after the end that would count
	}
	s.yield(llm.Event{Kind: llm.Done, Reply: r}, nil)
	return nil
}

func (s *stream) requestID() string {
	for _, name := range []string{"request-id", "x-request-id"} {
		if id := s.res.Header.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// broken makes the error of a stream that ended too soon, with what arrived.
func (s *stream) broken(err error, data []byte) *llm.Error {
	f := llm.Failure{Status: http.StatusOK, InStream: true, Header: s.res.Header.Get}
	if errors.Is(err, wire.ErrStream) {
		f.Body = data
	} else {
		f.Err = err
		if errors.Is(err, io.ErrUnexpectedEOF) {
			f.Message = "the connection closed in the middle of the reply"
		}
	}
	e := s.m.fail(s.ctx, f)
	e.Partial = s.acc.Partial()
	return e
}

// whole takes an answer that is no stream: a message from a gateway that does not
// stream, or an error with status 200.
func (s *stream) whole() *llm.Error {
	raw, err := io.ReadAll(io.LimitReader(s.res.Body, maxAnswer))
	if err != nil {
		return s.broken(err, nil)
	}
	if !wire.IsMessage(raw) {
		return s.broken(wire.ErrStream, raw)
	}
	r, err := wire.ParseReply(raw)
	if err != nil {
		return s.broken(err, nil)
	}
	r.RequestID = s.requestID()
	if !s.yield(llm.Event{Kind: llm.Started, ID: r.Message.ID, Model: r.Message.Model}, nil) {
		return nil
	}
	for i := range r.Message.Content {
		if !s.yield(llm.Event{Kind: llm.BlockDone, Index: i, Block: &r.Message.Content[i]}, nil) {
			return nil
		}
	}
	s.yield(llm.Event{Kind: llm.Done, Reply: r}, nil)
	return nil
}
