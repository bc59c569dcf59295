package lease

import "syscall"

// startIsDate is false: no start time is known here, see processStart.
const startIsDate = false

// processStart reports whether pid exists. Its start time would need the
// kinfo_proc structure, which the standard library does not offer; without it a
// living id is judged Unknown, never Running.
func processStart(pid int) (start string, alive bool) {
	return "", syscall.Kill(pid, 0) != syscall.ESRCH
}

// bootID returns the kernel's identity of this boot.
func bootID() string {
	id, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// pidSpace is empty: there is one process id namespace.
func pidSpace() string { return "" }
