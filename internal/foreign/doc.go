// Package foreign reads the sessions that other agents recorded, where they lie,
// and turns them into entries of this project's own log: Codex rollouts, Gemini
// CLI sessions, opencode exports and pi sessions.
//
// It is for whatever works on entries: replay, recall, listing, import. It never
// writes, looks for no files and runs nothing that a recording says. Where the
// sessions of those agents lie on disk is not its subject.
//
// Start with Detect to learn what a file is, and Open to read it.
//
// # What it guarantees
//
// The same bytes give the same entries, uuids included, and bytes appended to a
// line-based recording leave the entries before them as they were, apart from
// the reply that was still open. What a person or a model wrote is kept word for
// word; what the agent added of itself (instructions, environment, contents of
// files that were attached) is marked as meta, and what it told the person alone
// is a system entry. Nothing is invented: a call without a result stays one, and
// the view answers it.
//
// Reasoning belongs to the provider that made it. It is kept as it was recorded
// in the member varve.foreign of the reply's entry and takes no part in views,
// and so do calls of tools that ran on the provider's side.
//
// A compaction becomes a boundary with its summary, so that the view holds what
// the agent had before it afterwards; everything older stays in the entries.
//
// A damaged line or message is skipped and named; no input makes it panic. The
// memory that is needed is that of the entries and the longest line, for
// documents (Gemini, opencode) that of their messages.
package foreign
