package modelsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// A frame is one event of a stream as it is written.
type frame struct {
	bytes []byte
	kind  string // "call", "think", "say" for the deltas of such a block, else ""
}

func event(name string, data any) frame {
	return frame{bytes: bytes.Join([][]byte{[]byte("event: " + name + "\ndata: "), marshal(data), []byte("\n\n")}, nil)}
}

type (
	blockStart struct {
		Type  string          `json:"type"`
		Index int             `json:"index"`
		Block json.RawMessage `json:"content_block"`
	}
	blockDelta struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
		Delta any    `json:"delta"`
	}
	blockStop struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
)

// deltaChars is the size of one delta. The real API sends a few tokens at a time.
const deltaChars = 48

// frames writes the message as a stream (API.md 1.3).
func (m *messageBody) frames(st style) []frame {
	start := *m
	start.Content, start.StopReason, start.StopSequence, start.StopDetails, start.ContextManagement = []json.RawMessage{}, nil, nil, nil, nil
	u := *m.Usage
	u.OutputTokens = min(1, u.OutputTokens)
	u.Iterations, u.OutputDetails = nil, nil
	start.Usage = &u
	out := []frame{event("message_start", map[string]any{"type": "message_start", "message": start}), event("ping", map[string]any{"type": "ping"})}
	for _, e := range st.events {
		name, data := cutWord(e)
		out = append(out, frame{bytes: []byte("event: " + name + "\ndata: " + data + "\n\n")})
	}
	for i := range m.blocks {
		out = append(out, m.blocks[i].frames(i)...)
	}
	delta := map[string]any{"stop_reason": m.StopReason, "stop_sequence": m.StopSequence, "stop_details": m.StopDetails, "container": nil}
	end := map[string]any{"type": "message_delta", "delta": delta, "usage": m.Usage.delta()}
	if m.ContextManagement != nil {
		end["context_management"] = m.ContextManagement
	}
	out = append(out, event("message_delta", end), event("message_stop", map[string]any{"type": "message_stop"}))
	if st.pings == 0 {
		return out
	}
	var withPings []frame
	for i, f := range out {
		if i > 0 && i%st.pings == 0 {
			withPings = append(withPings, event("ping", map[string]any{"type": "ping"}))
		}
		withPings = append(withPings, f)
	}
	return withPings
}

// frames are the events of one block.
func (b *outBlock) frames(index int) []frame {
	start := func(raw string) frame {
		return event("content_block_start", blockStart{"content_block_start", index, json.RawMessage(raw)})
	}
	delta := func(kind string, v any) frame {
		f := event("content_block_delta", blockDelta{"content_block_delta", index, v})
		f.kind = kind
		return f
	}
	var out []frame
	switch b.typ {
	case "text":
		out = append(out, start(`{"type":"text","text":""}`))
		for _, t := range pieces(b.text) {
			out = append(out, delta("say", map[string]string{"type": "text_delta", "text": t}))
		}
	case "thinking":
		out = append(out, start(`{"type":"thinking","thinking":"","signature":""}`))
		for _, t := range pieces(b.text) {
			out = append(out, delta("think", map[string]string{"type": "thinking_delta", "thinking": t}))
		}
		out = append(out, delta("think", map[string]string{"type": "signature_delta", "signature": b.signature}))
	case "tool_use":
		out = append(out, start(`{"type":"tool_use","id":`+string(marshal(b.id))+`,"name":`+string(marshal(b.name))+`,"input":{}}`))
		out = append(out, delta("call", map[string]string{"type": "input_json_delta", "partial_json": ""}))
		for _, t := range pieces(string(b.input)) {
			out = append(out, delta("call", map[string]string{"type": "input_json_delta", "partial_json": t}))
		}
	case "compaction_delta":
		o, _ := parseObject(b.raw)
		out = append(out, start(`{"type":"compaction","content":null,"encrypted_content":null}`))
		out = append(out, delta("", map[string]any{"type": "compaction_delta", "content": o.get("content"), "encrypted_content": o.get("encrypted_content")}))
	default: // whole in the start: redacted reasoning, a summary on demand, a block of the script's
		out = append(out, start(string(b.raw)))
	}
	return append(out, event("content_block_stop", blockStop{"content_block_stop", index}))
}

// pieces cuts s into texts of deltaChars bytes, at the ends of runes.
func pieces(s string) []string {
	var out []string
	for len(s) > deltaChars {
		n := deltaChars
		for !utf8.RuneStart(s[n]) {
			n--
		}
		if n == 0 {
			n = deltaChars
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

// errCut says that a reply was cut on purpose.
var errCut = errors.New("cut by the script")

// errWrite wraps what a client's going away did to a write.
var errWrite = errors.New("the client went away")

// sender writes one reply, with what the script lets go wrong.
type sender struct {
	w     http.ResponseWriter
	ctx   context.Context
	clock Clock
	style style
	fault *fault
	rand  *rand.Rand
	sent  int
}

// cutAt is the byte of the stream where the fault happens.
func (s *sender) cutAt(frames []frame) int {
	if s.fault.after >= 0 {
		return s.fault.after
	}
	all, in := 0, -1
	done := false
	for _, f := range frames {
		switch {
		case f.kind == "" || f.kind != s.fault.where:
			done = done || in >= 0
		case !done:
			in = all + len(f.bytes)/2 // in the last delta of the first such block: what was before it arrives
		}
		all += len(f.bytes)
	}
	if in >= 0 {
		return in
	}
	return all / 2
}

// stream sends the frames. A non-nil error is errCut, or that the client went away.
func (s *sender) stream(frames []frame) error {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
	cut := -1
	if s.fault != nil {
		cut = s.cutAt(frames)
	}
	for _, f := range frames {
		b := f.bytes
		hit := cut >= 0 && s.sent+len(b) > cut
		if hit {
			b = b[:max(0, cut-s.sent)]
			if s.fault.kind == "error" {
				b = nil // an event of its own, between events
			}
		}
		if err := s.pause(s.style.slow); err != nil {
			return err
		}
		if err := s.write(b); err != nil {
			return err
		}
		if hit {
			return s.happen()
		}
	}
	if cut >= 0 { // beyond the end of the stream: it happens there
		return s.happen()
	}
	return nil
}

// happen lets the fault happen, here.
func (s *sender) happen() error {
	switch s.fault.kind {
	case "error":
		f := event("error", json.RawMessage(s.fault.failure.body()))
		if err := s.write(f.bytes); err != nil {
			return err
		}
	case "malformed":
		if err := s.write([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"del\n\n")); err != nil {
			return err
		}
	case "hang":
		<-s.ctx.Done()
	case "drop":
		panic(http.ErrAbortHandler)
	}
	return errCut
}

// write sends b, in the pieces that the style asks for.
func (s *sender) write(b []byte) error {
	for len(b) > 0 {
		n := len(b)
		switch {
		case s.style.split > 0:
			n = min(n, s.style.split)
		case s.style.split < 0:
			n = 1 + s.rand.IntN(n)
		}
		if _, err := s.w.Write(b[:n]); err != nil {
			return errors.Join(errWrite, err)
		}
		if err := http.NewResponseController(s.w).Flush(); err != nil {
			return errors.Join(errWrite, err)
		}
		s.sent += n
		b = b[n:]
	}
	return nil
}

func (s *sender) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if err := s.clock.Sleep(s.ctx, d); err != nil {
		return errors.Join(errWrite, err)
	}
	return nil
}

// whole sends a body that is not streamed.
func (s *sender) whole(body []byte) error {
	s.w.Header().Set("Content-Type", "application/json")
	if s.fault == nil {
		return s.write(body)
	}
	cut := min(len(body)/2, len(body))
	if s.fault.after >= 0 {
		cut = min(s.fault.after, len(body))
	}
	switch s.fault.kind {
	case "error": // there is no stream to put it into: an answer with that status
		s.w.WriteHeader(statusOf(s.fault.failure.typ))
		if err := s.write(s.fault.failure.body()); err != nil {
			return err
		}
		return errCut
	case "malformed", "end":
		if err := s.write(body[:cut]); err != nil {
			return err
		}
		return errCut
	}
	s.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if err := s.write(body[:cut]); err != nil {
		return err
	}
	return s.happen()
}

func statusOf(typ string) int {
	for status, t := range errorTypes {
		if t == typ {
			return status
		}
	}
	return http.StatusInternalServerError
}
