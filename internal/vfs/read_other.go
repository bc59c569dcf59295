//go:build !linux && !darwin

package vfs

// What OpenFile does beyond opening is specific to Unix.
func openReader(name string) (Reader, error) { return openFile(OS, name) }
