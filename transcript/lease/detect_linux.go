package lease

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// fuseMagic is FUSE_SUPER_MAGIC, which says nothing about what is behind it.
const fuseMagic = 0x65735546

// sharedMagic lists the file systems that other machines can write to, by the
// f_type of statfs(2): <linux/magic.h> and the sources of the file systems.
var sharedMagic = map[uint32]string{
	0x00006969: "nfs",
	0x0000517b: "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x01021997: "9p",
	0x5346414f: "afs",
	0x6b414653: "kafs",
	0x73757245: "coda",
	0x0000564c: "ncp",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x19830326: "beegfs",
	0xaad7aaea: "panfs",
	0x20030528: "orangefs",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
	0x7c7c6673: "prl_fs",
}

// localFUSE lists FUSE file systems whose backing store is this machine. Any
// other one counts as shared: sshfs, rclone, s3fs, virtiofs and those to come.
var localFUSE = map[string]bool{
	"fuseblk":             true, // a block device, as ntfs-3g mounts it
	"fuse.ntfs-3g":        true,
	"fuse.exfat":          true,
	"fuse.fuse-overlayfs": true, // root file system of rootless containers
	"fuse.gocryptfs":      true,
	"fuse.encfs":          true,
	"fuse.cryfs":          true,
	"fuse.bindfs":         true,
	"fuse.mergerfs":       true,
	"fuse.unionfs":        true,
	"fuse.ext2":           true,
	"fuse.fuse-ext2":      true,
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
	magic := uint32(st.Type) // 32 bits on every architecture; signed on some
	if name, ok := sharedMagic[magic]; ok {
		return FileSystem{Type: name, Shared: true}, nil
	}
	if magic != fuseMagic {
		return FileSystem{Type: fmt.Sprintf("0x%x", magic)}, nil
	}
	name, err := mountType(dir)
	if err != nil {
		return FileSystem{Type: "fuse", Shared: true}, nil // what is behind it is unknown, so the careful answer
	}
	return FileSystem{Type: name, Shared: !localFUSE[name]}, nil
}

// mountType returns the type of the file system that dir lies on, from the
// mount table: the entry with dir's device number, the deepest mount point
// above dir if several have it.
func mountType(dir string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	dev := uint64(st.Dev)
	major := dev>>8&0xfff | dev>>32&^uint64(0xfff) // gnu_dev_major
	minor := dev&0xff | dev>>12&^uint64(0xff)      // gnu_dev_minor
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return findMount(f, fmt.Sprintf("%d:%d", major, minor), dir)
}

// findMount reads a table in the form of proc_pid_mountinfo(5):
// "36 35 98:0 /root /mount/point opts optional… - type source superopts".
func findMount(r io.Reader, device, dir string) (string, error) {
	best, found := -1, ""
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20) // overlay mounts have very long option lists
	for sc.Scan() {
		fields := strings.Fields(sc.Text())
		if len(fields) < 7 || fields[2] != device {
			continue
		}
		point := unescapeMount(fields[4])
		if !within(dir, point) || len(point) < best {
			continue
		}
		for i := 6; i+1 < len(fields); i++ {
			if fields[i] == "-" {
				best, found = len(point), fields[i+1]
				break
			}
		}
	}
	if err := sc.Err(); err != nil {
		return "", fmt.Errorf("mount table: %w", err)
	}
	if found == "" {
		return "", fmt.Errorf("mount table: no entry of device %s for %s", device, dir)
	}
	return found, nil
}

// within reports whether the clean path dir is point or lies below it.
func within(dir, point string) bool {
	return dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
}

// unescapeMount resolves the octal escapes (\040 and the like) of a mount
// table's path.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
