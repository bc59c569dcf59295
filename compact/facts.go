package compact

import (
	"varve.dev/internal/ledger"
	"varve.dev/transcript"
)

// known is the ledger as the last plan had it, so that the next one pays for what
// came since.
type known struct {
	ledger *ledger.Ledger
	branch int               // entries of the conversation that are in it
	last   *transcript.Entry // the newest of them
	side   int               // entries of the log that were looked at
}

// factsOf returns what is known of the conversation without a model: by default
// the ledger, taken up from the last plan, or from the log's newest checkpoint.
func (l *Ladder) factsOf(s Situation) (Facts, error) {
	branch := s.Log.History(s.Log.ByUUID(s.View.Leaf)).Entries
	if l.Facts != nil {
		return l.Facts(branch), nil
	}
	side := s.Log.Entries
	k := &l.known
	goesOn := k.ledger != nil && k.branch <= len(branch) && k.side <= len(side) && (k.branch == 0 || branch[k.branch-1] == k.last)
	if !goesOn {
		led, err := ledger.Resume(side, branch)
		if err != nil {
			return nil, err
		}
		*k = known{ledger: led}
	} else {
		for _, e := range side[k.side:] {
			if e.Type != transcript.TypeQueueOperation {
				continue
			}
			if err := k.ledger.Add(e); err != nil {
				*k = known{}
				return nil, err
			}
		}
		for _, e := range branch[k.branch:] {
			if err := k.ledger.Add(e); err != nil {
				*k = known{}
				return nil, err
			}
		}
	}
	k.branch, k.side, k.last = len(branch), len(side), nil
	if len(branch) > 0 {
		k.last = branch[len(branch)-1]
	}
	return k.ledger, nil
}

// checkpoint returns the side entry that keeps the facts with a boundary, so that
// a resume costs what came after it. Facts of other kinds keep nothing.
func (j *job) checkpoint() []*transcript.Entry {
	if led, ok := j.facts.(*ledger.Ledger); ok && j.keeps == nil {
		j.keeps = []*transcript.Entry{led.Entry(j.Stamp)}
	}
	return j.keeps
}
