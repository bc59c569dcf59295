// Package lease decides which process may write a session log.
//
// A session log has one writer. Its right to write is a kernel lock (flock on
// Unix, LockFileEx on Windows) on `<session>.lock`, a file beside the log that
// is never unlinked. The kernel drops the lock when the process ends, however
// it ends, so nothing is ever stale: no process id, host name or time decides
// who owns a log. The JSON in the lock file ([Holder]) only serves messages.
//
// The lock alone does not prove that the log is as its writer left it: another
// program may ignore the lock, a synchronising tool may replace the file. So
// the lease is also a fence: [Lease.Verify] before each write compares the
// file's size with the writer's own end offset, and [Lease.VerifyIdentity],
// once a turn, checks that the path still leads to the writer's file and that
// the lock file is still the locked one.
//
// On network and shared file systems (see [Detect]) a kernel lock may not reach
// other machines. There the lease additionally keeps a heartbeat file
// `<session>.heartbeat`, created exclusively and rewritten every few seconds. A
// second process takes it over only after it has itself watched the file for
// [Options.Stale] without seeing a change, measured by its own monotonic clock:
// clocks of two machines are never compared. [Lease.Warning] then returns a
// [SharedError] that says what is weaker.
//
// The package does not queue, wait for a busy log or decide to fork: it refuses
// with a [BusyError], a [MovedError] or a [LostError] that says what to do. It
// does not keep the list of running processes either.
//
// Start with [New], which touches nothing, and [Lease.Acquire]. A lease that
// was not acquired by hand acquires itself at the first [Lease.Verify], that
// is, at the first append.
package lease
