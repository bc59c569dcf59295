package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/engine"
	"varve.dev/internal/notes"
	"varve.dev/message"
	"varve.dev/session"
	"varve.dev/transcript"
)

// C-4, T-12: notes lie in the session's own folder and count with a cursor in its log,
// for the process that wrote it and for the next one.
func TestNotes(t *testing.T) {
	ctx := context.Background()
	st, err := session.OpenStore(session.Home{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.Create(ctx, session.ID("noted"), session.Project(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(s, engine.Config{})
	if err := e.Append(message.User("hi")); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Notes().Current(ctx); ok {
		t.Error("notes that nobody wrote")
	}
	folder := strings.TrimSuffix(s.Path, ".jsonl")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "# Title\nthe parser\n"
	if err := os.WriteFile(filepath.Join(folder, notes.File), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := s.Notes().Current(ctx); ok {
		t.Error("notes without a cursor")
	}
	leaf := e.View().Leaf
	if err := e.Cover(transcript.Covers{Kind: notes.Kind, UptoUUID: leaf, Hash: notes.Hash([]byte(text))}); err != nil {
		t.Fatal(err)
	}
	if got, upTo, ok := s.Notes().Current(ctx); !ok || upTo != leaf || !strings.Contains(got, "the parser") {
		t.Errorf("%q to %q, %v", got, upTo, ok)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	again, err := st.Open(ctx, "noted")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close(ctx) }()
	if _, upTo, ok := again.Notes().Current(ctx); !ok || upTo != leaf {
		t.Errorf("after a resume: to %q, %v", upTo, ok)
	}
}
