package lease

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// openNoFollow has no counterpart here; creating symbolic links needs a
// privilege on Windows.
const openNoFollow = 0

// The standard library keeps LockFileEx to itself.
var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	procLockFileEx   = kernel32.NewProc("LockFileEx")
	procUnlockFileEx = kernel32.NewProc("UnlockFileEx")
)

// Flags and error codes of LockFileEx, from the Windows SDK.
const (
	lockExclusive      = 0x2 // LOCKFILE_EXCLUSIVE_LOCK
	lockNow            = 0x1 // LOCKFILE_FAIL_IMMEDIATELY
	errInvalidFunction = syscall.Errno(1)
	errLockViolation   = syscall.Errno(33)
	errNotSupported    = syscall.Errno(50)
	errIOPending       = syscall.Errno(997)
)

// lockedByte is the high half of the offset of the one byte that is locked. It
// lies far behind the content, because a locked range cannot be read by others
// and the holder's text must be.
const lockedByte = 0x7fffffff

// lockFile takes the kernel lock on f without waiting. It returns errHeld when
// another handle has it and errNoLocks when this file system has none.
func lockFile(f *os.File) error {
	at := syscall.Overlapped{OffsetHigh: lockedByte}
	ok, _, err := procLockFileEx.Call(f.Fd(), lockExclusive|lockNow, 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errLockViolation), errors.Is(err, errIOPending):
		return errHeld
	case errors.Is(err, errInvalidFunction), errors.Is(err, errNotSupported):
		return &noLocksError{err}
	default:
		return &os.PathError{Op: "LockFileEx", Path: f.Name(), Err: err}
	}
}

// unlockFile gives the lock back.
func unlockFile(f *os.File) error {
	at := syscall.Overlapped{OffsetHigh: lockedByte}
	ok, _, err := procUnlockFileEx.Call(f.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(&at)))
	if ok != 0 {
		return nil
	}
	return &os.PathError{Op: "UnlockFileEx", Path: f.Name(), Err: err}
}
