package loggen

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Story writes a log entry by entry, with the short uuids that a test gives. Its
// methods return the story, so that a case reads as one line.
type Story struct {
	Lines []string
	clock time.Time
	side  bool
}

// NewStory returns an empty story whose clock starts on a fixed day.
func NewStory() *Story { return &Story{clock: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

// Sidechain makes the entries that follow those of a sub-agent.
func (s *Story) Sidechain() *Story { s.side = true; return s }

// Stamp is what the next entry carries; it has the given uuid and is a second
// later than the one before.
func (s *Story) Stamp(uuid string) transcript.Stamp {
	s.clock = s.clock.Add(time.Second)
	now := s.clock
	return transcript.Stamp{SessionID: "s1", CWD: "/w/p", Version: "1.2.3", GitBranch: "main", Sidechain: s.side,
		Now: func() time.Time { return now }, NewID: func() string { return uuid }}
}

// Add appends a built entry.
func (s *Story) Add(e *transcript.Entry) *Story {
	raw, err := e.Raw()
	if err != nil {
		panic(err) // built entries hold their bytes
	}
	s.Lines = append(s.Lines, string(raw))
	return s
}

// Raw appends a line as it is.
func (s *Story) Raw(line string) *Story { s.Lines = append(s.Lines, line); return s }

// User adds a prompt.
func (s *Story) User(uuid, parent, text string) *Story {
	return s.Add(s.Stamp(uuid).User(parent, message.User(text)))
}

// Blocks adds a user entry of any blocks.
func (s *Story) Blocks(uuid, parent string, blocks ...message.Block) *Story {
	return s.Add(s.Stamp(uuid).User(parent, message.UserBlocks(blocks...)))
}

// Result adds the result of a call.
func (s *Story) Result(uuid, parent, call string) *Story {
	return s.Blocks(uuid, parent, message.ToolResult(call, false, message.Text("out of "+call)))
}

// Part adds one entry of the reply with the given message.id.
func (s *Story) Part(uuid, parent, id string, blocks ...message.Block) *Story {
	m := message.Assistant(blocks...)
	m.ID = id
	return s.Add(s.Stamp(uuid).Assistant(parent, m, ""))
}

// Say adds a reply of text.
func (s *Story) Say(uuid, parent, id, text string) *Story {
	return s.Part(uuid, parent, id, message.Text(text))
}

// Think adds a part of reasoning.
func (s *Story) Think(uuid, parent, id, text, signature string) *Story {
	return s.Part(uuid, parent, id, message.Thinking(text, signature))
}

// Call adds a part that calls a tool.
func (s *Story) Call(uuid, parent, id, tool string) *Story {
	b, err := message.ToolUse(tool, "Read", json.RawMessage(`{"file_path":"a"}`))
	if err != nil {
		panic(err) // the input above is an object
	}
	return s.Part(uuid, parent, id, b)
}

// Progress adds a progress entry as clients up to 2.1.42 wrote them.
func (s *Story) Progress(uuid, parent string) *Story {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return s.Raw(fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"sessionId":"s1","type":"progress","data":{"type":"hook_progress"},"uuid":%q}`, p, uuid))
}

// Boundary adds a compaction boundary.
func (s *Story) Boundary(uuid, leaf string, b transcript.Boundary) *Story {
	b.Trigger = "auto"
	return s.Add(s.Stamp(uuid).CompactBoundary(leaf, b))
}

// Keep is a boundary that keeps the given entries behind anchor.
func Keep(anchor string, uuids ...string) transcript.Boundary {
	return transcript.Boundary{PreservedMessages: &transcript.PreservedMessages{AnchorUUID: anchor, UUIDs: uuids}}
}

// Summary adds the summary of a boundary.
func (s *Story) Summary(uuid, boundary string) *Story {
	return s.Add(s.Stamp(uuid).Summary(boundary, message.User("This session continues …")))
}

// Pointer adds a last-prompt entry.
func (s *Story) Pointer(leaf string, rewind bool) *Story {
	return s.Add(s.Stamp("").LastPrompt("", leaf, rewind))
}

// Own adds a system entry of ours.
func (s *Story) Own(uuid, parent, subtype string, own any) *Story {
	return s.Add(s.Stamp(uuid).System(parent, subtype, "", "", transcript.Own(own)))
}

// Undo takes a boundary back.
func (s *Story) Undo(uuid, parent, boundary string) *Story {
	return s.Own(uuid, parent, transcript.SubUndo, transcript.Undo{BoundaryUUID: boundary})
}

// Attach adds an attachment with what the model saw of it.
func (s *Story) Attach(uuid, parent, attachment string, rendered ...string) *Story {
	return s.Add(s.Stamp(uuid).Attachment(parent, json.RawMessage(attachment), rendered))
}

// Bytes is the story as a file.
func (s *Story) Bytes() []byte { return []byte(strings.Join(s.Lines, "\n") + "\n") }
