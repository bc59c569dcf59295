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
		j, end := i+1, first.Offset+int64(first.Len)
		for ; j < len(entries); j++ {
			e := entries[j]
			if e.raw != nil || e.Offset < end || e.Offset-end > eachGap || e.Offset+int64(e.Len)-first.Offset > eachStretch {
				break
			}
			end = e.Offset + int64(e.Len)
		}
		if l.src == nil {
			return fmt.Errorf("transcript: entry %s: its log is closed", first.UUID)
		}
		size := int(end - first.Offset)
		if cap(buf) < size {
			buf = make([]byte, max(size, eachStretch))
		}
		if n, err := l.src.ReadAt(buf[:size], first.Offset); n < size {
			return fmt.Errorf("transcript: read at byte %d: %w", first.Offset, err)
		}
		for _, e := range entries[i:j] {
			at := int(e.Offset - first.Offset)
			if err := f(e, buf[at:at+e.Len:at+e.Len]); err != nil {
				return err
			}
		}
		i = j
	}
	return nil
}
