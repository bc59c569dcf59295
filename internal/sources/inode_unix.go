//go:build unix

package sources

import (
	"io/fs"
	"syscall"
)

// inode tells a file from another one of the same name; 0 when unknown.
func inode(st fs.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}
