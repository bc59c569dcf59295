package transcript

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"

	"varve.dev/message"
)

// Decode decodes what [Entry.Message] and [Entry.Rendered] return of the entries,
// ahead of them: neighbours are read together, and every processor takes part. What
// cannot be read or is no message is left to these two, which say why. Nobody else
// may use the entries meanwhile.
func Decode(entries []*Entry) {
	var need []*Entry
	size := 0
	for _, e := range entries {
		if e.msg == nil && e.shown == nil && (!e.body.empty() || e.Type == TypeAttachment) {
			need = append(need, e)
			size += e.Len
		}
	}
	var jobs [][]*Entry
	for len(need) > 0 {
		n := 1
		if need[0].raw == nil {
			n, _ = stretch(need)
		}
		jobs = append(jobs, need[:n])
		need = need[n:]
	}
	var next atomic.Int64
	work := func() {
		var d decoder
		for {
			i := int(next.Add(1)) - 1
			if i >= len(jobs) {
				return
			}
			d.decode(jobs[i])
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs), size/minDecode) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// decoder decodes entries one after the other.
type decoder struct {
	buf      []byte // what is read, for one stretch
	arena    []byte // free room for bodies
	messages message.Decoder
}

const (
	// minDecode is how many bytes are worth a goroutine of their own: a millisecond.
	minDecode = 256 << 10
	// arenaPiece is how much room for bodies is asked for at a time. A body that is
	// kept longer than others keeps what lies in its piece.
	arenaPiece = 64 << 10
	// maxShared is the largest body that shares a piece.
	maxShared = 8 << 10
)

// decode takes entries that are in memory, or one stretch of the file. The message
// of a record that fills a stretch alone is read without what stands beside it.
func (d *decoder) decode(entries []*Entry) {
	first := entries[0]
	if first.raw != nil || first.src == nil || first.Len > eachStretch {
		for _, e := range entries {
			if e.body.empty() {
				_, _, _ = e.Rendered()
			} else if e.raw != nil {
				e.msg, _ = d.messages.Message(e.raw[e.body.from:e.body.to])
			} else {
				_, _ = e.Message()
			}
		}
		return
	}
	n := entries[len(entries)-1]
	size := int(n.Offset-first.Offset) + n.Len
	if cap(d.buf) < size {
		d.buf = make([]byte, max(size, eachStretch))
	}
	if k, _ := first.src.ReadAt(d.buf[:size], first.Offset); k < size {
		return
	}
	for _, e := range entries {
		at := int(e.Offset - first.Offset)
		if raw := d.buf[at : at+e.Len]; e.body.empty() {
			_ = e.render(raw)
		} else {
			e.msg, _ = d.messages.Message(d.hold(raw[e.body.from:e.body.to]))
		}
	}
}

// hold copies a body to where it can stay.
func (d *decoder) hold(b []byte) []byte {
	if len(b) > maxShared {
		return bytes.Clone(b)
	}
	if len(d.arena) < len(b) {
		d.arena = make([]byte, arenaPiece)
	}
	out := d.arena[:len(b):len(b)]
	copy(out, b)
	d.arena = d.arena[len(b):]
	return out
}
