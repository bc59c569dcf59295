package sources

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/transcript"
)

// anthropics/claude-code#62851: the file's name decides, whatever its first
// record is.
func TestFoundByFileName(t *testing.T) {
	for name, start := range map[string]func(l *log){
		"pr-link":     func(l *log) { l.add(l.stamp.PRLink(transcript.PRLink{Number: 7, URL: "https://example.com/7"})) },
		"title":       func(l *log) { l.meta(transcript.TypeCustomTitle, "t") },
		"tag":         func(l *log) { l.meta(transcript.TypeTag, "t") },
		"snapshot":    func(l *log) { l.add(l.stamp.Side(transcript.TypeFileSnapshot, map[string]any{"messageId": "m"})) },
		"last-prompt": func(l *log) { l.add(l.stamp.LastPrompt("p", "", false)) },
		"unknown":     func(l *log) { l.add(l.stamp.Side("never-seen", map[string]any{"x": 1})) },
		"garbage":     func(l *log) { l.buf.WriteString("{\"type\":\"us\n") },
	} {
		w := newWorld(t)
		dir := w.dir(t, "app")
		l := newLog(uuid(0xabc1), dir, day)
		start(l)
		l.pad(15<<10).write(t, w.theirs, theirFolder(dir))
		newLog(uuid(0xabd2), dir, day).turn("x", "y").write(t, w.theirs, theirFolder(dir))
		for _, ref := range []string{uuid(0xabc1), strings.ToUpper(uuid(0xabc1)), "0000abc"} {
			m, err := w.Find(context.Background(), ref, Query{})
			if err != nil || m.ID != uuid(0xabc1) || m.FirstPrompt != "and then?" || m.Dir() != dir {
				t.Errorf("%s first, %q: %v", name, ref, err)
			}
		}
	}
}

// anthropics/claude-code#29342: one id in two places is told, and the one of this
// directory is meant.
func TestCopiesOfOneID(t *testing.T) {
	w := newWorld(t)
	a, b, c := w.dir(t, "a"), w.dir(t, "b"), w.dir(t, "c")
	pa := newLog(uuid(1), a, day).turn("in a", "x").write(t, w.theirs, theirFolder(a))
	pb := newLog(uuid(1), b, day.Add(time.Hour)).turn("in b", "x").write(t, w.theirs, theirFolder(b))
	for dir, path := range map[string]string{a: pa, b: pb} {
		for _, ref := range []string{uuid(1), uuid(1)[:13]} {
			m, err := w.Find(context.Background(), ref, Query{Project: w.project(dir)})
			if err != nil || m.Path != path || len(m.Copies) != 1 || m.Copies[0].Path == path {
				t.Errorf("in %s: %v", dir, err)
			}
		}
	}
	for _, q := range []Query{{Project: w.project(c)}, {}} {
		_, err := w.Find(context.Background(), uuid(1), q)
		amb, ok := errors.AsType[*AmbiguousError](err)
		if !ok || !amb.SameID() || len(amb.Sessions) != 2 || amb.Sessions[0].Path != pb {
			t.Errorf("elsewhere: %v", err)
		}
	}
	// In ours and in theirs: the source decides.
	newLog(uuid(1), c, day).turn("in c", "x").write(t, w.ours, Slug(c))
	if m, err := w.Find(context.Background(), uuid(1), Query{Source: SourceVarve}); err != nil || m.FirstPrompt != "in c" {
		t.Errorf("by source: %v", err)
	}
	// A path is never ambiguous.
	if m, err := w.Find(context.Background(), pa, Query{Project: w.project(a)}); err != nil || m.Path != pa || m.Kin != KinHere || m.Source != SourceClaude {
		t.Errorf("by path: %v", err)
	}
}

func TestFind(t *testing.T) {
	w := newWorld(t)
	app, other := w.dir(t, "app"), w.dir(t, "other")
	add := func(n int, dir, title string) string {
		l := newLog(uuid(n), dir, day.Add(time.Duration(n)*time.Second)).turn("prompt", "x")
		if title != "" {
			l.meta(transcript.TypeCustomTitle, title)
		}
		return l.write(t, w.theirs, theirFolder(dir))
	}
	add(0x10, app, "Fix the login page")
	add(0x11, app, "Fix the logout page")
	add(0x12, app, "deploy")
	add(0x13, app, "deploy to staging")
	add(0x14, other, "Elsewhere only")
	add(0x15, other, "Fix/slashes in a title")
	add(0x16, app, "")
	outside := filepath.Join(w.root, "exported.jsonl")
	put(t, outside, newLog(uuid(0x99), app, day).turn("outside", "x").buf.Bytes())
	here := Query{Project: w.project(app)}
	for _, c := range []struct {
		ref  string
		q    Query
		want int // 0: not found, -1: several
	}{
		{"deploy", here, 0x12}, // the whole title before a part
		{"DEPLOY", here, 0x12},
		{"  deploy   TO staging ", here, 0x13},
		{"staging", here, 0x13},
		{"login", here, 0x10},
		{"fix the", here, -1},
		{"page", here, -1},
		{"elsewhere only", here, 0},
		{"elsewhere only", Query{}, 0x14},
		{"fix/slashes", Query{}, 0x15},
		{"0000001", here, -1},
		{"00000014", here, 0x14}, // ids are global
		{uuid(0x14), here, 0x14},
		{uuid(0x77), here, 0},
		{"", here, 0},
		{"zz", here, 0},
		{outside, here, 0x99},
		{filepath.Join(w.root, "missing.jsonl"), here, 0},
	} {
		m, err := w.Find(context.Background(), c.ref, c.q)
		_, miss := errors.AsType[*NotFoundError](err)
		_, amb := errors.AsType[*AmbiguousError](err)
		switch {
		case c.want == 0 && !miss, c.want < 0 && !amb, c.want > 0 && err != nil:
			t.Errorf("%q: %v", c.ref, err)
		case c.want == 0x99 && (m.Path != outside || m.Source != ""):
			t.Errorf("%q: %+v", c.ref, m)
		case c.want > 0 && c.want != 0x99 && m.ID != uuid(c.want):
			t.Errorf("%q: %s, want %s", c.ref, m.ID, uuid(c.want))
		}
	}
	if _, err := w.Find(context.Background(), w.root+"/w", here); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("a folder: %v", err)
	}
}

// What is not found is answered with what may have been meant.
func TestNotFoundProposes(t *testing.T) {
	w := newWorld(t)
	app, other := w.dir(t, "app"), w.dir(t, "other")
	newLog("a3f81c22-1111-4000-8000-000000000001", app, day).turn("x", "y").meta(transcript.TypeCustomTitle, "Deployment notes").write(t, w.theirs, theirFolder(app))
	newLog("b9000000-1111-4000-8000-000000000002", other, day).turn("x", "y").meta(transcript.TypeCustomTitle, "quarterly report").write(t, w.theirs, theirFolder(other))
	for ref, want := range map[string]string{
		"a3f81c23":           "a3f81c22-1111-4000-8000-000000000001",
		"a3f81c22-1111-5000": "a3f81c22-1111-4000-8000-000000000001",
		"deploymnt":          "a3f81c22-1111-4000-8000-000000000001",
		"deployment note":    "",
		"b900000x":           "b9000000-1111-4000-8000-000000000002",
		"qwertyuiop":         "",
	} {
		_, err := w.Find(context.Background(), ref, Query{Project: w.project(app)})
		miss, ok := errors.AsType[*NotFoundError](err)
		if !ok && want != "" {
			t.Errorf("%q: %v", ref, err)
			continue
		}
		if want != "" && (len(miss.Near) == 0 || miss.Near[0].ID != want) {
			t.Errorf("%q: near %v, want %s", ref, ids(miss.Near), want)
		}
	}
	_, err := w.Find(context.Background(), "quarterly", Query{Project: w.project(app)})
	if miss, ok := errors.AsType[*NotFoundError](err); !ok || len(miss.Elsewhere) != 1 {
		t.Errorf("title of another project: %v", err)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 2, 0}, {"abc", "abc", 2, 0}, {"abc", "abd", 2, 1}, {"abc", "ab", 2, 1}, {"abc", "xabc", 2, 1},
		{"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 3}, {"외주", "외", 2, 1}, {"abcdef", "", 2, 3},
	} {
		if got := distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("distance(%q, %q, %d) = %d, want %d", c.a, c.b, c.limit, got, c.want)
		}
	}
	word := rapid.StringMatching(`[abc]{0,7}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		d := func(x, y string) int { return distance(x, y, 100) }
		if d(a, b) != d(b, a) || d(a, c) > d(a, b)+d(b, c) || (d(a, b) == 0) != (a == b) {
			t.Fatalf("no distance: %q %q %q", a, b, c)
		}
		if lim := distance(a, b, 2); lim != min(d(a, b), 3) {
			t.Fatalf("the limit changes the result: %q %q: %d", a, b, lim)
		}
	})
}

// Any reference to any set of sessions gives one of the four answers.
func TestFindProperty(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	var all []string
	for i := range 12 {
		l := newLog(uuid(i*0x1111), dir, day).turn("x", "y").meta(transcript.TypeCustomTitle, strings.Repeat("ab ", i%4)+"c")
		l.write(t, w.theirs, theirFolder(dir))
		all = append(all, uuid(i*0x1111))
	}
	rapid.Check(t, func(t *rapid.T) {
		ref := rapid.OneOf(rapid.StringMatching(`[0-9a-f\-]{0,12}`), rapid.StringMatching(`[abc /]{0,6}`), rapid.String()).Draw(t, "ref")
		m, err := w.Find(context.Background(), ref, Query{})
		if err == nil && !slices.Contains(all, m.ID) && m.Source != "" {
			t.Fatalf("found %v", m)
		}
		if err == nil {
			return
		}
		miss, isMiss := errors.AsType[*NotFoundError](err)
		amb, isAmb := errors.AsType[*AmbiguousError](err)
		switch {
		case isMiss && len(miss.Near) > nearMax, isAmb && len(amb.Sessions) < 2:
			t.Fatalf("%q: %v", ref, err)
		case !isMiss && !isAmb && !strings.ContainsAny(ref, "/\\\x00"):
			t.Fatalf("%q: %v", ref, err)
		}
	})
}
