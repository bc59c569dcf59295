package transcript

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
)

// minPart is the least that is worth a goroutine of its own: some milliseconds of
// scanning.
const minPart = 4 << 20

// parts is how many parts of a log of size bytes are scanned at the same time.
func (o ReadOptions) parts(size int64) int {
	if o.Parts > 0 {
		return o.Parts
	}
	return int(min(int64(runtime.GOMAXPROCS(0)), size/minPart))
}

// part is one stretch of whole lines of a log.
type part struct {
	lineReader
	from, to int64
	lines    int
	torn     bool
	err      error
}

// readParts scans the lines of src[from:to] in n stretches of whole lines at the
// same time and joins what they hold, as one pass would have found it; lines have
// numbers, from 1 on, if numbered says so. It returns nil where that cannot be had this way: a record
// that is cut by the end of a stretch may go on behind it.
func readParts(ctx context.Context, src io.ReaderAt, from, to int64, n int, numbered bool) (r *lineReader, torn bool, err error) {
	parts, err := cutParts(ctx, src, from, to, n)
	if err != nil {
		return nil, false, err
	}
	var wg sync.WaitGroup
	for _, p := range parts {
		p.src = src
		wg.Go(func() {
			p.err = eachLine(ctx, src, p.from, p.to, func(line []byte, off int64, how lineKind) {
				if numbered {
					p.lines++
				}
				p.line(line, off, p.lines, how)
				p.torn = how&ended == 0
			})
		})
	}
	wg.Wait()
	all, before := &lineReader{src: src}, 0
	for i, p := range parts {
		if p.err != nil {
			err = errors.Join(err, p.err)
		}
		if p.pending != nil && i < len(parts)-1 {
			return nil, false, err
		}
		all.join(&p.lineReader, before)
		before += p.lines
		torn = p.torn
		all.pending = p.pending
	}
	return all, torn, err
}

// cutParts cuts src[from:to] into at most n stretches of about the same size.
func cutParts(ctx context.Context, src io.ReaderAt, from, to int64, n int) ([]*part, error) {
	parts := []*part{{from: from, to: to}}
	for k := 1; k < n; k++ {
		at, err := lineStart(ctx, src, max(from+(to-from)*int64(k)/int64(n), from+1), to)
		if err != nil {
			return nil, err
		}
		if last := parts[len(parts)-1]; at > last.from && at < to {
			last.to = at
			parts = append(parts, &part{from: at, to: to})
		}
	}
	return parts, nil
}

// join appends what p read behind the given number of lines.
func (r *lineReader) join(p *lineReader, before int) {
	if before > 0 {
		for _, e := range p.entries {
			e.Line += before
		}
	}
	for _, f := range p.faults {
		f.Line += before
		// Said once, at the first such line.
		if f.Kind == FaultCRLF && r.crlf > 0 || f.Kind == FaultBlank && r.blank > 0 {
			continue
		}
		r.faults = append(r.faults, f)
	}
	r.entries = append(r.entries, p.entries...)
	r.crlf += p.crlf
	r.blank += p.blank
}
