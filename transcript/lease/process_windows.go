package lease

import (
	"strconv"
	"syscall"
)

// startIsDate is true: creation times are dates in units of 100 ns, so they
// need no boot identity beside them.
const startIsDate = true

// errInvalidParameter (ERROR_INVALID_PARAMETER) is what OpenProcess says of an
// id that no process has.
const errInvalidParameter = syscall.Errno(87)

// processQueryLimited (PROCESS_QUERY_LIMITED_INFORMATION) is the right that is
// granted most widely.
const processQueryLimited = 0x1000

// stillActive (STILL_ACTIVE) is the exit code of a process that runs.
const stillActive = 259

// processStart returns the creation time of the process pid and whether it
// runs. The time is "" when the process may not be opened.
func processStart(pid int) (start string, alive bool) {
	h, err := syscall.OpenProcess(processQueryLimited, false, uint32(pid))
	if err != nil {
		return "", err != errInvalidParameter
	}
	defer syscall.CloseHandle(h)
	var code uint32
	if err := syscall.GetExitCodeProcess(h, &code); err == nil && code != stillActive {
		return "", false
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return "", true
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), true
}

// bootID is empty: creation times are dates.
func bootID() string { return "" }

// pidSpace is empty: there is one process id namespace.
func pidSpace() string { return "" }
