package ledger

import (
	"slices"
	"strings"
)

// file is what happened to one file.
type file struct {
	Path    string `json:"p"` // as it was first named
	Key     string `json:"k"`
	Reads   int    `json:"r,omitempty"`
	Edits   int    `json:"e,omitempty"`
	Writes  int    `json:"w,omitempty"`
	Deletes int    `json:"d,omitempty"`
	Tries   int    `json:"f,omitempty"` // changes that failed, were refused, or whose result is not known
	Hash    string `json:"h,omitempty"` // of the newest content that is known; "" when it changed since
	Part    bool   `json:"part,omitempty"`
	Gone    bool   `json:"gone,omitempty"`
	Outside bool   `json:"out,omitempty"` // changed outside of the conversation since
	ReadAt  int    `json:"ra,omitempty"`
	DoneAt  int    `json:"da,omitempty"` // when it was last changed
}

// changed reports whether the conversation changed the file, or tried.
func (f *file) changed() bool { return f.Edits+f.Writes+f.Deletes+f.Tries > 0 }

func (f *file) at() int { return max(f.ReadAt, f.DoneAt) }

// entry returns the record of a path, a new one when it was not named before.
func (l *Ledger) file(dir, path string) *file {
	key := fileKey(dir, path)
	if i, ok := l.fileAt[key]; ok {
		return &l.s.Files[i]
	}
	l.fileAt[key] = len(l.s.Files)
	l.s.Files = append(l.s.Files, file{Path: path, Key: key})
	return &l.s.Files[len(l.s.Files)-1]
}

// apply enters one change of an answered call.
func (l *Ledger) apply(c call, ch change, o outcome) {
	switch {
	case ch.Act == actRead && (o.failed() || o.Refused || o.Void):
		return
	case o.Void, o.Refused, o.Error:
		l.attempt(c.Dir, ch)
		return
	case c.Act == actShell && o.HasExit && o.Exit != 0:
		l.attempt(c.Dir, ch)
		return
	}
	sum := ch.Hash
	if o.Hash != "" && (len(c.Changes) == 0) {
		sum = o.Hash
	}
	l.touch(c.Dir, ch.Path, ch.Act, sum, o.Part)
}

// attempt enters a change that did not happen, or may have.
func (l *Ledger) attempt(dir string, ch change) {
	if ch.Act == actRead || ch.Path == "" {
		return
	}
	f := l.file(dir, ch.Path)
	f.Tries++
	f.DoneAt = max(f.DoneAt, l.s.N)
}

// touch enters something that was done to a file.
func (l *Ledger) touch(dir, path string, act action, sum string, part bool) {
	if path == "" {
		return
	}
	f := l.file(dir, path)
	switch act {
	case actRead:
		f.Reads++
		f.ReadAt = l.s.N
		f.Gone = false
		if sum != "" {
			f.Hash, f.Part, f.Outside = sum, false, false
		} else if f.Hash == "" {
			f.Part = part
		}
		l.boundFiles()
		return
	case actEdit:
		f.Edits++
	case actWrite:
		f.Writes++
	case actDelete:
		f.Deletes++
		sum = ""
	}
	f.Gone = act == actDelete
	f.Hash, f.Part, f.Outside = sum, false, false
	f.DoneAt = l.s.N
	l.boundFiles()
}

// moved enters what a command did to a file or folder. Of a folder the files that are
// known are gone; itself it is noted only when it looks like a file, since the command
// is noted anyway.
func (l *Ledger) moved(dir string, ch change) {
	if ch.Act != actDelete {
		l.touch(dir, ch.Path, ch.Act, "", false)
		return
	}
	key := fileKey(dir, ch.Path)
	inside := false
	for i := range l.s.Files {
		f := &l.s.Files[i]
		if strings.HasPrefix(f.Key, key+"/") {
			inside = true
			f.Deletes++
			f.Gone, f.Hash, f.DoneAt = true, "", l.s.N
		}
	}
	if _, known := l.fileAt[key]; known || !inside && strings.Contains(baseName(ch.Path), ".") {
		l.touch(dir, ch.Path, actDelete, "", false)
	}
}

// outside notes that a file was changed by somebody else.
func (l *Ledger) outside(dir, path string) {
	if path == "" {
		return
	}
	f := l.file(dir, path)
	f.Outside, f.Hash = true, ""
	if f.at() == 0 {
		f.ReadAt = l.s.N
	}
}

// boundFiles drops, an eighth of the bound at a time, the files that were read
// longest ago when too many were only read, and those that were changed longest ago
// when too many were changed. It is looked at when a file came that was not known.
func (l *Ledger) boundFiles() {
	if len(l.s.Files) <= maxReads || len(l.s.Files) <= l.filesSeen {
		return
	}
	l.filesSeen = len(l.s.Files)
	var reads, changes []int
	for i := range l.s.Files {
		if f := &l.s.Files[i]; f.changed() {
			changes = append(changes, f.at())
		} else {
			reads = append(reads, f.ReadAt)
		}
	}
	oldestRead, oldestChange := oldestKept(reads, maxReads), oldestKept(changes, maxChanged)
	if oldestRead == 0 && oldestChange == 0 {
		return
	}
	kept := l.s.Files[:0]
	for _, f := range l.s.Files {
		switch {
		case f.changed() && f.at() < oldestChange:
			l.s.Lost.Changed++
		case !f.changed() && f.ReadAt < oldestRead:
			l.s.Lost.Reads++
		default:
			kept = append(kept, f)
		}
	}
	clear(l.s.Files[len(kept):])
	l.s.Files = kept
	l.index()
}

// oldestKept returns the oldest of times that stays when there are more than most of
// them; 0 when all do.
func oldestKept(times []int, most int) int {
	if len(times) <= most {
		return 0
	}
	slices.Sort(times)
	return times[len(times)-most*7/8]
}

// changedSince returns the files that were changed after a point, newest first.
func (l *Ledger) changedSince(at int) []string {
	type hit struct {
		path string
		at   int
	}
	var hits []hit
	for i := range l.s.Files {
		if f := &l.s.Files[i]; f.DoneAt > at && f.Edits+f.Writes+f.Deletes > 0 {
			hits = append(hits, hit{f.Path, f.DoneAt})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.at - a.at })
	var out []string
	for _, h := range hits {
		out = append(out, h.path)
	}
	return out
}
