package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
)

// tree writes the files of all layers below one directory, in memory unless
// made by newDiskTree.
type tree struct {
	t   testing.TB
	dir string
	opt Options
}

// layerFiles are the places of the file layers below the directory of a tree,
// strongest first.
var layerFiles = []struct {
	layer Layer
	file  string
}{
	{Policy, "policy/settings.json"},
	{VarveLocal, "project/.varve/settings.local.json"},
	{ClaudeLocal, "project/.claude/settings.local.json"},
	{VarveProject, "project/.varve/settings.json"},
	{ClaudeProject, "project/.claude/settings.json"},
	{User, "home/settings.json"},
	{ClaudeUser, "claude/settings.json"},
}

// newTree lays out files; a layer without an entry has no file.
func newTree(t testing.TB, files map[Layer]string) *tree {
	t.Helper()
	tr := makeTree(t, crashfs.New(), filepath.FromSlash("/tree"))
	for layer, content := range files {
		tr.write(layer, content)
	}
	return tr
}

// newDiskTree is an empty tree of the real file system.
func newDiskTree(t testing.TB) *tree {
	t.Helper()
	return makeTree(t, vfs.OS, t.TempDir())
}

func makeTree(t testing.TB, fsys vfs.FS, dir string) *tree {
	return &tree{t: t, dir: dir, opt: Options{
		FS: fsys, PolicyDir: filepath.Join(dir, "policy"), Project: filepath.Join(dir, "project"),
		Home: filepath.Join(dir, "home"), Claude: filepath.Join(dir, "claude"),
	}}
}

// path returns the file of a layer.
func (tr *tree) path(layer Layer) string {
	for _, lf := range layerFiles {
		if lf.layer == layer {
			return filepath.Join(tr.dir, filepath.FromSlash(lf.file))
		}
	}
	tr.t.Fatalf("layer %v has no file", layer)
	return ""
}

func (tr *tree) write(layer Layer, content string) {
	tr.t.Helper()
	name := tr.path(layer)
	if err := tr.opt.FS.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		tr.t.Fatal(err)
	}
	if err := vfs.WriteFile(tr.opt.FS, name, []byte(content), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

// load reads the tree with the given changes of the options.
func (tr *tree) load(change ...func(*Options)) *Settings {
	opt := tr.opt
	for _, c := range change {
		c(&opt)
	}
	return Load(opt)
}

func trusted(o *Options) { o.Trusted = true }

func env(vars ...string) func(*Options) { return func(o *Options) { o.Env = vars } }

// texts gives the messages of errors, without the temporary directory.
func (tr *tree) texts(errs []error) []string {
	var out []string
	for _, err := range errs {
		out = append(out, strings.ReplaceAll(filepath.ToSlash(err.Error()), filepath.ToSlash(tr.dir)+"/", ""))
	}
	return out
}

// wantErr checks that err is a ValueError whose message holds part.
func wantErr(t *testing.T, err error, part string) {
	t.Helper()
	var ve *ValueError
	if !errors.As(err, &ve) || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want a ValueError with %q", err, part)
	}
}

func nest(open, inner, close string, n int) string {
	return fmt.Sprint(strings.Repeat(open, n), inner, strings.Repeat(close, n))
}
