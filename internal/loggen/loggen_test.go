package loggen_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// TestMake: undamaged logs are read without a harmful fault; damaged ones are read.
func TestMake(t *testing.T) {
	for seed := range uint64(300) {
		for _, damage := range []bool{false, true} {
			c := rand.New(rand.NewPCG(seed, 1))
			b := loggen.Bytes(loggen.Make(c, loggen.Options{Turns: 1 + int(seed%20), Boundaries: true, Rewinds: true, Thinking: true, Damage: damage}))
			l, err := transcript.Read(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if l.Tip() == nil && !damage {
				t.Fatalf("seed %d: no tip", seed)
			}
			if damage {
				continue
			}
			fs, err := l.Check(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range fs {
				if !f.Harmless() {
					t.Fatalf("seed %d: %v", seed, f)
				}
			}
		}
	}
}
