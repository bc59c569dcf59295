package meta

import (
	"errors"
	"go/ast"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checked are the documents whose paths, packages and commands must exist.
var checked = []string{"README.md", "AGENTS.md", "docs/architecture.md", "docs/benchmarks.md"}

// A doc is one document taken apart.
type doc struct {
	name  string
	text  string
	spans []string // `code spans`
	shell []string // lines of ```sh blocks, the prompt removed
}

var (
	fence    = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```")
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func readDoc(t *testing.T, name string) doc {
	t.Helper()
	text, ok := project(t).texts[name]
	if !ok {
		t.Fatalf("%s is missing", name)
	}
	d := doc{name: name, text: string(text)}
	for _, m := range fence.FindAllStringSubmatch(d.text, -1) {
		if m[1] != "sh" {
			continue
		}
		for line := range strings.SplitSeq(m[2], "\n") {
			line, isPrompt := strings.CutPrefix(line, "$ ")
			// In a block with prompts the other lines are output.
			if line != "" && (isPrompt || !strings.Contains(m[2], "$ ")) {
				d.shell = append(d.shell, line)
			}
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(d.text, ""), -1) {
		d.spans = append(d.spans, m[1])
	}
	return d
}

// TestDocPaths: a code span that names a file or folder of the project names
// one that exists, and so does every relative link.
func TestDocPaths(t *testing.T) {
	tr := project(t)
	exists := func(p string) bool {
		_, err := os.Stat(filepath.Join(tr.root, filepath.FromSlash(p)))
		return err == nil
	}
	for _, name := range checked {
		d := readDoc(t, name)
		for _, s := range d.spans {
			p, claimed := claimedPath(s)
			if claimed && !exists(p) && !exists(path.Join(path.Dir(name), p)) && !exists("internal/"+p) {
				t.Errorf("%s names `%s`, which does not exist", name, s)
			}
		}
	}
	for name, text := range tr.texts {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range mdLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target != "" && !strings.Contains(target, "://") && !exists(path.Join(path.Dir(name), target)) {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
	}
}

var plainPath = regexp.MustCompile(`^\.?[A-Za-z0-9_-][A-Za-z0-9_./-]*$`)

// claimedPath tells whether a code span claims that a path of the project
// exists: plain characters, and either a known first element or the ending of
// a document. Paths outside (~, $, .., placeholders) are not ours to check.
func claimedPath(span string) (string, bool) {
	p := strings.TrimSuffix(span, "/")
	if !plainPath.MatchString(p) || strings.Contains(p, "..") {
		return "", false
	}
	first, _, nested := strings.Cut(p, "/")
	if _, _, ok := rank(first); ok && nested {
		return p, true
	}
	switch {
	case first == "internal" || first == "docs" || first == "cmd" || first == ".ci":
		return p, true
	case first == "README.md" || first == "AGENTS.md" || first == "CHANGELOG.md" || first == "Makefile" || first == "LICENSE" || first == "staticcheck.conf":
		return p, true
	}
	return "", false
}

// TestClaimedPath shows what the rule takes for a claim.
func TestClaimedPath(t *testing.T) {
	for span, want := range map[string]bool{
		"internal/vfs": true, "docs/x.md": true, ".ci/run": true, "transcript/lease": true,
		"~/.claude": false, "../shared/data": false, "a b": false, "message.id": false,
		"projects/<slug>": false, "transcript": false, "AGENTS.md": true,
	} {
		if _, got := claimedPath(span); got != want {
			t.Errorf("claimedPath(%q) = %v", span, got)
		}
	}
}

var makeTarget = regexp.MustCompile(`(?m)^([a-z][a-z-]*(?: [a-z][a-z-]*)*):`)

// TestDocCommands: the commands that the documents tell people to type exist.
func TestDocCommands(t *testing.T) {
	tr := project(t)
	var targets []string
	for _, m := range makeTarget.FindAllStringSubmatch(string(tr.texts["Makefile"]), -1) {
		targets = append(targets, strings.Fields(m[1])...)
	}
	for _, name := range checked {
		d := readDoc(t, name)
		for _, line := range slices.Concat(d.shell, d.spans) {
			words := strings.Fields(line)
			switch {
			case len(words) > 1 && words[0] == "make":
				for _, w := range words[1:] {
					if !strings.Contains(w, "=") && !slices.Contains(targets, w) {
						t.Errorf("%s says %q: no such target", name, line)
					}
				}
			case len(words) > 2 && words[0] == "go":
				checkGoCommand(t, tr, name, line, words)
			case len(words) > 1 && (words[0] == "varve" || words[0] == "bin/varve"):
				checkVarve(t, name, line, words[1:])
			}
		}
	}
}

// checkGoCommand checks the package folders that a go command names.
func checkGoCommand(t *testing.T, tr *tree, doc, line string, words []string) {
	for i, w := range words {
		dir, ok := strings.CutPrefix(w, "./")
		if !ok {
			continue
		}
		dir = strings.TrimSuffix(strings.TrimSuffix(dir, "..."), "/")
		if st, err := os.Stat(filepath.Join(tr.root, dir)); err != nil || !st.IsDir() {
			t.Errorf("%s says %q: no folder %s", doc, line, w)
			return
		}
		if dir == "cmd/varve" && words[1] == "run" {
			checkVarve(t, doc, line, words[i+1:])
		}
		return
	}
}

// buildVarve builds the command once for all documents.
var buildVarve = sync.OnceValues(func() (string, error) {
	tr, err := loadTree()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "varve-meta")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "varve")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "./cmd/varve")
	cmd.Dir = tr.root
	cmd.Stderr = os.Stderr
	return bin, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := builtVarve(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// varveBuilt remembers that a document asked for the command.
var varveBuilt bool

func builtVarve() (string, error) {
	if !varveBuilt {
		return "", os.ErrNotExist
	}
	return buildVarve()
}

// checkVarve asks the command itself: its help for these words must succeed.
// Everything from the first flag or argument on is left out.
func checkVarve(t *testing.T, doc, line string, args []string) {
	t.Helper()
	varveBuilt = true
	bin, err := buildVarve()
	if err != nil {
		t.Errorf("%s says %q and cmd/varve does not build: %v", doc, line, err)
		return
	}
	var commands []string
	for _, a := range args {
		if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(a) || len(commands) == 2 {
			break
		}
		commands = append(commands, a)
	}
	out, err := exec.Command(bin, append(commands, "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("%s says %q; varve %s --help: %v\n%s", doc, line, strings.Join(commands, " "), err, out)
	}
}

// TestReadmeSession runs the commands that README.md shows with their output, and
// compares. Only what goes to standard output is shown there, in UTC.
func TestReadmeSession(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are shown with slashes")
	}
	runs := 0
	for _, m := range fence.FindAllStringSubmatch(readDoc(t, "README.md").text, -1) {
		line, want, _ := strings.Cut(m[2], "\n")
		args, ok := strings.CutPrefix(line, "$ go run ./cmd/varve ")
		if m[1] != "sh" || !ok {
			continue
		}
		runs++
		varveBuilt = true
		bin, err := buildVarve()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, strings.Fields(args)...)
		cmd.Dir = project(t).root
		home := t.TempDir()
		cmd.Env = append(os.Environ(), "TZ=UTC", "HOME="+home, "VARVE_HOME="+home, "CLAUDE_CONFIG_DIR="+home, "NO_COLOR=1")
		got, err := cmd.Output()
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			t.Fatal(err)
		}
		if untimed(string(got)) != untimed(want) {
			t.Errorf("README.md shows for %q\n%s\nbut it prints\n%s", line, want, got)
		}
	}
	if runs == 0 {
		t.Error("README.md shows no session")
	}
}

var spent = regexp.MustCompile(` *[0-9]+ ms`)

// untimed leaves out what differs from run to run: the milliseconds that something
// took, and blanks at the end.
func untimed(s string) string { return strings.TrimRight(spent.ReplaceAllString(s, " ms"), "\n") }

// TestBenchmarksExist: docs/benchmarks.md names benchmarks that can be run.
func TestBenchmarksExist(t *testing.T) {
	have := map[string]bool{}
	for _, s := range project(t).gos {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() {
				have[f.Name.Name] = true
			}
		}
	}
	for _, s := range readDoc(t, "docs/benchmarks.md").spans {
		if strings.HasPrefix(s, "Benchmark") && !have[s] {
			t.Errorf("docs/benchmarks.md names %s, which does not exist", s)
		}
	}
}

// TestAgentsTable: AGENTS.md is one page and its table names every package.
func TestAgentsTable(t *testing.T) {
	d := readDoc(t, "AGENTS.md")
	if n := strings.Count(d.text, "\n"); n > 80 {
		t.Errorf("AGENTS.md has %d lines; it is read before every change and must stay a page", n)
	}
	for dir, files := range project(t).packages() {
		if hasCode(files) && !slices.Contains(d.spans, short(dir)) {
			t.Errorf("AGENTS.md does not name package `%s`", short(dir))
		}
	}
}

var heading = regexp.MustCompile("(?m)^###+ `([^`]+)`")

// TestArchitectureNamesPackages: docs/architecture.md has one section for each
// package, headed by its folder, and none for a package that does not exist.
func TestArchitectureNamesPackages(t *testing.T) {
	d := readDoc(t, "docs/architecture.md")
	seen := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(d.text, -1) {
		seen[m[1]] = true
	}
	for dir, files := range project(t).packages() {
		if hasCode(files) && !seen[dir] {
			t.Errorf("docs/architecture.md has no section for %s", dir)
		}
		delete(seen, dir)
	}
	for _, dir := range sortedKeys(seen) {
		t.Errorf("docs/architecture.md describes %s, which does not exist", dir)
	}
}

// TestReadme: no links that rot, and every public package is introduced.
func TestReadme(t *testing.T) {
	d := readDoc(t, "README.md")
	if strings.Contains(d.text, "://") || strings.Contains(d.text, "![") {
		t.Error("README.md has a URL or an image; it must be readable and true in a clone without a network")
	}
	for dir, files := range project(t).packages() {
		if hasCode(files) && slices.Contains(public, dir) && !slices.Contains(d.spans, dir) && files[0].ast.Name.Name != "main" {
			t.Errorf("README.md does not name the public package `%s`", dir)
		}
	}
	changes := readDoc(t, "CHANGELOG.md")
	if !strings.Contains(changes.text, "## Unreleased") {
		t.Error("CHANGELOG.md has no section \"Unreleased\"")
	}
}
