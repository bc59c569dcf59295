package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"fmt"
	"io"

	"varve.dev/transcript"
)

// bundled is made by the script in gen, over a copy of this repository.
//
//go:generate go run ./gen -root ../.. -out bundled.jsonl.gz
//go:embed bundled.jsonl.gz
var bundled []byte

// BundledWindow is the window that the bundled recording is replayed with when
// none is named, in tokens: small enough that the ladder has work to do.
const BundledWindow = 64_000

// Bundled returns the recording that comes with the program: a session that
// somebody may have had with an agent over this repository. What its tools
// returned is real, its words are a script's.
func Bundled() (*Recording, error) {
	z, err := gzip.NewReader(bytes.NewReader(bundled))
	if err != nil {
		return nil, fmt.Errorf("replay: the bundled recording: %w", err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("replay: the bundled recording: %w", err)
	}
	l, err := transcript.Read(context.Background(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{InMemory: int64(len(data)) + 1})
	if err != nil {
		return nil, fmt.Errorf("replay: the bundled recording: %w", err)
	}
	rec, err := FromLog(l)
	if err != nil {
		return nil, err
	}
	rec.Name, rec.Format, rec.Title = "bundled", "varve", "a session over this repository (bundled, scripted)"
	return rec, nil
}
