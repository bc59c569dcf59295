package ledger

import "strings"

// action is what a tool does, as far as the ledger keeps facts about it.
type action string

// The actions. A tool that is in no row of the table is actOther: it is noted only
// when it fails.
const (
	actOther      action = ""
	actRead       action = "read"
	actEdit       action = "edit"  // changes part of a file
	actWrite      action = "write" // gives a file its whole content
	actDelete     action = "delete"
	actPatch      action = "patch" // one text that changes several files
	actShell      action = "shell"
	actStdin      action = "stdin" // more output of a command that still ran
	actScript     action = "script"
	actTodos      action = "todos" // replaces the list
	actTaskNew    action = "task-new"
	actTaskChange action = "task-change"
	actTaskList   action = "task-list"
	actPlanEnter  action = "plan-enter"
	actPlan       action = "plan" // presents the plan
	actAsk        action = "ask"
	actAgent      action = "agent"
	actLook       action = "look" // searches and listings: no facts unless they fail
)

// acts reports whether a call without a result may have left something behind that
// is not told elsewhere.
func (a action) acts() bool {
	switch a {
	case actRead, actLook, actTodos, actTaskNew, actTaskChange, actTaskList, actPlanEnter, actPlan:
		return false
	}
	return true
}

// tools knows the tools of every agent whose sessions are read, by the name in
// the call. Where two agents use one name for one thing, one row does for both:
// how their inputs are spelt is the business of [readInput], which knows every
// spelling of every member.
var tools = map[string]action{
	// Claude Code.
	"Read": actRead, "NotebookRead": actRead, "Edit": actEdit, "MultiEdit": actEdit, "NotebookEdit": actEdit, "Write": actWrite,
	"Bash": actShell, "PowerShell": actShell, "BashOutput": actOther, "KillShell": actOther, "TaskOutput": actOther, "TaskStop": actOther,
	"TodoWrite": actTodos, "TaskCreate": actTaskNew, "TaskUpdate": actTaskChange, "TaskList": actTaskList,
	"EnterPlanMode": actPlanEnter, "ExitPlanMode": actPlan, "AskUserQuestion": actAsk, "Task": actAgent, "Agent": actAgent,
	"Grep": actLook, "Glob": actLook, "LS": actLook, "TodoRead": actLook, "TaskGet": actLook, "WebFetch": actLook, "WebSearch": actLook, "ToolSearch": actLook,

	// Codex.
	"shell": actShell, "shell_command": actShell, "local_shell": actShell, "local_shell_call": actShell, "container.exec": actShell,
	"exec_command": actShell, "unified_exec": actShell, "write_stdin": actStdin, "exec": actScript,
	"apply_patch": actPatch, "update_plan": actTodos, "spawn_agent": actAgent, "view_image": actLook, "request_user_input": actAsk,

	// Gemini and Qwen.
	"read_file": actRead, "write_file": actWrite, "replace": actEdit, "run_shell_command": actShell,
	"write_todos": actTodos, "todo_write": actTodos, "enter_plan_mode": actPlanEnter, "exit_plan_mode": actPlan, "ask_user": actAsk, "ask_user_question": actAsk,
	"read_many_files": actLook, "list_directory": actLook, "search_file_content": actLook, "grep_search": actLook, "google_web_search": actLook, "web_fetch": actLook,
	"web_search": actLook,

	// opencode, pi, Crush; Qwen has edit and task too.
	"read": actRead, "view": actRead, "edit": actEdit, "multiedit": actEdit, "write": actWrite, "patch": actPatch, "bash": actShell,
	"todowrite": actTodos, "todos": actTodos, "question": actAsk, "plan_enter": actPlanEnter, "plan_exit": actPlan, "task": actAgent, "agent": actAgent,
	"grep": actLook, "glob": actLook, "list": actLook, "ls": actLook, "find": actLook, "todoread": actLook, "webfetch": actLook, "websearch": actLook, "fetch": actLook,

	// What editors and other agents call the same things.
	"str_replace": actEdit, "create_file": actWrite, "delete_file": actDelete, "remove_file": actDelete, "run_command": actShell, "execute_command": actShell,
}

// textEditors are tools whose input says in a member what they do.
var textEditors = map[string]bool{"str_replace_editor": true, "str_replace_based_edit_tool": true}

// actionOf finds the row of a call. Editors that drive an agent offer its own tools
// through a server of theirs, under a prefix.
func actionOf(name string) action {
	return tools[strings.TrimPrefix(name, "mcp__acp__")]
}

// input is what a call says, whichever agent made it. Texts are undecoded.
type input struct {
	path, command, content, description []byte
	dir, id, status, subject, session   []byte
	list                                []byte // todos, plan steps
	plan                                []byte // text of a plan
	patch                               []byte // a text in the form of apply_patch
	edits                               []byte // several edits, each of which may name its file
	questions                           []byte
	verb                                []byte // what a text editor is to do
}

// readInput takes the members of a call's input under all their spellings. What is
// not known is ignored, of a wrong kind too: inputs come from models.
func readInput(raw []byte) (in input) {
	for m := object(raw); m.next(); {
		str := m.val[0] == '"'
		switch string(m.key) {
		case "file_path", "filePath", "path", "notebook_path", "absolute_path", "filepath", "filename", "target_file", "abs_path":
			if str && in.path == nil {
				in.path = m.val
			}
		case "command", "cmd":
			in.command = m.val
			if str {
				in.verb = m.val
			}
		case "content", "contents", "file_text":
			if str {
				in.content = m.val
			}
		case "description", "message", "prompt":
			if str && (in.description == nil || string(m.key) == "description") {
				in.description = m.val
			}
		case "workdir", "cwd", "directory":
			in.dir = m.val
		case "taskId", "task_id", "id":
			if in.id == nil || string(m.key) == "taskId" {
				in.id = m.val
			}
		case "status":
			in.status = m.val
		case "subject", "title":
			in.subject = m.val
		case "session_id":
			in.session = m.val
		case "todos":
			in.list = m.val
		case "plan":
			if str {
				in.plan = m.val
			} else {
				in.list = m.val
			}
		case "input", "patch", "patchText", "patch_text", "code", "script":
			if str {
				in.patch = m.val
			}
		case "edits":
			in.edits = m.val
		case "questions":
			in.questions = m.val
		}
	}
	return in
}

// editorAction is what a text editor's call does.
func editorAction(verb string) action {
	switch verb {
	case "view":
		return actRead
	case "create":
		return actWrite
	case "str_replace", "insert", "undo_edit":
		return actEdit
	}
	return actOther
}

// commandText is the command line of a shell call: a text, or the words of an
// execve as Codex writes it, of which the text after `bash -lc` is the command.
func commandText(raw []byte) string {
	if len(raw) == 0 || raw[0] == '"' {
		return head(raw, maxCommand)
	}
	var words []string
	for e := array(raw); e.next() && len(words) < 64; {
		words = append(words, head(e.val, maxCommand))
	}
	if len(words) == 3 && isShell(words[0]) && (words[1] == "-lc" || words[1] == "-c" || words[1] == "-Command") {
		return words[2]
	}
	return clip(strings.Join(words, " "), maxCommand)
}

func isShell(s string) bool {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	switch strings.TrimSuffix(s, ".exe") {
	case "sh", "bash", "zsh", "dash", "fish", "pwsh", "powershell":
		return true
	}
	return false
}

// scriptCommands finds the command lines in a program that a model wrote to run
// several tools (Codex's exec): the literals behind cmd. It reads no language;
// what it does not find is not noted.
func scriptCommands(src string) string {
	var found []string
	for rest := src; len(found) < 8; {
		i := strings.Index(rest, "cmd")
		if i < 0 {
			break
		}
		rest = strings.TrimLeft(rest[i+len("cmd"):], `"' `)
		if !strings.HasPrefix(rest, ":") {
			continue
		}
		rest = strings.TrimLeft(rest[1:], " \n\t")
		if rest == "" || !strings.Contains("\"'`", rest[:1]) {
			continue
		}
		if lit, n := literal(rest); n > 0 {
			found = append(found, lit)
			rest = rest[n:]
		}
	}
	return clip(strings.Join(found, "\n"), maxCommand)
}

// literal decodes the string literal at the start of s and returns its length.
func literal(s string) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return b.String(), i + 1
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(s[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", 0
}
