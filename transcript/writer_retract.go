package transcript

import (
	"context"
	"fmt"
	"slices"
)

// Retract takes back an entry that is not acknowledged yet (T-3, the reference's
// tombstone). Of an entry that is in the file the tail is spliced: the file is
// cut before its line and the lines behind it are appended again. It refuses
// with [ErrAcknowledged] once the entry is durable, with [ErrHasChildren] while
// a later entry descends from it, and when more than 50 MiB would have to be
// moved, the reference's limit. Varve itself never takes an entry back.
//
// It waits while another call is using the disk. Trouble in appending the later
// lines again is Warn's and the next Sync's business: the entry is gone then.
func (w *Writer) Retract(uuid string) error {
	if uuid == "" {
		return fmt.Errorf("entry without uuid: %w", ErrAcknowledged)
	}
	w.io <- struct{}{}
	done, err := w.retract(uuid)
	if err = w.settle(err); done {
		return nil
	}
	return err
}

// retract does the work of Retract while it holds the disk. Refusals are
// refusedError, which says nothing about the disk.
func (w *Writer) retract(uuid string) (done bool, err error) {
	if final := w.finalErr(); final != nil {
		return false, final
	}
	d := &w.disk
	if d.failed == nil {
		if done, err := w.unqueue(uuid); done || err != nil {
			return done, err
		}
	}
	if d.failed != nil || len(d.kept) > 0 {
		// What is in the file must be known before a part of it can be cut off.
		if err := d.prepare(); err != nil {
			return false, err
		}
		if done, err := w.unqueue(uuid); done || err != nil {
			return done, err
		}
	}
	at := slices.IndexFunc(d.kept, func(c chunk) bool { return c.e != nil && c.e.UUID == uuid })
	if at < 0 {
		return false, &refusedError{fmt.Errorf("entry %s: %w", uuid, ErrAcknowledged)}
	}
	if moved := d.end - d.kept[at].off; moved > maxRetract {
		return false, &refusedError{fmt.Errorf("entry %s: %d bytes follow it, more than may be moved (%d); append a new entry instead", uuid, moved, maxRetract)}
	}
	return d.splice(at)
}

// refusedError is an error of a call that is no trouble of the disk.
type refusedError struct{ error }

func (e *refusedError) Unwrap() error { return e.error }

// unqueue takes an entry out of the queue, or reports why not.
func (w *Writer) unqueue(uuid string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := func(q queued) bool { return q.e.UUID == uuid }
	child := func(q queued) bool { return q.e.ParentUUID == uuid }
	if slices.ContainsFunc(w.queue, child) || slices.ContainsFunc(w.pending, child) ||
		slices.ContainsFunc(w.disk.kept, func(c chunk) bool { return c.e != nil && c.e.ParentUUID == uuid }) {
		return false, &refusedError{fmt.Errorf("entry %s: %w", uuid, ErrHasChildren)}
	}
	if i := slices.IndexFunc(w.pending, is); i >= 0 {
		w.meta.retract(w.pending[i].e)
		w.pending = slices.Delete(w.pending, i, i+1)
		return true, nil
	}
	i := slices.IndexFunc(w.queue, is)
	if i < 0 {
		return false, nil
	}
	// What was cut off holds lines that now get another place: should a power
	// loss undo the cut, they must not be there twice.
	w.disk.barrier = w.disk.barrier || w.disk.cut
	w.meta.retract(w.queue[i].e)
	w.bytes -= w.queue[i].size()
	w.queue = slices.Delete(w.queue, i, i+1)
	w.enqueued--
	w.unstart()
	return true, nil
}

// unstart goes back to waiting for a first message when the only ones were taken
// back before anything was written (T-2); w.mu is held.
func (w *Writer) unstart() {
	message := func(q queued) bool { return q.e.Type == TypeUser || q.e.Type == TypeAssistant }
	if w.written > 0 || slices.ContainsFunc(w.queue, message) {
		return
	}
	w.started = false
	w.enqueued -= uint64(len(w.queue))
	w.pending, w.queue, w.store, w.bytes = append(w.queue, w.pending...), nil, nil, 0
	unregister(w)
}

// splice cuts the file before a kept entry and puts the ones behind it back at
// the head of the queue, which is then written. It reports whether the entry is
// gone, whatever happens to the others. The disk is prepared.
func (d *disk) splice(at int) (gone bool, err error) {
	c := d.kept[at]
	if err := d.truncate(c.off); err != nil {
		return false, err
	}
	d.cut, d.barrier = true, true
	var back []queued
	for _, later := range d.kept[at+1:] {
		if later.e != nil {
			back = append(back, queued{later.e, later.raw, later.group})
		}
	}
	for _, out := range d.kept[at:] {
		d.keptBytes -= out.size()
	}
	d.kept, d.end, d.newline = d.kept[:at], c.off, false
	d.w.requeue(c.e, back, d.end)
	return true, d.attempt(context.Background(), d.w.target())
}

// requeue puts entries back at the head of the queue after one before them was
// cut out of the file.
func (w *Writer) requeue(gone *Entry, back []queued, end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meta.retract(gone)
	for _, q := range back {
		w.bytes += q.size()
	}
	w.queue = append(back, w.queue...)
	w.store = w.queue[:0]
	w.enqueued--
	w.written -= uint64(len(back)) + 1
	w.stats.Entries -= int64(len(back)) + 1
	w.stats.Repairs++
	w.stats.End = end
}

func (w *Writer) target() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.enqueued
}
