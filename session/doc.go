// Package session opens, creates and closes sessions: a log on disk with its
// lock, its frames and its large results. A session is a store for package
// engine.
//
//	st, err := session.OpenStore(session.Home{Dir: dir}) // creates nothing yet
//	s, err := st.Create(ctx, session.Project("."))       // takes the lock at the first append
//	defer s.Close(ctx)                                   // drains, fsyncs, releases
//
// A session that is opened again is read from its tail: the cost is that of the
// conversation behind its newest boundary, whatever the size of the log (G-9).
// A session that another process writes is refused at the first append with an
// error that names it; reading needs no lock. Where several machines may write the
// lock is weaker: [Session.Warnings] says so once.
//
// Nothing is written before the first message (T-2, S-6), so a session that is
// only looked at leaves no trace.
//
// A Store is safe for concurrent use, and so is a Session; one process may hold
// thousands.
package session
