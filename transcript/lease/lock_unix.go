//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lease

import (
	"errors"
	"os"
	"syscall"
)

// openNoFollow keeps a symbolic link planted at a lock's name from leading the
// holder's text into another file.
const openNoFollow = syscall.O_NOFOLLOW

// lockFile takes the kernel lock on f without waiting. It returns errHeld when
// another open file has it and errNoLocks when this file system has none.
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EINVAL):
			return &noLocksError{err}
		default:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// unlockFile gives the lock back. Closing alone would not do when a child
// process, between fork and exec, still has the file open.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
