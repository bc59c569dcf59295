package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"varve.dev/transcript"
)

// Format names the agent whose recording a file is.
type Format string

// The formats that can be read.
const (
	Codex    Format = "codex"    // a rollout of Codex, one record a line
	Gemini   Format = "gemini"   // a session of the Gemini CLI: one JSON document, in newer versions one record a line
	OpenCode Format = "opencode" // what `opencode export` prints, one JSON document
	Pi       Format = "pi"       // a session of pi, one record a line
)

// Session is what was read of a recording.
type Session struct {
	Format  Format
	ID      string // as the agent names it; "" when nothing tells
	CWD     string // directory the session started in
	Title   string // "" when the agent recorded none
	Version string // of the agent
	Model   string // of the newest reply that says
	Parent  string // session that started or was forked into this one; "" for none
	Started time.Time

	// Instructions is the agent's own system prompt where it is recorded. It is no
	// part of the conversation.
	Instructions string

	// Entries are in the order of the recording; each but the roots names its parent.
	// The last chain entry is where the conversation stands. They carry their bytes.
	Entries []*transcript.Entry

	Faults  []Fault        // what could not be read, in order
	Skipped map[string]int // what was read and has no place in a conversation, by the agent's name for it
}

// Log puts the entries into a log in memory.
func (s *Session) Log() *transcript.Log {
	l := &transcript.Log{}
	for _, e := range s.Entries {
		l.Add(e)
	}
	return l
}

// Fault is one place in a recording that could not be read.
type Fault struct {
	Line   int    `json:"line,omitempty"` // 1-based, of recordings in lines
	Path   string `json:"path,omitempty"` // of documents: messages[3].parts[1]
	Detail string `json:"detail"`
}

func (f Fault) String() string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d: %s", f.Line, f.Detail)
	}
	if f.Path != "" {
		return f.Path + ": " + f.Detail
	}
	return f.Detail
}

// Options are limits. The zero value takes the defaults.
type Options struct {
	Name string // of the file, without which some facts of a damaged recording are lost

	// MaxValue bounds one line, or one document as a whole, in bytes; 0 means
	// DefaultMaxValue. A longer line is skipped and named, a longer document is
	// refused.
	MaxValue int64
}

// DefaultMaxValue is 512 MiB: decoded, a value takes about three times its size,
// which a machine that runs an agent still has.
const DefaultMaxValue = 512 << 20

// ErrFormat says that a file is no recording that this package reads.
var ErrFormat = errors.New("not a session of Codex, Gemini CLI, opencode or pi")

// TooLargeError says that a document is larger than the limit.
type TooLargeError struct{ Size, Max int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the document has %d bytes, more than the %d that are read as one; export a shorter session", e.Size, e.Max)
}

// headSize is how much of a file Open shows to Detect. Codex puts its whole system
// prompt into the first line; 20 kB are usual.
const headSize = 256 << 10

// Detect tells the format of a recording from its beginning and, for one whose
// beginning is damaged, from its name.
func Detect(head []byte, name string) (Format, bool) {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	first := bytes.TrimLeft(head, " \t\r\n\x00")
	if len(first) > 0 && first[0] == '{' {
		if f, ok := detectDocument(first); ok {
			return f, true
		}
	}
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		if f, ok := detectLine(bytes.Trim(line, " \t\r\x00")); ok {
			return f, true
		}
	}
	if base := path.Base(strings.ReplaceAll(name, `\`, "/")); rolloutName.MatchString(base) && len(first) > 0 {
		return Codex, true
	}
	return "", false
}

// rolloutName is how Codex names its files; the session id ends it.
var rolloutName = regexp.MustCompile(`^rollout-.*([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl$`)

// detectLine tells the format of a recording in lines from one of them.
func detectLine(line []byte) (Format, bool) {
	if len(line) == 0 || line[0] != '{' {
		return "", false
	}
	var r struct {
		Type         string
		ID, Cwd      string
		Timestamp    json.RawMessage
		Payload      json.RawMessage
		Message      struct{ Role string }
		UUID         string `json:"uuid"`
		Git          json.RawMessage
		Instructions json.RawMessage
		SessionID    string `json:"sessionId"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		// A first line longer than the head.
		if bytes.Contains(line[:min(len(line), 400)], []byte(`"type":"session_meta"`)) {
			return Codex, true
		}
		return "", false
	}
	switch {
	case r.UUID != "" || r.SessionID != "":
		return "", false // the reference's
	case r.Type == "" && r.ID != "" && r.Git != nil && r.Instructions != nil:
		return Codex, true // the header of the first versions
	case len(r.Payload) > 0 && r.Payload[0] == '{':
		switch r.Type {
		case "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state":
			return Codex, true
		}
	case r.Type == "session" && r.ID != "" && len(r.Timestamp) > 0,
		r.Type == "message" && r.Message.Role != "" && len(r.Timestamp) > 0:
		return Pi, true
	}
	return "", false
}

// detectDocument reads the members of a document as far as the head goes.
func detectDocument(head []byte) (Format, bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	seen := map[string]bool{}
	for len(seen) < 32 {
		t, err := dec.Token()
		key, isKey := t.(string)
		if err != nil || !isKey {
			break
		}
		seen[key] = true
		if key == "info" && opencodeInfo(dec) {
			return OpenCode, true
		}
		if key == "info" {
			continue
		}
		if key == "messages" && !seen["sessionId"] && !seen["projectHash"] {
			return detectMessages(dec)
		}
		if key == "messages" {
			break
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			break
		}
	}
	if seen["sessionId"] && (seen["projectHash"] || seen["startTime"] || seen["messages"]) && !seen["uuid"] && !seen["type"] {
		return Gemini, true
	}
	return "", false
}

// opencodeInfo reports whether the next value is the info of an opencode session.
func opencodeInfo(dec *json.Decoder) bool {
	var info struct{ ID, ProjectID, Directory, Slug string }
	return dec.Decode(&info) == nil && (strings.HasPrefix(info.ID, "ses_") || info.ProjectID != "" || info.Directory != "")
}

// detectMessages tells the format of a document that begins with its messages.
func detectMessages(dec *json.Decoder) (Format, bool) {
	if t, err := dec.Token(); err != nil || t != json.Delim('[') || !dec.More() {
		return "", false
	}
	var m struct {
		Info  struct{ Role, SessionID string }
		Parts json.RawMessage
		Type  string
		ID    string
	}
	switch {
	case dec.Decode(&m) != nil:
	case len(m.Parts) > 0 && m.Info.Role != "":
		return OpenCode, true
	case m.ID != "" && (m.Type == "user" || m.Type == "gemini"):
		return Gemini, true
	}
	return "", false
}

// OpenFile reads the recording at path; opt.Name need not be set. Beside the errors
// of Open it has those of opening. What is no regular file is not opened: a pipe
// would wait for somebody who writes.
func OpenFile(ctx context.Context, path string, opt Options) (s *Session, err error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("foreign: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("foreign: %s: %w", path, ErrFormat)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("foreign: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			s, err = nil, fmt.Errorf("foreign: %w", cerr)
		}
	}()
	opt.Name = path
	return Open(ctx, f, st.Size(), opt)
}

// Open reads a recording of any of the formats. The error is ErrFormat for
// anything else, *TooLargeError, one of reading, or the context's; damage inside
// a recording is in Session.Faults.
func Open(ctx context.Context, src io.ReaderAt, size int64, opt Options) (*Session, error) {
	if opt.MaxValue <= 0 {
		opt.MaxValue = DefaultMaxValue
	}
	head := make([]byte, min(size, headSize))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("foreign: read: %w", err)
	}
	f, ok := Detect(head[:n], opt.Name)
	if !ok {
		return nil, fmt.Errorf("foreign: %w", ErrFormat)
	}
	b := newBuilder(f)
	r := io.NewSectionReader(src, 0, size)
	switch f {
	case Codex:
		c := &codex{b: b, said: map[string][]string{}}
		err = lines(ctx, b, r, opt.MaxValue, c.line)
		c.end(opt.Name)
	case Pi:
		p := &pi{b: b, at: map[string]*piNode{}}
		err = lines(ctx, b, r, opt.MaxValue, p.line)
		p.end()
	case Gemini:
		if geminiLines(head[:n]) {
			g := &geminiLog{gemini: gemini{b: b}, at: map[string]int{}}
			err = lines(ctx, b, r, opt.MaxValue, g.line)
			g.end()
			break
		}
		err = b.document(ctx, r, size, opt.MaxValue, &gemini{b: b})
	case OpenCode:
		err = b.document(ctx, r, size, opt.MaxValue, &opencode{b: b})
	}
	if err != nil {
		return nil, err
	}
	return b.s, nil
}
