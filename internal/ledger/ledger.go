package ledger

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"varve.dev/transcript"
)

// Ledger holds the facts of one branch of a conversation. The zero value is not
// usable; see [New] and [Restore].
type Ledger struct {
	s      state
	fileAt map[string]int // by key, index in Files
	callAt map[string]int // by id, index in Calls

	wordBytes int // of Words
	filesSeen int // Files when they were last bounded
}

// state is everything a ledger knows; a checkpoint is its JSON form.
type state struct {
	Version int      `json:"v"`
	Upto    string   `json:"upto,omitempty"`   // uuid of the last chain entry
	N       int      `json:"n,omitempty"`      // chain entries taken; the clock of everything called At
	Recent  []uint64 `json:"recent,omitempty"` // hashes of the last entries, against lines written twice
	Agent   *bool    `json:"agent,omitempty"`  // the log is a sub-agent's; nil before the first message

	CWD      string   `json:"cwd,omitempty"`
	Branch   string   `json:"branch,omitempty"`
	Branches []string `json:"branches,omitempty"` // those before, oldest first

	Words   []word    `json:"words,omitempty"`
	Queue   []queued  `json:"queue,omitempty"`
	Files   []file    `json:"files,omitempty"`
	Runs    []run     `json:"runs,omitempty"`
	Fails   []failure `json:"fails,omitempty"`
	Stated  []stated  `json:"stated,omitempty"`
	Todos   []Task    `json:"todos,omitempty"`
	Tasks   []Task    `json:"tasks,omitempty"`
	TodosAt int       `json:"todosAt,omitempty"`
	TasksAt int       `json:"tasksAt,omitempty"`
	Plan    plan      `json:"plan,omitzero"`

	Said        string  `json:"said,omitempty"` // the last text of the assistant
	SaidAt      int     `json:"saidAt,omitempty"`
	Interrupted bool    `json:"stopped,omitempty"`
	Earlier     earlier `json:"earlier,omitzero"`

	Calls []call    `json:"calls,omitempty"` // not answered yet
	Early []outcome `json:"early,omitempty"` // results whose call was not met yet
	Lost  lost      `json:"lost,omitzero"`
}

// earlier is the newest summary of what came before: the only source for what this
// ledger was not told itself.
type earlier struct {
	Text   string `json:"t,omitempty"`
	Source string `json:"src,omitempty"`  // model, notes, server, ledger; "" when the log does not say
	Bare   bool   `json:"bare,omitempty"` // the ledger knows nothing from before it
}

// lost counts what was dropped to keep the state bounded.
type lost struct {
	Reads     int `json:"reads,omitempty"`
	Runs      int `json:"runs,omitempty"`
	Fails     int `json:"fails,omitempty"`
	Decisions int `json:"decisions,omitempty"`
	Calls     int `json:"calls,omitempty"`
	Queued    int `json:"queued,omitempty"`
	Words     int `json:"words,omitempty"`
	Changed   int `json:"changed,omitempty"`
}

// version of the state's JSON form. A checkpoint of another version is not used;
// the ledger is then computed whole.
const version = 1

// Bounds of the lists that grow with every turn. Counted are distinct commands,
// failures and files that were only read.
const (
	maxReads   = 2000
	maxChanged = 3000 // files; the largest recorded sessions change some hundred
	maxRuns    = 1000
	maxFails   = 300
	maxOpen    = 256 // calls without result, and results without call
	recentSize = 32  // real logs hold the second copy of a line next to the first
)

// New returns an empty ledger.
func New() *Ledger {
	l := &Ledger{s: state{Version: version}}
	l.index()
	return l
}

// index builds the maps from the state.
func (l *Ledger) index() {
	l.fileAt = make(map[string]int, len(l.s.Files))
	for i := range l.s.Files {
		l.fileAt[l.s.Files[i].Key] = i
	}
	l.filesSeen = len(l.s.Files)
	l.callAt = make(map[string]int, len(l.s.Calls))
	for i := range l.s.Calls {
		l.callAt[l.s.Calls[i].ID] = i
	}
}

// Upto returns the uuid of the last chain entry that was added, "" when there is
// none.
func (l *Ledger) Upto() string { return l.s.Upto }

// Add takes one entry. Entries of one branch come in its order (file order of a
// log without rewinds will do: a result may come before its call); side and
// progress entries may come at any place, or not at all. After a rewind the ledger
// of the new branch is another one: see [Resume].
//
// It costs a few microseconds and, once, the hash of a file's content. The error
// is that of reading the entry's bytes; nothing was taken then.
func (l *Ledger) Add(e *transcript.Entry) error {
	switch e.Type {
	case transcript.TypeUser, transcript.TypeAssistant, transcript.TypeSystem, transcript.TypeAttachment:
	case transcript.TypeQueueOperation:
		return l.addQueue(e)
	default:
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if l.twice(e.UUID, len(raw)) {
		return nil
	}
	l.s.N++
	if e.UUID != "" {
		l.s.Upto = clip(clean(e.UUID), maxID)
	}
	if !e.Sidechain || l.s.Agent != nil && *l.s.Agent {
		l.place(e)
	}
	p := readParts(raw)
	switch e.Type {
	case transcript.TypeUser:
		l.user(e, p)
	case transcript.TypeAssistant:
		l.reply(e, p)
	case transcript.TypeSystem:
		l.system(e, p)
	case transcript.TypeAttachment:
		l.attachment(e, p.attachment)
	}
	return nil
}

// parts are the members of an entry that hold facts, undecoded.
type parts struct {
	message, extra, attachment, content []byte
	origin, permission, feedback        []byte
}

func readParts(raw []byte) (p parts) {
	for m := object(raw); m.next(); {
		switch string(m.key) {
		case "message":
			p.message = m.val
		case "toolUseResult":
			p.extra = m.val
		case "attachment":
			p.attachment = m.val
		case "content":
			p.content = m.val
		case "origin":
			p.origin = m.val
		case "permissionMode":
			p.permission = m.val
		case "userFeedback":
			p.feedback = m.val
		}
	}
	return p
}

func (l *Ledger) addQueue(e *transcript.Entry) error {
	raw, err := e.Raw()
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	var op, at, content []byte
	for m := object(raw); m.next(); {
		switch string(m.key) {
		case "operation":
			op = m.val
		case "timestamp":
			at = m.val
		case "content":
			content = m.val
		}
	}
	l.queue(text(op), text(at), text(content))
	return nil
}

// twice reports whether that entry was taken a moment ago: the same line written
// twice. Another line of the same uuid and another length is another entry, and only
// the chain decides which of them counts.
func (l *Ledger) twice(uuid string, size int) bool {
	if uuid == "" {
		return false
	}
	h := fnv.New64a()
	h.Write([]byte(uuid))
	h.Write(strconv.AppendInt(nil, int64(size), 10))
	sum := h.Sum64() >> 11 // what a JSON number carries
	if slices.Contains(l.s.Recent, sum) {
		return true
	}
	if len(l.s.Recent) >= recentSize {
		l.s.Recent = append(l.s.Recent[:0], l.s.Recent[1:]...)
	}
	l.s.Recent = append(l.s.Recent, sum)
	return false
}

// place keeps where the work goes on.
func (l *Ledger) place(e *transcript.Entry) {
	if e.CWD != "" && e.CWD != l.s.CWD {
		l.s.CWD = storePath(e.CWD)
	}
	if e.GitBranch == "" || e.GitBranch == l.s.Branch {
		return
	}
	b := oneLine(e.GitBranch, maxID)
	if b == "" || b == l.s.Branch {
		return
	}
	if l.s.Branch != "" {
		l.s.Branches = append(l.s.Branches, l.s.Branch)
		if n := len(l.s.Branches) - 20; n > 0 {
			l.s.Branches = append(l.s.Branches[:0], l.s.Branches[n:]...)
		}
	}
	l.s.Branch = b
}

// side reports whether an entry of a message is that of a sub-agent inside the log
// of another: of those only what they did to files counts. The first message tells
// whose log it is.
func (l *Ledger) side(e *transcript.Entry) bool {
	if l.s.Agent == nil {
		agent := e.Sidechain
		l.s.Agent = &agent
	}
	return e.Sidechain && !*l.s.Agent
}

// system takes what people did through commands of the program itself; newer
// versions write them as system entries.
func (l *Ledger) system(e *transcript.Entry, p parts) {
	if e.Subtype != "local_command" || e.Sidechain && (l.s.Agent == nil || !*l.s.Agent) {
		return
	}
	if s := text(p.content); classify(s) == saidCommand {
		if cmd, ok := slash(s); ok {
			l.put(word{Kind: wordCommand, ID: l.s.Upto, Text: cmd, Time: oneLine(e.Timestamp, 40)})
		}
	}
}

// attachment takes what the client put in: prompts that were typed while a turn
// ran, goals, files that people attached or changed, the state of planning.
func (l *Ledger) attachment(e *transcript.Entry, a []byte) {
	if e.Sidechain && (l.s.Agent == nil || !*l.s.Agent) {
		return
	}
	switch kind := head(member(a, "type"), 60); kind {
	case "queued_command":
		l.queuedCommand(e, a)
	case "goal_status":
		l.goal(e, a)
	case "file", "new_file", "already_read_file", "compact_file_reference":
		_, sum, part := readFile(member(member(a, "content"), "file"))
		l.touch(e.CWD, storePath(head(member(a, "filename"), maxPath)), actRead, sum, part)
	case "edited_text_file":
		l.outside(e.CWD, storePath(head(member(a, "filename"), maxPath)))
	case "plan_mode":
		l.s.Plan.Mode = true
		if p := storePath(head(member(a, "planFilePath"), maxPath)); p != "" {
			l.s.Plan.File = p
		}
	case "plan_mode_exit":
		l.s.Plan.Mode = false
	case "task_reminder":
		for _, t := range readTasks(member(a, "content")) {
			if t.ID != "" {
				l.putTask(t)
			}
		}
	}
}

func (l *Ledger) queuedCommand(e *transcript.Entry, a []byte) {
	switch head(member(a, "commandMode"), 40) {
	case "", "prompt":
	default:
		return
	}
	from := origin(member(a, "origin"))
	if from == notification {
		return
	}
	prompt := member(a, "prompt")
	w := word{Kind: wordQueued, ID: l.s.Upto, From: from, Time: oneLine(e.Timestamp, 40)}
	if t := head(member(a, "timestamp"), 40); t != "" {
		w.Time = oneLine(t, 40)
	}
	if len(prompt) > 0 && prompt[0] == '[' {
		var texts [][]byte
		for el := array(prompt); el.next(); {
			if t := member(el.val, "text"); t != nil {
				texts = append(texts, t)
			} else {
				w.More++
			}
		}
		for _, t := range texts {
			l.hear(w, text(t))
			w.More = 0
		}
		return
	}
	l.hear(w, text(prompt))
}

// goal takes a condition that a person set for the whole session.
func (l *Ledger) goal(e *transcript.Entry, a []byte) {
	s := trimmed(text(member(a, "condition")))
	if s == "" {
		return
	}
	for _, w := range l.s.Words {
		if w.Text == s || w.Text == "/goal "+s {
			return
		}
	}
	l.put(word{Kind: wordCommand, ID: l.s.Upto, Text: "/goal " + s, Time: oneLine(e.Timestamp, 40)})
}
