package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// anthropics/claude-code#90588: Windows names one directory in several ways.
func TestWindowsPathsFold(t *testing.T) {
	p := NewProject(t.TempDir(), Paths{})
	p.Dir = `D:\work\App`
	for recorded, want := range map[string]Kin{
		`d:\work\App`:     KinHere,
		`D:\WORK\app`:     KinHere,
		`d:/work/app/`:    KinHere,
		`\\?\D:\work\App`: KinHere,
		`D:\work\App2`:    KinNone,
		`E:\work\App`:     KinNone,
		`\\host\work\App`: KinNone,
		``:                KinUnknown,
	} {
		if got := p.Kin(recorded); got != want {
			t.Errorf("recorded %q: %v, want %v", recorded, got, want)
		}
	}
}

// A log must not make this machine ask a server of its choice for a directory.
func TestRecordedNetworkNamesAreNotOpened(t *testing.T) {
	asked := ""
	p := NewProject(t.TempDir(), Paths{Same: func(a, b string) bool { asked += a; return false }})
	asked = ""
	for _, dir := range []string{`\\evil\share`, `//evil/share`, "relative", ""} {
		p.Kin(dir)
	}
	if asked != "" {
		t.Errorf("looked at %s", asked)
	}
}

// anthropics/claude-code#48645: on a file system that folds case, ~/Projects/r
// and ~/projects/r are one directory, under the name that the disk has.
func TestCaseFoldingFileSystem(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	disk := filepath.Join(root, "Projects", "r")
	if err := os.MkdirAll(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	under := func(name string) string { return strings.ToLower(strings.TrimPrefix(name, root)) }
	folding := Paths{
		Resolve: func(name string) (string, error) { return name, nil },
		Same: func(a, b string) bool {
			return strings.HasPrefix(a, root) && strings.HasPrefix(b, root) && under(a) == under(b)
		},
		Names: func(dir string) ([]string, error) {
			switch under(dir) {
			case "":
				return []string{"other", "Projects"}, nil
			case "/projects":
				return []string{"r"}, nil
			}
			return nil, os.ErrNotExist
		},
	}
	typed := filepath.Join(root, "projects", "R")
	p := NewProject(typed, folding)
	if p.Dir != disk {
		t.Errorf("canonical %s, want %s", p.Dir, disk)
	}
	if Slug(p.Dir) != Slug(NewProject(disk, folding).Dir) {
		t.Error("one directory has two folders")
	}
	for _, recorded := range []string{disk, typed, filepath.Join(root, "PROJECTS", "r")} {
		if p.Kin(recorded) != KinHere {
			t.Errorf("recorded %s does not belong", recorded)
		}
	}
	if p.Kin(filepath.Join(root, "projects", "rr")) != KinNone {
		t.Error("another directory belongs")
	}
	// Where case counts, the two are two.
	strict := NewProject(disk, Paths{})
	if strict.Dir != disk || strict.Kin(filepath.Join(root, "Projects", "R")) != KinNone {
		t.Error("case was folded where it counts")
	}
}

func TestSymlinkedDirectory(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	disk, link := filepath.Join(root, "disk"), filepath.Join(root, "link")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk, link); err != nil {
		t.Skip("this system makes no symbolic links:", err)
	}
	p := NewProject(link, Paths{})
	if p.Dir != disk || p.Kin(link) != KinHere || p.Kin(disk) != KinHere {
		t.Errorf("Dir %s, link %v, disk %v", p.Dir, p.Kin(link), p.Kin(disk))
	}
	if !p.matcher().match(theirFolder(link)) || !p.matcher().match(theirFolder(disk)) {
		t.Error("a client that does not resolve links is not found")
	}
}

// repository makes a repository with linked worktrees as git lays them out, and
// returns the main worktree.
func repository(t *testing.T, root string, trees ...string) string {
	t.Helper()
	main := filepath.Join(root, "repo")
	put(t, filepath.Join(main, ".git", "HEAD"), []byte("ref: refs/heads/main\n"))
	for i, tree := range trees {
		admin := filepath.Join(main, ".git", "worktrees", filepath.Base(tree))
		put(t, filepath.Join(admin, "commondir"), []byte("../..\n"))
		link := filepath.Join(tree, ".git")
		back := "gitdir: " + admin + "\n"
		if i%2 == 1 { // worktree.useRelativePaths
			rel, err := filepath.Rel(admin, link)
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(admin, "gitdir"), []byte(rel+"\n"))
			rel, err = filepath.Rel(tree, admin)
			if err != nil {
				t.Fatal(err)
			}
			back = "gitdir: " + rel + "\n"
		} else {
			put(t, filepath.Join(admin, "gitdir"), []byte(link+"\n"))
		}
		put(t, link, []byte(back))
	}
	return main
}

// S-5: the worktrees of one repository belong together.
func TestWorktrees(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(root, "trees", "a"), filepath.Join(root, "trees", "b")
	main := repository(t, root, a, b)
	for _, c := range []struct{ at, same, worktree, none string }{
		{main, main, a, filepath.Join(main, "sub")},
		{a, a, main, root},
		{b, b, a, filepath.Join(a, "sub")},
	} {
		p := NewProject(c.at, Paths{})
		if p.Kin(c.same) != KinHere || p.Kin(c.worktree) != KinWorktree || p.Kin(c.none) != KinNone {
			t.Errorf("at %s: %v %v %v; worktrees %v", c.at, p.Kin(c.same), p.Kin(c.worktree), p.Kin(c.none), p.Worktrees)
		}
		if len(p.Worktrees) != 2 {
			t.Errorf("at %s: worktrees %v", c.at, p.Worktrees)
		}
	}
	sub := filepath.Join(main, "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	if p := NewProject(sub, Paths{}); p.Kin(filepath.Join(a, "sub")) != KinWorktree || p.Kin(a) != KinNone {
		t.Errorf("in a folder of the repository: %v", p.Worktrees)
	}
}

// An archive can bring a .git of its own that points at somebody else's project.
func TestWorktreeClaims(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(root, "trees", "a")
	main := repository(t, root, tree)
	put(t, filepath.Join(root, "victim", ".git", "HEAD"), []byte("ref: refs/heads/main\n"))
	// A repository that calls the victim's directory its worktree.
	put(t, filepath.Join(root, "evil", ".git", "worktrees", "v", "gitdir"), []byte(filepath.Join(root, "victim", ".git")+"\n"))
	if p := NewProject(filepath.Join(root, "evil"), Paths{}); len(p.Worktrees) != 0 {
		t.Errorf("claims %v", p.Worktrees)
	}
	// A directory that calls itself a worktree of the victim.
	put(t, filepath.Join(root, "evil2", ".git"), []byte("gitdir: "+filepath.Join(main, ".git", "worktrees", "a")+"\n"))
	if p := NewProject(filepath.Join(root, "evil2"), Paths{}); len(p.Worktrees) != 0 {
		t.Errorf("claims %v", p.Worktrees)
	}
	// Broken ones are none.
	for name, text := range map[string]string{"b1": "", "b2": "gitdir:", "b3": "gitdir: /nowhere/at/all\n", "b4": strings.Repeat("x", 1<<16)} {
		put(t, filepath.Join(root, name, ".git"), []byte(text))
		if p := NewProject(filepath.Join(root, name), Paths{}); len(p.Worktrees) != 0 {
			t.Errorf("%s claims %v", name, p.Worktrees)
		}
	}
}

func TestResumeCommand(t *testing.T) {
	s := &Session{ID: uuid(1)}
	for dir, want := range map[string]string{
		"/w/app":              "cd '/w/app' && varve --resume " + uuid(1),
		"/w/it's; rm -rf ~/x": `cd '/w/it'\''s; rm -rf ~/x' && varve --resume ` + uuid(1),
		`D:\it's`:             `cd 'D:\it''s'; varve --resume ` + uuid(1),
		"":                    "",
		"/w/a\nb":             "",
		"/w/\u202eppa":        "",
		"/w/\x1b]52;c;aGk=":   "",
	} {
		s.FirstCWD = dir
		got := ""
		if c, ok := s.ResumeCommand(); ok {
			got = c.String()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
	s.FirstCWD, s.ID = "/w", "odd $(name)"
	if c, _ := s.ResumeCommand(); c.String() != `cd '/w' && varve --resume 'odd $(name)'` {
		t.Error(c)
	}
}

func TestHomes(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == k {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	home := t.TempDir()
	hs := Homes(env(), home)
	if len(hs) != 2 || hs[0].Dir != filepath.Join(home, ".varve") || hs[0].ReadOnly || hs[1].Dir != filepath.Join(home, ".claude") || !hs[1].ReadOnly {
		t.Errorf("defaults: %+v", hs)
	}
	hs = Homes(env("VARVE_HOME", "/v", "CLAUDE_CONFIG_DIR", "~/c"), home)
	if len(hs) != 2 || filepath.ToSlash(hs[0].Dir) != filepath.ToSlash(mustAbs(t, "/v")) || hs[1].Dir != filepath.Join(home, "c") {
		t.Errorf("named: %+v", hs)
	}
	if hs = Homes(env("VARVE_HOME", home), ""); len(hs) != 1 || hs[0].Source != SourceVarve {
		t.Errorf("no user home: %+v", hs)
	}
	if hs = Homes(env("VARVE_HOME", home, "CLAUDE_CONFIG_DIR", home), ""); len(hs) != 1 || hs[0].ReadOnly {
		t.Errorf("one folder for both: %+v", hs)
	}
}

func mustAbs(t *testing.T, name string) string {
	t.Helper()
	abs, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
