package modelsim

import (
	"cmp"
	"math"
	"net/http"
	"strings"

	"varve.dev/caps"
	"varve.dev/message"
	"varve.dev/tokens"
)

// A Model changes what is known of a model (package caps), or adds one that is not in the table. Zero values change nothing.
type Model struct {
	Window     int     // tokens, as the models endpoint tells
	TrueWindow int     // tokens that really fit; 0 = Window. Smaller is the lie that real gateways tell
	MaxOutput  int     // tokens of a reply
	Factor     float64 // tokens of this model for one of package tokens; 0 = what caps says
	MinCache   int     // tokens below which a prefix is not cached; 0 = what caps says, or 1,024 where it does not know
	SumLimit   bool    // the prompt and max_tokens together must fit, as on models before 4.5
	Bound      *bool   // reasoning is bound to its prefix; nil = what caps says
}

// minCache is assumed for models whose smallest cached prefix is not known (API.md 1.7).
const minCache = 1024

// model is a model as the simulator plays it.
type model struct {
	caps.Model
	id        string // as it was asked for
	canonical string
	window    int // what really fits
	factor    float64
	minCache  int
	sumLimit  bool
	counted   map[counted]int // shared by all requests, under the server's lock
}

// counted names a block of which the tokens are known.
type counted struct {
	block sum
	model string
}

// countOnce is countBlock for a block that comes again with each request: counting is most of the work.
func (m *model) countOnce(b *block) int {
	key := counted{b.sum, m.id}
	n, ok := m.counted[key]
	if !ok {
		n = m.countBlock(b.Block)
		m.counted[key] = n
	}
	return n
}

// findModel returns the model called id, nil when there is none.
func (s *Server) findModel(id string) *model {
	name := caps.Canonical(id)
	own, set := s.cfg.Models[id]
	if !set {
		own, set = s.cfg.Models[name]
	}
	c, known := caps.Lookup("anthropic", id)
	if !known {
		if !set {
			return nil
		}
		c = caps.Model{Provider: "anthropic", Name: id, Window: caps.DefaultWindow, MaxOutput: 64_000, MidSystem: true, Sampling: true, ForcedTools: true,
			ServerClearing: true, Compaction: caps.Compaction{OnDemand: true, Threshold: true}}
		c.Thinking = caps.Thinking{Modes: []string{"adaptive", "enabled", "disabled"}, Kept: true}
	}
	c.Window = cmp.Or(own.Window, c.Window)
	c.MaxOutput = cmp.Or(own.MaxOutput, c.MaxOutput)
	if own.Bound != nil {
		c.PrefixBound = *own.Bound
	}
	m := &model{Model: c, id: id, canonical: name, sumLimit: own.SumLimit, counted: s.counted}
	m.window = cmp.Or(own.TrueWindow, c.Window)
	m.minCache = cmp.Or(own.MinCache, c.Cache.MinTokens, minCache)
	m.factor = cmp.Or(s.cfg.Factor, own.Factor, c.TokenFactor, 1)
	return m
}

// tokens is the estimate n of package tokens in tokens of the model.
func (m *model) tokens(n int) int { return int(math.Ceil(float64(n) * m.factor)) }

// count returns the tokens of text.
func (m *model) count(text string) int { return m.tokens(tokens.Text(text)) }

// countBlock returns the tokens of a content block.
func (m *model) countBlock(b message.Block) int {
	return m.tokens(tokens.Estimator{Images: tokens.ImageRule(m.Images)}.Block(b))
}

type supported struct {
	Supported bool `json:"supported"`
}

// info is an entry of the models endpoint (API.md 1.8).
func (m *model) info() map[string]any {
	yes := supported{true}
	effort := map[string]any{"supported": len(m.Thinking.Effort) > 0}
	for _, e := range []string{"low", "medium", "high", "xhigh", "max"} {
		effort[e] = supported{contains(m.Thinking.Effort, e)}
	}
	types := map[string]any{}
	for _, t := range []string{"adaptive", "enabled", "disabled", "between_tools"} {
		types[t] = supported{contains(m.Thinking.Modes, t)}
	}
	return map[string]any{
		"type": "model", "id": m.id, "display_name": m.id, "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active", "line": nil,
		"deprecated_at": nil, "retires_at": nil, "max_input_tokens": m.Window, "max_tokens": m.MaxOutput, "allowed_fallback_models": []string{},
		"capabilities": map[string]any{
			"batch": yes, "citations": yes, "code_execution": yes, "image_input": yes, "pdf_input": yes, "structured_outputs": yes,
			"compaction": map[string]any{"supported": m.Compaction.OnDemand, "summarize": supported{m.Compaction.OnDemand}},
			"context_management": map[string]any{"supported": m.ServerClearing, "clear_tool_uses_20250919": supported{m.ServerClearing},
				"clear_thinking_20251015": supported{m.ServerClearing}, "compact_20260112": supported{m.Compaction.Threshold}},
			"effort": effort, "thinking": map[string]any{"supported": len(m.Thinking.Modes) > 0, "types": types}, "server_tools": map[string]any{"supported": false},
		},
	}
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// serveModels answers GET /v1/models and /v1/models/ID.
func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) (status int, err error) {
	if id, one := strings.CutPrefix(r.URL.Path, "/v1/models/"); one {
		m := s.findModel(id)
		if m == nil {
			return http.StatusNotFound, s.writeFailure(w, &failure{status: http.StatusNotFound, typ: "not_found_error", message: "model: " + id})
		}
		return http.StatusOK, writeJSON(w, m.info())
	}
	data, seen := []any{}, map[string]bool{}
	add := func(id string) {
		if m := s.findModel(id); m != nil && !seen[id] {
			seen[id] = true
			data = append(data, m.info())
		}
	}
	for _, m := range caps.Models() {
		if m.Provider == "anthropic" {
			add(m.Name)
		}
	}
	for _, id := range sortedKeys(s.cfg.Models) {
		add(id)
	}
	page := map[string]any{"data": data, "has_more": false, "first_id": nil, "last_id": nil}
	if n := len(data); n > 0 {
		page["first_id"], page["last_id"] = data[0].(map[string]any)["id"], data[n-1].(map[string]any)["id"]
	}
	return http.StatusOK, writeJSON(w, page)
}
