package transcript

import "io"

// Rest lets go of the bytes of e that are in memory, and of what was decoded of them:
// from here on they are read from src, where they stand at byte off. That they stand
// there, as long as the entry is used, is the caller's promise; all entries of a log
// that are not in memory stand in the same src. It is for entries of a long session
// that nothing asks for any more, where memory counts; what was returned of them
// before stays as it is.
func (e *Entry) Rest(src io.ReaderAt, off int64) {
	e.Forget()
	e.raw, e.src, e.Offset = nil, src, off
}
