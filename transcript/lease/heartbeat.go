package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// How the heartbeat file changes hands
//
// The file is created exclusively and then belongs to the instance named in
// it. An instance ends exactly once: whoever removes its file, the instance
// itself or an observer that saw it silent for too long, first creates the mark
// `<file>.<instance>.taken` exclusively. The holder looks for the mark before
// and after each beat, the observer looks for a beat after it has made the mark
// and before it removes the file. So of a late beat and a takeover at least one
// sees the other, and both then stand back.

// takeTries bounds how often a file that changes hands is looked at again
// before the log counts as busy.
const takeTries = 8

// removeTries and removePause are for file servers and virus scanners that
// refuse to unlink a file for a moment (EBUSY, sharing violation).
const (
	removeTries = 4
	removePause = 10 * time.Millisecond
)

// tornMark stands for the instance of a heartbeat file without readable text,
// left by a process that ended between creating and writing it.
const tornMark = "torn"

// heartbeat is the held heartbeat file of one instance and the goroutine that
// refreshes it.
type heartbeat struct {
	log  string // path of the session log, for messages
	path string // of the heartbeat file
	opt  Options
	sys  system

	stop chan struct{} // closed by release
	done chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex // serialises beats; guards the fields below
	file *os.File   // kept open: after a takeover it is no longer what path names
	text Holder
	last time.Time // when the last successful beat began; zero before the first
	lost *LostError
}

// takeHeartbeat creates the heartbeat file for h, taking over that of a holder
// that released it or fell silent, and starts its goroutine.
func (l *Lease) takeHeartbeat(ctx context.Context, h Holder) (*heartbeat, error) {
	b := &heartbeat{log: l.path, path: heartbeatPath(l.path), opt: l.opt, sys: l.sys, text: h}
	for range takeTries {
		err := b.create()
		if err == nil {
			b.stop, b.done = make(chan struct{}), make(chan struct{})
			go b.run()
			return b, nil
		}
		if errors.Is(err, ErrLost) {
			continue // taken before the first beat was out; look again
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("session log %s: cannot create its heartbeat: %w", l.path, err)
		}
		if err := b.evict(ctx); err != nil {
			return nil, err
		}
	}
	return nil, &BusyError{Path: l.path, Holder: l.findHolder()}
}

// create makes the file exclusively and writes the first beat.
func (b *heartbeat) create() error {
	f, err := os.OpenFile(b.path, os.O_RDWR|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return err
	}
	b.file, b.lost, b.last = f, nil, time.Time{}
	if err := b.renew(); err != nil {
		_ = f.Close() // the write error is the one to tell
		// Left behind, the file would cost the next process the stale time.
		if s, lookErr := b.look(); lookErr == nil && b.lost == nil {
			_ = b.unlink(s.Holder) // it delays, it does not block
		}
		return err
	}
	return nil
}

// run beats until release or a loss.
func (b *heartbeat) run() {
	defer close(b.done)
	tick := time.NewTicker(b.opt.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
			// A failed beat is tried again at the next tick; when the last good
			// one is too old, check makes the writer's Verify fail.
			if err := b.renew(); errors.Is(err, ErrLost) {
				return
			}
		}
	}
}

// check reports whether the file is still ours. As long as the last beat is
// younger than half the stale time nobody can have taken it, and no file is
// touched; else it beats at once. Both clocks count: the monotonic one stands
// still while a laptop sleeps, the wall clock can be set back.
func (b *heartbeat) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		return b.lost
	}
	now := b.opt.Now()
	silent := max(now.Sub(b.last), now.Round(0).Sub(b.last.Round(0)))
	if silent >= 0 && silent < b.opt.Stale/2 {
		return nil
	}
	return b.beatLocked()
}

// renew beats now.
func (b *heartbeat) renew() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.beatLocked()
}

// beatLocked rewrites the file with the next count. Caller holds mu.
func (b *heartbeat) beatLocked() error {
	if b.lost != nil {
		return b.lost
	}
	if !b.last.IsZero() { // before the first beat the file is empty
		if err := b.mineLocked(); err != nil {
			return err
		}
	}
	began := b.opt.Now()
	next := b.text
	next.Beat++
	err := next.write(b.file)
	if err == nil {
		err = b.sys.fsync(b.file) // else an NFS client keeps the bytes to itself
	}
	if err != nil {
		return fmt.Errorf("session log %s: cannot refresh its heartbeat: %w", b.log, err)
	}
	b.text = next
	if err := b.mineLocked(); err != nil {
		return err
	}
	b.last = began
	return nil
}

// mineLocked looks whether somebody took the file or is about to. Caller holds
// mu.
func (b *heartbeat) mineLocked() error {
	h, err := readHolderFile(b.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b.loseLocked(Holder{}, "its heartbeat file was removed")
	case err != nil:
		return fmt.Errorf("session log %s: cannot read its heartbeat: %w", b.log, err)
	case h.Instance != b.text.Instance:
		return b.loseLocked(h, "another process took it over while this one was silent")
	}
	marks := []string{markPath(b.path, b.text)}
	if b.last.IsZero() {
		marks = append(marks, markPath(b.path, Holder{})) // it was empty until now
	}
	for _, mark := range marks {
		_, err := os.Lstat(mark)
		if err == nil {
			return b.loseLocked(Holder{}, "another process is taking it over after this one was silent")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("session log %s: cannot look at its heartbeat: %w", b.log, err)
		}
	}
	return nil
}

// loseLocked makes the loss permanent. Caller holds mu.
func (b *heartbeat) loseLocked(who Holder, reason string) error {
	b.lost = &LostError{Path: b.log, Holder: who, Reason: reason}
	return b.lost
}

// release stops the goroutine and removes the file. The text says so first, so
// that a file that cannot be removed blocks nobody.
func (b *heartbeat) release() error {
	close(b.stop)
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lost != nil {
		return b.file.Close()
	}
	b.text.Released = true
	err := b.text.write(b.file)
	// Closed before removing: Windows refuses to remove an open file.
	err = errors.Join(err, b.sys.fsync(b.file), b.file.Close())
	if rmErr := b.unlink(b.text); rmErr != nil && !errors.Is(rmErr, fs.ErrExist) {
		err = errors.Join(err, rmErr)
	}
	if err != nil {
		return fmt.Errorf("session log %s: cannot tidy up its heartbeat (this blocks nobody for long): %w", b.log, err)
	}
	return nil
}

// seen is what an observer found in the heartbeat file.
type seen struct {
	raw string
	Holder
}

// look reads the heartbeat file.
func (b *heartbeat) look() (seen, error) {
	raw, err := readSmall(b.path)
	if err != nil {
		return seen{}, err
	}
	return seen{string(raw), parseHolder(raw)}, nil
}

// evict ends the instance that has the file now if it released it or is
// silent. It returns nil when the file may be created again, a BusyError when
// the holder lives.
func (b *heartbeat) evict(ctx context.Context) error {
	s, err := b.look()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("session log %s: cannot read its heartbeat: %w", b.log, err)
	}
	if s.Instance == b.text.Instance {
		// Our own first beat met the mark of somebody who takes over an empty
		// file. We stand back, and see whether that somebody still lives.
		if err := b.unlink(s.Holder); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("session log %s: cannot take back its heartbeat: %w", b.log, err)
		}
		return b.clearMark(ctx, Holder{})
	}
	if registry.has(s.Instance) {
		return &BusyError{Path: b.log, Holder: s.Holder, SameProcess: true}
	}
	if !s.Released {
		changed, err := b.watch(ctx, s.Holder, func() (bool, error) {
			now, err := b.look()
			return now.raw == s.raw, err
		})
		if err != nil {
			return err
		}
		if changed {
			return b.busyUnlessFree()
		}
	}
	err = b.unlink(s.Holder)
	if errors.Is(err, fs.ErrExist) {
		return b.clearMark(ctx, s.Holder)
	}
	if err != nil {
		return fmt.Errorf("session log %s: cannot take over the heartbeat of %s: %w", b.log, s.Holder, err)
	}
	return nil
}

// busyUnlessFree returns nil when the file is gone or released and a BusyError
// naming its holder otherwise.
func (b *heartbeat) busyUnlessFree() error {
	now, err := b.look()
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && now.Released:
		return nil
	case err != nil:
		return fmt.Errorf("session log %s: cannot read its heartbeat: %w", b.log, err)
	}
	return &BusyError{Path: b.log, Holder: now.Holder}
}

// watch asks same again and again until it says no, or until the stale time
// has passed on this process's own clock. A file that same does not find is a
// change. who is for the message when ctx ends.
func (b *heartbeat) watch(ctx context.Context, who Holder, same func() (bool, error)) (changed bool, err error) {
	began := b.opt.Now()
	tick := time.NewTicker(max(b.opt.Heartbeat/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("session log %s: stopped while finding out whether %s is alive: %w", b.log, who, context.Cause(ctx))
		case <-tick.C:
		}
		ok, err := same()
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("session log %s: cannot read its heartbeat: %w", b.log, err)
		case !ok:
			return true, nil
		case b.opt.Now().Sub(began) >= b.opt.Stale:
			return false, nil
		}
	}
}

// unlink ends the instance h: it makes the mark, checks that the file is still
// as h describes it and removes it. fs.ErrExist means that somebody else is at
// it. A file that changed stays and is no error: the caller looks again.
func (b *heartbeat) unlink(h Holder) error {
	mark := markPath(b.path, h)
	f, err := os.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return err
	}
	// The taker's name tells clearMark one mark from the next; an empty mark
	// works too, so these errors do not matter.
	_, _ = f.WriteString(b.text.Instance)
	_ = f.Close()
	now, err := b.look()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil && now.Instance == h.Instance && now.Beat == h.Beat:
		err = b.delete(b.path)
	}
	return errors.Join(err, b.delete(mark))
}

// clearMark handles the mark of the instance h that somebody made before: it
// waits for that takeover to end and removes the mark when it stays for the
// stale time, that is, when its maker died in between.
func (b *heartbeat) clearMark(ctx context.Context, h Holder) error {
	mark := markPath(b.path, h)
	raw, err := readSmall(mark)
	if err == nil {
		var changed bool
		changed, err = b.watch(ctx, h, func() (bool, error) {
			now, err := readSmall(mark)
			return string(now) == string(raw), err
		})
		if err != nil || changed {
			return err
		}
		// Renamed first: of two processes that clear the same mark one succeeds.
		aside := mark + "." + b.text.Instance
		if err = os.Rename(mark, aside); err == nil {
			return b.delete(aside)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("session log %s: cannot clear an interrupted takeover; remove %s if no Varve runs: %w", b.log, mark, err)
}

// delete removes a file, trying again when the file server refuses for a
// moment. A file that is not there is no error.
func (b *heartbeat) delete(name string) error {
	var err error
	for i := range removeTries {
		if i > 0 {
			time.Sleep(removePause)
		}
		if err = b.sys.remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// markPath names the mark that ends the instance h. Only ids as we make them
// become part of a file name.
func markPath(path string, h Holder) string {
	id := h.Instance
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		id = tornMark
	}
	return path + "." + id + ".taken"
}
