// Package view computes what the model would be sent now: a pure function from
// the conversation in a log to messages.
//
//	v := view.Of(view.Input{Chain: log.Chain(log.Tip()), Facts: view.FactsOf(log)})
//
// The same log gives the same view, byte for byte, in this process, after a
// crash and on another machine. The view is valid for the model API whatever the
// log holds: parts of one reply are merged, results follow their calls in one
// message, and what could not be sent (calls without result, results without
// call, replies of thinking alone, blank text) is left out or answered. Each such
// repair that could turn out differently when more entries arrive is listed in
// [View.Repairs]; [View.Freeze] turns them into entries, which the engine appends
// before the first send, so that nothing that was sent is ever derived anew.
//
// Edits in the log (boundaries with kept messages, cleared and replaced results,
// thinking strips, repairs, undo) are applied here and nowhere else.
//
// [View.Append] extends a view by entries appended to the log; the result equals
// a view computed afresh and costs what was appended, not what stands before.
// [Prefix] hashes a view block by block and names the first block in which two
// requests differ.
//
// Text that the renderer writes of itself (placeholders, reminders for
// attachments of clients that did not record what they sent) belongs to a
// renderer version. The version that a log was rendered with is in its frames;
// a log keeps its version.
//
// The package does not decide what to edit (package compact), does not estimate
// tokens and does not encode for a provider. A View is not safe for concurrent
// use while Append runs.
package view
