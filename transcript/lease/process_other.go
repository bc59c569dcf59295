//go:build !linux && !darwin && !windows

package lease

// startIsDate is false: no start time is known here.
const startIsDate = false

// processStart knows nothing of other processes on this system, so a holder is
// judged Unknown.
func processStart(int) (start string, alive bool) { return "", true }

// bootID is empty: not known on this system.
func bootID() string { return "" }

// pidSpace is empty: not known on this system.
func pidSpace() string { return "" }
