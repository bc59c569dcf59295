package sources

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Listing is what is known of the sessions that a query asks for.
type Listing struct {
	Sessions []*Session // newest first
	Skipped  []Skipped  // directory entries that could not be read
	// Files is how many logs the folders hold, those of other projects included.
	Files int
	// Final is false for the first page of a long list: its sessions are the ones
	// whose files changed last; the final listing has all, by the times in them.
	Final bool
}

// List yields what q asks for, newest first: when there are more files than a
// page needs, first a provisional page of q.First sessions, chosen by the time the
// files changed, and then the whole list in the order of the times recorded in
// them. Both are fresh slices of the same sessions. The last value yielded is
// Final unless ctx ends, which yields its error.
//
// A file that cannot be read is in the list with its Err and under the name of its
// file; nothing in a home is written.
func (f *Finder) List(ctx context.Context, q Query) iter.Seq2[Listing, error] {
	return func(yield func(Listing, error) bool) {
		files, skipped, err := f.scan(ctx, q)
		if err != nil {
			yield(Listing{}, err)
			return
		}
		slices.SortFunc(files, func(a, b *file) int {
			if c := b.mtime.Compare(a.mtime); c != 0 {
				return c
			}
			return strings.Compare(a.path, b.path)
		})
		l := &lister{f: f, q: q, files: files}
		if len(files) > q.first() {
			for len(l.out) < q.first() && l.at < len(files) {
				if err := l.read(ctx, q.first()); err != nil {
					yield(Listing{}, err)
					return
				}
			}
			if l.at < len(files) && !yield(Listing{l.page(q.first()), skipped, len(files), false}, nil) {
				return
			}
		}
		l.openCache()
		err = l.read(ctx, len(files))
		l.cache.save(err == nil)
		if err != nil {
			yield(Listing{}, err)
			return
		}
		yield(Listing{l.page(len(l.out)), skipped, len(files), true}, nil)
	}
}

// All returns the final listing.
func (f *Finder) All(ctx context.Context, q Query) (Listing, error) {
	q.First = int(^uint(0) >> 1) // no provisional page
	for l, err := range f.List(ctx, q) {
		return l, err
	}
	return Listing{}, ctx.Err()
}

// Latest returns the session of the project's own directory that was used last,
// nil when there is none. Sessions of its worktrees, of other directories that
// share the folder and files without a message do not count
// (anthropics/claude-code#70076).
func (f *Finder) Latest(ctx context.Context, q Query) (*Session, error) {
	l, err := f.All(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, s := range l.Sessions {
		if s.Kin == KinHere && s.Err == nil && s.Messages > 0 {
			return s, nil
		}
	}
	return nil, nil
}

// lister reads the files of one listing, newest first.
type lister struct {
	f     *Finder
	q     Query
	files []*file
	at    int // files read
	out   []*Session
	early []*Session // of the first files, read before the cache was opened
	cache *cache     // nil while the first page is read, which is not worth it
}

// openCache opens the cache and gives it what was read without.
func (l *lister) openCache() {
	l.cache = l.f.openCache(l.files)
	for i, s := range l.early {
		l.cache.put(l.files[i], s)
	}
}

// read looks into the next n files and keeps the sessions that belong.
func (l *lister) read(ctx context.Context, n int) error {
	part := l.files[l.at:min(l.at+n, len(l.files))]
	got := make([]*Session, len(part))
	err := l.f.each(ctx, len(part), func(i int) {
		if l.cache == nil {
			got[i] = l.f.load(part[i])
			return
		}
		s := l.cache.get(part[i])
		if s == nil {
			s = l.f.load(part[i])
			l.cache.put(part[i], s)
		}
		got[i] = s
	})
	if err != nil {
		return err
	}
	l.at += len(part)
	if l.cache == nil {
		l.early = append(l.early, got...)
	}
	for _, s := range got {
		if s.Sidechain && s.Err == nil {
			continue // a sub-agent's log under a session's name
		}
		if l.q.Project != nil {
			if s.Kin = l.q.Project.Kin(s.FirstCWD); s.Kin == KinNone {
				continue
			}
		}
		l.out = append(l.out, s)
	}
	return nil
}

// page returns the first n sessions read so far in the order of their own times.
func (l *lister) page(n int) []*Session {
	slices.SortStableFunc(l.out, newestFirst)
	return slices.Clone(l.out[:min(n, len(l.out))])
}

func newestFirst(a, b *Session) int {
	if c := b.Time().Compare(a.Time()); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}
