package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// action reads one line of a section.
func (p *parser) action(verb, rest string) error {
	a := action{line: p.at, verb: verb}
	var err error
	switch verb {
	case "say", "think":
		a.text, err = p.text(rest)
	case "echo", "summarize":
		if rest != "" {
			return fmt.Errorf("%s takes nothing", verb)
		}
	case "redacted", "fill":
		a.n = 16
		if rest != "" {
			a.n, err = strconv.Atoi(rest)
		}
		if err == nil && a.n < 1 {
			err = fmt.Errorf("%s %d", verb, a.n)
		}
	case "call":
		a.calls, err = parseCalls(rest)
	case "block":
		if o, e := parseObject([]byte(rest)); e != nil || o.str("type") == "" {
			err = fmt.Errorf("block: want a JSON object with a type")
		}
		a.text = rest
	case "stop", "refuse", "null":
		return p.ending(verb, rest)
	case "fail", "overflow", "drop", "end", "malformed", "hang", "error":
		a.fault, err = p.fault(verb, rest)
	default:
		return fmt.Errorf("unknown verb %q", verb)
	}
	if err != nil {
		return err
	}
	p.open.acts = append(p.open.acts, a)
	return nil
}

func (p *parser) ending(verb, rest string) error {
	st := &p.open.style
	switch verb {
	case "null":
		st.null = true
		st.stop = rest
	case "stop":
		reason, _ := cutWord(rest)
		if !slices.Contains(stopReasons, reason) {
			return fmt.Errorf("unknown stop reason %q", reason)
		}
		st.stop = rest
	case "refuse":
		st.stop = "refusal"
		st.category, st.refused = cutWord(rest)
	}
	return nil
}

// stopReasons are those of the API (API.md 1.2).
var stopReasons = strings.Fields("end_turn max_tokens stop_sequence tool_use pause_turn refusal model_context_window_exceeded compaction")

// text reads a text: the rest of the line, a JSON string, @file, or <<END with the lines up to one that is END.
func (p *parser) text(rest string) (string, error) {
	switch {
	case strings.HasPrefix(rest, `"`):
		var s string
		if err := json.Unmarshal([]byte(rest), &s); err != nil {
			return "", fmt.Errorf("not a JSON string: %w", err)
		}
		return s, nil
	case strings.HasPrefix(rest, "@"):
		s, ok := p.files[rest[1:]]
		if !ok {
			return "", fmt.Errorf("the script has no file %q", rest[1:])
		}
		return s, nil
	case strings.HasPrefix(rest, "<<"):
		var lines []string
		for p.at < len(p.lines) {
			line := p.lines[p.at]
			p.at++
			if strings.TrimSpace(line) == rest[2:] {
				return strings.Join(lines, "\n"), nil
			}
			lines = append(lines, line)
		}
		return "", fmt.Errorf("no line %q ends the text", rest[2:])
	case rest == "":
		return "", fmt.Errorf("no text")
	}
	return rest, nil
}

// parseCalls reads NAME {JSON} [or NAME {JSON} …]; several names may share an input: NAME|NAME.
func parseCalls(rest string) ([]toolCall, error) {
	var out []toolCall
	for {
		name, more := cutWord(rest)
		input := json.RawMessage("{}")
		if strings.HasPrefix(more, "{") {
			dec := json.NewDecoder(strings.NewReader(more))
			if err := dec.Decode(&input); err != nil {
				return nil, fmt.Errorf("the input of %s: %w (inside strings only, ${…} is replaced)", name, err)
			}
			more = strings.TrimSpace(more[dec.InputOffset():])
		}
		if name == "" {
			return nil, fmt.Errorf("call without a name")
		}
		for n := range strings.SplitSeq(name, "|") {
			out = append(out, toolCall{n, string(input)})
		}
		if more == "" {
			return out, nil
		}
		or, next := cutWord(more)
		if or != "or" || next == "" {
			return nil, fmt.Errorf("%q after a call: want or, with another call", more)
		}
		rest = next
	}
}

// fault reads what goes wrong. The words at the end say where and how often.
func (p *parser) fault(verb, rest string) (*fault, error) {
	f := &fault{kind: verb, after: -1, times: 1}
	words := fields(rest)
	take := func() string {
		if len(words) == 0 {
			return ""
		}
		w := words[0]
		words = words[1:]
		return w
	}
	switch verb {
	case "fail":
		n, err := strconv.Atoi(take())
		if err != nil || n < 400 || n > 599 {
			return nil, fmt.Errorf("fail: want a status from 400 to 599")
		}
		f.failure = failure{status: n, typ: errorType(n), message: http.StatusText(n)}
		if n == 529 {
			f.failure.message = "Overloaded"
		}
		p.typeAndMessage(f, &words)
	case "error":
		f.failure = failure{typ: "overloaded_error", message: "Overloaded"}
		p.typeAndMessage(f, &words)
	}
	for len(words) > 0 {
		if err := f.option(take(), take); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// typeAndMessage takes an error type and a quoted message from the words.
func (p *parser) typeAndMessage(f *fault, words *[]string) {
	if w := *words; len(w) > 0 && (strings.HasSuffix(w[0], "_error") || strings.HasSuffix(w[0], "_large")) {
		f.failure.typ, *words = w[0], w[1:]
	}
	if w := *words; len(w) > 0 && strings.HasPrefix(w[0], `"`) {
		if s, ok := asString(json.RawMessage(w[0])); ok {
			f.failure.message, *words = s, w[1:]
		}
	}
}

func (f *fault) option(word string, take func() string) (err error) {
	key, value, isPair := strings.Cut(word, "=")
	switch {
	case word == "always":
		f.times = 0
	case word == "times":
		if f.times, err = strconv.Atoi(take()); err == nil && f.times < 1 {
			err = fmt.Errorf("times %d", f.times)
		}
	case word == "after":
		if f.after, err = strconv.Atoi(take()); err == nil && f.after < 0 {
			err = fmt.Errorf("after %d", f.after)
		}
	case word == "in":
		f.where = take()
		if !slices.Contains([]string{"call", "think", "say"}, f.where) {
			err = fmt.Errorf("in %q: want call, think or say", f.where)
		}
	case word == "plain" && f.kind == "fail":
		f.failure.plain = true
	case isPair && f.kind == "fail":
		f.failure.headers = append(f.failure.headers, [2]string{key, strings.Trim(value, `"`)})
	default:
		return fmt.Errorf("%s: unknown word %q", f.kind, word)
	}
	return err
}

// fields cuts s into words; a JSON string is one word.
func fields(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		if s[0] == '"' {
			dec := json.NewDecoder(strings.NewReader(s))
			var str string
			if dec.Decode(&str) == nil {
				n := dec.InputOffset()
				out = append(out, s[:n])
				s = s[n:]
				continue
			}
		}
		var w string
		w, s = cutWord(s)
		out = append(out, w)
	}
	return out
}
