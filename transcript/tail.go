package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// firstTail is how much a tail read looks at first. Real logs append a
// conversation's newest boundary within a few megabytes of the end; each further
// step reads as much again as was read so far.
const firstTail = 512 << 10

// ReadTail reads a log backwards, only as far as the conversation at its tip
// needs: to the newest boundary that holds on that branch and the older entries
// that it keeps, or to the start (G-9). The cost is that of the suffix, whatever
// the size of the log. The result answers Tip and Chain of the tip as a whole
// read does; lines have no numbers, and branches and entries before [Log.From]
// are not in it.
func ReadTail(ctx context.Context, src io.ReaderAt, size int64, opt ReadOptions) (*Log, error) {
	span := opt.FirstTail
	if span <= 0 {
		if size <= 2*memoryLimit {
			return Read(ctx, src, size, opt)
		}
		span = firstTail
	}
	t := &tailReader{src: src, size: size, opt: opt}
	for lo := size; ; span *= 2 {
		from := max(size-span, 0)
		start, err := t.segment(ctx, from, lo)
		if err != nil {
			return nil, err
		}
		if start == lo && from > 0 {
			continue // no line begins in this part: one long line
		}
		lo = start
		if lo > 0 && !t.starts() {
			continue
		}
		if l := t.log(lo); lo == 0 || l.complete() {
			return l, nil
		}
	}
}

// starts reports whether a conversation that does not begin with the file could
// begin in what was read.
func (t *tailReader) starts() bool {
	for _, s := range t.segments {
		for _, e := range s.entries {
			if e.IsBoundary() || e.CompactSummary {
				return true
			}
		}
	}
	return false
}

// tailReader collects the segments of a log from its end.
type tailReader struct {
	src      io.ReaderAt
	size     int64
	opt      ReadOptions
	scan     scanner
	segments []*lineReader // newest first
	torn     bool
}

// segment reads the lines that begin in [from, to) and returns where the first
// of them begins; to when none does.
func (t *tailReader) segment(ctx context.Context, from, to int64) (int64, error) {
	start := from
	if from > 0 {
		var err error
		if start, err = lineStart(ctx, t.src, from, to); err != nil || start >= to {
			return to, err
		}
	}
	if r, err := t.parts(ctx, start, to); r != nil || err != nil {
		return t.add(ctx, r, start, to, err)
	}
	r := &lineReader{scan: t.scan}
	each := func(line []byte, off int64, how lineKind) {
		r.line(line, off, 0, how)
		if to == t.size {
			t.torn = how&ended == 0
		}
	}
	if t.opt.inMemory(t.size - start) {
		data := make([]byte, to-start)
		n, err := t.src.ReadAt(data, start)
		if err != nil && !errors.Is(err, io.EOF) {
			return to, fmt.Errorf("transcript: read at byte %d: %w", start, err)
		}
		if err := eachLineOf(ctx, data[:n], start, each); err != nil {
			return to, err
		}
	} else {
		r.src = t.src
		if err := eachLine(ctx, t.src, start, to, each); err != nil {
			return to, err
		}
	}
	t.scan = r.scan
	return t.add(ctx, r, start, to, nil)
}

// parts reads a segment that is large enough at several places at the same time;
// nil when it is not, or cannot be read in that way.
func (t *tailReader) parts(ctx context.Context, from, to int64) (*lineReader, error) {
	n := t.opt.parts(to - from)
	if n < 2 || t.opt.inMemory(t.size-from) {
		return nil, nil
	}
	r, torn, err := readParts(ctx, t.src, from, to, n, false)
	if r != nil && to == t.size {
		t.torn = torn
	}
	return r, err
}

// add puts what was read of [start, to) before what was read of what follows it.
func (t *tailReader) add(ctx context.Context, r *lineReader, start, to int64, err error) (int64, error) {
	if err != nil {
		return to, err
	}
	if r.pending != nil && len(t.segments) > 0 {
		// The part ends in a cut record whose other half may begin the part behind
		// it: read both as one.
		t.segments = nil
		return t.segment(ctx, start, t.size)
	}
	t.segments = append(t.segments, r)
	return start, nil
}

// lineStart returns the first position at or after from where a line begins, or
// to when the line that holds from reaches beyond it. A line that begins exactly
// at from counts.
func lineStart(ctx context.Context, src io.ReaderAt, from, to int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for at := from - 1; at < to; {
		if err := ctx.Err(); err != nil {
			return to, err
		}
		n, err := src.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
		if k := bytes.IndexByte(buf[:n], '\n'); k >= 0 {
			return at + int64(k) + 1, nil
		}
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				return to, nil
			}
			return to, fmt.Errorf("transcript: read at byte %d: %w", at, err)
		}
		at += int64(n)
	}
	return to, nil
}

// log links what was read so far.
func (t *tailReader) log(from int64) *Log {
	all := &lineReader{}
	for i := len(t.segments) - 1; i >= 0; i-- {
		s := t.segments[i]
		all.entries = append(all.entries, s.entries...)
		all.faults = append(all.faults, s.faults...)
		all.crlf += s.crlf
		all.blank += s.blank
		if s.src != nil {
			all.src = s.src
		}
	}
	for _, e := range all.entries {
		e.parent, e.early, e.childs = nil, false, false
	}
	l := &Log{From: from, Size: t.size, Torn: t.torn, src: all.src}
	if from > 0 {
		l.src = t.src
	}
	l.take(all)
	return l
}

// complete reports whether the chain of the tip is all there. Kept entries that
// lie further back are fetched by the offset that the boundary recorded.
func (l *Log) complete() bool {
	tip := l.Tip()
	if tip == nil || l.openPointer() {
		return false
	}
	w := newWalker(l, false)
	w.walk(tip)
	b := w.chain.Boundary
	if w.short || b == nil {
		// Without a boundary only the start of the file proves that a root is the
		// root: it may be the second copy of an entry that was written twice. The
		// summaries that versions 1.0.x wrote without boundary are roots, too.
		return !w.short && len(w.path) > 1 && w.path[0].CompactSummary
	}
	meta, err := b.Boundary()
	if err != nil {
		return true // said by Chain; nothing further back would help
	}
	if s := meta.PreservedSegment; s != nil {
		return l.byUUID[s.HeadUUID] != nil
	}
	if meta.PreservedMessages == nil {
		return true
	}
	for _, id := range meta.PreservedMessages.UUIDs {
		if l.byUUID[id] != nil {
			continue
		}
		if off, ok := meta.Own.KeptOffsets[id]; !ok || !l.fetch(id, off) {
			return false
		}
	}
	return true
}

// openPointer reports whether a pointer behind the last chain entry names an entry
// that was not read yet.
func (l *Log) openPointer() bool {
	last := l.lastChain()
	for i := len(l.Entries) - 1; i > last.seq; i-- {
		if e := l.Entries[i]; e.Type == TypeLastPrompt && e.LeafUUID != "" {
			return l.byUUID[e.LeafUUID] == nil
		}
	}
	return false
}

// fetch reads the single entry that a boundary says stands at off, and accepts it
// only when it is the one with that uuid.
func (l *Log) fetch(uuid string, off int64) bool {
	if off < 0 || off >= l.From || l.src == nil {
		return false
	}
	var line []byte
	for n := int64(16 << 10); ; n *= 4 {
		buf := make([]byte, min(n, l.From-off))
		got, err := l.src.ReadAt(buf, off)
		if err != nil && !errors.Is(err, io.EOF) {
			return false
		}
		if k := bytes.IndexByte(buf[:got], '\n'); k >= 0 {
			line = buf[:k]
			break
		}
		if off+n >= l.From {
			return false
		}
	}
	e, err := Parse(line)
	if err != nil || e.UUID != uuid {
		return false
	}
	e.Offset = off
	l.byUUID[uuid] = e
	return true
}
