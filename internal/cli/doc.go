// Package cli is the command `varve`: its flags, what it prints, and its exit codes.
//
// It is one importer of the library among others and holds nothing an embedder
// needs: what a command does is done by the packages below, this one asks them and
// shows the answer. Start with [Main]; [System] gives it the process it runs in,
// a test another one.
//
// What scripts can rely on: results go to standard output and everything else to
// standard error; `--json` gives a document whose members are only ever added to;
// the exit codes are those of [ExitCode]. What is printed and was not written by
// Varve goes through package term. Nothing is written to disk except what a command
// was asked to write and the cache of listings.
package cli
