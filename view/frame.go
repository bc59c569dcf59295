package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Frame is what a request carries beside its messages, as exact bytes: they are
// kept with the session and sent again by every later request, also of a resumed
// session and a later version (T-13).
type Frame struct {
	ID       string          `json:"-"` // sha256 of the frame's own bytes, hex
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	CapsHash string          `json:"capsHash"`
	Render   string          `json:"render"`
	System   json.RawMessage `json:"system,omitempty"`  // as the provider takes it: a string or text blocks
	Tools    json.RawMessage `json:"tools,omitempty"`   // an array of definitions
	Options  json.RawMessage `json:"options,omitempty"` // what else belongs to the prefix: thinking, context management
}

// Bytes returns the frame as it is kept. Its hash is the frame's id.
func (f Frame) Bytes() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return nil // System, Tools or Options are not JSON: checked by New
	}
	return buf.Bytes()
}

// Hashed returns f with the id that its bytes give it.
func (f Frame) Hashed() Frame {
	sum := sha256.Sum256(f.Bytes())
	f.ID = hex.EncodeToString(sum[:])
	return f
}

// ParseFrame reads kept bytes and proves that they are those of id.
func ParseFrame(id string, b []byte) (Frame, error) {
	sum := sha256.Sum256(b)
	if hex.EncodeToString(sum[:]) != id {
		return Frame{}, fmt.Errorf("view: the bytes kept for frame %s are not those that were sent", id)
	}
	var f Frame
	if err := json.Unmarshal(b, &f); err != nil {
		return Frame{}, fmt.Errorf("view: frame %s: %w", id, err)
	}
	f.ID = id
	return f, nil
}
