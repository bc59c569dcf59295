package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/internal/sources"
	"varve.dev/session"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// windowFlags say for which model and window a context is looked at.
type windowFlags struct {
	Window string `placeholder:"TOKENS" help:"Window to count with, for example 32k, 200k or 1M. Without it: the model's."`
	Model  string `placeholder:"NAME" help:"Model whose window and rules count. Without it: the one that the session used last."`
}

// opened is a session with an engine over it.
type opened struct {
	s      *sources.Session
	model  caps.Model
	engine *engine.Engine
	ladder *compact.Ladder
	close  func(context.Context) error
}

// open opens a session for looking at its context; write says that edits go into
// its log.
func (w *windowFlags) open(ctx context.Context, a *app, s *sources.Session, write bool) (*opened, error) {
	o := &opened{s: s, ladder: &compact.Ladder{Notice: compact.Notice{Transcript: s.Path}}}
	var store engine.Store
	if write {
		kept, err := a.store(ctx, s)
		if err != nil {
			return nil, err
		}
		store, o.close = kept, kept.Close
	} else {
		log, err := transcript.ReadFile(ctx, s.Path, transcript.ReadOptions{})
		if err != nil {
			return nil, err
		}
		store = engine.MemoryOf(transcript.Stamp{SessionID: s.ID, CWD: s.Dir()}, log)
		o.close = func(context.Context) error { return log.Close() }
	}
	if err := w.engine(a, o, store); err != nil {
		_ = o.close(ctx) // the first error is the one to tell
		return nil, err
	}
	return o, nil
}

func (w *windowFlags) engine(a *app, o *opened, store engine.Store) error {
	if _, err := parseTokens(w.Window); err != nil {
		return &usageError{err}
	}
	name := w.Model
	if name == "" {
		name = lastModel(store.Log())
	}
	if name == "" {
		name = usualModel
	}
	model, notices := caps.Catalogue{}.Resolve(caps.Query{Model: name})
	for _, n := range notices {
		a.out.note("Note: %s", n)
	}
	if n, _ := parseTokens(w.Window); n > model.Window {
		model.Window = n // what the user says of his own model
	}
	o.model = model
	cfg := engine.Config{Caps: model, Ladder: o.ladder, Observe: func(e engine.Event) {
		if e.Kind == engine.Notice {
			a.out.note("Note: %s", e.Detail)
		}
	}}
	if n, _ := parseTokens(w.Window); n > 0 {
		cfg.Budget = tokens.Overrides{Window: fmt.Sprint(n), WindowName: "--window"}
	}
	o.engine = engine.New(store, cfg)
	return nil
}

// usualModel is what a session that names no model is counted for.
const usualModel = "anthropic/claude-sonnet-4-6"

// lastModel is the model that the newest reply names.
func lastModel(l *transcript.Log) string {
	for i := len(l.Entries) - 1; i >= 0; i-- {
		x := l.Entries[i]
		if x.Type != transcript.TypeAssistant || x.APIError || x.Sidechain && x.AgentID != "" {
			continue
		}
		if m, err := x.Message(); err == nil && m.Model != "" && !strings.HasPrefix(m.Model, "<") {
			return m.Model
		}
	}
	return ""
}

// store opens one of Varve's own sessions for writing.
func (a *app) store(ctx context.Context, s *sources.Session) (*session.Session, error) {
	dir := a.env.Getenv("VARVE_HOME")
	if dir == "" {
		dir = filepath.Join(a.env.UserHome, ".varve")
	}
	st, err := session.OpenStore(session.Home{Dir: dir})
	if err != nil {
		return nil, err
	}
	return st.Open(ctx, s.ID, session.Project(s.Dir()), session.Program(Version, "cli"))
}

func modelKey(m caps.Model) string {
	if m.Provider == "" {
		return m.Name
	}
	return m.Provider + "/" + m.Name
}
