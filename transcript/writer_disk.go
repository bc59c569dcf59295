package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"varve.dev/internal/vfs"
)

// disk is the file side of a writer: what is in the log, what of it is durable,
// and what has to be mended before the next line. Its fields are guarded by the
// writer's io.
type disk struct {
	w *Writer

	f       vfs.File    // open for appending; nil before the first write and after a failure
	info    fs.FileInfo // identifies our file; nil until it was opened or found
	exists  bool        // the log was there or was made by us
	named   bool        // the log's name is durable
	based   bool        // what was in the log before us is durable
	checked bool        // the path was seen to lead to our file since the last sync

	end      int64 // size of the file behind what is accepted
	newline  bool  // the file does not end with a newline; one goes out first
	synced   int64 // up to here the file is durable
	wantSync bool  // a Sync waits; retries must sync too

	kept      []chunk // what is in the file behind synced, in order
	keptBytes int64

	failed  *attempt // a write that failed; what of it is in the file is not known yet
	suspect bool     // a sync failed: the kernel may have dropped what is behind synced
	barrier bool     // whole lines were cut off: sync before they are appended again elsewhere
	cut     bool     // bytes of ours behind synced were cut off; old ones may show through
	cured   error    // what failed and then went well at the second try, to be reported
	buf     []byte
}

// chunk is a stretch of the file: one entry's line, or bytes of ours that belong
// to none (a newline that ends a torn line, a half line that could not be
// removed).
type chunk struct {
	e     *Entry
	raw   []byte
	ended bool // a newline follows raw
	off   int64
	group uint64
}

func (c chunk) size() int64 {
	if c.ended {
		return int64(len(c.raw)) + 1
	}
	return int64(len(c.raw))
}

// appendTo appends the chunk's bytes to b.
func (c chunk) appendTo(b []byte) []byte {
	b = append(b, c.raw...)
	if c.ended {
		b = append(b, '\n')
	}
	return b
}

// attempt is one write call.
type attempt struct {
	buf   []byte
	lead  int      // 1 when buf begins with the newline of an unended line
	items []queued // the entries in buf, in order
	ends  []int    // where each one's line ends in buf
}

// finalError marks an error after which the writer must not write any more.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

func (d *disk) moved(reason string) error {
	return &finalError{&MovedError{Path: d.w.path, Reason: reason}}
}

func (d *disk) resized(want, got int64) error { return &finalError{sizeMoved(d.w.path, want, got)} }

// run writes until target entries are in the file and, if sync is set, makes
// them durable. A failure is answered with one fresh start on a reopened file:
// most that can be cured at all are cured by it.
func (d *disk) run(ctx context.Context, target uint64, sync bool) error {
	if final := d.w.finalErr(); final != nil {
		return final
	}
	d.wantSync = d.wantSync || sync
	err := d.attempt(ctx, target)
	var final *finalError
	if err == nil || errors.As(err, &final) || ctx.Err() != nil {
		return err
	}
	d.drop()
	d.cured = err
	if err = d.attempt(ctx, target); err != nil {
		d.drop()
		d.tidy()
	}
	return err
}

// tidy takes a half line away at once when writing failed for good, so that
// other readers never see it (anthropics/claude-code#16720). What it cannot do,
// or finds to be wrong, is done or found again by the next attempt.
func (d *disk) tidy() {
	if d.failed == nil || d.open() != nil {
		return
	}
	_ = d.mend(false)
	d.drop()
}

func (w *Writer) finalErr() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.final
}

func (d *disk) attempt(ctx context.Context, target uint64) error {
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("session log %s: writing: %w", d.w.path, ctx.Err())
		}
		batch := d.w.batch(target)
		if len(batch) == 0 && d.failed == nil && !d.suspect {
			break
		}
		if err := d.prepare(); err != nil {
			return err
		}
		// Mending may have found that lines of the batch are in the file.
		if batch = d.w.batch(target); len(batch) > 0 {
			if err := d.write(batch); err != nil {
				return err
			}
		}
		if d.keptBytes > d.w.opt.MaxKept {
			if err := d.sync(); err != nil {
				return err
			}
		}
	}
	if !d.wantSync {
		return nil
	}
	err := d.sync()
	d.wantSync = err != nil
	return err
}

// batch returns the next entries to write: whole groups up to MaxBatch bytes, at
// least one; nothing when target entries are written. The result stays valid
// while the disk is held.
func (w *Writer) batch(target uint64) []queued {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written >= target {
		return nil
	}
	var size int64
	n := 0
	for n < len(w.queue) {
		end, bytes := n, size
		for end < len(w.queue) && w.queue[end].group == w.queue[n].group {
			bytes += w.queue[end].size()
			end++
		}
		if n > 0 && bytes > int64(w.opt.MaxBatch) {
			break
		}
		n, size = end, bytes
	}
	return w.queue[:n:n]
}

// prepare opens the file, mends what a failure left, and checks that the file is
// as we left it.
func (d *disk) prepare() error {
	if d.f == nil {
		if err := d.open(); err != nil {
			return err
		}
	}
	if !d.based {
		if err := d.base(); err != nil {
			return err
		}
	}
	if d.suspect {
		if err := d.rewrite(); err != nil {
			return err
		}
	}
	if d.failed != nil {
		if err := d.mend(true); err != nil {
			return err
		}
	}
	if d.barrier {
		if err := d.sync(); err != nil {
			return err
		}
	}
	return d.fence()
}

// open opens the log for appending and creates it, with its directories, the
// first time (T-1, T-2).
func (d *disk) open() error {
	w, flag := d.w, os.O_RDWR|os.O_APPEND
	if !d.exists {
		if err := w.opt.FS.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
			return err
		}
		flag |= os.O_CREATE | os.O_EXCL
	}
	// Who holds the log says more than what they did to it, so the lock is asked
	// before the file is looked at.
	if err := d.lease(nil, 0); err != nil {
		return err
	}
	f, err := w.opt.FS.OpenFile(w.path, flag, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist) && !d.exists:
		return d.moved("was created by another program while this session was about to create it")
	case errors.Is(err, fs.ErrNotExist) && d.exists:
		return d.moved("is gone: it was removed or renamed while this session was writing it")
	case err != nil:
		return err
	}
	d.exists = true
	info, err := f.Stat()
	if err == nil && d.info != nil && !vfs.SameFile(d.info, info) {
		err = d.moved("is another file now: something replaced it while this session was writing it")
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	d.f, d.info, d.checked = f, info, false
	return nil
}

// base makes durable what a process before us left in the log, before anything
// of ours stands behind it. If that fails its bytes may turn into zeros or into
// half a line, and we cannot write them again: ours then begin on a fresh line.
func (d *disk) base() error {
	if d.end > 0 {
		d.count(func(s *WriterStats) { s.Fsyncs++ })
		if err := d.f.Sync(); err != nil {
			d.newline = true
			return err
		}
	}
	d.based = true
	return nil
}

// fence refuses to write unless the file ends where we left it and, once a turn
// and after each sync, its name still leads to it (DESIGN decision 8).
func (d *disk) fence() error {
	info, err := d.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != d.end {
		return d.resized(d.end, info.Size())
	}
	if err := d.lease(d.f, d.end); err != nil {
		return err
	}
	d.w.mu.Lock()
	due := d.w.turn || !d.checked
	d.w.turn = false
	d.w.mu.Unlock()
	if !due {
		return nil
	}
	if err := d.identity(info); err != nil {
		d.checked = false
		return err
	}
	d.checked = true
	return nil
}

// identity checks that the log's path leads to our file.
func (d *disk) identity(mine fs.FileInfo) error {
	there, err := d.w.opt.FS.Stat(d.w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.moved("is gone: it was removed or renamed while this session was writing it")
	case err != nil:
		return err
	case !vfs.SameFile(mine, there):
		return d.moved("is another file now: something replaced it while this session was writing it")
	}
	if v, ok := d.w.opt.Lease.(interface{ VerifyIdentity(vfs.File) error }); ok {
		return d.refused(v.VerifyIdentity(d.f))
	}
	return nil
}

// lease asks the lease, if there is one.
func (d *disk) lease(f vfs.File, end int64) error {
	if d.w.opt.Lease == nil {
		return nil
	}
	return d.refused(d.w.opt.Lease.Verify(f, end))
}

func (d *disk) refused(err error) error {
	if err == nil {
		return nil
	}
	err, final := leaseError(d.w.path, err)
	if final {
		return &finalError{err}
	}
	return err
}

// write appends a batch with one call.
func (d *disk) write(batch []queued) error {
	size := 1
	for _, q := range batch {
		size += len(q.raw) + 1
	}
	a := &attempt{buf: slices.Grow(d.buf[:0], size), items: batch, ends: make([]int, len(batch))}
	if d.newline {
		a.buf, a.lead = append(a.buf, '\n'), 1
	}
	for i, q := range batch {
		a.buf = append(append(a.buf, q.raw...), '\n')
		a.ends[i] = len(a.buf)
	}
	n, err := d.f.Write(a.buf)
	d.count(func(s *WriterStats) { s.Writes, s.Bytes = s.Writes+1, s.Bytes+int64(n) })
	if err == nil && n < len(a.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// The batch is a part of the queue that may have moved by the time the
		// failure is looked at again.
		a.items = append([]queued(nil), batch...)
		d.failed, d.buf = a, nil
		return err
	}
	d.accept(a, len(batch), true)
	if d.buf = a.buf; cap(d.buf) > keepBuffer {
		d.buf = nil
	}
	return nil
}

func (d *disk) count(f func(*WriterStats)) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	f(&d.w.stats)
}

// accept takes note that the first n entries of an attempt are in the file. The
// last of them may lack its newline.
func (d *disk) accept(a *attempt, n int, ended bool) {
	if a.lead > 0 {
		d.keep(chunk{raw: []byte("\n")})
		d.newline, a.lead = false, 0
	}
	var shown int64
	for i, q := range a.items[:n] {
		c := chunk{e: q.e, raw: q.raw, ended: ended || i < n-1, group: q.group}
		at := d.keep(c)
		d.newline = !c.ended
		shown += visible(q.e)
		if d.w.opt.Placed != nil {
			d.w.opt.Placed(q.e, at)
		}
	}
	d.w.popped(a.items[:n], shown, d.end)
}

// keep adds a chunk at the end and returns its offset.
func (d *disk) keep(c chunk) int64 {
	c.off = d.end
	d.end += c.size()
	d.keptBytes += c.size()
	d.kept = append(d.kept, c)
	return c.off
}

// popped removes entries from the front of the queue after they were written.
func (w *Writer) popped(qs []queued, shown, end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range qs {
		w.bytes -= q.size()
	}
	n := len(qs)
	w.written += uint64(n)
	w.stats.Entries += int64(n)
	w.stats.Visible += shown
	w.stats.End = end
	clear(w.queue[:n])
	if w.queue = w.queue[n:]; len(w.queue) == 0 {
		if w.queue = w.store; cap(w.store) > keepQueue {
			w.queue, w.store = nil, nil
		}
	}
}

// sync makes everything in the file durable and forgets it.
func (d *disk) sync() error {
	if d.exists && (len(d.kept) > 0 || d.barrier || !d.named && d.f != nil) {
		if d.f == nil {
			if err := d.prepare(); err != nil {
				return err
			}
		}
		d.count(func(s *WriterStats) { s.Fsyncs++ })
		if err := d.f.Sync(); err != nil {
			d.suspect = true
			return err
		}
		if err := d.name(); err != nil {
			return err
		}
		d.synced, d.kept, d.keptBytes = d.end, nil, 0
		d.cut, d.barrier, d.checked = false, false, false
	}
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	d.w.durable = d.w.written
	return nil
}

// name makes the log's name durable, with its directories: also of a log that
// was found, since the process that made it may have died before its first sync.
func (d *disk) name() error {
	if d.named {
		return nil
	}
	if err := vfs.SyncTree(d.w.opt.FS, filepath.Dir(d.w.path)); err != nil {
		return fmt.Errorf("sync the directory of the log: %w", err)
	}
	d.named = true
	return nil
}

// drop closes the file after a failure; the next attempt opens it again. What
// Close has to say adds nothing to the failure.
func (d *disk) drop() {
	if d.f != nil {
		_ = d.f.Close()
		d.f = nil
	}
}

// close ends the use of the file.
func (d *disk) close() error {
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f = nil
	return err
}
