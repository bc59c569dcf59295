package lease

// FileSystem describes the file system a log lies on.
type FileSystem struct {
	Type string // as the system names it: "ext4", "nfs", "fuse.sshfs"; "" when unknown
	// Shared is true when other machines may have the same files open, or the
	// system cannot tell. The kernel's locks may then not reach all of them.
	Shared bool
}

// Detect finds out on which kind of file system the existing directory dir
// lies: by the type of statfs on Linux (for FUSE by the mount table), by the
// local flag of the mount on macOS and FreeBSD, by the drive type on Windows.
// Elsewhere every file system counts as local.
func Detect(dir string) (FileSystem, error) { return detect(dir) }
