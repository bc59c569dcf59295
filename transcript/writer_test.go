package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
	"varve.dev/transcript/lease"
)

// entryOf builds an entry of the given type for writer tests; pad adds bytes.
func entryOf(t testing.TB, typ, uuid, parent string, pad int) *Entry {
	t.Helper()
	e, err := Parse(fmt.Appendf(nil, `{"parentUuid":%q,"isSidechain":false,"type":%q,"message":{"role":%q,"content":"%s"},"uuid":%q}`,
		parent, typ, typ, strings.Repeat("x", pad), uuid))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func sideOf(t testing.TB, format string, args ...any) *Entry {
	t.Helper()
	e, err := Parse(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// manual is a clock whose timers run when the test says so, in its goroutine.
type manual struct {
	mu     sync.Mutex
	timers []func()
}

func (m *manual) After(_ time.Duration, f func()) func() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timers = append(m.timers, f)
	i := len(m.timers) - 1
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		if i >= len(m.timers) || m.timers[i] == nil {
			return false
		}
		m.timers[i] = nil
		return true
	}
}

// fire runs every timer that is armed now.
func (m *manual) fire() int {
	m.mu.Lock()
	due := m.timers
	m.timers = make([]func(), len(due)) // indices of stop functions stay valid
	m.mu.Unlock()
	n := 0
	for _, f := range due {
		if f != nil {
			f()
			n++
		}
	}
	return n
}

const logPath = "/home/projects/p/s.jsonl"

type rig struct {
	t     *testing.T
	fs    *crashfs.FS
	clock *manual
	w     *Writer
	warns []error
}

// newRig opens a writer on an empty crash file system. Timers only run by fire.
func newRig(t *testing.T, opt WriterOptions) *rig {
	t.Helper()
	r := &rig{t: t, fs: crashfs.New(), clock: &manual{}}
	r.reopen(opt)
	return r
}

func (r *rig) reopen(opt WriterOptions) {
	r.t.Helper()
	if opt.FS == nil {
		opt.FS = r.fs
	}
	if opt.Warn == nil {
		opt.Warn = func(err error) { r.warns = append(r.warns, err) }
	}
	opt.After = r.clock.After
	w, err := OpenWriter(logPath, opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.w = w
	r.t.Cleanup(func() { _ = w.Close(context.Background()) }) // tests that care check it themselves
}

func (r *rig) append(es ...*Entry) {
	r.t.Helper()
	if err := r.w.Append(es...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) user(uuid, parent string) {
	r.t.Helper()
	r.append(entryOf(r.t, "user", uuid, parent, 10))
}

func (r *rig) flush() { r.t.Helper(); noErr(r.t, r.w.Flush(context.Background())) }
func (r *rig) sync()  { r.t.Helper(); noErr(r.t, r.w.Sync(context.Background())) }
func (r *rig) close() { r.t.Helper(); noErr(r.t, r.w.Close(context.Background())) }

func noErr(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %v", err, want)
	}
}

// content returns the log's bytes, "" when there is none.
func content(t testing.TB, fsys vfs.FS) string {
	t.Helper()
	b, err := vfs.ReadFile(fsys, logPath)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	noErr(t, err)
	return string(b)
}

// ids names the log's lines: uuids, types of side entries, "!" for what is no
// JSON object.
func ids(t testing.TB, fsys vfs.FS) []string { return idsOf(content(t, fsys)) }

func idsOf(data string) []string {
	var out []string
	for line := range strings.Lines(data) {
		e, err := Parse([]byte(strings.TrimSuffix(line, "\n")))
		switch {
		case err != nil:
			out = append(out, "!")
		case e.UUID != "":
			out = append(out, e.UUID)
		default:
			out = append(out, e.Type)
		}
	}
	return out
}

func (r *rig) want(list string) {
	r.t.Helper()
	if got := strings.Join(ids(r.t, r.fs), " "); got != list {
		r.t.Errorf("log holds [%s], want [%s]", got, list)
	}
}

// T-2: nothing exists before the first user or assistant entry; what came before
// goes out with it, in order, in one write; files 0600, directories 0700 (T-1).
func TestWriterLazyCreation(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.append(sideOf(t, `{"type":"mode","mode":"normal","sessionId":"s"}`))
	r.append(sideOf(t, `{"type":"system","subtype":"x","uuid":"s1","parentUuid":null}`))
	noErr(t, r.w.Pending(entryOf(t, "user", "p1", "s1", 1)))
	r.sync()
	r.flush()
	r.clock.fire()
	if _, err := r.fs.Stat("/home"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("something was created: %v", err)
	}
	r.user("u1", "p1")
	if _, err := r.fs.Stat("/home"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("Append itself touched the disk")
	}
	if r.clock.fire() != 1 {
		t.Error("no drain was armed")
	}
	r.want("mode s1 p1 u1")
	if got := r.fs.Calls(crashfs.OpWrite); got != 1 {
		t.Errorf("%d writes, want 1", got)
	}
	for name, want := range map[string]fs.FileMode{logPath: 0o600, "/home/projects/p": 0o700, "/home": 0o700} {
		info, err := r.fs.Stat(name)
		noErr(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
	noErr(t, r.w.Pending(entryOf(t, "assistant", "a1", "u1", 1))) // started: as Append
	r.flush()
	r.want("mode s1 p1 u1 a1")
}

// T-2: an unused session leaves no file, whatever metadata it had.
func TestWriterUnusedLeavesNothing(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.append(sideOf(t, `{"type":"custom-title","customTitle":"x","sessionId":"s"}`))
	noErr(t, DrainAll(context.Background()))
	r.close()
	noErr(t, r.w.Close(context.Background()))
	if list, err := r.fs.ReadDir("/"); err != nil || len(list) != 0 {
		t.Errorf("left %v, %v", list, err)
	}
	wantIs(t, r.w.Append(entryOf(t, "user", "u", "", 1)), ErrClosed)
	if n := len(r.w.Unacknowledged()); n != 1 {
		t.Errorf("%d entries kept for a fork, want 1", n)
	}
}

// S-6: a resumed session writes nothing before its first new message, not even
// when it is closed; then the metadata it read is repeated soon (T-9).
func TestWriterResumeWritesNothing(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.user("u1", "")
	r.append(sideOf(t, `{"type":"custom-title","customTitle":"x","sessionId":"s"}`))
	r.close()
	before := content(t, r.fs)
	opens := r.fs.Calls(crashfs.OpWrite)

	title := sideOf(t, `{"type":"custom-title","customTitle":"x","sessionId":"s"}`)
	r.reopen(WriterOptions{Meta: []*Entry{title}, Size: int64(len(before))})
	r.append(sideOf(t, `{"type":"mode","mode":"normal","sessionId":"s"}`))
	r.sync()
	r.close()
	if content(t, r.fs) != before || r.fs.Calls(crashfs.OpWrite) != opens {
		t.Error("a resumed session without a message wrote")
	}

	r.reopen(WriterOptions{Meta: []*Entry{title}, Size: int64(len(before))})
	r.user("u2", "u1")
	r.sync()
	r.want("u1 custom-title custom-title u2 custom-title")
}

// T-6: entries keep their order, groups go out in one write, batches hold whole
// records up to the limit and a larger record goes alone.
func TestWriterBatches(t *testing.T) {
	r := newRig(t, WriterOptions{MaxBatch: 1000})
	var want []string
	add := func(n int, pads ...int) {
		var es []*Entry
		for i, pad := range pads {
			id := fmt.Sprintf("e%d.%d", n, i)
			es, want = append(es, entryOf(t, "user", id, "", pad)), append(want, id)
		}
		r.append(es...)
	}
	add(0, 100) // ~200 bytes a line
	add(1, 100)
	add(2, 100)
	add(3, 5000)          // alone
	add(4, 300, 300, 300) // a group over the limit, whole
	add(5, 10)
	r.flush()
	r.want(strings.Join(want, " "))
	if got := r.w.Stats().Writes; got != 4 {
		t.Errorf("%d writes, want 4", got)
	}
	if s := r.w.Stats(); s.Entries != int64(len(want)) || s.Bytes != int64(len(content(t, r.fs))) || s.End != s.Bytes || s.Queued != 0 || s.Unsynced != len(want) {
		t.Errorf("stats %+v", s)
	}
}

// T-6: the queue is drained every 100 ms without anybody asking, and no
// goroutine is left when it is empty or after Close.
func TestWriterDrainInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := crashfs.New()
		w, err := OpenWriter(logPath, WriterOptions{FS: fsys})
		noErr(t, err)
		for i := range 3 {
			noErr(t, w.Append(entryOf(t, "user", fmt.Sprint("u", i), "", 1)))
			time.Sleep(DefaultDrain - time.Millisecond)
			synctest.Wait()
			if got := len(ids(t, fsys)); got != i {
				t.Fatalf("%d lines before the interval ended, want %d", got, i)
			}
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if got := len(ids(t, fsys)); got != i+1 {
				t.Fatalf("%d lines after the interval, want %d", got, i+1)
			}
		}
		noErr(t, w.Append(entryOf(t, "user", "last", "", 1)))
		noErr(t, w.Close(t.Context())) // stops the armed timer; synctest fails on leaked goroutines
	})
}

// A failed write is tried again with growing pauses that end at five seconds.
func TestWriterBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := crashfs.New()
		warned := 0
		w, err := OpenWriter(logPath, WriterOptions{FS: fsys, Warn: func(error) { warned++ }})
		noErr(t, err)
		fault := fsys.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: crashfs.Always, Err: syscall.ENOSPC})
		noErr(t, w.Append(entryOf(t, "user", "u", "", 1)))
		time.Sleep(time.Minute)
		synctest.Wait()
		// 0.1+0.1+0.2+0.4+0.8+1.6+3.2 s, then every 5 s: 17 attempts of two writes.
		if got := fault.Fired(); got < 30 || got > 40 {
			t.Errorf("%d writes in a minute of a full disk", got)
		}
		if warned != 1 {
			t.Errorf("warned %d times, want 1 (T-6)", warned)
		}
		fault.Clear()
		time.Sleep(maxBackoff)
		synctest.Wait()
		if got := ids(t, fsys); !slices.Equal(got, []string{"u"}) {
			t.Errorf("after the disk recovered: %v", got)
		}
		fsys.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: 2, Err: syscall.ENOSPC})
		noErr(t, w.Append(entryOf(t, "user", "v", "", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		if warned != 2 {
			t.Errorf("a second episode was reported %d times, want 2 in all", warned)
		}
		noErr(t, w.Close(t.Context()))
	})
}

// T-10: a torn last line is found at open; its newline goes out with the first
// append, its bytes stay.
func TestWriterTornEnd(t *testing.T) {
	for name, c := range map[string]struct{ before, want string }{
		"empty":      {"", ""},
		"whole":      {"{\"a\":1}\n", "{\"a\":1}\n"},
		"no newline": {"{\"a\":1}", "{\"a\":1}\n"},
		"half":       {"{\"a\":1}\n{\"b\":", "{\"a\":1}\n{\"b\":\n"},
		"nul":        {"{\"a\":1}\n\x00\x00", "{\"a\":1}\n\x00\x00\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, WriterOptions{})
			noErr(t, r.fs.MkdirAll(filepath.Dir(logPath), 0o700))
			f, err := r.fs.OpenFile(logPath, os.O_CREATE|os.O_WRONLY, 0o600)
			noErr(t, err)
			_, err = f.Write([]byte(c.before))
			noErr(t, err)
			r.reopen(WriterOptions{})
			r.close()
			if got := content(t, r.fs); got != c.before {
				t.Errorf("opening changed %q to %q", c.before, got)
			}
			r.reopen(WriterOptions{})
			e := entryOf(t, "user", "u1", "", 1)
			r.append(e)
			r.flush()
			raw, err := e.Raw()
			noErr(t, err)
			if got := content(t, r.fs); got != c.want+string(raw)+"\n" {
				t.Errorf("log is %q", got)
			}
			if got := r.w.Stats().Writes; got != 1 {
				t.Errorf("%d writes: the newline must go out with the record", got)
			}
		})
	}
}

// T-10, anthropics/claude-code#81843: the file cut at every byte of its last two
// records: nothing before the last whole line is lost by loading, appending,
// loading.
func TestWriterCutAtEveryByte(t *testing.T) {
	r := newRig(t, WriterOptions{})
	for i := range 4 {
		r.user(fmt.Sprint("u", i), fmt.Sprint("u", i-1))
	}
	r.close()
	whole := []byte(content(t, r.fs))
	from := bytes.Index(whole, []byte(`{"parentUuid":"u1"`))
	for cut := from; cut <= len(whole); cut++ {
		r := newRig(t, WriterOptions{})
		noErr(t, r.fs.MkdirAll(filepath.Dir(logPath), 0o700))
		noErr(t, vfs.WriteFile(r.fs, logPath, whole[:cut], 0o600))
		before := uuids(t, whole[:cut])
		r.reopen(WriterOptions{Size: int64(cut)})
		r.user("new", "u1")
		r.close()
		data := []byte(content(t, r.fs))
		if !bytes.HasPrefix(data, whole[:cut]) {
			t.Fatalf("cut at %d: bytes of the log changed", cut)
		}
		if got, want := uuids(t, data), append(before, "new"); !slices.Equal(got, want) {
			t.Fatalf("cut at %d: %v, want %v", cut, got, want)
		}
	}
}

// uuids reads a log with the reader proper.
func uuids(t testing.TB, data []byte) []string {
	t.Helper()
	l, err := Read(context.Background(), bytes.NewReader(data), int64(len(data)), ReadOptions{})
	noErr(t, err)
	defer l.Close()
	var out []string
	for _, e := range l.Entries {
		if e.UUID != "" {
			out = append(out, e.UUID)
		}
	}
	return out
}

// Concurrent callers of Sync share fsyncs, and none returns before its entry is
// durable (DESIGN decision 9).
func TestWriterGroupedSync(t *testing.T) {
	fsys := crashfs.New()
	w, err := OpenWriter(logPath, WriterOptions{FS: &slowSync{FS: fsys}})
	noErr(t, err)
	const callers, each = 16, 5
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("c%d.%d", c, i)
				if err := w.Append(entryOf(t, "user", id, "", 1)); err != nil {
					t.Error(err)
				}
				if err := w.Sync(context.Background()); err != nil {
					t.Error(err)
				}
				if got := ids(t, fsys.Crash(crashfs.Options{})); !slices.Contains(got, id) {
					t.Errorf("%s was acknowledged but is not durable", id)
				}
			}
		})
	}
	wg.Wait()
	noErr(t, w.Close(context.Background()))
	if n := w.Stats().Fsyncs; n > callers*each/2 {
		t.Errorf("%d fsyncs for %d calls: not grouped", n, callers*each)
	}
	if got := len(ids(t, fsys)); got != callers*each {
		t.Errorf("%d lines, want %d", got, callers*each)
	}
}

// slowSync takes a disk's time to sync.
type slowSync struct{ *crashfs.FS }

func (s *slowSync) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := s.FS.OpenFile(name, flag, perm)
	return slowFile{f}, err
}

type slowFile struct{ vfs.File }

func (f slowFile) Sync() error {
	time.Sleep(2 * time.Millisecond)
	return f.File.Sync()
}

// Sync and Flush give up waiting for the disk when their context ends.
func TestWriterContext(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.user("u1", "")
	r.w.io <- struct{}{} // somebody uses the disk
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	flushed, closed, drained := r.w.Flush(ctx), r.w.Close(ctx), DrainAll(ctx)
	<-r.w.io
	wantIs(t, flushed, context.Canceled)
	wantIs(t, closed, context.Canceled)
	wantIs(t, drained, context.Canceled)
	r.want("")
	noErr(t, DrainAll(context.Background())) // what an interrupted Close left
	r.want("u1")
	r.close()
	r.want("u1")
}

// T-6: records of a process that the disk refuses for too long make the session
// read-only, they do not fill the memory.
func TestWriterGivesUp(t *testing.T) {
	r := newRig(t, WriterOptions{MaxQueue: 500})
	r.user("u1", "")
	r.sync()
	r.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: crashfs.Always, Err: syscall.ENOSPC})
	r.user("u2", "u1")
	err := r.w.Sync(context.Background())
	wantIs(t, err, syscall.ENOSPC)
	for i := range 10 {
		if err = r.w.Append(entryOf(t, "user", fmt.Sprint("v", i), "", 100)); err != nil {
			break
		}
	}
	wantIs(t, err, ErrReadOnly)
	if len(r.warns) != 2 {
		t.Errorf("warnings %v, want the full disk and the end", r.warns)
	}
	r.fs.ClearFaults()
	r.clock.fire()
	wantIs(t, r.w.Sync(context.Background()), ErrReadOnly)
	r.want("u1") // read-only from the last acknowledged entry
	var ro *ReadOnlyError
	if err := r.w.Close(context.Background()); !errors.As(err, &ro) || ro.Unacknowledged != len(r.w.Unacknowledged()) || ro.Unacknowledged < 2 {
		t.Errorf("Close = %v, %d unacknowledged", err, len(r.w.Unacknowledged()))
	}
}

// The writer syncs on its own before it keeps too much for a Sync that never comes.
func TestWriterBoundsKept(t *testing.T) {
	r := newRig(t, WriterOptions{MaxKept: 2000, MaxBatch: 500})
	for i := range 50 {
		r.user(fmt.Sprint("u", i), "")
	}
	r.flush()
	if s := r.w.Stats(); s.Fsyncs < 2 || r.w.disk.keptBytes > 2000 {
		t.Errorf("%d fsyncs, %d bytes kept", s.Fsyncs, r.w.disk.keptBytes)
	}
}

func TestWriterRefusesWhatIsNoLine(t *testing.T) {
	r := newRig(t, WriterOptions{})
	good := entryOf(t, "user", "u1", "", 1)
	wantIs(t, r.w.Append(good, nil), ErrRecord)
	wantIs(t, r.w.Append(good, sideOf(t, "{\"type\":\"x\",\n\"a\":1}")), ErrRecord)
	noErr(t, r.w.Append())
	r.sync()
	r.want("")
	r.append(good)
	r.sync()
	r.want("u1")
}

// Placed tells the offsets that boundaries record in keptOffsets.
func TestWriterPlaced(t *testing.T) {
	at := map[string]int64{}
	r := newRig(t, WriterOptions{Placed: func(e *Entry, off int64) { at[e.UUID] = off }})
	for i := range 5 {
		r.user(fmt.Sprint("u", i), "")
		r.flush()
	}
	noErr(t, r.w.Retract("u1"))
	data := content(t, r.fs)
	for _, id := range []string{"u0", "u2", "u3", "u4"} {
		line, _, _ := strings.Cut(data[at[id]:], "\n")
		if !strings.Contains(line, fmt.Sprintf(`"uuid":%q`, id)) || line[0] != '{' {
			t.Errorf("%s was said to be at %d", id, at[id])
		}
	}
}

// SPEC T: bytes written per model-visible byte and fsyncs per turn are counted.
func TestWriterStats(t *testing.T) {
	r := newRig(t, WriterOptions{})
	if s := r.w.Stats(); s.PerTurn() != 0 || s.Amplification() != 0 {
		t.Errorf("before anything: %+v", s)
	}
	for i := range 4 {
		r.w.Turn()
		r.append(entryOf(t, "user", fmt.Sprint("u", i), "", 1000))
		r.append(sideOf(t, `{"type":"attachment","uuid":"t%d","attachment":{"a":1},"rendered":[{"content":"12345"}]}`, i))
		r.sync()
	}
	s := r.w.Stats()
	if s.Turns != 4 || s.PerTurn() != 1 {
		t.Errorf("turns %d, fsyncs per turn %v", s.Turns, s.PerTurn())
	}
	message := len(`{"role":"user","content":""}`) + 1000
	if want := int64(4 * (message + len(`[{"content":"12345"}]`))); s.Visible != want {
		t.Errorf("visible %d, want %d", s.Visible, want)
	}
	if a := s.Amplification(); a < 1 || a > 1.3 {
		t.Errorf("amplification %v", a)
	}
}

// On the real file system: modes, resume, and a Close that leaves a clean file.
func TestWriterRealFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "projects", "p")
	path := filepath.Join(dir, "s.jsonl")
	for round := range 3 {
		l := lease.New(path, lease.Options{})
		w, err := OpenWriter(path, WriterOptions{Lease: l})
		noErr(t, err)
		for i := range 100 {
			w.Turn()
			noErr(t, w.Append(entryOf(t, "user", fmt.Sprintf("u%d.%d", round, i), "", i)))
			if i%20 == 0 {
				noErr(t, w.Sync(t.Context()))
			}
		}
		noErr(t, w.Close(t.Context()))
	}
	data, err := os.ReadFile(path)
	noErr(t, err)
	if got := uuids(t, data); len(got) != 300 || got[0] != "u0.0" || got[299] != "u2.99" {
		t.Errorf("%d entries", len(got))
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{path: 0o600, dir: 0o700} {
			info, err := os.Stat(name)
			noErr(t, err)
			if info.Mode().Perm() != want {
				t.Errorf("%s has mode %o", name, info.Mode().Perm())
			}
		}
	}
}

// T-4: bytes go out exactly as they came, unknown members and number texts
// included.
func TestWriterKeepsBytes(t *testing.T) {
	r := newRig(t, WriterOptions{})
	line := `{ "type":"user" ,"x":1.50e+3,"y":" é\ud800","uuid":"u","new":[null]}`
	r.append(sideOf(t, "%s", line))
	r.flush()
	if got := content(t, r.fs); got != line+"\n" {
		t.Errorf("wrote %q", got)
	}
	if !json.Valid([]byte(line)) {
		t.Fatal("test line")
	}
}

// Entries of a large log, whose bytes are still in their file, can be appended
// to another: a fork does it.
func TestWriterLoadsEntries(t *testing.T) {
	first := entryOf(t, "user", "u1", "", 1)
	lazy := entryOf(t, "assistant", "a1", "u1", 1)
	lazy.src, lazy.Offset, lazy.raw = bytes.NewReader(lazy.raw), 0, nil
	r := newRig(t, WriterOptions{})
	r.append(first, lazy)
	if lazy.raw != nil {
		t.Error("the other log's entry was changed")
	}
	lazy.src = nil
	r.sync()
	r.want("u1 a1")
	if err := r.w.Append(first, lazy); err == nil {
		t.Error("an entry of a closed log was taken")
	}
}
