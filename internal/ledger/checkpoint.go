package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/transcript"
)

// Kind names a ledger among the cursors of a log (side entries varve-covers).
const Kind = "ledger"

// ErrCheckpoint is the error of a value that is no checkpoint of this version. The
// ledger is then computed from the entries.
var ErrCheckpoint = errors.New("ledger: no checkpoint of this version")

// Checkpoint returns the state as a compact JSON value, for the log: in an entry of
// its own ([Ledger.Entry]) or inside another. Equal states give equal bytes.
func (l *Ledger) Checkpoint() json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	// Every part of the state is a text, a number, or a list of them: none can fail.
	_ = enc.Encode(&l.s)
	return json.RawMessage(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// Restore returns the ledger whose state a checkpoint holds. The value comes from a
// log and is not trusted: every text is cleaned again and every list bounded, so a
// forged checkpoint can hold false facts, as any line of a log can, but not break
// out of its quotes. The error wraps [ErrCheckpoint].
func Restore(raw json.RawMessage) (*Ledger, error) {
	l := &Ledger{}
	if err := json.Unmarshal(raw, &l.s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	}
	if l.s.Version != version {
		return nil, fmt.Errorf("%w: version %d", ErrCheckpoint, l.s.Version)
	}
	l.sanitize()
	l.index()
	l.weighWords()
	return l, nil
}

// cursor is the content of a checkpoint's side entry. A reader that knows cursors
// only sees how far it reaches.
type cursor struct {
	Kind     string          `json:"kind"`
	UptoUUID string          `json:"uptoUuid"`
	Hash     string          `json:"hash"` // SHA-256 of state
	State    json.RawMessage `json:"state"`
}

// Entry returns a side entry that holds the checkpoint. Written with a boundary, it
// makes a resume cost what came after it.
func (l *Ledger) Entry(s transcript.Stamp) *transcript.Entry {
	state := l.Checkpoint()
	return s.Side(transcript.TypeCovers, cursor{Kind: Kind, UptoUUID: l.Upto(), Hash: digest(state), State: state})
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// FromEntry returns the ledger that a side entry holds. ok is false for entries of
// other kinds; the error is that of a damaged checkpoint and wraps
// [ErrCheckpoint], or that of reading the entry.
func FromEntry(e *transcript.Entry) (l *Ledger, ok bool, err error) {
	if e.Type != transcript.TypeCovers {
		return nil, false, nil
	}
	raw, err := e.Raw()
	if err != nil {
		return nil, false, fmt.Errorf("ledger: %w", err)
	}
	var upto, sum string
	var state []byte
	for m := object(raw); m.next(); {
		switch string(m.key) {
		case "kind":
			ok = text(m.val) == Kind
		case "uptoUuid":
			upto = text(m.val)
		case "hash":
			sum = text(m.val)
		case "state":
			state = m.val
		}
	}
	if !ok {
		return nil, false, nil
	}
	if digest(state) != sum {
		return nil, true, fmt.Errorf("%w: its bytes do not match its hash", ErrCheckpoint)
	}
	if l, err = Restore(state); err != nil {
		return nil, true, err
	}
	if l.Upto() != upto {
		return nil, true, fmt.Errorf("%w: it covers another entry than its state", ErrCheckpoint)
	}
	return l, true, nil
}

// Of returns the ledger of entries alone: a branch in order.
func Of(entries []*transcript.Entry) (*Ledger, error) {
	l := New()
	for _, e := range entries {
		if err := l.Add(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Resume returns the ledger of a branch: from the newest checkpoint that covers a
// beginning of the branch, and the entries behind it; from the entries alone when
// there is none. branch is the branch in order, from its start or from a boundary
// on; side are the log's entries in file order, among which checkpoints and queued
// prompts are looked for (they may be all entries of the log, or of its tail).
//
// A checkpoint of another branch, of before a rewind, or with damage is not used;
// what was wrong is nobody's concern, since the entries are the truth.
func Resume(side, branch []*transcript.Entry) (*Ledger, error) {
	at := make(map[string]int, len(branch))
	for i, e := range branch {
		if e.UUID != "" {
			at[clip(clean(e.UUID), maxID)] = i
		}
	}
	before := ""
	if len(branch) > 0 && branch[0].IsBoundary() {
		before = branch[0].LogicalParentUUID
	}
	l, from := New(), 0
	for _, e := range slices.Backward(side) {
		if e.Type != transcript.TypeCovers {
			continue
		}
		old, ok, err := FromEntry(e)
		if err != nil && !errors.Is(err, ErrCheckpoint) {
			return nil, err
		}
		if !ok || old == nil {
			continue
		}
		if i, here := at[old.Upto()]; here {
			l, from = old, i+1
			break
		}
		if before != "" && old.Upto() == before {
			l = old
			break
		}
	}
	for _, e := range side {
		if e.Type == transcript.TypeQueueOperation {
			if err := l.Add(e); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range branch[from:] {
		if err := l.Add(e); err != nil {
			return nil, err
		}
	}
	return l, nil
}
