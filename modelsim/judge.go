package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"varve.dev/internal/validate"
)

// A Violation is one rule of the API that a request breaks. Rule is stable: one of internal/validate's names or one of this package's
// (docs/modelsim.md lists them). Path is in the API's own notation ("messages.3.content.1"); "" is the request as a whole.
type Violation struct {
	Rule   string `json:"rule"`
	Path   string `json:"path,omitempty"`
	Detail string `json:"detail"`

	status int    // 0 means 400
	code   string // details.error_code, "" for none
}

func (v Violation) String() string {
	if v.Path == "" {
		return v.Detail + " [" + v.Rule + "]"
	}
	return v.Path + ": " + v.Detail + " [" + v.Rule + "]"
}

// The versions of the API (the header anthropic-version). The second removed sampling parameters, documents in assistant messages and
// citations in user messages; the official SDKs send it since October 2026.
const (
	version2023 = "2023-06-01"
	version2026 = "2026-10-21"
)

// isNew reports whether the request is of the second version.
func (j *judge) isNew() bool { return j.header.Get("Anthropic-Version") == version2026 }

// judge collects what is wrong with one request.
type judge struct {
	*call
	found []Violation
}

func (j *judge) add(rule, path, format string, args ...any) {
	j.found = append(j.found, Violation{Rule: rule, Path: path, Detail: fmt.Sprintf(format, args...)})
}

// coded reports a violation that the API names with an error code of its own.
func (j *judge) coded(code, path, format string, args ...any) {
	j.add("compaction", path, code+": "+format, args...)
	j.found[len(j.found)-1].code = code
}

func (j *judge) fail(status int, rule, path, format string, args ...any) {
	j.add(rule, path, format, args...)
	j.found[len(j.found)-1].status = status
}

// needBeta reports a feature that the request uses without its beta header. The API does not know the field then.
func (j *judge) needBeta(beta, path, what string) { j.needAnyBeta(path, what, beta) }

func (j *judge) needAnyBeta(path, what string, betas ...string) {
	for _, b := range betas {
		if j.betas[b] {
			return
		}
	}
	j.add("beta-missing", path, "Extra inputs are not permitted (%s needs the anthropic-beta %s)", what, strings.Join(betas, " or "))
}

// judge names everything that is wrong with the request and follows its reasoning.
func (s *Server) judge(c *call) ([]Violation, *bound) {
	j := &judge{call: c}
	if !j.headers() {
		return j.found, &bound{walker: newWalker(sum{})}
	}
	if c.body == nil {
		j.add("json", "", "The request body is not valid JSON")
		return j.found, &bound{walker: newWalker(sum{})}
	}
	j.fields()
	j.modelRules()
	j.toolRules()
	j.messageRules()
	j.compactionRules()
	j.editRules()
	s.pairing(j)
	b := s.follow(c, j)
	seen := map[[2]string]bool{}
	j.found = slices.DeleteFunc(j.found, func(v Violation) bool { // two looks at one thing
		k := [2]string{v.Rule, v.Path}
		double := seen[k] && v.Rule != "field" && v.Rule != "json"
		seen[k] = true
		return double
	})
	slices.SortStableFunc(j.found, func(a, b Violation) int { return b.status - a.status }) // 413 and 404 first
	return j.found, b
}

// headers checks what every request must carry; false means that nothing else is looked at.
func (j *judge) headers() bool {
	h := j.header
	if j.key == "" {
		j.fail(http.StatusUnauthorized, "auth", "", "x-api-key header is required")
		return false
	}
	switch v := h.Get("Anthropic-Version"); v {
	case version2023, version2026:
	case "":
		j.add("header", "", "anthropic-version: header is required")
	default:
		j.add("header", "", "anthropic-version: %q is not a valid version", v)
	}
	if t, _, _ := strings.Cut(h.Get("Content-Type"), ";"); strings.TrimSpace(t) != "application/json" {
		j.add("header", "", "content-type: must be application/json, not %q", t)
	}
	for _, b := range sortedKeys(j.betas) {
		if !betaShape.MatchString(b) {
			j.add("beta-unknown", "", "Unexpected value(s) `%s` for the `anthropic-beta` header", b)
		}
	}
	return true
}

// requestFields are the members of a request body (API.md 1.1).
var requestFields = strings.Fields(`model max_tokens messages system tools tool_choice thinking output_config cache_control context_management
	compaction diagnostics stop_sequences metadata service_tier speed fallbacks fallback_credit_token container mcp_servers inference_geo stream
	temperature top_p top_k output_format betas thread billing_policy`)

// countFields are those of a request to count tokens.
var countFields = strings.Fields(`model messages system tools tool_choice thinking output_config cache_control context_management compaction
	mcp_servers output_format speed betas billing_policy`)

func (j *judge) fields() {
	allowed := requestFields
	if j.isCount() {
		allowed = countFields
	}
	for _, m := range j.body {
		if !slices.Contains(allowed, m.name) {
			j.add("field", m.name, "Extra inputs are not permitted")
		}
	}
	if j.body.str("model") == "" {
		j.add("field", "model", "Field required")
	}
	if _, ok := asArray(j.body.get("messages")); !ok {
		j.add("field", "messages", "Field required, an array")
	}
	if j.isCount() {
		return
	}
	n, ok := j.body.num("max_tokens")
	switch {
	case !j.body.has("max_tokens"):
		j.add("field", "max_tokens", "Field required")
	case !ok || n < 0:
		j.add("field", "max_tokens", "Input should be a whole number of at least 0")
	case n == 0 && j.body.flag("stream"):
		j.add("field", "max_tokens", "max_tokens: 0 only warms the cache and cannot be streamed")
	case j.model != nil && j.model.MaxOutput > 0 && n > j.model.MaxOutput:
		j.add("max-tokens", "max_tokens", "%d > %d, which is the maximum allowed number of output tokens for %s", n, j.model.MaxOutput, j.model.id)
	}
	if raw := j.body.get("stream"); raw != nil && string(raw) != "true" && string(raw) != "false" {
		j.add("field", "stream", "Input should be a valid boolean")
	}
	if id := j.body.obj("metadata").str("user_id"); len(id) > 256 {
		j.add("field", "metadata.user_id", "String should have at most 256 characters")
	}
	list, isList := asArray(j.body.get("stop_sequences"))
	if j.body.has("stop_sequences") && !isList {
		j.add("field", "stop_sequences", "Input should be a valid list")
	}
	for i, raw := range list {
		if s, ok := asString(raw); !ok || strings.TrimSpace(s) == "" {
			j.add("field", "stop_sequences."+itoa(i), "each stop sequence must contain non-whitespace")
		}
	}
}

// modelRules checks what depends on the model.
func (j *judge) modelRules() {
	m := j.model
	if m == nil {
		if id := j.body.str("model"); id != "" {
			j.fail(http.StatusNotFound, "model", "", "model: %s", id)
		}
		return
	}
	for _, f := range []string{"temperature", "top_p", "top_k"} {
		if raw := string(j.body.get(f)); raw != "" && j.isNew() {
			j.add("sampling", f, "Extra inputs are not permitted (%s was removed in version %s)", f, version2026)
		} else if !m.Sampling && raw != "" && raw != "null" && !(f == "temperature" && raw == "1") {
			j.add("sampling", f, "%s is not supported for this model", f)
		}
	}
	j.thinkingRules()
	e := j.effort()
	if e != "" && !slices.Contains(m.Thinking.Effort, e) {
		j.add("effort", "output_config.effort", "Input should be one of %v on this model, not '%s'", m.Thinking.Effort, e)
	}
	if j.body.obj("output_config").has("task_budget") {
		j.needBeta("task-budgets-2026-03-13", "output_config.task_budget", "task_budget")
	}
	if j.body.has("fallbacks") {
		j.needAnyBeta("fallbacks", "fallbacks", "server-side-fallback-2026-07-01", "server-side-fallback-2026-06-01")
	}
	if j.body.has("mcp_servers") {
		j.needAnyBeta("mcp_servers", "mcp_servers", "mcp-client-2026-09-15", "mcp-client-2025-11-20", "mcp-client-2025-04-04")
	}
}

// minBudget is the smallest budget of manual thinking in tokens (API.md 1.6).
const minBudget = 1024

func (j *judge) thinkingRules() {
	if !j.body.has("thinking") {
		return
	}
	th := j.body.obj("thinking")
	typ := th.str("type")
	switch {
	case !slices.Contains([]string{"adaptive", "enabled", "disabled", "between_tools"}, typ):
		j.add("thinking-mode", "thinking.type", "Input tag '%s' found using 'type' does not match any of the expected tags", typ)
	case !slices.Contains(j.model.Thinking.Modes, typ) && typ == "adaptive":
		j.add("thinking-mode", "thinking", "adaptive thinking is not supported on this model")
	case !slices.Contains(j.model.Thinking.Modes, typ):
		j.add("thinking-mode", "thinking", "\"thinking.type.%s\" is not supported for this model", typ)
	}
	if typ == "enabled" {
		n, ok := th.num("budget_tokens")
		max, _ := j.body.num("max_tokens")
		switch {
		case !ok || n < minBudget:
			j.add("thinking-budget", "thinking.enabled.budget_tokens", "Input should be greater than or equal to %d", minBudget)
		case !j.isCount() && n >= max && !j.betas["interleaved-thinking-2025-05-14"]:
			j.add("thinking-budget", "", "`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	}
	if th.has("block_binding") {
		j.needBeta("thinking-binding-controls-2026-08-01", "thinking.block_binding", "block_binding")
		switch b := th.obj("block_binding").str("prefix_mismatch_behavior"); b {
		case "error", "drop_block", "":
		default:
			j.add("thinking-mode", "thinking.block_binding.prefix_mismatch_behavior", "Input should be 'error' or 'drop_block', not '%s'", b)
		}
	}
}

// toolRules checks definitions and tool_choice; names are checked by the pairing rules.
func (j *judge) toolRules() {
	if j.body.has("tools") {
		if _, ok := asArray(j.body.get("tools")); !ok {
			j.add("field", "tools", "Input should be a valid list")
		}
	}
	for i, t := range j.tools {
		at := "tools." + itoa(i)
		j.cacheMark(t.o, at)
		if typ := t.o.str("type"); typ != "" && typ != "custom" {
			continue // a tool of the server's, which has no schema
		}
		if t.name == "" {
			j.add("tool-schema", at+".custom.name", "Field required")
		}
		schema, err := parseObject(t.o.get("input_schema"))
		switch {
		case !t.o.has("input_schema"):
			j.add("tool-schema", at+".custom.input_schema", "Field required")
		case err != nil || schema.str("type") != "object":
			j.add("tool-schema", at+".custom.input_schema.type", "Input should be 'object'")
		}
	}
	if !j.body.has("tool_choice") {
		return
	}
	choice := j.body.obj("tool_choice")
	typ := choice.str("type")
	switch {
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, typ):
		j.add("tool-choice", "tool_choice", "Input tag '%s' found using 'type' does not match any of the expected tags", typ)
	case len(j.tools) == 0:
		j.add("tool-choice", "tool_choice", "tool_choice may only be specified while providing tools")
	case typ == "tool" && !j.hasTool(choice.str("name")):
		j.add("tool-choice", "tool_choice", "Tool '%s' not found in provided tools", choice.str("name"))
	case (typ == "any" || typ == "tool") && j.model != nil && !j.model.ForcedTools:
		j.add("tool-choice", "tool_choice", "tool_choice '%s' is not supported on this model", typ)
	case (typ == "any" || typ == "tool") && j.body.obj("thinking").str("type") == "enabled":
		j.add("tool-choice", "", "Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// cacheMark checks the shape of a cache mark.
func (j *judge) cacheMark(o object, path string) {
	if !o.has("cache_control") {
		return
	}
	m := o.obj("cache_control")
	if m.str("type") != "ephemeral" {
		j.add("cache-control", path+".cache_control.type", "Input should be 'ephemeral'")
	}
	if ttl := m.str("ttl"); m.has("ttl") && ttl != "5m" && ttl != "1h" {
		j.add("cache-control", path+".cache_control.ttl", "Input should be '5m' or '1h', not '%s'", ttl)
	}
}

// pairing asks the independent validator, which keeps what it learned of the last request of these options.
func (s *Server) pairing(j *judge) {
	opt := validate.Options{}
	if m := j.model; m != nil {
		opt = validate.Options{NoPrefill: !m.Prefill, NoSystem: !m.MidSystem, MaxBytes: m.MaxBody, MaxImages: m.MaxImages}
	}
	if _, ok := asArray(j.body.get("messages")); j.body.has("messages") && !ok {
		return // fields says so
	}
	req, err := validate.Parse(j.raw)
	if err != nil {
		j.add("json", "", "%v", err)
		return
	}
	req.Messages = slices.DeleteFunc(req.Messages, func(m json.RawMessage) bool { return m == nil })
	g := s.guards[opt]
	if g == nil {
		g = validate.NewGuard(opt)
		s.guards[opt] = g
	}
	twice := "compaction_block_misplaced"
	j.each(func(b *block) {
		if b.isOnDemand() && b.path == "messages.0.content.0" {
			twice = "compaction_block_ambiguous"
		}
	})
	for _, v := range g.Check(req) {
		status, code := 0, ""
		switch v.Rule {
		case validate.RuleCompact:
			code = twice
		case validate.RuleOpen:
			if j.wantsCompaction() && v.Path[:len("messages.")+len(itoa(len(j.msgs)-1))] == "messages."+itoa(len(j.msgs)-1) {
				code = "compaction_incomplete_turn"
			}
		}
		if v.Rule == validate.RuleSize {
			status = http.StatusRequestEntityTooLarge
		}
		j.found = append(j.found, Violation{Rule: v.Rule, Path: v.Path, Detail: v.Detail, status: status, code: code})
	}
}

// apiMessage is the violation in the words of the API (API.md 1.5).
func (v Violation) apiMessage() string {
	msg, _, _ := strings.Cut(v.Path, ".content")
	switch v.Rule {
	case validate.RuleOpen:
		return msg + ": " + v.Detail + ". Each `tool_use` block must have a corresponding `tool_result` block in the next message."
	case validate.RuleOrphan:
		return v.Path + ": " + v.Detail + ". Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
	case validate.RuleText:
		return "messages: " + v.Detail
	case validate.RuleMarks, validate.RulePrefill, validate.RuleSize:
		return v.Detail
	}
	if v.Path == "" {
		return v.Detail
	}
	return v.Path + ": " + v.Detail
}

// apiType is the error type that belongs to the status.
func (v Violation) apiType() (status int, typ string) {
	status = v.status
	if status == 0 {
		status = http.StatusBadRequest
	}
	return status, errorType(status)
}
