package lease

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// startIsDate is false: /proc counts start times from boot, in clock ticks.
const startIsDate = false

// processStart returns the start time of the process pid and whether it runs.
// The time is "" when the process exists but may not be looked at. A zombie
// does not run: its files and locks are closed.
func processStart(pid int) (start string, alive bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// Under hidepid other users' processes have no directory, yet exist.
		return "", syscall.Kill(pid, 0) != syscall.ESRCH
	}
	state, start, ok := parseStat(raw)
	if !ok {
		return "", true
	}
	return start, state != 'Z' && state != 'X'
}

// parseStat takes the state and the start time (fields 3 and 22 of proc(5))
// from the text of /proc/<pid>/stat. Field 2 is the command name in
// parentheses and may itself hold spaces and parentheses, so counting begins
// after the last one.
func parseStat(raw []byte) (state byte, start string, ok bool) {
	i := bytes.LastIndexByte(raw, ')')
	if i < 0 {
		return 0, "", false
	}
	fields := strings.Fields(string(raw[i+1:]))
	const stateField, startField = 0, 22 - 3 // fields counts from field 3
	if len(fields) <= startField || len(fields[stateField]) != 1 {
		return 0, "", false
	}
	return fields[stateField][0], fields[startField], true
}

// bootID returns the kernel's random identity of this boot. Containers on one
// machine share it.
func bootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// pidSpace names the process id namespace: in another one the same id is
// another process.
func pidSpace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}
