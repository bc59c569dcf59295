package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// writer builds the log of a test, entry by entry, with the ids and times of a
// clockwork.
type writer struct {
	t     *testing.T
	stamp transcript.Stamp
	log   bytes.Buffer
	tip   string
	calls int
}

func newWriter(t *testing.T) *writer {
	n := 0
	at := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	return &writer{t: t, stamp: transcript.Stamp{
		SessionID: "11111111-2222-4333-8444-555555555555", CWD: "/home/dev/shop", Version: "9.9.9", GitBranch: "main",
		Now: func() time.Time { at = at.Add(20 * time.Second); return at },
		NewID: func() string {
			n++
			return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)
		},
	}}
}

// add appends an entry and makes it the tip.
func (w *writer) add(e *transcript.Entry) string {
	w.t.Helper()
	raw, err := e.Raw()
	if err != nil {
		w.t.Fatal(err)
	}
	w.log.Write(raw)
	w.log.WriteByte('\n')
	if e.IsChain() {
		w.tip = e.UUID
	}
	return e.UUID
}

func (w *writer) prompt(text string) string {
	return w.add(w.stamp.User(w.tip, message.User(text)))
}

func (w *writer) meta(text string) string {
	return w.add(w.stamp.User(w.tip, message.User(text), transcript.Extra{Key: "isMeta", Value: json.RawMessage("true")}))
}

// reply adds one assistant entry for each block, as one response with one id.
func (w *writer) reply(id string, blocks ...message.Block) {
	for i, b := range blocks {
		m := message.Assistant(b)
		m.ID, m.Model = id, "model-5"
		usage, err := message.ParseUsage([]byte(fmt.Sprintf(`{"input_tokens":10,"cache_read_input_tokens":1000,"output_tokens":%d}`, 5*(i+1))))
		if err != nil {
			w.t.Fatal(err)
		}
		m.Usage = &usage
		w.add(w.stamp.Assistant(w.tip, m, "req_"+id))
	}
}

// call returns a tool_use block and its id.
func (w *writer) call(name string, input any) (message.Block, string) {
	w.t.Helper()
	w.calls++
	id := fmt.Sprintf("toolu_%02d", w.calls)
	raw, err := json.Marshal(input)
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := message.ToolUse(id, name, raw)
	if err != nil {
		w.t.Fatal(err)
	}
	return b, id
}

func (w *writer) result(id string, isError bool, content ...message.Block) string {
	return w.add(w.stamp.User(w.tip, message.UserBlocks(message.ToolResult(id, isError, content...))))
}

func (w *writer) attach(v any, rendered ...string) {
	raw, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	w.add(w.stamp.Attachment(w.tip, raw, rendered))
}

// session writes the log to a file and opens it.
func (w *writer) session() *Session {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), w.stamp.SessionID+".jsonl")
	if err := os.WriteFile(path, w.log.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return open(w.t, path)
}

func open(t *testing.T, path string) *Session {
	t.Helper()
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// picture is a small PNG.
func picture(t *testing.T) []byte {
	img := image.NewPaletted(image.Rect(0, 0, 32, 32), color.Palette{color.Black, color.RGBA{200, 90, 10, 255}})
	for i := range 32 {
		img.SetColorIndex(i, i, 1)
		img.SetColorIndex(31-i, i, 1)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, 400)...) // trailing bytes that decoders pass over, so that it is worth leaving out
}

// The secrets of the fixture are put together here, so that no scanner finds one
// in the repository.
var (
	fakeToken    = "gh" + "p_" + strings.Repeat("aB3dE5gH7", 4)
	fakeKey      = "sk-" + "ant-api03-" + strings.Repeat("Zy9-xW8_", 11)
	fakePassword = "c0rrect" + "-Horse-7"
	fakePEM      = "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDx7Kq2mV0uYt3h\n", 4) + "-----END " + "PRIVATE KEY-----"
	fakeSecrets  = []string{fakeToken, fakeKey, fakePassword, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA"}
)

// everything is a log that has all kinds of entries an export shows.
func everything(t *testing.T) *writer {
	w := newWriter(t)
	w.add(w.stamp.Meta(transcript.TypeCustomTitle, "Repair the checkout <b>& test</b> "+fakeToken))
	w.meta("<local-command-caveat>Caveat: what follows was run by the user.</local-command-caveat>")
	first := w.prompt("Why does `checkout` fail?\n\n```go\nfunc main() {}\n```\nThe key is " + fakeKey)
	w.attach(map[string]any{"type": "file", "filename": "src/cart.go", "content": "package cart\n\nconst password = \"" + fakePassword + "\"\n"})
	w.attach(map[string]any{"type": "date_change", "newDate": "2026-03-04"}, "<system-reminder>The date is 2026-03-04.</system-reminder>")
	bash, bashID := w.call("Bash", map[string]any{"command": "go test ./...", "description": "Run all tests", "timeout": 120000})
	read, readID := w.call("Read", map[string]any{"file_path": "/home/dev/shop/src/cart.go"})
	w.reply("msg_1", message.Thinking("The tests first.\nThe token "+fakeToken+" is in sight.", "c2ln"), message.Text("I will **run the tests** and read `cart.go`.\n\n# Plan\n\n1. test\n2. read\n\n| a | b |\n|---|---|\n| 1 | 2 |"), bash, read)
	w.result(bashID, true, message.Text("\x1b[31mFAIL\x1b[0m shop/cart 0.01s\n"+strings.Repeat("    cart_test.go:12: total is 3, want 4\n", 40)+"exit status 1"))
	w.result(readID, false, message.Text("     1→package cart\n     2→const password = \""+fakePassword+"\"\n"))
	edit, editID := w.call("Edit", map[string]any{"file_path": "/home/dev/shop/src/cart.go", "old_string": "total := 3\n", "new_string": "total := 4\n", "replace_all": false})
	w.reply("msg_2", edit)
	w.result(editID, false)
	shot, shotID := w.call("Screenshot", map[string]any{})
	w.reply("msg_3", shot)
	w.result(shotID, false, message.Text("the page"), message.Image("image/png", picture(t)))
	task, taskID := w.call("Task", map[string]any{"description": "Look for callers", "prompt": "Find all callers of Total.\nReport their files.", "subagent_type": "explore"})
	w.reply("msg_4", task)
	w.add(w.stamp.User(w.tip, message.UserBlocks(message.ToolResult(taskID, false, message.Text("Two callers."))),
		transcript.Extra{Key: "toolUseResult", Value: json.RawMessage(`{"agentId":"a1b2c3d","status":"completed","retryInMs":545.2778597981155}`)}))
	w.reply("msg_5", message.RedactedThinking(strings.Repeat("x", 64)), message.Text("Done: the sum was wrong."))
	w.attach(map[string]any{"type": "queued_command", "prompt": "Also look at the tax, please.", "commandMode": "prompt"})
	w.reply("msg_6", message.Text("The tax is right."))
	fork := w.tip

	w.prompt("A path that is left behind: " + fakeToken)
	w.reply("msg_7", message.Text("This answer was left behind."))
	w.tip = fork

	w.prompt("[Request interrupted by user for tool use]")
	w.prompt("<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args>keep the tests</command-args>")
	w.prompt("<local-command-stdout>Compacted</local-command-stdout>")
	w.add(w.stamp.MicrocompactBoundary(w.tip, transcript.Microcompact{Trigger: "auto", PreTokens: 90_000, TokensSaved: 21_500, ToolIDs: []string{bashID, readID}}))
	w.add(w.stamp.System(w.tip, "api_error", "", "error", transcript.Extra{Key: "error", Value: json.RawMessage(`{"type":"overloaded_error","message":"Overloaded"}`)}))
	boundary := w.add(w.stamp.CompactBoundary(w.tip, transcript.Boundary{Trigger: "manual", PreTokens: 155_377, PostTokens: 12_040,
		PreservedMessages: &transcript.PreservedMessages{AnchorUUID: first, UUIDs: []string{first}}, Own: transcript.BoundaryOwn{Rung: "L4", Cause: "threshold"}}))
	w.add(w.stamp.Summary(boundary, message.User("This session is being continued. **The sum** was repaired.\n\nThe database is postgres://shop:"+fakePassword+"@db/shop.")))
	w.prompt("Thanks. Is this key still in use?\n" + fakePEM)
	w.reply("msg_8", message.Text("It is not.\n\n~~~sh\ngrep -r PRIVATE .\n~~~\n\nSee [the docs](https://docs.example.com/x) or [this](javascript:alert(1))."))
	w.add(w.stamp.System(w.tip, "turn_duration", "", ""))
	w.add(w.stamp.Side("varve-receipt", map[string]any{"requestId": "req_1", "blocks": 12}))
	return w
}

// withAgents opens the session of everything with two sub-agents beside it.
func withAgents(t *testing.T, w *writer) *Session {
	path := filepath.Join(t.TempDir(), w.stamp.SessionID+".jsonl")
	dir := filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
	sub := newWriter(t)
	sub.stamp.Sidechain, sub.stamp.AgentID = true, "a1b2c3d"
	sub.prompt("Find all callers of Total.\nReport their files.")
	sub.reply("msg_s", message.Text("Two callers."))
	for name, data := range map[string][]byte{
		path: w.log.Bytes(),
		filepath.Join(dir, "agent-a1b2c3d.jsonl"):     sub.log.Bytes(),
		filepath.Join(dir, "agent-a1b2c3d.meta.json"): []byte(`{"agentType":"explore","description":"Look for callers"}`),
		filepath.Join(dir, "agent-empty.jsonl"):       nil,
		filepath.Join(dir, "notes.txt"):               []byte("not an agent"),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, path)
}

// formats are the exports, by the ending of their golden file.
var formats = []struct {
	ext string
	run func(*bytes.Buffer, *Session, Options) (Report, error)
}{
	{"md", func(b *bytes.Buffer, s *Session, o Options) (Report, error) { return Markdown(b, s, o) }},
	{"html", func(b *bytes.Buffer, s *Session, o Options) (Report, error) { return HTML(b, s, o) }},
	{"json", func(b *bytes.Buffer, s *Session, o Options) (Report, error) { return JSON(b, s, o) }},
}

func export(t *testing.T, s *Session, ext string, opt Options) (string, Report) {
	t.Helper()
	for _, f := range formats {
		if f.ext == ext {
			var b bytes.Buffer
			r, err := f.run(&b, s, opt)
			if err != nil {
				t.Fatal(err)
			}
			return b.String(), r
		}
	}
	t.Fatalf("no format %s", ext)
	return "", Report{}
}

func transcriptBoundary(cause string) transcript.Boundary {
	return transcript.Boundary{Trigger: "auto", PreTokens: 10, Own: transcript.BoundaryOwn{Rung: cause, Cause: cause}}
}
