package cli

import (
	"path/filepath"
	"strings"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/internal/settings"
)

// modelSetting is what the user set about one model.
type modelSetting struct {
	key    string // as it is written: provider/name, or a name
	set    caps.Override
	origin string // file and line
}

// settings reads all layers. Nothing asks yet whether a project's folder is trusted,
// so none is.
func (a *app) settings() *settings.Settings {
	home := a.env.Getenv("VARVE_HOME")
	if home == "" && a.env.UserHome != "" {
		home = filepath.Join(a.env.UserHome, ".varve")
	}
	project, _ := a.env.Getwd() // "" leaves the project's files out
	opt := settings.Options{PolicyDir: settings.PolicyDir(), Project: project, Home: home}
	if a.env.Environ != nil {
		opt.Env = a.env.Environ()
	}
	return settings.Load(opt)
}

// compactPolicy is what settings say of compaction, and by which switch (C-11).
func (a *app) compactPolicy() compact.Policy {
	s := a.settings()
	if v := s.Bool("compact.disabled"); v.Or(false) {
		return compact.Policy{Mode: compact.Off, Switch: v.Origin.Name}
	}
	if v := s.String("compact.mode"); v.Set() {
		return compact.Policy{Mode: compact.Mode(v.Or("")), Switch: "compact.mode in " + a.home(v.Origin.String())}
	}
	return compact.Policy{}
}

// modelSettings reads what the user, the project and the machine's owner set about
// models, in the order of the layers, and what is wrong with it.
func (a *app) modelSettings() (list []modelSetting, wrong []error) {
	s := a.settings()
	wrong = s.Problems()
	members, err := s.Members("models")
	if err != nil {
		wrong = append(wrong, err)
	}
	for _, m := range members {
		v := s.Sub("models", m.Name)
		window, output := v.Int("window"), v.Int("maxOutput")
		x := modelSetting{key: m.Name, origin: a.home(m.Origin.Name)}
		for _, value := range []settings.Value[int64]{window, output} {
			if value.Err != nil {
				wrong = append(wrong, value.Err)
			} else if value.Set() {
				x.origin = strings.Replace(value.Origin.String(), value.Origin.Name, a.home(value.Origin.Name), 1)
			}
		}
		x.set = caps.Override{Window: int(window.Or(0)), MaxOutput: int(output.Or(0))}
		if x.set.Window != 0 || x.set.MaxOutput != 0 {
			list = append(list, x)
		}
	}
	return list, wrong
}

// settle puts what the user set into the rows, which wins, and adds models that only
// the settings know.
func settle(rows []modelJSON, set []modelSetting) (out []modelJSON, notices []string) {
	out = rows
	for _, x := range set {
		c := caps.Catalogue{Overrides: map[string]caps.Override{x.key: x.set}}
		found := false
		for i := range out {
			if out[i].Provider+"/"+out[i].Name != x.key && out[i].Name != x.key {
				continue
			}
			found = true
			m, notes := c.Resolve(caps.Query{Model: out[i].Provider + "/" + out[i].Name,
				Probe: caps.Probe{Window: out[i].Window, MaxOutput: out[i].MaxOutput, InputLimit: out[i].InputLimit}})
			notices = append(notices, notes...)
			if x.set.Window != m.Window && x.set.MaxOutput != m.MaxOutput {
				continue // all of it was ignored
			}
			out[i].Window, out[i].MaxOutput = m.Window, m.MaxOutput
			out[i].Origin, out[i].SetIn = "settings", x.origin
		}
		if !found {
			m, notes := c.Resolve(caps.Query{Model: x.key})
			out = append(out, modelJSON{Provider: m.Provider, Model: m, Origin: "settings", SetIn: x.origin})
			notices = append(notices, notes...)
		}
	}
	return out, notices
}
