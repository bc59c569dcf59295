package compact

import (
	"varve.dev/internal/ledger"
	"varve.dev/transcript"
)

// factsOf returns what is known of the conversation without a model: by default
// the ledger, taken up from the log's newest checkpoint.
func (l *Ladder) factsOf(s Situation) (Facts, error) {
	h := s.Log.History(s.Log.ByUUID(s.View.Leaf))
	if l.Facts != nil {
		return l.Facts(h.Entries), nil
	}
	led, err := ledger.Resume(s.Log.Entries, h.Entries)
	if err != nil {
		return nil, err
	}
	return led, nil
}

// checkpoint returns the side entry that keeps the facts with a boundary, so that
// a resume costs what came after it. Facts of other kinds keep nothing.
func (j *job) checkpoint() []*transcript.Entry {
	if led, ok := j.facts.(*ledger.Ledger); ok {
		return []*transcript.Entry{led.Entry(j.Stamp)}
	}
	return nil
}
