package meta

import (
	"go/ast"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"
)

// TestFuzzSmokeIsComplete: `make test` runs every fuzz target there is. The
// script finds them by text, this test by syntax; they must agree.
func TestFuzzSmokeIsComplete(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("the script needs bash")
	}
	tr := project(t)
	cmd := exec.Command(bash, filepath.Join(tr.root, ".ci", "fuzz"), "--list")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range tr.gos {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() && isFuzzTarget(f) {
				want = append(want, "./"+s.dir()+" "+f.Name.Name)
			}
		}
	}
	sort.Strings(want)
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	sort.Strings(got)
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf(".ci/fuzz --list finds\n%s\nthe source has\n%s", g, w)
	}
	t.Logf("%d fuzz targets", len(want))
}

// isFuzzTarget is what the go command takes for one: Fuzz… with a *testing.F.
func isFuzzTarget(f *ast.FuncDecl) bool {
	if f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") || len(f.Type.Params.List) != 1 {
		return false
	}
	star, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "F"
}
