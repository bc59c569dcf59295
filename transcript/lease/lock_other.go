//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package lease

import (
	"errors"
	"os"
)

// openNoFollow has no counterpart here.
const openNoFollow = 0

// lockFile always reports that there are no kernel locks, so that the
// heartbeat decides.
func lockFile(*os.File) error { return &noLocksError{errors.ErrUnsupported} }

// unlockFile has nothing to give back.
func unlockFile(*os.File) error { return nil }
