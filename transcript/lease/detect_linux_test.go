package lease

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Mount tables as proc_pid_mountinfo(5) shows them.
const mounts = `22 28 0:21 / /proc rw,nosuid shared:13 - proc proc rw
28 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 28 0:55 / /home/me/far rw,nosuid,nodev shared:5 master:2 - fuse.sshfs me@host:/srv rw,user_id=1000
41 28 0:56 / /home/me/with\040space rw - fuse.gocryptfs /cipher rw
42 28 0:57 / /mnt/c rw - fuse.virtiofs share rw
43 28 0:57 /sub /mnt/c/deep rw shared:1 shared:2 - fuse.other share rw
44 28 0:58 / /win rw - fuseblk /dev/sdb1 rw
bad line
45 28 0:59 / /short rw -
`

func TestFindMount(t *testing.T) {
	for _, c := range []struct{ device, dir, want string }{
		{"0:55", "/home/me/far", "fuse.sshfs"},
		{"0:55", "/home/me/far/projects/x", "fuse.sshfs"},
		{"0:55", "/home/me/farther", ""}, // another directory of the same prefix
		{"0:56", "/home/me/with space/x", "fuse.gocryptfs"},
		{"0:57", "/mnt/c/x", "fuse.virtiofs"},
		{"0:57", "/mnt/c/deep/x", "fuse.other"}, // the deepest mount of a device
		{"0:58", "/win", "fuseblk"},
		{"0:59", "/short", ""},
		{"254:0", "/anything", "ext4"},
		{"9:9", "/anything", ""},
	} {
		got, err := findMount(strings.NewReader(mounts), c.device, c.dir)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("findMount(%s, %s) = %q, %v; want %q", c.device, c.dir, got, err, c.want)
		}
	}
}

// The real thing: the temporary directory is local, /proc has a type, the
// mount table knows the directory's device.
func TestDetectHere(t *testing.T) {
	dir := t.TempDir()
	got, err := Detect(dir)
	if err != nil || got.Type == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	name, err := mountType(dir)
	if err != nil || name == "" {
		t.Errorf("mount table: %q, %v", name, err)
	}
	if got, err := Detect("/proc"); err != nil || got.Shared || got.Type != "0x9fa0" { // PROC_SUPER_MAGIC
		t.Errorf("/proc: %+v, %v", got, err)
	}
	if _, err := Detect(dir + "/missing"); err == nil {
		t.Error("a missing directory has a file system")
	}
}

func TestParseStat(t *testing.T) {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	state, start, ok := parseStat(raw)
	if n, err := strconv.ParseUint(start, 10, 64); !ok || state == 0 || err != nil || n == 0 {
		t.Errorf("this process: %c %q %v", state, start, ok)
	}
	rest := " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for _, name := range []string{"(sh)", "(a b)", "(x) R 1 (y)", "()", "(\n)"} {
		state, start, ok := parseStat([]byte("12 " + name + rest))
		if state != 'S' || start != "4711" || !ok {
			t.Errorf("%s: %c %q %v", name, state, start, ok)
		}
	}
	for _, bad := range []string{"", "12 (sh", "12 (sh)", "12 (sh) S 1 2 3"} {
		if _, _, ok := parseStat([]byte(bad)); ok {
			t.Errorf("%q counts as a stat line", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"))
	f.Add([]byte(")"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, start, ok := parseStat(raw); ok && start == "" {
			t.Error("a start time without text")
		}
	})
}

func FuzzFindMount(f *testing.F) {
	f.Add(mounts, "0:56", "/home/me/with space")
	f.Add(`1 2 3:4 / /a\1 - - x y`, "3:4", "/a")
	f.Fuzz(func(t *testing.T, table, device, dir string) {
		if got, err := findMount(strings.NewReader(table), device, dir); (got == "") == (err == nil) {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
