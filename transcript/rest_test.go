package transcript_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// T-3: an entry that rests says what it said before: by itself, through Each, and
// after Load, also when the log it was added to has no file.
func TestRest(t *testing.T) {
	data := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(4, 9)), loggen.Options{Turns: 20}))
	var l transcript.Log
	var want [][]byte
	var at []int64
	off := int64(0)
	for line := range bytes.Lines(data) {
		e, err := transcript.Parse(bytes.TrimSuffix(bytes.Clone(line), []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		l.Add(e)
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		want, at = append(want, raw), append(at, off)
		off += int64(len(line))
	}
	same := func(when string) {
		t.Helper()
		n := 0
		if err := l.Each(l.Entries, func(e *transcript.Entry, raw []byte) error {
			own, err := e.Raw()
			if err != nil || !bytes.Equal(raw, want[n]) || !bytes.Equal(own, want[n]) {
				t.Fatalf("%s: entry %d: %.60q and %.60q (%v), want %.60q", when, n, raw, own, err, want[n])
			}
			n++
			return nil
		}); err != nil || n != len(want) {
			t.Fatalf("%s: %d of %d, %v", when, n, len(want), err)
		}
	}
	for i, e := range l.Entries {
		if m, err := e.Message(); i%3 > 0 {
			e.Rest(bytes.NewReader(data), at[i])
			if again, err2 := e.Message(); (err == nil) != (err2 == nil) || err == nil && !bytes.Equal(m.Raw, again.Raw) {
				t.Errorf("entry %d says something else: %v, %v", i, err, err2)
			}
		}
	}
	same("resting")
	if err := l.Load(l.Entries); err != nil {
		t.Fatal(err)
	}
	same("loaded")
}
