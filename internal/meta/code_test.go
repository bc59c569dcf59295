package meta

import (
	"go/ast"
	"slices"
	"testing"
)

// goroutines lists every file that starts one, and who waits for it. Code is
// sequential unless it is in this list (tests apart).
var goroutines = map[string]string{
	"transcript/lease/heartbeat.go":   "the beat is ended and waited for by Lease.Release",
	"transcript/decode.go":            "Decode waits on a WaitGroup before it returns",
	"transcript/parts.go":             "the call waits on a WaitGroup before it returns",
	"transcript/writer_registry.go":   "Writer.Close waits until no writer drains any more",
	"compact/draft.go":                "Ladder.Close ends the draft in the making and waits for it",
	"internal/cli/main.go":            "signalWatch.stop waits for the goroutine that waits for signals",
	"internal/foreign/read.go":        "decodeAll waits on a WaitGroup before it returns",
	"internal/replay/recording.go":    "Index waits on a WaitGroup for those that decode before it counts",
	"internal/recall/recall.go":       "Search and rankAll wait on a WaitGroup before they return",
	"internal/recall/scan.go":         "scan waits for the goroutines that search a part each",
	"transcript/writer.go":            "Writer.Close stops the drain timer and waits for a drain that has begun",
	"llm/anthropic/stream.go":         "stream defers the timer's Stop; its function only cancels the stream's own context",
	"modelsim/server.go":              "Server.Close waits for the serving goroutine; what Close wakes only cancels a context",
	"internal/sources/finder.go":      "the call waits on a WaitGroup before it returns",
	"internal/vfs/vfstest/vfstest.go": "the suite waits on a WaitGroup before it returns",
}

// panics lists every file that may panic, each for a mistake of the calling
// code. Input never panics. Test support may: there a panic is a failed test.
var panics = map[string]string{
	"internal/cli/main.go": "the parser's way out after help, recovered where it was called",
	"transcript/build.go":  "an entry built here from Go values is not JSON: the builder is wrong, not the input",
}

// TestGoroutines: starting one is a decision with an owner, not a habit.
func TestGoroutines(t *testing.T) {
	used := map[string]bool{}
	for _, s := range project(t).gos {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if startsGoroutine(n) {
				used[s.path] = true
				if goroutines[s.path] == "" {
					t.Errorf("%s starts a goroutine: say in the table who waits for it", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	stale(t, "goroutines", goroutines, used)
}

// startsGoroutine knows the statement, the method Go of WaitGroup and of groups
// made like it, and the timers that run a function of their own.
func startsGoroutine(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		return true
	case *ast.CallExpr:
		sel, ok := n.Fun.(*ast.SelectorExpr)
		return ok && (sel.Sel.Name == "Go" && len(n.Args) == 1 || sel.Sel.Name == "AfterFunc")
	}
	return false
}

// TestPanics: no panic on input, and none by habit.
func TestPanics(t *testing.T) {
	used := map[string]bool{}
	for _, s := range project(t).gos {
		if s.isTest() || isTwin(short(s.dir())) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
				used[s.path] = true
				if panics[s.path] == "" {
					t.Errorf("%s panics: return an error, or say in the table whose mistake it reports", s.fset.Position(n.Pos()))
				}
			}
			return true
		})
	}
	stale(t, "panics", panics, used)
}

// TestExit: only a main function ends the process; deferred work elsewhere
// would be lost.
func TestExit(t *testing.T) {
	for _, s := range project(t).gos {
		if s.isTest() || s.ast.Name.Name == "main" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if ok && (id.Name == "os" && sel.Sel.Name == "Exit" || id.Name == "log" && slices.Contains([]string{"Fatal", "Fatalf", "Fatalln"}, sel.Sel.Name)) {
				t.Errorf("%s: %s.%s ends the process; return an error to main", s.fset.Position(n.Pos()), id.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// stale fails on lines of a table that nothing needs any more.
func stale(t *testing.T, table string, lines map[string]string, used map[string]bool) {
	t.Helper()
	for _, file := range sortedKeys(lines) {
		if !used[file] {
			t.Errorf("the table %s names %s, which does not need its line", table, file)
		}
	}
}
