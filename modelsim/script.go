package modelsim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// A Script says what the model answers. It is only read after it was parsed, so any number of servers may share one.
type Script struct {
	settings []setting // of models, before the first section
	style    style     // for every reply
	sections []*section
}

// A setting is one line before the first section that concerns a model.
type setting struct {
	model string
	Model
}

// A section is one answer: a turn of the sequence, a rule with conditions, or the default.
type section struct {
	line  int
	kind  string // "turn", "on", "default"
	conds []condition
	times int // how often it is used; 0 = without limit
	acts  []action
	style style
}

// reply reports whether the section answers by itself; otherwise it only injects faults and the next section that fits answers.
func (s *section) reply() bool {
	for _, a := range s.acts {
		if a.fault == nil {
			return true
		}
	}
	return s.style.null || s.style.stop != ""
}

// name is how records call the section.
func (s *section) name() string { return fmt.Sprintf("%s at line %d", s.kind, s.line) }

// An action is one thing of an answer.
type action struct {
	line  int
	verb  string // say, think, redacted, call, block, echo, summarize, fill
	text  string
	calls []toolCall // alternatives of one call; the first that the client offers is made
	n     int
	fault *fault
}

// A toolCall is a tool with its input, a JSON object that may hold ${…}.
type toolCall struct{ name, input string }

// A fault is something that goes wrong, a number of times, before the section's answer is given.
type fault struct {
	kind    string // fail, overflow, drop, end, malformed, hang, error
	failure failure
	after   int    // bytes of the stream; -1 when where counts
	where   string // "call", "think", "say"; "" with after -1: in the middle
	times   int    // 0 = always
}

// A style is how an answer is sent, and what is told beside it.
type style struct {
	delay, slow time.Duration // before the reply, before each event
	split       int           // bytes of one write; -1 = any number, by the seed
	pings       int           // a ping before every n-th event
	events      []string      // unknown events, "NAME JSON", sent after the start
	usage       string        // "zero", or a JSON object of fields to set
	stop        string        // stop reason, and after a blank the stop sequence
	category    string        // of a refusal
	refused     string        // its explanation
	null        bool          // a compaction without its summary
}

// over returns s with what is set in t.
func (s style) over(t style) style {
	if t.delay == 0 {
		t.delay = s.delay
	}
	if t.slow == 0 {
		t.slow = s.slow
	}
	if t.split == 0 {
		t.split = s.split
	}
	if t.pings == 0 {
		t.pings = s.pings
	}
	if t.usage == "" {
		t.usage = s.usage
	}
	t.events = append(append([]string(nil), s.events...), t.events...)
	return t
}

// A condition is one test of an "on" line.
type condition struct {
	what string // last, result, any, system, model, tool, header, tokens, request, every, compaction, count, stream
	arg  string // name of the header or tool
	op   string // ~ = < >
	re   *regexp.Regexp
	n    int
	not  bool
}

// ParseScript reads a script. It may be a txtar archive: the script is the comment before the first file, and "@name" in it stands for
// the text of the file of that name. A script that begins with "[" is JSON. The error names the line.
func ParseScript(text string) (*Script, error) {
	ar := txtar.Parse([]byte(text))
	p := &parser{script: &Script{}, files: map[string]string{}, lines: strings.Split(string(ar.Comment), "\n")}
	for _, f := range ar.Files {
		p.files[f.Name] = string(f.Data)
	}
	if isJSON(ar.Comment) {
		if err := p.json(ar.Comment); err != nil {
			return nil, fmt.Errorf("modelsim: script line %d: %w", p.at, err)
		}
		return p.script, nil
	}
	for p.at < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.at])
		p.at++
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("modelsim: script line %d: %w", p.at, err)
		}
	}
	return p.script, nil
}

// parser is the state of [ParseScript].
type parser struct {
	script *Script
	files  map[string]string
	lines  []string
	at     int // the number of the line at hand, from 1
	open   *section
}

func (p *parser) line(line string) error {
	verb, rest := cutWord(line)
	switch verb {
	case "turn", "on", "default":
		return p.section(verb, rest)
	case "model":
		return p.model(rest)
	case "delay", "slow", "split", "ping", "event", "usage":
		st := &p.script.style
		if p.open != nil {
			st = &p.open.style
		}
		return st.set(verb, rest)
	}
	if p.open == nil {
		return fmt.Errorf("%q before the first turn, on or default", verb)
	}
	return p.action(verb, rest)
}

func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return word, strings.TrimSpace(rest)
}

func (p *parser) section(kind, rest string) error {
	s := &section{line: p.at, kind: kind}
	if kind == "turn" {
		s.times = 1
	}
	if i := strings.LastIndex(rest, "times "); i >= 0 && (i == 0 || rest[i-1] == ' ') {
		n, err := strconv.Atoi(strings.TrimSpace(rest[i+len("times "):]))
		if err == nil {
			if n < 1 {
				return fmt.Errorf("times %d", n)
			}
			s.times, rest = n, strings.TrimSpace(rest[:i])
		}
	}
	if kind != "on" {
		if rest != "" {
			return fmt.Errorf("%s takes no conditions: %q", kind, rest)
		}
	} else if err := s.conditions(rest); err != nil {
		return err
	}
	p.script.sections = append(p.script.sections, s)
	p.open = s
	return nil
}

func (s *section) conditions(rest string) error {
	if rest == "" {
		return fmt.Errorf("on without a condition")
	}
	for rest != "" {
		var c condition
		var err error
		if c, rest, err = parseCondition(rest); err != nil {
			return err
		}
		s.conds = append(s.conds, c)
		if rest == "" {
			break
		}
		and, more := cutWord(rest)
		if and != "and" || more == "" {
			return fmt.Errorf("%q after a condition: want and, with another condition", rest)
		}
		rest = more
	}
	return nil
}

func parseCondition(text string) (c condition, rest string, err error) {
	word, rest := cutWord(text)
	if word == "not" {
		c.not = true
		word, rest = cutWord(rest)
	}
	c.what = word
	switch word {
	case "compaction", "count", "stream", "tools":
		return c, rest, nil
	case "tool":
		c.arg, rest = cutWord(rest)
		if c.arg == "" {
			return c, "", fmt.Errorf("tool without a name")
		}
		return c, rest, nil
	case "tokens", "request", "every":
		return numberCondition(c, rest)
	case "header":
		c.arg, rest = cutWord(rest)
	case "last", "result", "any", "system", "model":
	default:
		return c, "", fmt.Errorf("unknown condition %q", word)
	}
	op, rest := cutWord(rest)
	if op != "~" || !strings.HasPrefix(rest, "/") {
		return c, "", fmt.Errorf("%s: want ~ /regular expression/", word)
	}
	end := 1
	for end < len(rest) && rest[end] != '/' {
		if rest[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(rest) {
		return c, "", fmt.Errorf("%s: the regular expression has no closing /", word)
	}
	c.op = op
	c.re, err = regexp.Compile(strings.ReplaceAll(rest[1:end], `\/`, `/`))
	return c, strings.TrimSpace(rest[end+1:]), err
}

func numberCondition(c condition, rest string) (condition, string, error) {
	word, rest := cutWord(rest)
	c.op = "="
	if word == "<" || word == ">" || word == "=" {
		c.op = word
		word, rest = cutWord(rest)
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || c.what == "every" && n < 1 {
		return c, "", fmt.Errorf("%s: want a number, got %q", c.what, word)
	}
	c.n = n
	return c, rest, nil
}

// model reads "NAME key value …".
func (p *parser) model(rest string) error {
	name, rest := cutWord(rest)
	m := Model{}
	if name == "" {
		return fmt.Errorf("model without a name")
	}
	for rest != "" {
		var key, value string
		key, rest = cutWord(rest)
		value, rest = cutWord(rest)
		f, err := strconv.ParseFloat(value, 64)
		n := int(f)
		switch key {
		case "window":
			m.Window = n
		case "true":
			m.TrueWindow = n
		case "output":
			m.MaxOutput = n
		case "mincache":
			m.MinCache = n
		case "factor":
			m.Factor = f
		case "sum":
			m.SumLimit, err = strconv.ParseBool(value)
		case "bound":
			var b bool
			b, err = strconv.ParseBool(value)
			m.Bound = &b
		default:
			return fmt.Errorf("model: unknown key %q", key)
		}
		if err != nil || n < 0 {
			return fmt.Errorf("model: %s is %q", key, value)
		}
	}
	p.script.settings = append(p.script.settings, setting{name, m})
	return nil
}

func (s *style) set(verb, rest string) (err error) {
	switch verb {
	case "delay":
		s.delay, err = time.ParseDuration(rest)
	case "slow":
		s.slow, err = time.ParseDuration(rest)
	case "split":
		if s.split, err = strconv.Atoi(rest); rest == "random" {
			s.split, err = -1, nil
		} else if err == nil && s.split < 1 {
			err = fmt.Errorf("split %s", rest)
		}
	case "ping":
		if s.pings, err = strconv.Atoi(rest); err == nil && s.pings < 1 {
			err = fmt.Errorf("ping %s", rest)
		}
	case "event":
		if name, data := cutWord(rest); name == "" || !json.Valid([]byte(data)) {
			return fmt.Errorf("event: want a name and JSON")
		}
		s.events = append(s.events, rest)
	case "usage":
		if o, e := parseObject([]byte(rest)); rest != "zero" && (e != nil || len(o) == 0) {
			return fmt.Errorf("usage: want zero or a JSON object")
		}
		s.usage = rest
	}
	return err
}
