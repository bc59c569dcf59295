package compact

import (
	"errors"
	"fmt"
	"strings"
)

// Mode is the setting compact.mode (B-4).
type Mode string

// The modes.
const (
	Auto     Mode = "auto"     // at the threshold, and when the provider refuses
	Reactive Mode = "reactive" // only when the provider refuses
	Collapse Mode = "collapse" // staged range by range, committed before the window is full
	Manual   Mode = "manual"   // only when the user asks
	Off      Mode = "off"      // never
)

// Policy says when a conversation may be compacted. There is one for all paths:
// what is off here is off on every one of them (G-4). The zero value is Auto.
type Policy struct {
	Mode Mode
	// Switch names the setting or variable that set the mode, for errors.
	Switch string
	// NoMicro turns clearing of old results off, NoNotes session notes as summary,
	// NoIdle the compaction of a conversation that nobody goes on with.
	NoMicro, NoNotes, NoIdle bool
	// Drafts has summaries made in the background, from the warning threshold on
	// (G-11): no request waits for one. It costs money by itself (O-5). The owner of
	// the ladder calls [Ladder.Close] at the end.
	Drafts bool
	// Interactive says that a person sits before it, who may go away: idle
	// compaction (C-16) is for them.
	Interactive bool
	// Tools are further tools whose results may be cleared (C-1).
	Tools []string
}

// ErrOff is wrapped by errors of plans that the policy forbids.
var ErrOff = errors.New("compaction is switched off")

// OffError says which switch keeps a conversation from being compacted.
type OffError struct {
	Policy Policy
	Cause  string
}

func (e *OffError) Error() string {
	by := string(e.Policy.Mode)
	if e.Policy.Switch != "" {
		by = e.Policy.Switch
	}
	what := "set compact.mode to auto"
	if name := e.Policy.Switch; name != "" && name == strings.ToUpper(name) { // a variable
		what = "unset " + name
	}
	if e.Cause == CauseManual {
		return fmt.Sprintf("compaction is switched off (%s): %s", by, what)
	}
	if e.Policy.Mode == Manual {
		what = "run /compact, or " + what
	}
	return fmt.Sprintf("the conversation no longer fits and compaction is switched off (%s): %s", by, what)
}

// Is makes errors.Is(err, ErrOff) true.
func (e *OffError) Is(target error) bool { return target == ErrOff }

// allows reports whether anything may be planned for a cause (C-11).
func (p Policy) allows(cause string) bool {
	switch p.Mode {
	case Off:
		return false
	case Manual:
		return cause == CauseManual
	case Reactive:
		return cause == CauseManual || cause == CauseOverflow
	case Collapse:
		return cause != CauseIdle // it replaces what is automatic (C-17)
	}
	return cause != CauseIdle || !p.NoIdle
}
