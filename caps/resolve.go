package caps

import (
	"fmt"
	"strings"
)

// Override is what the user sets about a model: settings models.<provider/name>. Zero and nil values set nothing.
type Override struct {
	Window, MaxOutput, InputLimit int
	TokenFactor                   float64
	Price                         *Price
	Cache                         *Cache

	Local, PrefixBound, ServerClearing, MidSystem, SilentTruncation *bool
	Compaction                                                      *Compaction
}

// Probe is what a server said of its model (a models endpoint, a local server's properties). Zero values say nothing.
type Probe struct {
	Window, MaxOutput, InputLimit int
}

// Query names a model and what is known of it from elsewhere.
type Query struct {
	Model string // "provider/name", or a bare name
	// Local: the server is on this machine or network, whatever protocol it speaks.
	Local bool
	Probe Probe
}

// Catalogue is the table with the user's overrides. The zero value is the table alone. Overrides are keyed by
// "provider/name", which wins, or by name.
type Catalogue struct {
	Overrides map[string]Override
}

// Resolve returns a usable model for any name: from the user's overrides, else what the server said, else the table, else
// safe values (a window of 200,000 for a hosted model, of 4,096 for a local server that was not asked). The notices, each a
// sentence for the user, say what was assumed and which override was ignored.
func (c Catalogue) Resolve(q Query) (Model, []string) {
	var notices []string
	m, note := base(q)
	known := note == ""
	setInt(&m.Window, q.Probe.Window)
	setInt(&m.MaxOutput, q.Probe.MaxOutput)
	setInt(&m.InputLimit, q.Probe.InputLimit)
	override, key, found := c.override(q.Model, m)
	if found {
		notices = append(notices, override.apply(&m, key)...)
	}
	if !known && q.Probe.Window <= 0 && override.Window <= 0 {
		notices = append(notices, note)
	}
	return m, notices
}

// base returns the table's entry, or what is assumed with a notice.
func base(q Query) (Model, string) {
	t, err := load()
	if err != nil {
		return Model{Name: q.Model, Window: DefaultWindow}, err.Error()
	}
	name := strings.TrimSpace(q.Model)
	providerName, bare := Split(name)
	m, ok := Find(name)
	p := t.provider(providerName)
	note := ""
	switch {
	case ok:
	case p != nil && p.Generic:
		if m, ok = Find(bare); ok {
			// The host is somebody else: what the model is stays, what its maker's server offers does not.
			note = fmt.Sprintf("The limits of %s are those of %s; this host's may differ: set models.%q.window if they do.", bare, m.Key(), name)
			m.Provider, m.ServerClearing, m.Compaction, m.Price, m.UsageIncludesCache = p.Name, false, Compaction{}, Price{}, true
		}
	case p == nil:
		p = t.maker(bare)
	}
	if !ok {
		m = t.unknown(p, bare)
	}
	if q.Local && !m.Local {
		m.Local, m.SilentTruncation, m.Window, m.InputLimit, m.Price = true, true, LocalWindow, 0, Price{}
		ok, note = false, ""
	}
	switch {
	case note != "" || ok:
	case m.Local:
		note = fmt.Sprintf("The local server did not say how large the window of %s is; %d tokens are assumed. Set models.%q.window.", bare, m.Window, name)
	default:
		note = fmt.Sprintf("The model %s is not known; a window of %d tokens is assumed. Set models.%q.window.", name, m.Window, name)
	}
	return m, note
}

func (c Catalogue) override(name string, m Model) (o Override, key string, ok bool) {
	_, bare := Split(name)
	for _, key := range []string{strings.TrimSpace(name), m.Provider + "/" + bare, m.Key(), bare, m.Name} {
		if o, ok := c.Overrides[key]; ok {
			return o, key, true
		}
	}
	return Override{}, "", false
}

func setInt(to *int, v int) {
	if v > 0 {
		*to = v
	}
}

func setBool(to *bool, v *bool) {
	if v != nil {
		*to = *v
	}
}

// minWindow is the smallest window that may be set: no conversation with tools fits into less.
const minWindow = 1_000

// apply sets what the override says and returns notices for what is nonsense.
func (o *Override) apply(m *Model, key string) []string {
	var notices []string
	number := func(field string, to, v *int, least int) {
		switch {
		case *v == 0:
		case *v < least:
			notices = append(notices, fmt.Sprintf("models.%q.%s is %d and was ignored: give at least %d tokens.", key, field, *v, least))
			*v = 0
		default:
			*to = *v
		}
	}
	number("window", &m.Window, &o.Window, minWindow)
	number("maxOutput", &m.MaxOutput, &o.MaxOutput, 1)
	number("inputLimit", &m.InputLimit, &o.InputLimit, minWindow)
	switch {
	case o.TokenFactor >= 0.5 && o.TokenFactor <= 2:
		m.TokenFactor = o.TokenFactor
	case o.TokenFactor != 0:
		notices = append(notices, fmt.Sprintf("models.%q.tokenFactor is %v and was ignored: give a number from 0.5 to 2.", key, o.TokenFactor))
	}
	if o.Price != nil {
		m.Price = *o.Price
	}
	if o.Cache != nil {
		m.Cache = *o.Cache
	}
	if o.Compaction != nil {
		m.Compaction = *o.Compaction
	}
	setBool(&m.Local, o.Local)
	setBool(&m.PrefixBound, o.PrefixBound)
	setBool(&m.ServerClearing, o.ServerClearing)
	setBool(&m.MidSystem, o.MidSystem)
	setBool(&m.SilentTruncation, o.SilentTruncation)
	return notices
}
