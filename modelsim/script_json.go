package modelsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// jsonSection is a section of a script in JSON, for authors whose scripts come out of a program.
type jsonSection struct {
	Turn    []json.RawMessage `json:"turn"`
	Default []json.RawMessage `json:"default"`
	On      string            `json:"on"` // conditions, as in a line
	Do      []json.RawMessage `json:"do"` // belongs to On
	Times   int               `json:"times"`
}

// isJSON tells a script in JSON: no line of the other form begins with a bracket.
func isJSON(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) }

// json reads a script that is an array. The number of a line is that on which a member of the array begins.
func (p *parser) json(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	p.at = 1
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		rest := text[d.InputOffset():]
		start := len(text) - len(bytes.TrimLeft(rest, " \t\r\n,"))
		p.at = 1 + bytes.Count(text[:start], []byte("\n"))
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return err
		}
		if err := p.jsonMember(one); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the array does not end: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the array")
	}
	return nil
}

// jsonMember reads a line that is a string, or a section.
func (p *parser) jsonMember(raw json.RawMessage) error {
	if raw[0] == '"' {
		return p.jsonStep(raw)
	}
	var s jsonSection
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("want a line, or a section with turn, default, or on and do: %w", err)
	}
	var kinds []string
	var steps []json.RawMessage
	if s.Turn != nil {
		kinds, steps = append(kinds, "turn"), s.Turn
	}
	if s.Default != nil {
		kinds, steps = append(kinds, "default"), s.Default
	}
	if s.On != "" || s.Do != nil {
		kinds, steps = append(kinds, "on"), s.Do
	}
	if len(kinds) != 1 {
		return errors.New("a section has one of turn, default, or on and do")
	}
	head := strings.TrimSpace(s.On)
	if s.Times != 0 {
		head += fmt.Sprintf(" times %d", s.Times)
	}
	if err := p.section(kinds[0], strings.TrimSpace(head)); err != nil {
		return err
	}
	for i, step := range steps {
		if err := p.jsonStep(step); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// jsonStep reads a line that is a string, or an object whose one member is a verb with what it takes; the input of a call has a member
// of its own.
func (p *parser) jsonStep(raw json.RawMessage) error {
	var line string
	if err := json.Unmarshal(raw, &line); err == nil {
		line = strings.TrimSpace(line)
		switch verb, _ := cutWord(line); verb {
		case "", "turn", "on", "default":
			return fmt.Errorf("%q is no step; a section is an object", line)
		}
		return p.line(line)
	}
	var step map[string]json.RawMessage
	if err := json.Unmarshal(raw, &step); err != nil {
		return errors.New(`want a line as a string, or an object like {"say":"text"}`)
	}
	if name, ok := step["call"]; ok {
		var tool string
		if err := json.Unmarshal(name, &tool); err != nil || strings.ContainsAny(tool, " \n") {
			return errors.New(`call: want {"call":"NAME","input":{}}`)
		}
		input := step["input"]
		if input != nil && input[0] != '{' {
			return fmt.Errorf("call: the input of %s is no JSON object", tool)
		}
		delete(step, "input")
		line = "call " + tool + " " + string(input)
	}
	if len(step) != 1 {
		return errors.New(`a step has one verb: {"say":"text"}, {"block":{}}, or {"call":"NAME","input":{}}`)
	}
	if line != "" {
		return p.line(line)
	}
	for verb, value := range step {
		switch verb {
		case "say", "think":
			if value[0] != '"' {
				return fmt.Errorf("%s: want a string", verb)
			}
			return p.line(verb + " " + string(value))
		case "block":
			return p.line(verb + " " + string(value))
		default:
			return fmt.Errorf("%q as an object; write it as a string, as in a script of lines", verb)
		}
	}
	return nil
}
