package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"varve.dev/internal/vfs"
)

// mendBlock is how much is read and written at once when lines are written again.
const mendBlock = 1 << 20

// mend finds out what a failed write left in the file and brings the file back
// to whole lines: what follows the last whole group is cut off, or, where the
// file cannot be cut, stays as whole lines and one half line that the next write
// ends with a newline (T-6). The second way is taken only if leave is set.
func (d *disk) mend(leave bool) error {
	a := d.failed
	info, err := d.f.Stat()
	if err != nil {
		return err
	}
	got := info.Size() - d.end
	if got < 0 || got > int64(len(a.buf)) {
		return d.resized(d.end, info.Size())
	}
	if err := d.same(a.buf[:got]); err != nil {
		return err
	}
	n, upto := a.groups(int(got))
	if upto < int(got) {
		err := d.truncate(d.end + int64(upto))
		if err != nil && !leave {
			return err
		}
		d.count(func(s *WriterStats) { s.Repairs++ })
		if err != nil {
			d.leave(int(got))
			return nil
		}
		d.cut = true
	}
	if upto > 0 {
		d.accept(a, n, true)
	}
	d.failed = nil
	return nil
}

// groups returns how many entries the whole groups within the first got bytes
// have, and where they end.
func (a *attempt) groups(got int) (n, upto int) {
	for i, end := range a.ends {
		if end > got {
			break
		}
		if i == len(a.ends)-1 || a.items[i+1].group != a.items[i].group {
			n, upto = i+1, end
		}
	}
	return n, upto
}

// leave accepts the first got bytes of the failed write as they are: whole
// lines, then a line without its newline, which is a whole entry if only the
// newline is missing and else a half one that readers skip.
func (d *disk) leave(got int) {
	a := d.failed
	d.failed = nil
	n, from, ended := 0, a.lead, true
	for n < len(a.ends) && a.ends[n] <= got {
		from = a.ends[n]
		n++
	}
	if n < len(a.ends) && a.ends[n]-1 == got {
		n, from, ended = n+1, got, false
	}
	if n > 0 || a.lead > 0 {
		d.accept(a, n, ended)
	}
	if from < got {
		d.keep(chunk{raw: bytes.Clone(a.buf[from:got])})
		d.newline = true
	}
}

// same checks that the bytes behind end are the given ones, ours.
func (d *disk) same(want []byte) error {
	if len(want) == 0 {
		return nil
	}
	got := make([]byte, len(want))
	if n, err := d.f.ReadAt(got, d.end); n < len(got) {
		return fmt.Errorf("read back a failed write: %w", err)
	}
	if !bytes.Equal(got, want) {
		return d.moved("holds bytes of another program where this session was writing")
	}
	return nil
}

// repairHandle opens our file for writing at any place, which a handle for
// appending cannot do, and cannot truncate either on Windows.
func (d *disk) repairHandle() (vfs.File, error) {
	g, err := d.w.opt.FS.OpenFile(d.w.path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := g.Stat()
	if err == nil && !vfs.SameFile(info, d.info) {
		err = d.moved("is another file now: something replaced it while this session was writing it")
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (d *disk) truncate(size int64) error {
	g, err := d.repairHandle()
	if err != nil {
		return err
	}
	return errors.Join(g.Truncate(size), g.Close())
}

// rewrite writes everything behind the durable part again, the same bytes in
// the same place. After a failed sync that is the only way: the kernel may have
// dropped the bytes and yet show them, and a second line would be a duplicate.
func (d *disk) rewrite() error {
	g, err := d.repairHandle()
	if err != nil {
		return err
	}
	if err := errors.Join(d.rewriteTo(g), g.Close()); err != nil {
		return err
	}
	d.suspect = false
	d.count(func(s *WriterStats) { s.Repairs++ })
	return nil
}

func (d *disk) rewriteTo(g vfs.File) error {
	info, err := g.Stat()
	if err != nil {
		return err
	}
	if size := info.Size(); size < d.synced || size > d.end {
		return d.resized(d.end, size)
	}
	if _, err := g.Seek(d.synced, io.SeekStart); err != nil {
		return err
	}
	at := d.synced
	var block, seen []byte
	for i, c := range d.kept {
		block = c.appendTo(block)
		if len(block) < mendBlock && i < len(d.kept)-1 {
			continue
		}
		seen = append(seen[:0], make([]byte, len(block))...)
		n, err := g.ReadAt(seen, at)
		if err != nil && err != io.EOF {
			return err
		}
		if !d.cut && !ours(seen[:n], block) {
			return d.moved("holds bytes of another program where this session wrote")
		}
		n, err = g.Write(block)
		d.count(func(s *WriterStats) { s.Bytes += int64(n) })
		if err != nil {
			return err
		}
		at, block = at+int64(len(block)), block[:0]
	}
	if d.cut { // the failed sync may have lost the cut as well
		return g.Truncate(d.end)
	}
	return nil
}

// ours reports whether what is in the file is what we wrote, except for bytes
// that the failed sync lost, which read as zeros.
func ours(seen, want []byte) bool {
	for i, b := range seen {
		if b != want[i] && b != 0 {
			return false
		}
	}
	return true
}
