package sources

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/internal/vfs"
)

// Finder looks for sessions in homes. Set its fields before the first call.
type Finder struct {
	Homes []Home
	FS    vfs.FS // read only
	// CacheDir is the folder for the disposable cache, outside of the homes; ""
	// for none.
	CacheDir string
	Workers  int // files read at a time

	cacheFS vfs.FS // tests watch FS for writes
}

// New returns a Finder over homes that uses as many workers as there are
// processors and keeps no cache.
func New(homes []Home) *Finder {
	return &Finder{Homes: homes, FS: vfs.OS, Workers: runtime.NumCPU(), cacheFS: vfs.OS}
}

// Query says which sessions are meant. The zero value means all.
type Query struct {
	Project *Project // sessions of this project and its worktrees; nil: of all
	Source  string   // SourceVarve or SourceClaude; "" for both
	// First is how many sessions the provisional page of a listing has; 0 means 50.
	First int
}

func (q Query) first() int {
	if q.First > 0 {
		return q.First
	}
	return 50
}

// folder is a project folder of a home.
type folder struct {
	home *Home
	path string
	link bool
}

// folders names the project folders that may hold what q asks for, from names
// alone: one directory is read for each home.
func (f *Finder) folders(q Query) (out []folder, skipped []Skipped) {
	var m *matcher
	if q.Project != nil {
		m = q.Project.matcher()
	}
	for i := range f.Homes {
		h := &f.Homes[i]
		if q.Source != "" && q.Source != h.Source {
			continue
		}
		entries, err := f.FS.ReadDir(h.Projects())
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				skipped = append(skipped, Skipped{h.Projects(), reason(err)})
			}
			continue
		}
		var links []folder
		here := make(map[string]bool)
		for _, e := range entries {
			if m != nil && !m.match(e.Name()) && (h.FolderName == "" || e.Name() != h.FolderName) {
				continue
			}
			at := folder{home: h, path: filepath.Join(h.Projects(), e.Name()), link: e.Type()&fs.ModeSymlink != 0}
			switch {
			case e.IsDir():
				here[at.path] = true
				out = append(out, at)
			case at.link:
				links = append(links, at)
			}
		}
		for _, l := range links {
			if to, err := filepath.EvalSymlinks(l.path); err == nil && here[to] {
				continue // the folder itself is listed
			}
			out = append(out, l)
		}
	}
	return out, skipped
}

// scan describes the logs in the folders that q asks for. No log is opened.
func (f *Finder) scan(ctx context.Context, q Query) ([]*file, []Skipped, error) {
	dirs, skipped := f.folders(q)
	files := make([][]*file, len(dirs))
	odd := make([][]Skipped, len(dirs))
	err := f.each(ctx, len(dirs), func(i int) { files[i], odd[i] = f.readFolder(ctx, dirs[i]) })
	if err != nil {
		return nil, nil, err
	}
	var all []*file
	for i := range dirs {
		all = append(all, files[i]...)
		skipped = append(skipped, odd[i]...)
	}
	return all, skipped, nil
}

// names returns the logs in the folders that q asks for without a look at them:
// what links lead to, whether they can be read, is found out by stat.
func (f *Finder) names(ctx context.Context, q Query) ([]*file, error) {
	dirs, _ := f.folders(q)
	files := make([][]*file, len(dirs))
	err := f.each(ctx, len(dirs), func(i int) {
		entries, err := f.FS.ReadDir(dirs[i].path)
		if err != nil {
			return // a listing tells why
		}
		for _, e := range entries {
			if isLog(e.Name()) && !e.IsDir() {
				files[i] = append(files[i], &file{home: dirs[i].home, path: filepath.Join(dirs[i].path, e.Name())})
			}
		}
	})
	return slices.Concat(files...), err
}

// readFolder describes the logs of one folder. Entries that are none are passed
// over in silence, entries that only look like one are told.
func (f *Finder) readFolder(ctx context.Context, dir folder) (out []*file, skipped []Skipped) {
	entries, err := f.FS.ReadDir(dir.path)
	if err != nil {
		if dir.link && errors.Is(err, fs.ErrNotExist) || dir.link && !f.isDir(dir.path) {
			return nil, nil // a link to nowhere or to a file holds no sessions
		}
		return nil, []Skipped{{dir.path, reason(err)}}
	}
	got := make([]*file, len(entries))
	errs := make([]error, len(entries))
	plain := make([]int, 0, len(entries)) // entries that the directory calls regular files
	for i, e := range entries {
		switch {
		case !isLog(e.Name()):
		case e.Type()&fs.ModeSymlink != 0:
			got[i], errs[i] = f.linked(dir, filepath.Join(dir.path, e.Name()))
		case e.Type().IsRegular():
			plain = append(plain, i)
		default:
			errs[i] = errNotFile
		}
	}
	err = f.each(ctx, (len(plain)+describeAtOnce-1)/describeAtOnce, func(k int) {
		f.describe(dir, entries, plain[k*describeAtOnce:min((k+1)*describeAtOnce, len(plain))], got, errs)
	})
	if err != nil {
		return nil, nil // the caller's own wait reports it
	}
	for i := range entries {
		if got[i] != nil {
			out = append(out, got[i])
		}
		if errs[i] != nil {
			skipped = append(skipped, Skipped{filepath.Join(dir.path, entries[i].Name()), errs[i]})
		}
	}
	return out, skipped
}

// describeAtOnce is how many files of a folder one worker describes at a time:
// enough that opening the folder for it does not count.
const describeAtOnce = 256

// describe fills in what is known of the entries whose numbers are given.
func (f *Finder) describe(dir folder, entries []fs.DirEntry, which []int, got []*file, errs []error) {
	names := make([]string, len(which))
	for k, i := range which {
		names[k] = entries[i].Name()
	}
	infos, err := vfs.Describe(f.FS, dir.path, names)
	if err != nil {
		for _, i := range which {
			errs[i] = reason(err)
		}
		return
	}
	files := make([]file, len(which))
	for k, i := range which {
		st := infos[k]
		switch {
		case errors.Is(st.Err, fs.ErrNotExist): // removed while we looked
		case st.Err != nil:
			errs[i] = reason(st.Err)
		case st.Mode != 0:
			errs[i] = errNotFile
		default:
			files[k] = file{home: dir.home, path: dir.path + string(filepath.Separator) + names[k], size: st.Size, mtime: st.ModTime, inode: st.Inode}
			got[i] = &files[k]
		}
	}
}

func (f *Finder) isDir(path string) bool {
	st, err := f.FS.Stat(path)
	return err == nil && st.IsDir()
}

// linked describes a log that is a symbolic link, unless it leads to another log
// of the same folder, which is listed itself.
func (f *Finder) linked(dir folder, path string) (*file, error) {
	fl, err := f.stat(dir.home, path)
	if err != nil || aliased(path) != path {
		return nil, err
	}
	return fl, nil
}

// aliased returns the log of the same folder that a link leads to; the link itself
// when it leads elsewhere.
func aliased(link string) string {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return link
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(link))
	if err != nil || filepath.Dir(to) != dir || !isLog(filepath.Base(to)) {
		return link
	}
	return filepath.Join(filepath.Dir(link), filepath.Base(to))
}

// each calls do for 0 … n-1 from at most Workers goroutines, in order of
// beginning, and returns when all have ended: early when ctx ends.
func (f *Finder) each(ctx context.Context, n int, do func(i int)) error {
	workers := min(max(f.Workers, 1), n)
	if workers <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			do(i)
		}
		return ctx.Err()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
