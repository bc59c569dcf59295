package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"varve.dev/internal/foreign"
	"varve.dev/internal/replay"
	"varve.dev/internal/sources"
)

// headBytes is how much of a file tells what it is.
const headBytes = 64 << 10

// foreignSession reads the file that ref names when it is a session of another
// agent; nil when it is none.
func (a *app) foreignSession(ctx context.Context, ref string) (s *foreign.Session, err error) {
	st, err := os.Stat(ref)
	if err != nil || !st.Mode().IsRegular() {
		return nil, nil // an id, a title, or nothing that could be read: whoever looks for a session says so
	}
	f, err := os.Open(ref)
	if err != nil {
		return nil, nil // likewise
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, min(st.Size(), headBytes))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil // likewise
	}
	if _, ok := foreign.Detect(head, ref); !ok {
		return nil, nil
	}
	if s, err = foreign.Open(ctx, f, st.Size(), foreign.Options{Name: ref}); err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	const most = 3
	for _, x := range s.Faults[:min(len(s.Faults), most)] {
		a.out.note("Note: %s: %s.", filepath.Base(ref), x)
	}
	if more := len(s.Faults) - most; more > 0 {
		a.out.note("Note: %s more could not be read.", count(more, "place"))
	}
	return s, nil
}

// strangeFile says of a file that is no session what would be one; any other error
// stays as it is.
func strangeFile(ref string, err error) error {
	st, serr := os.Stat(ref)
	if _, missing := errors.AsType[*sources.NotFoundError](err); serr != nil || !missing {
		return err
	}
	if st.IsDir() {
		return fmt.Errorf("%s is a folder; name a log in it, or a session by its id or title", ref)
	}
	return fmt.Errorf("%s is no session that is known: logs of Varve and of Claude Code have names that end with .jsonl; files of Codex, Gemini CLI, opencode and pi are told by what is in them", ref)
}

// foreignRecording gives a foreign session as a recording.
func foreignRecording(ref string, s *foreign.Session) (*replay.Recording, error) {
	rec, err := replay.FromLog(s.Log())
	if err != nil {
		return nil, err
	}
	if rec.Recorded.Entries == 0 {
		return nil, fmt.Errorf("%s holds no conversation", ref)
	}
	rec.Name, rec.Format, rec.Title, rec.Model, rec.Faults = filepath.Base(ref), string(s.Format), s.Title, s.Model, len(s.Faults)
	rec.SessionID = s.ID
	if st, err := os.Stat(ref); err == nil {
		rec.Bytes = st.Size()
	}
	if rec.Title == "" {
		rec.Title = rec.Name
	}
	return rec, nil
}
