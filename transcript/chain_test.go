package transcript_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

func readBytes(t testing.TB, b []byte) *transcript.Log {
	t.Helper()
	l, err := transcript.Read(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func names(es []*transcript.Entry) string {
	var out []string
	for _, e := range es {
		out = append(out, e.UUID)
	}
	return strings.Join(out, " ")
}

func kinds(fs []transcript.Fault) string {
	var out []string
	for _, f := range fs {
		out = append(out, fmt.Sprintf("%d:%s", f.Line, f.Kind))
	}
	return strings.Join(out, " ")
}

// TestChain: T-8, T-11, T-12, S-7. Each row is a log and the conversation that is
// read from it.
func TestChain(t *testing.T) {
	rows := []struct {
		name  string
		build func(*loggen.Story)
		chain string // uuids from root to tip
		kept  string
		fault string
	}{
		{name: "plain", chain: "u1 a1 u2 a2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "yes").User("u2", "a1", "go").Say("a2", "u2", "m2", "done")
			}},
		{name: "progress entries are bridged", chain: "u1 a1",
			build: func(s *loggen.Story) {
				s.Progress("p0", "").User("u1", "p0", "hi").Progress("p1", "u1").Progress("p2", "p1").Say("a1", "p2", "m1", "x").Progress("p3", "a1")
			}},
		{name: "parallel results off the path are found by id", chain: "u1 a1 a2 r1 a3 r2 a4",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "two calls").Call("a2", "a1", "m1", "x").Call("a3", "a2", "m1", "y").
					Result("r1", "a2", "x").Result("r2", "a3", "y").Say("a4", "r2", "m2", "done")
			}},
		{name: "parts off the path when the first result came last", chain: "u1 a1 a2 a3 r2 r1 a4",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "two calls").Call("a2", "a1", "m1", "x").Call("a3", "a2", "m1", "y").
					Result("r2", "a3", "y").Result("r1", "a2", "x").Say("a4", "r1", "m2", "done")
			}},
		{name: "crash after the first result of two: both parts and the one result", chain: "u1 a2 a3 r1",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a2", "u1", "m1", "x").Call("a3", "a2", "m1", "y").Result("r1", "a2", "x")
			}},
		{name: "children before parents", chain: "u1 a1 r1 a2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Result("r1", "a1", "x").Call("a1", "u1", "m1", "x").Say("a2", "r1", "m2", "ok")
			}},
		{name: "the last entry has an earlier child: the child is the tip", chain: "u1 a1 r1",
			build: func(s *loggen.Story) { s.User("u1", "", "hi").Result("r1", "a1", "x").Call("a1", "u1", "m1", "x") }},
		{name: "rewind: a second child of an older node", chain: "u1 a1 u3 a3",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "wrong").Say("a2", "u2", "m2", "y").User("u3", "a1", "right").Say("a3", "u3", "m3", "z")
			}},
		{name: "a rewind to a part does not bring back the rest of the reply", chain: "u1 a1 u2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "text").Call("a2", "a1", "m1", "x").Result("r", "a2", "x").User("u2", "a1", "other")
			}},
		{name: "a pointer behind the last entry decides", chain: "u1 a1",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "no").Say("a2", "u2", "m2", "y").Pointer("a1", true)
			}},
		{name: "a plain pointer before a newer entry does not", chain: "u1 a1 u2 a2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Pointer("u1", false).User("u2", "a1", "on").Say("a2", "u2", "m2", "y")
			}},
		{name: "a pointer to nothing is passed over", chain: "u1 a1",
			build: func(s *loggen.Story) { s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Pointer("gone", true) }},
		{name: "hook output of a run that never began is no tip", chain: "u1 a1",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Add(s.Stamp("h1").Attachment("", []byte(`{"type":"hook_success"}`), nil))
			}},
		{name: "missing parent: bridged to the entry before", chain: "u1 a1 u2 a3", fault: "4:missing-parent",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a3", "lost", "m2", "y")
			}},
		{name: "missing parent, nothing before: a root", chain: "u1 a1", fault: "1:missing-parent",
			build: func(s *loggen.Story) { s.User("u1", "lost", "hi").Say("a1", "u1", "m1", "x") }},
		{name: "missing parent behind a rewind pointer: never across", chain: "u1 a1 a9", fault: "6:missing-parent",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "no").Say("a2", "u2", "m2", "y").Pointer("a1", true).Say("a9", "lost", "m3", "z")
			}},
		{name: "missing parent on the new branch: stays on it", chain: "u1 a1 u3 a9", fault: "6:missing-parent",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "no").Say("a2", "u2", "m2", "y").User("u3", "a1", "new").Say("a9", "lost", "m3", "z")
			}},
		{name: "a cut record still tells its parent", chain: "u1 a1 a9", fault: "6:missing-parent",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "no").Say("a2", "u2", "m2", "y").
					Raw(`{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"us`).Say("a9", "u3", "m3", "z")
			}},
		{name: "an entry that is its own parent is bridged", chain: "u1 a1 u2 a2", fault: "3:cycle",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "u2", "self").Say("a2", "u2", "m2", "y")
			}},
		{name: "a cycle of two ends", chain: "b a", fault: "1:cycle",
			build: func(s *loggen.Story) { s.User("b", "a", "one").User("a", "b", "two").Pointer("a", true) }},
		{name: "of two entries with one uuid the first counts", chain: "u1 a1",
			build: func(s *loggen.Story) { s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u1", "a1", "again") }},
		{name: "boundary with summary starts the chain", chain: "b s u2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).Summary("s", "b").User("u2", "s", "on")
			}},
		{name: "boundary without summary changes nothing", chain: "u1 a1 b", fault: "3:inert-boundary",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{})
			}},
		{name: "summary line lost: the boundary is inert, later turns stay", chain: "u1 a1 b u2", fault: "4:missing-parent 3:inert-boundary",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).User("u2", "s", "on")
			}},
		{name: "boundary line lost: the summary stands for it", chain: "s u2", fault: "3:missing-parent",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Summary("s", "b").User("u2", "s", "on")
			}},
		{name: "undone boundary: the old turns come back, later ones stay", chain: "u1 a1 b s u2 x",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).Summary("s", "b").User("u2", "s", "on").Undo("x", "u2", "b")
			}},
		{name: "kept messages by uuid", chain: "b s", kept: "u2 a2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y").
					Boundary("b", "a2", transcript.Boundary{PreservedMessages: &transcript.PreservedMessages{AnchorUUID: "s", UUIDs: []string{"u2", "a2"}}}).Summary("s", "b")
			}},
		{name: "kept segment of the reference", chain: "b s", kept: "u2 a2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y").
					Raw(`{"parentUuid":null,"logicalParentUuid":"a2","sessionId":"s1","type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{"trigger":"auto","preTokens":5.5,"preservedSegment":{"headUuid":"u2","anchorUuid":"s","tailUuid":"a2"}}}`).Summary("s", "b")
			}},
		{name: "sidechain entries of old versions are no part of it", chain: "u1 a1 u2",
			build: func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x")
				st := s.Stamp("side")
				st.Sidechain = true
				s.Add(st.User("", message.User("sub-agent"))).User("u2", "a1", "on")
			}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := loggen.NewStory()
			row.build(s)
			l := readBytes(t, s.Bytes())
			tip := l.Tip()
			if tip == nil {
				t.Fatal("no tip")
			}
			c := l.Chain(tip)
			if got := names(c.Entries); got != row.chain {
				t.Errorf("chain %q, want %q", got, row.chain)
			}
			if got := names(c.Kept); got != row.kept {
				t.Errorf("kept %q, want %q", got, row.kept)
			}
			if got := kinds(c.Faults); got != row.fault {
				t.Errorf("faults %q, want %q", got, row.fault)
			}
		})
	}
}

// TestHistory: what was said before a compaction stands before it.
func TestHistory(t *testing.T) {
	s := loggen.NewStory()
	s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b1", "a1", transcript.Boundary{}).Summary("s1", "b1").
		User("u2", "s1", "on").Say("a2", "u2", "m2", "y").Boundary("b2", "gone", transcript.Boundary{}).Summary("s2", "b2").User("u3", "s2", "more")
	l := readBytes(t, s.Bytes())
	if got, want := names(l.History(l.Tip()).Entries), "u1 a1 b1 s1 u2 a2 b2 s2 u3"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

// TestDamage: T-10, anthropics/claude-code#49876, #50347, #81843. The rest of a
// damaged file is read and the fault is said with its line.
func TestDamage(t *testing.T) {
	s := loggen.NewStory()
	s.User("u1", "", "one").Say("a1", "u1", "m1", "two").User("u2", "a1", "three").Say("a2", "u2", "m2", "four")
	l1, l2, l3, l4 := s.Lines[0], s.Lines[1], s.Lines[2], s.Lines[3]
	cut := l2[:60]
	rows := []struct{ name, data, uuids, faults string }{
		{"whole", l1 + "\n" + l2 + "\n", "u1 a1", ""},
		{"no newline at the end", l1 + "\n" + l2, "u1 a1", "2:no-newline"},
		{"torn last line", l1 + "\n" + cut, "u1", "2:torn"},
		{"torn line in the middle", l1 + "\n" + cut + "\n" + l3 + "\n", "u1 u2", "2:torn"},
		{"line of zero bytes", l1 + "\n" + strings.Repeat("\x00", 4096) + "\n" + l3 + "\n", "u1 u2", "2:nul-bytes"},
		{"zero bytes before a record", l1 + "\n" + strings.Repeat("\x00", 4096) + l2 + "\n" + l3 + "\n", "u1 a1 u2", "2:nul-bytes"},
		{"zero bytes behind a record", l1 + "\x00\x00\n" + l2 + "\n", "u1 a1", "1:nul-bytes"},
		{"zero bytes inside a string", l1 + "\n" + l2[:len(l2)-40] + "\x00\x00" + l2[len(l2)-38:] + "\n" + l3 + "\n", "u1 u2", "2:nul-bytes 2:torn 2:not-object"},
		{"a lost sector between two records", l1 + "\n" + l2[:60] + strings.Repeat("\x00", 512) + l3[60:] + "\n" + l4 + "\n", "u1 a2", "2:nul-bytes 2:torn 2:not-object"},
		{"two records on a line", l1 + l2 + "\n" + l3 + "\n", "u1 a1 u2", "1:glued"},
		{"three records on a line", l1 + l2 + l3 + "\n", "u1 a1 u2", "1:glued 1:glued"},
		{"a record inside a cut one", l1 + "\n" + cut + l3 + "\n" + l4 + "\n", "u1 u2 a2", "2:torn"},
		{"two writers interleaved", l1 + "\n" + cut + l3 + "\n" + l2[60:] + "\n" + l4 + "\n", "u1 u2 a1 a2", "2:split"},
		{"record cut by a newline", l1 + "\n" + cut + "\n" + l2[60:] + "\n" + l3 + "\n", "u1 a1 u2", "2:split"},
		{"byte order mark", "\xEF\xBB\xBF" + l1 + "\n" + l2 + "\n", "u1 a1", "1:bom"},
		{"CR LF", l1 + "\r\n" + l2 + "\r\n", "u1 a1", "1:crlf"},
		{"not objects", l1 + "\n42\n[1]\n\"x\"\nhello\n" + l2 + "\n", "u1 a1", "2:not-object 3:not-object 4:not-object 5:not-object"},
		{"text before a record", l1 + "\nlog: " + l2 + "\n", "u1 a1", "2:not-object"},
		{"empty lines", l1 + "\n\n\n" + l2 + "\n", "u1 a1", "2:blank-line"},
		{"duplicate uuid", l1 + "\n" + l2 + "\n" + l1 + "\n", "u1 a1 u1", "3:duplicate-uuid"},
		{"garbage inside", l1 + "\n" + strings.Replace(l2, ":", "=", 3) + "\n" + l3 + "\n", "u1 u2", "2:invalid-json"},
		{"empty file", "", "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			l := readBytes(t, []byte(row.data))
			if got := names(l.Entries); got != row.uuids {
				t.Errorf("read %q, want %q", got, row.uuids)
			}
			if got := kinds(l.Faults); got != row.faults {
				t.Errorf("faults %q, want %q", got, row.faults)
			}
			lazy, err := transcript.Read(context.Background(), strings.NewReader(row.data), int64(len(row.data)), transcript.ReadOptions{InMemory: -1})
			if err != nil {
				t.Fatal(err)
			}
			if names(lazy.Entries) != row.uuids || kinds(lazy.Faults) != row.faults {
				t.Errorf("read from disk: %q %q", names(lazy.Entries), kinds(lazy.Faults))
			}
			for i := range lazy.Entries {
				a, err1 := l.Entries[i].Raw()
				b, err2 := lazy.Entries[i].Raw()
				if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
					t.Errorf("entry %d: bytes differ: %v %v", i, err1, err2)
				}
			}
		})
	}
}

// TestCheck: `check` names what reading survives in silence too.
func TestCheck(t *testing.T) {
	s := loggen.NewStory()
	s.User("u1", "", "one").
		Raw(`{"parentUuid":"u1","sessionId":"s1","type":"assistant","uuid":"a1","message":"error"}`).
		Raw(`{"parentUuid":"a1","sessionId":"s1","type":"user","uuid":"u2","message":{"role":"user"}}`).
		Raw(`{"silly":"this"}`).
		Raw(`{"parentUuid":"u2","sessionId":"s1","type":"user","uuid":"u3","message":{"role":"user","content":"\ud99c"}}`).
		Raw("{\"parentUuid\":\"u3\",\"sessionId\":\"s1\",\"type\":\"user\",\"uuid\":\"u4\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}").
		Raw(`{"parentUuid":"u5","sessionId":"s1","type":"user","uuid":"u5","message":{"role":"user","content":"x"}}`).
		Raw(`{"parentUuid":"gone","sessionId":"s1","type":"user","uuid":"u6","message":{"role":"user","content":"x"}}`).
		Raw(`{"parentUuid":"u8","sessionId":"s1","type":"user","uuid":"u7","message":{"role":"user","content":"x"}}`).
		Raw(`{"parentUuid":"u7","sessionId":"s1","type":"user","uuid":"u8","message":{"role":"user","content":"x"}}`).
		Raw(`{"parentUuid":"u8","sessionId":"s1","type":"user","message":{"role":"user","content":tru}}`)
	fs, err := readBytes(t, s.Bytes()).Check(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "2:bad-message 3:bad-message 4:no-type 5:lone-surrogate 6:invalid-utf8 7:cycle 8:missing-parent 9:cycle 11:invalid-json"
	if got := kinds(fs); got != want {
		t.Errorf("faults %q, want %q", got, want)
	}
}
