package crashfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
)

func open(t *testing.T, f *FS, name string) vfs.File {
	t.Helper()
	h, err := f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func write(t *testing.T, h vfs.File, s string) {
	t.Helper()
	if n, err := h.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func after(t *testing.T, f *FS, name string, opt Options) string {
	t.Helper()
	b, err := vfs.ReadFile(f.Crash(opt), name)
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	must(t, err)
	return string(b)
}

func TestStrictCrashDropsWhatWasNotSynced(t *testing.T) {
	f := New()
	h := open(t, f, "/x")
	write(t, h, "one\n")
	must(t, h.Sync())
	if got := after(t, f, "/x", Options{}); got != "<none>" {
		t.Errorf("name without SyncDir survived: %q", got)
	}
	must(t, f.SyncDir("/"))
	write(t, h, "two\n")
	if got := after(t, f, "/x", Options{}); got != "one\n" {
		t.Errorf("after crash %q", got)
	}
	must(t, h.Sync())
	must(t, f.Rename("/x", "/y"))
	if got := after(t, f, "/x", Options{}); got != "one\ntwo\n" {
		t.Errorf("unsynced rename happened: %q", got)
	}
	must(t, f.SyncDir("/"))
	if got := after(t, f, "/y", Options{}); got != "one\ntwo\n" {
		t.Errorf("synced rename lost: %q", got)
	}
	must(t, f.Remove("/y"))
	if got := after(t, f, "/y", Options{}); got != "one\ntwo\n" {
		t.Errorf("unsynced removal happened: %q", got)
	}
}

// A crash never changes the original, the same seed gives the same state, and
// every cut of a prefix and scattered sectors do occur.
func TestSeededCrashes(t *testing.T) {
	f := New()
	h := open(t, f, "/x")
	must(t, f.SyncDir("/"))
	write(t, h, "0123456789")
	prefixes := map[string]bool{}
	for seed := range uint64(300) {
		got := after(t, f, "/x", Options{Mode: Prefix, Seed: seed})
		if got != "0123456789"[:len(got)] || got != after(t, f, "/x", Options{Mode: Prefix, Seed: seed}) {
			t.Fatalf("seed %d: %q", seed, got)
		}
		prefixes[got] = true
	}
	if len(prefixes) != 11 {
		t.Errorf("%d different cuts of 10 bytes, want 11", len(prefixes))
	}
	big := bytes.Repeat([]byte("a"), 3*sector)
	write(t, h, string(big))
	holes, zeroTail := false, false
	for seed := range uint64(300) {
		got := []byte(after(t, f, "/x", Options{Mode: Scatter, Seed: seed}))
		i := bytes.IndexByte(got, 0)
		holes = holes || i >= 0 && bytes.IndexByte(got[i:], 'a') > 0
		zeroTail = zeroTail || len(got) == len(big)+10 && got[len(got)-1] == 0
	}
	if !holes || !zeroTail {
		t.Errorf("scatter made holes: %v, zero tails: %v", holes, zeroTail)
	}
	if got := after(t, f, "/x", Options{Mode: Seen}); len(got) != len(big)+10 {
		t.Errorf("Seen shows %d bytes", len(got))
	}
	if got, err := vfs.ReadFile(f, "/x"); err != nil || len(got) != len(big)+10 {
		t.Errorf("the original changed: %d bytes, %v", len(got), err)
	}
}

// What Linux does since the "fsyncgate" reports: the failed call loses the
// bytes, the next one succeeds.
func TestFailedSync(t *testing.T) {
	for _, c := range []struct {
		name               string
		fault              Fault
		volatile, survives string
	}{
		{"lost", Fault{}, "onetwothree", "one\x00\x00\x00three"},
		{"evicted", Fault{Evict: true}, "one\x00\x00\x00three", "one\x00\x00\x00three"},
		{"kept dirty", Fault{KeepDirty: true}, "onetwothree", "onetwothree"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := New()
			h := open(t, f, "/x")
			must(t, f.SyncDir("/"))
			write(t, h, "one")
			must(t, h.Sync())
			write(t, h, "two")
			c.fault.Op, c.fault.Err = OpSync, syscall.EIO
			f.Inject(c.fault)
			if err := h.Sync(); !errors.Is(err, syscall.EIO) {
				t.Fatalf("Sync = %v", err)
			}
			write(t, h, "three")
			must(t, h.Sync())
			if got, err := vfs.ReadFile(f, "/x"); err != nil || string(got) != c.volatile {
				t.Errorf("reads see %q, %v; want %q", got, err, c.volatile)
			}
			if got := after(t, f, "/x", Options{}); got != c.survives {
				t.Errorf("after crash %q, want %q", got, c.survives)
			}
		})
	}
}

func TestInject(t *testing.T) {
	f := New()
	h, other := open(t, f, "/dir.x"), open(t, f, "/other")
	in := f.Inject(Fault{Op: OpWrite, Path: "*.x", Nth: 2, Count: 2, Err: syscall.ENOSPC, Short: 3})
	write(t, h, "12345")
	for range 2 {
		write(t, other, "12345")
		if n, err := h.Write([]byte("abcde")); n != 3 || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	write(t, h, "!")
	if got, _ := vfs.ReadFile(f, "/dir.x"); string(got) != "12345abcabc!" {
		t.Errorf("file holds %q", got)
	}
	if in.Fired() != 2 || f.Calls(OpWrite) != 6 {
		t.Errorf("fired %d, writes %d", in.Fired(), f.Calls(OpWrite))
	}
	forever := f.Inject(Fault{Op: OpStat, Count: Always, Err: syscall.EROFS})
	for range 5 {
		if _, err := f.Stat("/other"); !errors.Is(err, syscall.EROFS) {
			t.Fatal(err)
		}
	}
	forever.Clear()
	if _, err := f.Stat("/other"); err != nil {
		t.Error(err)
	}
	for _, op := range []Op{OpOpen, OpRead, OpSync, OpSyncDir, OpTruncate, OpRename, OpRemove, OpMkdir} {
		f.Inject(Fault{Op: op, Err: syscall.EDQUOT})
	}
	_, errOpen := f.OpenFile("/other", os.O_RDONLY, 0)
	_, errRead := other.ReadAt(make([]byte, 1), 0)
	for i, err := range []error{errOpen, errRead, other.Sync(), f.SyncDir("/"), other.Truncate(0),
		f.Rename("/other", "/z"), f.Remove("/other"), f.MkdirAll("/m", 0o700)} {
		if !errors.Is(err, syscall.EDQUOT) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	f.Inject(Fault{Op: OpOpen, Count: Always, Err: syscall.EIO})
	f.ClearFaults()
	open(t, f, "/other")
}
