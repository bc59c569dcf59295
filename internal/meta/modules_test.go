package meta

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Where a module may be linked. The order matters: a module brought along by
// several others may be linked wherever one of them may.
const (
	tests = iota // test files only
	edge         // above engine or in a command
	core         // from message to engine: every embedder pays for it
)

// A pick is a module that the project imports, and what it brings along: modules
// that go.mod must name because of it and that nothing here imports.
type pick struct {
	path   string
	where  int
	why    string
	brings string
}

// picks is everything go.mod may name. A new line needs a reason that an
// embedder would accept who has to audit it.
var picks = []pick{
	{"golang.org/x/sys", core, "system calls the standard library does not offer: locks, file-system types, process start times", ""},
	{"github.com/gofrs/flock", core, "kernel locks on every system behind one call", ""},
	{"github.com/go-json-experiment/json", core, "the token reader of the future standard library; encoding/json is three times slower and accepts less", ""},
	{"github.com/bmatcuk/doublestar/v4", edge, "** in globs, over fs.FS", ""},
	{"go.yaml.in/yaml/v3", edge, "front matter", ""},
	{"github.com/yuin/goldmark", edge, "Markdown as a tree: includes are found in text leaves only", ""},
	{"mvdan.cc/sh/v3", edge, "shell syntax as a tree: what a command may do is read from it, not guessed", ""},
	{"github.com/alecthomas/kong", edge, "flags as a struct; one module, no global state", ""},
	{"github.com/anthropics/anthropic-sdk-go/v2", edge, "the provider's own client; linked by its adapter alone", `
		github.com/bahlo/generic-list-go github.com/buger/jsonparser github.com/go-logr/logr github.com/go-logr/stdr
		github.com/cespare/xxhash/v2 github.com/invopop/jsonschema github.com/pb33f/ordered-map/v2 github.com/wk8/go-ordered-map/v2
		github.com/standard-webhooks/standard-webhooks/libraries
		github.com/tidwall/gjson github.com/tidwall/match github.com/tidwall/pretty github.com/tidwall/sjson
		go.opentelemetry.io/auto/sdk go.opentelemetry.io/otel go.opentelemetry.io/otel/metric go.opentelemetry.io/otel/trace
		go.yaml.in/yaml/v4 golang.org/x/sync`},
	{"github.com/rogpeppe/go-internal", tests, "testscript: the command is tested through its real main function", "golang.org/x/tools golang.org/x/mod golang.org/x/sync"},
	{"pgregory.net/rapid", tests, "property tests with shrinking", ""},
	{"github.com/google/go-cmp", tests, "readable differences", ""},
	{"go.uber.org/goleak", tests, "no goroutine outlives its owner", ""},
}

// picked says where a module may be linked and why it is here. direct is false
// for what is only brought along.
func picked(mod string) (where int, direct bool, why string, ok bool) {
	for _, p := range picks {
		if p.path == mod {
			return p.where, true, p.why, true
		}
		if slices.Contains(strings.Fields(p.brings), mod) && (!ok || p.where > where) {
			where, why, ok = p.where, "brought along by "+p.path, true
		}
	}
	return where, direct, why, ok
}

// coreTop is the last package of the core, the part whose weight every
// embedder carries.
const coreTop = "engine"

// heavy is the part of the standard library the core must not link.
var heavy = []struct{ path, why string }{
	{"net/http", "an embedder brings his own model call; the core never talks to a network, and HTTP costs 5 MB and start-up time"},
	{"database/sql", "the log is the truth; an index over it is optional and lives above"},
	{"os/exec", "the core starts no process"},
	{"html/template", "presentation lives above"},
	{"testing", "test support in a product registers flags and links a framework"},
	{"expvar", "registers an HTTP handler on import"},
	{"plugin", "turns off dead-code removal"},
}

type goPackage struct {
	ImportPath string
	Name       string
	Standard   bool
	Deps       []string
	Module     *struct {
		Path string
		Main bool
	}
}

// list asks the go command what is linked, for one system. It only reads.
func list(t *testing.T, goos string) map[string]goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Standard,Deps,Module", "./...")
	cmd.Dir = project(t).root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list for %s: %v\n%s", goos, err, exit.Stderr)
		}
		t.Fatal(err)
	}
	pkgs := map[string]goPackage{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p goPackage
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs[p.ImportPath] = p
	}
	return pkgs
}

// isTwin tells whether a package exists for tests and may link what they link.
func isTwin(pkg string) bool {
	for _, twin := range []string{"vfs/crashfs", "modelsim", "cmd/modelsim", "loggen", "tokenfit"} {
		if under(pkg, twin) {
			return true
		}
	}
	return strings.HasSuffix(pkg, "test")
}

// TestWeight looks at everything the packages link, not only at what they
// import themselves, on each system we build for.
func TestWeight(t *testing.T) {
	top, _, _ := rank(coreTop)
	for _, goos := range []string{"linux", "darwin", "windows"} {
		pkgs := list(t, goos)
		for _, p := range pkgs {
			if p.Module == nil || !p.Module.Main {
				continue
			}
			name := short(p.ImportPath)
			r, _, ok := rank(name)
			if !ok {
				continue // TestLayers says so
			}
			for _, dep := range p.Deps {
				if r <= top {
					for _, h := range heavy {
						if dep == h.path && !(dep == "testing" && isTwin(name)) {
							t.Errorf("%s links %s on %s: %s", name, dep, goos, h.why)
						}
					}
				}
				if d := pkgs[dep]; d.Module != nil && !d.Module.Main {
					checkModule(t, name, d.Module.Path, r <= top, goos)
				}
			}
		}
	}
}

func checkModule(t *testing.T, pkg, mod string, inCore bool, goos string) {
	t.Helper()
	where, _, why, ok := picked(mod)
	switch {
	case !ok:
		t.Errorf("%s links module %s on %s, which is not in the table: give it a line with a reason", pkg, mod, goos)
	case where == tests && !isTwin(pkg):
		t.Errorf("%s links %s on %s, which is for tests only (%s)", pkg, mod, goos, why)
	case where < core && inCore && !isTwin(pkg):
		t.Errorf("%s is in the core and links %s on %s, which may be linked above it only (%s)", pkg, mod, goos, why)
	}
}

// TestModules holds go.mod against the table.
func TestModules(t *testing.T) {
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = project(t).root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Module  struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace, Exclude, Tool []any
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module {
		t.Errorf("module path is %s", mod.Module.Path)
	}
	if len(mod.Replace)+len(mod.Exclude)+len(mod.Tool) > 0 {
		t.Error("go.mod has replace, exclude or tool lines: an importer would not get them, or would get what he does not need; tools are pinned in .ci/tools")
	}
	for _, r := range mod.Require {
		_, direct, why, ok := picked(r.Path)
		switch {
		case !ok:
			t.Errorf("go.mod requires %s, which is not in the table: give it a line with a reason", r.Path)
		case !direct && !r.Indirect:
			t.Errorf("go.mod requires %s directly; the table says it is only %s", r.Path, why)
		}
	}
}
