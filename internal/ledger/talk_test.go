package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"varve.dev/internal/ledger"
	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// talk writes a conversation the way a test tells it.
type talk struct {
	*loggen.Story
	t   testing.TB
	n   int
	tip string
}

func newTalk(t testing.TB) *talk { return &talk{Story: loggen.NewStory(), t: t} }

func (k *talk) id(kind string) string {
	k.n++
	return fmt.Sprintf("%s%d", kind, k.n)
}

// says adds a prompt.
func (k *talk) says(text string, extra ...transcript.Extra) *talk {
	u := k.id("u")
	k.Add(k.Stamp(u).User(k.tip, message.User(text), extra...))
	k.tip = u
	return k
}

// meta adds text that the program put on the user's side.
func (k *talk) meta(text string) *talk {
	return k.says(text, transcript.Extra{Key: "isMeta", Value: []byte("true")})
}

// replies adds a text of the assistant.
func (k *talk) replies(text string) *talk {
	a := k.id("a")
	k.Part(a, k.tip, k.id("msg_"), message.Text(text))
	k.tip = a
	return k
}

// calls adds a tool call and returns its id.
func (k *talk) calls(tool, input string) string {
	id := k.id("toolu_")
	b, err := message.ToolUse(id, tool, json.RawMessage(input))
	if err != nil {
		k.t.Fatalf("input of %s: %v", tool, err)
	}
	a := k.id("a")
	k.Part(a, k.tip, k.id("msg_"), b)
	k.tip = a
	return id
}

// gets adds the result of a call. extra is the toolUseResult, "" for none.
func (k *talk) gets(id, text string, isError bool, extra string) *talk {
	u := k.id("r")
	var xs []transcript.Extra
	if extra != "" {
		xs = append(xs, transcript.Extra{Key: "toolUseResult", Value: json.RawMessage(extra)})
	}
	k.Add(k.Stamp(u).User(k.tip, message.UserBlocks(message.ToolResult(id, isError, message.Text(text))), xs...))
	k.tip = u
	return k
}

// does is a call with its result.
func (k *talk) does(tool, input, result string) *talk {
	return k.gets(k.calls(tool, input), result, false, "")
}

// bash is a shell command in the reference's shape.
func (k *talk) bash(cmd string, exit int, out string) *talk {
	in, err := json.Marshal(map[string]string{"command": cmd})
	if err != nil {
		k.t.Fatal(err)
	}
	id := k.calls("Bash", string(in))
	if exit != 0 {
		return k.gets(id, fmt.Sprintf("Exit code %d\n%s", exit, out), true, fmt.Sprintf("%q", fmt.Sprintf("Error: Exit code %d", exit)))
	}
	extra, err := json.Marshal(map[string]any{"stdout": out, "stderr": "", "interrupted": false, "isImage": false})
	if err != nil {
		k.t.Fatal(err)
	}
	return k.gets(id, out, false, string(extra))
}

// edit is a successful edit in the reference's shape.
func (k *talk) edit(path string) *talk {
	id := k.calls("Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"a","new_string":"b"}`, path))
	return k.gets(id, "The file has been updated.", false, fmt.Sprintf(`{"filePath":%q,"oldString":"a","newString":"b","originalFile":"xay\n","replaceAll":false}`, path))
}

func (k *talk) attach(attachment string) *talk {
	u := k.id("at")
	k.Attach(u, k.tip, attachment)
	k.tip = u
	return k
}

// entries parses what was told.
func (k *talk) entries() []*transcript.Entry {
	k.t.Helper()
	var out []*transcript.Entry
	for _, l := range k.Lines {
		e, err := transcript.Parse([]byte(l))
		if err != nil {
			k.t.Fatalf("%v in %s", err, l)
		}
		out = append(out, e)
	}
	return out
}

func (k *talk) ledger() *ledger.Ledger {
	k.t.Helper()
	return of(k.t, k.entries())
}

func (k *talk) render() string {
	k.t.Helper()
	return k.ledger().Render(ledger.Unlimited, nil)
}

func of(t testing.TB, es []*transcript.Entry) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Of(es)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// part returns the body of one section of a render, "" when it has none.
func part(render, title string) string {
	_, s, ok := strings.Cut(render, "\n## "+title+"\n")
	if !ok {
		return ""
	}
	if i := strings.Index(s, "\n## "); i >= 0 {
		s = s[:i]
	}
	if i := strings.Index(s, "\nLeft out for lack of room: "); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, "\n")
}

// The titles of the sections: what a reader, and a test, finds facts under.
const (
	tEarlier   = "The newest summary that was made before"
	tWords     = "What the user said, word for word"
	tTasks     = "Open tasks"
	tPlan      = "Plan"
	tStands    = "Where the work stands"
	tFails     = "Failures that nothing fixed yet"
	tDecisions = "Decisions and findings the assistant stated"
	tFixed     = "Failures that were fixed"
	tRuns      = "Commands"
	tChanged   = "Files changed"
	tRead      = "Files only read"
)

func wantIn(t *testing.T, where, what string) {
	t.Helper()
	if !strings.Contains(where, what) {
		t.Errorf("no %q in:\n%s", what, where)
	}
}

func wantNotIn(t *testing.T, where, what string) {
	t.Helper()
	if strings.Contains(where, what) {
		t.Errorf("%q must not be in:\n%s", what, where)
	}
}
