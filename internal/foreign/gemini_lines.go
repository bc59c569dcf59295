package foreign

import (
	"bytes"
	"encoding/json"
)

// geminiLog reads what newer versions of the Gemini CLI write: a header, messages
// that are written anew under their id when more of them is known, changes of the
// header, and rewinds. What a rewind takes back stays as a branch.
type geminiLog struct {
	gemini
	steps []geminiStep
	at    map[string]int // index in steps of each message that stands, by id
}

// geminiStep is a message, or a rewind to before one.
type geminiStep struct {
	line  int
	id    string
	value json.RawMessage // nil for a rewind
}

// geminiLines reports whether a session has one record a line: then its first line
// is a whole header.
func geminiLines(head []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n\x00"), []byte("\n"))
	var h struct {
		SessionID string
		Messages  json.RawMessage
	}
	return json.Unmarshal(bytes.TrimSpace(line), &h) == nil && h.SessionID != "" && h.Messages == nil
}

// geminiRecord is what tells a line of such a log.
type geminiRecord struct {
	ID        string
	SessionID string
	RewindTo  *string                    `json:"$rewindTo"`
	Set       map[string]json.RawMessage `json:"$set"`
}

func (g *geminiLog) line(line []byte, r *geminiRecord, err error) error {
	if err := g.b.decoded("", err); err != nil {
		return err
	}
	switch {
	case r.RewindTo != nil:
		g.steps = append(g.steps, geminiStep{line: g.b.line, id: *r.RewindTo})
		at, ok := g.at[*r.RewindTo]
		for id, i := range g.at {
			if !ok || i >= at {
				delete(g.at, id)
			}
		}
	case r.ID != "":
		if i, ok := g.at[r.ID]; ok {
			g.steps[i].value = bytes.Clone(line)
			return nil
		}
		g.at[r.ID] = len(g.steps)
		g.steps = append(g.steps, geminiStep{line: g.b.line, id: r.ID, value: bytes.Clone(line)})
	case r.Set != nil:
		g.header(r.Set)
	case r.SessionID != "":
		var h map[string]json.RawMessage
		if json.Unmarshal(line, &h) == nil {
			g.header(h)
		}
	default:
		g.b.fault("", "a record that is neither header, message, change nor rewind")
	}
	return nil
}

func (g *geminiLog) header(members map[string]json.RawMessage) {
	for key, value := range members {
		if key == "sessionId" && g.b.s.ID != "" {
			continue // of the session that this one goes on from; ids of entries must not change
		}
		g.member(key, value)
	}
}

// end turns the messages into entries, each as it was written last.
func (g *geminiLog) end() {
	stood := map[string]string{}
	for _, s := range g.steps {
		g.b.line = s.line
		if s.value == nil {
			g.b.stand(stood[s.id])
			continue
		}
		stood[s.id] = g.b.flush()
		g.record("", s.value)
	}
	g.b.line = 0
}
