package transcript

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"unicode/utf8"

	"varve.dev/message"
)

// Check looks at every record of the log in full and returns all faults, those of
// reading included, in file order. It reads each body once and keeps none;
// progress, when not nil, is called with the bytes done so far.
func (l *Log) Check(ctx context.Context, progress func(done int64)) ([]Fault, error) {
	out := append([]Fault(nil), l.Faults...)
	for i, e := range l.Entries {
		if i&63 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if progress != nil {
				progress(e.Offset)
			}
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		out = append(out, checkBytes(e, raw)...)
		if e.Type != "" {
			out = append(out, e.checkShape(raw)...)
			out = append(out, l.checkParent(e)...)
		}
	}
	out = append(out, l.cycles()...)
	if progress != nil {
		progress(l.Size)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Offset < out[j].Offset })
	return out, nil
}

func (e *Entry) flaw(kind FaultKind, format string, args ...any) []Fault {
	return []Fault{{Line: e.Line, Offset: e.Offset, Kind: kind, Detail: fmt.Sprintf(format, args...)}}
}

func checkBytes(e *Entry, raw []byte) []Fault {
	var out []Fault
	if !utf8.Valid(raw) {
		at := 0
		for at < len(raw) {
			r, n := utf8.DecodeRune(raw[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		out = append(out, e.flaw(FaultUTF8, "byte %d of the record is not UTF-8; it is read as U+FFFD", at)...)
	} else if !message.CleanUnicode(raw) {
		out = append(out, e.flaw(FaultSurrogate, "an escape \\ud800–\\udfff stands without its other half; it is sent as U+FFFD")...)
	}
	if !json.Valid(raw) {
		out = append(out, e.flaw(FaultInvalid, "the record can be read only in part: its JSON is not valid")...)
	}
	if e.Type == "" {
		out = append(out, e.flaw(FaultNoType, "an object without a type; kept, means nothing")...)
	}
	return out
}

func (e *Entry) checkShape(raw []byte) []Fault {
	switch {
	case e.Type == TypeUser || e.Type == TypeAssistant:
		if e.UUID == "" {
			return e.flaw(FaultMessage, "a %s record without uuid; it cannot be part of the conversation", e.Type)
		}
		if e.body.empty() || raw[e.body.from] != '{' {
			return e.flaw(FaultMessage, "a %s record without a message object", e.Type)
		}
		m, err := message.ParseMessage(raw[e.body.from:e.body.to])
		if err != nil {
			return e.flaw(FaultMessage, "%v", err)
		}
		if _, ok := field(raw[e.body.from:e.body.to], "content"); !ok {
			return e.flaw(FaultMessage, "the message has no content")
		}
		if m.Role == "" {
			return e.flaw(FaultMessage, "the message has no role")
		}
	case e.IsBoundary():
		if _, err := e.Boundary(); err != nil {
			return e.flaw(FaultBoundary, "%v", err)
		}
	}
	return nil
}

func (l *Log) checkParent(e *Entry) []Fault {
	if !e.IsChain() && e.Type != TypeProgress || e.ParentUUID == "" || l.byUUID[e.UUID] != e {
		return nil
	}
	switch {
	case e.parent == e:
		return e.flaw(FaultCycle, "the entry names itself as its parent")
	case e.parent == nil && l.From == 0:
		if p := l.before(e, nil, nil); p != nil {
			return e.flaw(FaultMissingParent, "its parent %s is not in the file; bridged to the entry %s", e.ParentUUID, p.ref())
		}
		return e.flaw(FaultMissingParent, "its parent %s is not in the file; read as a start", e.ParentUUID)
	}
	return nil
}

// cycles finds entries that are their own ancestors through others. Each cycle is
// said once, at its first entry in the file.
func (l *Log) cycles() []Fault {
	const (
		unseen = iota
		open
		done
	)
	state := make([]uint8, len(l.Entries))
	var out []Fault
	for _, e := range l.Entries {
		var way []*Entry
		at := e
		for at != nil && at.seq < len(state) && state[at.seq] == unseen {
			state[at.seq] = open
			way = append(way, at)
			if at.parent == at {
				break
			}
			at = at.parent
		}
		if at != nil && at.parent != at && state[at.seq] == open && len(way) > 0 {
			lowest := at
			for x := at.parent; x != at; x = x.parent {
				if x.seq < lowest.seq {
					lowest = x
				}
			}
			out = append(out, lowest.flaw(FaultCycle, "the entry is its own ancestor")...)
		}
		for _, w := range way {
			state[w.seq] = done
		}
	}
	return out
}
