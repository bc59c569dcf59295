//go:build linux || darwin

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func describe(dir string, names []string) ([]Info, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	out := make([]Info, len(names))
	fd := int(d.Fd())
	for i, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		for err == unix.EINTR {
			err = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
		if err != nil {
			out[i].Err = &fs.PathError{Op: "lstat", Path: filepath.Join(dir, name), Err: err}
			continue
		}
		out[i] = Info{Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()), Inode: st.Ino, Mode: modeOf(uint32(st.Mode))}
	}
	runtime.KeepAlive(d)
	return out, d.Close()
}

// modeOf returns the type bits of a mode of the system.
func modeOf(mode uint32) fs.FileMode {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0
	case unix.S_IFDIR:
		return fs.ModeDir
	case unix.S_IFLNK:
		return fs.ModeSymlink
	case unix.S_IFIFO:
		return fs.ModeNamedPipe
	case unix.S_IFSOCK:
		return fs.ModeSocket
	case unix.S_IFBLK:
		return fs.ModeDevice
	case unix.S_IFCHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}

// inode tells a file from another one of the same name.
func inode(st fs.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Ino
	}
	return 0
}
