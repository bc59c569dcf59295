package term

import (
	"os"
	"syscall"
	"unsafe"
)

var getConsoleScreenBufferInfo = syscall.NewLazyDLL("kernel32.dll").NewProc("GetConsoleScreenBufferInfo")

// size asks the console. A handle that can be read only (standard input) has a
// mode but no size.
func size(f *os.File) (columns, rows int, ok bool) {
	if f == nil {
		return 0, 0, false
	}
	handle := syscall.Handle(f.Fd())
	var mode uint32
	if syscall.GetConsoleMode(handle, &mode) != nil {
		return 0, 0, false
	}
	// CONSOLE_SCREEN_BUFFER_INFO
	var info struct {
		width, height, cursorX, cursorY int16
		attributes                      uint16
		left, top, right, bottom        int16
		maxWidth, maxHeight             int16
	}
	if r, _, _ := getConsoleScreenBufferInfo.Call(uintptr(handle), uintptr(unsafe.Pointer(&info))); r == 0 {
		return 0, 0, true
	}
	return int(info.right-info.left) + 1, int(info.bottom-info.top) + 1, true
}
