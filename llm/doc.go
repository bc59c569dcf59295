// Package llm is how Varve talks to models: one interface with one method, the
// kinds of errors that providers answer with, and one retry policy.
//
// [Model.Stream] sends a [Request], the exact bytes that package engine prepared,
// and yields events; the last one carries the whole reply in canonical form. An
// adapter (llm/anthropic and its siblings) implements it for one protocol;
// [Func] implements it for a model of your own.
//
//	reply, err := llm.Collect(model.Stream(ctx, llm.Of(req)))
//	_, err = e.RecordReply(ctx, req, reply.Engine())
//
// Start with [Of] and [Collect]; wrap a model in [Retry] where failures that pass
// should be tried again. Optional powers of a model are asked for with [As]:
// [Counter], [Prober], [Lister]. [Summaries] makes the summaries that a ladder of
// package compact wants.
//
// What the package guarantees: every error of a Model is an *[Error] with a
// [Kind], so that callers decide by kind and never by text; errors hold no
// credentials; a request is sent again only while nothing of its reply was kept.
//
// It does not decide what follows from an error (shrinking the context, another
// model), runs no tools and keeps no state. It links no SDK and no HTTP.
package llm
