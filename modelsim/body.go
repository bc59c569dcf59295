package modelsim

import (
	"encoding/json"

	"varve.dev/message"
)

// usage is the usage of a reply as the API writes it (API.md 1.2).
type usage struct {
	InputTokens   int           `json:"input_tokens"`
	CacheCreation int           `json:"cache_creation_input_tokens"`
	CacheRead     int           `json:"cache_read_input_tokens"`
	Created       cacheCreation `json:"cache_creation"`
	OutputTokens  int           `json:"output_tokens"`
	OutputDetails *outputDetail `json:"output_tokens_details,omitempty"`
	ServerToolUse *int          `json:"server_tool_use"`
	ServiceTier   string        `json:"service_tier"`
	Speed         string        `json:"speed,omitempty"`
	Iterations    []iteration   `json:"iterations,omitempty"`
	override      object        // of the script
}

type cacheCreation struct {
	FiveMinutes int `json:"ephemeral_5m_input_tokens"`
	OneHour     int `json:"ephemeral_1h_input_tokens"`
}

type outputDetail struct {
	Thinking int `json:"thinking_tokens"`
}

type iteration struct {
	Type          string        `json:"type"`
	Model         string        `json:"model,omitempty"`
	InputTokens   int           `json:"input_tokens"`
	CacheRead     int           `json:"cache_read_input_tokens"`
	CacheCreation int           `json:"cache_creation_input_tokens"`
	OutputTokens  int           `json:"output_tokens"`
	Created       cacheCreation `json:"cache_creation"`
}

func newIteration(typ, model string, u *cacheUse, output int) iteration {
	return iteration{typ, model, u.input, u.read, u.written(), output, cacheCreation{u.write5m, u.write1h}}
}

// MarshalJSON writes the usage with the script's figures in place of the true ones.
func (u usage) MarshalJSON() ([]byte, error) {
	type plain usage
	return overridden(marshal(plain(u)), u.override), nil
}

// overridden replaces and adds members.
func overridden(raw []byte, with object) []byte {
	if len(with) == 0 {
		return raw
	}
	o, err := parseObject(raw)
	if err != nil {
		return raw
	}
	for _, m := range with {
		done := false
		for i := range o {
			if o[i].name == m.name {
				o[i].raw, done = m.raw, true
			}
		}
		if !done {
			o = append(o, m)
		}
	}
	return o.without("")
}

// delta is the usage of a message_delta event: cumulative totals.
func (u *usage) delta() json.RawMessage {
	d := map[string]any{"input_tokens": u.InputTokens, "cache_creation_input_tokens": u.CacheCreation, "cache_read_input_tokens": u.CacheRead,
		"output_tokens": u.OutputTokens, "server_tool_use": u.ServerToolUse}
	if u.OutputDetails != nil {
		d["output_tokens_details"] = u.OutputDetails
	}
	if u.Iterations != nil {
		d["iterations"] = u.Iterations
	}
	return overridden(marshal(d), u.override)
}

// setScript applies the script's usage: "zero" or a JSON object.
func (u *usage) setScript(text string) {
	if text == "" {
		return
	}
	if text != "zero" {
		u.override, _ = parseObject([]byte(text))
		return
	}
	zero := json.RawMessage("0")
	u.override = object{{"input_tokens", zero}, {"cache_creation_input_tokens", zero}, {"cache_read_input_tokens", zero}, {"output_tokens", zero}}
	u.Created, u.Iterations, u.OutputDetails = cacheCreation{}, nil, nil
}

// actual returns the figures that were really used, for records.
func (u *usage) actual() message.Usage {
	out := message.Usage{InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens), CacheReadTokens: int64(u.CacheRead),
		CacheCreationTokens: int64(u.CacheCreation), Cache5m: int64(u.Created.FiveMinutes), Cache1h: int64(u.Created.OneHour)}
	for _, it := range u.Iterations {
		out.Iterations = append(out.Iterations, message.Iteration{Type: it.Type, Model: it.Model, InputTokens: int64(it.InputTokens), OutputTokens: int64(it.OutputTokens),
			CacheReadTokens: int64(it.CacheRead), CacheCreationTokens: int64(it.CacheCreation), Cache5m: int64(it.Created.FiveMinutes), Cache1h: int64(it.Created.OneHour)})
	}
	return out
}

// messageBody is a reply as the API writes it.
type messageBody struct {
	ID                string             `json:"id"`
	Type              string             `json:"type"`
	Role              string             `json:"role"`
	Model             string             `json:"model"`
	Content           []json.RawMessage  `json:"content"`
	StopReason        *string            `json:"stop_reason"`
	StopSequence      *string            `json:"stop_sequence"`
	StopDetails       map[string]any     `json:"stop_details"`
	Container         *string            `json:"container"`
	Usage             *usage             `json:"usage"`
	ContextManagement *contextManagement `json:"context_management,omitempty"`
	Diagnostics       *diagnostics       `json:"diagnostics,omitempty"`
	Transformations   *[]Transformation  `json:"input_transformations,omitempty"`

	blocks []outBlock
}

type contextManagement struct {
	AppliedEdits []AppliedEdit `json:"applied_edits"`
}

type diagnostics struct {
	Reason *missReason `json:"cache_miss_reason"`
}

type missReason struct {
	Type   string `json:"type"`
	Missed *int   `json:"cache_missed_input_tokens,omitempty"`
}

// newBody writes the reply as a message.
func newBody(r *reply, model string, u *usage) *messageBody {
	m := &messageBody{ID: r.id, Type: "message", Role: "assistant", Model: model, Content: []json.RawMessage{}, Usage: u, blocks: r.blocks}
	for _, b := range r.blocks {
		m.Content = append(m.Content, b.raw)
	}
	m.StopReason = &r.stop
	if r.stopSeq != "" {
		m.StopSequence = &r.stopSeq
	}
	if r.stop == "refusal" {
		details := map[string]any{"type": "refusal", "category": nil, "explanation": nil}
		if r.category != "" {
			details["category"] = r.category
		}
		if r.refused != "" {
			details["explanation"] = r.refused
		}
		m.StopDetails = details
	}
	return m
}
