package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"varve.dev/internal/sources"
	"varve.dev/message"
	"varve.dev/transcript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"varve": func() { os.Exit(Main(System())) }})
}

// TestScripts runs the command through its real main function: testdata holds a
// file for each theme, with a heading for the requirement or report that each part
// pins. Logs are made by the command `log`, see below.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("VARVE_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("TZ", "UTC")
			env.Setenv("NO_COLOR", "")
			env.Setenv("TERM", "xterm")
			for _, name := range []string{"VARVE_HOME", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_PROJECT_DIR_NAME"} {
				env.Setenv(name, "")
			}
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"log": makeLog, "unchanged": unchanged},
	})
}

// makeLog writes a log:
//
//	log HOME DIR ID STEP…
//
// HOME is varve or claude, with /FOLDER to name another folder than the one that
// belongs to the directory DIR; or a path, then DIR is only recorded. Steps, in
// order:
//
//	at=TIME        the clock from here on; it starts at 2026-03-04T05:06:07Z
//	prompt=TEXT    a prompt           reply=TEXT     a reply
//	call=NAME:IN   a tool call        result=TEXT    its result (error=TEXT: a failure)
//	title=TEXT     a title by hand    ai-title, tag  likewise
//	meta=TEXT      injected text      command=TEXT   the echo of a slash command
//	rewind=N       go back to the Nth prompt
//	compact=TEXT   a boundary and the summary TEXT
//	parent=UUID    the next entry names this parent
//	pad=N          N bytes of prompts and replies
//	raw=TEXT       TEXT as it is, without a newline
//	cut=N          drop the last N bytes so far
//	agent=ID       from here on the log of this sub-agent, beside the session
//	mtime=TIME     the file's time
//
// TEXT may hold Go escapes.
func makeLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: log HOME DIR ID STEP…")
	}
	m := &maker{id: args[2], dir: args[1], clock: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	m.stamp = transcript.Stamp{SessionID: m.id, CWD: m.dir, Version: "1.2.3", GitBranch: "main", Now: func() time.Time { return m.clock }, NewID: m.uuid}
	m.path = m.place(ts, args[0])
	for _, step := range args[3:] {
		key, value, _ := strings.Cut(step, "=")
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(value, `"`, `\"`) + `"`)
		if err != nil {
			ts.Fatalf("step %s: %v", step, err)
		}
		if err := m.step(key, text); err != nil {
			ts.Fatalf("step %s: %v", step, err)
		}
	}
	ts.Check(m.save())
}

// maker builds one log.
type maker struct {
	id, dir, path string
	stamp         transcript.Stamp
	clock, mtime  time.Time
	buf           bytes.Buffer
	leaf, call    string
	prompts       []string // uuid of the entry before each
	n             int
}

func (m *maker) place(ts *testscript.TestScript, home string) string {
	source, folder, named := strings.Cut(home, "/")
	for _, h := range sources.Homes(ts.Getenv, ts.Getenv("HOME")) {
		if h.Source != source {
			continue
		}
		if !named && source == sources.SourceVarve {
			folder = sources.Slug(m.dir)
		} else if !named {
			folder, _ = sources.ReferenceSlug(m.dir)
		}
		return filepath.Join(h.Projects(), folder, m.id+".jsonl")
	}
	return ts.MkAbs(home)
}

func (m *maker) uuid() string {
	m.n++
	return fmt.Sprintf("%08x-aaaa-4000-8000-000000000000", m.n)
}

func (m *maker) add(e *transcript.Entry) error {
	raw, err := e.Raw()
	m.buf.Write(raw)
	m.buf.WriteByte('\n')
	if e.IsChain() {
		m.leaf = e.UUID
	}
	m.clock = m.clock.Add(time.Second)
	return err
}

func (m *maker) step(key, text string) (err error) {
	s := m.stamp
	switch key {
	case "at", "mtime":
		t, err := time.Parse(time.RFC3339, text)
		if key == "at" {
			m.clock = t
		} else {
			m.mtime = t
		}
		return err
	case "prompt":
		m.prompts = append(m.prompts, m.leaf)
		return m.add(s.User(m.leaf, message.User(text)))
	case "meta":
		return m.add(s.User(m.leaf, message.User(text), transcript.Extra{Key: "isMeta", Value: []byte("true")}))
	case "command":
		name, args, _ := strings.Cut(text, " ")
		return m.add(s.User(m.leaf, message.User("<command-name>"+name+"</command-name>\n<command-args>"+args+"</command-args>")))
	case "reply":
		return m.add(s.Assistant(m.leaf, m.said(message.Text(text)), ""))
	case "call":
		name, in, _ := strings.Cut(text, ":")
		m.call = fmt.Sprintf("toolu_%d", m.n)
		b, err := message.ToolUse(m.call, name, []byte(`{"command":`+string(message.AppendString(nil, in))+`}`))
		if err != nil {
			return err
		}
		return m.add(s.Assistant(m.leaf, m.said(b), ""))
	case "result", "error":
		return m.add(s.User(m.leaf, message.UserBlocks(message.ToolResult(m.call, key == "error", message.Text(text)))))
	case "title":
		return m.add(s.Meta(transcript.TypeCustomTitle, text))
	case "ai-title", "tag":
		return m.add(s.Meta(key, text))
	case "rewind":
		n, err := strconv.Atoi(text)
		m.leaf = m.prompts[n-1]
		return err
	case "compact":
		b := s.CompactBoundary(m.leaf, transcript.Boundary{Trigger: "auto", PreTokens: 155000})
		if err := m.add(b); err != nil {
			return err
		}
		return m.add(s.Summary(b.UUID, message.User(text)))
	case "parent":
		m.leaf = text
	case "pad":
		n, err := strconv.Atoi(text)
		for end := m.buf.Len() + n; err == nil && m.buf.Len() < end; {
			err = m.add(s.Assistant(m.leaf, m.said(message.Text(strings.Repeat("words that fill a record. ", 80))), ""))
		}
		return err
	case "raw":
		m.buf.WriteString(text)
	case "cut":
		n, err := strconv.Atoi(text)
		m.buf.Truncate(m.buf.Len() - n)
		return err
	case "agent":
		if err := m.save(); err != nil {
			return err
		}
		m.buf.Reset()
		m.stamp.Sidechain, m.stamp.AgentID, m.leaf = true, text, ""
		m.path = filepath.Join(strings.TrimSuffix(m.path, ".jsonl"), "subagents", "agent-"+text+".jsonl")
	default:
		return fmt.Errorf("no such step")
	}
	return nil
}

func (m *maker) said(b message.Block) message.Message {
	msg := message.Assistant(b)
	m.n++
	msg.ID, msg.Model = fmt.Sprintf("msg_%d", m.n), "model-1"
	return msg
}

func (m *maker) save() error {
	if err := os.MkdirAll(filepath.Dir(m.path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(m.path, m.buf.Bytes(), 0o600); err != nil {
		return err
	}
	if m.mtime.IsZero() {
		return os.Chtimes(m.path, m.clock, m.clock)
	}
	return os.Chtimes(m.path, m.mtime, m.mtime)
}

// unchanged compares the files under a folder with what they were at its first
// call for it.
//
//	unchanged DIR
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unchanged DIR")
	}
	dir := ts.MkAbs(args[0])
	var now strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil {
			fmt.Fprintln(&now, path, st.Mode(), st.Size(), st.ModTime().UnixNano())
		}
		return err
	}))
	before := dir + ".before"
	data, err := os.ReadFile(before)
	if err != nil {
		ts.Check(os.WriteFile(before, []byte(now.String()), 0o600))
		return
	}
	if string(data) != now.String() {
		ts.Fatalf("%s changed:\n%s\nwas:\n%s", dir, now.String(), data)
	}
}
