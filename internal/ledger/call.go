package ledger

import (
	"strings"

	"varve.dev/transcript"
)

// call is a tool call that was not answered yet.
type call struct {
	ID      string   `json:"id"`
	Name    string   `json:"n"`
	Act     action   `json:"a,omitempty"`
	At      int      `json:"at"`
	Side    bool     `json:"side,omitempty"` // of a sub-agent inside another's log
	Dir     string   `json:"dir,omitempty"`
	Path    string   `json:"p,omitempty"`
	Hash    string   `json:"h,omitempty"` // of a file's whole content, given in the call
	Cmd     string   `json:"c,omitempty"`
	Text    string   `json:"t,omitempty"`
	Detail  string   `json:"d,omitempty"`
	Session string   `json:"s,omitempty"`
	Changes []change `json:"ch,omitempty"`
}

// call takes a tool call. What it says about tasks counts at once; what it does to
// files and the machine counts when its result is known.
func (l *Ledger) call(e *transcript.Entry, id, name string, raw []byte, side bool) {
	if id == "" {
		return
	}
	if _, twice := l.callAt[id]; twice {
		return
	}
	if len(raw) > 1 && raw[0] == '"' {
		raw = []byte(text(raw)) // an input in a JSON string (QwenLM/qwen-code#7377)
	}
	in := readInput(raw)
	c := call{ID: id, Name: name, Act: actionOf(name), At: l.s.N, Side: side, Dir: storePath(e.CWD)}
	if d := storePath(head(in.dir, maxPath)); d != "" {
		c.Dir = storePath(fileKey(c.Dir, d))
	}
	if textEditors[name] {
		c.Act = editorAction(text(in.verb))
	}
	if c.Act != actOther || in.path != nil {
		c.Path = storePath(head(in.path, maxPath))
	}
	l.describe(&c, in)
	for i := range l.s.Early {
		if o := l.s.Early[i]; o.ID == id {
			l.s.Early = append(l.s.Early[:i], l.s.Early[i+1:]...)
			l.settle(c, o)
			return
		}
	}
	if len(l.s.Calls) >= maxOpen {
		l.abandon()
	}
	l.callAt[id] = len(l.s.Calls)
	l.s.Calls = append(l.s.Calls, c)
}

// describe takes from the input what the action is about.
func (l *Ledger) describe(c *call, in input) {
	switch c.Act {
	case actWrite:
		c.Hash = hashText(in.content)
	case actShell:
		c.Cmd = commandLine(commandText(in.command))
		if s := text(in.command); strings.Contains(s, patchMark) {
			c.Changes = patchChanges(s)
		}
	case actScript:
		src := text(in.patch)
		c.Cmd = commandLine(scriptCommands(src))
		c.Changes = patchChanges(src)
	case actPatch:
		s := text(in.patch)
		if s == "" {
			s = text(in.content)
		}
		c.Changes = patchChanges(s)
	case actEdit:
		if c.Path == "" {
			for el := array(in.edits); el.next() && len(c.Changes) < maxChanges; {
				if p := storePath(head(readInput(el.val).path, maxPath)); p != "" {
					c.Changes = append(c.Changes, change{Path: p, Act: actEdit})
				}
			}
		}
	case actTodos:
		if !c.Side && in.list != nil {
			l.setTodos(in.list)
		}
	case actTaskNew:
		c.Text = taskText(in.subject)
		c.Detail = clip(clean(head(in.description, maxTaskDetail)), maxTaskDetail)
	case actTaskChange:
		if !c.Side {
			l.changeTask(in)
		}
	case actPlanEnter:
		if !c.Side {
			l.s.Plan.Mode = true
		}
	case actPlan:
		if !c.Side {
			l.presentPlan(in)
		}
	case actAgent:
		c.Text = taskText(in.description)
	case actStdin:
		c.Session = taskID(in.session)
	}
}

// presentPlan keeps a plan as it was presented. Where plans live in files, the call
// names none of its text.
func (l *Ledger) presentPlan(in input) {
	s := strings.TrimSpace(clip(clean(head(in.plan, maxPlan)), maxPlan))
	if s != "" {
		l.s.Plan.Text = s
	}
	if p := storePath(head(in.path, maxPath)); p != "" {
		l.s.Plan.File = p
	}
	l.s.Plan.Approved, l.s.Plan.Refused, l.s.Plan.At = false, false, l.s.N
}

// abandon drops the oldest call that nothing answered, after noting what it may
// have done.
func (l *Ledger) abandon() {
	c := l.s.Calls[0]
	l.drop(c.ID)
	l.s.Lost.Calls++
	for _, ch := range c.changes() {
		l.attempt(c.Dir, ch)
	}
}

func (l *Ledger) drop(id string) {
	i, ok := l.callAt[id]
	if !ok {
		return
	}
	l.s.Calls = append(l.s.Calls[:i], l.s.Calls[i+1:]...)
	delete(l.callAt, id)
	for k := i; k < len(l.s.Calls); k++ {
		l.callAt[l.s.Calls[k].ID] = k
	}
}

// changes are what a call does to files.
func (c *call) changes() []change {
	switch c.Act {
	case actRead, actEdit, actWrite, actDelete:
		if c.Path != "" {
			return []change{{Path: c.Path, Act: c.Act, Hash: c.Hash}}
		}
	}
	return c.Changes
}

// result takes what came back. Of a result that stands before its call the outcome
// is kept until the call is met.
func (l *Ledger) result(o outcome, feedback []byte, w word, side bool) {
	if o.ID == "" {
		return
	}
	if s := trimmed(text(feedback)); s != "" && o.Refused && o.Said == "" {
		o.Said = s
	}
	i, ok := l.callAt[o.ID]
	if !ok {
		for _, e := range l.s.Early {
			if e.ID == o.ID {
				return
			}
		}
		if len(l.s.Early) >= maxOpen {
			l.s.Early = append(l.s.Early[:0], l.s.Early[1:]...)
		}
		l.s.Early = append(l.s.Early, o)
		l.heard(o, call{Side: side}, w)
		return
	}
	c := l.s.Calls[i]
	l.drop(o.ID)
	l.heard(o, c, w)
	l.settle(c, o)
}

// heard takes what a person said with a result: the reason of a refusal, answers
// to questions. It stands at the place of the result, whether the call is known or
// not.
func (l *Ledger) heard(o outcome, c call, w word) {
	if c.Side {
		return
	}
	w.More = 0
	if o.Refused && o.Said != "" {
		w.Kind, w.Text, w.On = wordRefusal, o.Said, callLabel(c)
		l.put(w)
	}
	for _, a := range o.Answers {
		w.Kind, w.Text, w.On = wordAnswer, a.Text, a.On
		l.put(w)
	}
}

// callLabel names a call for people.
func callLabel(c call) string {
	s := c.Cmd
	if s == "" {
		s = c.Path
	}
	if s == "" && len(c.Changes) > 0 {
		s = c.Changes[0].Path
	}
	if s == "" {
		s = c.Text
	}
	s, _ = shorten(line(s), 200)
	return strings.TrimSpace(c.Name + " " + s)
}

// settle enters what an answered call did.
func (l *Ledger) settle(c call, o outcome) {
	if !c.Side {
		l.settleTask(c, o)
	}
	for _, ch := range c.changes() {
		l.apply(c, ch, o)
	}
	if c.Side || o.Void {
		return
	}
	switch c.Act {
	case actShell, actScript:
		if c.Cmd != "" {
			l.settleRun(c, o)
		}
	case actStdin:
		l.continued(c, o)
	case actAgent:
		r := run{Cmd: c.Text, Tool: c.Name, At: l.s.N, Failed: o.failed(), Running: o.Running, Refused: o.Refused}
		if r.Cmd != "" {
			l.ran(r, "")
		}
	case actTodos, actTaskNew, actTaskChange, actTaskList, actPlanEnter, actPlan, actAsk:
	default:
		l.settleTool(c, o)
	}
}

func (l *Ledger) settleTask(c call, o outcome) {
	ok := !o.Error && !o.Refused && !o.Void
	switch c.Act {
	case actTaskNew:
		if ok {
			l.newTask(c, o)
		}
	case actTaskList:
		for _, t := range o.Tasks {
			l.putTask(t)
		}
	case actPlanEnter:
		l.s.Plan.Mode = ok
	case actPlan:
		l.s.Plan.Approved, l.s.Plan.Refused = ok, o.Refused
		l.s.Plan.Mode = l.s.Plan.Mode && !ok
		if o.Plan != "" {
			l.s.Plan.Text = strings.TrimSpace(o.Plan)
		}
		if o.Path != "" {
			l.s.Plan.File = o.Path
		}
	}
}
