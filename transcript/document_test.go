package transcript_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"varve.dev/transcript"
)

// TestFormatDocument: docs/transcript-format.md names every type, subtype and kind
// of fault that the code knows, every member that it reads, and every member of a
// vector. Nothing of the format is in the code alone.
func TestFormatDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "transcript-format.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	named := func(what, name string) {
		if !strings.Contains(doc, "`"+name+"`") && !strings.Contains(doc, "`system/"+name+"`") && !mentions(doc, name) {
			t.Errorf("the document does not name the %s %s", what, name)
		}
	}
	for _, file := range []string{"entry.go", "fault.go", "writer_meta.go"} {
		for _, v := range stringConstants(t, file) {
			named("constant", v)
		}
	}
	for _, v := range []any{vector{}, vectorGap{}, vectorFault{}, transcript.BoundaryOwn{}, transcript.PreservedMessages{}, transcript.PreservedSegment{},
		transcript.Replacement{}, transcript.Frame{}, transcript.Strip{}, transcript.Repair{}, transcript.Undo{}, transcript.Receipt{}, transcript.Covers{},
		transcript.PRLink{}, transcript.FileBackup{}, transcript.FileSnapshot{}, transcript.FileDelta{}, transcript.QueueOperation{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if tag == "" {
				t.Fatalf("%v has a member without a name", typ)
			}
			named("member of "+typ.Name(), tag)
		}
	}
}

// mentions reports whether name stands as a word inside a code span, as in
// `varve{frame, provider}`.
func mentions(doc, name string) bool {
	for i, span := range strings.Split(doc, "`") {
		if i%2 == 0 {
			continue
		}
		for _, word := range strings.FieldsFunc(span, func(r rune) bool { return strings.ContainsRune("{}[](), :.", r) }) {
			if word == name {
				return true
			}
		}
	}
	return false
}

// stringConstants are the values of the constants of a file that are plain strings.
func stringConstants(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			for _, v := range spec.(*ast.ValueSpec).Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					s, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					out = append(out, s)
				}
			}
		}
	}
	return out
}
