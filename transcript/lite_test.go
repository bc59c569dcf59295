package transcript_test

import (
	"path/filepath"
	"testing"

	"varve.dev/transcript"
)

func TestRealLite(t *testing.T) {
	for _, path := range corpus(t) {
		l, faults, err := transcript.ReadLiteFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if l.FirstPrompt == "" && !l.Sidechain {
			t.Errorf("%s: no prompt", filepath.Base(path))
		}
		if l.Last.IsZero() || l.First.IsZero() {
			t.Errorf("%s: no times", filepath.Base(path))
		}
		t.Logf("%s: title %q (%s) first %.60q last %.40q msgs %d whole %v faults %v", filepath.Base(path), l.Title, l.TitleFrom, l.FirstPrompt, l.LastPrompt, l.Messages, l.Whole, faults)
	}
}
