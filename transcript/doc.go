// Package transcript reads and writes the log of one session: an append-only
// file with one JSON object a line, in the format that the reference client
// writes, so that its files can be read here and ours there.
//
// A log holds two families of entries. Chain entries (user, assistant, system,
// attachment) have a uuid and name their parent: they form a tree, and the
// conversation is the path from one leaf to the root. Side entries (titles,
// pointers, file history, decisions about tool results) have no parent and are
// keyed by what they speak of; the last one wins unless their type says
// otherwise. Nothing is ever changed in place: an edit of the conversation is
// one more entry.
//
// Start with [ReadFile] for a whole log or [ReadTail] for the part behind the
// newest boundary, ask [Log.Tip] for the leaf a resumed session continues from,
// and [Log.Chain] for the conversation that leads there. [ReadLite] reads what a
// list of sessions shows without reading the file. [OpenWriter] appends.
// [Stamp] builds entries of our own in the member order that the reference uses.
//
// Reading never fails on the content of a file: a damaged line is skipped or
// mended, and said in [Log.Faults] with its line. The bytes of a line are kept;
// nothing is re-marshalled, so what is read and written again is the same to the
// byte, unknown members and number texts included.
//
// What this package does not do: decide what the model sees (package view),
// repair a conversation for sending, or find sessions on disk.
//
// A [Log] and its entries may be read from several goroutines at once after the
// call that made them returned; [Log.Load] and [Entry.Message] keep what they
// decoded and need one caller at a time. A [Writer] is safe for concurrent use.
package transcript
