package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/session"
	"varve.dev/transcript"
	"varve.dev/transcript/lease"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			out = append(out, rel)
		}
		return nil
	})
	must(t, err)
	return out
}

func reply(id, text string) message.Message {
	m := message.Assistant(message.Text(text))
	m.ID, m.StopReason = id, "end_turn"
	return m
}

func turn(t testing.TB, e *engine.Engine, prompt, id string) *engine.Request {
	t.Helper()
	ctx := context.Background()
	must(t, e.Append(message.User(prompt)))
	req, err := e.Prepare(ctx)
	must(t, err)
	must(t, e.Record(ctx, req, reply(id, "answer to "+prompt)))
	return req
}

// TestLife: T-1, T-2, S-6, G-8. A session is nothing on disk until its first
// message, private on disk from then on, and goes on where it ended.
func TestLife(t *testing.T) {
	ctx := context.Background()
	home, project := t.TempDir(), t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: filepath.Join(home, "varve")})
	must(t, err)
	s, err := st.Create(ctx, session.Project(project))
	must(t, err)
	if got := files(t, home); len(got) != 0 {
		t.Fatalf("before the first message there are files: %v", got)
	}
	cfg := engine.Config{Caps: caps.Window(100_000), System: []byte(`"sys"`)}
	e := engine.New(s, cfg)
	first := turn(t, e, "one", "m1")
	must(t, s.Close(ctx))
	st1, err := os.Stat(s.Path)
	must(t, err)
	if m := st1.Mode().Perm(); m != 0o600 {
		t.Errorf("the log has mode %o", m)
	}

	looked, err := st.Open(ctx, s.ID[:8], session.Project(project))
	must(t, err)
	must(t, looked.Close(ctx))
	if st2, err := os.Stat(s.Path); err != nil || st2.Size() != st1.Size() {
		t.Errorf("opening and closing changed the log: %v", err)
	}

	again, err := st.Newest(ctx, session.Project(project))
	must(t, err)
	if again.ID != s.ID {
		t.Fatalf("newest is %s, want %s", again.ID, s.ID)
	}
	e = engine.New(again, cfg)
	second := turn(t, e, "two", "m2")
	b, err := os.ReadFile(s.Path)
	must(t, err)
	known := 0
	for _, x := range again.Log().Entries {
		if off := again.Offset(x.UUID); x.UUID != "" && off > 0 {
			known++
			if x, err := transcript.Parse(b[off : off+int64(strings.IndexByte(string(b[off:]), '\n'))]); err != nil || again.Offset(x.UUID) != off {
				t.Errorf("at %d stands %v, %v", off, x, err)
			}
		}
	}
	if n := strings.Count(string(b), `"uuid":`); known != n-1 { // the first entry stands at 0
		t.Errorf("the places of %d entries are known, of %d", known, n)
	}
	must(t, again.Close(ctx))
	if second.Frame.ID != first.Frame.ID || len(second.Messages) != 3 {
		t.Errorf("frame %s then %s, %d messages", first.Frame.ID, second.Frame.ID, len(second.Messages))
	}
	for i := range first.Wire {
		if string(first.Wire[i]) != string(second.Wire[i]) {
			t.Errorf("message %d was sent differently after the resume", i)
		}
	}
	if w := again.Warnings(); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}
}

// TestBusy: anthropics/claude-code#39151. Two writers of one session: the second is
// refused with who holds it, and the log is intact.
func TestBusy(t *testing.T) {
	ctx := context.Background()
	project := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	must(t, err)
	s, err := st.Create(ctx, session.Project(project))
	must(t, err)
	e := engine.New(s, engine.Config{Caps: caps.Window(100_000)})
	turn(t, e, "one", "m1")
	other, err := st.Open(ctx, s.ID, session.Project(project))
	must(t, err)
	e2 := engine.New(other, engine.Config{Caps: caps.Window(100_000)})
	err = e2.Append(message.User("me too"))
	if err == nil {
		err = other.Sync(ctx)
	}
	if !errors.Is(err, lease.ErrBusy) {
		t.Fatalf("second writer: %v", err)
	}
	turn(t, e, "two", "m2")
	must(t, s.Close(ctx))
	_ = other.Close(ctx) // it has nothing that it may write
	b, err := os.ReadFile(s.Path)
	must(t, err)
	if strings.Contains(string(b), "me too") || !strings.Contains(string(b), "answer to two") {
		t.Errorf("the log holds what the refused writer had, or lacks what the owner had")
	}
}

// TestShared: G-8, DESIGN decision 8. Where several machines may write, the first
// append decides who does, and what is weaker there is said once. A session that is
// closed does not take its lock again.
func TestShared(t *testing.T) {
	ctx := context.Background()
	project, home := t.TempDir(), t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: home})
	must(t, err)
	st.OnShare()
	s, err := st.Create(ctx, session.Project(project))
	must(t, err)
	if got := files(t, home); len(got) != 0 || len(s.Warnings()) != 0 {
		t.Fatalf("before the first message there are files (%v) or warnings", got)
	}
	e := engine.New(s, engine.Config{Caps: caps.Window(100_000)})
	turn(t, e, "one", "m1")
	w := s.Warnings()
	var shared *lease.SharedError
	if len(w) != 1 || !errors.As(w[0], &shared) || shared.Type != "nfs" {
		t.Errorf("warnings %v, want that the lock is weaker", w)
	}
	other, err := st.Open(ctx, s.ID, session.Project(project))
	must(t, err)
	if err := other.Append(other.Stamp().User("", message.User("me too"))); !errors.Is(err, lease.ErrBusy) {
		t.Errorf("the second writer's first append: %v", err)
	}
	if err := other.Acquire(ctx); !errors.Is(err, lease.ErrBusy) {
		t.Errorf("asked before anything is typed: %v", err)
	}
	must(t, other.Close(ctx))
	turn(t, e, "two", "m2")
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("said again: %v", w)
	}
	must(t, s.Close(ctx))
	if err := s.Append(s.Stamp().User("", message.User("late"))); err == nil {
		t.Error("an append to a closed session was taken")
	}
	third, err := st.Open(ctx, s.ID, session.Project(project))
	must(t, err)
	must(t, third.Acquire(ctx))
	must(t, third.Close(ctx))
}

// TestLong: G-9, T-7. A session much longer than its window fits it at every turn,
// by the smallest ladder, and is resumed from its tail with the same bytes.
func TestLong(t *testing.T) {
	ctx := context.Background()
	project := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	must(t, err)
	s, err := st.Create(ctx, session.Project(project), session.Clock(func() time.Time { return time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC) }))
	must(t, err)
	compacted := 0
	cfg := engine.Config{Caps: caps.Window(8_000), Observe: func(ev engine.Event) {
		if ev.Kind == engine.Compacted {
			compacted++
		}
	}}
	e := engine.New(s, cfg)
	for i := range 120 {
		req := turn(t, e, fmt.Sprintf("prompt %d: %s", i, strings.Repeat("some words of text ", 60)), fmt.Sprintf("m%d", i))
		if req.Tokens > req.Budget.Effective {
			t.Fatalf("turn %d: %d tokens", i, req.Tokens)
		}
		if i%40 == 39 {
			must(t, s.Close(ctx))
			if s, err = st.Open(ctx, s.ID, session.Project(project)); err != nil {
				t.Fatal(err)
			}
			e = engine.New(s, cfg)
		}
	}
	must(t, s.Close(ctx))
	if compacted < 3 {
		t.Errorf("%d compactions", compacted)
	}
	if w := s.Warnings(); len(w) != 0 {
		t.Errorf("warnings %v", w)
	}
}

// TestIDs: ids that name paths are refused, and so is one that exists.
func TestIDs(t *testing.T) {
	ctx := context.Background()
	project := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	must(t, err)
	for _, id := range []string{"../x", "a/b", "", ".", strings.Repeat("x", 65)} {
		if _, err := st.Create(ctx, session.Project(project), session.ID(id)); id != "" && !errors.Is(err, session.ErrID) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	s, err := st.Create(ctx, session.Project(project), session.ID("mine"))
	must(t, err)
	turn(t, engine.New(s, engine.Config{Caps: caps.Window(50_000)}), "x", "m1")
	must(t, s.Close(ctx))
	if _, err := st.Create(ctx, session.Project(project), session.ID("mine")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second session with the id: %v", err)
	}
	if _, err := st.Open(ctx, "none", session.Project(project)); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
}

// TestMoved: G-8, DESIGN decision 8. What somebody else wrote between reading the log and the first append stops the writer: the conversation
// in memory is not the one in the file.
func TestMoved(t *testing.T) {
	ctx := context.Background()
	project := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	must(t, err)
	s, err := st.Create(ctx, session.Project(project))
	must(t, err)
	turn(t, engine.New(s, engine.Config{Caps: caps.Window(100_000)}), "one", "m1")
	must(t, s.Close(ctx))
	s, err = st.Open(ctx, s.ID, session.Project(project))
	must(t, err)
	f, err := os.OpenFile(s.Path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"type":"summary","summary":"somebody else's"}` + "\n")
	must(t, errors.Join(err, f.Close()))
	err = s.Append(s.Stamp().User("", message.User("mine")))
	if err == nil {
		err = s.Sync(ctx)
	}
	if !errors.Is(err, transcript.ErrMoved) || !errors.Is(err, transcript.ErrReadOnly) {
		t.Errorf("append behind somebody else's record: %v", err)
	}
	_ = s.Close(ctx) // it says the same
	if b, err := os.ReadFile(s.Path); err != nil || strings.Contains(string(b), "mine") {
		t.Errorf("it was written all the same (%v)", err)
	}
}

// TestFrames: T-13. A frame's bytes are kept with the session, written once unless they differ, and found by nothing but an id: ids come from
// logs, and a log may be anybody's.
func TestFrames(t *testing.T) {
	ctx := context.Background()
	home := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: home})
	must(t, err)
	s, err := st.Create(ctx, session.Project(t.TempDir()))
	must(t, err)
	defer s.Close(ctx)
	id := strings.Repeat("ab", 32)
	if _, err := s.Frame(id); !errors.Is(err, engine.ErrNoFrame) {
		t.Errorf("a frame that was never kept: %v", err)
	}
	for _, data := range []string{"torn", "whole", "whole"} {
		must(t, s.PutFrame(id, []byte(data)))
		if got, err := s.Frame(id); err != nil || string(got) != data {
			t.Errorf("kept %q, %v; want %q", got, err, data)
		}
	}
	before := files(t, home)
	for _, bad := range []string{"", "x", "../" + id[3:], id + "0", strings.ToUpper(id), "../../../../../etc/passwd"} {
		if err := s.PutFrame(bad, []byte("x")); err == nil {
			t.Errorf("a frame %q was kept", bad)
		}
		if _, err := s.Frame(bad); err == nil || errors.Is(err, engine.ErrNoFrame) {
			t.Errorf("a frame %q was looked for: %v", bad, err)
		}
	}
	if after := files(t, home); len(after) != len(before) {
		t.Errorf("files %v, before %v", after, before)
	}
}

// TestPersisted. A large result is sent as a preview, byte for byte the
// same after a resume, and its whole text is on disk below the session.
func TestPersisted(t *testing.T) {
	ctx := context.Background()
	project := t.TempDir()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	must(t, err)
	s, err := st.Create(ctx, session.Project(project))
	must(t, err)
	cfg := engine.Config{Caps: caps.Window(200_000), Results: s.Results()}
	e := engine.New(s, cfg)
	must(t, e.Append(message.User("read it")))
	req, err := e.Prepare(ctx)
	must(t, err)
	call, err := message.ToolUse("toolu_1", "Read", []byte(`{"file_path":"big"}`))
	must(t, err)
	m := message.Assistant(call)
	m.ID = "m1"
	must(t, e.Record(ctx, req, m))
	long := strings.Repeat("a line of a large file\n", 4_000)
	must(t, e.Append(message.UserBlocks(message.ToolResult("toolu_1", false, message.Text(long)))))
	first, err := e.Prepare(ctx)
	must(t, err)
	got := first.Messages[2].Content[0].Content[0].Text
	if !strings.HasPrefix(got, "<persisted-output>") || len(got) > 4_000 {
		t.Fatalf("sent %d bytes: %.80s", len(got), got)
	}
	must(t, s.Close(ctx))
	saved := false
	for _, f := range files(t, filepath.Dir(s.Path)) {
		if strings.Contains(f, "tool-results") {
			b, err := os.ReadFile(filepath.Join(filepath.Dir(s.Path), f))
			must(t, err)
			saved = saved || string(b) == long
		}
	}
	if !saved {
		t.Error("the whole text is not on disk")
	}
	again, err := st.Open(ctx, s.ID, session.Project(project))
	must(t, err)
	defer again.Close(ctx)
	cfg.Results = again.Results()
	second, err := engine.New(again, cfg).Prepare(ctx)
	must(t, err)
	if string(second.Wire[2]) != string(first.Wire[2]) {
		t.Errorf("after the resume %.200s\nbefore %.200s", second.Wire[2], first.Wire[2])
	}
}
