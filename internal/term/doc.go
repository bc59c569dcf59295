// Package term makes text safe to show on a terminal. Everything that Varve
// prints and did not write itself goes through it: what a model says, tool
// output, names of files, titles of sessions, entries of a log, messages of
// servers. Such text may hold sequences that move the cursor, hide or recolour
// what follows, set the clipboard or the window title, or make a reply that the
// terminal types for the user; and characters that reorder or hide text.
//
// Start with [String] for a text of several lines, [Line] for one line of a
// given width, and [NewWriter] for output that arrives in pieces. [Size] and
// [IsTerminal] say what a file is connected to, and [Progress] shows how far
// long work has come.
//
// What a cleaned text is guaranteed to be: valid UTF-8 without escape sequences,
// without C0 controls other than newline and tab, without C1 controls (encoded
// or raw), without a carriage return, and without any character that changes the
// direction of text. Whatever is removed is a complete control sequence;
// printable text is never lost: a sequence that is broken, or has no end before
// the line ends, is shown without its introducer. Controls are shown as their
// pictures (U+2400 and on), invisible characters as <U+200B>. A carriage return
// becomes a line break, so that no line can overwrite another. The result is the
// same however a text is cut into writes.
//
// What it does not do: format, wrap or colour. Styles are added around cleaned
// text by whoever draws.
package term
