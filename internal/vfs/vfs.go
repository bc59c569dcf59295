// Package vfs is the seam between the durable parts of Varve and a file system.
//
// It is for code that makes promises about what survives a power loss: the
// transcript writer, the lease, checkpoints, anything that replaces a file as
// a whole. It is not a general file-system abstraction: code that only reads
// a tree uses os or io/fs directly.
//
// Start with [OS], the real file system, and [WriteFile], which replaces a
// file atomically and durably. Tests use the twin in package crashfs, which
// forgets what was not synced; both pass the suite in package vfstest.
//
// Guarantees: every method of an [FS] may be called from several goroutines at
// once; a [File] may be used from several goroutines as far as [os.File] may.
// Errors are *fs.PathError (or *os.LinkError for Rename) around a
// syscall.Errno or an io/fs sentinel, so errors.Is works the same on both
// implementations.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// FS is what the durable parts of Varve use of a file system, and no more.
type FS interface {
	// OpenFile opens name as os.OpenFile does.
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Stat describes name, following symbolic links.
	Stat(name string) (fs.FileInfo, error)
	// Lstat describes name itself.
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory, sorted by file name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// MkdirAll makes a directory and its missing parents. The new directories
	// are durable only after SyncDir of their parents, see [SyncTree].
	MkdirAll(name string, perm fs.FileMode) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// Rename moves a file, replacing newname; atomic within a file system.
	Rename(oldname, newname string) error
	// SyncDir makes the creations, renames and removals in a directory
	// durable. It does nothing where the OS (Windows) or the file system
	// (it answers EINVAL or ENOTSUP) has no such call.
	SyncDir(name string) error
}

// File is an open file of an [FS]. *os.File is one.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Seeker
	io.Closer
	// Truncate changes the size. On Windows it fails on a file opened with
	// O_APPEND; open a second handle without it.
	Truncate(size int64) error
	// Sync makes the file's bytes and size durable. After an error the bytes
	// written since the last success must be taken for lost: kernels drop
	// them and let the next Sync succeed.
	Sync() error
	// Stat describes the open file, also after its name was removed.
	Stat() (fs.FileInfo, error)
	// Name is the name given to OpenFile.
	Name() string
}

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

// OpenFile keeps a nil *os.File from becoming a non-nil File.
func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (osFS) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) Rename(oldname, newname string) error         { return rename(oldname, newname) }
func (osFS) SyncDir(name string) error                    { return syncDir(name) }

// tempAttempts bounds the search for a free temporary name; each miss means a
// file left behind by a process that had our id.
const tempAttempts = 10_000

// tempName is the longest part of the target's name repeated in a temporary
// name: NAME_MAX is 255 bytes on every file system we know.
const tempName = 200

// tempCount makes temporary names of one process differ.
var tempCount atomic.Uint64

// ErrNotDurable says that WriteFile replaced the file but could not sync its
// directory: the new bytes are there, a power loss may still bring back the
// old ones. Writing again is safe.
var ErrNotDurable = errors.New("file replaced, but its directory could not be synced")

// WriteFile replaces the file name by one that holds data, or leaves it as it
// was: the bytes go to a temporary file of the same directory, which is
// synced and renamed over name, and the directory is synced. The directory
// must exist; a symbolic link at name is replaced, not followed. perm (less
// the umask) also applies when name existed with other permissions.
//
// On failure the temporary file is removed. The one failure after which name
// holds the new bytes is reported as [ErrNotDurable].
func WriteFile(fsys FS, name string, data []byte, perm fs.FileMode) error {
	f, err := createTemp(fsys, name, perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fillTemp(f, data); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, fsys.Remove(f.Name())))
	}
	if err := fsys.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, fsys.Remove(f.Name())))
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w: %w", name, ErrNotDurable, err)
	}
	return nil
}

// createTemp makes a new file beside name. The name starts with a dot so that
// listings by extension never take it for the target.
func createTemp(fsys FS, name string, perm fs.FileMode) (File, error) {
	dir, base := filepath.Split(name)
	if len(base) > tempName {
		base = base[:tempName]
	}
	var last error
	for range tempAttempts {
		temp := fmt.Sprintf("%s.%s.%d-%d.tmp", dir, base, os.Getpid(), tempCount.Add(1))
		f, err := fsys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			return f, nil
		}
		if last = err; !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return nil, last
}

// fillTemp writes, syncs and closes; the first error wins, the file is closed
// in every case.
func fillTemp(f File, data []byte) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, errors.Join(err, f.Close())
}

// SyncTree syncs a directory and its ancestors up to the root, so that a path
// just made with MkdirAll survives a power loss, whoever made which part of
// it. Ancestors that may not be opened for lack of permission existed before
// and are passed over; dir itself must sync.
func SyncTree(fsys FS, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		if err := fsys.SyncDir(parent); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
		dir = parent
	}
	return nil
}

// Identity is implemented by file infos of file systems other than [OS], so
// that [SameFile] can compare them.
type Identity interface {
	// SameFile reports whether other describes the same file.
	SameFile(other fs.FileInfo) bool
}

// SameFile reports whether two infos of the same file system describe one
// file: the same inode, whatever its names. Infos of different file systems
// are never the same.
func SameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return false
	}
	if id, ok := a.(Identity); ok {
		return id.SameFile(b)
	}
	return os.SameFile(a, b)
}
