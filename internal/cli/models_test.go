package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/modelsim"
)

func modelsOf(t *testing.T, p process, args ...string) (modelsJSON, string) {
	t.Helper()
	out, errs, code := p.run(t, append([]string{"models", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var doc modelsJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return doc, errs
}

func named(doc modelsJSON, name string) *modelJSON {
	for i := range doc.Models {
		if doc.Models[i].Name == name {
			return &doc.Models[i]
		}
	}
	return nil
}

// C-0, B-3: the table is shown without a network, a key or a home.
func TestModelsOffline(t *testing.T) {
	p := process{dir: t.TempDir()}
	doc, errs := modelsOf(t, p)
	if errs != "" || len(doc.Models) != len(caps.Models()) || doc.Table != caps.Dated() || doc.Asked != "" {
		t.Errorf("%d of %d models, table %q, asked %q, said %q", len(doc.Models), len(caps.Models()), doc.Table, doc.Asked, errs)
	}
	m := named(doc, "claude-sonnet-4-6")
	if want, _ := caps.Find("anthropic/claude-sonnet-4-6"); m == nil || m.Window != want.Window || m.Origin != "table" || m.Price.Input != want.Price.Input {
		t.Errorf("%+v", m)
	}
	out, _, code := p.run(t, "models", "SONNET-4-6")
	if code != 0 || !strings.Contains(out, "anthropic/claude-sonnet-4-6") || strings.Contains(out, "haiku") {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, errs, code := p.run(t, "models", "nobody"); code != 1 || !strings.Contains(errs, "no model is named like nobody") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// What the provider says wins over the table, is kept for the next time, and may be
// deleted or damaged without harm.
func TestModelsRefresh(t *testing.T) {
	sim := modelsim.ForTest(t, modelsim.Config{Models: map[string]modelsim.Model{"claude-sonnet-4-6": {Window: 654_321}}})
	p := process{dir: t.TempDir(), cache: t.TempDir(), env: map[string]string{}}
	if _, errs, code := p.run(t, "models", "--refresh"); code != 1 || !strings.Contains(errs, "ANTHROPIC_API_KEY") {
		t.Errorf("without a key: exit %d, %s", code, errs)
	}
	p.env["ANTHROPIC_API_KEY"], p.env["ANTHROPIC_BASE_URL"] = "sk-test", sim.URL
	doc, errs := modelsOf(t, p, "--refresh")
	if m := named(doc, "claude-sonnet-4-6"); m == nil || m.Window != 654_321 || m.Origin != "provider" || m.Price.Input != 3 {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(errs, "asked of anthropic") || doc.Asked == "" {
		t.Errorf("said %q, asked %q", errs, doc.Asked)
	}

	// The next time nobody is asked.
	p.env = map[string]string{}
	doc, _ = modelsOf(t, p)
	if m := named(doc, "claude-sonnet-4-6"); m == nil || m.Window != 654_321 {
		t.Errorf("%+v", m)
	}
	file := filepath.Join(p.cache, "models", "anthropic.json")
	if err := os.WriteFile(file, []byte(`{"models":[`), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, errs = modelsOf(t, p)
	if m := named(doc, "claude-sonnet-4-6"); m == nil || m.Window == 654_321 || !strings.Contains(errs, "left out") {
		t.Errorf("%+v, said %q", m, errs)
	}

	// A provider that cannot be reached says what to do instead.
	p.env = map[string]string{"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
	if _, errs, code := p.run(t, "models", "--refresh"); code != 4 || !strings.Contains(errs, "could not be asked") || strings.Contains(errs, "sk-test") {
		t.Errorf("exit %d: %s", code, errs)
	}
}
