package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// outcome is what a tool result says, read from its shape alone: in logs of some
// versions a result stands before its call, and then nobody knows yet which tool
// it was of.
type outcome struct {
	ID      string `json:"id"`
	Error   bool   `json:"err,omitempty"`
	Refused bool   `json:"no,omitempty"`   // a person did not let the call run
	Said    string `json:"said,omitempty"` // what that person said about it
	Void    bool   `json:"void,omitempty"` // the call never ran, for reasons of other calls
	Exit    int    `json:"x,omitempty"`
	HasExit bool   `json:"hx,omitempty"`
	Running bool   `json:"run,omitempty"` // still running, in the background
	Session string `json:"s,omitempty"`   // of a running command, where the tool names one
	Line    string `json:"l,omitempty"`   // the one line that says most
	Note    string `json:"note,omitempty"`
	Hash    string `json:"h,omitempty"` // of the file's content after the call
	Part    bool   `json:"part,omitempty"`
	Path    string `json:"p,omitempty"`
	TaskID  string `json:"t,omitempty"`
	Tasks   []Task `json:"ts,omitempty"`
	Answers []word `json:"ans,omitempty"`
	Plan    string `json:"plan,omitempty"`
}

// resultBlock is a tool_result block, undecoded.
type resultBlock struct {
	id, content []byte
	isError     bool
}

// ends are the beginning and the end of a result's text; of what lies between
// nothing is read.
type ends struct {
	head, tail string
	whole      bool // head is all of it
}

// Of a result's text as much is decoded as an error message and the figures at its
// end take. Test runners write long ends.
const (
	headBytes = 1200
	tailBytes = 2400
)

func readEnds(content []byte) ends {
	first, last := content, content
	if len(content) > 0 && content[0] == '[' {
		first, last = nil, nil
		for e := array(content); e.next(); {
			if t := member(e.val, "text"); t != nil {
				if first == nil {
					first = t
				}
				last = t
			}
		}
	}
	e := ends{head: head(first, headBytes)}
	if in, _ := inside(first); len(in) <= headBytes && bytes.Equal(first, last) {
		e.whole, e.tail = true, e.head
	} else {
		e.tail = tail(last, tailBytes)
	}
	return e
}

// The reference's texts for calls that a person refused (FORMAT.md section 7).
const (
	refusedText = "The user doesn't want to"
	refusedSaid = "the user said:\n"
)

// readOutcome reads one result. extra is the entry's toolUseResult, nil when there
// is none.
func readOutcome(b resultBlock, extra []byte) outcome {
	o := outcome{ID: clip(clean(text(b.id)), maxID), Error: b.isError}
	e := readEnds(b.content)
	switch h := strings.TrimPrefix(e.head, "<tool_use_error>"); {
	case b.isError && (strings.HasPrefix(h, refusedText) || strings.HasPrefix(h, "The user rejected")):
		o.Refused, o.Error = true, false
		if _, said, ok := strings.Cut(text(wholeText(b.content)), refusedSaid); ok {
			o.Said = trimmed(said)
		}
	case b.isError && (strings.HasPrefix(h, "Cancelled: ") || strings.HasPrefix(h, "Sibling tool call") || strings.HasPrefix(h, "[Interrupted")):
		o.Void, o.Error = true, false
	case b.isError && strings.HasPrefix(h, "[Request interrupted"):
		o.Void, o.Error = true, false
	}
	shell := false
	if len(extra) > 0 && extra[0] == '{' {
		shell = readExtra(&o, extra)
	}
	readExit(&o, e, shell)
	o.Line = outcomeLine(e, o.failed())
	return o
}

// failed reports whether the call ran and did not succeed.
func (o *outcome) failed() bool { return o.Error || o.HasExit && o.Exit != 0 }

// wholeText is the string, or the first text, of a result's content.
func wholeText(content []byte) []byte {
	if len(content) > 0 && content[0] == '[' {
		for e := array(content); e.next(); {
			if t := member(e.val, "text"); t != nil {
				return t
			}
		}
		return nil
	}
	return content
}

// readExtra reads the reference's toolUseResult, whose shape depends on the tool
// (FORMAT.md section 14), and reports whether it is that of a shell command.
func readExtra(o *outcome, raw []byte) (shell bool) {
	var original, old, with, all, edits, content, modified []byte
	for m := object(raw); m.next(); {
		switch string(m.key) {
		case "stdout":
			shell = true
		case "interrupted":
			if string(m.val) == "true" {
				o.Void = true
			}
		case "backgroundTaskId":
			o.Running = m.val[0] == '"'
		case "isAsync":
			o.Running = o.Running || string(m.val) == "true"
		case "returnCodeInterpretation":
			o.Note = oneLine(head(m.val, 200), 120)
		case "file":
			o.Path, o.Hash, o.Part = readFile(m.val)
		case "filePath":
			o.Path = storePath(head(m.val, maxPath))
		case "originalFile", "originalFileContents":
			original = m.val
		case "oldString":
			old = m.val
		case "newString":
			with = m.val
		case "replaceAll":
			all = m.val
		case "edits":
			edits = m.val
		case "content":
			content = m.val
		case "userModified":
			modified = m.val
		case "task":
			o.TaskID = taskID(member(m.val, "id"))
		case "tasks":
			o.Tasks = readTasks(m.val)
		case "answers":
			o.Answers = readAnswers(m.val)
		case "plan":
			o.Plan = clip(clean(head(m.val, maxPlan)), maxPlan)
		}
	}
	switch touched := string(modified) == "true"; {
	case original == nil || touched && content == nil:
	case old != nil:
		o.Hash = editedHash(original, []replacement{{old, with, string(all) == "true"}})
	case edits != nil:
		o.Hash = editedHash(original, readReplacements(edits))
	}
	if string(modified) == "true" && len(content) > 0 && content[0] == '"' {
		o.Hash = hashText(content)
	}
	return shell
}

// readFile reads what a read tool says of the file it read: the hash only when it
// read all of it.
func readFile(raw []byte) (path, sum string, part bool) {
	var content []byte
	lines, start, total := -1, 1, -1
	for m := object(raw); m.next(); {
		switch string(m.key) {
		case "filePath":
			path = storePath(head(m.val, maxPath))
		case "content":
			content = m.val
		case "numLines":
			lines, _ = integer(m.val)
		case "startLine":
			start, _ = integer(m.val)
		case "totalLines":
			total, _ = integer(m.val)
		}
	}
	if start > 1 || lines < total {
		return path, "", true
	}
	if len(content) > 0 && content[0] == '"' && total >= 0 {
		sum = hashText(content)
	}
	return path, sum, false
}

// Hashes are the first 12 hexadecimal digits of the SHA-256 of a file's content as
// the tool reported or was given it. They tell whether a file changed since, they
// prove nothing against somebody who wants two files to look alike.
const hashDigits = 12

// maxHashed bounds the content that is hashed, in bytes of its JSON form, so that
// no entry costs more than a few milliseconds. Of a larger file no hash is known.
const maxHashed = 1 << 20

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:hashDigits/2])
}

// hashText hashes the text of a JSON string.
func hashText(raw []byte) string {
	in, ok := inside(raw)
	if !ok || len(in) > maxHashed {
		return ""
	}
	if bytes.IndexByte(in, '\\') < 0 {
		return hash(in)
	}
	return hash(unescape(make([]byte, 0, len(in)), in))
}

type replacement struct {
	old, with []byte // JSON strings
	all       bool
}

func readReplacements(raw []byte) []replacement {
	var out []replacement
	for e := array(raw); e.next() && len(out) < 200; {
		var r replacement
		for m := object(e.val); m.next(); {
			switch string(m.key) {
			case "old_string", "oldString":
				r.old = m.val
			case "new_string", "newString":
				r.with = m.val
			case "replace_all", "replaceAll":
				r.all = string(m.val) == "true"
			}
		}
		out = append(out, r)
	}
	return out
}

// editedHash is the hash of a file after replacements in its original content; ""
// when one of them does not apply, since then the file is not what they say.
func editedHash(original []byte, rs []replacement) string {
	in, ok := inside(original)
	if !ok || len(in) > maxHashed {
		return ""
	}
	body := unescape(make([]byte, 0, len(in)), in)
	for i, r := range rs {
		old, with := []byte(text(r.old)), []byte(text(r.with))
		at := bytes.Index(body, old)
		switch {
		case len(old) == 0 && len(body) > 0, at < 0:
			return ""
		case i == len(rs)-1 && !r.all:
			// The last one need not be built to be hashed.
			h := sha256.New()
			h.Write(body[:at])
			h.Write(with)
			h.Write(body[at+len(old):])
			return hex.EncodeToString(h.Sum(nil)[:hashDigits/2])
		case len(old) == 0:
			body = with
		case r.all:
			if bytes.Count(body, old)*max(0, len(with)-len(old)) > maxHashed {
				return ""
			}
			body = bytes.ReplaceAll(body, old, with)
		default:
			body = bytes.Replace(body, old, with, 1)
		}
		if len(body) > 2*maxHashed {
			return ""
		}
	}
	return hash(body)
}
