package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"varve.dev/internal/vfs"
)

// Names of the settings files in their directories.
const (
	fileName      = "settings.json"
	localFileName = "settings.local.json"
)

// PolicyDir returns the directory of the machine owner's settings.
func PolicyDir() string {
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("ProgramData"); dir != "" {
			return filepath.Join(dir, "varve")
		}
		return `C:\ProgramData\varve`
	}
	return "/etc/varve"
}

// Flag is one value from the command line.
type Flag struct {
	Name string // as the user typed it, "--model"
	Key  string // path joined by dots
	Text string // read as a variable's text is
}

// Options say where the layers are. An empty directory leaves its layers out.
type Options struct {
	FS        vfs.FS // nil means vfs.OS
	PolicyDir string // see the function PolicyDir
	Project   string // root of the project
	Home      string // $VARVE_HOME
	Claude    string // ~/.claude or CLAUDE_CONFIG_DIR
	// Env are the process's variables as os.Environ gives them.
	Env []string
	// Flags are single values, Settings the arguments of --settings: a file, or
	// the JSON object itself. Flags are stronger than Settings, later arguments
	// stronger than earlier ones.
	Flags    []Flag
	Settings []string
	// Trusted: the user trusts the project's folder as it is (O-4).
	Trusted bool
	// Without leaves file layers out, for --setting-sources. The policy cannot
	// be left out.
	Without []Layer
}

// document is one parsed source of the file layers.
type document struct {
	layer Layer
	name  string
	root  *node
}

// Settings are the layers as they were when [Load] read them. The methods of
// [View] answer for the whole.
type Settings struct {
	View
	docs       []document // strongest first, without what was withheld
	env        environment
	flags      []Flag // strongest first
	withheld   []Withheld
	unreadable []*FileError
	problems   []error
}

// Load reads all layers. It never fails: what cannot be read is left out and
// listed by Problems.
func Load(opt Options) *Settings {
	if opt.FS == nil {
		opt.FS = vfs.OS
	}
	s := &Settings{env: newEnvironment(opt.Env), flags: slices.Clone(opt.Flags)}
	slices.Reverse(s.flags)
	s.View = View{s: s}
	for _, f := range s.files(opt) {
		s.add(opt, f)
	}
	s.checkKnown()
	return s
}

// file is a source to be read: a name, or JSON given on the command line.
type file struct {
	layer  Layer
	name   string
	inline string
	must   bool // a file the user named must exist
}

// files lists the sources, strongest first.
func (s *Settings) files(opt Options) []file {
	var all []file
	in := func(layer Layer, dir, sub, base string) {
		if dir != "" && (layer == Policy || !slices.Contains(opt.Without, layer)) {
			all = append(all, file{layer: layer, name: filepath.Join(dir, sub, base)})
		}
	}
	in(Policy, opt.PolicyDir, "", fileName)
	for _, arg := range slices.Backward(opt.Settings) {
		if strings.HasPrefix(strings.TrimSpace(arg), "{") {
			all = append(all, file{layer: Flags, name: "--settings", inline: arg})
		} else {
			all = append(all, file{layer: Flags, name: arg, must: true})
		}
	}
	in(VarveLocal, opt.Project, ".varve", localFileName)
	in(ClaudeLocal, opt.Project, ".claude", localFileName)
	// In the home directory the project's files are the user's own, which are
	// read as such below.
	if !sameDir(opt.FS, join(opt.Project, ".varve"), opt.Home) {
		in(VarveProject, opt.Project, ".varve", fileName)
	}
	if !sameDir(opt.FS, join(opt.Project, ".claude"), opt.Claude) {
		in(ClaudeProject, opt.Project, ".claude", fileName)
	}
	in(User, opt.Home, "", fileName)
	in(ClaudeUser, opt.Claude, "", fileName)
	return all
}

// join is filepath.Join that keeps "no directory".
func join(dir, base string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, base)
}

// sameDir reports whether two names lead to one directory.
func sameDir(fsys vfs.FS, a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := fsys.Stat(a)
	y, errY := fsys.Stat(b)
	return errX == nil && errY == nil && vfs.SameFile(x, y)
}

// add reads one source into s.
func (s *Settings) add(opt Options, f file) {
	data := []byte(f.inline)
	if f.inline == "" {
		var err error
		data, err = readRegular(opt.FS, f.name)
		if !f.must && isAbsent(err) {
			return
		}
		if err != nil {
			s.reject(f, &FileError{Err: err})
			return
		}
	}
	root, duplicates, err := parseFile(data)
	if err != nil {
		var fe *FileError
		if !errors.As(err, &fe) {
			fe = &FileError{Err: err}
		}
		s.reject(f, fe)
		return
	}
	for _, d := range duplicates {
		s.problems = append(s.problems, &DuplicateError{Key: joinKey(d.path), Origin: Origin{f.layer, f.name, d.last}, First: d.first})
	}
	w := withholder{doc: document{f.layer, f.name, root}, trusted: opt.Trusted}
	w.doc.root = w.prune(root, nil)
	s.withheld = append(s.withheld, w.out...)
	s.docs = append(s.docs, w.doc)
}

// reject notes a source that is left out.
func (s *Settings) reject(f file, err *FileError) {
	err.Layer, err.File = f.layer, f.name
	s.unreadable = append(s.unreadable, err)
	s.problems = append(s.problems, err)
}

// readRegular reads a whole regular file. Anything else is refused before it is
// opened: a pipe in a repository would block the start.
func readRegular(fsys vfs.FS, name string) ([]byte, error) {
	fi, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file (%v)", fi.Mode().Type())
	}
	if fi.Size() > maxFile {
		return nil, fmt.Errorf("%d bytes is more than a settings file may have (%d)", fi.Size(), maxFile)
	}
	return vfs.ReadFile(fsys, name)
}

// isAbsent reports whether there is no file at all: not even its directory, or
// something else in the directory's place.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// withholder takes out of a document what its layer may not set.
type withholder struct {
	doc     document
	trusted bool
	out     []Withheld
}

// prune returns n, or a copy without the withheld members. Elements of arrays
// are not looked into: no rule speaks of them.
func (w *withholder) prune(n *node, key []string) *node {
	if n.kind != object {
		return n
	}
	kept := &node{kind: object, line: n.line}
	for i, name := range n.names {
		path := append(key[:len(key):len(key)], name)
		r, _ := ruleFor(path)
		kid := n.kids[i]
		if ok, until := w.allows(r); !ok {
			w.out = append(w.out, Withheld{
				Key: joinKey(path), Reason: r.Reason, UntilTrusted: until,
				Origin: Origin{w.doc.layer, w.doc.name, n.lines[i]}, JSON: kid.appendJSON(nil),
			})
			continue
		}
		if !r.Opaque {
			kid = w.prune(kid, path)
		}
		kept.append(name, n.lines[i], kid)
	}
	return kept
}

// append adds a member.
func (n *node) append(name string, line int, kid *node) {
	n.names, n.lines, n.kids = append(n.names, name), append(n.lines, line), append(n.kids, kid)
}

// allows reports whether the layer may set what r speaks of, and if not,
// whether trust would change that.
func (w *withholder) allows(r Rule) (ok, untilTrusted bool) {
	layer := w.doc.layer
	switch r.From {
	case Anywhere:
		return true, false
	case PolicyOnly:
		return layer == Policy, false
	case ProcessOnly:
		return layer == Flags, false
	case NotProject:
		if layer.IsProject() {
			return false, false
		}
	}
	if layer.IsProject() || layer.IsLocal() {
		return w.trusted, true
	}
	return true, false
}

// Problems lists what was wrong with the layers when they were read: files that
// were left out, values of the wrong type, members that stand twice, switches
// that are neither on nor off. What was withheld is not among them.
func (s *Settings) Problems() []error { return slices.Clone(s.problems) }

// Unreadable lists the files that were left out as a whole, strongest first.
func (s *Settings) Unreadable() []*FileError { return slices.Clone(s.unreadable) }

// Complete reports whether every layer that exists was read. Whoever deletes
// something or lifts a guard does not do it when this is false: the missing
// file may forbid it.
func (s *Settings) Complete() bool { return len(s.unreadable) == 0 }

// Withheld lists what layers set that they may not set, or not until the folder
// is trusted, strongest layer first.
func (s *Settings) Withheld() []Withheld { return slices.Clone(s.withheld) }
