package meta

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// module is the import path of the project's module.
const module = "varve.dev"

// A source is one Go file of the project, parsed with its comments.
type source struct {
	path string // relative to the root, with slashes
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// dir is the folder of the file relative to the root; "." for the root itself.
func (s source) dir() string { return path.Dir(s.path) }

// A tree is the project as it lies on disk. Build constraints are ignored on
// purpose: a rule that holds on Linux only is not a rule.
type tree struct {
	root  string
	files []string          // every file, relative, with slashes, sorted
	texts map[string][]byte // the ones that are valid UTF-8 text
	gos   []source          // all Go files of the main module outside testdata
}

// loadTree reads the project once for all tests.
var loadTree = sync.OnceValues(func() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, texts: map[string][]byte{}}
	t.files, err = listFiles(root)
	if err != nil {
		return nil, err
	}
	for _, name := range t.files {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		if utf8.Valid(data) && !bytes.ContainsRune(data, 0) {
			t.texts[name] = data
		}
		if strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/") && !t.nested(path.Dir(name)) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, data, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			t.gos = append(t.gos, source{name, data, f, fset})
		}
	}
	return t, nil
})

// nested tells whether a folder belongs to another module inside this one: a
// tool with requirements that no importer should see.
func (t *tree) nested(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(t.files, dir+"/go.mod") {
			return true
		}
	}
	return false
}

func project(t *testing.T) *tree {
	t.Helper()
	tr, err := loadTree()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// findRoot walks up from the test's folder to the one that holds go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fs.ErrNotExist
		}
		dir = up
	}
}

// listFiles names what belongs to the project: what git knows or would add, so
// that build products do not count; where git or its data is absent (a source
// archive), everything but the folders of .gitignore.
func listFiles(root string) ([]string, error) {
	cmd := exec.Command("git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard")
	cmd.Dir = root
	if out, err := cmd.Output(); err == nil {
		var names []string
		for name := range strings.SplitSeq(string(out), "\x00") {
			// A file removed from the disk but not yet from the index is gone.
			if st, err := os.Lstat(filepath.Join(root, name)); name != "" && err == nil && st.Mode().IsRegular() {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		return names, nil
	}
	var names []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (rel == ".git" || rel == "bin" || rel == ".ci/bin") {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			names = append(names, rel)
		}
		return nil
	})
	return names, err
}

// packages maps each folder with Go files to them.
func (t *tree) packages() map[string][]source {
	out := map[string][]source{}
	for _, s := range t.gos {
		out[s.dir()] = append(out[s.dir()], s)
	}
	return out
}

// hasCode tells whether a folder holds more than tests.
func hasCode(files []source) bool {
	for _, s := range files {
		if !s.isTest() {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
