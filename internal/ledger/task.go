package ledger

import (
	"strconv"
	"strings"
)

// Task is one item of a todo list, of a plan's steps, or one task of the task
// tools.
type Task struct {
	ID     string `json:"id,omitempty"` // of the task tools; lists have none
	Text   string `json:"t"`
	Detail string `json:"d,omitempty"`
	Status string `json:"s"` // pending, in_progress, completed, cancelled, blocked, or what the tool says
}

// Open reports whether the task is still to be done.
func (t Task) Open() bool {
	switch t.Status {
	case "completed", "complete", "done", "cancelled", "canceled", "deleted", "skipped":
		return false
	}
	return true
}

// Bounds of what is kept of tasks: a list longer than that is no list a person
// reads.
const (
	maxTasks      = 1000
	maxTaskText   = 600  // bytes
	maxTaskDetail = 2000 // bytes
	maxID         = 200  // bytes
)

// readTasks reads a list of todos or steps, in the spellings of all agents.
func readTasks(raw []byte) []Task {
	var out []Task
	for e := array(raw); e.next() && len(out) < maxTasks; {
		var t Task
		for m := object(e.val); m.next(); {
			switch string(m.key) {
			case "content", "step", "subject", "title", "task":
				if t.Text == "" {
					t.Text = taskText(m.val)
				}
			case "description":
				t.Detail = clip(clean(head(m.val, maxTaskDetail)), maxTaskDetail)
			case "status":
				t.Status = status(m.val)
			case "id":
				t.ID = taskID(m.val)
			}
		}
		if t.Text == "" { // Gemini names the text description
			t.Text, t.Detail = oneLine(t.Detail, maxTaskText), ""
		}
		if t.Text != "" {
			if t.Status == "" {
				t.Status = "pending"
			}
			out = append(out, t)
		}
	}
	return out
}

func taskText(raw []byte) string { return oneLine(head(raw, maxTaskText), maxTaskText) }

// taskID reads an id that is a text or a number.
func taskID(raw []byte) string {
	if len(raw) > 0 && raw[0] == '"' {
		return oneLine(text(raw), maxID)
	}
	if n, ok := integer(raw); ok {
		return strconv.Itoa(n)
	}
	return ""
}

func status(raw []byte) string {
	s := oneLine(strings.ToLower(head(raw, 40)), 40)
	switch s {
	case "todo", "not_started", "open":
		return "pending"
	case "in-progress", "inprogress", "doing", "active":
		return "in_progress"
	}
	return s
}

// plan is what the assistant means to do, as it presented it.
type plan struct {
	Mode     bool   `json:"mode,omitempty"` // planning: nothing is changed until the plan is approved
	Text     string `json:"t,omitempty"`
	File     string `json:"f,omitempty"`
	Approved bool   `json:"ok,omitempty"`
	Refused  bool   `json:"no,omitempty"`
	At       int    `json:"at,omitempty"`
}

// maxPlan bounds the text of a plan, in bytes.
const maxPlan = 64 << 10

// setTodos replaces the list. The call itself counts, not its result: the result
// says no more, and of an interrupted turn there is none.
func (l *Ledger) setTodos(raw []byte) {
	l.s.Todos = nil
	for _, t := range readTasks(raw) {
		t.ID = "" // position is what identifies an item of a list
		l.s.Todos = append(l.s.Todos, t)
	}
	l.s.TodosAt = l.s.N
}

// newTask enters a task whose call was answered.
func (l *Ledger) newTask(c call, o outcome) {
	t := Task{ID: o.TaskID, Text: c.Text, Detail: c.Detail, Status: "pending"}
	if t.ID == "" {
		t.ID = createdID(o.Line)
	}
	if t.Text == "" {
		return
	}
	l.putTask(t)
	l.s.TasksAt = l.s.N
}

// createdID reads "Task #4 created successfully: …".
func createdID(s string) string {
	rest, ok := strings.CutPrefix(s, "Task #")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, " ")
	return clip(id, maxID)
}

// putTask adds a task, or what is new of one that is known.
func (l *Ledger) putTask(t Task) {
	for i := range l.s.Tasks {
		if k := &l.s.Tasks[i]; t.ID != "" && k.ID == t.ID {
			if t.Text != "" {
				k.Text = t.Text
			}
			if t.Detail != "" {
				k.Detail = t.Detail
			}
			if t.Status != "" {
				k.Status = t.Status
			}
			return
		}
	}
	if t.Status == "" {
		t.Status = "pending"
	}
	if len(l.s.Tasks) < maxTasks {
		l.s.Tasks = append(l.s.Tasks, t)
	}
}

// changeTask takes an update. A task that was never seen to be created (the log
// began before it) is entered by its number.
func (l *Ledger) changeTask(in input) {
	t := Task{ID: taskID(in.id), Text: taskText(in.subject), Detail: clip(clean(head(in.description, maxTaskDetail)), maxTaskDetail), Status: status(in.status)}
	if t.ID == "" {
		return
	}
	l.putTask(t)
	l.s.TasksAt = l.s.N
}

// openTasks returns what is still to be done, in the order of the lists; what is
// in progress stands where it stands.
func (l *Ledger) openTasks() []Task {
	var out []Task
	for _, list := range [2][]Task{l.s.Todos, l.s.Tasks} {
		for _, t := range list {
			if t.Open() {
				out = append(out, t)
			}
		}
	}
	// A task whose creation nothing answered may exist all the same.
	for _, c := range l.s.Calls {
		if c.Act == actTaskNew && c.Text != "" && !c.Side {
			out = append(out, Task{Text: c.Text, Detail: c.Detail, Status: "pending"})
		}
	}
	return out
}

// planStale reports whether the plan is behind: it was approved, and every task
// set up since then is done (anthropics/claude-code#27319).
func (l *Ledger) planStale() bool {
	if !l.s.Plan.Approved {
		return false
	}
	done := false
	if l.s.TodosAt > l.s.Plan.At && len(l.s.Todos) > 0 {
		done = true
	}
	if l.s.TasksAt > l.s.Plan.At && len(l.s.Tasks) > 0 {
		done = true
	}
	return done && len(l.openTasks()) == 0
}

func taskLabel(t Task) string {
	box := "[ ] "
	switch t.Status {
	case "in_progress":
		box = "[in progress] "
	case "pending", "":
	default:
		box = "[" + line(t.Status) + "] "
	}
	if t.ID != "" {
		return box + "#" + t.ID + " "
	}
	return box
}
