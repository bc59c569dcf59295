package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrInput is the error of a tool input that is not a JSON object and cannot be read as one. Such a call must not run: answer it
// with an error result that says so.
var ErrInput = errors.New("message: the tool input is not a JSON object")

// An InputError says which call has an input that cannot be used. The call must not run; answer it with an error result.
type InputError struct {
	ToolUseID string
	Input     json.RawMessage // as it was received
	Err       error           // wraps ErrInput
}

func (e *InputError) Error() string { return e.Err.Error() + " (call " + e.ToolUseID + ")" }
func (e *InputError) Unwrap() error { return e.Err }

// maxUnwrap is how many times an input may be wrapped in a JSON string. Once is what providers are seen to send
// (QwenLM/qwen-code#7377); the second level is a proxy that does it again.
const maxUnwrap = 2

// CompactInput normalises the input of a tool call, once, when the call is received; the bytes it returns are from then on what
// the call's input is, in the log and in every request.
//
// Insignificant whitespace is removed, and lone surrogates and invalid UTF-8 become U+FFFD. Key order, repeated keys, the text of
// numbers and the escapes of strings are kept. A missing input (no bytes, null, an empty string) is {}; a JSON string that holds
// an object is that object. Anything else is an error that wraps [ErrInput], and the bytes should be kept for the error result.
//
// CompactInput(CompactInput(x)) = CompactInput(x). The result never shares memory with raw.
func CompactInput(raw []byte) (json.RawMessage, error) { return compactInput(bytes.Clone(raw)) }

// compactInput is CompactInput that returns a part of raw itself where nothing has to be changed.
func compactInput(raw []byte) (json.RawMessage, error) {
	for range maxUnwrap + 1 {
		s := scanner{data: raw}
		start := s.space(0)
		switch s.at(start) {
		case 0:
			if start < len(raw) {
				return nil, fmt.Errorf("%w: %w", ErrInput, s.unexpected(start, "an object"))
			}
			return json.RawMessage("{}"), nil
		case '{':
			return compactObject(&s, start)
		}
		end, err := s.value(start)
		if err == nil {
			err = s.whole(end)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInput, err)
		}
		v := raw[start:end]
		if string(v) == "null" {
			return json.RawMessage("{}"), nil
		}
		if v[0] != '"' {
			return nil, fmt.Errorf("%w: it is %s", ErrInput, kindOf(v[0]))
		}
		raw = []byte(unquote(v[1 : len(v)-1]))
	}
	return nil, fmt.Errorf("%w: it is a string inside a string", ErrInput)
}

func compactObject(s *scanner, start int) (json.RawMessage, error) {
	end, err := s.value(start)
	if err == nil {
		err = s.whole(end)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	raw := s.data[start:end:end]
	if s.all&notUnicode == 0 && isCompact(raw) {
		return raw, nil
	}
	return FixUnicode(appendCompact(make([]byte, 0, len(raw)), raw)), nil
}

// isCompact reports whether the valid JSON text raw has no insignificant whitespace.
func isCompact(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case isSpace(c):
			return false
		}
	}
	return true
}

// appendCompact appends the valid JSON text raw without its insignificant whitespace.
func appendCompact(dst, raw []byte) []byte {
	start := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case isSpace(c):
			dst = append(dst, raw[start:i]...)
			start = i + 1
		}
	}
	return append(dst, raw[start:]...)
}

// kindOf names the kind of the JSON value that begins with c.
func kindOf(c byte) string {
	switch c {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}
