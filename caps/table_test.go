package caps

import (
	"strings"
	"testing"
)

// TestParse: the embedded table is whole, and a broken one is an error, not a panic.
func TestParse(t *testing.T) {
	if err := whole(file); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "[]", `{"providers":[{"name":"a","models":[{"like":"nobody"}]}]}`, `{"providers":[{"name":"a","models":[5]}]}`,
		`{"families":{"a":{"like":"a"}}}`, `{"families":{"a":{"like":"b"},"b":{"like":"a"}}}`,
		`{"providers":[{"name":"a","modelsOf":"b"}]}`, `{"providers":[{"name":"a","modelsOf":"a"}]}`, `{"families":{"a":{"window":"x"}},"providers":[{"name":"a","models":[{"like":"a"}]}]}`} {
		if err := whole([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "caps: table: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// whole parses a table and decodes every list in it.
func whole(data []byte) error {
	tab, err := parse(data)
	if err != nil {
		return err
	}
	for i := range tab.providers {
		if _, err := tab.list(&tab.providers[i]); err != nil {
			return err
		}
	}
	return nil
}

// TestFallbacks: the family of unknown models of every provider is in the table, so that nothing of it is lost silently.
func TestFallbacks(t *testing.T) {
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tab.providers {
		if _, ok := tab.families[p.Unknown]; !ok {
			t.Errorf("%s: no family %q", p.Name, p.Unknown)
		}
		m := tab.unknown(&p, "x")
		want := DefaultWindow
		if m.Local {
			want = LocalWindow
		}
		if m.Window != want || m.Price.Known() || m.TokenFactor == 0 {
			t.Errorf("%s: %+v", p.Name, m)
		}
	}
}

// BenchmarkParse is what the first question costs: the table, and one provider's models.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		tab, err := parse(file)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tab.list(tab.provider("anthropic")); err != nil {
			b.Fatal(err)
		}
	}
}
