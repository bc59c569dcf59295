package ledger_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"varve.dev/internal/ledger"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// check holds what must hold of any ledger, whatever made it.
func check(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	all := l.Render(ledger.Unlimited, nil)
	checkFrame(t, all)
	small := l.Render(ledger.Minimum+100, nil)
	checkFrame(t, small)
	if n := tokens.Text(small); n > ledger.Minimum+100 {
		t.Fatalf("%d tokens", n)
	}
	raw := l.Checkpoint()
	again, err := ledger.Restore(raw)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	if !bytes.Equal(again.Checkpoint(), raw) {
		t.Fatalf("restoring changes the state:\n%s\n%s", raw, again.Checkpoint())
	}
	if m := l.Missing(all); len(m) > 0 {
		t.Fatalf("the ledger's own text misses %q in\n%s", m, all)
	}
}

// FuzzAdd: any lines of a log.
func FuzzAdd(f *testing.F) {
	k := shop(f)
	f.Add(k.Bytes())
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"\ud800\u202e"}],"is_error":true}]},"toolUseResult":{"file":{"content":"x","numLines":1e9}}}`))
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":"{\"command\":\"rm x\"}"}]}}` + "\n" + `{"type":"queue-operation","operation":"enqueue","content":"x"}`))
	f.Add([]byte(`{"type":"attachment","attachment":{"type":"queued_command","prompt":[[[{}]]]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := ledger.New()
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			e, err := transcript.Parse(line)
			if err != nil {
				continue
			}
			if err := l.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		check(t, l)
	})
}

// FuzzTool: any input and any result of any tool.
func FuzzTool(f *testing.F) {
	for i, name := range toolNames {
		f.Add(name, `{"file_path":"/a","command":"go test ./...","content":"x","todos":[{"content":"a","status":"pending"}]}`, "Exit code 1\nerror: x", `{"stdout":"x"}`, i%2 == 0)
	}
	f.Add("apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n+x\n*** Move to: b"}`, `{"output":"\ud83d","metadata":{"exit_code":99999999999}}`, `{"originalFile":"aXa","oldString":"X","newString":"\ud83d\ude00","replaceAll":true}`, false)
	f.Add("Bash", `{"command":"cd a && $(x `+"`y` 'z"+`"}`, "Exit Code: -1", `{"task":{"id":7},"tasks":[{}],"answers":{"q":["a","b"]},"edits":[{"old_string":""}],"originalFileContents":""}`, true)
	f.Fuzz(func(t *testing.T, name, input, result, extra string, isError bool) {
		quote := func(s string) []byte {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		line := func(s string) *transcript.Entry {
			e, err := transcript.Parse([]byte(s))
			if err != nil {
				t.Skip("no line")
			}
			return e
		}
		in := []byte(input)
		if !json.Valid(in) {
			in = quote(input)
		}
		x := []byte(extra)
		if !json.Valid(x) {
			x = quote(extra)
		}
		failed := "false"
		if isError {
			failed = "true"
		}
		call := line(`{"type":"assistant","cwd":"/w","message":{"content":[{"type":"tool_use","id":"t1","name":` + string(quote(name)) + `,"input":` + string(bytes.ReplaceAll(in, []byte("\n"), []byte(" "))) + `}]},"uuid":"a1"}`)
		res := line(`{"type":"user","cwd":"/w","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":` + string(quote(result)) + `,"is_error":` + failed + `}]},"toolUseResult":` + string(bytes.ReplaceAll(x, []byte("\n"), []byte(" "))) + `,"uuid":"u1"}`)
		first, second := of(t, []*transcript.Entry{call, res}), of(t, []*transcript.Entry{res, call})
		check(t, first)
		check(t, second)
	})
}

// FuzzRestore: any checkpoint.
func FuzzRestore(f *testing.F) {
	f.Add([]byte(shop(f).ledger().Checkpoint()))
	f.Add([]byte(`{"v":1,"words":[{"t":"\ud800"}],"files":[{"p":"\n"}],"recent":[1,2]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := ledger.Restore(raw)
		if err != nil {
			return
		}
		once, err := ledger.Restore(l.Checkpoint())
		if err != nil || !bytes.Equal(once.Checkpoint(), l.Checkpoint()) {
			t.Fatalf("restoring twice is not restoring once: %v\n%s\n%s", err, l.Checkpoint(), once.Checkpoint())
		}
		checkFrame(t, l.Render(ledger.Unlimited, nil))
		e, err := transcript.Parse([]byte(`{"type":"user","message":{"role":"user","content":"go on"},"uuid":"u1"}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Add(e); err != nil {
			t.Fatal(err)
		}
		checkFrame(t, l.Render(1000, nil))
	})
}

// FuzzSummary: any summary, in any text.
func FuzzSummary(f *testing.F) {
	f.Add("Summary: cache.go, \"yes\"", 300)
	f.Add("\xff`` ## Plan", 40)
	l := shop(f).ledger()
	f.Fuzz(func(t *testing.T, summary string, budget int) {
		got := l.Complete(summary, budget, nil)
		if utf8.ValidString(summary) && !utf8.ValidString(got) {
			t.Fatal("not UTF-8")
		}
		if len(l.Missing(l.Complete(summary, ledger.Unlimited, nil))) > 0 {
			t.Fatal("something is still missing")
		}
	})
}
