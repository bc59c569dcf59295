package lease

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

var (
	procGetDriveType      = kernel32.NewProc("GetDriveTypeW")
	procGetVolumePathName = kernel32.NewProc("GetVolumePathNameW")
)

// driveTypes are the results of GetDriveTypeW, from the Windows SDK.
var driveTypes = [...]string{"unknown", "no root directory", "removable", "fixed", "remote", "cdrom", "ramdisk"}

// driveRemote is DRIVE_REMOTE.
const driveRemote = 4

func detect(dir string) (FileSystem, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return FileSystem{}, err
	}
	if strings.HasPrefix(filepath.VolumeName(abs), `\\`) {
		return FileSystem{Type: "unc", Shared: true}, nil
	}
	name, err := syscall.UTF16PtrFromString(abs)
	if err != nil {
		return FileSystem{}, fmt.Errorf("%s: %w", dir, err)
	}
	// A volume may be mounted at a directory, so the drive letter is not enough.
	root := make([]uint16, len(abs)+syscall.MAX_PATH)
	ok, _, err := procGetVolumePathName.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&root[0])), uintptr(len(root)))
	if ok == 0 {
		return FileSystem{}, fmt.Errorf("GetVolumePathName %s: %w", dir, err)
	}
	kind, _, _ := procGetDriveType.Call(uintptr(unsafe.Pointer(&root[0])))
	if kind >= uintptr(len(driveTypes)) {
		return FileSystem{Type: fmt.Sprintf("drive type %d", kind)}, nil
	}
	return FileSystem{Type: driveTypes[kind], Shared: kind == driveRemote}, nil
}
