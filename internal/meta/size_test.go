package meta

import (
	"bytes"
	"fmt"
	"go/ast"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// The limits of the house. The median function everywhere is about ten lines;
// quality shows in the tail.
const (
	maxFile     = 800 // lines, tests included
	maxFunction = 100 // lines, tests apart: a table of cases is long and reads well
)

// TestSizes fails on files and functions beyond the limits and reports the
// distribution (go test -v).
func TestSizes(t *testing.T) {
	var files, funcs []int
	type long struct {
		name  string
		lines int
	}
	var longest []long
	for _, s := range project(t).gos {
		n := bytes.Count(s.text, []byte("\n"))
		if n > maxFile {
			t.Errorf("%s has %d lines, more than %d: split it by noun", s.path, n, maxFile)
		}
		if s.isTest() {
			continue
		}
		files = append(files, n)
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			from, to := s.fset.Position(f.Pos()), s.fset.Position(f.End())
			n := to.Line - from.Line + 1
			funcs = append(funcs, n)
			longest = append(longest, long{fmt.Sprintf("%s %s", from, f.Name.Name), n})
			if n > maxFunction {
				t.Errorf("%s: %s has %d lines, more than %d", from, f.Name.Name, n, maxFunction)
			}
		}
	}
	sort.Slice(longest, func(i, j int) bool { return longest[i].lines > longest[j].lines })
	t.Logf("files: %s; functions: %s", quantiles(files), quantiles(funcs))
	for _, l := range longest[:min(10, len(longest))] {
		t.Logf("%4d lines  %s", l.lines, l.name)
	}
}

// quantiles writes count, median, 90th percentile and maximum.
func quantiles(n []int) string {
	if len(n) == 0 {
		return "none"
	}
	sort.Ints(n)
	return fmt.Sprintf("%d, median %d, p90 %d, max %d", len(n), n[len(n)/2], n[len(n)*9/10], n[len(n)-1])
}

// TestFormatted is gofmt, so that `go test` alone says so.
func TestFormatted(t *testing.T) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-l"}
	for _, s := range project(t).gos {
		args = append(args, s.path)
	}
	cmd := exec.Command(filepath.Join(strings.TrimSpace(string(out)), "bin", "gofmt"), args...)
	cmd.Dir = project(t).root
	out, err = cmd.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("not formatted, run gofmt -w on: %v\n%s", err, out)
	}
}

// TestFileNames: files and packages are named after what they hold. A drawer
// for the rest is where structure goes to die.
func TestFileNames(t *testing.T) {
	for _, s := range project(t).gos {
		if s.isTest() {
			continue // a test may keep what several tests share
		}
		for _, part := range strings.Split(strings.TrimSuffix(s.path, ".go"), "/") {
			switch strings.TrimSuffix(part, "_test") {
			case "util", "utils", "helper", "helpers", "common", "misc", "manager", "base", "shared":
				t.Errorf("%s: %q names no thing; name it after the noun it holds", s.path, part)
			}
		}
	}
}
