package validate

import (
	"cmp"
	"fmt"
)

// A Violation is one thing about a request that the API refuses, or that it takes silently and that loses something.
type Violation struct {
	Rule   string // one of the Rule constants; stable
	Path   string // where, in the API's own notation: "messages.3.content.1", "tools.0", "system"; "" is the request as a whole
	Detail string // for people
}

func (v Violation) String() string {
	if v.Path == "" {
		return v.Detail + " [" + v.Rule + "]"
	}
	return v.Path + ": " + v.Detail + " [" + v.Rule + "]"
}

// The rules. The comments quote the API where it has words of its own; the numbers are those of the list in API.md 1.5.
const (
	RuleJSON     = "json"               // not JSON, or a member twice, which two readers read differently
	RuleSize     = "size"               // 413 request_too_large: the body is over 32 MB (API.md 1.1)
	RuleCount    = "message-count"      // over 100,000 messages (API.md 1.1)
	RuleNone     = "no-messages"        // there is nothing to send
	RuleRole     = "role"               // a role that is not user, assistant or system
	RuleFirst    = "first-role"         // "first message must use the user role"; a server's compaction may stand there
	RuleCompact  = "compaction"         // compaction_block_misplaced: one made on demand that is not first, or one beside it (API.md 2.2)
	RuleSystem   = "system-position"    // a system message not between a user and an assistant turn, and not last (API.md 1.1)
	RuleNoSystem = "system-unsupported" // a system message inside the conversation for a model that takes none
	RuleEmpty    = "empty-content"      // 5: a message without content; the last may be, when it is the assistant's
	RuleText     = "empty-text"         // 5: "text content blocks must be non-empty", "must contain non-whitespace text"
	RuleType     = "block-type"         // a content block that is not an object with a type
	RuleWhere    = "block-role"         // a call or reasoning outside an assistant message, a result outside a user message
	RuleUnicode  = "unicode"            // 13: a lone surrogate or invalid UTF-8 (anthropics/claude-code#68325)

	RuleID       = "tool-id"              // an id that is not [A-Za-z0-9_-]{1,64}
	RuleName     = "tool-name"            // "tool_use.name: String should have at most 200 characters"; ^[a-zA-Z0-9_-]{1,64}$ in a definition
	RuleTwice    = "tool-name-repeated"   // "Tool names must be unique."
	RuleInput    = "tool-input"           // an input that is not an object (QwenLM/qwen-code#7377)
	RuleRepeated = "tool-use-repeated"    // 3: "`tool_use` ids must be unique"
	RuleOpen     = "tool-use-open"        // 1: "`tool_use` ids were found without `tool_result` blocks immediately after"
	RuleOrphan   = "result-orphan"        // 2: "unexpected `tool_use_id` found in `tool_result` blocks"
	RuleAnswered = "result-repeated"      // two results for one call
	RuleOrder    = "result-order"         // 4: results come first in their user message
	RuleNested   = "result-content"       // a block inside a result that cannot stand there
	RuleMixed    = "mixed-turn"           // 12: only results while a server tool's call is still open
	RuleServer   = "server-call-open"     // a server tool's call that an earlier reply left without its result
	RuleServerID = "server-result-orphan" // 2: a server tool's result without its call before it

	RuleThinkingShape = "thinking-shape" // 10: "Invalid `signature` in `thinking` block", "Invalid `data` in `redacted_thinking` block"
	RuleThinkingOnly  = "thinking-only"  // a reply of nothing but reasoning (anthropics/claude-code#10199)
	RuleThinkingLast  = "thinking-last"  // "The final block in an assistant message cannot be `thinking`", in the last message
	RuleThinkingFirst = "thinking-first" // 8: "a final `assistant` message must start with a thinking block", manual thinking only

	RuleMarks     = "cache-control-count" // 6: "A maximum of 4 blocks with cache_control may be provided. Found 5."
	RuleMarkPlace = "cache-control-place" // 6: no cache_control on thinking or on empty text
	RuleMarkOrder = "cache-control-order" // one-hour marks come before five-minute marks (API.md 1.7)

	RulePrefill = "prefill"        // 7: "This model does not support assistant message prefill."
	RuleTrail   = "trailing-space" // 7: "final assistant content cannot end with trailing whitespace"

	RuleImageCount  = "image-count"  // over 600 images and documents, 100 on models of 200k (API.md 1.1)
	RuleImageBytes  = "image-bytes"  // over 10 MB in base64
	RuleImagePixels = "image-pixels" // over 8,000 pixels a side, 2,000 with more than 20 images
	RuleImageType   = "image-type"   // a media type that is not image/jpeg, png, gif or webp, or a source without bytes

	RuleFrameChanged  = "frame-changed"      // system text or tools are not those of the last request, although no edit was made
	RulePrefixChanged = "prefix-changed"     // something earlier is not what was sent, although no edit was made
	RuleBound         = "thinking-bound"     // 10: "The block is bound to a different conversation."
	RuleModified      = "thinking-modified"  // 9: "blocks in the latest assistant message cannot be modified"; a block never received
	RulePartial       = "thinking-partial"   // some reasoning of a reply left out and some kept
	RuleOverlap       = "compaction-overlap" // messages after a server's compaction that it covers already (API.md 2.2)
)

// The limits of the Messages API (API.md 1.1), which [Options] may change.
const (
	MaxBytes      = 32_000_000
	MaxMessages   = 100_000
	MaxImages     = 600
	MaxImageBytes = 10_000_000

	maxMarks          = 4
	maxID             = 64
	maxCalledName     = 200
	maxDefinedName    = 64
	maxPixels         = 8000
	manyImages        = 20
	maxPixelsWhenMany = 2000
)

// Options say what model and history a request is judged for. The zero value holds what every model refuses.
type Options struct {
	NoPrefill bool // the conversation must end with a user (or system) message: models from 4.6 on
	NoSystem  bool // no system messages inside the conversation

	MaxBytes      int // 0 means the constant of that name, here and below
	MaxMessages   int
	MaxImages     int // 100 on models with a window of 200k
	MaxImageBytes int // 5 MB on Bedrock and Vertex

	// Bound says that the model ties reasoning to what stands before it. It needs the history: [CheckAfter], [Guard.Received].
	Bound bool
	// DropMismatch says that the request carries prefix_mismatch_behavior "drop_block": reasoning in a changed conversation is
	// dropped by the server and not refused.
	DropMismatch bool
	// AppendOnly says that no edit was made since the last exchange: the request must begin with that exchange, reasoning or not.
	AppendOnly bool
}

func (o Options) filled() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, MaxBytes)
	o.MaxMessages = cmp.Or(o.MaxMessages, MaxMessages)
	o.MaxImages = cmp.Or(o.MaxImages, MaxImages)
	o.MaxImageBytes = cmp.Or(o.MaxImageBytes, MaxImageBytes)
	return o
}

// whole as a block index means the message itself.
const whole = -1

// path writes a position as the API does.
func path(msg, block int) string {
	if block == whole {
		return fmt.Sprintf("messages.%d", msg)
	}
	return fmt.Sprintf("messages.%d.content.%d", msg, block)
}
