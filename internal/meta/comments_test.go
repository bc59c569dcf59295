package meta

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// minComment is the least a package comment has: what the package is for, what
// it is not for, where to start and what it guarantees do not fit into less.
// A main package documents a command, whose manual is its help text.
const (
	minComment     = 3 // sentences
	minMainComment = 1
)

var sentenceEnd = regexp.MustCompile(`[.!?:](\s|$)`)

// TestPackageComments asks for exactly one package comment, in the standard
// form, long enough to tell a reader whether to go on.
func TestPackageComments(t *testing.T) {
	for dir, files := range project(t).packages() {
		var docs []source
		for _, s := range files {
			if s.ast.Doc != nil && !strings.HasSuffix(s.ast.Name.Name, "_test") {
				docs = append(docs, s)
			}
		}
		if len(docs) != 1 {
			t.Errorf("%s has %d package comments, want exactly one (tests included: a second one is shown beside the first)", dir, len(docs))
			continue
		}
		s := docs[0]
		text := s.ast.Doc.Text()
		want, least := "Package "+s.ast.Name.Name+" ", minComment
		if s.ast.Name.Name == "main" {
			name := dir[strings.LastIndexByte(dir, '/')+1:]
			want, least = strings.ToUpper(name[:1])+name[1:]+" ", minMainComment
			if strings.HasPrefix(text, "Command "+name+" ") {
				want = "Command " + name + " "
			}
		}
		if !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment must start with %q", s.path, want)
		}
		if n := len(sentenceEnd.FindAllString(text, -1)); n < least {
			t.Errorf("%s: a package comment of %d sentences; say what it is for, what not, where to start and what it guarantees", s.path, n)
		}
	}
}

// TestExportedComments asks that what a public package exports is documented.
func TestExportedComments(t *testing.T) {
	for _, s := range project(t).gos {
		if s.isTest() || strings.Contains("/"+s.path, "/internal/") || s.ast.Name.Name == "main" {
			continue
		}
		for _, d := range s.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s is exported without a comment", s.fset.Position(d.Pos()), name)
			}
		}
	}
}

// undocumented names the exported identifiers of a declaration that no comment
// covers: neither their own, nor one beside them, nor that of their group.
func undocumented(d ast.Decl) []string {
	var out []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
					out = append(out, spec.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					if n.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
						out = append(out, n.Name)
					}
				}
			}
		}
	}
	return out
}

// exportedReceiver is true for functions and for methods of exported types.
// Methods that only satisfy an interface of the standard library say nothing
// new when they are commented.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	switch d.Name.Name {
	case "Error", "Unwrap", "Is", "String", "Read", "Write", "Close", "MarshalJSON", "UnmarshalJSON", "Len", "Less", "Swap":
		return false
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if idx, ok := typ.(*ast.IndexExpr); ok {
		typ = idx.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// TestExamples: each public library package is usable alone from Go and shows
// it in a runnable example (G-15).
func TestExamples(t *testing.T) {
	for dir, files := range project(t).packages() {
		if !hasCode(files) || strings.Contains("/"+dir+"/", "/internal/") || files[0].ast.Name.Name == "main" {
			continue
		}
		found := false
		for _, s := range files {
			for _, d := range s.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if ok && s.isTest() && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") && hasOutput(s, f) {
					found = true
				}
			}
		}
		if !found {
			t.Errorf("%s is public and has no runnable example (a func Example… with an Output comment)", dir)
		}
	}
}

// hasOutput tells whether an example is run: one without an Output comment is
// only compiled.
func hasOutput(s source, f *ast.FuncDecl) bool {
	for _, g := range s.ast.Comments {
		if g.Pos() > f.Pos() && g.End() < f.End() && regexp.MustCompile(`(?i)^\s*(unordered )?output:`).MatchString(g.Text()) {
			return true
		}
	}
	return false
}
