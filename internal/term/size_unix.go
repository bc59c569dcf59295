//go:build linux || darwin || freebsd || netbsd || dragonfly

package term

import (
	"os"
	"syscall"
	"unsafe"
)

// size asks the kernel, which answers for terminals only.
func size(f *os.File) (columns, rows int, ok bool) {
	if f == nil {
		return 0, 0, false
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var ws struct{ rows, columns, x, y uint16 }
	var errno syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&ws)))
	})
	if err != nil || errno != 0 {
		return 0, 0, false
	}
	return int(ws.columns), int(ws.rows), true
}
