package modelsim

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// A choice is the section that answers a request, and what its conditions captured.
type choice struct {
	section *section
	groups  map[string]string
	fault   *fault // what goes wrong this time; nil when nothing does
	use     int    // which use of the section this is, from 1
}

// sectionState is how far a server is with a section.
type sectionState struct {
	used  int
	fired map[*fault]int
}

// echo answers where the script says nothing.
var echo = &section{kind: "echo", acts: []action{{verb: "echo"}}}

// compact answers a request for a summary where the script says nothing.
var compactSection = &section{kind: "compaction", acts: []action{{verb: "summarize"}}}

// choose finds the section that answers: the first rule that fits, then the next turn, then the default, then the echo. Requests for a
// summary, and to count tokens, take no turn. It counts what it uses.
func (s *Server) choose(c *call, number, prompt int) *choice {
	sequence := !c.wantsCompaction() && !c.isCount()
	for _, kind := range []string{"on", "turn", "default"} {
		for _, sec := range s.script.sections {
			if sec.kind != kind || kind != "on" && !sequence {
				continue
			}
			if ch := s.try(sec, c, number, prompt); ch != nil {
				return ch
			}
		}
	}
	if c.wantsCompaction() {
		return &choice{section: compactSection, use: 1}
	}
	return &choice{section: echo, use: 1}
}

// try uses the section, when it fits and has something left to do.
func (s *Server) try(sec *section, c *call, number, prompt int) *choice {
	st := s.states[sec]
	if st == nil {
		st = &sectionState{fired: map[*fault]int{}}
		s.states[sec] = st
	}
	if sec.times > 0 && st.used >= sec.times || c.isCount() && !sec.counts() {
		return nil
	}
	groups := map[string]string{}
	for _, cond := range sec.conds {
		if cond.holds(c, number, prompt, groups) == cond.not {
			return nil
		}
	}
	ch := &choice{section: sec, groups: groups, use: st.used + 1}
	for _, a := range sec.acts {
		if f := a.fault; f != nil && (f.times == 0 || st.fired[f] < f.times) {
			st.fired[f]++
			ch.fault = f
			return ch
		}
	}
	if !sec.reply() {
		return nil
	}
	st.used++
	clear(st.fired)
	return ch
}

// counts reports whether the section is for requests to count tokens.
func (s *section) counts() bool {
	for _, c := range s.conds {
		if c.what == "count" && !c.not {
			return true
		}
	}
	return false
}

// holds tells whether the condition is true of the request. What a regular expression captured goes to groups.
func (cond *condition) holds(c *call, number, prompt int, groups map[string]string) bool {
	switch cond.what {
	case "compaction":
		return c.wantsCompaction()
	case "count":
		return c.isCount()
	case "stream":
		return c.body.flag("stream")
	case "tools":
		return len(c.tools) > 0
	case "tool":
		return c.hasTool(cond.arg)
	case "tokens":
		return cond.compare(prompt)
	case "request":
		return cond.compare(number)
	case "every":
		return number%cond.n == 0
	}
	m := cond.re.FindStringSubmatch(cond.subject(c))
	if m == nil {
		return false
	}
	if !cond.not {
		for i, g := range m {
			groups[strconv.Itoa(i)] = g
			if name := cond.re.SubexpNames()[i]; name != "" {
				groups[name] = g
			}
		}
	}
	return true
}

func (cond *condition) compare(n int) bool {
	switch cond.op {
	case "<":
		return n < cond.n
	case ">":
		return n > cond.n
	}
	return n == cond.n
}

// subject is the text that the condition's expression is tried on.
func (cond *condition) subject(c *call) string {
	switch cond.what {
	case "last":
		var s []string
		for _, b := range c.lastTurn() {
			if b.Type == "text" {
				s = append(s, b.Text)
			}
		}
		return strings.Join(s, "\n")
	case "result":
		return c.lastResults()
	case "system":
		var s []string
		for _, b := range c.system {
			s = append(s, b.Text)
		}
		return strings.Join(s, "\n")
	case "model":
		return c.body.str("model")
	case "header":
		return strings.Join(c.header.Values(cond.arg), ",")
	}
	return c.allText()
}

// placeholder is ${name} or ${name+number}.
var placeholder = regexp.MustCompile(`\$\{([A-Za-z0-9_]+)([+-][0-9]+)?\}`)

// expand replaces the placeholders of a text: groups of the conditions, n (the number of the request), use (of the section), last (the
// user's last text) and result (of the last tool results). With a number behind it the value, a number, is added to.
func (ch *choice) expand(text string, c *call, number int) string {
	if !strings.Contains(text, "${") {
		return text
	}
	values := map[string]string{"n": strconv.Itoa(number), "use": strconv.Itoa(ch.use)}
	maps.Copy(values, ch.groups)
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		m := placeholder.FindStringSubmatch(p)
		v, ok := values[m[1]]
		switch {
		case ok:
		case m[1] == "last":
			v = c.lastText()
		case m[1] == "result":
			v = c.lastResults()
		default:
			return p
		}
		if m[2] != "" {
			have, err := strconv.Atoi(v)
			more, _ := strconv.Atoi(m[2])
			if err != nil {
				return p
			}
			v = strconv.Itoa(have + more)
		}
		return v
	})
}
