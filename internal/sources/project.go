package sources

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Kin says how a session relates to a project.
type Kin int

// Kinds of relation.
const (
	KinNone     Kin = iota // of another directory
	KinHere                // started in the project's directory
	KinWorktree            // started at the same place of another worktree of the repository
	KinUnknown             // it recorded no directory
)

// Project is a working directory, as far as sessions are concerned.
type Project struct {
	Dir string // canonical
	// Worktrees are the same place in the other worktrees of the repository that
	// Dir lies in, canonical. Sessions of these resume in place (S-5).
	Worktrees []string

	given string
	paths Paths
	mu    sync.Mutex
	known map[string]Kin
}

// NewProject returns the project of a directory. It looks at the directory, its
// parents and the repository around them, never at a home, and starts no process.
func NewProject(dir string, paths Paths) *Project {
	given, err := filepath.Abs(dir)
	if err != nil {
		given = dir
	}
	p := &Project{Dir: paths.Canonical(dir), given: given, paths: paths, known: make(map[string]Kin)}
	for _, w := range worktrees(p.Dir) {
		if w = paths.Canonical(w); w != p.Dir {
			p.Worktrees = append(p.Worktrees, w)
		}
	}
	return p
}

// Kin judges a session by the directory that it recorded when it started. The
// answer for a directory is kept.
func (p *Project) Kin(recorded string) Kin {
	if recorded == "" {
		return KinUnknown
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.known[recorded]
	if !ok {
		k = p.kin(recorded)
		p.known[recorded] = k
	}
	return k
}

func (p *Project) kin(recorded string) Kin {
	if p.paths.equal(recorded, p.Dir) {
		return KinHere
	}
	for _, w := range p.Worktrees {
		if p.paths.equal(recorded, w) {
			return KinWorktree
		}
	}
	return KinNone
}

// matcher tells which folders may hold the project's sessions.
func (p *Project) matcher() *matcher {
	dirs := append([]string{p.Dir}, p.Worktrees...)
	if p.given != p.Dir {
		dirs = append(dirs, p.given) // recorded by a client that does not resolve links
	}
	return newMatcher(dirs)
}

// worktrees returns the same place as dir in every worktree of its repository,
// read from the repository's own files: git is not started, since what it runs
// can be set by the repository. A link counts only when both ends name each other,
// so that an unpacked archive cannot claim another project for its own.
func worktrees(dir string) []string {
	root := dir
	for {
		if _, err := os.Lstat(filepath.Join(root, ".git")); err == nil {
			break
		}
		up := filepath.Dir(root)
		if up == root {
			return nil
		}
		root = up
	}
	common := commonDir(root)
	if common == "" {
		return nil
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return nil
	}
	var out []string
	if filepath.Base(common) == ".git" {
		out = append(out, filepath.Join(filepath.Dir(common), rel))
	}
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil {
		return nil // the only worktree
	}
	const most = 1000 // nobody has as many; a broken repository may
	for _, e := range entries[:min(len(entries), most)] {
		admin := filepath.Join(common, "worktrees", e.Name())
		if tree := linkedTree(admin); tree != "" {
			out = append(out, filepath.Join(tree, rel))
		}
	}
	return out
}

// commonDir returns the repository that the worktree at root belongs to, "" when
// that cannot be told.
func commonDir(root string) string {
	git := filepath.Join(root, ".git")
	if st, err := os.Stat(git); err != nil {
		return ""
	} else if st.IsDir() {
		return git
	}
	admin := gitLink(git)
	if admin == "" || !sameDir(linkedTree(admin), root) {
		return ""
	}
	common := filepath.Dir(filepath.Dir(admin))
	if named := pathIn(filepath.Join(admin, "commondir"), admin); named != "" {
		common = named
	}
	return common
}

// linkedTree returns the worktree that an administrative folder of a repository
// stands for, if the worktree says so too.
func linkedTree(admin string) string {
	link := pathIn(filepath.Join(admin, "gitdir"), admin)
	if link == "" {
		return ""
	}
	if !sameDir(gitLink(link), admin) {
		return ""
	}
	return filepath.Dir(link)
}

func sameDir(a, b string) bool { return a != "" && b != "" && Paths{}.same(a, b) }

// gitLink reads the .git file of a worktree.
func gitLink(file string) string {
	line, ok := strings.CutPrefix(firstLine(file), "gitdir:")
	if !ok {
		return ""
	}
	return absolute(strings.TrimSpace(line), filepath.Dir(file))
}

// pathIn reads a file that holds one path, which may be relative to dir.
func pathIn(file, dir string) string { return absolute(firstLine(file), dir) }

func absolute(name, dir string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// firstLine reads the first line of a small file; "" when there is none.
func firstLine(file string) string {
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	buf := make([]byte, 8<<10) // twice the longest path
	n, _ := f.Read(buf)
	if f.Close() != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	return strings.TrimSpace(line)
}
