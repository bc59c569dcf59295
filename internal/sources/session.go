package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"varve.dev/internal/vfs"
	"varve.dev/transcript"
)

// Session is one session found on disk.
type Session struct {
	ID      string // the file's name without .jsonl, whatever its records say
	Source  string // SourceVarve, SourceClaude; "" for a file outside of the homes
	Path    string
	Size    int64
	ModTime time.Time
	Kin     Kin // to the project that was asked for; KinNone without one

	transcript.Lite                    // zero where Err is set
	Faults          []transcript.Fault // damage in the parts that were read
	Err             error              // why the file could not be read at all
}

// Time is when the session was last used: the time of its last message, so that
// a copied or touched file keeps its place (anthropics/claude-code#79572,
// #74798). A file without any falls back to that of its first record, then to the
// file's own.
func (s *Session) Time() time.Time {
	switch {
	case !s.Last.IsZero():
		return s.Last
	case !s.First.IsZero():
		return s.First
	}
	return s.ModTime
}

// Dir is the directory that the session belongs to, "" when it recorded none.
func (s *Session) Dir() string { return s.FirstCWD }

// Folder is the project folder that holds the session.
func (s *Session) Folder() string { return filepath.Dir(s.Path) }

// Empty reports whether the file is sound and holds no message: a session that
// was opened and left. There is nothing in it to come back to.
func (s *Session) Empty() bool {
	return s.Err == nil && s.Whole && s.Messages == 0 && !s.Damaged()
}

// Damaged reports whether something in the parts that were read is lost or had
// to be mended.
func (s *Session) Damaged() bool {
	for _, f := range s.Faults {
		if !f.Harmless() {
			return true
		}
	}
	return false
}

// Name is what people call the session: its title, else its first prompt.
func (s *Session) Name() string {
	if s.Title != "" {
		return s.Title
	}
	return s.FirstPrompt
}

// file is a log that a folder lists, not looked into yet.
type file struct {
	home  *Home
	path  string
	size  int64
	mtime time.Time
	inode uint64
}

func (f *file) id() string { return strings.TrimSuffix(filepath.Base(f.path), logSuffix) }

// isLog reports whether a directory entry's name is that of a session's log.
// Sub-agents of clients of 2.0 lie beside the sessions; they are attached to
// theirs, see [Finder.Agents].
func isLog(name string) bool {
	return strings.HasSuffix(name, logSuffix) && len(name) > len(logSuffix) && name[0] != '.' && !isAgentLog(name)
}

func isAgentLog(name string) bool {
	return strings.HasPrefix(name, agentPrefix) && strings.HasSuffix(name, logSuffix)
}

const agentPrefix = "agent-"

// Skipped is a directory entry that was passed over, and why.
type Skipped struct {
	Path string
	Err  error
}

func (s Skipped) Error() string { return fmt.Sprintf("%s: %v", s.Path, s.Err) }

var errNotFile = errors.New("not a regular file")

// stat describes the log at path, following links. It never opens anything: a
// pipe of that name would block.
func (f *Finder) stat(home *Home, path string) (*file, error) {
	st, err := f.FS.Stat(path)
	if err != nil {
		return nil, reason(err)
	}
	return regular(home, path, st)
}

func regular(home *Home, path string, st fs.FileInfo) (*file, error) {
	if !st.Mode().IsRegular() {
		return nil, errNotFile
	}
	return &file{home: home, path: path, size: st.Size(), mtime: st.ModTime(), inode: inode(st)}, nil
}

// reason strips the path from an error that is shown beside it.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// session makes a session of a file without looking into it.
func (f *file) session() *Session {
	s := &Session{ID: f.id(), Path: f.path, Size: f.size, ModTime: f.mtime}
	if f.home != nil {
		s.Source = f.home.Source
	}
	return s
}

// load reads what a list shows of the session.
func (f *Finder) load(fl *file) *Session {
	s := fl.session()
	var r vfs.Reader
	if r, s.Err = vfs.OpenReader(f.FS, fl.path); s.Err == nil {
		s.Lite, s.Faults, s.Err = transcript.ReadLite(r, fl.size)
		if err := r.Close(); s.Err == nil {
			s.Err = err
		}
	}
	if s.Err != nil {
		s.Err = reason(s.Err)
	}
	s.Lite.Size = fl.size
	return s
}
