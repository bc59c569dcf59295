//go:build linux || darwin

package vfs

import (
	"errors"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// descriptor is a file that is known to the system alone.
type descriptor struct {
	fd   int
	name string
}

func openReader(name string) (Reader, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			return &descriptor{fd, name}, nil
		}
		if err != unix.EINTR {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

func (d *descriptor) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, &fs.PathError{Op: "readat", Path: d.name, Err: errors.New("negative offset")}
	}
	for n < len(p) {
		k, err := unix.Pread(d.fd, p[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return n, &fs.PathError{Op: "read", Path: d.name, Err: err}
		case k == 0:
			return n, io.EOF
		default:
			n += k
		}
	}
	return n, nil
}

func (d *descriptor) Close() error {
	// An interrupted close has closed the file on both systems: not to be repeated.
	if err := unix.Close(d.fd); err != nil && err != unix.EINTR {
		return &fs.PathError{Op: "close", Path: d.name, Err: err}
	}
	return nil
}
