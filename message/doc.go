// Package message holds the nouns of a conversation with a model: roles, messages, content blocks, token usage, ids and rounds,
// and [Check], the rules the Messages API enforces on how they may follow each other.
//
// It is the vocabulary that the log, the view, compaction, the engine and every provider adapter share. It does not talk to a
// provider, read files, estimate tokens, or repair a conversation: it names what is wrong ([Violation]) and leaves the decision
// to its caller.
//
// Start with [ParseMessage] for bytes that were read from a log, [ParseReply] for bytes a provider has just sent, and [User],
// [Assistant], [ToolResult] for what a program says itself; [Check] before anything is sent.
//
// # What it guarantees
//
// Bytes are the truth. A block that was read keeps its exact bytes in [Block.Raw], a message in [Message.Raw]: number texts, key
// order, unknown members and unknown block types survive reading and writing, and reasoning goes back byte for byte. The decoded
// fields beside them are for looking, not for writing back. Content is the Anthropic form; adapters of other protocols convert to it.
//
// Text that this package writes itself is written as JSON.stringify writes it ([AppendString]), because that is how the logs of
// the reference are written; a tool's input is normalised once, when it arrives ([CompactInput]), and never again.
//
// Reading is tolerant: whatever is valid JSON parses, and what the API would not accept stays visible as a block that [Check] reports.
// Invalid JSON is an error with an offset ([SyntaxError]), never a panic; nesting is limited to 10,000 levels, as in encoding/json.
//
// Parsed values share the memory of the bytes they were parsed from; neither may be changed afterwards. All functions are safe for
// concurrent use as long as nobody writes to those bytes; values are not locked.
package message
