package llm

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve.dev/internal/secret"
)

// Failure is what an adapter knows of a request that failed. [Classify] makes an
// error of it. Type, Code and Message are read from Body where they are empty.
type Failure struct {
	Status   int    // HTTP; 0 when there was no answer
	Body     []byte // of the answer, or of an error event inside a stream; JSON or not
	Type     string
	Code     string
	Message  string
	InStream bool // the stream had begun: Status says nothing

	Header    func(name string) string // of the answer; nil when there was none
	RequestID string                   // where it is not in Body
	Now       func() time.Time         // for dates in Retry-After; nil is time.Now
	Secrets   []string                 // what must not appear in the error
	Err       error                    // no answer, or a broken stream
}

// Classify tells what kind of failure it was, for all providers: by machine-readable
// code, then type, then text, then status. Texts are matched loosely, because
// providers, gateways and local servers change them; what must not be mistaken
// for another kind stands first (a rate limit speaks of tokens, too).
func Classify(f Failure) *Error {
	e := &Error{Status: f.Status, Type: f.Type, Code: f.Code, Message: f.Message, InStream: f.InStream,
		RequestID: f.RequestID, Err: f.Err}
	b := parseBody(f.Body)
	fill(&e.Type, b.kind)
	fill(&e.Code, b.code)
	fill(&e.Message, b.message)
	fill(&e.RequestID, b.requestID)
	if e.Message == "" && f.Err != nil {
		e.Message = f.Err.Error()
	}
	if len(e.Message) > 4*maxMessage {
		e.Message = e.Message[:4*maxMessage] // what tells the kind stands at the beginning
	}
	if isCancelled(f.Err) {
		e.Kind = KindCancelled
	} else {
		e.Kind = kindOf(e, f)
	}
	if e.Kind == KindOverflow {
		e.Tokens, e.Window = overflowNumbers(e.Message)
		if b.tokens > 0 && b.window > 0 {
			e.Tokens, e.Window = b.tokens, b.window
		}
		e.Bytes = e.Bytes || e.Tokens == 0 && (e.Status == 413 || e.Type == "request_too_large" || bytesLimit().MatchString(e.Message) && !strings.Contains(e.Message, "context"))
	}
	f.headers(e)
	if e.RetryAfter == 0 {
		e.RetryAfter = b.retry
	}
	e.Message = clean(e.Message, f.Secrets)
	for _, s := range []*string{&e.Type, &e.Code, &e.RequestID} {
		if *s = clean(*s, f.Secrets); len(*s) > 128 {
			*s = (*s)[:128]
		}
	}
	return e
}

// isCancelled reports whether err is, or wraps, the error of a context that ended.
// errors.Is would say so of a network timeout, too.
func isCancelled(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err == context.Canceled || err == context.DeadlineExceeded {
			return true
		}
	}
	return false
}

func fill(dst *string, s string) {
	if *dst == "" {
		*dst = s
	}
}

// maxMessage bounds the text of an error: a gateway may answer with a page.
const maxMessage = 2000

// clean makes a text of the outside safe to show: without secrets, of bounded
// length, on one line.
func clean(s string, secrets []string) string {
	for _, k := range secrets {
		if k != "" {
			s = strings.ReplaceAll(s, k, "[REDACTED]")
		}
	}
	if len(s) > maxMessage {
		s = s[:maxMessage] + "…"
	}
	s, _ = secret.Redact(strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

func kindOf(e *Error, f Failure) Kind {
	if k, ok := codes[e.Code]; ok {
		return k
	}
	text := strings.ToLower(e.Message)
	for _, r := range texts {
		if r.match(e, text) {
			return r.kind
		}
	}
	if k, ok := codes[e.Type]; ok {
		return k
	}
	if k, ok := statuses[e.Status]; ok && !f.InStream {
		return k
	}
	switch {
	case f.Err != nil, e.Status == 0:
		return KindNetwork
	case f.InStream, e.Status >= 500, e.Status < 400:
		// Below 400 is an answer that is none: a redirect, a page instead of a stream.
		return KindServer
	}
	return KindInvalid
}

// codes are machine-readable names, in error codes and error types of all
// providers (for Anthropic the list of its Go SDK, v2.15.0).
var codes = map[string]Kind{
	// Anthropic
	"prompt_too_long": KindOverflow, "request_too_large": KindOverflow, "request_body_too_large_after_decoding": KindOverflow,
	"rate_limit_error": KindRateLimit, "ramp_limit_exceeded": KindRateLimit,
	"overloaded_error": KindOverloaded, "compaction_unavailable": KindOverloaded,
	"api_error": KindServer, "timeout_error": KindServer, "cmek_context_unavailable": KindServer, "cmek_key_unreachable": KindServer,
	"authorization_check_unavailable": KindServer, "request_body_timeout": KindServer,
	"billing_error": KindSpend, "enforced_spend_limit_reached": KindSpend, "contract_spend_limit_reached": KindSpend,
	"linked_organization_spend_limit_reached": KindSpend, "linked_organization_billing_unavailable": KindSpend,
	"user_profile_not_billable": KindSpend, "user_profile_billing_not_authorized": KindSpend,
	"authentication_error": KindAuth, "permission_error": KindAuth, "api_key_scope_missing": KindAuth,
	"not_found_error":            KindModel,
	"compaction_block_ambiguous": KindCompaction, "compaction_block_misplaced": KindCompaction, "compaction_content_mismatch": KindCompaction,
	"compaction_incomplete_turn": KindCompaction, "compaction_nothing_to_summarize": KindCompaction, "compaction_signature_invalid": KindCompaction,
	"compaction_too_many_tool_references": KindCompaction, "compaction_tool_changes_mismatch": KindCompaction,
	"image_dimensions_too_large": KindInvalid,

	// OpenAI and what speaks like it
	"context_length_exceeded": KindOverflow, "model_max_prompt_tokens_exceeded": KindOverflow, "exceed_context_size_error": KindOverflow,
	"context_window_exceeded": KindOverflow, "max_context_length_exceeded": KindOverflow,
	"rate_limit_exceeded": KindRateLimit, "insufficient_quota": KindSpend, "billing_hard_limit_reached": KindSpend, "billing_not_active": KindSpend,
	"invalid_api_key": KindAuth, "account_deactivated": KindAuth, "model_not_found": KindModel,
	"server_error": KindServer, "server_is_overloaded": KindOverloaded, "slow_down": KindOverloaded, "engine_overloaded_error": KindOverloaded,
	"content_filter": KindRefusal, "content_policy_violation": KindRefusal, "invalid_prompt": KindRefusal, "cyber_policy": KindRefusal,
	"string_above_max_length": KindInvalid,

	// Gemini
	"RESOURCE_EXHAUSTED": KindRateLimit, "UNAVAILABLE": KindOverloaded, "INTERNAL": KindServer, "DEADLINE_EXCEEDED": KindServer,
	"UNAUTHENTICATED": KindAuth, "PERMISSION_DENIED": KindAuth, "NOT_FOUND": KindModel,

	// Bedrock
	"ThrottlingException": KindRateLimit, "ServiceUnavailableException": KindOverloaded, "ModelNotReadyException": KindOverloaded,
	"InternalServerException": KindServer, "ModelTimeoutException": KindServer, "ModelStreamErrorException": KindServer,
	"AccessDeniedException": KindAuth, "ExpiredTokenException": KindAuth, "UnrecognizedClientException": KindAuth,
	"ServiceQuotaExceededException": KindSpend,
}

var statuses = map[int]Kind{
	401: KindAuth, 402: KindSpend, 403: KindAuth, 404: KindModel, 407: KindAuth,
	// 413 comes from the edge and may have any body, or none (API.md 1.4).
	413: KindOverflow, 429: KindRateLimit, 500: KindServer, 502: KindServer, 503: KindOverloaded, 504: KindServer, 529: KindOverloaded,
}

// lazy returns a pattern that is compiled when it is first used: most programs see
// no error, and all of them start.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// A textRule recognizes a kind by the text. All of is contained, in lower case;
// re, where set, matches.
type textRule struct {
	kind Kind
	all  []string
	re   func() *regexp.Regexp
	when func(e *Error) bool
}

func (r *textRule) match(e *Error, lower string) bool {
	for _, s := range r.all {
		if !strings.Contains(lower, s) {
			return false
		}
	}
	return (r.re == nil || r.re().MatchString(lower)) && (r.when == nil || r.when(e))
}

func has(kind Kind, all ...string) textRule { return textRule{kind: kind, all: all} }
func like(kind Kind, pattern string) textRule {
	return textRule{kind: kind, re: lazy(pattern)}
}
func isStatus(codes ...int) func(e *Error) bool {
	return func(e *Error) bool {
		for _, c := range codes {
			if e.Status == c {
				return true
			}
		}
		return false
	}
}

// texts are tried in order. A text that would be recognized too widely by a later
// rule has its own before it.
var texts = []textRule{
	// Money. A spend limit is a 400 or a 429 and would otherwise be taken for a bad request or a rate limit.
	has(KindSpend, "reached your specified", "usage limits"),
	has(KindSpend, "credit balance is too low"),
	has(KindSpend, "insufficient", "balance"),
	has(KindSpend, "spend limit"),
	{kind: KindSpend, all: []string{"exceeded your current quota"}, when: func(e *Error) bool { return e.Type != "RESOURCE_EXHAUSTED" && e.Code != "RESOURCE_EXHAUSTED" }},

	// Reasoning.
	like(KindMismatch, "invalid `(signature|data)` in `(redacted_)?thinking` block"),
	has(KindMismatch, "bound to a different conversation"),
	has(KindMismatch, "thinking", "cannot be modified"),
	like(KindMismatch, "expected `thinking` or `redacted_thinking`, but found"),
	has(KindMismatch, "encrypted content", "could not be verified"),
	has(KindMismatch, "missing a thought_signature"),

	// What speaks of tokens, lengths or sizes and is no overflow of the prompt.
	like(KindRateLimit, `rate.?limit|tokens per (min|day|hour)|requests per (min|day|hour)|\b(i|o)?(tpm|rpm)\b|too many requests|throttl`),
	has(KindRateLimit, "too many tokens", "wait"),
	like(KindInvalid, `max_tokens: \d+ > \d+, which is the maximum allowed number of output tokens`),
	like(KindInvalid, `(max_tokens|max_completion_tokens|max_output_tokens)\b.{0,40}(must be|is too large: \d+\. this model supports at most|should be|greater than or equal)`),
	like(KindInvalid, `string (too long|should have at most)`),
	like(KindInvalid, `budget_tokens`),
	like(KindInvalid, `image (dimensions )?exceeds?|image dimensions|max allowed size`),
	like(KindInvalid, `maximum of \d+ (pdf pages|images|blocks with cache_control)`),
	like(KindInvalid, "`tool_use` ids|unexpected `tool_use_id`|tool_call_ids? did not|function (call|response)"),

	// The prompt is too long.
	like(KindOverflow, `prompt is too long|prompt_too_long|prompt too long`),
	has(KindOverflow, "input length and `max_tokens` exceed context limit"),
	has(KindOverflow, "input is too long for requested model"),
	like(KindOverflow, `exceeds? the (model's )?(maximum )?context (window|length|limit|size)`),
	has(KindOverflow, "maximum context length"),
	like(KindOverflow, `input token count.*exceeds the maximum number of tokens`),
	has(KindOverflow, "exceeds the available context size"),
	like(KindOverflow, `context[ _](length|window|size)[ _](is )?exceed`),
	like(KindOverflow, `(greater|larger|longer) than the (model's )?context (length|window|size)`),
	like(KindOverflow, `context (window|length|size) exceeds (the )?limit`),
	has(KindOverflow, "exceeded model token limit"),
	like(KindOverflow, `maximum prompt length is \d+`),
	has(KindOverflow, "reduce the length of the messages"),
	like(KindOverflow, `prompt token count of \d+ exceeds the limit of \d+`),
	like(KindOverflow, `input (tokens?|length|is)[^.]{0,40}exceeds?[^.]{0,30}(limit|maximum|window)`),
	like(KindOverflow, `the input \(\d+ tokens\) is longer than the model's context length`),
	has(KindOverflow, "range of input length should be"),
	like(KindOverflow, `request (size )?(exceeds the maximum size|too large|entity too large)|payload too large|request body is too large`),

	// Who may, and what there is.
	like(KindAuth, `invalid (x-)?api.?key|incorrect api key|api key not (valid|found)|oauth token has expired|authentication_error`),
	like(KindModel, `model .{0,80}(not found|does not exist|not supported|not exist)|unknown model|no such model`),
	{kind: KindOverloaded, re: lazy(`overloaded|at capacity|over capacity|no capacity`)},
	{kind: KindServer, re: lazy(`internal server error|upstream connect error|bad gateway`), when: func(e *Error) bool { return e.Status >= 500 || e.InStream || e.Status == 200 }},
	{kind: KindRefusal, re: lazy(`content (management )?policy|content filter|flagged as potentially violating|usage polic`), when: isStatus(0, 200, 400, 403)},
}

// bytesLimit tells limits of bytes from those of tokens.
var bytesLimit = lazy(`(?i)maximum size|too large|megabytes|\bMB\b|\bbytes\b`)

// numbers are the shapes in which an overflow names its figures: "208310 tokens >
// 200000 maximum", "178959 + 64000 > 200000", "token count (1200293) exceeds … (1048576)",
// "maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens".
var numbers = []struct {
	re                    func() *regexp.Regexp
	tokens, extra, window int // submatches; 0 = none
}{
	{lazy(`(\d+) \+ (\d+) > (\d+)`), 1, 2, 3},
	{lazy(`(\d+)(?: tokens)? > (\d+)`), 1, 0, 2},
	{lazy(`token count \((\d+)\) exceeds[^(]*\((\d+)\)`), 1, 0, 2},
	{lazy(`token count of (\d+) exceeds the limit of (\d+)`), 1, 0, 2},
	{lazy(`input \((\d+) tokens\) is longer than [^(]*\((\d+) tokens\)`), 1, 0, 2},
	{lazy(`maximum context length (?:is|of) (\d+)[^\d]*?(?:tokens)?.*?(?:resulted in|requested(?: about)?|has|contains at least) (\d+)`), 2, 0, 1},
	{lazy(`maximum prompt length is (\d+).*?contains (\d+)`), 2, 0, 1},
	{lazy(`request \((\d+) tokens\) exceeds the available context size \((\d+)`), 1, 0, 2},
	{lazy(`prompt contains (\d+) tokens.*?(\d+) maximum context length`), 1, 0, 2},
	{lazy(`maximum context length (?:is|of) (\d+)`), 0, 0, 1},
	{lazy(`maximum prompt length is (\d+)`), 0, 0, 1},
}

func overflowNumbers(text string) (tokens, window int) {
	text = strings.ToLower(text)
	text = thousands().ReplaceAllString(text, "$1$2")
	for _, n := range numbers {
		m := n.re().FindStringSubmatch(text)
		if m == nil {
			continue
		}
		at := func(i int) int {
			if i == 0 {
				return 0
			}
			v, err := strconv.Atoi(m[i])
			if err != nil || v > maxFigure {
				return 0
			}
			return v
		}
		return at(n.tokens) + at(n.extra), at(n.window)
	}
	return 0, 0
}

// maxFigure is the largest figure that is believed; no window comes near it.
const maxFigure = 1 << 40

var thousands = lazy(`(\d),(\d{3})`)

// headers reads what the answer's headers say about trying again.
func (f *Failure) headers(e *Error) {
	if f.Header == nil {
		return
	}
	if e.RequestID == "" {
		for _, name := range []string{"request-id", "x-request-id"} {
			fill(&e.RequestID, f.Header(name))
		}
	}
	switch f.Header("x-should-retry") {
	case "true":
		e.ShouldRetry = new(true)
	case "false":
		e.ShouldRetry = new(false)
	}
	now := f.Now
	if now == nil {
		now = time.Now
	}
	e.RetryAfter = retryAfter(f.Header, now)
}

// retryAfter reads Retry-After-Ms, then Retry-After in seconds or as a date, as
// the official SDKs do; 0 when there is neither.
func retryAfter(header func(string) string, now func() time.Time) time.Duration {
	if d, ok := duration(header("retry-after-ms"), time.Millisecond); ok {
		return d
	}
	v := header("retry-after")
	if d, ok := duration(v, time.Second); ok {
		return d
	}
	for _, layout := range []string{time.RFC1123, time.RFC850, time.ANSIC, time.RFC3339} {
		if t, err := time.Parse(layout, v); err == nil {
			return max(0, t.Sub(now()))
		}
	}
	return 0
}

func duration(v string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	return time.Duration(min(n, float64(maxAsked/unit)) * float64(unit)), true
}

// maxAsked bounds what a header can ask for, so that sums do not overflow.
const maxAsked = 365 * 24 * time.Hour

// body is what the bodies of all providers have in common.
type body struct {
	kind, code, message, requestID string
	tokens, window                 int
	retry                          time.Duration
}

// parseBody reads an error body of any provider: Anthropic's {type, error{type,
// message, details}}, OpenAI's {error{type, code, message}} and response.failed,
// Gemini's {error{code, status, message}}, also in an array, llama.cpp's with
// its figures, {"error": "text"}, {"message": "text"}, or plain text.
func parseBody(raw []byte) body {
	raw = trimJSON(raw)
	var top struct {
		Error     json.RawMessage `json:"error"`
		Message   string          `json:"message"`
		Code      json.RawMessage `json:"code"`
		Type      string          `json:"type"`
		AWS       string          `json:"__type"`
		RequestID string          `json:"request_id"`
		Response  struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
		Detail json.RawMessage `json:"detail"`
	}
	if len(raw) == 0 {
		return body{}
	}
	if raw[0] != '{' || json.Unmarshal(raw, &top) != nil {
		return body{message: plainText(raw)}
	}
	if len(top.Error) == 0 || string(top.Error) == "null" {
		top.Error = top.Response.Error
	}
	b := body{requestID: top.RequestID}
	if inner := top.Error; len(inner) > 0 && inner[0] == '{' {
		b.inner(inner)
		return b
	}
	var text string
	if json.Unmarshal(top.Error, &text) == nil && text != "" {
		b.message = text
		return b
	}
	b.message, b.code, b.kind = top.Message, textOf(top.Code), top.Type
	if b.kind == "error" { // the event's own name
		b.kind = ""
	}
	fill(&b.kind, top.AWS[strings.LastIndexByte(top.AWS, '#')+1:])
	fill(&b.message, textOf(top.Detail))
	return b
}

func (b *body) inner(raw json.RawMessage) {
	var in struct {
		Type    string          `json:"type"`
		Status  string          `json:"status"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Details json.RawMessage `json:"details"`
		Prompt  int             `json:"n_prompt_tokens"`
		Ctx     int             `json:"n_ctx"`
	}
	if json.Unmarshal(raw, &in) != nil {
		b.message = plainText(raw)
		return
	}
	b.kind, b.code, b.message = in.Type, textOf(in.Code), textOf(in.Message)
	fill(&b.kind, in.Status)
	b.tokens, b.window = in.Prompt, in.Ctx
	var details struct {
		ErrorCode string `json:"error_code"`
	}
	if json.Unmarshal(in.Details, &details) == nil && details.ErrorCode != "" {
		b.code = details.ErrorCode
	}
	var list []struct {
		RetryDelay string `json:"retryDelay"`
	}
	if json.Unmarshal(in.Details, &list) == nil {
		for _, d := range list {
			if w, err := time.ParseDuration(d.RetryDelay); err == nil && w > 0 {
				b.retry = min(w, maxAsked)
			}
		}
	}
}

// textOf returns a JSON string's text; numbers (HTTP statuses as codes) are none.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// trimJSON returns the object in raw, without white space and out of an array of
// one (Gemini's streams).
func trimJSON(raw []byte) []byte {
	s := strings.TrimSpace(string(raw))
	if strings.HasPrefix(s, "[") {
		var list []json.RawMessage
		if json.Unmarshal([]byte(s), &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	return []byte(s)
}

var markup = lazy(`(?s)<(script|style)[^>]*>.*?</(script|style)>|<[^>]*>`)

// plainText is the text of a body that is no JSON object, mostly a proxy's page.
func plainText(raw []byte) string {
	if len(raw) > 4*maxMessage {
		raw = raw[:4*maxMessage]
	}
	return strings.Join(strings.Fields(markup().ReplaceAllString(string(raw), " ")), " ")
}
