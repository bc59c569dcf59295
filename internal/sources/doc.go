// Package sources finds sessions on disk: where homes lie, how the folder of a
// project is named, which sessions belong to a project, and how to list them or
// find one by id, title or path.
//
// It is for reading. It opens no session for writing, takes no lock and never
// creates, changes or deletes anything in a home; the only file it writes is a
// cache outside of them, which may be deleted at any time. What a log says is the
// business of package transcript, whose ReadLite gives the facts shown here.
//
// Start with [Homes] and [New]; then [Finder.List] or [Finder.Find]. A [Project]
// stands for a working directory; [Finder.Project] makes one.
//
// Guarantees: a session belongs to the project whose directory it recorded when
// it started, never to the one its folder is named after, because the reference
// client names folders so that different directories share one. One damaged file
// or odd directory entry never hides another; what is wrong with it is told
// beside it. Listing one project reads the folders of that project only. Work is
// bounded by the number of processors and ends when its context ends. A [Finder]
// and a [Project] may be used from several goroutines.
package sources
