package wire

import (
	"bytes"
	"encoding/json"

	"varve.dev/message"
)

// The beta headers, one for each feature (SDK v2.15.0). A feature without its
// header is a 400; a header without its feature does nothing.
const (
	betaContextManagement = "context-management-2025-06-27"
	betaCompactThreshold  = "compact-2026-01-12"
	betaCompactOnDemand   = "compact-2026-09-04"
	betaBinding           = "thinking-binding-controls-2026-08-01"
	betaClearAt           = "mid-conversation-system-clear-at-2026-08-21"
	betaOutputConfig      = "mid-conversation-output-config-2026-07-01"
	betaToolChanges       = "mid-conversation-tool-changes-2026-07-01"
	betaInlineTools       = "inline-tools-2026-09-15"
	betaTaskBudgets       = "task-budgets-2026-03-13"
	betaFallback          = "server-side-fallback-2026-07-01"
	betaFast              = "fast-mode-2026-02-01"
	betaMCP               = "mcp-client-2025-11-20"
	betaDisplayUpdates    = "thinking-display-updates-2026-08-18"
)

// optionBetas lists the headers that options need.
func optionBetas(opts []member) []string {
	var betas []string
	add := func(yes bool, beta string) {
		if yes {
			betas = append(betas, beta)
		}
	}
	for _, o := range opts {
		switch o.name {
		case "context_management":
			var cm struct{ Edits []struct{ Type string } }
			_ = json.Unmarshal(o.value, &cm) // what has another shape is the API's to refuse
			for _, e := range cm.Edits {
				add(e.Type == "compact_20260112", betaCompactThreshold)
				add(e.Type != "compact_20260112", betaContextManagement)
			}
		case "thinking":
			var t struct {
				Display string
				Binding json.RawMessage `json:"block_binding"`
			}
			_ = json.Unmarshal(o.value, &t) // as above
			add(!isNull(t.Binding), betaBinding)
			add(t.Display == "updates", betaDisplayUpdates)
		case "output_config":
			var c struct {
				Budget json.RawMessage `json:"task_budget"`
			}
			_ = json.Unmarshal(o.value, &c) // as above
			add(!isNull(c.Budget), betaTaskBudgets)
		case "fallbacks":
			add(!isNull(o.value), betaFallback)
		case "speed":
			add(str(o.value) == "fast", betaFast)
		case "mcp_servers":
			add(!isNull(o.value) && string(o.value) != "[]", betaMCP)
		}
	}
	return betas
}

var compactionName = []byte(`"` + message.TypeCompaction + `"`)

// messageBetas lists the headers that messages need: a summary on demand is signed,
// one at a threshold is not; a system message may carry more than text.
func messageBetas(msgs []json.RawMessage) []string {
	var betas []string
	for _, raw := range msgs {
		if bytes.Contains(raw, compactionName) {
			list, err := spans(raw)
			if err != nil {
				continue
			}
			for _, s := range list {
				switch {
				case s.kind == message.TypeCompaction && s.signed:
					betas = append(betas, betaCompactOnDemand)
				case s.kind == message.TypeCompaction:
					betas = append(betas, betaCompactThreshold)
				}
			}
		}
		if roleOf(raw) == string(message.RoleSystem) {
			betas = append(betas, systemBetas(raw)...)
		}
	}
	return betas
}

func systemBetas(raw json.RawMessage) []string {
	var m struct {
		ClearAt json.RawMessage `json:"clear_at"`
		Output  json.RawMessage `json:"output_config"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	var betas []string
	if !isNull(m.ClearAt) {
		betas = append(betas, betaClearAt)
	}
	if !isNull(m.Output) {
		betas = append(betas, betaOutputConfig)
	}
	var blocks []struct {
		Type string
		Tool struct{ Type string }
	}
	_ = json.Unmarshal(m.Content, &blocks) // a string has none
	for _, b := range blocks {
		if b.Type == "tool_addition" || b.Type == "tool_removal" {
			betas = append(betas, betaToolChanges)
			if b.Tool.Type == "tool_definition" {
				betas = append(betas, betaInlineTools)
			}
		}
	}
	return betas
}
