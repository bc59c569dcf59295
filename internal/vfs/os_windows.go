package vfs

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// A virus scanner or indexer may hold the target open without sharing for a
// moment; ten tries of 10 ms are what other atomic writers use there.
const (
	renameAttempts = 10
	renamePause    = 10 * time.Millisecond
)

// errSharing is ERROR_SHARING_VIOLATION, which package syscall does not name.
const errSharing = syscall.Errno(32)

func rename(oldname, newname string) error {
	var err error
	for range renameAttempts {
		err = os.Rename(oldname, newname)
		if !errors.Is(err, errSharing) && !errors.Is(err, syscall.ERROR_ACCESS_DENIED) {
			return err
		}
		time.Sleep(renamePause)
	}
	return err
}

// syncDir only checks that the directory is there: Windows has no fsync of
// directories, NTFS journals their changes itself.
func syncDir(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &os.PathError{Op: "syncdir", Path: name, Err: syscall.ENOTDIR}
	}
	return nil
}
