package transcript

import "fmt"

// Gaps between neighbours that are read over rather than read around, and the
// longest stretch that is read for several entries at once: it should stay in the
// processor's cache until it was looked at.
const (
	eachGap     = 4 << 10
	eachStretch = 256 << 10
)

// Each calls f with the bytes of each of the entries, without their newline, in the
// order given, until f returns an error, which is returned. What lies on disk is
// read in stretches of neighbours, into memory that the next stretch takes: f must
// not keep raw, nor change it. Nothing of the log is changed either, so that several
// goroutines may each go through entries of their own.
func (l *Log) Each(entries []*Entry, f func(e *Entry, raw []byte) error) error {
	var buf []byte
	for i := 0; i < len(entries); {
		first := entries[i]
		if first.raw != nil {
			if err := f(first, first.raw); err != nil {
				return err
			}
			i++
			continue
		}
		n, size := stretch(entries[i:])
		if first.src == nil {
			return fmt.Errorf("transcript: entry %s: its log is closed", first.UUID)
		}
		if cap(buf) < size {
			buf = make([]byte, max(size, eachStretch))
		}
		if k, err := first.src.ReadAt(buf[:size], first.Offset); k < size {
			return fmt.Errorf("transcript: read at byte %d: %w", first.Offset, err)
		}
		for _, e := range entries[i : i+n] {
			at := int(e.Offset - first.Offset)
			if err := f(e, buf[at:at+e.Len:at+e.Len]); err != nil {
				return err
			}
		}
		i += n
	}
	return nil
}

// stretch returns how many entries from the first one on, which is on disk, are read
// at once, and how many bytes of the file these are.
func stretch(entries []*Entry) (n, size int) {
	first := entries[0]
	end := first.Offset + int64(first.Len)
	for n = 1; n < len(entries); n++ {
		e := entries[n]
		if e.raw != nil || e.src != first.src || e.Offset < end || e.Offset-end > eachGap || e.Offset+int64(e.Len)-first.Offset > eachStretch {
			break
		}
		end = e.Offset + int64(e.Len)
	}
	return n, int(end - first.Offset)
}
