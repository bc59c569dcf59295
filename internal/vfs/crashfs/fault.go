package crashfs

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Op names a kind of call that can fail or be counted.
type Op string

// The calls of vfs.FS and vfs.File. OpStat covers Stat and Lstat of both,
// OpRead also ReadDir.
const (
	OpOpen     Op = "open"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpSync     Op = "sync"
	OpSyncDir  Op = "syncdir"
	OpTruncate Op = "truncate"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpStat     Op = "stat"
)

// Always as Fault.Count keeps a fault until it is cleared.
const Always = -1

// Fault describes calls that are to fail.
type Fault struct {
	Op Op
	// Path is a pattern of path.Match, tried on the whole slash-separated name
	// and on its last element; "" matches every name. For Rename it is tried
	// on the new name.
	Path string
	// Nth is the first matching call that fails, counted from 1 at the time of
	// Inject; 0 means 1.
	Nth int
	// Count is how many calls fail from there on; 0 means 1, see [Always].
	Count int
	// Err is what the call returns inside its *fs.PathError, such as
	// syscall.ENOSPC. It must not be nil.
	Err error
	// Short is how many bytes a failing Write writes all the same.
	Short int
	// KeepDirty makes a failing Sync leave the bytes to be synced later; else
	// they are lost to every later Sync, as on Linux.
	KeepDirty bool
	// Evict makes a failing Sync also forget the lost bytes in memory: reads
	// see the durable bytes, with zeros up to the file's size.
	Evict bool
}

// Injected is a fault in force.
type Injected struct {
	Fault
	fs    *FS
	seen  int
	fired int
}

// Inject adds a fault. Faults are tried in the order of injection and the
// first that fires decides the call; all that match count it.
func (f *FS) Inject(ft Fault) *Injected {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft.Err == nil {
		panic("crashfs: Fault.Err is nil") // a bug of the test itself
	}
	ft.Nth, ft.Count = max(ft.Nth, 1), cmp.Or(ft.Count, 1)
	in := &Injected{Fault: ft, fs: f}
	f.faults = append(f.faults, in)
	return in
}

// Clear ends the fault.
func (in *Injected) Clear() {
	in.fs.mu.Lock()
	defer in.fs.mu.Unlock()
	in.fs.faults = slices.DeleteFunc(in.fs.faults, func(x *Injected) bool { return x == in })
}

// Fired is the number of calls that failed because of the fault.
func (in *Injected) Fired() int {
	in.fs.mu.Lock()
	defer in.fs.mu.Unlock()
	return in.fired
}

// ClearFaults ends all faults.
func (f *FS) ClearFaults() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Calls is the number of calls of one kind so far, failed ones included.
func (f *FS) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// fault counts a call and returns the fault that decides it, if any; f.mu is
// held.
func (f *FS) fault(op Op, name string) *Injected {
	f.calls[op]++
	full := "/" + strings.Join(parts(name), "/")
	var hit *Injected
	for _, in := range f.faults {
		if in.Op != op || !matches(in.Path, full) {
			continue
		}
		in.seen++
		if hit == nil && in.seen >= in.Nth && (in.Count == Always || in.fired < in.Count) {
			in.fired++
			hit = in
		}
	}
	return hit
}

func matches(pattern, full string) bool {
	if pattern == "" {
		return true
	}
	whole, _ := path.Match(pattern, full) // a malformed pattern matches nothing
	base, _ := path.Match(pattern, path.Base(full))
	return whole || base
}
