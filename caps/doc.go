// Package caps knows what a model can bear, as data: window, output and input limits, price, cache rules, and which ways of
// shrinking a context exist with it. The knowledge is a dated table (models.json) keyed by provider and model, because the
// same model has other limits at another host; code asks for a capability and never for a name.
//
// It is not a client: it asks no server. What a provider's models endpoint or a local server said is handed in as a [Probe],
// what the user set as an [Override]; both win over the table, in that order from weak to strong.
//
// Start with [Catalogue.Resolve], which always gives a usable model and says in notices what it had to assume, or with
// [Find] and [Lookup] for what is in the table. An embedder with a model of its own uses [Window].
//
// The table is parsed at the first question, not when the program starts. Everything returned is a copy; all functions are
// safe for concurrent use.
package caps
