// Package compact decides how a conversation that outgrows its window shrinks: a
// ladder of rungs, from free to costly, each of which plans edits and changes
// nothing by itself.
//
// A [Ladder] is given to an engine as its ladder:
//
//	e := engine.New(s, engine.Config{Caps: model, Ladder: &compact.Ladder{}})
//
// Without a [Summarizer] the ledger (facts by rules, no model) stands in for what
// a model would summarize, so that any session fits any window without a key.
//
// The rungs, in the order in which they are tried: results of tools that the
// cache has lost anyway are cleared (L2); the session notes take the place of
// what they cover (L3); the provider, a model, or the ledger summarizes (L4); the
// oldest rounds are dropped, with the ledger in their place (L5). One acceptance bar
// holds for each of them and on every path: the plan's view is valid, strictly
// smaller, and at or below the target; else the next rung is asked. The last one
// needs no model and cannot fail, except by the fixed part of the request.
//
// What the package guarantees: nothing that is in the log is changed; what leaves
// the view is listed on the boundary by id, kind and tokens; "off" in [Policy]
// means off on every path; a summarizer that fails is asked for at most three
// summaries in a row; a boundary can be undone. With [Policy].Drafts, and in
// collapse mode, summaries are made in the background (G-11, C-17): the ladder owns
// those goroutines, and [Ladder.Close] ends them.
//
// It links no provider and runs no hooks: [Summarizer], [Server] and [Attacher] are
// interfaces, the clock is a field.
package compact
