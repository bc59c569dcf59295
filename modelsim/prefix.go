package modelsim

// A lane is a main conversation as far as it can be told from outside: one key, one model, with or without tools.
type lane struct {
	seen     map[sum]int // tokens up to the end of every prefix that was sent
	previous []sum       // the prefixes of the last request
	pieces   []piece
	tokens   int
}

// The limits of a break are those of the measurements that results are compared with.
const (
	breakShare   = 97 // percent of the request before
	shorterShare = 70
)

// observe notes what was sent: the needles in it, and whether it extends what was sent before.
func (s *Server) observe(c *call, rec *Request) {
	c.sent = c.whole()
	rec.SentTokens = total(c.sent)
	if rec.Side {
		return
	}
	found := map[string]bool{}
	for _, n := range needle.FindAllString(c.allText(), -1) {
		found[n] = true
		s.shown[n] = true
	}
	rec.Needles, rec.Shown = len(found), len(s.shown)
	kind := "tools"
	if len(c.tools) == 0 {
		kind = "plain"
	}
	name := string(marshal([]string{c.key, c.model.canonical, kind}))
	l := s.lanes[name]
	first := l == nil
	if first {
		l = &lane{seen: map[sum]int{}}
		s.lanes[name] = l
	}
	prefixes, ends := make([]sum, len(c.sent)), make([]int, len(c.sent))
	h, n := sumOf([]byte(name)), 0
	for i, p := range c.sent {
		h = h.then([]byte(itoa(p.section)), p.sum[:])
		n += p.tokens
		prefixes[i], ends[i] = h, n
	}
	shared := 0
	for i := len(prefixes) - 1; i >= 0; i-- {
		if _, ok := l.seen[prefixes[i]]; ok {
			shared = ends[i]
			break
		}
	}
	if !first && shared*100 < l.tokens*breakShare {
		rec.Break = l.broken(prefixes, c.sent, rec.N, shared)
		rec.Break.Shorter = n*100 < l.tokens*shorterShare
	}
	for i, p := range prefixes {
		l.seen[p] = ends[i]
	}
	l.previous, l.pieces, l.tokens = prefixes, c.sent, n
}

// broken says where the request is first different from the one before.
func (l *lane) broken(prefixes []sum, pieces []piece, number, shared int) *Break {
	b := &Break{Request: number, Shared: shared, Previous: l.tokens}
	at := 0
	for at < len(prefixes) && at < len(l.previous) && prefixes[at] == l.previous[at] {
		at++
	}
	var p piece
	switch {
	case at < len(pieces):
		p = pieces[at]
	case at < len(l.pieces):
		p = l.pieces[at]
	default:
		return b
	}
	b.Path = p.path
	b.Cause = [...]string{"tools", "system", "messages"}[p.section]
	if at < len(l.pieces) && l.pieces[at].section < p.section {
		b.Cause = [...]string{"tools", "system", "messages"}[l.pieces[at].section] // something at the end of the section is gone
	}
	return b
}

// A fingerprint is what diagnostics remember of a request that was answered.
type fingerprint struct {
	model    string
	sections [3]sum // tools, system, and the messages' prefix
	messages []sum
	tokens   int
}

func (s *Server) remember(id string, c *call) {
	s.prints[id] = c.fingerprint()
}

func (c *call) fingerprint() *fingerprint {
	p := &fingerprint{model: c.model.canonical, tokens: total(c.prompt)}
	for _, x := range c.prompt {
		if x.section < inMessages {
			p.sections[x.section] = p.sections[x.section].then(x.sum[:])
		} else {
			p.messages = append(p.messages, x.sum)
		}
	}
	return p
}

// missReason compares the request with the one that diagnostics name (API.md 1.7).
func (s *Server) missReason(c *call) *missReason {
	id := c.body.obj("diagnostics").str("previous_message_id")
	if id == "" {
		return nil
	}
	was, ok := s.prints[id]
	if !ok {
		return &missReason{Type: "previous_message_not_found"}
	}
	now := c.fingerprint()
	reason := ""
	switch {
	case was.model != now.model:
		reason = "model_changed"
	case was.sections[inTools] != now.sections[inTools]:
		reason = "tools_changed"
	case was.sections[inSystem] != now.sections[inSystem]:
		reason = "system_changed"
	case len(now.messages) < len(was.messages):
		reason = "messages_changed"
	default:
		for i, m := range was.messages {
			if now.messages[i] != m {
				reason = "messages_changed"
			}
		}
	}
	if reason == "" {
		return nil
	}
	missed := was.tokens
	return &missReason{reason, &missed}
}
