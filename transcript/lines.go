package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// chunkSize is how much of a file is read at a time. One mebibyte keeps the cost
// of a read call below one per cent of scanning what it returned.
const chunkSize = 1 << 20

// maxPending bounds the damaged half of a record that is kept in the hope that
// its other half follows on the next line (two writers on one file).
const maxPending = 8 << 20

var utf8BOM = []byte("\xEF\xBB\xBF")

// lineReader turns the lines of one file into entries and faults.
type lineReader struct {
	scan    scanner
	entries []*Entry
	faults  []Fault
	src     io.ReaderAt // set when bodies stay on disk
	slab    []Entry

	crlf, blank int // how many lines, said once

	pending    []byte // the unfinished record of the line before
	pendingOff int64
	pendingNo  int
	pendingFix int // index of its fault
}

// next returns the entry that the next record is read into. keep takes it.
func (r *lineReader) next() *Entry {
	if len(r.slab) == 0 {
		// Lists of sessions read a few lines of each, resumes read all.
		r.slab = make([]Entry, min(max(8, len(r.entries)), 256))
	}
	return &r.slab[0]
}

func (r *lineReader) fault(f Fault) { r.faults = append(r.faults, f) }

// lineKind says what is known of a line before it is read.
type lineKind uint8

const (
	ended    lineKind = 1 << iota // a newline stands behind it; the last one of a file may have none
	hasZeros                      // it may hold zero bytes
)

// nextLine returns the position of the first newline in b at or behind i, -1 when
// there is none, and what is known of the line that ends there and begins at i.
func nextLine(b []byte, i int) (end int, how lineKind) {
	k := newlineOrZero(b, i)
	switch {
	case k < 0:
		return -1, 0
	case b[k] == '\n':
		return k, ended
	}
	n := bytes.IndexByte(b[k:], '\n')
	if n < 0 {
		return -1, hasZeros
	}
	return k + n, ended | hasZeros
}

// eachLine calls fn for every line of src[from:size], without its newline. The
// bytes are valid until fn returns.
func eachLine(ctx context.Context, src io.ReaderAt, from, size int64, fn func(line []byte, off int64, how lineKind)) error {
	buf := make([]byte, chunkSize)
	have := 0          // bytes of buf in use
	base := from       // file position of buf[0]
	searched := 0      // bytes of buf known to hold no newline
	var known lineKind // of the line that these begin
	for base+int64(have) < size {
		if err := ctx.Err(); err != nil {
			return err
		}
		if have == len(buf) {
			grown := make([]byte, 2*len(buf))
			copy(grown, buf[:have])
			buf = grown
		}
		want := min(int64(len(buf)-have), size-base-int64(have))
		n, err := src.ReadAt(buf[have:have+int(want)], base+int64(have))
		have += n
		if n == 0 {
			if errors.Is(err, io.EOF) {
				break // the file is shorter than it was; what is there was read
			}
			if err == nil {
				err = io.ErrNoProgress
			}
			return fmt.Errorf("transcript: read at byte %d: %w", base+int64(have), err)
		}
		start := 0
		for {
			end, how := nextLine(buf[:have], searched)
			known |= how
			if end < 0 {
				break
			}
			fn(buf[start:end], base+int64(start), known)
			start = end + 1
			searched, known = start, 0
		}
		copy(buf, buf[start:have])
		have -= start
		base += int64(start)
		searched = have
	}
	if have > 0 {
		fn(buf[:have], base, known)
	}
	return nil
}

// eachLineOf is eachLine over bytes in memory; lines stay valid.
func eachLineOf(ctx context.Context, data []byte, base int64, fn func(line []byte, off int64, how lineKind)) error {
	for pos, n := 0, 0; pos < len(data); n++ {
		if n&1023 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		end, how := nextLine(data, pos)
		if end < 0 {
			fn(data[pos:], base+int64(pos), how)
			return nil
		}
		fn(data[pos:end:end], base+int64(pos), how)
		pos = end + 1
	}
	return nil
}

// line takes one line. no is its number, 0 when unknown.
func (r *lineReader) line(b []byte, off int64, no int, how lineKind) {
	ended := how&ended != 0
	if len(b) > math.MaxInt32 {
		r.fault(Fault{Line: no, Offset: off, Kind: FaultTooLong, Detail: fmt.Sprintf("%d bytes; skipped", len(b))})
		return
	}
	if off == 0 && bytes.HasPrefix(b, utf8BOM) {
		r.fault(Fault{Line: no, Offset: 0, Kind: FaultBOM, Detail: "the file starts with a byte order mark"})
		b, off = b[3:], 3
	}
	if ended && len(b) > 0 && b[len(b)-1] == '\r' {
		if r.crlf == 0 {
			r.fault(Fault{Line: no, Offset: off, Kind: FaultCRLF, Detail: "lines end with CR LF"})
		}
		r.crlf++
		b = b[:len(b)-1]
	}
	if how&hasZeros != 0 && bytes.IndexByte(b, 0) >= 0 {
		r.zeros(b, off, no, ended)
		return
	}
	if n := len(b); n > 1 && b[0] == '{' && b[n-1] == '}' {
		r.records(b, off, no, ended)
		return
	}
	trimmed := bytes.TrimLeft(b, " \t\r")
	lead := len(b) - len(trimmed)
	if trimmed = bytes.TrimRight(trimmed, " \t\r"); len(trimmed) == 0 {
		if r.blank == 0 {
			r.fault(Fault{Line: no, Offset: off, Kind: FaultBlank, Detail: "an empty line"})
		}
		r.blank++
		return
	}
	r.records(trimmed, off+int64(lead), no, ended)
}

// zeros takes a line with zero bytes in it, which a power loss leaves where data
// was not written. They stand for bytes that are lost, also inside a string: what
// lies between them is read piece by piece, so that no record is made of the
// beginning of one and the end of another.
func (r *lineReader) zeros(b []byte, off int64, no int, ended bool) {
	f := len(r.faults)
	r.fault(Fault{Line: no, Offset: off, Kind: FaultNUL})
	whole := true
	for i := 0; i < len(b); {
		if c := b[i]; c == 0 || c == ' ' || c == '\t' || c == '\r' {
			i++
			continue
		}
		end := len(b)
		if k := bytes.IndexByte(b[i:], 0); k >= 0 {
			end = i + k
		}
		piece := bytes.TrimRight(b[i:end], " \t\r")
		n := len(r.faults)
		r.records(piece, off+int64(i), no, ended && end == len(b))
		whole = whole && len(r.faults) == n
		i = end
	}
	r.faults[f].Detail = nulDetail(len(bytes.Trim(b, "\x00 \t\r")), whole)
}

func nulDetail(rest int, whole bool) string {
	switch {
	case rest == 0:
		return "the line is zero bytes only; what stood there is lost"
	case whole:
		return "zero bytes around the record were left out"
	}
	return "zero bytes inside a record; what stood there is lost"
}

// records reads the records of one line: one in a sound file, several where a
// newline was lost, and what can be recovered where a record is cut.
func (r *lineReader) records(b []byte, off int64, no int, ended bool) {
	if r.pending != nil {
		done := r.rejoin(b)
		r.pending = nil
		if done {
			return
		}
	}
	found := 0
	for i := 0; i < len(b); {
		if c := b[i]; c == 0 || c == ' ' || c == '\t' || c == '\r' {
			i++
			continue
		}
		e := r.next()
		end, err := r.scan.head(b, i, &e.Head)
		if err == nil {
			if found > 0 {
				r.fault(Fault{Line: no, Offset: off + int64(i), Kind: FaultGlued, Detail: "several records on one line; each was read"})
			}
			e.body.shift(i)
			e.own.shift(i)
			r.keep(e, b[i:end:end], off+int64(i), no, false)
			found++
			i = end
			continue
		}
		h := e.Head
		*e = Entry{}
		next := r.resync(b, i+1)
		r.damaged(b[i:next], off+int64(i), no, err, h, next < len(b), ended)
		if ended && next-i <= maxPending && b[i] == '{' {
			r.hold(b[i:next], off+int64(i), no)
		}
		i = next
	}
}

// keep adds a whole record, which was read into the entry that next returned.
func (r *lineReader) keep(e *Entry, raw []byte, off int64, no int, detached bool) {
	r.slab = r.slab[1:]
	e.Line, e.Offset, e.Len = no, off, len(raw)
	e.seq = len(r.entries)
	switch {
	case detached || r.src == nil:
		e.raw = raw
	default:
		e.src = r.src
	}
	r.entries = append(r.entries, e)
}

// damaged reports a piece of a line that is no record.
func (r *lineReader) damaged(b []byte, off int64, no int, err error, h Head, more, ended bool) {
	f := Fault{Line: no, Offset: off, uuid: h.UUID, parent: h.ParentUUID, hasParent: h.HasParent}
	switch {
	case errors.Is(err, errNotObject) || b[0] != '{':
		f.Kind, f.Detail = FaultNotObject, "not a JSON object; skipped"
	case errors.Is(err, errTorn) && !more:
		f.Kind, f.Detail = FaultTorn, "the record breaks off; skipped"
		if !ended {
			f.Detail = "the last record was not written to its end; skipped"
		}
	case more:
		f.Kind, f.Detail = FaultTorn, "the record breaks off and another follows on the same line; the second was read"
	default:
		f.Kind, f.Detail = FaultInvalid, "not valid JSON; skipped"
	}
	r.fault(f)
}

func (r *lineReader) hold(b []byte, off int64, no int) {
	r.pending = bytes.Clone(b)
	r.pendingOff, r.pendingNo, r.pendingFix = off, no, len(r.faults)-1
}

// rejoin tries whether b is the second half of the record that broke off on the
// line before, as happens when two writers interleave.
func (r *lineReader) rejoin(b []byte) bool {
	if b[0] == '{' && plausibleStart(b) {
		return false
	}
	whole := append(r.pending, b...)
	e := r.next()
	end, err := r.scan.head(whole, 0, &e.Head)
	if err != nil || end != len(whole) || !plausible(&e.Head) {
		*e = Entry{}
		return false
	}
	f := &r.faults[r.pendingFix]
	f.Kind, f.Detail = FaultSplit, "another record stands inside this one; both were read"
	r.keep(e, whole, r.pendingOff, r.pendingNo, true)
	return true
}

// recordStarts are the members that records of the reference format begin with.
var recordStarts = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"type":`), []byte(`{"logicalParentUuid":`)}

func plausibleStart(b []byte) bool {
	for _, s := range recordStarts {
		if bytes.HasPrefix(b, s) {
			return true
		}
	}
	return false
}

// plausible tells a record from an object inside a record, which a damaged line
// may end with by chance: records name their session, blocks do not.
func plausible(h *Head) bool {
	if h.Type == "" {
		return false
	}
	return h.SessionID != "" || h.Type == TypeSummary || h.Type == TypeFileSnapshot || h.Type == TypeFileDelta
}

// resync looks for the next record inside a damaged line, from position i on. It
// returns len(b) when there is none. Its work is bounded by a multiple of the
// line, whatever the line holds.
func (r *lineReader) resync(b []byte, i int) int {
	budget := 8*len(b) + chunkSize
	for i < len(b) && budget > 0 {
		k := bytes.Index(b[i:], []byte(`{"`))
		if k < 0 {
			return len(b)
		}
		i += k
		if plausibleStart(b[i:]) {
			var h Head
			end, err := r.scan.head(b, i, &h)
			budget -= max(end-i, 64)
			if err == nil && plausible(&h) {
				rest := bytes.TrimLeft(b[end:], "\x00 \t\r")
				if len(rest) == 0 || plausibleStart(rest) {
					return i
				}
			}
		}
		i += 2
	}
	return len(b)
}
