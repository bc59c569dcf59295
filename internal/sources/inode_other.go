//go:build !unix

package sources

import "io/fs"

// inode is unknown here; path, size and time must do.
func inode(fs.FileInfo) uint64 { return 0 }
