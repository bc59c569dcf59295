package transcript

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file is about who writes the queue when: the timer, the calls that wait,
// and Close.

// arm starts the timer unless one runs; w.mu is held.
func (w *Writer) arm(d time.Duration) {
	if w.stop != nil || w.state != writerOpen || w.final != nil {
		return
	}
	w.busy.Add(1)
	w.stop = w.opt.After(d, func() {
		defer w.busy.Done()
		w.tick()
	})
}

// tick drains the queue from the timer's goroutine. Its error went to Warn; the
// next attempt is armed. The timer counts as armed until the disk is free, so
// that a disk that hangs gathers no goroutines.
func (w *Writer) tick() {
	w.io <- struct{}{}
	w.mu.Lock()
	w.stop = nil
	target, closed := w.enqueued, w.state == writerClosed
	w.mu.Unlock()
	if closed {
		<-w.io
		return
	}
	_ = w.settle(w.disk.run(context.Background(), target, false))
}

// acquire takes the disk, or gives up when ctx ends.
func (w *Writer) acquire(ctx context.Context) error {
	select {
	case w.io <- struct{}{}:
		return nil
	default:
	}
	select {
	case w.io <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session log %s: waiting for the disk: %w", w.path, context.Cause(ctx))
	}
}

// settle gives the disk back after an attempt and deals with its result: it
// reports trouble once, arms the next attempt, and returns the error for the
// caller.
func (w *Writer) settle(err error) error {
	w.mu.Lock()
	var warn error
	var moved *finalError
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		err = refused.error
	case err == nil:
		if cured := w.disk.cured; cured != nil && !w.warned {
			warn = &WriteError{Path: w.path, Cause: cured}
		}
		w.fails, w.warned = 0, false
	case w.final != nil:
		err = w.final
	case errors.As(err, &moved):
		warn = w.giveUp(moved.error)
		err = w.final
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		w.arm(w.opt.Drain)
	default:
		w.fails++
		err = &WriteError{Path: w.path, Waiting: int(w.enqueued - w.durable), Cause: err}
		if !w.warned {
			w.warned, warn = true, err
		}
		w.arm(min(w.opt.Drain<<min(w.fails-1, 16), maxBackoff))
	}
	w.disk.cured = nil
	if w.stop == nil && len(w.queue) > 0 {
		w.arm(w.opt.Drain)
	}
	w.mu.Unlock()
	<-w.io
	if warn != nil && w.opt.Warn != nil {
		w.opt.Warn(warn)
	}
	return err
}

// giveUp ends all writing and returns the error to report; w.mu is held.
func (w *Writer) giveUp(cause error) error {
	w.final = &ReadOnlyError{Path: w.path, Unacknowledged: int(w.enqueued - w.durable), Cause: cause}
	return w.final
}

// Flush returns when every entry appended before the call is in the file. A
// power loss may still take it; see Sync. While nothing but metadata was
// appended there is nothing to write. On an error the entries are kept and
// written later, unless it is a [*ReadOnlyError].
func (w *Writer) Flush(ctx context.Context) error { return w.reach(ctx, false) }

// Sync returns when every entry appended before the call is durable: in the
// file, the file synced, its name synced. Only then is it acknowledged. Errors
// are as for Flush.
func (w *Writer) Sync(ctx context.Context) error { return w.reach(ctx, true) }

// reach waits until what is enqueued now is written, or also synced.
func (w *Writer) reach(ctx context.Context, sync bool) error {
	w.mu.Lock()
	target := w.enqueued
	w.mu.Unlock()
	if err := w.acquire(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	at, final, closed := w.written, w.final, w.state == writerClosed
	if sync {
		at = w.durable
	}
	w.mu.Unlock()
	switch {
	case at >= target && (sync || !w.disk.suspect):
		<-w.io // somebody else's attempt covered it
		return nil
	case closed && final == nil:
		<-w.io
		return fmt.Errorf("session log %s: %w", w.path, ErrClosed)
	}
	return w.settle(w.disk.run(ctx, target, sync))
}

// Close appends the metadata block if anything was appended, writes and syncs
// everything, closes the log and releases the lease. It also ends the writer
// when the disk refuses: then the error says how many entries are not on disk,
// and Unacknowledged still returns them. Only when ctx ends while another call
// holds the disk does it return early; then it may be called again. A second
// Close does nothing.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	if w.state == writerClosed {
		w.mu.Unlock()
		return nil
	}
	if w.state == writerOpen && w.started && w.final == nil && w.meta.since > 0 {
		w.repeatMetadata()
	}
	w.state = writerClosing
	target, started, final := w.enqueued, w.started, w.final
	w.mu.Unlock()

	if err := w.acquire(ctx); err != nil {
		return err
	}
	err := final
	if started && final == nil {
		// The attempt is not bound to ctx: half a close would be worse than a
		// late one, and a system call cannot be interrupted anyway.
		err = w.disk.run(context.WithoutCancel(ctx), target, true)
	}
	closeErr := w.disk.close()
	w.mu.Lock()
	if already := w.state == writerClosed; already {
		w.mu.Unlock()
		<-w.io
		return nil
	}
	var f *finalError
	if errors.As(err, &f) {
		err = f.error
	}
	if err != nil && w.final == nil {
		err = w.giveUp(err)
	}
	w.state = writerClosed
	stop := w.stop
	w.mu.Unlock()
	unregister(w)
	if w.opt.Lease != nil {
		closeErr = errors.Join(closeErr, w.opt.Lease.Release())
	}
	<-w.io
	if stop != nil && stop() {
		w.busy.Done()
	}
	w.busy.Wait()
	return errors.Join(err, closeErr)
}
