package caps

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed models.json
var file []byte

// table is models.json, resolved.
type table struct {
	dated     string
	sources   map[string]string
	families  map[string]Model
	providers []provider

	mu     sync.Mutex
	models map[string]map[string]Model // provider → canonical name → model, as far as they were asked for
}

type provider struct {
	Name     string            `json:"name"`
	Unknown  string            `json:"unknown"`  // family of models that are not listed
	Prefixes []string          `json:"prefixes"` // of the names of its models
	ModelsOf string            `json:"modelsOf"` // serves the models of another provider
	Set      json.RawMessage   `json:"set"`      // what differs there
	Generic  bool              `json:"generic"`  // any host that speaks the protocol
	Models   []json.RawMessage `json:"models"`
}

// load parses the table once, at the first question.
var load = sync.OnceValues(func() (*table, error) { return parse(file) })

func parse(data []byte) (*table, error) {
	var f struct {
		Dated     string                     `json:"dated"`
		Sources   map[string]string          `json:"sources"`
		Families  map[string]json.RawMessage `json:"families"`
		Providers []provider                 `json:"providers"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("caps: table: %w", err)
	}
	t := &table{dated: f.Dated, sources: f.Sources, families: map[string]Model{}, providers: f.Providers, models: map[string]map[string]Model{}}
	for name := range f.Families {
		if err := t.family(name, f.Families, 0); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// list returns the models of a provider by canonical name. They are decoded when they are first asked for: most programs
// talk to one provider.
func (t *table) list(p *provider) (map[string]Model, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.decode(p)
}

// decode needs t.mu.
func (t *table) decode(p *provider) (map[string]Model, error) {
	if models, ok := t.models[p.Name]; ok {
		return models, nil
	}
	models := map[string]Model{}
	for _, raw := range p.Models {
		m := Model{Provider: p.Name}
		if err := t.fill(&m, raw); err != nil {
			return nil, err
		}
		models[Canonical(m.Name)] = m
	}
	if p.ModelsOf != "" {
		maker := t.provider(p.ModelsOf)
		if maker == nil || maker.ModelsOf != "" {
			return nil, fmt.Errorf("caps: table: no provider %q", p.ModelsOf)
		}
		theirs, err := t.decode(maker)
		if err != nil {
			return nil, err
		}
		for name, m := range theirs {
			m = m.clone()
			m.Provider = p.Name
			if err := t.fill(&m, p.Set); err != nil {
				return nil, err
			}
			models[name] = m
		}
	}
	t.models[p.Name] = models
	return models, nil
}

// find returns one model of a provider.
func (t *table) find(p *provider, name string) (Model, bool) {
	// The lists are decoded in a test; an error here would make a model unknown, which is said and safe.
	models, err := t.list(p)
	if err != nil {
		return Model{}, false
	}
	m, ok := models[Canonical(name)]
	return m.clone(), ok
}

// family resolves one family, after the one that it is like.
func (t *table) family(name string, raw map[string]json.RawMessage, depth int) error {
	if _, done := t.families[name]; done {
		return nil
	}
	own, ok := raw[name]
	if !ok || depth > len(raw) {
		return fmt.Errorf("caps: table: no family %q", name)
	}
	var like struct{ Like string }
	if err := json.Unmarshal(own, &like); err != nil {
		return fmt.Errorf("caps: table: %w", err)
	}
	if like.Like != "" {
		if err := t.family(like.Like, raw, depth+1); err != nil {
			return err
		}
	}
	var m Model
	if err := t.fill(&m, own); err != nil {
		return err
	}
	t.families[name] = m
	return nil
}

// fill sets what raw says, over what the family says that it is like.
func (t *table) fill(m *Model, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var like struct{ Like string }
	if err := json.Unmarshal(raw, &like); err != nil {
		return fmt.Errorf("caps: table: %w", err)
	}
	if like.Like != "" {
		family, ok := t.families[like.Like]
		if !ok {
			return fmt.Errorf("caps: table: no family %q", like.Like)
		}
		provider := m.Provider
		*m = family.clone() // its lists would be written into
		m.Provider = provider
	}
	if err := json.Unmarshal(raw, m); err != nil {
		return fmt.Errorf("caps: table: %w", err)
	}
	return nil
}

func (t *table) provider(name string) *provider {
	for i := range t.providers {
		if t.providers[i].Name == name {
			return &t.providers[i]
		}
	}
	return nil
}

// unknown returns what is assumed of a model that provider p does not list.
func (t *table) unknown(p *provider, name string) Model {
	if p == nil {
		p = &provider{Unknown: "compatible"}
	}
	m := t.families[p.Unknown].clone()
	// Sets were all read when the table was tested; an error here leaves less assumed, not more.
	_ = t.fill(&m, p.Set)
	m.Provider, m.Name, m.Source, m.Price = p.Name, name, "fallback", Price{}
	if m.Window <= 0 {
		m.Window = DefaultWindow
	}
	return m
}

func (m Model) clone() Model {
	m.Thinking.Modes, m.Thinking.Effort = slices.Clone(m.Thinking.Modes), slices.Clone(m.Thinking.Effort)
	return m
}

// decoration matches what hosts and releases add to a name: dates, versions, regions. It is compiled at the first use.
var decoration = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:us|eu|apac|global|jp|au)\.)?anthropic\.|(?:-\d{8}|@\d{8}|-latest|-v\d+:\d+|-v\d+|\[1m\]|-\d{4}-\d{2}-\d{2})$`)
})

// Canonical returns the name under which the table has a model: in lower case, without a release date, "-latest", "[1m]",
// and what Bedrock and Vertex add ("us.anthropic.claude-opus-4-5-20251101-v1:0" is claude-opus-4-5).
func Canonical(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	for {
		cut := strings.TrimSpace(decoration().ReplaceAllString(name, ""))
		if cut == name || cut == "" {
			return name
		}
		name = cut
	}
}

// Split divides "provider/name". A text whose first part is no provider of the table is all name, since names have slashes
// of their own at some hosts.
func Split(key string) (provider, name string) {
	key = strings.TrimSpace(key)
	t, err := load()
	if first, rest, ok := strings.Cut(key, "/"); ok && err == nil && t.provider(strings.ToLower(first)) != nil {
		return strings.ToLower(first), rest
	}
	return "", key
}

// Lookup returns the table's entry for a model of a provider.
func Lookup(provider, name string) (Model, bool) {
	t, err := load()
	if err != nil {
		return Model{}, false
	}
	if p := t.provider(provider); p != nil {
		return t.find(p, name)
	}
	return Model{}, false
}

// Find returns the table's entry for "provider/name", or for a bare name that of the first provider that lists it (makers
// of models stand before other hosts).
func Find(key string) (Model, bool) {
	provider, name := Split(key)
	if provider != "" {
		return Lookup(provider, name)
	}
	t, err := load()
	if err != nil {
		return Model{}, false
	}
	if maker := t.maker(name); maker != nil {
		if m, ok := t.find(maker, name); ok {
			return m, true
		}
	}
	for i := range t.providers {
		if p := &t.providers[i]; p.ModelsOf == "" {
			if m, ok := t.find(p, name); ok {
				return m, true
			}
		}
	}
	return Model{}, false
}

// maker returns the provider to whose models a name looks like it belongs, nil when to none.
func (t *table) maker(name string) *provider {
	name = Canonical(name)
	for i, p := range t.providers {
		for _, prefix := range p.Prefixes {
			if strings.HasPrefix(name, strings.ToLower(prefix)) {
				return &t.providers[i]
			}
		}
	}
	return nil
}

// Models returns every entry of the table, by provider in the table's order, then by name.
func Models() []Model {
	t, err := load()
	if err != nil {
		return nil
	}
	var out []Model
	for i := range t.providers {
		models, err := t.list(&t.providers[i])
		if err != nil {
			continue // as in find
		}
		for _, name := range slices.Sorted(maps.Keys(models)) {
			out = append(out, models[name].clone())
		}
	}
	return out
}

// Dated returns the day of the table, as yyyy-mm-dd.
func Dated() string {
	t, err := load()
	if err != nil {
		return ""
	}
	return t.dated
}

// Sources returns what the values of [Model.Source] stand for.
func Sources() map[string]string {
	t, err := load()
	if err != nil {
		return nil
	}
	return maps.Clone(t.sources)
}
