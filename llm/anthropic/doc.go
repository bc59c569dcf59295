// Package anthropic is the adapter for the Anthropic Messages API and what speaks
// like it: an llm.Model over the official SDK.
//
//	model := anthropic.New(key, "claude-opus-5-5")
//	for ev, err := range llm.NewRetry(model).Stream(ctx, llm.Of(req)) { … }
//
// Start with [New], or with [FromEnv] for the variables that the reference reads.
//
// What it guarantees: the pieces of a request (system text, tools, messages) are
// sent byte for byte as they were given; only cache marks are put between them,
// and a conversation that grows only appends to what was sent. A reply keeps the
// bytes that arrived. The environment is read by FromEnv only. Redirects are not
// followed, and errors never hold the key. Nothing is retried: that is llm.Retry.
//
// It does not keep anything between requests: what must be remembered with a
// session (that reasoning was dropped once, which summary stands first) is the
// caller's.
package anthropic
