package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// This file is a second reader of the format, as somebody would write it who knows
// the reference client's files and nothing of ours: it uses encoding/json alone,
// drops varve-* lines, never looks at a member varve, and passes through
// system/varve_* entries as through any system entry that it does not know. It
// shares no code with this module, so that it cannot share a mistake
// (TestIndependentImports). independent_run_test.go asks it about our logs.

// line is one record as this reader sees it.
type line struct {
	no        int
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parentUuid"`
	Sidechain bool            `json:"isSidechain"`
	APIError  bool            `json:"isApiErrorMessage"`
	Leaf      string          `json:"leafUuid"`
	Message   json.RawMessage `json:"message"`
	Rendered  []struct{ Content string }
	Compact   struct{ PreservedMessages, PreservedSegment *preserved } `json:"compactMetadata"`
	Micro     struct{ CompactedToolIDs []string }                      `json:"microcompactMetadata"`
	Replaced  []struct{ ToolUseID, Replacement string }                `json:"replacements"`
	reply     string                                                   // message.id
	blocks    []block
}

type preserved struct {
	AnchorUUID, HeadUUID, TailUUID string
	UUIDs                          []string
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	from      string          // uuid of its entry
}

// file is a whole log.
type file struct {
	lines    []*line
	byUUID   map[string]*line
	children map[string]bool // has a child that takes part in the chain
	replaced map[string]string
	side     bool // a sub-agent's file
}

func readFile(data []byte) *file {
	f := &file{byUUID: map[string]*line{}, children: map[string]bool{}, replaced: map[string]string{}, side: true}
	for no, raw := range bytes.Split(data, []byte("\n")) {
		e := &line{no: no + 1}
		if json.Unmarshal(raw, e) != nil || e.Type == "" || strings.HasPrefix(e.Type, "varve-") {
			continue
		}
		if e.Type == "content-replacement" {
			for _, r := range e.Replaced {
				if _, ok := f.replaced[r.ToolUseID]; !ok {
					f.replaced[r.ToolUseID] = r.Replacement
				}
			}
		}
		if e.UUID == "" || f.byUUID[e.UUID] != nil {
			continue
		}
		e.message()
		f.lines, f.byUUID[e.UUID] = append(f.lines, e), e
		f.side = f.side && e.Sidechain
	}
	for _, e := range f.lines {
		if p := f.parent(e); p != nil && e.chain() && e.Sidechain == f.side {
			f.children[p.UUID] = true
		}
	}
	return f
}

func (e *line) chain() bool {
	return e.Type == "user" || e.Type == "assistant" || e.Type == "system" || e.Type == "attachment"
}

// message decodes the blocks that the model is sent for the entry.
func (e *line) message() {
	var m struct {
		ID      string
		Content json.RawMessage
	}
	switch {
	case e.Type == "attachment":
		for _, r := range e.Rendered {
			e.blocks = append(e.blocks, block{Type: "text", Text: r.Content})
		}
	case (e.Type == "user" || e.Type == "assistant") && json.Unmarshal(e.Message, &m) == nil && !e.APIError:
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			e.blocks = []block{{Type: "text", Text: text}}
		} else if json.Unmarshal(m.Content, &e.blocks) != nil {
			e.blocks = nil
		}
		if e.Type == "assistant" {
			e.reply = m.ID
		}
	}
	for i := range e.blocks {
		e.blocks[i].from = e.UUID
	}
}

// parent is the nearest ancestor that is no progress entry.
func (f *file) parent(e *line) *line {
	for range len(f.lines) {
		e = f.byUUID[e.Parent]
		if e == nil || e.chain() {
			return e
		}
	}
	return nil
}

// leaves are the ends of all branches.
func (f *file) leaves() []*line {
	var out []*line
	for _, e := range f.lines {
		if e.chain() && e.Sidechain == f.side && !f.children[e.UUID] {
			out = append(out, e)
		}
	}
	return out
}

// conversation returns the entries that the model is sent when the session goes on
// from leaf, in order: from the newest boundary or root, with what the boundary
// preserved, the parts and results beside the path.
func (f *file) conversation(leaf *line) []*line {
	var path []*line
	on := map[*line]bool{}
	for e := leaf; e != nil && !on[e]; e = f.parent(e) {
		path, on[e] = append(path, e), true
		if e.Subtype == "compact_boundary" {
			break
		}
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return f.preserve(f.beside(path, on), on)
}

// beside adds the parts of replies and the results of calls on the path that lie
// beside it.
func (f *file) beside(path []*line, on map[*line]bool) []*line {
	at := map[string]int{} // reply or tool-use id → where it stands
	for i, e := range path {
		for _, b := range e.blocks {
			if b.Type == "tool_use" {
				at[b.ID] = i
			}
		}
		if e.reply != "" {
			at[e.reply] = i
		}
	}
	more := map[int][]*line{}
	take := func(e *line, key string) bool {
		i, ok := at[key]
		if ok && !on[e] && e.Sidechain == f.side {
			on[e] = true
			more[i] = append(more[i], e)
			return true
		}
		return false
	}
	for _, e := range f.lines { // parts first: they may hold the calls of results
		if e.reply != "" && take(e, e.reply) {
			for _, b := range e.blocks {
				if b.Type == "tool_use" {
					at[b.ID] = at[e.reply]
				}
			}
		}
	}
	answered := map[string]bool{}
	for e := range on {
		for _, b := range e.blocks {
			answered[b.ToolUseID] = true
		}
	}
	for _, e := range f.lines {
		for _, b := range e.blocks {
			if b.Type == "tool_result" && !answered[b.ToolUseID] {
				answered[b.ToolUseID] = take(e, b.ToolUseID)
			}
		}
	}
	var out []*line
	for i, e := range path {
		sort.Slice(more[i], func(a, b int) bool { return more[i][a].no < more[i][b].no })
		out = append(append(out, e), more[i]...)
	}
	return out
}

// preserve puts the messages that a boundary keeps behind their anchor.
func (f *file) preserve(path []*line, on map[*line]bool) []*line {
	if len(path) == 0 || path[0].Subtype != "compact_boundary" {
		return path
	}
	var kept []*line
	anchor := ""
	if p := path[0].Compact.PreservedMessages; p != nil {
		anchor = p.AnchorUUID
		for _, id := range p.UUIDs {
			kept = append(kept, f.byUUID[id])
		}
	} else if p := path[0].Compact.PreservedSegment; p != nil {
		anchor = p.AnchorUUID
		for e := f.byUUID[p.TailUUID]; e != nil; e = f.parent(e) {
			kept = append([]*line{e}, kept...)
			if e.UUID == p.HeadUUID {
				break
			}
		}
	}
	for i, e := range path {
		if e.UUID == anchor {
			out := append([]*line(nil), path[:i+1]...)
			for _, k := range kept {
				if k != nil && !on[k] {
					out, on[k] = append(out, k), true
				}
			}
			return append(out, path[i+1:]...)
		}
	}
	return path
}

// turn is a reply and what answers it; the first has no reply.
type turn struct {
	reply   string
	says    []block
	results []block
	others  []block
}

// turns merges entries to what the API is sent: parts of one message.id, results
// behind the reply that made the call, then what people and attachments said. A
// call's cleared or replaced results are taken as they were sent.
func (f *file) turns(entries []*line) []turn {
	out := []turn{{}}
	byReply, byCall := map[string]int{}, map[string]int{}
	cleared := map[string]bool{}
	for _, e := range entries {
		for _, id := range e.Micro.CompactedToolIDs {
			cleared[id] = true
		}
	}
	for _, e := range entries {
		if len(e.blocks) == 0 {
			continue
		}
		if e.Type == "assistant" {
			i, ok := byReply[e.reply]
			if !ok || e.reply == "" {
				i = len(out)
				out = append(out, turn{reply: e.reply})
				byReply[e.reply] = i
			}
			for _, b := range e.blocks {
				out[i].says = append(out[i].says, b)
				byCall[b.ID] = i
			}
			continue
		}
		for _, b := range e.blocks {
			switch i, ok := byCall[b.ToolUseID]; {
			case b.Type == "tool_result" && ok:
				if text, ok := f.replaced[b.ToolUseID]; ok {
					b.Content, _ = json.Marshal(text)
				}
				if cleared[b.ToolUseID] {
					b.Content = json.RawMessage(`"[Old tool result content cleared]"`)
				}
				out[i].results = append(out[i].results, b)
			default: // a result without its call too: repair drops it
				last := &out[len(out)-1]
				last.others = append(last.others, b)
			}
		}
	}
	return out
}

// repairs counts what a resuming client mends before it sends.
type repairs struct{ unanswered, orphans, thinking, blank, repeated int }

// repair does what the reference does before sending: answers calls that have no
// result, drops results without a call, replies of reasoning only, blank texts.
func repair(in []turn) ([]turn, repairs) {
	var out []turn
	var n repairs
	for _, t := range in {
		said := false
		t.says = keep(t.says, func(b block) bool {
			blank := b.Type == "text" && strings.TrimSpace(b.Text) == ""
			said = said || !blank && !strings.Contains(b.Type, "thinking")
			n.blank += btoi(blank)
			return !blank
		})
		if len(t.says) > 0 && !said {
			n.thinking++
			t.says = nil
		}
		open := map[string]bool{}
		for _, b := range t.says {
			open[b.ID] = b.Type == "tool_use"
		}
		t.results = keep(t.results, func(b block) bool {
			ok := open[b.ToolUseID]
			open[b.ToolUseID] = false
			n.repeated += btoi(!ok)
			return ok
		})
		for _, b := range t.says {
			if open[b.ID] {
				n.unanswered++
				t.results = append(t.results, block{Type: "tool_result", ToolUseID: b.ID, Content: json.RawMessage(`"interrupted"`)})
			}
		}
		t.others = keep(t.others, func(b block) bool {
			n.orphans += btoi(b.Type == "tool_result")
			return b.Type != "tool_result" && (b.Type != "text" || strings.TrimSpace(b.Text) != "")
		})
		if len(t.says) == 0 && len(out) > 0 { // the reply is gone: one user message goes on
			out[len(out)-1].others = append(out[len(out)-1].others, t.others...)
			continue
		}
		out = append(out, t)
	}
	return out, n
}

func keep(bs []block, ok func(block) bool) (out []block) {
	for _, b := range bs {
		if ok(b) {
			out = append(out, b)
		}
	}
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

var idChars = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// validate names the pairing rules of the API that a conversation breaks.
func validate(ts []turn) (bad []string) {
	report := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	calls, replies := map[string]bool{}, map[string]bool{}
	if len(ts) == 0 || len(ts[0].says) > 0 && len(ts[0].others) == 0 {
		report("the conversation does not begin with a user message")
	}
	for i, t := range ts {
		if t.reply != "" && replies[t.reply] {
			report("reply %s stands twice", t.reply)
		}
		replies[t.reply] = true
		answered := map[string]int{}
		for _, r := range t.results {
			answered[r.ToolUseID]++
		}
		for _, b := range t.says {
			switch b.Type {
			case "text":
				if strings.TrimSpace(b.Text) == "" {
					report("turn %d: blank text", i)
				}
			case "tool_result", "image":
				report("turn %d: %s said by the assistant", i, b.Type)
			case "tool_use":
				if calls[b.ID] || !idChars.MatchString(b.ID) || b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' {
					report("turn %d: call %q of %q is repeated or malformed", i, b.ID, b.Name)
				}
				calls[b.ID] = true
				if answered[b.ID] != 1 {
					report("turn %d: call %s has %d results", i, b.ID, answered[b.ID])
				}
				delete(answered, b.ID)
			}
		}
		for id := range answered {
			report("turn %d: result of %s without its call", i, id)
		}
		for _, b := range t.others {
			if b.Type == "tool_use" || strings.Contains(b.Type, "thinking") || b.Type == "tool_result" {
				report("turn %d: %s in a user message", i, b.Type)
			}
		}
		if i > 0 && i < len(ts)-1 && len(t.says) == 0 {
			report("turn %d: an empty reply", i)
		}
	}
	return bad
}
