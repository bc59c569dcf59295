package export

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"varve.dev/internal/term"
	"varve.dev/message"
	"varve.dev/transcript"
)

// Format names the shape that [JSON] writes. Members may be added under the
// same name; a member is never removed or given another meaning.
const Format = "varve-session/1"

// jsonSession is the member "session" of a JSON export.
type jsonSession struct {
	ID        string             `json:"id"`
	Title     string             `json:"title,omitempty"`
	Tag       string             `json:"tag,omitempty"`
	CWD       string             `json:"cwd,omitempty"`
	Branch    string             `json:"gitBranch,omitempty"`
	Version   string             `json:"version,omitempty"`
	First     string             `json:"first,omitempty"`
	Last      string             `json:"last,omitempty"`
	PR        *transcript.PRLink `json:"pr,omitempty"`
	Leaf      string             `json:"leafUuid,omitempty"`
	Usage     Usage              `json:"usage"`
	Redacted  bool               `json:"redacted"`
	WithMedia bool               `json:"withMedia"`
}

type jsonAgent struct {
	ID          string `json:"id"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt,omitempty"`
	Messages    int    `json:"messages"`
	First       string `json:"first,omitempty"`
	Last        string `json:"last,omitempty"`
}

// JSON writes the session as one JSON object, each entry on a line of its own:
//
//	{"format":"varve-session/1",
//	"session":{"id","title","tag","cwd","gitBranch","version","first","last","pr","leafUuid",
//	  "usage":{"replies","input","cacheRead","cacheWrite","output"},"redacted","withMedia"},
//	"entries":[…],
//	"others":[…],
//	"agents":[{"id","type","description","prompt","messages","first","last"}],
//	"redactions":[{"rule","line"}]}
//
// Entries are the conversation from its first entry to leafUuid, others what
// else the log has: other branches and side entries (titles, file history), in
// the order of the file. Both hold the objects of the log: order of members and
// text of numbers are kept, and whatever is unknown. What differs from the log:
// secrets are redacted; unless images are embedded, their base64 text gives way
// to a note of its size; what is not Unicode is U+FFFD. Members of session that
// are not known are left out. Times are RFC 3339 in UTC; line counts in the log
// from 1, and is 0 for the session itself.
func JSON(w io.Writer, s *Session, opt Options) (Report, error) {
	j := jsonWriter{w: w, red: newRedactor(opt), opt: opt}
	head := j.session(s)
	j.put(`{"format":` + string(message.AppendString(nil, Format)) + ",\n\"session\":")
	j.value(head)
	var others []*transcript.Entry
	for _, sec := range s.Sections {
		if sec.Kind == SectionMain {
			j.entries("entries", sec.Entries)
		} else {
			others = append(others, sec.Entries...)
		}
	}
	j.entries("others", inFileOrder(append(others, s.Side...)))
	j.red.line = 0
	j.put(",\n\"agents\":")
	j.value(j.agents(s.Agents))
	j.put(",\n\"redactions\":")
	j.value(append([]Redaction{}, j.red.list...))
	j.put("}\n")
	if j.err != nil {
		return Report{}, fmt.Errorf("export: %w", j.err)
	}
	return Report{Entries: j.shown, Redactions: j.red.list}, nil
}

// jsonWriter writes parts and remembers the first error.
type jsonWriter struct {
	w     io.Writer
	red   *redactor
	opt   Options
	shown int
	err   error
}

func (j *jsonWriter) put(s string) { j.bytes([]byte(s)) }

func (j *jsonWriter) bytes(p []byte) {
	if j.err == nil {
		_, j.err = j.w.Write(p)
	}
}

// value writes one of our own values, redacted.
func (j *jsonWriter) value(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		j.err = err
		return
	}
	j.bytes(j.red.json(raw))
}

func (j *jsonWriter) entries(name string, entries []*transcript.Entry) {
	j.put(",\n\"" + name + "\":[")
	for i, e := range entries {
		if i > 0 {
			j.put(",")
		}
		j.put("\n")
		j.entry(e)
		if j.err != nil {
			return
		}
	}
	j.put("]")
}

func (j *jsonWriter) entry(e *transcript.Entry) {
	raw, err := e.Raw()
	if err != nil {
		j.err = err
		return
	}
	if !j.opt.EmbedImages {
		raw = withoutMedia(raw)
	}
	j.red.at(e)
	j.bytes(j.red.json(message.FixUnicode(raw)))
	j.shown++
}

func (j *jsonWriter) session(s *Session) jsonSession {
	l := s.Lite
	out := jsonSession{ID: s.ID, Title: l.Title, Tag: l.Tag, CWD: l.FirstCWD, Branch: l.Branch, Version: l.Version, First: stamp(l.First), Last: stamp(l.Last),
		PR: l.PR, Usage: s.Usage, Redacted: !j.opt.Secrets, WithMedia: j.opt.EmbedImages}
	for _, sec := range s.Sections {
		if n := len(sec.Entries); sec.Kind == SectionMain && n > 0 {
			out.Leaf = sec.Entries[n-1].UUID
		}
	}
	return out
}

func (j *jsonWriter) agents(agents []Agent) []jsonAgent {
	out := []jsonAgent{}
	for _, a := range agents {
		out = append(out, jsonAgent{a.ID, a.Type, a.Description, term.Line(j.red.text(a.Prompt), 1000), a.Messages, stamp(a.First), stamp(a.Last)})
	}
	return out
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// inFileOrder sorts entries by their place in the log.
func inFileOrder(entries []*transcript.Entry) []*transcript.Entry {
	slices.SortStableFunc(entries, func(a, b *transcript.Entry) int { return a.Seq() - b.Seq() })
	return entries
}
