package meta

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A row is one layer. A package may import packages of lower rows and, within
// its own row, only the folder it lies in (llm/anthropic may import llm; llm
// never the other way round; tool and mcp never each other) and the internal
// folders in it.
//
// Names leave out "internal/": whether a package is public is the subject of
// the list below the table. A name covers the folders under it unless they are
// named themselves. The table names what may exist, not what does.
type row struct {
	packages string
	why      string
}

// layers is the architecture, from the ground up.
var layers = []row{
	{"vfs secret term", "the ground: the file-system seam, redaction, what may reach a terminal; each is one idea and needs no other package"},
	{"vfs/crashfs settings", "a twin of the seam for tests; layered configuration read through the seam"},
	{"message", "the nouns; knows no log, no file, no provider"},
	{"transcript/lease", "who may write a log; knows files but not what is in them"},
	{"transcript", "the log; knows nothing of what a model is sent"},
	{"view", "log to messages, a pure function; above it everything may change between versions, it may not"},
	{"tokens caps", "how large, and what a model can bear: data and arithmetic"},
	{"validate", "judges a request; see the ban on view below"},
	{"ledger notes recall results", "facts without a model; each a rung's material, none knows the ladder"},
	{"compact", "the ladder: plans edits, never sends anything"},
	{"engine", "the only way from log to request; the end of what an embedder needs at least"},
	{"sources export foreign", "where logs lie on disk, and in and out of other shapes; no model involved"},
	{"search", "a disposable index over sources"},
	{"llm modelsim", "what is outside: providers behind one interface, and the scripted twin of them"},
	{"session", "the store: open, fork, list, resume"},
	{"team", "sharing memory; its server is linked by its command only"},
	{"instructions checkpoint worktree", "files of the user's project; callbacks instead of importing hook"},
	{"memory", "what is kept between sessions"},
	{"trust shellsyntax", "what a project may execute; what a command line does"},
	{"permission", "rules over tools' requests"},
	{"mcp hook skill", "extensions; never import agent or session's callers"},
	{"tool", "registry, limits and built-in tools; Task goes through an interface"},
	{"agent", "the loop that ties the rest together"},
	{"replay doctor presence control otel tui", "faces of the same library"},
	{"cli", "commands, output, exit codes"},
	{"cmd/varve cmd/modelsim", "main functions: flags of the process, nothing else"},
	{"loggen tokenfit", "generated logs for tests, generated texts for the fit of the estimator's weights; nothing of the product"},
	{"meta", "the tests of this folder"},
}

// public lists the packages that are not under internal/. A public package is
// a promise; a new one needs a reason to be here.
var public = strings.Fields(`
	message transcript transcript/lease view tokens caps compact engine llm modelsim session
	agent tool permission memory instructions checkpoint worktree
	llm/anthropic llm/openai llm/chat llm/gemini tool/std
	cmd/varve cmd/modelsim`)

// A ban forbids one package to import another although the rows would allow it.
type ban struct{ from, to, why string }

var bans = []ban{
	{"validate", "view", "the validator is the second opinion on what the view built; code shared between them would share its mistakes"},
	{"validate", "message", "the same: it reads the bytes that are sent with encoding/json and nothing of ours"},
	{"mcp", "session", "a server of somebody else must not reach the store"},
	{"hook", "session", "a hook sees events, not the store"},
	{"skill", "session", "a skill is text and permissions, not a client of the store"},
	{"*", "vfs/crashfs", "the crash twin is for tests; a product that links it has a second file system"},
	{"*", "modelsim", "the scripted outside is nobody's dependency but tests'"},
	{"*", "loggen", "generated logs are for tests"},
	{"*", "tokenfit", "the estimator's weights are numbers in the source; what computed them is not linked"},
	{"*", "meta", "tests of the project are not part of it"},
}

// exempt are the users a ban with from "*" does not concern.
var exempt = map[string][]string{
	"modelsim": {"cmd/modelsim"},
}

// rank finds the row of a package named without "internal/", and the name in
// the table that covers it. The longest covering name wins.
func rank(pkg string) (row int, name string, ok bool) {
	for name := pkg; name != "." && name != "/"; name = path.Dir(name) {
		for i, r := range layers {
			if slices.Contains(strings.Fields(r.packages), name) {
				return i, name, true
			}
		}
	}
	return 0, "", false
}

// short is a folder or import path of the project as the table names it.
func short(dir string) string {
	dir = strings.TrimPrefix(strings.TrimPrefix(dir, module), "/")
	return strings.TrimPrefix(dir, "internal/")
}

// under tells whether pkg is name or lies below it.
func under(pkg, name string) bool {
	return pkg == name || strings.HasPrefix(pkg, name+"/")
}

// checkImport returns what is wrong with one import, "" when nothing is. Both
// names are as in the table.
func checkImport(from, to string) string {
	for _, b := range bans {
		if !under(to, b.to) || under(from, b.to) || slices.Contains(exempt[b.to], from) {
			continue
		}
		if b.from == "*" || under(from, b.from) {
			return b.why
		}
	}
	f, _, ok := rank(from)
	if !ok {
		return fmt.Sprintf("%s is in no row of the table: give it one, with a reason", from)
	}
	t, _, ok := rank(to)
	if !ok {
		return fmt.Sprintf("%s is in no row of the table: give it one, with a reason", to)
	}
	switch {
	case t < f:
		return ""
	case t > f:
		return fmt.Sprintf("arrows point downwards only: %s (%s) lies above %s (%s)", to, layers[t].why, from, layers[f].why)
	case strings.HasPrefix(from, to+"/"):
		return "" // a folder may build on the one it lies in
	case strings.HasPrefix(to, from+"/internal/"):
		return "" // what a folder keeps for itself
	default:
		return fmt.Sprintf("%s and %s share a row (%s): what they share belongs below, what joins them above", from, to, layers[t].why)
	}
}

// TestCheckImport shows that the rule can fail, and on what.
func TestCheckImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"transcript", "message", true},
		{"message", "transcript", false},
		{"transcript", "transcript/lease", true},
		{"transcript/lease", "transcript", false},
		{"llm/anthropic", "llm", true},
		{"llm", "llm/anthropic", false},
		{"llm/anthropic", "llm/openai", false},
		{"llm/anthropic", "llm/anthropic/internal/wire", true},
		{"llm/anthropic/internal/wire", "llm", true},
		{"llm/openai", "llm/anthropic/internal/wire", false},
		{"vfs/crashfs", "vfs", true},
		{"transcript", "vfs/crashfs", false},
		{"engine", "modelsim", false},
		{"agent", "modelsim", false},
		{"cmd/modelsim", "modelsim", true},
		{"validate", "message", false},
		{"validate", "view", false},
		{"hook", "session", false},
		{"mcp", "skill", false},
		{"nowhere", "message", false},
		{"message", "nowhere", false},
		{"cmd/varve", "cli", true},
	} {
		if got := checkImport(c.from, c.to); (got == "") != c.ok {
			t.Errorf("checkImport(%s, %s) = %q", c.from, c.to, got)
		}
	}
}

// TestTable keeps the table itself sound: no name twice, a reason in every row.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range layers {
		if len(r.why) < 20 {
			t.Errorf("row %q has no reason", r.packages)
		}
		for _, name := range strings.Fields(r.packages) {
			if seen[name] {
				t.Errorf("%s is in two rows", name)
			}
			seen[name] = true
		}
	}
	for _, name := range public {
		if _, _, ok := rank(name); !ok {
			t.Errorf("public package %s is in no row", name)
		}
	}
}

// TestLayers reads the imports of every file that is not a test, whatever
// system it is built for, and holds them against the table. Tests may import
// what they like: a test of a low layer may drive a high one.
func TestLayers(t *testing.T) {
	checked := 0
	for _, s := range project(t).gos {
		if s.isTest() {
			continue
		}
		from := short(s.dir())
		if _, _, ok := rank(from); !ok {
			t.Errorf("%s: package %s is in no row of the table: give it one, with a reason", s.path, from)
			continue
		}
		for _, spec := range s.ast.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !under(to, module) {
				continue
			}
			checked++
			if msg := checkImport(from, short(to)); msg != "" {
				t.Errorf("%s imports %s: %s", s.path, to, msg)
			}
		}
	}
	t.Logf("%d imports within the module", checked)
}

// TestPublic fails when a package is public that the list does not name, or
// internal although the list promises it.
func TestPublic(t *testing.T) {
	for dir, files := range project(t).packages() {
		if !hasCode(files) || strings.HasPrefix(dir, ".ci/") {
			continue
		}
		internal := strings.Contains("/"+dir+"/", "/internal/")
		promised := slices.Contains(public, short(dir))
		if !internal && !promised {
			t.Errorf("%s is public but not in the list of public packages: move it under internal/ or give the promise", dir)
		}
		if internal && promised {
			t.Errorf("%s is promised as public but lies under internal/", dir)
		}
	}
}
