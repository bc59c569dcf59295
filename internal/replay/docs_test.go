package replay_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"varve.dev/internal/replay"
)

// B-5, U-4: the document of `varve replay --json` is described: every member of it
// stands in docs/replay.md, and the page's description knows every policy and rung.
func TestDocumented(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "replay.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	seen := map[reflect.Type]bool{}
	var in func(typ reflect.Type)
	in = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			in(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if seen[typ] || typ == reflect.TypeFor[time.Time]() {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(doc, name) {
				t.Errorf("docs/replay.md does not name the member %s of %s", name, typ.Name())
			}
			in(f.Type)
		}
	}
	in(reflect.TypeFor[replay.Result]())
	for _, p := range replay.Policies() {
		if !strings.Contains(doc, "`"+p.Name+"`") {
			t.Errorf("docs/replay.md does not name the policy %s", p.Name)
		}
	}
}
