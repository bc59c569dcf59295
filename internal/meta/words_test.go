package meta

import (
	"bytes"
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// openWork finds the marks people leave for later. A thing is done, or is in
// the issue tracker; the source says what is.
var openWork = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)

// TestNoOpenWork looks into the comments of Go files (string literals may name
// a tool or a token of that shape) and into the whole of every other text.
func TestNoOpenWork(t *testing.T) {
	tr := project(t)
	for _, s := range tr.gos {
		for _, g := range s.ast.Comments {
			if m := openWork.FindString(g.Text()); m != "" {
				t.Errorf("%s: comment says %s", s.fset.Position(g.Pos()), m)
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "TO"+"DO" {
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "context" {
					t.Errorf("%s: a context that is not decided yet", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for name, text := range tr.texts {
		if isProse(name) {
			if m := openWork.Find(text); m != nil {
				t.Errorf("%s says %s", name, m)
			}
		}
	}
}

// isProse tells which files are documentation or scripts of the project.
func isProse(name string) bool {
	return strings.HasSuffix(name, ".md") || name == "Makefile" ||
		strings.HasPrefix(name, ".ci/") && !strings.HasSuffix(name, ".sum")
}

// A leak is something that belongs to one person's machine or network and not
// to the product. Each pattern is tried only on texts that hold one of its
// literals: a regular expression without a fixed beginning is slow, and slower
// under the race detector.
type leak struct {
	what     string
	literals []string
	re       *regexp.Regexp
}

// begin is where a path can begin inside source text: not in the middle of
// another path or a word.
const begin = `(?:^|[\s"'=(\x60,;|])`

// hosts are split so that this file does not name them.
var hosts = []string{"proxy.golang." + "org", "sum.golang." + "org", "registry.npmjs." + "org", "pypi." + "org", "deb.debian." + "org", "crates." + "io", "ghcr." + "io"}

var leaks = []leak{
	{"a home directory", []string{"/home/", "/Users/", "sers\\"}, regexp.MustCompile(`(?:/home/|/Users/|[Uu]sers\\+)([A-Za-z0-9_-]+)(?:[/\\"'\s\x60),;]|$)`)},
	{"the home directory of root", []string{"/root/"}, regexp.MustCompile(begin + `/root/[A-Za-z.]`)},
	{"somebody's work directory", []string{"/work/"}, regexp.MustCompile(begin + `/work/(?:main|notes|shared)\b`)},
	{registry, hosts, regexp.MustCompile(`\b(?:` + strings.ReplaceAll(strings.Join(hosts, "|"), ".", `\.`) + `)\b`)},
	{"a note of its making", []string{"CONTRACTS" + ".md"}, regexp.MustCompile(`CONTRACTS` + `\.md`)},
}

const registry = "a package registry"

// invented are the names of people who do not exist; examples live in their
// homes.
var invented = strings.Fields("alice bob carol dave user me you ada dev USER someone name x u jane joe projects")

// registryUsers may name a registry: what they do is about it.
var registryUsers = map[string]string{
	"internal/secret": "a rule finds tokens by the host they stand beside",
}

func findLeak(name, text string) (what, found string) {
	for _, l := range leaks {
		if !slices.ContainsFunc(l.literals, func(lit string) bool { return strings.Contains(text, lit) }) {
			continue
		}
		for _, m := range l.re.FindAllStringSubmatch(text, -1) {
			if len(m) > 1 && slices.Contains(invented, m[1]) {
				continue
			}
			if _, ok := registryUsers[path.Dir(name)]; ok && l.what == registry {
				continue
			}
			return l.what, strings.TrimSpace(m[0])
		}
	}
	return "", ""
}

func TestFindLeak(t *testing.T) {
	for _, c := range []struct {
		text string
		leak bool
	}{
		{`cwd: "/home/alice/app"`, false},
		{`cwd: "/home/` + `mallory/app"`, true},
		{`C:\Users\` + `mallory\app`, true},
		{`C:\Users\bob\app`, false},
		{`"/root/` + `x"`, true},
		{`36 35 98:0 /root /mount`, false},
		{`os.Root/x`, false},
		{`"/wo` + `rk/main"`, true},
		{`/work/app, a/work/b and /workspace/c`, false},
		{`GOPROXY=https://proxy.golang.` + `org`, true},
	} {
		if what, found := findLeak("x.go", c.text); (what != "") != c.leak {
			t.Errorf("findLeak(%q) = %q, %q", c.text, what, found)
		}
	}
}

// TestProductOnly: the repository speaks of the product, not of the machine
// it was made on.
func TestProductOnly(t *testing.T) {
	tr := project(t)
	for name, text := range tr.texts {
		if bytes.Contains(text, []byte(tr.root+string(filepath.Separator))) {
			t.Errorf("%s names the folder of this checkout", name)
		}
		if name == "LICENSE" || strings.HasSuffix(name, "go.sum") {
			continue
		}
		if what, found := findLeak(name, string(text)); what != "" {
			t.Errorf("%s names %s: %s", name, what, found)
		}
	}
}
