//go:build darwin || freebsd

package lease

import (
	"os"
	"syscall"
)

// mntLocal is MNT_LOCAL of <sys/mount.h>, the same number on macOS and
// FreeBSD: the file system is stored locally.
const mntLocal = 0x1000

// sharedNames lists file systems that are shared although some of their
// drivers set the local flag: they run in user space.
var sharedNames = map[string]bool{
	"nfs": true, "smbfs": true, "afpfs": true, "webdav": true, "ftp": true,
	"macfuse": true, "osxfuse": true, "fusefs": true, "fusefs.sshfs": true, "p9fs": true, "virtiofs": true,
}

func detect(dir string) (FileSystem, error) {
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(dir, &st)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return FileSystem{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
		}
		break
	}
	name := make([]byte, 0, len(st.Fstypename))
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	fs := FileSystem{Type: string(name)}
	fs.Shared = uint64(st.Flags)&mntLocal == 0 || sharedNames[fs.Type]
	return fs, nil
}
