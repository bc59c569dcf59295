// Package ledger keeps the facts of a conversation, found by rules in its log and
// without a model: what people said, word for word; files read, changed and
// deleted, with the hash of their content; commands with exit codes; failures and
// what ended them; open tasks and the plan; branch, decisions that were stated,
// and where the work stands (SPEC G-2).
//
// It is the summary of a conversation when no model is at hand, and the check of
// a model's summary when one is. It does not decide when a conversation is
// shortened, send anything, or read files other than through the entries it is
// given; it does not judge what it holds.
//
// Start with [New], give it the entries of one branch in order ([Ledger.Add]) and
// ask for text ([Ledger.Render]). [Ledger.Missing] and [Ledger.Complete] take a
// summary that somebody else wrote. [Ledger.Checkpoint] keeps the state in the log
// and [Resume] takes it up again, so that a resumed session pays for what came
// after it only. The tools of every agent that Varve reads are known through one
// table (tool.go).
//
// # What it guarantees
//
// The same entries give the same bytes: no clock, no chance, no map order. Side
// and progress entries may come at any place among the others. A restored state
// and the entries after it equal a state that was computed whole.
//
// A render holds within its budget, for any budget of at least [Minimum]; a larger
// budget never loses anything that a smaller one showed. What is shed first and
// last is stated at [Ledger.Render]. Whatever is shortened or left out is said and
// counted, and no text is cut inside a character.
//
// What tools, files and models wrote is data here: it is quoted, control
// characters and characters that change the direction of text are removed, and
// no line of it can stand where a heading of the ledger stands.
//
// A ledger is not safe for concurrent use. It holds what it was told in memory,
// bounded: of what people said half a mebibyte is kept, the newest as it was said, and
// of changed files the newest 3,000; what older ones lost is counted.
package ledger
