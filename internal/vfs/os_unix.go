//go:build !windows

package vfs

import (
	"errors"
	"os"
	"syscall"
)

func rename(oldname, newname string) error { return os.Rename(oldname, newname) }

// syncDir fsyncs a directory. EINVAL and ENOTSUP come from file systems that
// cannot sync directories (CIFS, some FUSE ones): there is nothing to wait
// for, and failing would make every write there fail.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
