package sources

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/transcript"
)

// seed:tail-window, anthropics/claude-code#53264, anthropics/claude-code#26031:
// a title set long before the end of a log whose writer was killed is still shown,
// and the session is found by it.
func TestTitleFarFromTheEnd(t *testing.T) {
	for _, gap := range []int{0, 20 << 10, 70 << 10, 200 << 10, 1 << 20, 5 << 20} {
		w := newWorld(t)
		dir := w.dir(t, "app")
		newLog(uuid(1), dir, day).turn("hello", "hi").meta(transcript.TypeCustomTitle, "Fix the login").pad(gap).write(t, w.theirs, theirFolder(dir))
		newLog(uuid(2), dir, day).turn("other", "hi").write(t, w.theirs, theirFolder(dir))
		q := Query{Project: w.project(dir)}
		got := w.list(t, q)
		if len(got) != 2 || got[0].Title != "Fix the login" && got[1].Title != "Fix the login" {
			t.Errorf("%d bytes behind the title: %+v", gap, got[0].Lite)
		}
		m, err := w.Find(context.Background(), "fix the LOGIN", q)
		if err != nil || m.ID != uuid(1) {
			t.Errorf("%d bytes behind the title: by name: %v", gap, err)
		}
	}
}

// anthropics/claude-code#79572, anthropics/claude-code#74798: touching a file,
// appending metadata or restoring it from an archive moves nothing.
func TestOrderByMessageTime(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	folder := theirFolder(dir)
	old := newLog(uuid(1), dir, day).turn("oldest", "hi")
	touch(t, old.write(t, w.theirs, folder), day.AddDate(1, 0, 0))
	renamed := newLog(uuid(2), dir, day.Add(time.Hour)).turn("second", "hi")
	renamed.clock = day.AddDate(0, 6, 0)
	renamed.meta(transcript.TypeCustomTitle, "renamed later").add(renamed.stamp.PRLink(transcript.PRLink{Number: 1})).write(t, w.theirs, folder)
	touch(t, newLog(uuid(3), dir, day.Add(2*time.Hour)).turn("newest, restored", "hi").write(t, w.theirs, folder), day.AddDate(-3, 0, 0))
	if got, want := ids(w.list(t, Query{Project: w.project(dir)})), uuid(3)+" "+uuid(2)+" "+uuid(1); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	s, err := w.Latest(context.Background(), Query{Project: w.project(dir)})
	if err != nil || s == nil || s.ID != uuid(3) {
		t.Errorf("latest %v, %v", s, err)
	}
}

// anthropics/claude-code#40946, anthropics/claude-code#70076, seed:slug: folders
// that the reference shares between directories do not mix them up here, in
// either home.
func TestDirectoriesOfOneFolder(t *testing.T) {
	for _, group := range [][]string{
		{"외주/app", "개인/app"},
		{"a-b", "a/b"},
		{"my_app", "my-app", "my.app"},
		{"data/api-proxy", "data-api-proxy"},
		{strings.Repeat("deep/", 45) + "one", strings.Repeat("deep/", 45) + "two"}, // cut names
	} {
		w := newWorld(t)
		for i, name := range group {
			dir := w.dir(t, name)
			newLog(uuid(10+i), dir, day).turn("theirs", "hi").write(t, w.theirs, theirFolder(dir))
			newLog(uuid(20+i), dir, day.Add(time.Minute)).turn("ours", "hi").write(t, w.ours, Slug(dir))
		}
		for i, name := range group {
			p := w.project(w.dir(t, name))
			if got, want := ids(w.list(t, Query{Project: p})), uuid(20+i)+" "+uuid(10+i); got != want {
				t.Errorf("in %s: %s, want %s", name, got, want)
			}
			s, err := w.Latest(context.Background(), Query{Project: p, Source: SourceClaude})
			if err != nil || s == nil || s.ID != uuid(10+i) {
				t.Errorf("continue in %s: %v, %v", name, s, err)
			}
		}
		if n := len(w.list(t, Query{})); n != 2*len(group) {
			t.Errorf("all projects: %d", n)
		}
	}
}

// anthropics/claude-code#84499: one rule for one worktree and for many, whatever
// the case of the folder's name.
func TestWorktreesByTitle(t *testing.T) {
	w := newWorld(t)
	a := w.dir(t, "trees/a")
	main := repository(t, filepath.Join(w.root, "w"), a)
	newLog(uuid(1), main, day).turn("x", "y").meta(transcript.TypeCustomTitle, "In main").write(t, w.theirs, strings.ToUpper(theirFolder(main)))
	newLog(uuid(2), a, day).turn("x", "y").meta(transcript.TypeCustomTitle, "In tree").write(t, w.theirs, theirFolder(a))
	for _, at := range []string{main, a} {
		for id, title := range map[string]string{uuid(1): "in main", uuid(2): "IN TREE"} {
			m, err := w.Find(context.Background(), title, Query{Project: w.project(at)})
			if err != nil || m.ID != id {
				t.Errorf("at %s, %q: %v", at, title, err)
			}
		}
	}
	if got := w.list(t, Query{Project: w.project(a)}); len(got) != 2 {
		t.Errorf("listed %s", ids(got))
	}
	// Continuing takes the session of this very directory.
	if s, err := w.Latest(context.Background(), Query{Project: w.project(a)}); err != nil || s == nil || s.ID != uuid(2) {
		t.Errorf("latest in the worktree: %v, %v", s, err)
	}
}

// openai/codex#22037: history of other projects costs nothing but its folders'
// names.
func TestOnlyThisProjectIsRead(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	mine := filepath.Join(w.theirs.Projects(), theirFolder(dir))
	newLog(uuid(1), dir, day).turn("x", "y").write(t, w.theirs, theirFolder(dir))
	for i := range 200 {
		other := fmt.Sprintf("/elsewhere/p%d", i)
		newLog(uuid(100+i), other, day).turn("x", "y").write(t, w.theirs, theirFolder(other))
	}
	w.seen.reset()
	if got := w.list(t, Query{Project: w.project(dir)}); ids(got) != uuid(1) {
		t.Errorf("listed %s", ids(got))
	}
	if want := []string{w.ours.Projects(), w.theirs.Projects(), mine}; !slices.Equal(w.seen.dirs, want) {
		t.Errorf("read folders %v, want %v", w.seen.dirs, want)
	}
	if len(w.seen.opened) != 1 {
		t.Errorf("opened %v", w.seen.opened)
	}
}

// anthropics/claude-code#22238: what happens before a first prompt (homes, the
// project, where its sessions will lie) reads no history.
func TestNoHistoryBeforeTheFirstPrompt(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	for i := range 468 {
		newLog(uuid(i), dir, day).turn("x", "y").write(t, w.theirs, theirFolder(dir))
	}
	w.seen.reset()
	p := w.project(dir)
	_ = Log(w.ours.Folder(p.Dir), uuid(999))
	_ = p.Kin(dir)
	if n := len(w.seen.dirs) + len(w.seen.opened); n > 0 {
		t.Errorf("read %v, opened %v", w.seen.dirs, w.seen.opened)
	}
	// Resuming by id looks at names and opens the one file.
	if _, err := w.Find(context.Background(), uuid(7), Query{Project: p}); err != nil {
		t.Fatal(err)
	}
	if len(w.seen.opened) != 1 {
		t.Errorf("resume by id opened %d files", len(w.seen.opened))
	}
}

// anthropics/claude-code#39658, anthropics/claude-code#22132: a long run of
// records that are not prompts, and records of megabytes, before the first prompt
// and behind the last.
func TestFirstPromptBehindOtherRecords(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	l := newLog(uuid(1), dir, day)
	progress := func(n int) {
		for end := l.buf.Len() + n; l.buf.Len() < end; {
			l.add(l.stamp.Side(transcript.TypeProgress, map[string]string{"content": strings.Repeat("x", 900)}))
		}
	}
	l.add(l.stamp.Side(transcript.TypeFileSnapshot, map[string]any{"messageId": "m", "snapshot": map[string]any{}}))
	progress(70 << 10)
	l.turn("the first real text", "hi")
	for range 3 {
		l.turn(strings.Repeat("pasted ", 200<<10), "ok")
	}
	progress(100 << 10)
	l.add(l.stamp.System(l.leaf, "stop_hook_summary", "hooks ran", "info"))
	l.write(t, w.theirs, theirFolder(dir))
	w.seen.reset()
	got := w.list(t, Query{Project: w.project(dir)})
	if len(got) != 1 || got[0].FirstPrompt != "the first real text" || !got[0].Last.Equal(day.Add(4*time.Second)) {
		t.Errorf("%+v", got[0].Lite)
	}
	if w.seen.read > int64(l.buf.Len())*2 {
		t.Errorf("read %d bytes of a log of %d", w.seen.read, l.buf.Len())
	}
}

// openai/codex#19483, openai/codex#19517, anthropics/claude-code#22204: a page
// costs the ends of the files on it, whatever their number and size, and can be
// given up.
func TestFirstPageReadsLittle(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	const n = 600
	for i := range n {
		newLog(uuid(i), dir, day.Add(time.Duration(i)*time.Minute)).turn("x", "y").write(t, w.theirs, theirFolder(dir))
	}
	for i := range 10 { // huge, sparse in the middle
		path := newLog(uuid(1000+i), dir, day.AddDate(0, 1, i)).turn("big", "y").write(t, w.theirs, theirFolder(dir))
		if err := os.Truncate(path, 60<<20); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		end := newLog(uuid(1000+i), dir, day.AddDate(0, 1, i)).pad(128 << 10)
		if _, err := f.WriteString("\n" + end.buf.String()); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		touch(t, path, end.clock)
	}
	w.seen.reset()
	pages := 0
	for l, err := range w.List(context.Background(), Query{Project: w.project(dir), First: 20}) {
		if err != nil {
			t.Fatal(err)
		}
		if pages++; pages == 1 {
			if l.Final || len(l.Sessions) != 20 || l.Files != n+10 || l.Sessions[0].ID != uuid(1009) {
				t.Errorf("first page: final %v, %d sessions of %d", l.Final, len(l.Sessions), l.Files)
			}
			if len(w.seen.opened) > 20 || w.seen.read > 20*(192<<10)+10*(9<<20) {
				t.Errorf("first page opened %d files and read %d bytes", len(w.seen.opened), w.seen.read)
			}
			continue
		}
		if !l.Final || len(l.Sessions) != n+10 {
			t.Errorf("second value: final %v, %d sessions", l.Final, len(l.Sessions))
		}
	}
	if pages != 2 {
		t.Errorf("%d values", pages)
	}

	w.seen.reset()
	for range w.List(context.Background(), Query{Project: w.project(dir), First: 20}) {
		break // the user chose from the first page
	}
	if len(w.seen.opened) > 20 {
		t.Errorf("a listing that was given up opened %d files", len(w.seen.opened))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var last error
	for _, err := range w.List(ctx, Query{Project: w.project(dir), First: 20}) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("cancelled: %v", last)
	}
}

// The provisional page is corrected: a file restored with an old time comes to
// its place in the final list.
func TestProvisionalOrderIsCorrected(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	rng := rand.New(rand.NewPCG(1, 2))
	want := make([]string, 0, 120)
	for i := range 120 {
		at := day.Add(time.Duration(i) * time.Hour)
		path := newLog(uuid(i), dir, at).turn("x", "y").write(t, w.theirs, theirFolder(dir))
		touch(t, path, day.Add(time.Duration(rng.IntN(10000))*time.Hour))
		want = append(want, uuid(i))
	}
	slices.Reverse(want)
	n := 0
	for l, err := range w.List(context.Background(), Query{First: 50}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if !slices.IsSortedFunc(l.Sessions, newestFirst) {
			t.Error("a page is out of order")
		}
		if l.Final && ids(l.Sessions) != strings.Join(want, " ") {
			t.Errorf("final order %s", ids(l.Sessions))
		}
	}
	if n != 2 {
		t.Errorf("%d values", n)
	}
}

// openai/codex#38341, openai/codex#24425: a file without a usable head, or
// without anything usable, hides no other, says what is wrong with it, and what
// can be known of it is shown.
func TestDamagedFilesAreIsolated(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	folder := theirFolder(dir)
	for i := range 6 {
		newLog(uuid(i), dir, day.Add(time.Duration(i)*time.Hour)).turn("sound", "hi").write(t, w.theirs, folder)
	}
	torn := newLog(uuid(10), dir, day.Add(10*time.Hour)).turn("lost", "hi").turn("kept", "hi")
	put(t, filepath.Join(w.theirs.Projects(), folder, uuid(10)+".jsonl"), torn.buf.Bytes()[40:])
	put(t, filepath.Join(w.theirs.Projects(), folder, uuid(11)+".jsonl"), []byte(strings.Repeat("\x00", 5000)))
	put(t, filepath.Join(w.theirs.Projects(), folder, uuid(12)+".jsonl"), []byte("<html>not a log</html>\n"))
	put(t, filepath.Join(w.theirs.Projects(), folder, uuid(13)+".jsonl"), nil)
	got := w.list(t, Query{Project: w.project(dir)})
	by := make(map[string]*Session)
	for _, s := range got {
		by[s.ID] = s
	}
	if len(got) != 10 {
		t.Fatalf("listed %s", ids(got))
	}
	if s := by[uuid(10)]; !s.Damaged() || s.FirstPrompt != "kept" || s.Dir() != dir || s.Kin != KinHere {
		t.Errorf("first line torn: %+v %v", s.Lite, s.Faults)
	}
	for _, id := range []string{uuid(11), uuid(12)} {
		if s := by[id]; s == nil || !s.Damaged() || s.Kin != KinUnknown {
			t.Errorf("nothing readable: %+v", s)
		}
	}
	if !by[uuid(13)].Empty() || by[uuid(0)].Empty() {
		t.Error("Empty")
	}
	if m, err := w.Find(context.Background(), uuid(10), Query{}); err != nil || m.FirstPrompt != "kept" {
		t.Errorf("by id: %v", err)
	}
}

// Links, pipes, folders and files that nobody may read stand between the logs of
// real homes.
func TestOddEntries(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	folder := filepath.Join(w.theirs.Projects(), theirFolder(dir))
	real := newLog(uuid(1), dir, day).turn("x", "y").write(t, w.theirs, theirFolder(dir))
	elsewhere := filepath.Join(w.root, "elsewhere.jsonl")
	moved := newLog(uuid(2), dir, day).turn("moved away", "y")
	put(t, elsewhere, moved.buf.Bytes())
	link := func(to, name string) {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Skip("this system makes no symbolic links:", err)
		}
	}
	link(elsewhere, uuid(2)+".jsonl")
	link(real, "latest.jsonl")                        // the same log again
	link(filepath.Join(w.root, "gone"), "x.jsonl")    // to nowhere
	link(filepath.Join(folder, "y.jsonl"), "y.jsonl") // to itself
	for _, d := range []string{"z.jsonl", "plain", uuid(1)} {
		if err := os.Mkdir(filepath.Join(folder, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(folder, "sessions-index.json"), []byte("{}"))
	put(t, filepath.Join(folder, ".hidden.jsonl"), []byte("{}"))
	put(t, filepath.Join(folder, ".jsonl"), []byte("{}"))
	put(t, filepath.Join(w.theirs.Projects(), "a-file"), []byte("{}"))
	if err := os.Symlink(folder, filepath.Join(w.theirs.Projects(), "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(w.theirs.Projects(), filepath.Join(w.theirs.Projects(), "loop")); err != nil {
		t.Fatal(err)
	}
	pipe(t, filepath.Join(folder, "pipe.jsonl"))
	l, err := w.All(context.Background(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(l.Sessions); got != uuid(1)+" "+uuid(2) {
		t.Errorf("listed %s", got)
	}
	// An alias is found by its name, and is no second session.
	for ref, want := range map[string]string{"latest": uuid(1), uuid(1)[:8]: uuid(1), uuid(2): uuid(2)} {
		if m, err := w.Find(context.Background(), ref, Query{}); err != nil || m.ID != want || len(m.Copies) > 0 {
			t.Errorf("by %s: %+v, %v", ref, m.Session, err)
		}
	}
	for _, ref := range []string{"x", "z.jsonl", "pipe"} {
		if m, err := w.Find(context.Background(), ref, Query{}); err == nil {
			t.Errorf("by %s: found %s", ref, m.Path)
		}
	}
	var names []string
	for _, s := range l.Skipped {
		names = append(names, filepath.Base(s.Path))
	}
	slices.Sort(names)
	want := []string{"pipe.jsonl", "x.jsonl", "y.jsonl", "z.jsonl"}
	if !slices.Equal(names, want) {
		t.Errorf("skipped %v, want %v: %v", names, want, l.Skipped)
	}
}

// Sub-agents belong to their session and are none themselves, in every layout
// that clients used.
func TestSubagents(t *testing.T) {
	w := newWorld(t)
	dir := w.dir(t, "app")
	folder := theirFolder(dir)
	at := filepath.Join(w.theirs.Projects(), folder)
	newLog(uuid(1), dir, day).turn("x", "y").write(t, w.theirs, folder)
	newLog(uuid(2), dir, day).turn("x", "y").write(t, w.theirs, folder)
	agent := func(path, session string) {
		l := newLog(session, dir, day)
		l.stamp.Sidechain, l.stamp.AgentID = true, "a1"
		put(t, path, l.turn("do it", "done").buf.Bytes())
	}
	own := Subagents(at, uuid(1))
	agent(filepath.Join(own, "agent-a1.jsonl"), uuid(1))
	put(t, filepath.Join(own, "agent-a1.meta.json"), []byte(`{"agentType":"Explore","description":"look around","toolUseId":"toolu_1"}`))
	agent(filepath.Join(own, "agent-acompact-00ff00.jsonl"), uuid(1))
	agent(filepath.Join(own, "workflows", "wf_1", "agent-b2.jsonl"), uuid(1))
	put(t, filepath.Join(own, "workflows", "wf_1", "journal.jsonl"), []byte("{}\n"))
	agent(filepath.Join(at, "agent-c3.jsonl"), uuid(1))
	agent(filepath.Join(at, "agent-d4.jsonl"), uuid(2))
	agent(filepath.Join(at, "misnamed.jsonl"), uuid(2)) // a sub-agent by its records
	got := w.list(t, Query{Project: w.project(dir)})
	if ids(got) != uuid(1)+" "+uuid(2) {
		t.Fatalf("listed %s", ids(got))
	}
	agents, skipped := w.Agents(got[0])
	var names []string
	for _, a := range agents {
		names = append(names, fmt.Sprintf("%s/%v", a.ID, a.Compaction))
	}
	if s := strings.Join(names, " "); s != "a1/false acompact-00ff00/true b2/false c3/false" || len(skipped) > 0 {
		t.Errorf("agents %s, skipped %v", s, skipped)
	}
	if a := agents[0]; a.Type != "Explore" || a.Description != "look around" || a.ToolUseID != "toolu_1" || a.Size == 0 {
		t.Errorf("%+v", a)
	}
	if agents, _ = w.Agents(got[1]); len(agents) != 1 || agents[0].ID != "d4" {
		t.Errorf("agents %+v", agents)
	}
}

// anthropics/claude-code#69003: the index is only a cache. Deleted, damaged, of
// another version or stale, the list is the same.
func TestCacheIsDisposable(t *testing.T) {
	w := newWorld(t)
	w.CacheDir = filepath.Join(w.root, "cache")
	dir := w.dir(t, "app")
	for i := range 30 {
		newLog(uuid(i), dir, day.Add(time.Duration(i)*time.Hour)).turn(fmt.Sprint("prompt ", i), "y").write(t, w.theirs, theirFolder(dir))
	}
	q := Query{Project: w.project(dir)}
	look := func(what string, opened int) {
		t.Helper()
		w.seen.reset()
		got := w.list(t, q)
		for i, s := range got {
			if s.ID != uuid(29-i) || !strings.HasPrefix(s.FirstPrompt, "prompt ") || !s.Last.Equal(day.Add(time.Duration(29-i)*time.Hour+time.Second)) || s.Kin != KinHere {
				t.Errorf("%s: %s %+v", what, s.ID, s.Lite)
			}
		}
		if len(got) != 30 || len(w.seen.opened) != opened {
			t.Errorf("%s: %d sessions, %d files opened, want %d", what, len(got), len(w.seen.opened), opened)
		}
		if len(w.seen.writes) > 0 {
			t.Errorf("%s: wrote %v into a home", what, w.seen.writes)
		}
	}
	look("first time", 30)
	look("from the cache", 0)
	files, err := filepath.Glob(filepath.Join(w.CacheDir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cache files %v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty":          nil,
		"cut":            good[:len(good)/2],
		"flipped":        append(append(slices.Clone(good[:200]), good[200]^1), good[201:]...),
		"other version":  append([]byte("varve list 0"), good[12:]...),
		"not one at all": []byte("{}"),
	} {
		put(t, files[0], data)
		look(name, 30)
		look(name+", rebuilt", 0)
	}
	if err := os.RemoveAll(w.CacheDir); err != nil {
		t.Fatal(err)
	}
	look("deleted", 30)
	newLog(uuid(3), dir, day.Add(3*time.Hour)).turn("prompt changed", "y").write(t, w.theirs, theirFolder(dir))
	look("one changed", 1)
	put(t, filepath.Join(w.root, "file"), nil)
	w.CacheDir = filepath.Join(w.root, "file", "cache") // cannot be made
	look("no place for it", 30)
}

func FuzzCache(f *testing.F) {
	f.Add([]byte("varve list 1"))
	f.Add(append(slices.Clone(cacheMagic()), 0, 0, 0, 0, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		parseCache(data, "dir")
		d := decoder{b: data}
		for len(d.b) > 0 && !d.bad {
			d.bytes()
			d.varint()
		}
	})
}

// Nothing is written, and no goroutine is left, whatever is asked.
func TestListingNeverWrites(t *testing.T) {
	w := newWorld(t)
	w.CacheDir = filepath.Join(w.root, "cache")
	dir := w.dir(t, "app")
	for i := range 20 {
		newLog(uuid(i), dir, day).turn("x", "y").write(t, w.ours, Slug(dir))
	}
	before := tree(t, w.ours.Dir)
	w.seen.reset()
	q := Query{Project: w.project(dir), First: 5}
	for range w.List(context.Background(), q) {
	}
	s, err := w.Find(context.Background(), uuid(3), q)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Find(context.Background(), "no such title", q)
	_, _ = w.Latest(context.Background(), q)
	w.Agents(s.Session)
	if len(w.seen.writes) > 0 {
		t.Errorf("wrote %v", w.seen.writes)
	}
	if after := tree(t, w.ours.Dir); after != before {
		t.Errorf("before\n%safter\n%s", before, after)
	}
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, st.Size(), st.ModTime(), st.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A large list is the same from one worker and from many.
func TestWorkers(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		dir := fmt.Sprintf("/p/%d", i%7)
		newLog(uuid(i), dir, day.Add(time.Duration(i*7919%300)*time.Minute)).turn("x", "y").write(t, w.theirs, theirFolder(dir))
	}
	var want string
	for _, n := range []int{0, 1, 2, 16, 1000} {
		w.Workers = n
		got := ids(w.list(t, Query{}))
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%d workers give another list", n)
		}
	}
}
