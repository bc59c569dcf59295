package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// OpenReader reads what a File reads, at every place, and fails as it fails, on the
// system's file system and on any other (T-9).
func TestOpenReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	for _, fsys := range []FS{OS, other{OS}} {
		r, err := OpenReader(fsys, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, off := range []int64{-1, 0, 3, 9, 10, 11} {
			for _, n := range []int{0, 1, 4, 20} {
				a, b := make([]byte, n), make([]byte, n)
				gotN, gotErr := r.ReadAt(a, off)
				wantN, wantErr := want.ReadAt(b, off)
				if gotN != wantN || string(a) != string(b) || (gotErr == io.EOF) != (wantErr == io.EOF) || (gotErr == nil) != (wantErr == nil) {
					t.Errorf("%T: %d bytes at %d: %d %q %v, want %d %q %v", fsys, n, off, gotN, a, gotErr, wantN, b, wantErr)
				}
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.ReadAt(make([]byte, 1), 0); err == nil {
			t.Errorf("%T: a closed file was read", fsys)
		}
		var pe *fs.PathError
		if r, err := OpenReader(fsys, path+"-gone"); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &pe) || r != nil {
			t.Errorf("%T: a file that is not there: %v %v", fsys, r, err)
		}
	}
}
