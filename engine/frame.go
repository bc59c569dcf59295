package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"varve.dev/transcript"
	"varve.dev/view"
)

// Frame is what a request carries beside its messages.
type Frame = view.Frame

// wanted is the frame that the configuration asks for.
func (e *Engine) wanted() Frame {
	return Frame{Provider: e.cfg.Caps.Provider, Model: e.cfg.Caps.Name, CapsHash: e.cfg.Caps.Hash(), Render: view.Render,
		System: e.cfg.System, Tools: e.cfg.Tools, Options: e.cfg.Options}.Hashed()
}

// settleFrame makes sure that the chain names the frame of the next request: the
// one it has, as long as provider and model are the same and its bytes are at
// hand, else a new one. Other system text or tools under the same model do not
// replace a frame: they would change what was sent. The caller appends them, or
// asks for a new frame with [Engine.Reframe].
func (e *Engine) settleFrame() error {
	want := e.wanted()
	have := e.view.Frame
	if have != nil {
		want.Render = e.view.Render // the messages keep the renderer they were sent with
		want = want.Hashed()
	}
	if have == nil && e.frame.ID != "" && !e.reframe && e.frame.Provider == want.Provider && e.frame.Model == want.Model {
		return e.nameFrame(e.frame) // a boundary: the frame is named again behind it
	}
	if have != nil && !e.reframe {
		if e.frame.ID == have.Frame {
			e.stale = e.frame.ID != want.ID
			if e.frame.Provider == want.Provider && e.frame.Model == want.Model {
				return nil
			}
		} else if have.Provider == want.Provider && have.Model == want.Model {
			f, err := e.loadFrame(have.Frame)
			if err == nil {
				e.frame, e.stale = f, f.ID != want.ID
				return nil
			}
			e.note(Event{Kind: FrameLost, Detail: err.Error()})
		}
	}
	if e.frames != nil {
		if err := e.frames.PutFrame(want.ID, want.Bytes()); err != nil {
			return fmt.Errorf("engine: keep frame: %w", err)
		}
	}
	switched := e.frame.ID != "" && (e.frame.Provider != want.Provider || e.frame.Model != want.Model)
	e.frame, e.stale, e.reframe = want, false, false
	if switched {
		e.switchMeter()
	}
	if have != nil && e.cfg.Caps.PrefixBound && (have.Provider != want.Provider || have.Model != want.Model) && e.editedSince(want.Provider, want.Model) {
		if err := e.strip("switch"); err != nil { // before the frame is named: a crash between them loses nothing
			return err
		}
	}
	return e.nameFrame(want)
}

// editedSince reports whether the conversation was edited after a model was last in
// use: its reasoning is bound to what stood there then. While it is in use its edits
// see to that themselves.
func (e *Engine) editedSince(provider, model string) bool {
	for i := len(e.log.Entries) - 1; i >= 0; i-- {
		x := e.log.Entries[i]
		if x.Type == transcript.TypeSystem && x.Subtype == transcript.SubFrame {
			if f, err := x.Frame(); err == nil && f.Provider == provider && f.Model == model {
				return false
			}
		}
		if changesView(x) {
			return true
		}
	}
	return false
}

func (e *Engine) nameFrame(f Frame) error {
	return e.add(e.stamp.System(e.view.Leaf, transcript.SubFrame, "", "", transcript.Own(transcript.Frame{
		Frame: f.ID, Provider: f.Provider, Model: f.Model, CapsHash: f.CapsHash, Render: f.Render})))
}

func (e *Engine) loadFrame(id string) (Frame, error) {
	if e.frames == nil {
		return Frame{}, ErrNoFrame
	}
	b, err := e.frames.Frame(id)
	if err != nil {
		return Frame{}, err
	}
	return view.ParseFrame(id, b)
}

// Reframe makes the next request use the system text, tools and options of the
// configuration as it is now. What was cached and, on models that bind reasoning
// to the prefix, the reasoning so far is lost by it.
func (e *Engine) Reframe(system, tools, options json.RawMessage) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, raw := range []json.RawMessage{system, tools, options} {
		if len(raw) > 0 && !json.Valid(raw) {
			return errors.New("engine: system, tools and options must be JSON")
		}
	}
	e.cfg.System, e.cfg.Tools, e.cfg.Options = system, tools, options
	e.reframe = true
	e.measureFixed()
	return nil
}

// StaleFrame reports whether the session goes on with a frame that differs from
// the configuration: it began with other system text, tools or options, and
// keeps them.
func (e *Engine) StaleFrame() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stale
}

type readerAt []byte

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(p, r[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
