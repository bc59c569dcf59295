package transcript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
)

// anthropics/claude-code#16720: the disk is full, over quota or read-only. The
// turn completes (Append never fails), one warning is given, no torn line is
// left, and all is written when the disk recovers. T-6.
func TestWriterDiskRefuses(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		for _, op := range []crashfs.Op{crashfs.OpWrite, crashfs.OpOpen, crashfs.OpSync, crashfs.OpSyncDir, crashfs.OpMkdir} {
			for _, short := range []int{0, 1, 50, 130, 1 << 20} {
				for _, started := range []bool{false, true} {
					if short > 0 && op != crashfs.OpWrite || started && op == crashfs.OpMkdir {
						continue
					}
					name := fmt.Sprintf("%s/%v/%d/%v", op, errno, short, started)
					t.Run(name, func(t *testing.T) { refuses(t, op, errno, short, started) })
				}
			}
		}
	}
}

func refuses(t *testing.T, op crashfs.Op, errno error, short int, started bool) {
	r := newRig(t, WriterOptions{})
	want := "u1 u2 a2 u3"
	r.user("u0", "")
	if started {
		r.sync()
		want = "u0 " + want
	} else {
		noErr(t, r.w.Retract("u0"))
	}
	fault := r.fs.Inject(crashfs.Fault{Op: op, Count: crashfs.Always, Err: errno, Short: short})
	if started && (op == crashfs.OpOpen || op == crashfs.OpSyncDir) {
		// The open handle works on; make the writer open the log again.
		r.fs.Inject(crashfs.Fault{Op: crashfs.OpSync, Err: errno})
	}
	durable := started && op == crashfs.OpSyncDir // named long ago
	r.user("u1", "u0")
	durable = durable || short > 120 // the record got through although the call failed
	for range 2 {
		if err := r.w.Sync(context.Background()); durable != (err == nil) || err != nil && !errors.Is(err, errno) {
			t.Fatalf("Sync = %v", err)
		}
	}
	r.append(entryOf(t, "user", "u2", "u1", 30), entryOf(t, "assistant", "a2", "u2", 30))
	r.clock.fire()
	if durable {
		if len(r.warns) == 0 || !strings.Contains(r.warns[0].Error(), "nothing is lost") {
			t.Errorf("warnings %v", r.warns)
		}
	} else if len(r.warns) != 1 || !strings.Contains(r.warns[0].Error(), "kept in memory") {
		t.Errorf("warnings %v, want one", r.warns)
	} else if fault.Fired() < 3 {
		t.Errorf("tried %d times", fault.Fired())
	}
	r.fs.ClearFaults()
	if data := content(t, r.fs); data != "" && !strings.HasSuffix(data, "\n") {
		t.Errorf("a torn line is left: %q", data)
	}
	r.clock.fire() // nobody asks: the writer comes back to it
	r.user("u3", "a2")
	r.sync()
	r.want(want)
	if got := strings.Join(ids(t, r.fs.Crash(crashfs.Options{})), " "); got != want {
		t.Errorf("durable: %s", got)
	}
	r.close()
}

// A failed fsync loses what the kernel held, although it can still be read or,
// evicted, cannot. The records are written again, in the same place, once.
func TestWriterFailedSync(t *testing.T) {
	for _, keep := range []bool{false, true} {
		for _, evict := range []bool{false, true} {
			for count := 1; count <= 5; count++ {
				t.Run(fmt.Sprintf("keep=%v,evict=%v,%d times", keep, evict, count), func(t *testing.T) {
					r := newRig(t, WriterOptions{})
					r.user("u0", "")
					r.sync()
					r.user("u1", "u0")
					r.flush()
					r.fs.Inject(crashfs.Fault{Op: crashfs.OpSync, Count: count, Err: syscall.EIO, KeepDirty: keep, Evict: evict})
					for try := 0; ; try++ {
						r.user(fmt.Sprint("v", try), "")
						err := r.w.Sync(context.Background())
						crashed := ids(t, r.fs.Crash(crashfs.Options{}))
						if err == nil {
							if !slices.Equal(crashed, ids(t, r.fs)) {
								t.Errorf("durable %v, in the file %v", crashed, ids(t, r.fs))
							}
							break
						}
						if try > 3 {
							t.Fatal(err)
						}
					}
					got := ids(t, r.fs)
					if want := slices.Compact(slices.Sorted(slices.Values(got))); len(want) != len(got) {
						t.Errorf("duplicates in %v", got)
					}
					if len(r.warns) != 1 {
						t.Errorf("%d warnings", len(r.warns))
					}
				})
			}
		}
	}
}

// A half line that cannot be cut off is ended with a newline; whole lines of the
// failed write count as written, also the last one when only its newline is
// missing (T-6).
func TestWriterHalfLineStays(t *testing.T) {
	probe := entryOf(t, "user", "u1", "u0", 10)
	size := probe.Len + 1
	for short, want := range map[int]string{
		0:              "u0 u1 u2 u3",
		5:              "u0 ! u1 u2 u3",
		size - 2:       "u0 ! u1 u2 u3",
		size - 1:       "u0 u1 u2 u3",
		size:           "u0 u1 u2 u3",
		size + 7:       "u0 u1 ! u2 u3",
		2*size - 1:     "u0 u1 u2 u3",
		2 * size:       "u0 u1 u2 u3",
		3*size - 1:     "u0 u1 u2 u3",
		3*size - 3:     "u0 u1 u2 ! u3",
		3*size + 10000: "u0 u1 u2 u3",
	} {
		for _, grouped := range []bool{false, true} {
			r := newRig(t, WriterOptions{})
			r.user("u0", "")
			r.sync()
			r.fs.Inject(crashfs.Fault{Op: crashfs.OpTruncate, Count: crashfs.Always, Err: syscall.EIO})
			r.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Err: syscall.ENOSPC, Short: short})
			es := []*Entry{entryOf(t, "user", "u1", "u0", 10), entryOf(t, "user", "u2", "u1", 10), entryOf(t, "user", "u3", "u2", 10)}
			if grouped {
				r.append(es...)
			} else {
				for _, e := range es {
					r.append(e)
				}
			}
			r.sync()
			r.want(want)
			r.user("u4", "u3")
			r.fs.Inject(crashfs.Fault{Op: crashfs.OpSync, Err: syscall.EIO})
			r.sync() // what was left in the file is written again as it is
			r.want(want + " u4")
			r.close()
			if t.Failed() {
				t.Fatalf("short write of %d bytes", short)
			}
		}
	}
}

// T-12: a group that was cut in the middle is taken back whole.
func TestWriterGroupIsWhole(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.user("u0", "")
	r.flush()
	one := entryOf(t, "user", "u1", "u0", 10)
	r.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: crashfs.Always, Err: syscall.ENOSPC, Short: one.Len + 20})
	r.append(one)
	r.append(entryOf(t, "user", "b1", "u1", 10), entryOf(t, "user", "b2", "b1", 10))
	wantIs(t, r.w.Flush(context.Background()), syscall.ENOSPC)
	r.want("u0 u1")
	r.fs.ClearFaults()
	r.flush()
	r.want("u0 u1 b1 b2")
}

// Another program's bytes where a failed write or sync of ours left off stop
// the writer; they are never overwritten.
func TestWriterMendsOnlyItsOwn(t *testing.T) {
	overwrite := func(r *rig, at int64, data string) {
		f, err := r.fs.OpenFile(logPath, os.O_WRONLY, 0)
		noErr(r.t, err)
		_, err = f.Seek(at, 0)
		noErr(r.t, err)
		_, err = f.Write([]byte(data))
		noErr(r.t, err)
	}
	for name, c := range map[string]struct {
		fault  crashfs.Fault
		change func(r *rig, end int64)
	}{
		"write, grown":    {crashfs.Fault{Op: crashfs.OpWrite, Short: 9}, func(r *rig, end int64) { overwrite(r, end, strings.Repeat("#", 500)) }},
		"write, other":    {crashfs.Fault{Op: crashfs.OpWrite, Short: 9}, func(r *rig, end int64) { overwrite(r, end, "##") }},
		"write, shrunk":   {crashfs.Fault{Op: crashfs.OpWrite, Short: 9}, func(r *rig, end int64) { overwrite(r, 0, ""); truncateLog(r, 3) }},
		"sync, grown":     {crashfs.Fault{Op: crashfs.OpSync}, func(r *rig, end int64) { overwrite(r, end+500, "#") }},
		"sync, other":     {crashfs.Fault{Op: crashfs.OpSync}, func(r *rig, end int64) { overwrite(r, end+5, "#") }},
		"sync, shrunk":    {crashfs.Fault{Op: crashfs.OpSync}, func(r *rig, end int64) { truncateLog(r, 3) }},
		"write, replaced": {crashfs.Fault{Op: crashfs.OpWrite, Short: 9}, func(r *rig, end int64) { noErr(r.t, vfs.WriteFile(r.fs, logPath, nil, 0o600)) }},
		"sync, removed":   {crashfs.Fault{Op: crashfs.OpSync}, func(r *rig, end int64) { noErr(r.t, r.fs.Remove(logPath)) }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, WriterOptions{})
			r.user("u0", "")
			r.sync()
			end := r.w.Stats().End
			c.fault.Err, c.fault.Count = syscall.EIO, crashfs.Always
			r.fs.Inject(c.fault)
			// The failure stays half mended.
			r.fs.Inject(crashfs.Fault{Op: crashfs.OpOpen, Nth: 1, Count: crashfs.Always, Err: syscall.EIO})
			r.user("u1", "u0")
			wantIs(t, r.w.Sync(context.Background()), syscall.EIO)
			r.fs.ClearFaults()
			c.change(r, end)
			theirs := content(t, r.fs)
			wantIs(t, r.w.Sync(context.Background()), ErrMoved)
			if got := content(t, r.fs); got != theirs {
				t.Errorf("log changed from %q to %q", theirs, got)
			}
		})
	}
}

func truncateLog(r *rig, size int64) {
	f, err := r.fs.OpenFile(logPath, os.O_WRONLY, 0)
	noErr(r.t, err)
	noErr(r.t, f.Truncate(size))
}

// Close on a disk that refuses says what is not saved and keeps it for a fork;
// the log keeps its last acknowledged state without a torn line.
func TestWriterCloseOnFullDisk(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.user("u0", "")
	r.sync()
	r.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: crashfs.Always, Err: syscall.ENOSPC, Short: 20})
	r.user("u1", "u0")
	err := r.w.Close(context.Background())
	wantIs(t, err, syscall.ENOSPC)
	wantIs(t, err, ErrReadOnly)
	if !strings.Contains(err.Error(), "1 not saved") {
		t.Errorf("message %q", err)
	}
	r.want("u0")
	if left := r.w.Unacknowledged(); len(left) != 1 || left[0].UUID != "u1" {
		t.Errorf("left %v", left)
	}
	wantIs(t, r.w.Sync(context.Background()), ErrReadOnly)
}

// The whole path of new directories is durable with the first Sync (G-8), also
// when somebody else, such as the lease, made them.
func TestWriterDirectoriesAreDurable(t *testing.T) {
	for _, made := range []bool{false, true} {
		r := newRig(t, WriterOptions{})
		if made {
			noErr(t, r.fs.MkdirAll("/home/projects/p", 0o700))
		}
		r.user("u0", "")
		r.flush()
		if got := content(t, r.fs.Crash(crashfs.Options{})); got != "" {
			t.Errorf("Flush alone made %q durable", got)
		}
		r.sync()
		if got := ids(t, r.fs.Crash(crashfs.Options{})); len(got) != 1 {
			t.Errorf("after Sync and a crash: %v", got)
		}
	}
	// A resumed log whose name was never synced: an acknowledgement covers it.
	r := newRig(t, WriterOptions{})
	r.user("u0", "")
	r.flush()
	r.w.disk.drop()
	r.reopen(WriterOptions{})
	r.user("u1", "u0")
	r.sync()
	if got := ids(t, r.fs.Crash(crashfs.Options{})); len(got) != 2 {
		t.Errorf("after a resumed Sync and a crash: %v", got)
	}
}

// T-3: only what is not acknowledged can be taken back.
func TestWriterRetract(t *testing.T) {
	retract := func(r *rig, uuid string, want error) {
		r.t.Helper()
		if err := r.w.Retract(uuid); !errors.Is(err, want) {
			r.t.Errorf("Retract(%s) = %v, want %v", uuid, err, want)
		}
	}
	r := newRig(t, WriterOptions{})
	r.append(sideOf(t, `{"type":"system","uuid":"p1","parentUuid":null}`))
	r.append(sideOf(t, `{"type":"system","uuid":"p2","parentUuid":"p1"}`))
	retract(r, "p1", ErrHasChildren)
	retract(r, "p2", nil)
	retract(r, "p2", ErrAcknowledged)
	retract(r, "", ErrAcknowledged)
	r.user("u1", "p1")
	retract(r, "u1", nil) // the only message: back to waiting (T-2)
	r.sync()
	if _, err := r.fs.Stat("/home"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a log without a message was created")
	}
	r.user("u2", "p1")
	r.sync()
	r.want("p1 u2")
	retract(r, "u2", ErrAcknowledged)

	r.user("u3", "u2")
	r.append(entryOf(t, "assistant", "a3", "u3", 5), entryOf(t, "user", "u4", "a3", 5))
	r.append(entryOf(t, "user", "other", "u2", 5))
	r.flush()
	r.user("u5", "other")
	retract(r, "other", ErrHasChildren)
	retract(r, "u3", ErrHasChildren)
	retract(r, "u5", nil)
	retract(r, "u4", nil) // in the file: the tail is spliced
	r.want("p1 u2 u3 a3 other")
	r.sync()
	r.want("p1 u2 u3 a3 other")
	if got := ids(t, r.fs.Crash(crashfs.Options{})); strings.Join(got, " ") != "p1 u2 u3 a3 other" {
		t.Errorf("durable: %v", got)
	}
	if s := r.w.Stats(); s.Entries != 5 || s.Unsynced != 0 {
		t.Errorf("stats %+v", s)
	}
	r.user("u6", "other")
	r.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: 2, Err: syscall.ENOSPC, Short: 9})
	if err := r.w.Flush(context.Background()); err == nil {
		t.Fatal("no error")
	}
	retract(r, "u6", nil) // after a failed write
	r.close()
	r.want("p1 u2 u3 a3 other")
}

func TestWriterRetractLimit(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.user("u1", "")
	for range 6 {
		r.append(entryOf(t, "user", "", "", 9<<20))
	}
	r.flush()
	if err := r.w.Retract("u1"); err == nil || !strings.Contains(err.Error(), "may be moved") {
		t.Errorf("Retract over 50 MiB = %v", err)
	}
}

// T-6, anthropics/claude-code#43303: one call drains all open writers, as a
// signal handler needs it, and says which failed.
func TestDrainAll(t *testing.T) {
	bad, good, idle := newRig(t, WriterOptions{}), newRig(t, WriterOptions{}), newRig(t, WriterOptions{})
	for _, r := range []*rig{bad, good} {
		r.append(sideOf(t, `{"type":"tag","tag":"x","sessionId":"s"}`))
		r.user("u1", "")
	}
	idle.append(sideOf(t, `{"type":"tag","tag":"x","sessionId":"s"}`))
	bad.fs.Inject(crashfs.Fault{Op: crashfs.OpWrite, Count: crashfs.Always, Err: syscall.ENOSPC})
	wantIs(t, DrainAll(context.Background()), syscall.ENOSPC)
	if got := strings.Join(ids(t, good.fs.Crash(crashfs.Options{})), " "); got != "tag u1 tag" {
		t.Errorf("drained log: %s", got)
	}
	bad.want("")
	idle.want("")
	bad.fs.ClearFaults()
	noErr(t, DrainAll(context.Background()))
	bad.want("tag u1 tag")
	good.want("tag u1 tag") // nothing new: no second block
	good.close()
	bad.close()
	noErr(t, DrainAll(context.Background()))
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if len(registry.writers) != 0 {
		t.Errorf("%d writers left in the registry", len(registry.writers))
	}
}

// What a process before us left unsynced is synced before ours stands behind it;
// when that fails its bytes may turn into zeros or half a line, so ours begin on
// a fresh line and survive whatever becomes of them.
func TestWriterSyncsItsBase(t *testing.T) {
	for _, evict := range []bool{false, true} {
		r := newRig(t, WriterOptions{})
		r.user("u0", "")
		r.sync()
		r.user("u1", "u0")
		r.flush()
		r.w.disk.drop() // the process is gone
		r.reopen(WriterOptions{})
		r.fs.Inject(crashfs.Fault{Op: crashfs.OpSync, Err: syscall.EIO, Evict: evict})
		r.user("u2", "u1")
		r.sync()
		data := content(t, r.fs.Crash(crashfs.Options{}))
		if !strings.Contains(data, "\n"+`{"parentUuid":"u1"`) {
			t.Errorf("evict %v: our line does not begin on its own: %q", evict, data)
		}
		if len(r.warns) != 1 {
			t.Errorf("warnings %v", r.warns)
		}
	}
	r := newRig(t, WriterOptions{})
	r.user("u0", "")
	r.flush()
	r.w.disk.drop()
	r.reopen(WriterOptions{})
	r.user("u1", "u0")
	r.flush()
	if s := r.w.Stats(); s.Fsyncs != 1 {
		t.Errorf("%d fsyncs before the first line, want 1", s.Fsyncs)
	}
}
