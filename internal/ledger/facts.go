package ledger

import "slices"

// File is what a ledger knows of one file, for callers that bring files back into a
// context.
type File struct {
	Path    string // as it was first named; relative names are relative to the folder of that call
	Key     string // the path made absolute where the folder was known
	Hash    string // first digits of the SHA-256 of the newest content that was seen whole; "" when not known
	Reads   int
	Changes int // edits, writes and deletions that succeeded
	Gone    bool
	Last    int // orders files: a larger number was touched later
}

// Files returns the files of the conversation, those touched last first.
func (l *Ledger) Files() []File {
	out := make([]File, 0, len(l.s.Files))
	for i := range l.s.Files {
		f := &l.s.Files[i]
		out = append(out, File{Path: f.Path, Key: f.Key, Hash: f.Hash, Reads: f.Reads, Changes: f.Edits + f.Writes + f.Deletes, Gone: f.Gone, Last: f.at()})
	}
	slices.SortStableFunc(out, func(a, b File) int { return b.Last - a.Last })
	return out
}

// OpenTasks returns what is still to be done, in the order of the lists.
func (l *Ledger) OpenTasks() []Task { return l.openTasks() }

// CurrentPlan returns the plan that counts: not refused, and not done. Where plans live
// in files only the file may be known.
func (l *Ledger) CurrentPlan() (text, file string) {
	p := l.s.Plan
	if p.Refused || l.planStale() {
		return "", ""
	}
	return p.Text, p.File
}

// Branch returns the git branch of the last entry, "" when there is none.
func (l *Ledger) Branch() string { return l.s.Branch }
