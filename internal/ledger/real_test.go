package ledger_test

import (
	"bufio"
	"bytes"
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

// extract reads a log with encoding/json.
func extract(t *testing.T, path string) facts {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f facts
	type task struct{ subject, status string }
	var todos []any
	var ids []string
	tasks := map[string]*task{}
	calls := map[string]map[string]any{}
	agent, first := false, true
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var e map[string]any
		if json.Unmarshal(bytes.TrimLeft(sc.Bytes(), "\x00\ufeff"), &e) != nil {
			continue
		}
		kind, _ := e["type"].(string)
		side, _ := e["isSidechain"].(bool)
		if first && (kind == "user" || kind == "assistant") {
			agent, first = side, false
		}
		foreign := side && !agent
		switch kind {
		case "queue-operation":
			if s, ok := e["content"].(string); ok && e["operation"] == "enqueue" && person(s) && !strings.HasPrefix(s, "/") {
				f.said = append(f.said, s)
			}
			continue
		case "attachment":
			a, _ := e["attachment"].(map[string]any)
			if s, ok := a["prompt"].(string); ok && a["type"] == "queued_command" && person(s) {
				f.said = append(f.said, s)
			}
			continue
		case "user", "assistant":
		default:
			continue
		}
		msg, _ := e["message"].(map[string]any)
		blocks, _ := msg["content"].([]any)
		if s, ok := msg["content"].(string); ok {
			blocks = []any{map[string]any{"type": "text", "text": s}}
		}
		for _, b := range blocks {
			b, _ := b.(map[string]any)
			in, _ := b["input"].(map[string]any)
			switch {
			case b["type"] == "text" && kind == "user":
				s, _ := b["text"].(string)
				if e["isMeta"] != true && e["isCompactSummary"] != true && !foreign && person(s) && fmt.Sprint(e["origin"]) != "map[kind:task-notification]" {
					f.said = append(f.said, s)
				}
			case b["type"] == "tool_use":
				id, _ := b["id"].(string)
				name, _ := b["name"].(string)
				calls[id] = map[string]any{"name": name, "in": in}
				for _, key := range []string{"file_path", "notebook_path"} {
					if p, ok := in[key].(string); ok && strings.Contains(" Edit Write MultiEdit NotebookEdit ", " "+name+" ") {
						f.edited = append(f.edited, p)
					}
				}
				if foreign {
					continue
				}
				switch name {
				case "TodoWrite":
					todos, _ = in["todos"].([]any)
				case "TaskUpdate":
					if k := tasks[fmt.Sprint(in["taskId"])]; k != nil {
						if s, ok := in["status"].(string); ok {
							k.status = s
						}
						if s, ok := in["subject"].(string); ok {
							k.subject = s
						}
					}
				}
			case b["type"] == "tool_result" && !foreign:
				id, _ := b["tool_use_id"].(string)
				if c := calls[id]; c != nil && c["name"] == "TaskCreate" {
					extra, _ := e["toolUseResult"].(map[string]any)
					made, _ := extra["task"].(map[string]any)
					subject, _ := c["in"].(map[string]any)["subject"].(string)
					no := fmt.Sprint(made["id"])
					tasks[no] = &task{subject, "pending"}
					ids = append(ids, no)
				}
			}
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	for _, d := range todos {
		d, _ := d.(map[string]any)
		if s, ok := d["content"].(string); ok && d["status"] != "completed" {
			f.open = append(f.open, s)
		}
	}
	for _, id := range ids {
		switch k := tasks[id]; k.status {
		case "completed", "deleted":
			f.closed = append(f.closed, id)
		default:
			f.open = append(f.open, k.subject)
		}
	}
	return f
}

// person is how a reader of the log would tell a person's text from a program's.
func person(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasPrefix(s, "[Request interrupted by user") || strings.HasPrefix(s, "Caveat: The messages below") {
		return false
	}
	return !regexp.MustCompile(`^<(command-|local-command-|bash-|task-notification|agent-notification|system-reminder)`).MatchString(s)
}

// quoted is a text as it must stand in a render: each line behind "> ", what no
// person typed (controls) left out.
func quoted(s string) string {
	s = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]").ReplaceAllString(s, "")
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
			for _, p := range f.edited {
				wantIn(t, part(all, tChanged), "`"+p+"`")
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
				checkBudget(t, l, budget)
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
	m := leftIn.FindStringSubmatch(section)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	return n
}

// ladder are the sections in shed order, what goes first first.
var ladder = []string{tRead, tRuns, tFixed, tDecisions, tFails, tPlan, tChanged, tStands, tWords}

// checkBudget holds a render against the budget and the stated shed order.
func checkBudget(t *testing.T, l *ledger.Ledger, budget int) {
	t.Helper()
	all := l.Render(ledger.Unlimited, nil)
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
	if tokens.Text(all) <= budget*9/10 && r != all {
		t.Errorf("budget %d holds the whole of %d tokens and yet something is left out", budget, tokens.Text(all))
	}
}
