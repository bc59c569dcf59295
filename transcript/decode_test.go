package transcript_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"reflect"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// T-4, T-7: what was decoded ahead is what each entry says alone, in memory or on
// disk, mended, far apart, larger than what is read at once, or in another order.
func TestDecode(t *testing.T) {
	for seed := range uint64(6) {
		opt := loggen.Options{Turns: 30, Text: 40 << seed, Thinking: true, Damage: seed%2 == 1, Rewinds: true}
		if seed == 4 {
			opt.Turns, opt.Text = 2, 200<<10
		}
		data := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(seed, 5)), opt))
		for _, inMemory := range []int64{0, -1} {
			opt := transcript.ReadOptions{InMemory: inMemory}
			alone, ahead := readAllOf(t, data, opt), readAllOf(t, data, opt)
			list := append([]*transcript.Entry{}, ahead.Entries...)
			if seed > 2 {
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
			transcript.Decode(list[:len(list)/2])
			transcript.Decode(list)
			for i, e := range alone.Entries {
				o := ahead.Entries[i]
				a, errA := e.Message()
				b, errB := o.Message()
				if !reflect.DeepEqual(a, b) || (errA == nil) != (errB == nil) {
					t.Fatalf("seed %d, entry %d: %v, alone %v", seed, i, errB, errA)
				}
				textsA, asA, errA := e.Rendered()
				textsB, asB, errB := o.Rendered()
				if !reflect.DeepEqual(textsA, textsB) || asA != asB || (errA == nil) != (errB == nil) {
					t.Fatalf("seed %d, entry %d: %q as %s, %v; alone %q as %s, %v", seed, i, textsB, asB, errB, textsA, asA, errA)
				}
			}
		}
	}
}

func readAllOf(t *testing.T, data []byte, opt transcript.ReadOptions) *transcript.Log {
	t.Helper()
	l, err := transcript.Read(context.Background(), bytes.NewReader(data), int64(len(data)), opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A file that lost bytes since it was read is said by the entries that lost theirs.
func TestDecodeShort(t *testing.T) {
	data := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(1, 9)), loggen.Options{Turns: 5}))
	src := &shrinking{Reader: bytes.NewReader(data)}
	l, err := transcript.Read(context.Background(), src, int64(len(data)), transcript.ReadOptions{InMemory: -1})
	if err != nil {
		t.Fatal(err)
	}
	src.Reader = bytes.NewReader(data[:len(data)/2])
	transcript.Decode(l.Entries)
	lost := 0
	for _, e := range l.Entries {
		if e.MessageID != "" && e.Offset > int64(len(data)/2) {
			if _, err := e.Message(); err == nil {
				t.Errorf("line %d: no error", e.Line)
			}
			lost++
		}
	}
	if lost == 0 {
		t.Fatal("nothing was lost")
	}
}

// What an attachment showed is not what its client said beside it.
func TestRendered(t *testing.T) {
	for _, tc := range []struct {
		members, as string
		texts       []string
		fails       bool
	}{
		{`"rendered":[{"content":"a\nb"},{"content":"c"}]`, "user", []string{"a\nb", "c"}, false},
		{`"rendered":[{"content":"a"}],"varve":{"as":"system"}`, "system", []string{"a"}, false},
		{`"attachment":{"rendered":[{"content":"no"}]}`, "user", nil, false},
		{`"rendered":null`, "user", nil, false},
		{`"rendered":"a"`, "", nil, true},
		{`"rendered":[{"content":1}]`, "", nil, true},
		{`"rendered":[{"content":"a"}],"varve":5`, "", nil, true},
	} {
		e, err := transcript.Parse([]byte(`{"type":"attachment","uuid":"u",` + tc.members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			texts, as, err := e.Rendered()
			if !reflect.DeepEqual(texts, tc.texts) || as != tc.as || (err != nil) != tc.fails {
				t.Errorf("%s: %q as %q, %v", tc.members, texts, as, err)
			}
		}
		e.Forget()
		if texts, _, _ := e.Rendered(); !reflect.DeepEqual(texts, tc.texts) {
			t.Errorf("%s: %q after it was forgotten", tc.members, texts)
		}
	}
}
