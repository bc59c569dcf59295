package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])[:12]
}

func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // the tests give plain values
	}
	return string(b)
}

// TestTools: the tools of every agent, in the shapes that their sessions have.
func TestTools(t *testing.T) {
	patch := "*** Begin Patch\n*** Add File: /w/p/new.go\n+package p\n+\n*** Update File: /w/p/old.go\n@@\n-a\n+b\n*** Delete File: /w/p/dead.go\n*** Update File: /w/p/from.go\n*** Move to: /w/p/to.go\n@@\n-a\n+b\n*** End Patch\n"
	patched := []string{"`/w/p/new.go`: written, sha256 " + sum("package p\n\n"), "`/w/p/old.go`: edited", "`/w/p/dead.go`: deleted, it is gone", "`/w/p/from.go`: deleted", "`/w/p/to.go`: edited"}
	for _, c := range []struct {
		agent, tool, input, result string
		isError                    bool
		extra                      string
		section                    string
		want                       []string
	}{
		// Claude Code.
		{agent: "claude", tool: "Read", input: `{"file_path":"/w/p/a.go"}`, result: "1\tpackage p", extra: object("type", "text", "file", map[string]any{"filePath": "/w/p/a.go", "content": "package p\n", "numLines": 2, "startLine": 1, "totalLines": 2}),
			section: tRead, want: []string{"`/w/p/a.go`: read, sha256 " + sum("package p\n")}},
		{agent: "claude", tool: "Read", input: `{"file_path":"/w/p/a.go","offset":5}`, result: "5\tx", extra: object("type", "text", "file", map[string]any{"filePath": "/w/p/a.go", "content": "x", "numLines": 1, "startLine": 5, "totalLines": 9}),
			section: tRead, want: []string{"`/w/p/a.go`: read, in part"}},
		{agent: "claude", tool: "Edit", input: `{"file_path":"/w/p/a.go","old_string":"old","new_string":"new"}`, result: "ok",
			extra:   object("filePath", "/w/p/a.go", "oldString", "old", "newString", "new", "originalFile", "an \"old\" file\n", "replaceAll", false),
			section: tChanged, want: []string{"`/w/p/a.go`: edited, sha256 " + sum("an \"new\" file\n")}},
		{agent: "claude", tool: "Edit", input: `{"file_path":"/w/p/a.go","old_string":"o","new_string":"0","replace_all":true}`, result: "ok",
			extra:   object("filePath", "/w/p/a.go", "oldString", "o", "newString", "0", "originalFile", "foo too\n", "replaceAll", true),
			section: tChanged, want: []string{"`/w/p/a.go`: edited, sha256 " + sum("f00 t00\n")}},
		{agent: "claude", tool: "Edit", input: `{"file_path":"/w/p/a.go","old_string":"x","new_string":"y"}`, result: "<tool_use_error>String to replace not found in file.</tool_use_error>", isError: true,
			section: tChanged, want: []string{"`/w/p/a.go`: 1 change refused, failed or unknown"}},
		{agent: "claude", tool: "MultiEdit", input: `{"file_path":"/w/p/a.go","edits":[{"old_string":"a","new_string":"b"}]}`, result: "ok",
			extra:   object("filePath", "/w/p/a.go", "edits", []map[string]any{{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}}, "originalFileContents", "a\n"),
			section: tChanged, want: []string{"edited, sha256 " + sum("c\n")}},
		{agent: "claude", tool: "Write", input: object("file_path", "/w/p/a.go", "content", "x\n"), result: "ok", section: tChanged, want: []string{"`/w/p/a.go`: written, sha256 " + sum("x\n")}},
		{agent: "claude", tool: "Write", input: object("file_path", "/w/p/a.go", "content", "x\n"), result: "ok", extra: object("type", "update", "filePath", "/w/p/a.go", "content", "y\n", "userModified", true), section: tChanged, want: []string{"written, sha256 " + sum("y\n")}},
		{agent: "claude", tool: "NotebookEdit", input: `{"notebook_path":"/w/p/n.ipynb","new_source":"x"}`, result: "ok", section: tChanged, want: []string{"`/w/p/n.ipynb`: edited"}},
		{agent: "claude", tool: "Bash", input: `{"command":"go test ./..."}`, result: "ok  \tp\t0.1s", extra: object("stdout", "ok", "stderr", "", "interrupted", false), section: tRuns, want: []string{"`go test ./...`: exit code 0, `ok   p 0.1s`"}},
		{agent: "claude", tool: "Bash", input: `{"command":"go test ./..."}`, result: "Exit code 2\n--- FAIL: TestX\nmore", isError: true, extra: `"Error: Exit code 2"`, section: tFails, want: []string{"`go test ./...` failed with exit code 2: `--- FAIL: TestX`"}},
		{agent: "claude", tool: "Bash", input: `{"command":"grep x *"}`, result: "", extra: object("stdout", "", "interrupted", false, "returnCodeInterpretation", "No matches found"), section: tRuns, want: []string{"`grep x *`, `No matches found`"}},
		{agent: "claude", tool: "Bash", input: `{"command":"npm run dev","run_in_background":true}`, result: "running", extra: object("stdout", "", "interrupted", false, "backgroundTaskId", "b1"), section: tRuns, want: []string{"`npm run dev`: was left running"}},
		{agent: "claude", tool: "Bash", input: `{"command":"git commit -m x"}`, result: "[main 1234abc] x\n 1 file changed, 2 insertions(+)", extra: object("stdout", "", "interrupted", false), section: tRuns, want: []string{"exit code 0, `[main 1234abc] x`"}},
		{agent: "claude", tool: "Bash", input: `{"command":"rm -f /w/p/a.go b.go *.tmp && git mv c.go d.go"}`, result: "", extra: object("stdout", "", "interrupted", false), section: tChanged,
			want: []string{"`/w/p/a.go`: deleted", "`b.go`: deleted", "`c.go`: deleted", "`d.go`: written"}},
		{agent: "claude", tool: "Task", input: `{"description":"Map the code","prompt":"…","subagent_type":"Explore"}`, result: "report", section: tRuns, want: []string{"Task `Map the code`: done"}},

		// Codex.
		{agent: "codex", tool: "shell", input: `{"command":["bash","-lc","cargo build"],"workdir":"/w/p"}`, result: `{"output":"error[E0308]: mismatched types\n","metadata":{"exit_code":101,"duration_seconds":1.0}}`, section: tFails,
			want: []string{"`cargo build` failed with exit code 101: `error[E0308]: mismatched types`"}},
		{agent: "codex", tool: "exec_command", input: `{"cmd":"cargo build","workdir":"/w/p"}`, result: "Chunk ID: 1\nWall time: 0.0000 seconds\nProcess exited with code 1\nOriginal token count: 3\nOutput:\nerror: no\n", section: tFails, want: []string{"`cargo build` failed with exit code 1: `error: no`"}},
		{agent: "codex", tool: "exec_command", input: `{"cmd":"cat log"}`, result: "Chunk ID: 1\nProcess exited with code 0\nOutput:\nProcess exited with code 1\n", section: tRuns, want: []string{"`cat log`: exit code 0"}},
		{agent: "codex", tool: "apply_patch", input: object("input", patch), result: "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", section: tChanged, want: patched},
		{agent: "codex", tool: "exec_command", input: object("cmd", "apply_patch <<'EOF'\n"+patch+"EOF"), result: "Process exited with code 0\nOutput:\nSuccess.", section: tChanged, want: patched},
		{agent: "codex", tool: "exec", input: object("input", `const r = await tools.exec_command({cmd:"cargo test -q","workdir":"/w"}); text(r.output);`), result: "Script completed", section: tRuns, want: []string{"`cargo test -q`"}},
		{agent: "codex", tool: "update_plan", input: `{"plan":[{"step":"Read","status":"completed"},{"step":"Write","status":"in_progress"},{"step":"Test","status":"pending"}]}`, result: "Plan updated", section: tTasks, want: []string{"- [in progress] Write\n- [ ] Test"}},

		// Gemini and Qwen.
		{agent: "gemini", tool: "read_file", input: `{"file_path":"docs/a.md"}`, result: "# A", section: tRead, want: []string{"`docs/a.md`: read"}},
		{agent: "gemini", tool: "replace", input: `{"file_path":"docs/a.md","old_string":"a","new_string":"b"}`, result: "Successfully modified file", section: tChanged, want: []string{"`docs/a.md`: edited"}},
		{agent: "gemini", tool: "write_file", input: object("file_path", "docs/a.md", "content", "# A\n"), result: "Successfully created", section: tChanged, want: []string{"`docs/a.md`: written, sha256 " + sum("# A\n")}},
		{agent: "gemini", tool: "run_shell_command", input: `{"command":"make"}`, result: "Command: make\nDirectory: (root)\nOutput: cc: error: no input files\nError: (none)\nExit Code: 2\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 1", section: tFails,
			want: []string{"`make` failed with exit code 2: `cc: error: no input files`"}},
		{agent: "gemini", tool: "write_todos", input: `{"todos":[{"description":"Write it","status":"in_progress"},{"description":"Old","status":"cancelled"}]}`, result: "ok", section: tTasks, want: []string{"- [in progress] Write it"}},
		{agent: "qwen", tool: "edit", input: `{"file_path":"/w/p/a.ts","old_string":"a","new_string":"b"}`, result: "ok", section: tChanged, want: []string{"`/w/p/a.ts`: edited"}},
		{agent: "qwen", tool: "todo_write", input: `{"todos":[{"id":"1","content":"Write it","status":"pending"}]}`, result: "ok", section: tTasks, want: []string{"- [ ] Write it"}},

		// opencode and pi.
		{agent: "opencode", tool: "read", input: `{"filePath":"/w/p/a.tsx"}`, result: "<path>/w/p/a.tsx</path>", section: tRead, want: []string{"`/w/p/a.tsx`: read"}},
		{agent: "opencode", tool: "edit", input: `{"filePath":"/w/p/a.tsx","oldString":"a","newString":"b"}`, result: "Edit applied successfully.", section: tChanged, want: []string{"`/w/p/a.tsx`: edited"}},
		{agent: "opencode", tool: "write", input: object("filePath", "/w/p/a.tsx", "content", "x"), result: "Wrote file successfully.", section: tChanged, want: []string{"`/w/p/a.tsx`: written, sha256 " + sum("x")}},
		{agent: "opencode", tool: "patch", input: object("patchText", patch), result: "ok", section: tChanged, want: patched},
		{agent: "opencode", tool: "todowrite", input: `{"todos":[{"id":"1","content":"Write it","status":"pending","priority":"high"}]}`, result: "ok", section: tTasks, want: []string{"- [ ] Write it"}},
		{agent: "pi", tool: "edit", input: `{"path":"src/a.ts","oldText":"a","newText":"b"}`, result: "Successfully replaced text in src/a.ts.", section: tChanged, want: []string{"`src/a.ts`: edited"}},
		{agent: "pi", tool: "bash", input: `{"command":"npm run check"}`, result: "src/a.ts(3,1): error TS2304\n\nCommand exited with code 2", isError: true, section: tFails, want: []string{"`npm run check` failed with exit code 2: `src/a.ts(3,1): error TS2304`"}},
		{agent: "editor", tool: "str_replace_based_edit_tool", input: object("command", "create", "path", "/w/p/a", "file_text", "x"), result: "ok", section: tChanged, want: []string{"`/w/p/a`: written, sha256 " + sum("x")}},
		{agent: "acp", tool: "mcp__acp__Write", input: object("file_path", "/w/p/a", "content", "x"), result: "ok", section: tChanged, want: []string{"`/w/p/a`: written"}},
	} {
		t.Run(c.agent+"/"+c.tool, func(t *testing.T) {
			k := newTalk(t)
			k.gets(k.calls(c.tool, c.input), c.result, c.isError, c.extra)
			body := part(k.render(), c.section)
			for _, w := range c.want {
				wantIn(t, body, w)
			}
			// The same with the result before its call, as 2.1.101 to 2.1.170 wrote them.
			es := k.entries()
			es[0], es[1] = es[1], es[0]
			if got := part(of(t, es).Render(1<<62, nil), c.section); got != body {
				t.Errorf("with the result first:\n%s\nwant\n%s", got, body)
			}
		})
	}
}

// TestOneFile: a file is one file, however it is named, and its facts add up.
func TestOneFile(t *testing.T) {
	k := newTalk(t)
	k.does("Read", `{"file_path":"/w/p/a.go"}`, "x").edit("/w/p/a.go").edit("/w/p/./a.go").does("read_file", `{"file_path":"a.go"}`, "x").bash("rm a.go", 0, "")
	wantIn(t, part(k.render(), tChanged), "- `/w/p/a.go`: edited 2 times, deleted, read 2 times, it is gone")
	k.gets(k.calls("Read", `{"file_path":"/w/p/a.go","offset":5}`), "5\tx", false, object("type", "text", "file", map[string]any{"filePath": "/w/p/a.go", "content": "x", "numLines": 1, "startLine": 5, "totalLines": 9}))
	wantIn(t, part(k.render(), tChanged), "in part")
	k.does("Write", `{"file_path":"/w/p/a.go","content":"y"}`, "ok")
	wantNotIn(t, part(k.render(), tChanged), "in part")
	k.attach(`{"type":"edited_text_file","filename":"/w/p/a.go","snippet":"1\tz"}`)
	got := part(k.render(), tChanged)
	wantIn(t, got, "changed by somebody else since")
	wantNotIn(t, got, "sha256")
	wantNotIn(t, got, "gone")
}

// TestShellFiles: what a command did to files is read from the command, where it can be.
func TestShellFiles(t *testing.T) {
	k := newTalk(t)
	k.edit("/w/p/sub/a.go").edit("/w/p/sub/deep/b.go").edit("/w/p/c.go").edit("/w/p/d.go").edit("/w/p/e.go")
	k.bash("rm -rf sub build", 0, "").bash("cd .. && rm p/c.go > out.log 2>&1", 0, "").bash("git rm --cached d.go && echo \"$(rm e.go)\"", 0, "").bash("rm f.go", 1, "rm: f.go: No such file")
	got := part(k.render(), tChanged)
	for _, want := range []string{"`/w/p/sub/a.go`: edited, deleted, it is gone", "`/w/p/sub/deep/b.go`: edited, deleted, it is gone", "`/w/p/c.go`: edited, deleted, it is gone", "`/w/p/d.go`: edited, sha256", "`/w/p/e.go`: edited, sha256"} {
		wantIn(t, got, want)
	}
	for _, no := range []string{"build", "out.log", "f.go"} {
		wantNotIn(t, got, no)
	}
}

// TestInterruptedCall: a call without a result may have run, and its file may have
// changed; both are said.
func TestInterruptedCall(t *testing.T) {
	k := newTalk(t)
	k.says("go")
	k.calls("Write", `{"file_path":"/w/p/a.go","content":"x"}`)
	k.calls("Bash", `{"command":"make deploy"}`)
	r := k.render()
	wantIn(t, part(r, tChanged), "`/w/p/a.go`: a change was begun, its result is not known")
	wantIn(t, part(r, tStands), "Called without a result so far; it may have run: `Bash make deploy`")
	k.says("[Request interrupted by user for tool use]")
	wantIn(t, part(k.render(), tStands), "The user interrupted the assistant.")
	k.says("go on")
	wantNotIn(t, k.render(), "The user interrupted")
}

// TestFixes: what failed, and what ended it.
func TestFixes(t *testing.T) {
	for _, c := range []struct {
		name    string
		tell    func(*talk)
		section string
		want    string
	}{
		{"an edit between", func(k *talk) {
			k.bash("cd /w && go test ./... 2>&1 | tail -20", 1, "--- FAIL: TestA (0.00s)").edit("/w/p/a.go").edit("/w/p/b.go").bash("go test ./...", 0, "ok")
		}, tFixed, "- `cd /w && go test ./... 2>&1 | tail -20` failed with exit code 1: `--- FAIL: TestA (0.00s)`; it succeeded after changes to `/w/p/b.go`, `/w/p/a.go`"},
		{"failed again", func(k *talk) {
			k.bash("make test", 2, "error: one").edit("/w/p/a.go").bash("make test", 2, "error: two")
		}, tFails, "- `make test` failed with exit code 2, 2 times: `error: two`"},
		{"by another command", func(k *talk) {
			k.bash("npm test", 1, "Error: Cannot find module 'x'").bash("npm install", 0, "added 1 package").bash("npm test", 0, "1 passed")
		},
			tFixed, "- `npm test` failed with exit code 1: `Error: Cannot find module 'x'`; it succeeded after `npm install`"},
		{"by nothing that is known", func(k *talk) { k.bash("npm test", 1, "flaky error").bash("npm test", 0, "1 passed") }, tFixed, "it succeeded without a change that is known"},
		{"shown by the whole suite", func(k *talk) {
			k.bash("go test ./a -run TestA", 1, "FAIL").edit("/w/p/a.go").bash("go test ./...", 0, "ok")
		},
			tFixed, "- `go test ./a -run TestA` failed with exit code 1: `FAIL`; `go test ./...` succeeded after changes to `/w/p/a.go`"},
		{"not shown by another part", func(k *talk) { k.bash("go test ./...", 1, "FAIL").edit("/w/p/a.go").bash("go test ./a", 0, "ok") }, tFails, "- `go test ./...` failed"},
		{"not shown without a change", func(k *talk) { k.bash("go test ./a", 1, "FAIL").bash("go test ./...", 0, "ok") }, tFails, "- `go test ./a` failed"},
		{"many files", func(k *talk) {
			k.bash("make test", 1, "FAIL")
			for i := range 9 {
				k.edit(fmt.Sprintf("/w/p/%d.go", i))
			}
			k.bash("make test", 0, "ok")
		}, tFixed, "`/w/p/3.go` and 3 more"},
		{"in a session of its own", func(k *talk) {
			k.does("exec_command", `{"cmd":"cargo test"}`, "Chunk ID: 1\nProcess running with session ID 77\nOutput:\n").does("write_stdin", `{"session_id":77,"chars":""}`, "Chunk ID: 2\nProcess exited with code 101\nOutput:\ntest failed\n")
		}, tFails, "- `cargo test` failed with exit code 101: `test failed`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTalk(t)
			c.tell(k)
			wantIn(t, part(k.render(), c.section), c.want)
		})
	}
	k := newTalk(t)
	k.bash("grep -rn x .", 1, "").bash("ls /none", 2, "ls: /none: No such file").does("Read", `{"file_path":"/none"}`, "x")
	k.gets(k.calls("Read", `{"file_path":"/none"}`), "File does not exist.", true, "")
	k.gets(k.calls("Edit", `{"file_path":"/w/p/a.go"}`), "<tool_use_error>File has not been read yet.</tool_use_error>", true, "").edit("/w/p/a.go")
	if r := k.render(); part(r, tFails) != "" || part(r, tFixed) != "" {
		t.Errorf("a search that found nothing and an edit at the second try are no failures:\n%s", r)
	}
}

// TestDecisions: few sentences are decisions, and intentions are none.
func TestDecisions(t *testing.T) {
	k := newTalk(t)
	k.replies("I'll run the tests now.\n\n**Root cause:** the lock is taken twice. Let me look at more.\n\n```\n// Decision: not in code, this is code\n```\n- I decided to keep the old format because readers exist.\n> Decision: quoted from a file somewhere")
	k.replies("Should I go with option B, or the other one?\nGoing with the second option, since it needs no migration.")
	k.replies("根本原因はロックの二重取得でした。次にテストを書きます。")
	got := part(k.render(), tDecisions)
	if want := "- `Root cause: the lock is taken twice.`\n- `I decided to keep the old format because readers exist.`\n- `Going with the second option, since it needs no migration.`\n- `根本原因はロックの二重取得でした。`"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPlaces: folder and branch are those of the last entry.
func TestPlaces(t *testing.T) {
	k := newTalk(t)
	k.says("go")
	s := k.Stamp("x")
	s.GitBranch, s.CWD = "feat/x", "/w/q"
	k.Add(s.User(k.tip, textMessage("more")))
	got := part(k.render(), tStands)
	wantIn(t, got, "- Folder: `/w/q`")
	wantIn(t, got, "- Branch: `feat/x`, before that `main`")
}

// TestUserShell: what a person ran is told apart from what the assistant ran.
func TestUserShell(t *testing.T) {
	k := newTalk(t)
	k.says("<bash-input>code .</bash-input>").says("<bash-stdout></bash-stdout><bash-stderr></bash-stderr>")
	wantIn(t, part(k.render(), tRuns), "- `code .`, run by the user")
}

// TestBounds: the state stays bounded, changed files are never dropped, and what was
// dropped is said.
func TestBounds(t *testing.T) {
	k := newTalk(t)
	for i := range 2100 {
		k.does("Read", fmt.Sprintf(`{"file_path":"/w/p/read%d.go"}`, i), "x")
	}
	for i := range 1050 {
		k.bash(fmt.Sprintf("make step%d", i), i%3, "error: x")
	}
	k.edit("/w/p/kept.go")
	r := k.render()
	wantIn(t, part(r, tChanged), "/w/p/kept.go")
	for _, want := range []string{"older files only read", "older commands", "older failures"} {
		wantIn(t, r, want)
	}
	wantNotIn(t, r, "read0.go")
	wantIn(t, r, "read2099.go")
	wantIn(t, r, "make step1049")
	if n := strings.Count(part(r, tRead), "\n"); n > 2100 {
		t.Errorf("%d files", n)
	}
}
