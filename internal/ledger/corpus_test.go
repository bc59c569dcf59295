package ledger_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/transcript"
)

// corpus returns the recorded sessions beside the project. Tests that need them
// are skipped with a message where the folder is absent.
func corpus(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
	root := filepath.Join(dir, "..", "shared", "data", "claude")
	var files []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		t.Skip("no recorded sessions at ../shared/data/claude")
	}
	return files
}

// name is a file's path as short as a subtest's name should be.
func name(path string) string {
	_, s, _ := strings.Cut(filepath.ToSlash(path), "data/claude/")
	return s
}

// whole reads a log with every body in memory. Logs are read once for all tests: they
// are only looked at.
func whole(t testing.TB, path string) *transcript.Log {
	t.Helper()
	if l := read[path]; l != nil {
		return l
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := transcript.Read(t.Context(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{InMemory: int64(len(data)) + 1})
	if err != nil {
		t.Fatal(err)
	}
	read[path] = l
	return l
}

var read = map[string]*transcript.Log{}
