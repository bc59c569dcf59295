package transcript_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// T-3: what Each shows of entries is what Raw returns of them, whether they are in
// memory, on disk, mended, far from each other, or in another order than the file's.
func TestEach(t *testing.T) {
	for seed := range uint64(6) {
		data := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(seed, 9)), loggen.Options{Turns: 60, Text: 40 << (2 * seed), Damage: seed%2 == 1, Rewinds: true}))
		for _, inMemory := range []int64{0, -1} {
			l, err := transcript.Read(context.Background(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{InMemory: inMemory})
			if err != nil {
				t.Fatal(err)
			}
			all := l.Entries
			some := make([]*transcript.Entry, 0, len(all))
			for i, e := range all {
				if i%(int(seed)+1) == 0 {
					some = append(some, e)
				}
			}
			back := append([]*transcript.Entry{}, all...)
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(back), func(i, j int) { back[i], back[j] = back[j], back[i] })
			for _, list := range [][]*transcript.Entry{all, some, back, nil} {
				n := 0
				err := l.Each(list, func(e *transcript.Entry, raw []byte) error {
					want, err := e.Raw()
					if e != list[n] || err != nil || !bytes.Equal(raw, want) {
						t.Fatalf("seed %d: entry %d of line %d (%v): %.80q, want %.80q", seed, n, e.Line, err, raw, want)
					}
					n++
					return nil
				})
				if err != nil || n != len(list) {
					t.Fatalf("seed %d: %d of %d, %v", seed, n, len(list), err)
				}
			}
			stop := errors.New("stop")
			n := 0
			if err := l.Each(all, func(*transcript.Entry, []byte) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
				t.Errorf("%d calls, %v", n, err)
			}
		}
	}
}

// A file that lost bytes since it was read is an error with the place.
func TestEachShort(t *testing.T) {
	data := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(1, 9)), loggen.Options{Turns: 5}))
	src := &shrinking{Reader: bytes.NewReader(data)}
	l, err := transcript.Read(context.Background(), src, int64(len(data)), transcript.ReadOptions{InMemory: -1})
	if err != nil {
		t.Fatal(err)
	}
	src.Reader = bytes.NewReader(data[:len(data)/2])
	if err := l.Each(l.Entries, func(*transcript.Entry, []byte) error { return nil }); err == nil {
		t.Error("no error")
	}
}

type shrinking struct{ *bytes.Reader }
