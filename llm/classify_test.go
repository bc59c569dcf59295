package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// wrap is an error body as Anthropic writes it.
func wrap(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

func openAI(code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
}

// bodies are answers of providers, gateways and local servers: overflows, what
// resembles them, and everything else.
var bodies = []struct {
	name           string
	status         int
	body           string
	inStream       bool
	kind           Kind
	tokens, window int
	bytes          bool
}{
	// Overflow: Anthropic, its hosts, gateways before it.
	{"input alone (anthropics/claude-code#12186)", 400, wrap("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"), false, KindOverflow, 208310, 200000, false},
	{"input and output (docker/docker-agent#569)", 400, wrap("invalid_request_error", "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"), false, KindOverflow, 242959, 200000, false},
	{"without figures", 400, wrap("invalid_request_error", "Prompt is too long"), false, KindOverflow, 0, 0, false},
	{"in a stream", 200, wrap("invalid_request_error", "prompt is too long: 1000001 tokens > 1000000 maximum"), true, KindOverflow, 1000001, 1000000, false},
	{"bedrock", 400, `{"message":"Input is too long for requested model."}`, false, KindOverflow, 0, 0, false},
	{"bedrock, typed", 400, `{"__type":"com.amazon#ValidationException","message":"Input is too long for requested model."}`, false, KindOverflow, 0, 0, false},
	{"gateway", 400, `{"error":"capability_rejected: prompt_too_long"}`, false, KindOverflow, 0, 0, false},
	{"gateway, status 500", 500, `litellm.BadRequestError: AnthropicException - prompt is too long: 207000 tokens > 200000 maximum`, false, KindOverflow, 207000, 200000, false},
	{"edge without a body", 413, ``, false, KindOverflow, 0, 0, true},
	{"edge with a page", 413, `<html><head><title>413 Request Entity Too Large</title></head><body><h1>413</h1></body></html>`, false, KindOverflow, 0, 0, true},
	{"edge typed", 413, wrap("request_too_large", "Request exceeds the maximum size"), false, KindOverflow, 0, 0, true},
	{"decoded body", 413, `{"type":"error","error":{"type":"request_too_large","message":"too large once decoded","details":{"error_code":"request_body_too_large_after_decoding"}}}`, false, KindOverflow, 0, 0, true},
	{"cerebras 413 without a body but a window in its text", 413, `{"message":"prompt is too long: 9000 tokens > 8192 maximum"}`, false, KindOverflow, 9000, 8192, false},
	// Overflow: OpenAI and what speaks like it.
	{"openai responses", 400, openAI("context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."), false, KindOverflow, 0, 0, false},
	{"openai response.failed (openai/codex#4116)", 200, `{"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`, true, KindOverflow, 0, 0, false},
	{"openai error event", 200, `{"type":"error","code":"context_length_exceeded","message":"too long","sequence_number":3}`, true, KindOverflow, 0, 0, false},
	{"openai chat", 400, openAI("context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 130120 tokens. Please reduce the length of the messages."), false, KindOverflow, 130120, 128000, false},
	{"vllm", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9,216 tokens (1,024 in the completion).","type":"BadRequestError","code":400}`, false, KindOverflow, 9216, 8192, false},
	{"openrouter", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens","code":400}}`, false, KindOverflow, 140000, 131072, false},
	{"sglang", 400, `{"message":"The input (70000 tokens) is longer than the model's context length (65536 tokens)."}`, false, KindOverflow, 70000, 65536, false},
	{"xai", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, false, KindOverflow, 537812, 131072, false},
	{"groq", 400, openAI("", "Please reduce the length of the messages or completion."), false, KindOverflow, 0, 0, false},
	{"copilot", 400, openAI("model_max_prompt_tokens_exceeded", "prompt token count of 140000 exceeds the limit of 128000"), false, KindOverflow, 140000, 128000, false},
	{"kimi", 400, openAI("", "Invalid request: Your request exceeded model token limit: 262144"), false, KindOverflow, 0, 0, false},
	{"minimax", 400, openAI("", "invalid params, context window exceeds limit"), false, KindOverflow, 0, 0, false},
	{"mistral", 400, `{"message":"Prompt contains 70000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}`, false, KindOverflow, 70000, 32768, false},
	{"qwen", 400, openAI("", "Range of input length should be [1, 129024]"), false, KindOverflow, 0, 0, false},
	// Overflow: Gemini, local servers.
	{"gemini", 400, `{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, false, KindOverflow, 1200293, 1048576, false},
	{"gemini in an array", 400, `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, false, KindOverflow, 1200293, 1048576, false},
	{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}`, false, KindOverflow, 9000, 8192, false},
	{"llama.cpp in a 200 stream", 200, `{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (8192 tokens)","type":"exceed_context_size_error"}}`, true, KindOverflow, 9000, 8192, false},
	{"lm studio, 200 (lmstudio-ai/lmstudio-bug-tracker#2322)", 200, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. The prompt is larger than the context length"}`, true, KindOverflow, 0, 0, false},

	// Near misses: they speak of tokens, lengths and limits, and are no overflow.
	{"rate limit of tokens", 429, wrap("rate_limit_error", "This request would exceed your organization's rate limit of 40,000 input tokens per minute. Please reduce the prompt length or the maximum tokens requested"), false, KindRateLimit, 0, 0, false},
	{"openai tokens a minute", 429, openAI("rate_limit_exceeded", "Request too large for gpt-6 in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000."), false, KindRateLimit, 0, 0, false},
	{"bedrock throttling", 429, `{"__type":"ThrottlingException","message":"Too many tokens, please wait before trying again."}`, false, KindRateLimit, 0, 0, false},
	{"bedrock throttling, 400", 400, `{"message":"Too many tokens, please wait before trying again."}`, false, KindRateLimit, 0, 0, false},
	{"ramp limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"usage grows too fast","details":{"error_code":"ramp_limit_exceeded"}}}`, false, KindRateLimit, 0, 0, false},
	{"output limit", 400, wrap("invalid_request_error", "max_tokens: 200000 > 128000, which is the maximum allowed number of output tokens for claude-opus-5-5"), false, KindInvalid, 0, 0, false},
	{"output limit, openai", 400, openAI("invalid_value", "max_tokens is too large: 200000. This model supports at most 128000 completion tokens"), false, KindInvalid, 0, 0, false},
	{"thinking budget", 400, wrap("invalid_request_error", "`max_tokens` must be greater than `thinking.budget_tokens`"), false, KindInvalid, 0, 0, false},
	{"long string", 400, openAI("string_above_max_length", "Invalid 'input[3].output': string too long. Expected a string with maximum length 10485760"), false, KindInvalid, 0, 0, false},
	{"long name", 400, wrap("invalid_request_error", "messages.1.content.0.tool_use.name: String should have at most 200 characters"), false, KindInvalid, 0, 0, false},
	{"image size", 400, wrap("invalid_request_error", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes"), false, KindInvalid, 0, 0, false},
	{"image edge (anthropics/claude-code#34025)", 400, wrap("invalid_request_error", "messages.3.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"), false, KindInvalid, 0, 0, false},
	{"pages", 400, wrap("invalid_request_error", "A maximum of 600 PDF pages may be provided."), false, KindInvalid, 0, 0, false},
	{"marks", 400, wrap("invalid_request_error", "A maximum of 4 blocks with cache_control may be provided. Found 5."), false, KindInvalid, 0, 0, false},
	{"503 that talks of limits", 503, `upstream connect error: connection limit`, false, KindServer, 0, 0, false},

	// Money.
	{"spend limit, 400", 400, wrap("invalid_request_error", "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."), false, KindSpend, 0, 0, false},
	{"credit", 400, wrap("invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."), false, KindSpend, 0, 0, false},
	{"billing", 402, wrap("billing_error", "payment needed"), false, KindSpend, 0, 0, false},
	{"spend limit, 429", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`, false, KindSpend, 0, 0, false},
	{"openai quota", 429, openAI("insufficient_quota", "You exceeded your current quota, please check your plan and billing details."), false, KindSpend, 0, 0, false},
	{"gemini quota is a rate", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}`, false, KindRateLimit, 0, 0, false},

	// Reasoning.
	{"bound elsewhere", 400, wrap("invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."), false, KindMismatch, 0, 0, false},
	{"redacted", 400, wrap("invalid_request_error", "messages.5.content.0: Invalid `data` in `redacted_thinking` block"), false, KindMismatch, 0, 0, false},
	{"modified", 400, wrap("invalid_request_error", "messages.7.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."), false, KindMismatch, 0, 0, false},
	{"expected", 400, wrap("invalid_request_error", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"), false, KindMismatch, 0, 0, false},
	{"gemini signature", 400, `{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}`, false, KindMismatch, 0, 0, false},
	{"mode is no mismatch", 400, wrap("invalid_request_error", "\"thinking.type.enabled\" is not supported for this model"), false, KindInvalid, 0, 0, false},

	// The server's summaries.
	{"compaction misplaced", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_block_misplaced"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction signature invalid", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_signature_invalid"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction content mismatch", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_content_mismatch"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction nothing to summarize", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_nothing_to_summarize"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction incomplete turn", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_incomplete_turn"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction block ambiguous", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_block_ambiguous"}}}`, false, KindCompaction, 0, 0, false},
	{"compaction tool changes mismatch", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"compaction_tool_changes_mismatch"}}}`, false, KindCompaction, 0, 0, false},
	{"timeout", 504, wrap("timeout_error", "Request timed out"), false, KindServer, 0, 0, false},
	{"rate limit in a stream", 200, wrap("rate_limit_error", "slow down"), true, KindRateLimit, 0, 0, false},
	{"tool ids twice", 400, wrap("invalid_request_error", "messages.4.content.1: `tool_use` ids must be unique"), false, KindInvalid, 0, 0, false},
	{"compaction unavailable", 529, `{"type":"error","error":{"type":"overloaded_error","message":"x","details":{"error_code":"compaction_unavailable"}}}`, false, KindOverloaded, 0, 0, false},

	// The rest.
	{"overloaded", 529, wrap("overloaded_error", "Overloaded"), false, KindOverloaded, 0, 0, false},
	{"overloaded in a stream", 200, wrap("overloaded_error", "Overloaded"), true, KindOverloaded, 0, 0, false},
	{"529 without a body", 529, ``, false, KindOverloaded, 0, 0, false},
	{"server", 500, wrap("api_error", "Internal server error"), false, KindServer, 0, 0, false},
	{"server in a stream", 200, wrap("api_error", "Internal server error"), true, KindServer, 0, 0, false},
	{"unknown in a stream", 200, `{"type":"error","error":{"type":"new_error","message":"something"}}`, true, KindServer, 0, 0, false},
	{"gateway timeout", 504, `<html>504 Gateway Time-out</html>`, false, KindServer, 0, 0, false},
	{"rate limit", 429, wrap("rate_limit_error", "Number of requests has exceeded"), false, KindRateLimit, 0, 0, false},
	{"429 without a body", 429, ``, false, KindRateLimit, 0, 0, false},
	{"key", 401, wrap("authentication_error", "invalid x-api-key"), false, KindAuth, 0, 0, false},
	{"key, gemini says 400", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, false, KindAuth, 0, 0, false},
	{"permission", 403, wrap("permission_error", "not allowed"), false, KindAuth, 0, 0, false},
	{"proxy", 407, ``, false, KindAuth, 0, 0, false},
	{"model", 404, wrap("not_found_error", "model: claude-x"), false, KindModel, 0, 0, false},
	{"model, ollama", 404, `{"error":"model 'x' not found"}`, false, KindModel, 0, 0, false},
	{"filter", 400, openAI("content_filter", "The response was filtered due to the prompt triggering content management policy."), false, KindRefusal, 0, 0, false},
	{"pairing", 400, wrap("invalid_request_error", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."), false, KindInvalid, 0, 0, false},
	{"prefill", 400, wrap("invalid_request_error", "This model does not support assistant message prefill. The conversation must end with a user message."), false, KindInvalid, 0, 0, false},
	{"conflict", 409, wrap("conflict_error", "try again"), false, KindInvalid, 0, 0, false},
	{"redirect", 302, ``, false, KindServer, 0, 0, false},
	{"a page instead of a stream", 200, `<html>Sign in to the network</html>`, true, KindServer, 0, 0, false},
	{"broken body", 400, `{"error":`, false, KindInvalid, 0, 0, false},
}

func TestClassify(t *testing.T) {
	overflows := 0
	for _, c := range bodies {
		t.Run(c.name, func(t *testing.T) {
			e := Classify(Failure{Status: c.status, Body: []byte(c.body), InStream: c.inStream})
			if e.Kind != c.kind || e.Tokens != c.tokens || e.Window != c.window || e.Bytes != c.bytes {
				t.Errorf("got %s, %d of %d tokens, bytes %v\nwant %s, %d of %d, %v\n%v", e.Kind, e.Tokens, e.Window, e.Bytes, c.kind, c.tokens, c.window, c.bytes, e)
			}
			if c.kind == KindOverflow && e.Temporary() {
				t.Error("an overflow would be sent again as it is (openai/codex#26787)")
			}
			if strings.ContainsAny(e.Error(), "\n<>") && !strings.Contains(c.body, " > ") {
				t.Errorf("not fit to be shown: %q", e.Error())
			}
		})
		if c.kind == KindOverflow {
			overflows++
		}
	}
	anthropic, others := 0, 0
	for _, c := range bodies {
		if strings.HasPrefix(c.body, `{"type":"error","error":{`) {
			anthropic++
			if c.kind != KindOverflow {
				others++
			}
		}
	}
	// The tables that this package promises: 40 bodies of Anthropic's, 60 of all providers.
	if anthropic < 40 || others < 30 || len(bodies) < 60 || overflows < 20 {
		t.Errorf("%d bodies, %d overflows; %d of Anthropic's, %d of these no overflows", len(bodies), overflows, anthropic, others)
	}
}

func TestTokenGap(t *testing.T) {
	e := Classify(Failure{Status: 400, Body: []byte(wrap("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"))})
	if e.TokenGap() != 8310 {
		t.Errorf("gap %d", e.TokenGap())
	}
	if gap := (&Error{Kind: KindOverflow, Tokens: 5}).TokenGap(); gap != 0 {
		t.Errorf("gap %d without a window", gap)
	}
}

func TestClassifyNetwork(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind Kind
		temp bool
	}{
		{io.ErrUnexpectedEOF, KindNetwork, true},
		{errors.New("dial tcp: connection refused"), KindNetwork, true},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, KindNetwork, true},
		{fmt.Errorf("post: %w", context.Canceled), KindCancelled, false},
		{fmt.Errorf("post: %w", context.DeadlineExceeded), KindCancelled, false},
	} {
		e := Classify(Failure{Err: c.err})
		if e.Kind != c.kind || e.Temporary() != c.temp || !errors.Is(e, c.err) {
			t.Errorf("%v: %v", c.err, e)
		}
	}
}

func header(kv ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(kv); i += 2 {
			if strings.EqualFold(kv[i], name) {
				return kv[i+1]
			}
		}
		return ""
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kv   []string
		want time.Duration
	}{
		{nil, 0},
		{[]string{"Retry-After", "7"}, 7 * time.Second},
		{[]string{"Retry-After", "1.5"}, 1500 * time.Millisecond},
		{[]string{"Retry-After-Ms", "250", "Retry-After", "7"}, 250 * time.Millisecond},
		{[]string{"Retry-After-Ms", "nonsense", "Retry-After", "7"}, 7 * time.Second},
		{[]string{"Retry-After", "Tue, 01 Dec 2026 12:00:30 GMT"}, 30 * time.Second},
		{[]string{"Retry-After", "2026-12-01T12:01:00Z"}, time.Minute},
		{[]string{"Retry-After", "Tue, 01 Dec 2026 11:00:00 GMT"}, 0}, // long gone
		{[]string{"Retry-After", "-3"}, 0},
		{[]string{"Retry-After", "NaN"}, 0},
		{[]string{"Retry-After", "1e300"}, maxAsked},
	} {
		e := Classify(Failure{Status: 429, Header: header(c.kv...), Now: func() time.Time { return now }})
		if e.RetryAfter != c.want {
			t.Errorf("%v: %v, want %v", c.kv, e.RetryAfter, c.want)
		}
	}
	for v, want := range map[string]bool{"true": true, "false": false} {
		e := Classify(Failure{Status: 500, Header: header("X-Should-Retry", v)})
		if e.ShouldRetry == nil || *e.ShouldRetry != want || e.Temporary() != want {
			t.Errorf("x-should-retry: %s is %v", v, e.ShouldRetry)
		}
	}
	e := Classify(Failure{Status: 429, Body: []byte(bodies[0].body)})
	if e.RetryAfter != 0 || e.RequestID != "req_1" {
		t.Errorf("%+v", e)
	}
}

// TestNoSecrets: what a gateway echoes does not come out.
func TestNoSecrets(t *testing.T) {
	const key = "gw-5f0c2d9a77"
	e := Classify(Failure{Status: 401, Body: []byte(`{"error":{"type":"authentication_error","code":"bad-` + key + `","message":"key ` + key + ` unknown; Authorization: Bearer sk-ant-api03-` + strings.Repeat("aB3", 31) + `AA"}}`), Secrets: []string{"", key}})
	if s := fmt.Sprintf("%v %s %s", e, e.Message, e.Code); strings.Contains(s, key) || strings.Contains(s, "aB3aB3") {
		t.Error(s)
	}
	long := Classify(Failure{Status: 500, Body: []byte(strings.Repeat("x ", 100_000))})
	if len(long.Message) > maxMessage+10 {
		t.Errorf("a message of %d bytes", len(long.Message))
	}
}

func FuzzClassify(f *testing.F) {
	for _, c := range bodies {
		f.Add(c.status, []byte(c.body), c.inStream)
	}
	f.Fuzz(func(t *testing.T, status int, raw []byte, inStream bool) {
		e := Classify(Failure{Status: status, Body: raw, InStream: inStream})
		if e.Kind == "" || len(e.Message) > 2*maxMessage || e.Tokens < 0 || e.Window < 0 {
			t.Errorf("%+v", e)
		}
		_ = e.Error()
	})
}
