package vfs_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
	"varve.dev/internal/vfs/vfstest"
)

func TestConformance(t *testing.T) {
	t.Run("os", func(t *testing.T) { vfstest.Run(t, vfs.OS, t.TempDir()) })
	t.Run("crashfs", func(t *testing.T) {
		f := crashfs.New()
		if err := f.MkdirAll("/tmp", 0o700); err != nil {
			t.Fatal(err)
		}
		vfstest.Run(t, f, "/tmp")
	})
}

// G-8, DESIGN decision 9: whatever fails or loses power in the middle of
// WriteFile, the name holds the old bytes or the new ones, never a mixture and
// never nothing; after success only the new ones.
func TestWriteFileFaultsAndCrashes(t *testing.T) {
	const name = "/home/state.json"
	ops := []crashfs.Op{"", crashfs.OpOpen, crashfs.OpWrite, crashfs.OpSync, crashfs.OpRename, crashfs.OpSyncDir}
	errs := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}
	for _, op := range ops {
		for _, fault := range errs {
			f := crashfs.New()
			if err := f.MkdirAll("/home", 0o700); err != nil {
				t.Fatal(err)
			}
			if err := vfs.SyncTree(f, "/home"); err != nil {
				t.Fatal(err)
			}
			if err := vfs.WriteFile(f, name, []byte("old old old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if op != "" {
				f.Inject(crashfs.Fault{Op: op, Err: fault, Short: 2})
			}
			err := vfs.WriteFile(f, name, []byte("new"), 0o600)
			if (err != nil) != (op != "") || (op != "" && !errors.Is(err, fault)) {
				t.Fatalf("%s %v: error %v", op, fault, err)
			}
			if errors.Is(err, vfs.ErrNotDurable) != (op == crashfs.OpSyncDir) {
				t.Errorf("%s: ErrNotDurable in %v", op, err)
			}
			list, lerr := f.ReadDir("/home")
			if lerr != nil || len(list) != 1 {
				t.Errorf("%s: left behind %v, %v", op, list, lerr)
			}
			for seed := range uint64(30) {
				for mode := crashfs.Strict; mode <= crashfs.Scatter; mode++ {
					got, rerr := vfs.ReadFile(f.Crash(crashfs.Options{Mode: mode, Seed: seed}), name)
					ok := string(got) == "new" || op != "" && string(got) == "old old old"
					if rerr != nil || !ok {
						t.Fatalf("%s %v, crash %v/%d: %q, %v", op, fault, mode, seed, got, rerr)
					}
				}
			}
		}
	}
}

// A power loss in the middle of WriteFile, before its directory sync.
func TestWriteFileCrashMidway(t *testing.T) {
	f := crashfs.New()
	if err := f.MkdirAll("/d", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(f, "/d/x", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Inject(crashfs.Fault{Op: crashfs.OpSyncDir, Err: syscall.EIO})
	if err := vfs.WriteFile(f, "/d/x", []byte("new"), 0o600); err == nil {
		t.Fatal("no error")
	}
	seen := map[string]bool{}
	for seed := range uint64(64) {
		got, err := vfs.ReadFile(f.Crash(crashfs.Options{Mode: crashfs.Scatter, Seed: seed}), "/d/x")
		if err != nil {
			t.Fatal(err)
		}
		seen[string(got)] = true
	}
	if len(seen) != 2 || !seen["old"] || !seen["new"] {
		t.Errorf("states after a crash: %v, want old and new", seen)
	}
}

func TestWriteFileTempNamesAreHidden(t *testing.T) {
	f := crashfs.New()
	f.Inject(crashfs.Fault{Op: crashfs.OpRename, Err: syscall.EIO})
	f.Inject(crashfs.Fault{Op: crashfs.OpRemove, Err: syscall.EIO})
	err := vfs.WriteFile(f, "/session.jsonl", nil, 0o600)
	if err == nil || strings.Count(err.Error(), "input/output") != 2 {
		t.Errorf("error %v does not tell that the temporary file is still there", err)
	}
	list, err := f.ReadDir("/")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if n := list[0].Name(); !strings.HasPrefix(n, ".session.jsonl.") || filepath.Ext(n) != ".tmp" {
		t.Errorf("temporary name %q could be taken for a session", n)
	}
}

func TestSyncTree(t *testing.T) {
	f := crashfs.New()
	if err := f.MkdirAll("/a/b/c", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Crash(crashfs.Options{}).Stat("/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("unsynced directory survived: %v", err)
	}
	f.Inject(crashfs.Fault{Op: crashfs.OpSyncDir, Path: "/a", Err: fs.ErrPermission})
	if err := vfs.SyncTree(f, "/a/b/c"); err != nil {
		t.Fatalf("an ancestor of somebody else's: %v", err)
	}
	if err := vfs.SyncTree(f, "/a/b/c"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Crash(crashfs.Options{}).Stat("/a/b/c"); err != nil {
		t.Errorf("synced directory lost: %v", err)
	}
	f.Inject(crashfs.Fault{Op: crashfs.OpSyncDir, Path: "/a/b/c", Err: fs.ErrPermission})
	if err := vfs.SyncTree(f, "/a/b/c"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the directory itself failed: %v", err)
	}
}
