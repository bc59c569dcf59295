// Gen records the session that `varve replay` shows when it is given none: it
// runs a script over a copy of this repository and writes down what happened, in
// the format of a log. The words are the script's; what tools returned is what
// they returned: files are read and changed, searches and commands run, through
// the few functions of tools.go.
//
// It is run by `go generate ./internal/replay` and is no part of the product. The
// recording does not depend on the clock, on chance, or on where the repository
// lies; it does on the files, and on how long tests take where a command prints it.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "", "file for the recording, compressed")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	dir, err := os.MkdirTemp("", "varve-recording-")
	if err != nil {
		return err
	}
	r, err := record(root, dir)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return err
	}
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(r.log.Bytes()); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%d entries, %d requests, %d bytes, %d compressed\n", r.entries, r.requests, r.log.Len(), buf.Len())
	return os.WriteFile(out, buf.Bytes(), 0o644)
}

// record runs the script over a copy of the repository in dir.
func record(root, dir string) (*recorder, error) {
	if err := copyRepository(root, dir); err != nil {
		return nil, err
	}
	r, err := newRecorder(dir)
	if err != nil {
		return nil, err
	}
	return r, script(r)
}

// copyRepository copies the files that are under version control, but not the
// recording itself.
func copyRepository(root, dir string) error {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("listing the repository: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if strings.HasPrefix(name, "internal/replay/") {
			continue
		}
		if err := copyFile(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close() // the copy failed already
		return err
	}
	return dst.Close()
}
