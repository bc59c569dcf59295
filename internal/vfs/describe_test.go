package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Describe says the same as Lstat of each file, links and missing ones included,
// on the system's file system and on any other.
func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(dir, "l")); err != nil {
		t.Skip("no symbolic links here")
	}
	names := []string{"a", "d", "l", "gone"}
	for _, fsys := range []FS{OS, other{OS}} {
		got, err := Describe(fsys, dir, names)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range names {
			st, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				if !errors.Is(got[i].Err, fs.ErrNotExist) {
					t.Errorf("%T %s: %v", fsys, name, got[i].Err)
				}
				continue
			}
			if got[i].Err != nil || got[i].Size != st.Size() || !got[i].ModTime.Equal(st.ModTime()) || got[i].Mode != st.Mode().Type() || got[i].Inode != inode(st) {
				t.Errorf("%T %s: %+v, want %v", fsys, name, got[i], st)
			}
		}
	}
	if _, err := Describe(OS, filepath.Join(dir, "nowhere"), names); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// other is a file system that Describe does not know.
type other struct{ FS }
