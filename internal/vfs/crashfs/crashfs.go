// Package crashfs is the twin of vfs.OS that lives in memory, loses power on
// request and fails on request.
//
// It is for tests of code that promises durability. It is not a model of one
// file system but of what POSIX allows any of them: bytes are durable after
// Sync of their file, names after SyncDir of their directory, and everything
// else may survive a crash in whole, in part, out of order or not at all. A
// failed Sync loses the bytes it was to make durable although they can still
// be read and the next Sync succeeds, as Linux does.
//
// Start with [New], use the result as a vfs.FS, then call [FS.Crash] for the
// file system a machine finds after the power came back, and [FS.Inject] to
// make calls fail. A crash leaves the original untouched, so one state can be
// crashed in many ways.
//
// All methods may be called from several goroutines at once.
package crashfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"varve.dev/internal/vfs"
)

// FS is a file system in memory with a durable and a volatile state.
type FS struct {
	// Now gives modification times; [New] sets time.Now.
	Now func() time.Time

	mu     sync.Mutex
	root   *node
	nextID uint64
	dirOps []dirOp // changes of directories that no SyncDir covered, in order
	faults []*Injected
	calls  map[Op]int
}

var _ vfs.FS = (*FS)(nil)

// node is one inode.
type node struct {
	id    uint64
	mode  fs.FileMode
	mtime time.Time

	data    []byte   // what reads see
	durable []byte   // what a strict crash leaves
	ops     []fileOp // changes since the last Sync, in order

	children map[string]*node // directories: what lookups see
	kept     map[string]*node // directories: what a strict crash leaves
}

// fileOp is a write of data at off, or a truncation to off when data is nil.
type fileOp struct {
	off  int64
	data []byte
}

// dirOp is one change of one or two directories; from or to is nil for a
// creation or a removal, both are set for a rename, which stays atomic.
type dirOp struct {
	target   *node
	from, to *node // directories
	old, new string
}

// New returns an empty file system whose root is "/".
func New() *FS {
	f := &FS{Now: time.Now, calls: map[Op]int{}}
	f.root = f.newNode(fs.ModeDir | 0o755)
	return f
}

func (f *FS) newNode(mode fs.FileMode) *node {
	f.nextID++
	n := &node{id: f.nextID, mode: mode, mtime: f.Now()}
	if mode.IsDir() {
		n.children, n.kept = map[string]*node{}, map[string]*node{}
	}
	return n
}

// parts splits a name into path elements below the root; relative names are
// taken from the root, a volume name is ignored.
func parts(name string) []string {
	name = filepath.ToSlash(filepath.Clean(name[len(filepath.VolumeName(name)):]))
	return slices.DeleteFunc(strings.Split(name, "/"), func(s string) bool { return s == "" || s == "." })
}

// lookup finds a node; f.mu is held.
func (f *FS) lookup(op, name string) (*node, error) {
	n := f.root
	for _, p := range parts(name) {
		if !n.mode.IsDir() {
			return nil, pathError(op, name, syscall.ENOTDIR)
		}
		child, ok := n.children[p]
		if !ok {
			return nil, pathError(op, name, syscall.ENOENT)
		}
		n = child
	}
	return n, nil
}

// parent finds the directory that holds name; f.mu is held.
func (f *FS) parent(op, name string) (dir *node, base string, err error) {
	ps := parts(name)
	if len(ps) == 0 {
		return nil, "", pathError(op, name, syscall.EINVAL)
	}
	base = ps[len(ps)-1]
	dir, err = f.lookup(op, "/"+strings.Join(ps[:len(ps)-1], "/"))
	switch pe := (*fs.PathError)(nil); {
	case errors.As(err, &pe):
		pe.Path = name // callers know the name they gave, not its directory
	case !dir.mode.IsDir():
		err = pathError(op, name, syscall.ENOTDIR)
	}
	return dir, base, err
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// OpenFile implements vfs.FS.
func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpOpen, name); ft != nil {
		return nil, pathError("open", name, ft.Err)
	}
	dir, base, err := f.parent("open", name)
	if err != nil {
		if len(parts(name)) == 0 { // the root itself
			return &file{fs: f, node: f.root, name: name, flag: flag}, nil
		}
		return nil, err
	}
	n, ok := dir.children[base]
	writes := flag&(os.O_WRONLY|os.O_RDWR) != 0
	switch {
	case !ok && flag&os.O_CREATE == 0:
		return nil, pathError("open", name, syscall.ENOENT)
	case ok && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, pathError("open", name, syscall.EEXIST)
	case ok && n.mode.IsDir() && writes:
		return nil, pathError("open", name, syscall.EISDIR)
	case !ok:
		n = f.newNode(perm.Perm())
		dir.children[base] = n
		f.dirOps = append(f.dirOps, dirOp{target: n, to: dir, new: base})
	case flag&os.O_TRUNC != 0 && writes:
		n.truncate(0)
	}
	return &file{fs: f, node: n, name: name, flag: flag}, nil
}

// Stat implements vfs.FS.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.stat("stat", name) }

// Lstat implements vfs.FS; there are no symbolic links here.
func (f *FS) Lstat(name string) (fs.FileInfo, error) { return f.stat("lstat", name) }

func (f *FS) stat(op, name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpStat, name); ft != nil {
		return nil, pathError(op, name, ft.Err)
	}
	n, err := f.lookup(op, name)
	if err != nil {
		return nil, err
	}
	return n.info(filepath.Base(name)), nil
}

// ReadDir implements vfs.FS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpRead, name); ft != nil {
		return nil, pathError("readdir", name, ft.Err)
	}
	n, err := f.lookup("open", name)
	if err != nil {
		return nil, err
	}
	if !n.mode.IsDir() {
		return nil, pathError("readdir", name, syscall.ENOTDIR)
	}
	out := make([]fs.DirEntry, 0, len(n.children))
	for base, child := range n.children {
		out = append(out, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpMkdir, name); ft != nil {
		return pathError("mkdir", name, ft.Err)
	}
	n := f.root
	for _, p := range parts(name) {
		child, ok := n.children[p]
		if !ok {
			child = f.newNode(fs.ModeDir | perm.Perm())
			n.children[p] = child
			f.dirOps = append(f.dirOps, dirOp{target: child, to: n, new: p})
		}
		if n = child; !n.mode.IsDir() {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
	}
	return nil
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpRemove, name); ft != nil {
		return pathError("remove", name, ft.Err)
	}
	dir, base, err := f.parent("remove", name)
	if err != nil {
		return err
	}
	n, ok := dir.children[base]
	if !ok {
		return pathError("remove", name, syscall.ENOENT)
	}
	if len(n.children) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	delete(dir.children, base)
	f.dirOps = append(f.dirOps, dirOp{target: n, from: dir, old: base})
	return nil
}

// Rename implements vfs.FS.
func (f *FS) Rename(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fail := func(err error) error {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
	if ft := f.fault(OpRename, newname); ft != nil {
		return fail(ft.Err)
	}
	from, oldBase, err := f.parent("rename", oldname)
	if err != nil {
		return fail(syscall.ENOENT)
	}
	to, newBase, err := f.parent("rename", newname)
	if err != nil {
		return fail(syscall.ENOENT)
	}
	n, ok := from.children[oldBase]
	if !ok {
		return fail(syscall.ENOENT)
	}
	if was, ok := to.children[newBase]; ok {
		switch {
		case was == n:
			return nil
		case was.mode.IsDir() && !n.mode.IsDir():
			return fail(syscall.EEXIST) // what os.Rename answers
		case !was.mode.IsDir() && n.mode.IsDir():
			return fail(syscall.ENOTDIR)
		case len(was.children) > 0:
			return fail(syscall.ENOTEMPTY)
		}
	}
	delete(from.children, oldBase)
	to.children[newBase] = n
	f.dirOps = append(f.dirOps, dirOp{target: n, from: from, old: oldBase, to: to, new: newBase})
	return nil
}

// SyncDir implements vfs.FS. A rename between two directories becomes durable
// as a whole when either is synced.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft := f.fault(OpSyncDir, name); ft != nil {
		return pathError("sync", name, ft.Err)
	}
	dir, err := f.lookup("open", name)
	if err != nil {
		return err
	}
	if !dir.mode.IsDir() {
		return pathError("sync", name, syscall.ENOTDIR)
	}
	f.dirOps = slices.DeleteFunc(f.dirOps, func(op dirOp) bool {
		if op.from != dir && op.to != dir {
			return false
		}
		op.apply(func(n *node) map[string]*node { return n.kept })
		return true
	})
	return nil
}

// apply performs the change on the children that view selects.
func (op dirOp) apply(view func(*node) map[string]*node) {
	if op.from != nil && view(op.from)[op.old] == op.target {
		delete(view(op.from), op.old)
	}
	if op.to != nil {
		view(op.to)[op.new] = op.target
	}
}
