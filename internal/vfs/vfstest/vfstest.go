// Package vfstest is the conformance suite of vfs.FS: what the durable parts
// of Varve rely on, checked the same way on the real file system and on its
// twins. It is linked by tests only; call [Run].
package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
)

// Run checks one implementation. dir is an existing directory of fsys in which
// the suite may make a folder of its own per check.
func Run(t *testing.T, fsys vfs.FS, dir string) {
	checks := []struct {
		name string
		run  func(t *testing.T, fsys vfs.FS, dir string)
	}{
		{"open flags", openFlags},
		{"append", appends},
		{"offsets", offsets},
		{"truncate", truncates},
		{"rename", renames},
		{"identity", identity},
		{"directories", directories},
		{"errors", errorKinds},
		{"whole files", wholeFiles},
		{"concurrent appends", concurrentAppends},
	}
	for i, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			own := filepath.Join(dir, fmt.Sprint("check", i))
			must(t, fsys.MkdirAll(own, 0o700))
			c.run(t, fsys, own)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}

func wantFile(t *testing.T, fsys vfs.FS, name, want string) {
	t.Helper()
	got, err := vfs.ReadFile(fsys, name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(name), got, err, want)
	}
}

// put writes a file with the given extra flags.
func put(t *testing.T, fsys vfs.FS, name, data string, flag int) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	must(t, err)
	n, err := f.Write([]byte(data))
	if err != nil || n != len(data) {
		t.Fatalf("Write = %d, %v", n, err)
	}
	must(t, f.Sync())
	must(t, f.Close())
}

func openFlags(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "a")
	_, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	wantErr(t, err, fs.ErrNotExist)
	put(t, fsys, name, "hello", os.O_EXCL)
	_, err = fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	wantErr(t, err, fs.ErrExist)
	put(t, fsys, name, "HE", 0)
	wantFile(t, fsys, name, "HEllo")
	put(t, fsys, name, "new", os.O_TRUNC)
	wantFile(t, fsys, name, "new")

	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	must(t, err)
	if f.Name() != name {
		t.Errorf("Name = %q, want %q", f.Name(), name)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("writing to a read-only handle succeeded")
	}
	must(t, f.Close())
	wantErr(t, f.Close(), fs.ErrClosed)
	_, err = f.Read(make([]byte, 1))
	wantErr(t, err, fs.ErrClosed)
	wantErr(t, f.Sync(), fs.ErrClosed)

	info, err := fsys.Stat(name)
	must(t, err)
	if info.Size() != 3 || info.IsDir() || info.Name() != "a" {
		t.Errorf("Stat = %v %v %v", info.Name(), info.Size(), info.Mode())
	}
	if got := info.Mode().Perm(); runtime.GOOS != "windows" && got != 0o600 {
		t.Errorf("mode = %o, want 600", got)
	}
}

func appends(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "log")
	a, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	must(t, err)
	b, err := fsys.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	for _, step := range []struct {
		f vfs.File
		s string
	}{{a, "1\n"}, {b, "2\n"}, {a, "3\n"}} {
		_, err := step.f.Write([]byte(step.s))
		must(t, err)
	}
	wantFile(t, fsys, name, "1\n2\n3\n")
	got := make([]byte, 2)
	if n, err := a.ReadAt(got, 2); n != 2 || err != nil || string(got) != "2\n" {
		t.Errorf("ReadAt = %q, %d, %v", got, n, err)
	}
	must(t, a.Close())
	must(t, b.Close())
}

func offsets(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "f")
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	if n, err := f.Read(make([]byte, 4)); n != 0 || err != io.EOF {
		t.Errorf("Read of an empty file = %d, %v", n, err)
	}
	at, err := f.Seek(5, io.SeekStart)
	if at != 5 || err != nil {
		t.Errorf("Seek = %d, %v", at, err)
	}
	_, err = f.Write([]byte("xyz"))
	must(t, err)
	wantFile(t, fsys, name, "\x00\x00\x00\x00\x00xyz")
	if at, err = f.Seek(-2, io.SeekEnd); at != 6 || err != nil {
		t.Errorf("Seek from the end = %d, %v", at, err)
	}
	if at, err = f.Seek(1, io.SeekCurrent); at != 7 || err != nil {
		t.Errorf("Seek from here = %d, %v", at, err)
	}
	got, err := io.ReadAll(f)
	if string(got) != "z" || err != nil {
		t.Errorf("rest = %q, %v", got, err)
	}
	if n, err := f.ReadAt(make([]byte, 4), 6); n != 2 || err != io.EOF {
		t.Errorf("ReadAt over the end = %d, %v, want 2, EOF", n, err)
	}
	if n, err := f.ReadAt(make([]byte, 4), 100); n != 0 || err != io.EOF {
		t.Errorf("ReadAt behind the end = %d, %v, want 0, EOF", n, err)
	}
	if _, err := f.Seek(-1, io.SeekStart); err == nil {
		t.Error("Seek before the start succeeded")
	}
}

func truncates(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "f")
	put(t, fsys, name, "0123456789", 0)
	f, err := fsys.OpenFile(name, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, f.Truncate(4))
	wantFile(t, fsys, name, "0123")
	must(t, f.Truncate(6))
	wantFile(t, fsys, name, "0123\x00\x00")
	info, err := f.Stat()
	if err != nil || info.Size() != 6 {
		t.Errorf("Stat = %v, %v", info, err)
	}
	if err := f.Truncate(-1); err == nil {
		t.Error("a negative size was accepted")
	}
}

func renames(t *testing.T, fsys vfs.FS, dir string) {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, fsys, a, "A", 0)
	put(t, fsys, b, "B", 0)
	must(t, fsys.Rename(a, b))
	wantFile(t, fsys, b, "A")
	_, err := fsys.Stat(a)
	wantErr(t, err, fs.ErrNotExist)
	wantErr(t, fsys.Rename(a, b), fs.ErrNotExist)
	must(t, fsys.MkdirAll(filepath.Join(dir, "d"), 0o700))
	must(t, fsys.Rename(b, filepath.Join(dir, "d", "c")))
	wantFile(t, fsys, filepath.Join(dir, "d", "c"), "A")
	must(t, fsys.SyncDir(dir))
	must(t, fsys.SyncDir(filepath.Join(dir, "d")))
}

func identity(t *testing.T, fsys vfs.FS, dir string) {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, fsys, a, "same", 0)
	f, err := fsys.OpenFile(a, os.O_RDONLY, 0)
	must(t, err)
	before, err := f.Stat()
	must(t, err)
	must(t, f.Close())
	must(t, fsys.Rename(a, b))
	put(t, fsys, a, "same", 0)
	moved, err := fsys.Stat(b)
	must(t, err)
	other, err := fsys.Lstat(a)
	must(t, err)
	if !vfs.SameFile(before, moved) || vfs.SameFile(before, other) || vfs.SameFile(nil, other) || vfs.SameFile(other, nil) {
		t.Error("SameFile does not follow the inode")
	}
}

func directories(t *testing.T, fsys vfs.FS, dir string) {
	deep := filepath.Join(dir, "x", "y")
	must(t, fsys.MkdirAll(deep, 0o700))
	must(t, fsys.MkdirAll(deep, 0o700))
	must(t, vfs.SyncTree(fsys, deep))
	put(t, fsys, filepath.Join(deep, "b"), "", 0)
	put(t, fsys, filepath.Join(deep, "a"), "", 0)
	list, err := fsys.ReadDir(deep)
	if err != nil || len(list) != 2 || list[0].Name() != "a" || list[1].Name() != "b" || list[0].IsDir() {
		t.Errorf("ReadDir = %v, %v", list, err)
	}
	if err := fsys.Remove(deep); err == nil {
		t.Error("a directory with files was removed")
	}
	must(t, fsys.Remove(filepath.Join(deep, "a")))
	must(t, fsys.Remove(filepath.Join(deep, "b")))
	must(t, fsys.Remove(deep))
	wantErr(t, fsys.Remove(deep), fs.ErrNotExist)
	info, err := fsys.Stat(filepath.Join(dir, "x"))
	if err != nil || !info.IsDir() {
		t.Errorf("Stat = %v, %v", info, err)
	}
	if got := info.Mode().Perm(); runtime.GOOS != "windows" && got != 0o700 {
		t.Errorf("mode = %o, want 700", got)
	}
}

func errorKinds(t *testing.T, fsys vfs.FS, dir string) {
	missing := filepath.Join(dir, "no", "where")
	_, err := fsys.OpenFile(missing, os.O_WRONLY|os.O_CREATE, 0o600)
	wantErr(t, err, fs.ErrNotExist)
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Path != missing {
		t.Errorf("error %#v names no path", err)
	}
	_, err = fsys.Lstat(missing)
	wantErr(t, err, fs.ErrNotExist)
	_, err = fsys.ReadDir(missing)
	wantErr(t, err, fs.ErrNotExist)
	wantErr(t, fsys.SyncDir(missing), fs.ErrNotExist)
	if err := vfs.SyncTree(fsys, missing); err == nil {
		t.Error("SyncTree of nothing succeeded")
	}
	put(t, fsys, filepath.Join(dir, "file"), "", 0)
	if runtime.GOOS != "windows" { // Windows has its own numbers for these
		err = fsys.MkdirAll(filepath.Join(dir, "file", "sub"), 0o700)
		wantErr(t, err, syscall.ENOTDIR)
		_, err = fsys.OpenFile(dir, os.O_RDWR, 0)
		wantErr(t, err, syscall.EISDIR)
	}
}

func wholeFiles(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "state.json")
	for _, want := range [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("x"), 100_000)} {
		must(t, vfs.WriteFile(fsys, name, want, 0o600))
		got, err := vfs.ReadFile(fsys, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v; wrote %d", len(got), err, len(want))
		}
	}
	long := filepath.Join(dir, string(bytes.Repeat([]byte("n"), 250)))
	must(t, vfs.WriteFile(fsys, long, []byte("long name"), 0o600))
	wantFile(t, fsys, long, "long name")
	list, err := fsys.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("left behind: %v, %v", list, err)
	}
	wantErr(t, vfs.WriteFile(fsys, filepath.Join(dir, "no", "x"), nil, 0o600), fs.ErrNotExist)
	_, err = vfs.ReadFile(fsys, filepath.Join(dir, "absent"))
	wantErr(t, err, fs.ErrNotExist)
}

func concurrentAppends(t *testing.T, fsys vfs.FS, dir string) {
	name := filepath.Join(dir, "log")
	put(t, fsys, name, "", 0)
	const writers, lines = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for range lines {
				if _, err := fmt.Fprintf(f, "%s\n", bytes.Repeat([]byte{byte('a' + w)}, 100)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	data, err := vfs.ReadFile(fsys, name)
	must(t, err)
	got := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	if len(got) != writers*lines {
		t.Fatalf("%d lines, want %d", len(got), writers*lines)
	}
	for _, line := range got {
		if len(line) != 100 || len(bytes.Trim(line, string(line[:1]))) != 0 {
			t.Fatalf("mixed line %q", line)
		}
	}
}
