package replay

import (
	"errors"
	"fmt"
	"os"

	"varve.dev/transcript"
)

// spoolFrom is the size of a recording from which on what left the view does not stay
// in memory, in bytes: a smaller one takes less than a few hundred megabytes.
const spoolFrom = 32 << 20

// spool is a temporary file for the bytes of entries that the replay is done with:
// the engine's log asks for hardly any of them again.
type spool struct {
	f   *os.File
	off int64
	buf []byte
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "varve-replay-")
	if err != nil {
		return nil, fmt.Errorf("replay: a temporary file for what left the context: %w", err)
	}
	return &spool{f: f}, nil
}

// rest writes entries and lets go of their bytes.
func (s *spool) rest(entries []*transcript.Entry) error {
	s.buf = s.buf[:0]
	for _, e := range entries {
		raw, err := e.Raw()
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		s.buf = append(append(s.buf, raw...), '\n')
	}
	if _, err := s.f.WriteAt(s.buf, s.off); err != nil {
		return fmt.Errorf("replay: what left the context cannot be put aside: %w; TMPDIR names another folder", err)
	}
	for _, e := range entries {
		e.Rest(s.f, s.off)
		s.off += int64(e.Len) + 1
	}
	return nil
}

func (s *spool) close() error {
	return errors.Join(s.f.Close(), os.Remove(s.f.Name()))
}

// rest puts aside what no view shows any more: entries before the newest boundary
// whose blocks are not in the view.
func (r *runner) rest() error {
	log := r.engine.Log()
	end := len(log.Entries) - 1
	for end > r.rested && !log.Entries[end].IsBoundary() {
		end--
	}
	shown := map[string]bool{}
	v := r.engine.View()
	for i := range v.Messages {
		for k := range v.Messages[i].Blocks {
			shown[v.Messages[i].Blocks[k].Entry] = true
		}
	}
	var gone []*transcript.Entry
	still := r.held[:0]
	for _, list := range [][]*transcript.Entry{r.held, log.Entries[r.rested:end]} {
		for _, e := range list {
			if e.UUID != "" && shown[e.UUID] {
				still = append(still, e)
			} else {
				gone = append(gone, e)
			}
		}
	}
	r.held, r.rested = still, end
	return r.spool.rest(gone)
}
