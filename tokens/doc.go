// Package tokens says how large things are in a model's context, and where the limits are, without a network and without a
// vocabulary.
//
// It is for deciding when a context must shrink and by how much, for an embedder's own budget, and for showing what fills a
// window. It is not for billing: real usage is, and a [Meter] prefers real usage wherever there is any.
//
// Start with [Text] for a string, [Estimator] for messages, [Meter] for a conversation, and [Budget] for the thresholds of a
// window. What windows, output limits and image rules a model has is the subject of package caps; engine ties both together.
//
// Guarantees:
//   - An estimate is a pure function of its input: the same on every machine, in one pass, without allocation for text.
//   - Estimates are in tokens of the o200k vocabulary; a [Weight] turns them into tokens of the model in use, learned from
//     its usage and never outside 0.5 to 2.0. Until then it is conservative.
//   - Usage of a reply counts once, and never from before a boundary.
//   - The thresholds of [Budget] are continuous and monotone in every input, for any window.
//
// The weights are fitted by the command in internal/tokenfit/fit; weights.go has the errors on texts that were held out, and
// docs/tokens.md what they are on recorded sessions.
package tokens
