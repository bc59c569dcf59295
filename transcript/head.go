package transcript

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The structural scan walks a line once, skipping what it does not need, and takes
// down the members that link entries to each other (Head). It never allocates for
// the body of a message.

// scanner remembers what repeats from line to line, so that a log of a hundred
// thousand lines keeps one copy of its session id, folder and version, and looks
// at the members that all lines of a session share once. A nil scanner remembers
// nothing.
type scanner struct {
	seen map[string]string
	runs [4]run // the ones found last first

	arena       *strings.Builder // holds the strings that do not repeat
	ids         []string         // holds the lists of one id
	lastUUID    string           // the uuid of the record before: most often the next one's parent
	lastMessage string           // message.id of the part before
	lastUsage   []byte           // its usage, which most parts of a reply repeat
}

const (
	// maxInterned bounds the table of repeated strings; past it new values are
	// simply not shared.
	maxInterned = 4096
	// minRun and maxRun bound a run that is remembered: about 250 bytes in real logs.
	minRun, maxRun = 64, 2048
	// minArena and maxArena bound the pieces of memory for short strings. A log of
	// a few lines should not hold 64 KiB.
	minArena, maxArena = 1 << 10, 64 << 10
)

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

// hold copies v to where the short strings of a log lie together.
func (s *scanner) hold(v []byte) string {
	if s == nil || len(v) > minArena {
		return string(v)
	}
	if s.arena == nil || s.arena.Cap()-s.arena.Len() < len(v) {
		size := minArena
		if s.arena != nil {
			size = min(2*s.arena.Cap(), maxArena)
		}
		s.arena = new(strings.Builder)
		s.arena.Grow(size)
	}
	at := s.arena.Len()
	s.arena.Write(v)
	return s.arena.String()[at:]
}

// list returns a list of one id. What is appended to it later moves elsewhere.
func (s *scanner) list(id string) []string {
	if s == nil {
		return []string{id}
	}
	if len(s.ids) == cap(s.ids) {
		s.ids = make([]string, 0, min(max(8, 2*cap(s.ids)), 1024))
	}
	s.ids = append(s.ids, id)
	return s.ids[len(s.ids)-1 : len(s.ids) : len(s.ids)]
}

// plainText returns what is between the quotes of the string at sp, and whether it
// is the string itself; false when it has to be decoded or is none.
func plainText(b []byte, sp span) ([]byte, bool) {
	if sp.to-sp.from < 2 || b[sp.from] != '"' {
		return nil, false
	}
	in := b[sp.from+1 : sp.to-1]
	i := 0
	for ; i+8 <= len(in); i += 8 {
		w := binary.LittleEndian.Uint64(in[i:])
		x := w ^ '\\'*eachByte
		if (w|(x-eachByte)&^x)&highBits != 0 {
			return nil, false
		}
	}
	for ; i < len(in); i++ {
		if in[i] == '\\' || in[i] >= utf8.RuneSelf {
			return nil, false
		}
	}
	return in, true
}

// decodeText is for the strings that plainText does not take; "" when there is
// none at sp.
func decodeText(b []byte, sp span) string {
	v := b[sp.from:sp.to]
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	in := v[1 : len(v)-1]
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in)
	}
	var out string
	if json.Unmarshal(v, &out) != nil {
		return string(bytes.ToValidUTF8(in, []byte("\uFFFD")))
	}
	return out
}

// text returns the string whose quoted form stands at sp; "" when it is no string.
func (s *scanner) text(b []byte, sp span) string {
	if in, ok := plainText(b, sp); ok {
		return s.hold(in)
	}
	return decodeText(b, sp)
}

// word is text for strings that repeat.
func (s *scanner) word(b []byte, sp span) string {
	in, ok := plainText(b, sp)
	if !ok {
		return decodeText(b, sp)
	}
	switch string(in) {
	case TypeUser:
		return TypeUser
	case TypeAssistant:
		return TypeAssistant
	case TypeSystem:
		return TypeSystem
	case TypeAttachment:
		return TypeAttachment
	case TypeProgress:
		return TypeProgress
	}
	return s.intern(in)
}

// like is text for a string that is most often the same as last.
func (s *scanner) like(last string, b []byte, sp span) string {
	if in, ok := plainText(b, sp); ok {
		if string(in) == last {
			return last
		}
		return s.hold(in)
	}
	return decodeText(b, sp)
}

func isTrue(b []byte, sp span) bool { return string(b[sp.from:sp.to]) == "true" }

// run is a row of members that stood together in a line, such as
// "userType":…,"cwd":…,"sessionId":…,"version":…,"gitBranch":…: the same bytes
// stand in the next line, most often, and mean the same there.
type run struct {
	bytes []byte // from the first name's quote to the last value's
	sets  uint8  // which of the following it sets

	sidechain                              bool
	agentID, cwd, session, version, branch string
}

const (
	setsSidechain = 1 << iota
	setsAgent
	setsCWD
	setsSession
	setsVersion
	setsBranch
)

// replay sets the members of a remembered run that starts at byte i, and returns
// where it ends; 0 when none does. A run ends with the quote of a string, so what
// follows it cannot change what its bytes mean.
func (s *scanner) replay(b []byte, i int, h *Head) int {
	if s == nil {
		return 0
	}
	for k := range s.runs {
		r := &s.runs[k]
		if len(r.bytes) > 0 && bytes.HasPrefix(b[i:], r.bytes) {
			r.apply(h)
			end := i + len(r.bytes)
			if k > 0 {
				s.runs[0], s.runs[k] = s.runs[k], s.runs[0]
			}
			return end
		}
	}
	return 0
}

func (r *run) apply(h *Head) {
	if r.sets&setsSidechain != 0 {
		h.Sidechain = r.sidechain
	}
	if r.sets&setsAgent != 0 {
		h.AgentID = r.agentID
	}
	if r.sets&setsCWD != 0 {
		h.CWD = r.cwd
	}
	if r.sets&setsSession != 0 {
		h.SessionID = r.session
	}
	if r.sets&setsVersion != 0 {
		h.Version = r.version
	}
	if r.sets&setsBranch != 0 {
		h.GitBranch = r.branch
	}
}

// remember keeps a run: its bytes and what they set in h.
func (s *scanner) remember(b []byte, sets uint8, h *Head) {
	if s == nil || len(b) < minRun || len(b) > maxRun || b[len(b)-1] != '"' {
		return
	}
	copy(s.runs[1:], s.runs[:len(s.runs)-1])
	s.runs[0] = run{bytes: bytes.Clone(b), sets: sets, sidechain: h.Sidechain, agentID: h.AgentID,
		cwd: h.CWD, session: h.SessionID, version: h.Version, branch: h.GitBranch}
}

// head walks the entry that starts at i and fills h. It returns the position
// behind the entry's closing brace. On an error h holds what was read before it.
func (s *scanner) head(b []byte, i int, h *Head) (int, error) {
	m := openObject(b, i)
	from, to := -1, 0 // a run that is not remembered yet
	var sets uint8
	for m.next() {
		switch string(m.key) {
		case "isSidechain", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId":
			if from < 0 {
				if end := s.replay(b, m.from, h); end > 0 {
					m.done(end, nil)
					continue
				}
				from, sets = m.from, 0
			}
			sets |= s.shared(&m, h)
			to = m.pos
			continue
		}
		if from >= 0 {
			s.remember(b[from:to], sets, h)
			from = -1
		}
		s.member(&m, h)
	}
	if m.err != nil {
		return m.pos, m.err
	}
	if from >= 0 {
		s.remember(b[from:to], sets, h)
	}
	return m.end, nil
}

// shared takes down a member that may be part of a run, and says which.
func (s *scanner) shared(m *members, h *Head) uint8 {
	key := m.key
	sp := m.value()
	switch string(key) {
	case "isSidechain":
		h.Sidechain = isTrue(m.b, sp)
		return setsSidechain
	case "agentId":
		h.AgentID = s.word(m.b, sp)
		return setsAgent
	case "cwd":
		h.CWD = s.word(m.b, sp)
		return setsCWD
	case "sessionId":
		h.SessionID = s.word(m.b, sp)
		return setsSession
	case "version":
		h.Version = s.word(m.b, sp)
		return setsVersion
	case "gitBranch":
		h.GitBranch = s.word(m.b, sp)
		return setsBranch
	}
	return 0
}

// member takes down a member that is not part of a run.
func (s *scanner) member(m *members, h *Head) {
	b := m.b
	switch string(m.key) {
	case "type":
		h.Type = s.word(b, m.value())
	case "subtype":
		h.Subtype = s.word(b, m.value())
	case "uuid":
		h.UUID = s.text(b, m.value())
		if s != nil {
			s.lastUUID = h.UUID
		}
	case "parentUuid":
		last := ""
		if s != nil {
			last = s.lastUUID
		}
		sp := m.value()
		h.HasParent = m.err == nil // a value that breaks off says nothing
		h.ParentUUID = s.like(last, b, sp)
	case "logicalParentUuid":
		h.LogicalParentUUID = s.text(b, m.value())
	case "leafUuid":
		h.LeafUUID = s.text(b, m.value())
	case "timestamp":
		h.Timestamp = s.text(b, m.value())
	case "isMeta":
		h.Meta = isTrue(b, m.value())
	case "isCompactSummary":
		h.CompactSummary = isTrue(b, m.value())
	case "isVisibleInTranscriptOnly":
		h.TranscriptOnly = isTrue(b, m.value())
	case "isApiErrorMessage":
		h.APIError = isTrue(b, m.value())
	case "message":
		s.message(m, h)
	case "varve":
		h.own = m.value()
	case "forkedFrom":
		m.value()
		h.forked = true
	default:
		m.value()
	}
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
			h.MessageID = s.messageID(m.b, in.value())
		case "role":
			h.Role = s.word(m.b, in.value())
		case "content":
			s.content(&in, h)
		case "usage":
			s.usage(&in)
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
		h.Calls = s.add(h.Calls, s.text(b, id))
	case `"tool_result"`:
		h.Results = s.add(h.Results, s.text(b, result))
	}
	return m.end, nil
}

func (s *scanner) add(ids []string, id string) []string {
	if ids == nil {
		return s.list(id)
	}
	return append(ids, id)
}

func (s *scanner) messageID(b []byte, sp span) string {
	if s == nil {
		return s.text(b, sp)
	}
	s.lastMessage = s.like(s.lastMessage, b, sp)
	return s.lastMessage
}

// usage skips the usage object of a message.
func (s *scanner) usage(m *members) {
	if s == nil {
		m.value()
		return
	}
	if u := s.lastUsage; len(u) > 0 && bytes.HasPrefix(m.b[m.at:], u) {
		m.done(m.at+len(u), nil) // an object ends with its brace, whatever follows
		return
	}
	if sp := m.value(); m.err == nil && m.b[sp.from] == '{' && sp.to-sp.from <= maxRun {
		s.lastUsage = append(s.lastUsage[:0], m.b[sp.from:sp.to]...)
	}
}
