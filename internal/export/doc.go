// Package export writes a session as a document: Markdown for an issue or a
// wiki, one HTML page for reading, JSON for programs and for import. Secrets are
// redacted unless the caller asks for them, in every format and in every place:
// prompts, replies, reasoning, tool input, results, attachments, titles.
//
// Start with [Open] for a log on disk, or [FromLog] for one that was read
// already, and pass the [Session] to [Markdown], [HTML] or [JSON].
//
// What an export holds: the whole conversation of the session, from its first
// entry, through every compaction (the boundary and the summary are shown as
// such), up to its tip; then what was said on other branches; then a list of the
// sub-agents. No prompt of the log is left out. Long results are shown in part
// with the full text behind a fold.
//
// What the formats guarantee:
//
//   - HTML is one file without scripts, and a content security policy in it forbids
//     scripts, remote loads and forms. Everything from the log is a text node,
//     links included: a page cannot be made to run, load or imitate anything.
//   - Markdown keeps prompts and tool output in fences that are longer than any
//     fence in them, so that content cannot become structure. Replies, which are
//     Markdown themselves, stay so, with HTML, images and unusual links disarmed.
//   - JSON holds the entries as they are in the log, member order and number texts
//     included, one a line. See [JSON] for its shape.
//
// Text in Markdown and HTML is cleaned as for a terminal: colours go, and
// characters that hide or reorder text are shown by number.
//
// The package does not decide which session is meant, where the document goes or
// who may read it, and it never writes to a log.
package export
