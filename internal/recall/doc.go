// Package recall finds what left a conversation, or never was in it, in the log:
// by words, by the id of a tool call, or by the path of a file. It searches the
// whole log, through every compaction and on every branch, and says of each hit
// whether it is still in the context and which compaction took it out.
//
// It is for the command, and for a tool with which a model looks up what its
// summary left out. It is no index over sessions, knows no model, prints nothing
// and changes nothing.
//
// Start with [Search], [Call] or [Path] on a log that was read whole
// (transcript.ReadFile); a log that was read from its tail is searched as far as
// it was read.
//
// What is guaranteed: the same log and query give the same hits in the same order;
// a snippet is cut at characters only; lines that cannot be read are passed over,
// as everywhere. Upper and lower case are the same, for letters beyond ASCII in
// what is decoded only; a letter and the same letter composed of two characters
// are not.
package recall
