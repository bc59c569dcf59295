// Package results keeps large tool results out of the context: the text goes to a file of the session, the model gets the path and a
// preview, and what was decided once is repeated in every later request.
//
// It is for the engine, which asks before results are sent for the first time. It does not read the log, build requests or clear old
// results; it turns results into decisions, and decisions into bytes.
//
// Start with [New]. After opening a log, [Decisions.Load] its content-replacement entries and tell [Decisions.Sent] what the model has
// seen ([SentIn]). Then, for the results of each new user message, [Decisions.Decide]; append what it returns as an entry; show results
// as [Decisions.Apply] returns them; call [Decisions.Sent] when the request goes out.
//
// # What it guarantees
//
// A file is complete and durable before the decision that names it is returned, so the entry is never ahead of the file. A file that
// exists is never replaced by other content; its name is made of the tool-use id by a strict mapping, since ids are input. The bytes
// the model sees depend on the entry alone: the same after a resume, also when the file is gone. Over entries the first for an id wins.
// A result that was sent whole stays whole. Deciding twice decides nothing new.
package results
