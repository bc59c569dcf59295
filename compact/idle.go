package compact

import "time"

// Idle is what the decision about an idle conversation is made from (C-16). It is
// plain arithmetic: the clock is given.
type Idle struct {
	Policy   Policy
	Lifetime time.Duration // of the provider's cache
	Tokens   int           // of the next request
	Last     time.Time     // of the newest request or reply
	Done     time.Time     // Last of the idle period that was compacted already; zero: none
}

// Figures of C-16.
const (
	idleLifetime = time.Hour
	idleTokens   = 200_000
	idlePercent  = 90
)

// At returns when the conversation is to be compacted if nobody goes on: at nine
// tenths of the cache's lifetime, while a summary still reads the conversation from
// it. ok is false when it is not to be: nobody sits before it, the cache lives
// shorter than an hour, the conversation is small, it is switched off, or this idle
// period had its compaction.
func (i Idle) At() (at time.Time, ok bool) {
	if !i.Policy.Interactive || !i.Policy.allows(CauseIdle) || i.Lifetime < idleLifetime || i.Tokens < idleTokens || i.Last.IsZero() || i.Done.Equal(i.Last) {
		return time.Time{}, false
	}
	return i.Last.Add(i.Lifetime / 100 * idlePercent), true
}

// Due reports whether now is the time: from [Idle.At] on, until the cache has lost
// the conversation and a summary would cost all of it.
func (i Idle) Due(now time.Time) bool {
	at, ok := i.At()
	return ok && !now.Before(at) && now.Before(i.Last.Add(i.Lifetime))
}

// Idle returns the decision about a situation whose newest request or reply was
// made at last; done is the last of the idle period that was compacted already.
func (l *Ladder) Idle(s Situation, last, done time.Time) Idle {
	i := Idle{Policy: l.Policy, Lifetime: s.lifetime(), Tokens: s.Total, Last: last, Done: done}
	if l.Summarizer == nil && l.Server == nil {
		i.Policy.NoIdle = true // the ledger costs the same at any time
	}
	return i
}
