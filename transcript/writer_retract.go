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
// It waits while another call is using the disk.
func (w *Writer) Retract(uuid string) error {
	if uuid == "" {
		return fmt.Errorf("entry without uuid: %w", ErrAcknowledged)
	}
	w.io <- struct{}{}
	if err := w.finalErr(); err != nil {
		<-w.io
		return err
	}
	if w.disk.failed != nil { // what of the queue is in the file must be known
		if err := w.disk.prepare(); err != nil {
			return w.settle(err)
		}
	}
	found, err := w.unqueue(uuid)
	if found || err != nil {
		<-w.io
		return err
	}
	at := slices.IndexFunc(w.disk.kept, func(c chunk) bool { return c.e != nil && c.e.UUID == uuid })
	if at < 0 {
		<-w.io
		return fmt.Errorf("entry %s: %w", uuid, ErrAcknowledged)
	}
	if moved := w.disk.end - w.disk.kept[at].off; moved > maxRetract {
		<-w.io
		return fmt.Errorf("entry %s: %d bytes follow it, more than may be moved (%d); append a new entry instead", uuid, moved, maxRetract)
	}
	return w.settle(w.disk.splice(at))
}

// unqueue takes an entry out of the queue, or reports why not.
func (w *Writer) unqueue(uuid string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	is := func(q queued) bool { return q.e.UUID == uuid }
	child := func(q queued) bool { return q.e.ParentUUID == uuid }
	if slices.ContainsFunc(w.queue, child) || slices.ContainsFunc(w.pending, child) ||
		slices.ContainsFunc(w.disk.kept, func(c chunk) bool { return c.e != nil && c.e.ParentUUID == uuid }) {
		return false, fmt.Errorf("entry %s: %w", uuid, ErrHasChildren)
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
	w.pending, w.queue, w.bytes = append(w.queue, w.pending...), nil, 0
	unregister(w)
}

// splice cuts the file before a kept entry and puts the ones behind it back at
// the head of the queue, which is then written.
func (d *disk) splice(at int) error {
	if err := d.prepare(); err != nil {
		return err
	}
	c := d.kept[at]
	if err := d.truncate(c.off); err != nil {
		return err
	}
	d.cut = true
	var back []queued
	for _, later := range d.kept[at+1:] {
		if later.e != nil {
			back = append(back, queued{later.e, later.raw, later.group})
		}
	}
	for _, gone := range d.kept[at:] {
		d.keptBytes -= gone.size()
	}
	d.kept, d.end, d.newline = d.kept[:at], c.off, false
	d.w.requeue(c.e, back, d.end)
	return d.attempt(context.Background(), d.w.target())
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
