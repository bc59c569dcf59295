package transcript_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// sameHead fails when a record read among others, where the scan reuses what
// lines have in common, is taken down differently from the record alone.
func sameHead(t interface{ Fatalf(string, ...any) }, l *transcript.Log) {
	for _, e := range l.Entries {
		raw, err := e.Raw()
		if err != nil {
			t.Fatalf("line %d: %v", e.Line, err)
		}
		alone, err := transcript.Parse(raw)
		if err != nil {
			t.Fatalf("line %d was read and does not parse alone: %v", e.Line, err)
		}
		if !reflect.DeepEqual(e.Head, alone.Head) {
			t.Fatalf("line %d: read %+v\nalone %+v", e.Line, e.Head, alone.Head)
		}
	}
}

// TestPropScan: T-4. What the scan remembers from line to line changes nothing.
func TestPropScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameHead(t, readAll(t, generated(t, rapid.Bool().Draw(t, "damage")), transcript.ReadOptions{}))
	})
}

// TestPropParts: T-7, T-10. A log that is scanned in parts at the same time is read
// as in one pass: the same records with the same lines, the same faults.
func TestPropParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, rapid.IntRange(0, 3).Draw(t, "damage") > 0)
		if rapid.IntRange(0, 3).Draw(t, "editor") == 0 {
			b = append([]byte("\xEF\xBB\xBF"), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n\r\n"))...)
		}
		one := readAll(t, b, transcript.ReadOptions{InMemory: -1, Parts: 1})
		more := readAll(t, b, transcript.ReadOptions{InMemory: -1, Parts: rapid.IntRange(2, 40).Draw(t, "parts")})
		if fmt.Sprint(one.Faults) != fmt.Sprint(more.Faults) || one.Torn != more.Torn {
			t.Fatalf("faults\n%v, in parts\n%v", one.Faults, more.Faults)
		}
		if len(one.Entries) != len(more.Entries) {
			t.Fatalf("%d entries, in parts %d", len(one.Entries), len(more.Entries))
		}
		for i, e := range one.Entries {
			o := more.Entries[i]
			if e.Line != o.Line || e.Offset != o.Offset || e.Len != o.Len || !reflect.DeepEqual(e.Head, o.Head) {
				t.Fatalf("entry %d is on line %d at %d, in parts on line %d at %d", i, e.Line, e.Offset, o.Line, o.Offset)
			}
		}
	})
}

// TestPropTailParts: T-7, G-9. The same of a log that is read from its end.
func TestPropTailParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, rapid.IntRange(0, 3).Draw(t, "damage") > 0)
		opt := transcript.ReadOptions{InMemory: -1, FirstTail: rapid.Int64Range(1+int64(len(b))/32, 1+int64(len(b))).Draw(t, "first"), Parts: 1}
		one := readTail(t, b, opt)
		opt.Parts = rapid.IntRange(2, 40).Draw(t, "parts")
		more := readTail(t, b, opt)
		if fmt.Sprint(one.Faults) != fmt.Sprint(more.Faults) || one.Torn != more.Torn || one.From != more.From {
			t.Fatalf("from %d, faults\n%v, in parts from %d\n%v", one.From, one.Faults, more.From, more.Faults)
		}
		if len(one.Entries) != len(more.Entries) {
			t.Fatalf("%d entries, in parts %d", len(one.Entries), len(more.Entries))
		}
		for i, e := range one.Entries {
			if o := more.Entries[i]; e.Line != 0 || o.Line != 0 || e.Offset != o.Offset || e.Len != o.Len || e.UUID != o.UUID {
				t.Fatalf("entry %d is at %d, in parts on line %d at %d", i, e.Offset, o.Line, o.Offset)
			}
		}
		if a, b := names(one.Chain(one.Tip()).Entries), names(more.Chain(more.Tip()).Entries); a != b {
			t.Fatalf("chain %s, in parts %s", a, b)
		}
	})
}

func readTail(t *rapid.T, b []byte, opt transcript.ReadOptions) *transcript.Log {
	l, err := transcript.ReadTail(context.Background(), bytes.NewReader(b), int64(len(b)), opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRealScan is the same over recorded sessions.
func TestRealScan(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) { sameHead(t, readBytes(t, read(t, path))) })
	}
}

// TestScanShared: T-4. Members that lines have in common are read again where they
// differ, stand elsewhere, stand twice, or only look alike.
func TestScanShared(t *testing.T) {
	const long = `"userType":"external","cwd":"/work/app/some/folder","sessionId":"s1","version":"1.2.3","gitBranch":"main"`
	line := func(members string) string { return `{"type":"user","uuid":"u",` + members + `}` }
	rows := []struct{ members, cwd, session, branch string }{
		{long, "/work/app/some/folder", "s1", "main"},
		{long, "/work/app/some/folder", "s1", "main"},
		{long + `,"slug":"x"`, "/work/app/some/folder", "s1", "main"},
		{long + `,"cwd":"/other"`, "/other", "s1", "main"},
		{`"cwd":"/first",` + long, "/work/app/some/folder", "s1", "main"},
		{strings.Replace(long, `"main"`, `"main\""`, 1), "/work/app/some/folder", "s1", `main"`},
		{strings.Replace(long, `"main"`, `"ma\u0069n"`, 1), "/work/app/some/folder", "s1", `main`},
		{strings.Replace(long, `"main"`, `null`, 1), "/work/app/some/folder", "s1", ""},
		{strings.Replace(long, `"s1"`, `"s2"`, 1), "/work/app/some/folder", "s2", "main"},
		{strings.ReplaceAll(long, `":`, `": `), "/work/app/some/folder", "s1", "main"},
		{`"data":{` + long + `}`, "", "", ""},
		{long + " , \"isMeta\" : true", "/work/app/some/folder", "s1", "main"},
		{long, "/work/app/some/folder", "s1", "main"},
	}
	var log []string
	for _, row := range rows {
		log = append(log, line(row.members))
	}
	l := readBytes(t, []byte(strings.Join(log, "\n")+"\n"))
	if len(l.Entries) != len(rows) {
		t.Fatalf("%d entries of %d lines: %v", len(l.Entries), len(rows), l.Faults)
	}
	for i, row := range rows {
		e := l.Entries[i]
		if e.CWD != row.cwd || e.SessionID != row.session || e.GitBranch != row.branch {
			t.Errorf("line %d: cwd %q session %q branch %q, want %q %q %q", i+1, e.CWD, e.SessionID, e.GitBranch, row.cwd, row.session, row.branch)
		}
	}
	sameHead(t, l)
}

// TestCutParent: T-8. A record cut inside the name of its parent says nothing
// about it; it does not make its child a start.
func TestCutParent(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "hi").Say("a1", "u1", "m1", "x").Raw(`{"parentUuid":"a`).Say("a2", "u2", "m2", "y")
	l := readBytes(t, s.Bytes())
	if got, want := names(l.Chain(l.Tip()).Entries), "u1 a1 a2"; got != want {
		t.Errorf("chain %q, want %q", got, want)
	}
}
