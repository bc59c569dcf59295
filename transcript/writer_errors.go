package transcript

import (
	"errors"
	"fmt"

	"varve.dev/transcript/lease"
)

// Errors of a [Writer], for errors.Is.
var (
	// ErrMoved says that the log is not as this writer left it: another
	// program wrote to it, replaced it or took its lock. See [MovedError].
	ErrMoved = errors.New("the session log changed under its writer")
	// ErrReadOnly says that the writer gave up and takes no more entries. See
	// [ReadOnlyError], which wraps the cause.
	ErrReadOnly = errors.New("the session is read-only")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("transcript: the writer is closed")
	// ErrAcknowledged is returned by Retract for an entry that is durable
	// already, or that this writer never got.
	ErrAcknowledged = errors.New("transcript: not among the entries that wait to be durable; append a new entry instead of taking it back")
	// ErrHasChildren is returned by Retract for an entry that a later one names
	// as its parent; take that one back first.
	ErrHasChildren = errors.New("transcript: a later entry descends from it; take that one back first")
	// ErrUserTitle is returned by Append for a generated custom-title while a
	// title given by the user is in force (T-5).
	ErrUserTitle = errors.New("transcript: the session has a title that the user gave; a generated one does not replace it")
	// ErrRecord is returned for an entry that cannot be one line of a log.
	ErrRecord = errors.New("transcript: not one line")
)

// MovedError reports how the log differs from what the writer left. Nothing of
// the others' bytes was touched. errors.Is(err, ErrMoved) is true for it.
type MovedError struct {
	Path      string
	Want, Got int64  // expected and found size in bytes; both 0 when Reason is about something else
	Reason    string // what was seen, a clause without a full stop
	Cause     error  // the lease's error, when it was the lease that saw it
}

// Error says what was seen and what to do.
func (e *MovedError) Error() string {
	if e.Cause != nil {
		return e.Cause.Error() // it names the log and says what to do already
	}
	return fmt.Sprintf("session log %s %s; writing stopped: resume the session to read it again, or continue in a copy with --fork-session", e.Path, e.Reason)
}

// Is makes errors.Is(err, ErrMoved) true.
func (e *MovedError) Is(target error) bool { return target == ErrMoved }

// Unwrap returns the lease's error, nil when there is none.
func (e *MovedError) Unwrap() error { return e.Cause }

// sizeMoved is the MovedError for a file of another size than ours.
func sizeMoved(path string, want, got int64) *MovedError {
	e := &MovedError{Path: path, Want: want, Got: got}
	if got > want {
		e.Reason = fmt.Sprintf("grew to %d bytes while this session expected it to end at %d: another program wrote to it", got, want)
	} else {
		e.Reason = fmt.Sprintf("shrank to %d bytes while this session expected it to end at %d", got, want)
	}
	return e
}

// ReadOnlyError reports that the writer gave up: what was acknowledged stays,
// the entries behind it are only in memory ([Writer.Unacknowledged]).
// errors.Is(err, ErrReadOnly) is true for it.
type ReadOnlyError struct {
	Path           string
	Unacknowledged int   // entries that are not known to be durable
	Cause          error // the reason; a *MovedError, a lease's refusal or an error of the disk
}

// Error names the cause and what is not on disk.
func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("session log %s is read-only from its last saved entry (%d not saved): %v", e.Path, e.Unacknowledged, e.Cause)
}

// Is makes errors.Is(err, ErrReadOnly) true.
func (e *ReadOnlyError) Is(target error) bool { return target == ErrReadOnly }

// Unwrap returns the cause.
func (e *ReadOnlyError) Unwrap() error { return e.Cause }

// WriteError is what Warn is told when the disk refuses entries that the writer
// keeps and will try to write again.
type WriteError struct {
	Path    string
	Waiting int   // entries that are not known to be durable; 0 when trying again helped at once
	Cause   error // the error of the disk
}

// Error names the cause and says that nothing is lost yet.
func (e *WriteError) Error() string {
	if e.Waiting == 0 {
		return fmt.Sprintf("session log %s: %v; written again, nothing is lost, but the disk needs a look", e.Path, e.Cause)
	}
	return fmt.Sprintf("session log %s cannot be written: %v; %d entries are kept in memory and written as soon as that works again (is the disk full, over quota or read-only?)", e.Path, e.Cause, e.Waiting)
}

// Unwrap returns the error of the disk.
func (e *WriteError) Unwrap() error { return e.Cause }

// leaseError turns a refusal of the lease into what the writer reports, and says
// whether it is final. An error of the disk under the lease is not.
func leaseError(path string, err error) (_ error, final bool) {
	switch {
	case errors.Is(err, lease.ErrMoved), errors.Is(err, lease.ErrLost):
		return &MovedError{Path: path, Cause: err}, true
	case errors.Is(err, lease.ErrBusy), errors.Is(err, lease.ErrReleased):
		return err, true
	case errors.Is(err, ErrMoved):
		return err, true
	}
	return err, false
}
