package lease

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// Kinds of refusal, for errors.Is. The errors returned are the typed ones of
// this file, which carry the details.
var (
	ErrBusy     = errors.New("the session is being written by another process")
	ErrMoved    = errors.New("the session log changed under its writer")
	ErrLost     = errors.New("the lock of the session log was lost")
	ErrReleased = errors.New("the lease was released")
)

// whatToDo is the advice that all refusals share.
const whatToDo = "continue in a copy with --fork-session"

// BusyError reports that a living process holds the log. errors.Is(err,
// ErrBusy) is true for it.
type BusyError struct {
	Path string // the session log
	// Holder is what the holder wrote about itself; the zero Holder when it
	// could not be read or describes a process that is gone. It is not proof
	// of anything.
	Holder Holder
	// SameProcess is true when this process itself holds the log through
	// another Lease.
	SameProcess bool
}

func (e *BusyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session log %s is being written by ", e.Path)
	switch {
	case e.SameProcess:
		b.WriteString("this process already; use the session that is open, or ")
	case e.Holder.PID == 0:
		b.WriteString("another process that left no name; wait until it ends, or ")
	default:
		fmt.Fprintf(&b, "%s; wait until it ends, or ", e.Holder)
	}
	b.WriteString(whatToDo)
	return b.String()
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// MovedError reports that the log is not as its writer left it. Nothing was
// written; the writer must stop, read the log again or fork. errors.Is(err,
// ErrMoved) is true for it.
type MovedError struct {
	Path string // the session log
	// Want and Got are the expected and the found size in bytes. Both are -1
	// when the file itself was replaced or removed.
	Want, Got int64
	// Replaced is true when the path now leads to another file, Missing when
	// it leads to none.
	Replaced, Missing bool
}

func (e *MovedError) Error() string {
	var what string
	switch {
	case e.Missing:
		what = "is gone: it was removed or renamed while this session was writing it"
	case e.Replaced:
		what = "is another file now: something replaced it while this session was writing it"
	case e.Got > e.Want:
		what = fmt.Sprintf("grew to %d bytes while this session expected it to end at %d: another program wrote to it", e.Got, e.Want)
	default:
		what = fmt.Sprintf("shrank to %d bytes while this session expected it to end at %d", e.Got, e.Want)
	}
	return fmt.Sprintf("session log %s %s; writing stopped, resume the session to read it again, or %s", e.Path, what, whatToDo)
}

// Is makes errors.Is(err, ErrMoved) true.
func (e *MovedError) Is(target error) bool { return target == ErrMoved }

// LostError reports that this process held the log and no longer does.
// errors.Is(err, ErrLost) is true for it.
type LostError struct {
	Path   string // the session log
	Holder Holder // who holds it now; zero when unknown
	Reason string // what was seen, a clause without a full stop
}

func (e *LostError) Error() string {
	who := ""
	if e.Holder.PID != 0 {
		who = fmt.Sprintf(" (now held by %s)", e.Holder)
	}
	return fmt.Sprintf("the lock of session log %s was lost%s: %s; writing stopped, resume the session to read it again, or %s", e.Path, who, e.Reason, whatToDo)
}

// Is makes errors.Is(err, ErrLost) true.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// SharedError is the warning of a lease on a network or shared file system. It
// refuses nothing; show it once.
type SharedError struct {
	Path  string        // the session log
	Type  string        // the file system's type, as the system names it; "" when it could not be found out
	Stale time.Duration // how long a silent holder keeps the log
	Cause error         // why the type is unknown, or why there is no kernel lock; nil on a plain network file system
}

func (e *SharedError) Error() string {
	where := "a shared file system"
	if e.Type != "" {
		where = fmt.Sprintf("a shared file system (%s)", e.Type)
	}
	why := ""
	if e.Cause != nil {
		why = fmt.Sprintf(" [%v]", e.Cause)
	}
	return fmt.Sprintf("%s is on %s%s: the lock is a heartbeat file, a writer that is silent for %v loses it, and a power failure of the server may lose acknowledged records; do not open one session on two machines at once",
		filepath.Dir(e.Path), where, why, e.Stale)
}

func (e *SharedError) Unwrap() error { return e.Cause }
