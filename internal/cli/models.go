package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/caps"
	"varve.dev/internal/replay"
	"varve.dev/internal/vfs"
)

// modelsCmd is `varve models`.
type modelsCmd struct {
	Names    []string `arg:"" optional:"" help:"Providers, models or parts of their names. Without any: all."`
	Refresh  bool     `help:"Ask the provider for the models of the account first; needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN."`
	JSON     bool     `name:"json" help:"Print a JSON document."`
	Provider string   `hidden:"" default:"anthropic" enum:"anthropic" help:"The provider that is asked."`
}

// Help is the manual of the command.
func (*modelsCmd) Help() string {
	return `What models can bear, from a dated table that comes with the program; no network is needed. --refresh asks the provider and keeps what it said in a file that may be deleted: its windows and limits then count instead of the table's, and models that the table does not know are listed. What settings say of a model (models."provider/name".window, maxOutput) counts before both, and where they say it is shown. Prices are in US dollars for a million tokens.`
}

// modelJSON is a model as `--json` shows it.
type modelJSON struct {
	Provider string `json:"provider"`
	caps.Model
	// Origin of windows and limits: table; provider, as it said; settings, as the user set them.
	Origin    string `json:"origin"`
	SetIn     string `json:"setIn,omitempty"` // file and line of the setting
	Lifecycle string `json:"lifecycle,omitempty"`
}

// modelsJSON is the document of `varve models --json`.
type modelsJSON struct {
	Schema  int         `json:"schema"` // 1
	Table   string      `json:"table"`  // day of the table
	Asked   string      `json:"asked,omitempty"`
	Models  []modelJSON `json:"models"`
	Sources any         `json:"sources"`
}

// answers is the file that keeps what a provider said.
type answers struct {
	Provider string    `json:"provider"`
	Asked    time.Time `json:"asked"`
	Models   []answer  `json:"models"`
}

type answer struct {
	Name      string `json:"name"`
	Window    int    `json:"window,omitempty"`
	MaxOutput int    `json:"maxOutput,omitempty"`
	Input     int    `json:"inputLimit,omitempty"`
	Lifecycle string `json:"lifecycle,omitempty"`
}

// askFor bounds the question to a provider.
const askFor = 30 * time.Second

// Run lists the models.
func (c *modelsCmd) Run(ctx context.Context, a *app) error {
	file := a.answersFile()
	if c.Refresh {
		if err := c.refresh(ctx, a, file); err != nil {
			return err
		}
	}
	said, err := readAnswers(file)
	if err != nil {
		a.out.note("Note: %s is left out: %s. --refresh writes it anew.", a.home(file), err)
	}
	set, wrong := a.modelSettings()
	rows, notices := settle(c.list(said), set)
	doc := modelsJSON{Schema: 1, Table: caps.Dated(), Sources: caps.Sources(), Models: c.named(rows)}
	for _, err := range wrong {
		a.out.note("Note: %s", err)
	}
	for _, n := range notices {
		a.out.note("Note: %s", n)
	}
	if !said.Asked.IsZero() {
		doc.Asked = said.Asked.UTC().Format(time.RFC3339)
	}
	if len(doc.Models) == 0 && len(c.Names) > 0 {
		return fmt.Errorf("no model is named like %s; `varve models` lists all, --refresh asks the provider", strings.Join(c.Names, ", "))
	}
	if c.JSON {
		return a.out.json(doc, "", nil)
	}
	c.print(a, doc)
	return nil
}

func (a *app) answersFile() string {
	if a.env.CacheDir == "" {
		return ""
	}
	return filepath.Join(a.env.CacheDir, "models", "anthropic.json")
}

func readAnswers(file string) (answers, error) {
	var said answers
	if file == "" {
		return said, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return said, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return answers{}, err
	}
	return said, nil
}

// refresh asks the provider and keeps the answer.
func (c *modelsCmd) refresh(ctx context.Context, a *app, file string) error {
	if file == "" {
		return errors.New("there is no folder for caches here, so nothing can be kept; set XDG_CACHE_HOME or HOME")
	}
	q, err := newAsker(a.env.Getenv)
	if err != nil {
		return fmt.Errorf("%w; without --refresh the table of %s is shown", err, caps.Dated())
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	list, err := q.models(ctx)
	if err != nil {
		return fmt.Errorf("the provider could not be asked: %w; without --refresh the table of %s is shown", err, caps.Dated())
	}
	said := answers{Provider: c.Provider, Asked: a.env.Now().UTC(), Models: append([]answer{}, list...)}
	data, err := json.MarshalIndent(said, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := vfs.WriteFile(vfs.OS, file, append(data, '\n'), 0o600); err != nil && !errors.Is(err, vfs.ErrNotDurable) {
		return err
	}
	a.out.note("%s asked of %s.", countOf(len(list), "model", "models"), c.Provider)
	return nil
}

// list merges the table with what the provider said, which wins.
func (c *modelsCmd) list(said answers) []modelJSON {
	var out []modelJSON
	at := map[string]int{}
	for _, m := range caps.Models() {
		if m.Provider == said.Provider {
			at[m.Name] = len(out)
		}
		out = append(out, modelJSON{Provider: m.Provider, Model: m, Origin: "table"})
	}
	for _, x := range said.Models {
		probe := caps.Probe{Window: x.Window, MaxOutput: x.MaxOutput, InputLimit: x.Input}
		m, _ := caps.Catalogue{}.Resolve(caps.Query{Model: said.Provider + "/" + x.Name, Probe: probe})
		row := modelJSON{Provider: said.Provider, Model: m, Origin: "provider", Lifecycle: x.Lifecycle}
		if i, ok := at[caps.Canonical(x.Name)]; ok {
			row.Name = out[i].Name
			out[i] = row
			continue
		}
		out = append(out, row)
	}
	return out
}

// named returns the models that were asked for, in the order of the table's
// providers, others behind.
func (c *modelsCmd) named(out []modelJSON) []modelJSON {
	if len(c.Names) > 0 {
		out = slices.DeleteFunc(out, func(m modelJSON) bool {
			return !slices.ContainsFunc(c.Names, func(n string) bool {
				return strings.Contains(strings.ToLower(m.Provider+"/"+m.Name), strings.ToLower(n))
			})
		})
	}
	slices.SortStableFunc(out, func(x, y modelJSON) int {
		return cmp.Compare(rank(x.Provider), rank(y.Provider))
	})
	if out == nil {
		out = []modelJSON{}
	}
	return out
}

// rank is a provider's place in the table; those that it does not know come last.
func rank(provider string) int {
	if i := slices.Index(providers(), provider); i >= 0 {
		return i
	}
	return len(caps.Models())
}

// providers in the order of the table.
func providers() []string {
	var out []string
	for _, m := range caps.Models() {
		if !slices.Contains(out, m.Provider) {
			out = append(out, m.Provider)
		}
	}
	return out
}

func (c *modelsCmd) print(a *app, doc modelsJSON) {
	rows := [][]string{{"model", "window", "output", "in", "cached", "out", "shrinks by"}}
	for _, m := range doc.Models {
		name := m.Provider + "/" + m.Name
		switch m.Origin {
		case "provider":
			name += " *"
		case "settings":
			name += " †"
		}
		rows = append(rows, []string{name, sizeOrDash(m.Window), sizeOrDash(m.MaxOutput), dollars(m.Price.Input), dollars(m.Price.CacheRead), dollars(m.Price.Output), waysOf(m)})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	widths[0], widths[len(widths)-1] = -widths[0], -widths[len(widths)-1]
	for i, r := range rows {
		replayText{out: a.out}.row(widths, r...)
		if i == 0 && len(rows) == 1 {
			break
		}
	}
	a.out.line("")
	a.out.line("Table of %s; prices in dollars for a million tokens.", doc.Table)
	for _, m := range doc.Models {
		if m.Origin == "settings" {
			a.out.line("† %s/%s as set in %s.", m.Provider, m.Name, m.SetIn)
		}
	}
	if doc.Asked != "" {
		a.out.line("* as the provider said on %s; --refresh asks again.", doc.Asked)
	}
}

func sizeOrDash(n int) string {
	if n == 0 {
		return "–"
	}
	return replay.Tokens(n)
}

func dollars(f float64) string {
	if f == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", f)
}

// waysOf says in a few words what exists with a model to keep a context small, and
// what it forbids.
func waysOf(m modelJSON) string {
	ways := []string{"local edits"}
	if m.PrefixBound {
		ways = []string{"appending only (reasoning is bound)"}
	}
	if m.ServerClearing {
		ways = append(ways, "server clearing")
	}
	if m.Compaction.Any() {
		ways = append(ways, "server summary")
	}
	if m.Local {
		ways = append(ways, "local")
	}
	if m.Lifecycle != "" && m.Lifecycle != "active" {
		ways = append(ways, m.Lifecycle)
	}
	return strings.Join(ways, ", ")
}
