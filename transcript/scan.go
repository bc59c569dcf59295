package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// The structural scan walks one line once, skipping what it does not need, and
// takes down the members that link entries to each other. It never allocates for
// the body of a message: strings are jumped over with bytes.IndexByte, which is
// what makes the scan run at memory speed.

var (
	errNotObject = errors.New("not a JSON object")
	errTorn      = errors.New("ends inside a value")
	errSyntax    = errors.New("not valid JSON")
)

// span is a half-open range of bytes inside a line.
type span struct{ from, to int32 }

func (s span) empty() bool { return s.to <= s.from }

// shift makes the range count from byte by of what it counted in.
func (s *span) shift(by int) {
	if !s.empty() {
		s.from -= int32(by)
		s.to -= int32(by)
	}
}

// skipSpace returns the first position at or after i that is not JSON white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the position behind the string whose opening quote is at i.
func skipString(b []byte, i int) (int, error) {
	j := i + 1
	for {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return len(b), errTorn
		}
		p := j + k
		n := p - 1
		for n > i && b[n] == '\\' {
			n--
		}
		if (p-1-n)&1 == 0 {
			return p + 1, nil
		}
		j = p + 1
	}
}

// skipValue returns the position behind the value that starts at i. Nesting is
// counted, kinds of brackets are not told apart: the exact grammar is checked by
// [Log.Check], not on every read.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, errTorn
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipContainer(b, i)
	case c == 't' || c == 'f' || c == 'n' || c == '-' || (c >= '0' && c <= '9'):
		return skipLiteral(b, i)
	}
	return i, errSyntax
}

func skipContainer(b []byte, i int) (int, error) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			var err error
			if i, err = skipString(b, i); err != nil {
				return i, err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1, nil
			}
		case 0:
			return i, errSyntax
		}
		i++
	}
	return i, errTorn
}

func skipLiteral(b []byte, i int) (int, error) {
	start := i
	for i < len(b) {
		c := b[i]
		if c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			break
		}
		if c < '+' || c > 'z' {
			return i, errSyntax
		}
		i++
	}
	if c := b[start]; c == 't' || c == 'f' || c == 'n' {
		switch string(b[start:i]) {
		case "true", "false", "null":
		default:
			if i == len(b) {
				return i, errTorn
			}
			return i, errSyntax
		}
	}
	return i, nil
}

// members steps through the members of an object. Use it as
//
//	m := openObject(b, i)
//	for m.next() { … m.key … m.value() or m.at … }
//	if m.err != nil …
//	m.end
type members struct {
	b    []byte
	pos  int
	key  []byte // between the quotes, not unescaped
	at   int    // where the value starts
	end  int    // behind the closing brace once next returned false
	err  error
	open bool // the value at at has not been skipped yet
	any  bool
}

func openObject(b []byte, i int) members {
	m := members{b: b, pos: i}
	if i >= len(b) || b[i] != '{' {
		m.err = errNotObject
		return m
	}
	m.pos = i + 1
	return m
}

// value skips the current value and returns its range.
func (m *members) value() span {
	end, err := skipValue(m.b, m.at)
	m.pos, m.open = end, false
	if err != nil {
		m.err = err
		return span{}
	}
	return span{int32(m.at), int32(end)}
}

// done says that the caller walked the current value itself, up to end.
func (m *members) done(end int, err error) {
	m.pos, m.open = end, false
	if err != nil {
		m.err = err
	}
}

func (m *members) next() bool {
	if m.err != nil {
		return false
	}
	if m.open {
		m.value()
		if m.err != nil {
			return false
		}
	}
	b, i := m.b, skipSpace(m.b, m.pos)
	if i < len(b) && b[i] == '}' {
		m.end = i + 1
		return false
	}
	if m.any {
		if i >= len(b) {
			return m.fail(errTorn, i)
		}
		if b[i] != ',' {
			return m.fail(errSyntax, i)
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) {
		return m.fail(errTorn, i)
	}
	if b[i] != '"' {
		return m.fail(errSyntax, i)
	}
	e, err := skipString(b, i)
	if err != nil {
		return m.fail(err, i)
	}
	m.key = b[i+1 : e-1]
	i = skipSpace(b, e)
	if i >= len(b) {
		return m.fail(errTorn, i)
	}
	if b[i] != ':' {
		return m.fail(errSyntax, i)
	}
	m.at = skipSpace(b, i+1)
	m.open, m.any = true, true
	return true
}

func (m *members) fail(err error, at int) bool {
	m.err, m.pos = err, at
	return false
}

// scanner remembers the strings that repeat from line to line, so that a log of
// a hundred thousand lines keeps one copy of its session id, folder and version.
type scanner struct {
	seen map[string]string
}

// maxInterned bounds the table of repeated strings; past it new values are
// simply not shared.
const maxInterned = 4096

func (s *scanner) intern(v []byte) string {
	if s == nil {
		return string(v)
	}
	if got, ok := s.seen[string(v)]; ok {
		return got
	}
	str := string(v)
	if s.seen == nil {
		s.seen = make(map[string]string)
	}
	if len(s.seen) < maxInterned {
		s.seen[str] = str
	}
	return str
}

// text returns the string whose quoted form stands at sp; "" when it is no string.
func (s *scanner) text(b []byte, sp span, share bool) string {
	v := b[sp.from:sp.to]
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	in := v[1 : len(v)-1]
	if bytes.IndexByte(in, '\\') >= 0 || !utf8.Valid(in) {
		var out string
		if json.Unmarshal(v, &out) != nil {
			return string(bytes.ToValidUTF8(in, []byte("\uFFFD")))
		}
		return out
	}
	if share {
		return s.intern(in)
	}
	return string(in)
}

func isTrue(b []byte, sp span) bool { return string(b[sp.from:sp.to]) == "true" }

// head walks the entry that starts at i and fills h. It returns the position
// behind the entry's closing brace. On an error h holds what was read before it.
func (s *scanner) head(b []byte, i int, h *Head) (int, error) {
	m := openObject(b, i)
	for m.next() {
		switch string(m.key) {
		case "type":
			h.Type = s.text(b, m.value(), true)
		case "subtype":
			h.Subtype = s.text(b, m.value(), true)
		case "uuid":
			h.UUID = s.text(b, m.value(), false)
		case "parentUuid":
			h.HasParent = true
			h.ParentUUID = s.text(b, m.value(), false)
		case "logicalParentUuid":
			h.LogicalParentUUID = s.text(b, m.value(), false)
		case "leafUuid":
			h.LeafUUID = s.text(b, m.value(), false)
		case "sessionId":
			h.SessionID = s.text(b, m.value(), true)
		case "agentId":
			h.AgentID = s.text(b, m.value(), true)
		case "timestamp":
			h.Timestamp = s.text(b, m.value(), false)
		case "cwd":
			h.CWD = s.text(b, m.value(), true)
		case "version":
			h.Version = s.text(b, m.value(), true)
		case "gitBranch":
			h.GitBranch = s.text(b, m.value(), true)
		case "isSidechain":
			h.Sidechain = isTrue(b, m.value())
		case "isMeta":
			h.Meta = isTrue(b, m.value())
		case "isCompactSummary":
			h.CompactSummary = isTrue(b, m.value())
		case "isVisibleInTranscriptOnly":
			h.TranscriptOnly = isTrue(b, m.value())
		case "isApiErrorMessage":
			h.APIError = isTrue(b, m.value())
		case "message":
			s.message(&m, h)
		case "varve":
			h.own = m.value()
		default:
			m.value()
		}
	}
	if m.err != nil {
		return m.pos, m.err
	}
	return m.end, nil
}

// message walks the message member of a user or assistant entry: its id and the
// ids of the tool calls and results in it, which is what [Log.Chain] needs to
// find results that lie beside the path.
func (s *scanner) message(m *members, h *Head) {
	start := m.at
	if start >= len(m.b) || m.b[start] != '{' {
		h.body = m.value()
		return
	}
	in := openObject(m.b, start)
	for in.next() {
		switch string(in.key) {
		case "id":
			h.MessageID = s.text(m.b, in.value(), false)
		case "role":
			h.Role = s.text(m.b, in.value(), true)
		case "content":
			s.content(&in, h)
		default:
			in.value()
		}
	}
	if in.err != nil {
		m.done(in.pos, in.err)
		return
	}
	h.body = span{int32(start), int32(in.end)}
	m.done(in.end, nil)
}

func (s *scanner) content(m *members, h *Head) {
	b, i := m.b, m.at
	if i >= len(b) || b[i] != '[' {
		m.value()
		return
	}
	i = skipSpace(b, i+1)
	for i < len(b) && b[i] != ']' {
		if b[i] != '{' {
			end, err := skipValue(b, i)
			if err != nil {
				m.done(end, err)
				return
			}
			i = end
		} else {
			end, err := s.block(b, i, h)
			if err != nil {
				m.done(end, err)
				return
			}
			i = end
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] != ']' {
			m.done(i, errSyntax)
			return
		}
	}
	if i >= len(b) {
		m.done(i, errTorn)
		return
	}
	m.done(i+1, nil)
}

func (s *scanner) block(b []byte, i int, h *Head) (int, error) {
	var kind, id, result span
	m := openObject(b, i)
	for m.next() {
		switch string(m.key) {
		case "type":
			kind = m.value()
		case "id":
			id = m.value()
		case "tool_use_id":
			result = m.value()
		default:
			m.value()
		}
	}
	if m.err != nil {
		return m.pos, m.err
	}
	switch string(b[kind.from:kind.to]) {
	case `"tool_use"`:
		h.Calls = append(h.Calls, s.text(b, id, false))
	case `"tool_result"`:
		h.Results = append(h.Results, s.text(b, result, false))
	}
	return m.end, nil
}
