package ledger_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// calling is one call of another agent's session, with what came back.
type calling struct {
	name, input, output string
	isError             bool
}

// sessions returns the recorded sessions of another agent.
func sessions(t *testing.T, agent, ext string) [][]byte {
	t.Helper()
	claude := corpus(t)[0]
	root := claude[:strings.Index(filepath.ToSlash(claude), "/data/claude/")]
	files, err := filepath.Glob(filepath.Join(root, "data", agent, "*"+ext))
	if err != nil || len(files) == 0 {
		t.Skipf("no recorded sessions at ../shared/data/%s", agent)
	}
	var out [][]byte
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// play gives calls to a ledger and returns its whole text.
func play(t *testing.T, calls []calling) string {
	t.Helper()
	k := newTalk(t)
	for _, c := range calls {
		k.gets(k.calls(c.name, c.input), c.output, c.isError, "")
	}
	r := k.render()
	checkFrame(t, r)
	return r
}

var patchFile = regexp.MustCompile(`(?m)^\*\*\* (?:Update|Add|Delete) File: (.+)$`)

// TestCodexSessions: every file of every patch, every command, and the exit code of its
// last run.
func TestCodexSessions(t *testing.T) {
	files, commands, codes := 0, 0, 0
	for _, data := range sessions(t, "codex", ".jsonl") {
		var calls []calling
		at := map[string]int{}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			var e struct {
				Type    string
				Payload struct {
					Type, Name, Arguments, Input string
					CallID                       string `json:"call_id"`
					Output                       any
				}
			}
			if json.Unmarshal(line, &e) != nil || e.Type != "response_item" {
				continue
			}
			switch p := e.Payload; p.Type {
			case "function_call", "custom_tool_call":
				in := p.Arguments
				if p.Type == "custom_tool_call" {
					in = object("input", p.Input)
				}
				at[p.CallID] = len(calls)
				calls = append(calls, calling{name: p.Name, input: in})
			case "function_call_output", "custom_tool_call_output":
				if s, ok := p.Output.(string); ok {
					calls[at[p.CallID]].output = s
				}
			}
		}
		r := play(t, calls)
		last := map[string]string{}
		for _, c := range calls {
			var in struct{ Cmd, Input string }
			if json.Unmarshal([]byte(c.input), &in) != nil {
				continue
			}
			for _, m := range patchFile.FindAllStringSubmatch(in.Input, -1) {
				wantIn(t, part(r, tChanged), "`"+m[1]+"`")
				files++
			}
			if c.name == "exec_command" {
				last[in.Cmd] = c.output
				commands++
			}
		}
		for cmd, out := range last {
			first := strings.TrimSpace(strings.Split(cmd, "\n")[0])
			if len(first) > 150 || strings.ContainsAny(first, "`\t") {
				continue // shown shortened or in other quotes
			}
			wantIn(t, part(r, tRuns), first)
			if m := regexp.MustCompile(`(?m)^Process exited with code (\d+)$`).FindStringSubmatch(strings.Split(out, "Output:")[0]); m != nil && first == cmd {
				if n, _ := strconv.Atoi(m[1]); n != 0 {
					codes++
				}
				wantIn(t, part(r, tRuns), "`"+cmd+"`: exit code "+m[1])
			}
		}
	}
	t.Logf("%d patched files, %d commands, %d of the last runs failed", files, commands, codes)
	if files < 50 || commands < 300 || codes < 5 {
		t.Error("too little to mean anything")
	}
}

// TestOtherSessions: every path that pi, opencode and Gemini sessions edit or write.
func TestOtherSessions(t *testing.T) {
	n := map[string]int{}
	check := func(agent string, calls []calling) {
		r := play(t, calls)
		for _, c := range calls {
			var in struct{ Path, FilePath, File_Path string }
			if json.Unmarshal([]byte(c.input), &in) != nil {
				continue
			}
			switch c.name {
			case "edit", "write", "write_file", "replace":
				if p := in.Path + in.FilePath + in.File_Path; p != "" {
					wantIn(t, part(r, tChanged), p)
					n[agent]++
				}
			case "bash", "run_shell_command":
				n[agent+" commands"]++
			}
		}
		if n[agent+" commands"] > 0 && part(r, tRuns) == "" {
			t.Errorf("%s: no commands", agent)
		}
	}
	for _, data := range sessions(t, "pi", ".jsonl") {
		check("pi", piCalls(data))
	}
	for _, data := range sessions(t, "opencode", ".json") {
		check("opencode", opencodeCalls(t, data))
	}
	for _, data := range sessions(t, "gemini", ".json") {
		check("gemini", geminiCalls(t, data))
	}
	t.Log(n)
	if n["pi"] < 200 || n["opencode"] < 10 || n["gemini"] < 3 {
		t.Error("too little to mean anything")
	}
}

func piCalls(data []byte) []calling {
	var calls []calling
	at := map[string]int{}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var e struct {
			Message struct {
				Role, ToolCallID string
				IsError          bool
				Content          json.RawMessage
			}
		}
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		var blocks []struct {
			Type, Text, ID, Name string
			Arguments            json.RawMessage
		}
		_ = json.Unmarshal(e.Message.Content, &blocks) // a text has no calls
		for _, b := range blocks {
			switch {
			case b.Type == "toolCall":
				at[b.ID] = len(calls)
				calls = append(calls, calling{name: b.Name, input: string(b.Arguments)})
			case e.Message.Role == "toolResult" && b.Type == "text":
				if i, ok := at[e.Message.ToolCallID]; ok {
					calls[i].output, calls[i].isError = b.Text, e.Message.IsError
				}
			}
		}
	}
	return calls
}

func opencodeCalls(t *testing.T, data []byte) (calls []calling) {
	var s struct {
		Messages []struct {
			Parts []struct {
				Type, Tool string
				State      struct {
					Input         json.RawMessage
					Output, Error string
				}
			}
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Messages {
		for _, p := range m.Parts {
			if p.Type == "tool" {
				calls = append(calls, calling{p.Tool, string(p.State.Input), p.State.Output + p.State.Error, p.State.Error != ""})
			}
		}
	}
	return calls
}

func geminiCalls(t *testing.T, data []byte) (calls []calling) {
	var s struct {
		Messages []struct {
			ToolCalls []struct {
				Name   string
				Args   json.RawMessage
				Result []struct {
					FunctionResponse struct{ Response struct{ Output string } }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Messages {
		for _, c := range m.ToolCalls {
			one := calling{name: c.Name, input: string(c.Args)}
			if len(c.Result) > 0 {
				one.output = c.Result[0].FunctionResponse.Response.Output
			}
			calls = append(calls, one)
		}
	}
	return calls
}
