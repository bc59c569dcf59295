package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// The tests of this file are reports of users of agents, told as logs. Each is
// named after its report.

// turns adds n turns of a prompt and a reply behind parent and returns the last uuid.
func turns(s *loggen.Story, prefix, parent string, n int) string {
	for i := 1; i <= n; i++ {
		u, a := fmt.Sprintf("%su%d", prefix, i), fmt.Sprintf("%sa%d", prefix, i)
		s.User(u, parent, fmt.Sprintf("prompt %d", i)).Say(a, u, "m-"+a, fmt.Sprintf("reply %d", i))
		parent = a
	}
	return parent
}

func tailOf(t testing.TB, b []byte, first int64) *transcript.Log {
	t.Helper()
	l, err := transcript.ReadTail(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{InMemory: -1, FirstTail: first})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestKilledAfterBoundary: openai/codex#6950, G-9. A boundary, fifty records, a
// kill in the middle of the next: all fifty are there, forwards and backwards.
func TestKilledAfterBoundary(t *testing.T) {
	s := loggen.NewStory()
	last := turns(s, "", "", 20)
	s.Boundary("b", last, transcript.Boundary{}).Summary("s", "b")
	turns(s, "n", "s", 25)
	s.User("cut", "na25", "this one was being written")
	b := s.Bytes()
	b = b[:len(b)-40]
	var want []string
	for i := 1; i <= 25; i++ {
		want = append(want, fmt.Sprintf("nu%d na%d", i, i))
	}
	for name, l := range map[string]*transcript.Log{"whole": readBytes(t, b), "tail": tailOf(t, b, 256)} {
		c := l.Chain(l.Tip())
		if got := names(c.Entries); got != "b s "+strings.Join(want, " ") {
			t.Errorf("%s: chain %q", name, got)
		}
		if len(l.Faults) != 1 || l.Faults[0].Kind != transcript.FaultTorn {
			t.Errorf("%s: faults %v", name, l.Faults)
		}
	}
}

// TestVersions: openai/codex#45150, T-4. Records of an older version before those
// of a newer one, the last without members that both have: what is missing is zero,
// what is new is kept, the chain goes through all of them.
func TestVersions(t *testing.T) {
	s := loggen.NewStory()
	old := `{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/w/p","sessionId":"s1","version":"1.0.3","type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2025-06-01T09:00:00.000Z"}`
	s.Raw(old).Raw(`{"parentUuid":"u1","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"x"}]},"uuid":"a1"}`)
	s.User("u2", "a1", "new")
	newer := `{"future":{"deep":[1.50,1e400]},"parentUuid":"u2","isSidechain":false,"type":"assistant","message":{"id":"m2","role":"assistant","content":[{"type":"hologram","data":7},{"type":"text","text":"y"}],"stop_details":{}},"uuid":"a2","varve":{"unknown":true}}`
	s.Raw(newer).Raw(`{"type":"type-of-tomorrow","sessionId":"s1","x":1}`).Raw(`{"parentUuid":"a2","type":"user","uuid":"u3","message":{"content":"last"}}`)
	l := readBytes(t, s.Bytes())
	if len(l.Faults) > 0 {
		t.Errorf("faults %v", l.Faults)
	}
	c := l.Chain(l.Tip())
	if got, want := names(c.Entries), "u1 a1 u2 a2 u3"; got != want {
		t.Fatalf("chain %q, want %q", got, want)
	}
	for i, line := range s.Lines {
		if raw := bytesOf(t, l.Entries[i]); string(raw) != line {
			t.Errorf("line %d changed: %s", i+1, raw)
		}
	}
	a1, a2 := l.ByUUID("a1"), l.ByUUID("a2")
	if a1.Sidechain || a1.CWD != "" || a1.SessionID != "" || a1.Version != "" || a1.Timestamp != "" {
		t.Errorf("missing members are not zero: %+v", a1.Head)
	}
	if _, ok := a1.Time(); ok {
		t.Error("a time out of nothing")
	}
	if m, err := a2.Message(); err != nil || len(m.Content) != 2 || m.Content[0].Type != "hologram" || string(m.JSON()) == "" {
		t.Errorf("message %+v, %v", m, err)
	}
	if v, ok := a2.Field("future"); !ok || string(v) != `{"deep":[1.50,1e400]}` {
		t.Errorf("future %s", v)
	}
	lite, _, err := transcript.ReadLite(bytes.NewReader(s.Bytes()), int64(len(s.Bytes())))
	if err != nil || lite.FirstPrompt != "hi" || lite.FirstCWD != "/w/p" {
		t.Errorf("lite %+v, %v", lite, err)
	}
}

// TestParallelCut: anthropics/claude-code#45286, S-2, T-11. Three parallel calls,
// killed while the second result was being written: the reader gives all three
// calls and the one result, and says which line broke off; what has no answer can
// be told.
func TestParallelCut(t *testing.T) {
	build := func(streaming bool) *loggen.Story {
		s := loggen.NewStory().User("u1", "", "go")
		if streaming {
			return s.Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Call("a2", "r1", "m1", "y").Call("a3", "a2", "m1", "z").Result("r2", "a2", "y")
		}
		return s.Call("a1", "u1", "m1", "x").Call("a2", "a1", "m1", "y").Call("a3", "a2", "m1", "z").Result("r1", "a1", "x").Result("r2", "a2", "y")
	}
	for _, streaming := range []bool{false, true} {
		b := build(streaming).Bytes()
		l := readBytes(t, b[:len(b)-30])
		if got, want := kinds(l.Faults), "6:torn"; got != want {
			t.Errorf("faults %q, want %q", got, want)
		}
		calls, results := map[string]bool{}, map[string]bool{}
		for _, e := range l.Chain(l.Tip()).Entries {
			for _, id := range e.Calls {
				calls[id] = true
			}
			for _, id := range e.Results {
				results[id] = true
			}
		}
		if len(calls) != 3 || len(results) != 1 || !results["x"] {
			t.Errorf("streaming %v: calls %v results %v", streaming, calls, results)
		}
		f := readFile(b[:len(b)-30])
		if n := judge(t, f); n.orphans+n.repeated > 0 || n.unanswered < 2 {
			t.Errorf("streaming %v: another reader mends %+v", streaming, n)
		}
	}
}

// TestLongLines: anthropics/claude-code#22132. 583 lines, some of 1–3 MB, a
// snapshot first and a hook summary last: read in bounded memory, resumed at its
// last reply, listed without reading it whole; reading ends when it is told to.
func TestLongLines(t *testing.T) {
	s := loggen.NewStory().Raw(`{"type":"file-history-snapshot","messageId":"u0","snapshot":{"messageId":"u0","trackedFileBackups":{},"timestamp":"2026-03-01T09:00:00.000Z"},"isSnapshotUpdate":false}`)
	parent := ""
	for i := range 290 {
		u, a := fmt.Sprintf("u%d", i), fmt.Sprintf("a%d", i)
		text := "short"
		if i%70 == 35 {
			text = strings.Repeat("long \"text\"\n", 100_000+i*500)
		}
		s.User(u, parent, text).Say(a, u, "m"+a, "ok")
		parent = a
	}
	s.Raw(fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"type":"system","subtype":"stop_hook_summary","hookCount":1,"hookInfos":[],"level":"suggestion","timestamp":"2026-03-02T09:00:00.000Z","uuid":"h1","sessionId":"s1"}`, parent))
	s.Pointer(parent, false)
	if len(s.Lines) != 583 {
		t.Fatalf("%d lines", len(s.Lines))
	}
	b := s.Bytes()
	l, err := transcript.Read(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{InMemory: -1})
	if err != nil || len(l.Faults) > 0 {
		t.Fatal(err, l.Faults)
	}
	if tip := l.Tip(); tip.UUID != "a289" {
		t.Errorf("tip %s", tip.UUID)
	}
	if c := l.Chain(l.ByUUID("h1")); len(c.Entries) != 581 {
		t.Errorf("%d entries on the chain", len(c.Entries))
	}
	lite, _, err := transcript.ReadLite(bytes.NewReader(b), int64(len(b)))
	if err != nil || lite.FirstPrompt != "short" || lite.Last.IsZero() {
		t.Errorf("lite %+v, %v", lite, err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for _, read := range []func(context.Context, *bytes.Reader) (*transcript.Log, error){
		func(ctx context.Context, r *bytes.Reader) (*transcript.Log, error) {
			return transcript.Read(ctx, r, r.Size(), transcript.ReadOptions{InMemory: -1})
		},
		func(ctx context.Context, r *bytes.Reader) (*transcript.Log, error) {
			return transcript.ReadTail(ctx, r, r.Size(), transcript.ReadOptions{InMemory: -1, FirstTail: 1})
		},
	} {
		if _, err := read(stopped, bytes.NewReader(b)); !errors.Is(err, context.Canceled) {
			t.Errorf("reading went on: %v", err)
		}
	}
}

// TestCutInTheMiddle: anthropics/claude-code#50347. Of a thousand records one of
// metadata is cut; the others are reachable, and a list shows the time of the last.
func TestCutInTheMiddle(t *testing.T) {
	s := loggen.NewStory()
	parent := turns(s, "", "", 199)
	s.Add(s.Stamp("q").Attachment(parent, json.RawMessage(`{"type":"queued_command","prompt":"later"}`), nil))
	s.Lines[398] = s.Lines[398][:len(s.Lines[398])/2]
	turns(s, "n", "q", 300)
	b := s.Bytes()
	l := readBytes(t, b)
	if got, want := kinds(l.Faults), "399:torn"; got != want {
		t.Errorf("faults %q, want %q", got, want)
	}
	if c := l.Chain(l.Tip()); len(c.Entries) != 998 || len(c.Gaps) != 1 || c.Gaps[0].Bridged != l.ByUUID(parent) {
		t.Errorf("%d entries on the chain, gaps %v", len(c.Entries), c.Gaps)
	}
	lite, _, err := transcript.ReadLite(bytes.NewReader(b), int64(len(b)))
	if last, _ := l.Tip().Time(); err != nil || !lite.Last.Equal(last) {
		t.Errorf("listed at %v, last record %v, %v", lite.Last, last, err)
	}
}

// TestRewindKeepsOldTip: anthropics/claude-code#55347, S-7. Ten turns, a rewind to
// the fourth, a new prompt: the old tip is a leaf that can be chosen, with all ten.
func TestRewindKeepsOldTip(t *testing.T) {
	s := loggen.NewStory()
	old := turns(s, "", "", 10)
	s.Pointer("a4", true).User("new", "a4", "another way")
	l := readBytes(t, s.Bytes())
	if got, want := names(l.Leaves()), old+" new"; got != want {
		t.Errorf("leaves %q, want %q", got, want)
	}
	if c := l.Chain(l.Tip()); len(c.Entries) != 9 || l.Tip().UUID != "new" {
		t.Errorf("new branch: %s", names(c.Entries))
	}
	if c := l.Chain(l.ByUUID(old)); len(c.Entries) != 20 {
		t.Errorf("old branch: %s", names(c.Entries))
	}
}

// TestCompactedAway: hAcKlyc/MyAgents#220. A fork from an entry that was compacted
// away: its uuid resolves, the conversation up to it is there, and the history of
// the tip leads to it.
func TestCompactedAway(t *testing.T) {
	s := loggen.NewStory()
	last := turns(s, "", "", 5)
	s.Boundary("b", last, transcript.Boundary{}).Summary("s", "b")
	turns(s, "n", "s", 2)
	l := readBytes(t, s.Bytes())
	c := l.Chain(l.Tip())
	if strings.Contains(" "+names(c.Entries)+" ", " a2 ") {
		t.Fatal("a2 is not compacted away")
	}
	at := l.ByUUID("a2")
	if at == nil {
		t.Fatal("a2 cannot be named")
	}
	if got, want := names(l.Chain(at).Entries), "u1 a1 u2 a2"; got != want {
		t.Errorf("up to a2: %q, want %q", got, want)
	}
	if h := names(l.History(l.Tip()).Entries); !strings.HasPrefix(h, "u1 a1 u2 a2 ") {
		t.Errorf("history %q", h)
	}
	// A tail read does not hold it, and says so rather than giving something else.
	if tail := tailOf(t, s.Bytes(), 64); tail.From > 0 && tail.ByUUID("a2") != nil {
		t.Error("the tail claims to hold a2")
	}
}

// TestForkThenRewind: seed:fork-msgid. A fork copies entries under new uuids and
// another session, says where each came from, and keeps message ids and the file
// history; a rewind inside it finds its own entries, and the original is as it was.
func TestForkThenRewind(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "hi").Call("a1", "u1", "m1", "x").Call("a2", "a1", "m1", "y").Result("r1", "a1", "x").Result("r2", "a2", "y").
		Say("a3", "r2", "m2", "done").User("u2", "a3", "more").Say("a4", "u2", "m3", "ok")
	s.Raw(`{"type":"file-history-snapshot","messageId":"u2","snapshot":{"messageId":"u2","trackedFileBackups":{"a.go":{"backupFileName":"0011223344556677@v1","version":1,"backupTime":"2026-03-01T09:00:00.000Z"}},"timestamp":"2026-03-01T09:00:00.000Z"},"isSnapshotUpdate":false}`)
	original := s.Bytes()
	var fork []string
	for _, e := range readBytes(t, original).Entries {
		raw := bytesOf(t, e)
		set := func(key, value string) {
			var err error
			if raw, err = transcript.Splice(raw, key, json.RawMessage(value)); err != nil {
				t.Fatal(err)
			}
		}
		if e.UUID != "" {
			set("uuid", `"f-`+e.UUID+`"`)
			if e.ParentUUID != "" {
				set("parentUuid", `"f-`+e.ParentUUID+`"`)
			}
			set("sessionId", `"s2"`)
			set("forkedFrom", `{"sessionId":"s1","messageUuid":"`+e.UUID+`"}`)
		}
		fork = append(fork, string(raw))
	}
	s.Lines = fork
	st := s.Stamp("f-new")
	st.SessionID = "s2"
	s.Add(st.LastPrompt("", "f-a3", true)).Add(st.User("f-a3", message.User("in the fork")))
	l := readBytes(t, s.Bytes())
	if got, want := names(l.Chain(l.Tip()).Entries), "f-u1 f-a1 f-r1 f-a2 f-r2 f-a3 f-new"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
	if c := l.Chain(l.ByUUID("f-a4")); len(c.Entries) != 8 {
		t.Errorf("the branch before the rewind: %s", names(c.Entries))
	}
	from := map[string]string{}
	for _, e := range l.Entries {
		if v, ok := e.Field("forkedFrom"); ok {
			var f struct{ MessageUUID string }
			if err := json.Unmarshal(v, &f); err != nil {
				t.Fatal(err)
			}
			from[f.MessageUUID] = e.UUID
		}
		if e.Type == transcript.TypeFileSnapshot {
			snap, err := e.FileSnapshot()
			if err != nil || l.ByUUID(from[snap.MessageID]) == nil {
				t.Errorf("the snapshot of %q leads to no entry of the fork: %v", snap.MessageID, err)
			}
			if b := snap.Snapshot.TrackedFileBackups["a.go"]; b.BackupFileName == nil || *b.BackupFileName != "0011223344556677@v1" {
				t.Errorf("backup %+v", b)
			}
		}
	}
	if lite, _, err := transcript.ReadLite(bytes.NewReader(s.Bytes()), int64(len(s.Bytes()))); err != nil || lite.ForkedFrom != "s1" || lite.SessionID != "s2" {
		t.Errorf("lite %+v, %v", lite, err)
	}
	if o := readBytes(t, original); names(o.Chain(o.Tip()).Entries) != "u1 a1 r1 a2 r2 a3 u2 a4" {
		t.Error("the original changed")
	}
}

// TestCallInputs: QwenLM/qwen-code#7377. Calls whose input is missing, empty or a
// JSON string in a log: the entry is read, its call and result are linked, and the
// input is an object when it is sent; the log's bytes stay.
func TestCallInputs(t *testing.T) {
	for _, row := range []struct{ member, want string }{
		{`,"input":{}`, `{}`},
		{``, `{}`},
		{`,"input":null`, `{}`},
		{`,"input":"{\"a\": 1}"`, `{"a":1}`},
		{`,"input":"not json"`, `{}`},
		{`,"input":{ "b" : 1.50 }`, `{"b":1.50}`},
	} {
		line := `{"parentUuid":"u1","sessionId":"s1","type":"assistant","uuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Read"` + row.member + `}]}}`
		l := readBytes(t, loggen.NewStory().User("u1", "", "hi").Raw(line).Result("r1", "a1", "x").Bytes())
		c := l.Chain(l.Tip())
		if names(c.Entries) != "u1 a1 r1" || len(c.Entries[1].Calls) != 1 || c.Entries[1].Calls[0] != "x" {
			t.Fatalf("%s: chain %s", row.member, names(c.Entries))
		}
		m, err := c.Entries[1].Message()
		if err != nil {
			t.Fatal(err)
		}
		b, err := message.NormalizeCall(m.Content[0])
		if bad := row.member == `,"input":"not json"`; (err != nil) != bad && row.member != `` && row.member != `,"input":null` {
			t.Errorf("%s: error %v", row.member, err)
		}
		if string(b.Input) != row.want {
			t.Errorf("%s: input %s, want %s", row.member, b.Input, row.want)
		}
		if raw := bytesOf(t, c.Entries[1]); string(raw) != line {
			t.Errorf("%s: the log's bytes changed", row.member)
		}
	}
}

// TestLoneSurrogate: anthropics/claude-code#68325, T-10. Half of a surrogate pair
// in a call, a result and a prompt of a log: the bytes are kept, the check says the
// line, and what is sent is Unicode.
func TestLoneSurrogate(t *testing.T) {
	s := loggen.NewStory().Raw(`{"parentUuid":null,"sessionId":"s1","type":"user","uuid":"u1","message":{"role":"user","content":"\udc00 hi"}}`).
		Raw(`{"parentUuid":"u1","sessionId":"s1","type":"assistant","uuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"x","name":"Bash","input":{"command":"echo \ud99c"}}]}}`).
		Raw(`{"parentUuid":"a1","sessionId":"s1","type":"user","uuid":"r1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"\ud83d\ude42 \ud99c"}]}}`).
		Say("a2", "r1", "m2", "fine")
	l := readBytes(t, s.Bytes())
	if len(l.Faults) > 0 {
		t.Errorf("faults of reading %v", l.Faults)
	}
	found, err := l.Check(context.Background(), nil)
	if err != nil || kinds(found) != "1:lone-surrogate 2:lone-surrogate 3:lone-surrogate" {
		t.Errorf("check %q, %v", kinds(found), err)
	}
	for i, e := range l.Chain(l.Tip()).Entries {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		if raw := bytesOf(t, e); string(raw) != s.Lines[i] || !bytes.Contains(raw, m.JSON()) {
			t.Errorf("line %d changed", i+1)
		}
		out := m.AppendRequest(nil)
		if !json.Valid(out) || !utf8.Valid(out) || !message.CleanUnicode(out) {
			t.Errorf("line %d is sent as %s", i+1, out)
		}
	}
	if p, ok := l.ByUUID("u1").PromptText(); !ok || p != "\uFFFD hi" {
		t.Errorf("prompt %q", p)
	}
}

// TestNoClock: S-7. Order and tip come from links and places, whatever the clocks
// of the machines that wrote said.
func TestNoClock(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "on")
	for i, at := range []string{"2030-01-01T00:00:00.000Z", "1999-01-01T00:00:00.000Z", "garbage"} {
		raw, err := transcript.Splice([]byte(s.Lines[i]), "timestamp", json.RawMessage(`"`+at+`"`))
		if err != nil {
			t.Fatal(err)
		}
		s.Lines[i] = string(raw)
	}
	l := readBytes(t, s.Bytes())
	if got := names(l.Chain(l.Tip()).Entries); got != "u1 a1 u2" {
		t.Errorf("chain %q", got)
	}
	if at, ok := l.ByUUID("a1").Time(); !ok || !at.Equal(time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("time %v %v", at, ok)
	}
}

// TestTailKeepsFirst: G-9. A boundary that keeps the very first record of the file
// (at byte 0) does not make a tail read go back to it: it is fetched by its offset.
// An offset that leads elsewhere is not believed.
func TestTailKeepsFirst(t *testing.T) {
	for _, lie := range []bool{false, true} {
		s := loggen.NewStory()
		last := turns(s, "", "", 200)
		meta := loggen.Keep("s", "u1", "a3")
		at := func(line int) int64 { return int64(len(strings.Join(s.Lines[:line], "\n") + "\n")) }
		meta.Own.KeptOffsets = map[string]int64{"u1": 0, "a3": at(5)}
		if lie {
			meta.Own.KeptOffsets["u1"] = at(2)
		}
		s.Boundary("b", last, meta).Summary("s", "b").User("n", "s", "on")
		b := s.Bytes()
		l := tailOf(t, b, 1024)
		c := l.Chain(l.Tip())
		if names(c.Entries) != "b s n" || names(c.Kept) != "u1 a3" {
			t.Errorf("lie %v: chain %q, kept %q", lie, names(c.Entries), names(c.Kept))
		}
		for _, e := range c.Kept {
			if m, err := e.Message(); err != nil || len(m.Content) != 1 {
				t.Errorf("lie %v: %s: %v", lie, e.UUID, err)
			}
		}
		if whole := l.From == 0; whole != lie {
			t.Errorf("lie %v: read from byte %d of %d", lie, l.From, len(b))
		}
	}
}
