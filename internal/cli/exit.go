package cli

import (
	"errors"
	"os"
	"syscall"

	"varve.dev/internal/sources"
	"varve.dev/llm"
	"varve.dev/transcript/lease"
)

// Exit codes of the command. Scripts may rely on them.
const (
	exitOK     = 0
	exitFailed = 1   // the command could not do what was asked, or check found damage
	exitUsage  = 2   // wrong flags, or a session of another project
	exitModel  = 4   // the provider was not reached, or refused
	exitBusy   = 5   // another process writes the session
	exitInt    = 130 // SIGINT
	exitTerm   = 143 // SIGTERM
)

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// damagedError ends a check that found damage; the result is printed already.
type damagedError struct{}

func (*damagedError) Error() string { return "damage was found" }

// interruptedError is the end of a command by a signal.
type interruptedError struct{ sig os.Signal }

func (e *interruptedError) Error() string { return e.sig.String() }

// ExitCode is the one place where an error becomes an exit code.
func ExitCode(err error) int {
	var (
		usage   *usageError
		sig     *interruptedError
		refused *llm.Error
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &sig):
		if sig.sig == syscall.SIGTERM {
			return exitTerm
		}
		return exitInt
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &refused):
		return exitModel
	case errors.Is(err, lease.ErrBusy):
		return exitBusy
	default:
		return exitFailed
	}
}

// report tells a person what went wrong and what to do about it.
func (a *app) report(err error) {
	var (
		damaged *damagedError
		sig     *interruptedError
		miss    *sources.NotFoundError
		amb     *sources.AmbiguousError
		usage   *usageError
	)
	switch {
	case err == nil, errors.As(err, &damaged), errors.Is(err, syscall.EPIPE):
	case errors.As(err, &sig):
		a.out.note("varve: stopped by %s", sig.Error())
	case errors.As(err, &miss):
		a.reportMissing(miss)
	case errors.As(err, &amb):
		a.reportAmbiguous(amb)
	case errors.As(err, &usage):
		a.out.note("varve: %s", usage.Error())
		a.out.note("Run `varve --help`, or any command with --help, to see what there is.")
	default:
		a.out.note("varve: %s", err.Error())
	}
}
