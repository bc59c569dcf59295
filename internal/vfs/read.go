package vfs

import (
	"io"
	"os"
)

// Reader is a file that is open for reading at given places, and no more. It may be
// used from several goroutines at once; nothing may be called after Close.
type Reader interface {
	io.ReaderAt
	io.Closer
}

// OpenReader opens a regular file for reading as [FS].OpenFile does. On the system's
// own file system it costs half of that: the file is not prepared for waiting, which
// a regular file has no use for, and it is not closed when it is forgotten, so Close
// must be called. Errors are those of OpenFile and of the methods of [File].
func OpenReader(fsys FS, name string) (Reader, error) {
	if _, ok := fsys.(osFS); ok {
		return openReader(name)
	}
	return openFile(fsys, name)
}

// openFile keeps a nil File from becoming a Reader that is not nil.
func openFile(fsys FS, name string) (Reader, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}
