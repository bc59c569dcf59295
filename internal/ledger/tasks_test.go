package ledger_test

import (
	"strings"
	"testing"

	"varve.dev/message"
	"varve.dev/transcript"
)

func textMessage(s string) message.Message { return message.User(s) }

// TestTodos: the last list counts, what is done is not open (anthropics/claude-code#30961).
func TestTodos(t *testing.T) {
	k := newTalk(t)
	k.does("TodoWrite", `{"todos":[{"content":"Old","status":"pending","activeForm":"x"}]}`, "ok")
	k.does("TodoWrite", `{"todos":[{"content":"Read it","status":"completed"},{"content":"Write it","status":"in_progress"},{"content":"Test it","status":"pending"}]}`, "ok")
	if got := part(k.render(), tTasks); got != "- [in progress] Write it\n- [ ] Test it" {
		t.Errorf("got\n%s", got)
	}
	k.calls("TodoWrite", `{"todos":[]}`) // the turn was interrupted before the result
	if got := part(k.render(), tTasks); got != "" {
		t.Errorf("the list was emptied, got\n%s", got)
	}
}

// TestTasks: created, changed, deleted, listed, reminded of.
func TestTasks(t *testing.T) {
	k := newTalk(t)
	k.gets(k.calls("TaskCreate", `{"subject":"Survey","description":"Look at\nall of it"}`), "Task #1 created successfully: Survey", false, `{"task":{"id":"1","subject":"Survey"}}`)
	k.does("TaskCreate", `{"subject":"Fix","description":"d"}`, "Task #2 created successfully: Fix")
	k.does("TaskCreate", `{"subject":"Gone"}`, "Task #3 created successfully: Gone")
	k.does("TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "Updated task #1 status")
	k.does("TaskUpdate", `{"taskId":"3","status":"deleted"}`, "ok")
	k.does("TaskUpdate", `{"taskId":"9","status":"in_progress"}`, "ok")
	k.calls("TaskCreate", `{"subject":"Asked for, not answered"}`)
	want := "- [in progress] #1 Survey\n> Look at\n> all of it\n- [ ] #2 Fix\n> d\n- [in progress] #9 (its text is not in the log)\n- [ ] Asked for, not answered"
	if got := part(k.render(), tTasks); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	k.attach(`{"type":"task_reminder","content":[{"id":"9","subject":"Of an earlier run","status":"pending"}],"itemCount":1}`)
	k.gets(k.calls("TaskList", `{}`), "#2 [completed] Fix", false, `{"tasks":[{"id":"2","subject":"Fix","status":"completed","blockedBy":[]}]}`)
	got := part(k.render(), tTasks)
	wantIn(t, got, "- [ ] #9 Of an earlier run")
	wantNotIn(t, got, "#2")
}

// TestPlan: only the plan that counts is brought back (anthropics/claude-code#27319).
func TestPlan(t *testing.T) {
	k := newTalk(t)
	k.says("plan it").does("EnterPlanMode", `{}`, "Entered plan mode.")
	wantIn(t, part(k.render(), tPlan), "Plan mode is on")
	refused := k.calls("ExitPlanMode", `{"plan":"# First try\n\nRewrite everything."}`)
	wantIn(t, part(k.render(), tPlan), "Presented; not approved yet.")
	k.gets(refused, "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nsmaller", true, "")
	r := k.render()
	wantIn(t, part(r, tPlan), "The user did not approve this plan as it was presented.\nPlan mode is on")
	wantNotIn(t, part(r, tPlan), "Rewrite everything.")
	wantIn(t, part(r, tWords), "(on refusing `ExitPlanMode`)\n> smaller")

	k.gets(k.calls("ExitPlanMode", `{"plan":"# Second try\n\nOne function."}`), "User has approved your plan.", false, `{"plan":"# Second try\n\nOne function.","filePath":"/home/dev/plans/p.md"}`)
	got := part(k.render(), tPlan)
	wantIn(t, got, "The user approved this plan.\nIts file: `/home/dev/plans/p.md`\n> # Second try\n>\n> One function.")
	wantNotIn(t, got, "Plan mode is on")

	k.does("TodoWrite", `{"todos":[{"content":"One function","status":"pending"}]}`, "ok")
	wantIn(t, part(k.render(), tPlan), "One function.")
	k.does("TodoWrite", `{"todos":[{"content":"One function","status":"completed"}]}`, "ok")
	got = part(k.render(), tPlan)
	wantIn(t, got, "every task set up for it is done")
	wantNotIn(t, got, "One function.")
}

// TestPlanMode: the mode of a prompt tells whether planning goes on.
func TestPlanMode(t *testing.T) {
	mode := func(s string) transcript.Extra {
		return transcript.Extra{Key: "permissionMode", Value: []byte(`"` + s + `"`)}
	}
	k := newTalk(t)
	k.says("a", mode("plan"))
	wantIn(t, part(k.render(), tPlan), "Plan mode is on")
	k.says("b", mode("acceptEdits"))
	if got := part(k.render(), tPlan); got != "" {
		t.Errorf("got\n%s", got)
	}
	k.attach(`{"type":"plan_mode","reminderType":"full","planFilePath":"/p.md","planExists":false}`)
	wantIn(t, part(k.render(), tPlan), "Its file: `/p.md`")
}

// TestEarlierSummary: a summary from before counts where nothing else tells of that
// time, and one that the ledger wrote does not come back into it.
func TestEarlierSummary(t *testing.T) {
	k := newTalk(t)
	k.Boundary("b1", "gone", transcript.Boundary{})
	k.Add(k.Stamp("s1").Summary("b1", message.User("This session is being continued from a previous conversation.\n## Open tasks\nwrite docs"), transcript.Own(map[string]string{"source": "ledger"})))
	k.tip = "s1"
	k.says("go on")
	r := k.render()
	checkFrame(t, r)
	wantIn(t, part(r, tEarlier), "Written by: ledger.\nWhat it covers is known from nowhere else.\n> This session is being continued")

	k = newTalk(t)
	k.says("first")
	k.Boundary("b1", k.tip, transcript.Boundary{})
	k.Add(k.Stamp("s1").Summary("b1", message.User("own words again"), transcript.Own(map[string]string{"source": "ledger"})))
	k.tip = "s1"
	if r := k.render(); strings.Contains(r, "own words again") {
		t.Errorf("the ledger's own summary came back:\n%s", r)
	}
	k.Add(k.Stamp("s2").Summary("b1", message.User("what a model wrote"), transcript.Own(map[string]string{"source": "model"})))
	wantIn(t, part(k.render(), tEarlier), "Written by: model.\n> what a model wrote")
}

// TestFacts: what callers ask for who bring files, tasks and plan back into a context.
func TestFacts(t *testing.T) {
	k := shop(t)
	k.does("Read", `{"file_path":"main.go"}`, "x").bash("rm /w/p/cmd/main.go", 0, "")
	l := k.ledger()
	fs := l.Files()
	if len(fs) != 4 || fs[0].Path != "/w/p/cmd/main.go" || !fs[0].Gone || fs[0].Changes != 2 || fs[1].Key != "/w/p/main.go" || fs[1].Reads != 1 || fs[1].Hash == "" {
		t.Errorf("%+v", fs)
	}
	if open := l.OpenTasks(); len(open) != 1 || open[0].Text != "Cache the price table between requests" || !open[0].Open() {
		t.Errorf("%+v", open)
	}
	if text, _ := l.CurrentPlan(); !strings.HasPrefix(text, "# Speed up") {
		t.Errorf("%q", text)
	}
	if l.Branch() != "main" {
		t.Errorf("%q", l.Branch())
	}
	k.does("TodoWrite", `{"todos":[{"content":"Measure","status":"completed"}]}`, "ok")
	if text, file := k.ledger().CurrentPlan(); text != "" || file != "" {
		t.Errorf("the plan is done, got %q %q", text, file)
	}
}
