package ledger_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"varve.dev/internal/ledger"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// facts are what must be in a render of a recorded session, found by a reading of its
// lines that shares nothing with the ledger.
type facts struct {
	edited []string
	said   []string
	open   []string // texts of open todos and tasks
	closed []string // ids of tasks that are done
}

// record is a line of a log as far as the extraction reads it.
type record struct {
	Type        string
	IsSidechain bool
	IsMeta      bool
	Summary     bool `json:"isCompactSummary"`
	Origin      struct{ Kind string }
	Operation   string
	Content     any
	Attachment  struct {
		Type   string
		Prompt any
	}
	Message json.RawMessage
	Result  json.RawMessage `json:"toolUseResult"`
}

type block struct {
	Type, Text, ID, Name string
	ToolUseID            string `json:"tool_use_id"`
	Input                struct {
		FilePath     any `json:"file_path"`
		NotebookPath any `json:"notebook_path"`
		Todos        []struct{ Content, Status string }
		TaskID       any `json:"taskId"`
		Subject      string
		Status       string
	}
}

// blocks are what a record's message holds; a message that is a text is one block.
func (r *record) blocks() []block {
	var m struct{ Content json.RawMessage }
	if json.Unmarshal(r.Message, &m) != nil {
		return nil
	}
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return []block{{Type: "text", Text: s}}
	}
	var out []block
	_ = json.Unmarshal(m.Content, &out) // what is of another kind stays empty
	return out
}

type task struct{ id, subject, status string }

// extraction goes through a log and keeps what it needs to know of calls.
type extraction struct {
	facts
	todos []struct{ Content, Status string }
	made  map[string]string // subject by id of the call
	tasks []*task
	agent bool // the log is a sub-agent's
	begun bool
}

// extract reads a log with encoding/json.
func extract(t *testing.T, path string) facts {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := extraction{made: map[string]string{}}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var r record
		if idle(line) {
			continue
		}
		if err := json.Unmarshal(bytes.TrimLeft(line, "\x00\ufeff"), &r); err == nil || r.Type != "" {
			x.take(&r)
		}
	}
	for _, d := range x.todos {
		if d.Content != "" && d.Status != "completed" {
			x.open = append(x.open, d.Content)
		}
	}
	for _, k := range x.tasks {
		if k.status == "completed" || k.status == "deleted" {
			x.closed = append(x.closed, k.id)
		} else {
			x.open = append(x.open, k.subject)
		}
	}
	return x.facts
}

// idle tells lines by their bytes that hold nothing to extract: progress, and results
// without a text beside them. They are three quarters of a log, and decoding them under
// the race detector takes longer than everything else.
func idle(line []byte) bool {
	has := func(s string) bool { return bytes.Contains(line, []byte(s)) }
	return has(`"type":"progress"`) || has(`"type":"tool_result"`) && !has(`"type":"text","text":`) && !has(`"task":{`)
}

func (x *extraction) take(r *record) {
	switch r.Type {
	case "queue-operation":
		if s, ok := r.Content.(string); ok && r.Operation == "enqueue" && person(s) && !strings.HasPrefix(s, "/") {
			x.said = append(x.said, s)
		}
	case "attachment":
		if s, ok := r.Attachment.Prompt.(string); ok && r.Attachment.Type == "queued_command" && person(s) {
			x.said = append(x.said, s)
		}
	case "user", "assistant":
		if !x.begun {
			x.agent, x.begun = r.IsSidechain, true
		}
		for _, b := range r.blocks() {
			x.block(r, b)
		}
	}
}

func (x *extraction) block(r *record, b block) {
	foreign := r.IsSidechain && !x.agent
	switch {
	case b.Type == "text" && r.Type == "user":
		if !r.IsMeta && !r.Summary && !foreign && person(b.Text) && r.Origin.Kind != "task-notification" {
			x.said = append(x.said, b.Text)
		}
	case b.Type == "tool_use":
		for _, p := range []any{b.Input.FilePath, b.Input.NotebookPath} {
			if p, ok := p.(string); ok && strings.Contains(" Edit Write MultiEdit NotebookEdit ", " "+b.Name+" ") {
				x.edited = append(x.edited, p)
			}
		}
		switch {
		case foreign:
		case b.Name == "TodoWrite":
			x.todos = b.Input.Todos
		case b.Name == "TaskCreate":
			x.made[b.ID] = b.Input.Subject
		case b.Name == "TaskUpdate":
			for _, k := range x.tasks {
				if k.id == fmt.Sprint(b.Input.TaskID) {
					k.status = cmp.Or(b.Input.Status, k.status)
					k.subject = cmp.Or(b.Input.Subject, k.subject)
				}
			}
		}
	case b.Type == "tool_result" && x.made[b.ToolUseID] != "":
		var made struct{ Task struct{ ID string } }
		if json.Unmarshal(r.Result, &made) == nil {
			x.tasks = append(x.tasks, &task{made.Task.ID, x.made[b.ToolUseID], "pending"})
		}
	}
}

// person is how a reader of the log would tell a person's text from a program's.
func person(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "[Request interrupted by user") || strings.HasPrefix(s, "Caveat: The messages below") {
		return false
	}
	return !programs.MatchString(s)
}

var (
	programs = regexp.MustCompile(`^<(command-|local-command-|bash-|task-notification|agent-notification|system-reminder)`)
	colours  = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")
)

// quoted is a text as it must stand in a render: each line behind "> ", what no
// person typed (controls) left out.
func quoted(s string) string {
	s = colours.ReplaceAllString(s, "")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	var out []string
	for _, l := range strings.Split(strings.Trim(strings.TrimSpace(s), "\n"), "\n") {
		if l == "" {
			out = append(out, ">")
		} else {
			out = append(out, "> "+l)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// TestRecorded: every recorded session, fed entry by entry, renders with all edited
// paths, all open todos and every message of a person, found by an extraction that
// does not know the ledger's rules (G-2). Also openai/codex#21288 and
// anthropics/claude-code#24792: goal, user text, files and todos without a model.
func TestRecorded(t *testing.T) {
	var edited, said, open, closed int
	for _, path := range corpus(t) {
		t.Run(name(path), func(t *testing.T) {
			f := extract(t, path)
			l := of(t, whole(t, path).Entries)
			all := l.Render(ledger.Unlimited, nil)
			changed := part(all, tChanged)
			for _, p := range f.edited {
				wantIn(t, changed, "`"+p+"`")
			}
			words := part(all, tWords) + "\n"
			for _, s := range f.said {
				wantIn(t, words, quoted(s))
			}
			for _, s := range f.open {
				wantIn(t, part(all, tTasks), s)
			}
			for _, id := range f.closed {
				wantNotIn(t, part(all, tTasks), "#"+id+" ")
			}
			edited, said, open, closed = edited+len(f.edited), said+len(f.said), open+len(f.open), closed+len(f.closed)
			if strings.Contains(all, "left out for lack of room") || strings.Contains(all, "shortened for lack of room") {
				t.Error("a render without budget leaves something out")
			}
			for _, budget := range []int{2000, 8000, 32000} {
				r := checkBudget(t, l, all, budget)
				tasks, changed := part(r, tTasks), part(r, tChanged)
				for _, s := range f.open {
					wantIn(t, tasks, s)
				}
				for _, p := range f.edited {
					if budget > 2000 {
						wantIn(t, changed, "`"+p+"`")
					}
				}
			}
		})
	}
	t.Logf("%d edits, %d messages, %d open and %d closed tasks", edited, said, open, closed)
	if edited < 500 || said < 300 || open < 5 || closed < 20 {
		t.Error("the extraction found too little to mean anything")
	}
}

// TestRecordedBranches: the same holds for the branch of the tip alone, read through
// its boundaries, for what lies on it.
func TestRecordedBranches(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(name(path), func(t *testing.T) {
			log := whole(t, path)
			tip := log.Tip()
			if tip == nil {
				t.Skip("the log has no conversation of its own")
			}
			h := log.History(tip)
			all := of(t, h.Entries).Render(ledger.Unlimited, nil)
			n := 0
			for _, e := range h.Entries {
				m, err := e.Message()
				if err != nil || e.Type != transcript.TypeUser || e.Meta || e.CompactSummary || e.Sidechain {
					continue
				}
				for _, b := range m.Content {
					if b.Type == "text" && person(b.Text) {
						wantIn(t, part(all, tWords)+"\n", quoted(b.Text))
						n++
					}
				}
			}
			t.Logf("%d messages", n)
		})
	}
}

var (
	numbered = regexp.MustCompile(`(?m)^(\d+)\.( \(|$)`)
	leftIn   = regexp.MustCompile(`(?:\(|, )([\d,]+) [^(),]*left out for lack of room\.\)$`)
)

// shownAndLeft counts what a render shows of the messages of the user and what it says
// to leave out.
func shownAndLeft(render string) (shown, left int) {
	words := part(render, tWords)
	shown = len(numbered.FindAllString(words, -1))
	return shown, said(words)
}

// said is the number of items that a section says to leave out.
func said(section string) int {
	m := leftIn.FindStringSubmatch(section[strings.LastIndexByte(section, '\n')+1:])
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	return n
}

// ladder are the sections in shed order, what goes first first.
var ladder = []string{tRead, tRuns, tFixed, tDecisions, tFails, tPlan, tChanged, tStands, tWords}

// checkBudget holds a render within a budget against it and the stated shed order, and
// returns it. all is the render without budget.
func checkBudget(t *testing.T, l *ledger.Ledger, all string, budget int) string {
	t.Helper()
	r := l.Render(budget, tokens.Text)
	if n := tokens.Text(r); n > budget {
		t.Errorf("budget %d: the render takes %d", budget, n)
	}
	total, _ := shownAndLeft(all)
	shown, left := shownAndLeft(r)
	if part(r, tWords) == "" && total > 0 {
		left = total
		wantIn(t, r, strconv.Itoa(total)+" message")
	}
	if shown+left != total {
		t.Errorf("budget %d: %d messages shown, %d said to be left out, of %d", budget, shown, left, total)
	}
	// Whatever is shown of a later step means that nothing of an earlier one is left out.
	for i, low := range ladder {
		if part(r, low) == "" {
			continue
		}
		for _, high := range append(append([]string{}, ladder[i+1:]...), tTasks) {
			if part(all, high) == "" {
				continue
			}
			if body := part(r, high); body == "" || said(body) > 0 && high != low {
				t.Errorf("budget %d: %q is shown while of %q something is left out", budget, low, high)
			}
		}
	}
	if n := tokens.Text(all); n <= budget*9/10 && r != all {
		t.Errorf("budget %d holds the whole of %d tokens and yet something is left out", budget, n)
	}
	return r
}
