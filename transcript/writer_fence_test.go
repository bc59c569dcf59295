package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
	"varve.dev/transcript/lease"
)

// DESIGN decision 8: another program's append, truncation, replacement, removal
// or creation stops the writer for good; none of its bytes is touched.
func TestWriterFence(t *testing.T) {
	foreign := func(r *rig, flag int, data string) {
		f, err := r.fs.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|flag, 0o600)
		noErr(r.t, err)
		_, err = f.Write([]byte(data))
		noErr(r.t, err)
	}
	for name, c := range map[string]struct {
		change func(r *rig)
		turn   bool
		says   string
	}{
		"append":   {func(r *rig) { foreign(r, os.O_APPEND, "{}\n") }, false, "grew"},
		"truncate": {func(r *rig) { foreign(r, os.O_TRUNC, "{}\n") }, false, "shrank"},
		"replace": {func(r *rig) {
			noErr(r.t, vfs.WriteFile(r.fs, logPath, []byte(content(r.t, r.fs)), 0o600))
		}, true, "another file"},
		"remove": {func(r *rig) { noErr(r.t, r.fs.Remove(logPath)) }, true, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, WriterOptions{})
			r.user("u1", "")
			r.flush()
			c.change(r)
			theirs := content(t, r.fs)
			if c.turn {
				r.w.Turn()
			}
			r.user("u2", "u1")
			err := r.w.Sync(context.Background())
			wantIs(t, err, ErrMoved)
			wantIs(t, err, ErrReadOnly)
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "--fork-session") {
				t.Errorf("message %q", err)
			}
			if got := content(t, r.fs); got != theirs {
				t.Errorf("the log changed from %q to %q", theirs, got)
			}
			wantIs(t, r.w.Append(entryOf(t, "user", "u3", "u2", 1)), ErrReadOnly)
			if n := len(r.w.Unacknowledged()); n != 2 {
				t.Errorf("%d entries for the fork, want 2", n)
			}
			if len(r.warns) != 1 {
				t.Errorf("warned %d times, want 1", len(r.warns))
			}
			wantIs(t, r.w.Close(context.Background()), ErrReadOnly)
			if r.clock.fire() != 0 || content(t, r.fs) != theirs {
				t.Error("the writer went on")
			}
		})
	}
	t.Run("replaced before a sync is noticed after it", func(t *testing.T) {
		r := newRig(t, WriterOptions{})
		r.user("u1", "")
		r.sync()
		noErr(t, vfs.WriteFile(r.fs, logPath, []byte(content(t, r.fs)), 0o600))
		r.user("u2", "u1")
		wantIs(t, r.w.Flush(context.Background()), ErrMoved)
	})
	t.Run("created by another", func(t *testing.T) {
		r := newRig(t, WriterOptions{})
		noErr(t, r.fs.MkdirAll(filepath.Dir(logPath), 0o700))
		foreign(r, 0, "theirs\n")
		r.user("u1", "")
		wantIs(t, r.w.Flush(context.Background()), ErrMoved)
		if got := content(t, r.fs); got != "theirs\n" {
			t.Errorf("log is %q", got)
		}
	})
	t.Run("since it was read", func(t *testing.T) {
		r := newRig(t, WriterOptions{})
		_, err := OpenWriter(logPath, WriterOptions{FS: r.fs, Size: 5})
		wantIs(t, err, ErrMoved)
		r.user("u1", "")
		r.close()
		_, err = OpenWriter(logPath, WriterOptions{FS: r.fs, Size: 5})
		wantIs(t, err, ErrMoved)
		_, err = OpenWriter(filepath.Dir(logPath), WriterOptions{FS: r.fs})
		if err == nil {
			t.Error("a directory was taken for a log")
		}
	})
}

// refusing is a lease that fails from a call on.
type refusing struct {
	calls, from int
	err         error
	identity    error
	released    int
}

func (l *refusing) Verify(f vfs.File, end int64) error {
	if l.calls++; l.calls >= l.from {
		return l.err
	}
	return nil
}
func (l *refusing) VerifyIdentity(vfs.File) error { return l.identity }
func (l *refusing) Release() error                { l.released++; return nil }

func TestWriterLease(t *testing.T) {
	for name, c := range map[string]struct {
		lease   *refusing
		want    error
		final   bool
		nothing bool
	}{
		"busy at once": {&refusing{from: 1, err: &lease.BusyError{Path: logPath}}, lease.ErrBusy, true, true},
		"lost":         {&refusing{from: 4, err: &lease.LostError{Path: logPath}}, ErrMoved, true, false},
		"moved":        {&refusing{from: 4, err: &lease.MovedError{Path: logPath}}, ErrMoved, true, false},
		"identity":     {&refusing{from: 99, identity: &lease.LostError{Path: logPath}}, ErrMoved, true, false},
		"disk":         {&refusing{from: 4, err: syscall.EIO}, syscall.EIO, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, WriterOptions{Lease: c.lease})
			r.user("u1", "")
			err := r.w.Sync(context.Background())
			for i := 2; err == nil && i < 9; i++ {
				r.user(fmt.Sprint("u", i), "")
				err = r.w.Sync(context.Background())
			}
			wantIs(t, err, c.want)
			if errors.Is(err, ErrReadOnly) != c.final {
				t.Errorf("final: %v", err)
			}
			if c.nothing && content(t, r.fs) != "" {
				t.Error("wrote without a lease")
			}
			if c.final {
				wantIs(t, r.w.Close(context.Background()), c.want)
			} else {
				c.lease.err = nil
				r.close()
			}
			if c.lease.released != 1 {
				t.Errorf("released %d times", c.lease.released)
			}
		})
	}
}
