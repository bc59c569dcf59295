package transcript_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// generated makes a log from a drawn seed: the number of turns shrinks, the rest
// repeats.
func generated(t *rapid.T, damage bool) []byte {
	seed := rapid.Uint64().Draw(t, "seed")
	return loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(seed, 0)), loggen.Options{Turns: rapid.IntRange(1, 12).Draw(t, "turns"),
		Boundaries: true, Rewinds: true, Thinking: true, Damage: damage}))
}

// TestPropReadWrite: T-4, T-10. What is read and written again is the same to the
// byte: an undamaged log whole, a damaged one in every record that was read.
func TestPropReadWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		damage := rapid.Bool().Draw(t, "damage")
		b := generated(t, damage)
		l := readAll(t, b, transcript.ReadOptions{})
		var out []byte
		for _, e := range l.Entries {
			raw, err := e.Raw()
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, raw...), '\n')
		}
		if !damage && !bytes.Equal(out, b) {
			t.Fatal("written bytes differ from those read")
		}
		again := readAll(t, out, transcript.ReadOptions{})
		if len(again.Entries) != len(l.Entries) {
			t.Fatalf("%d records, written and read again %d", len(l.Entries), len(again.Entries))
		}
		for _, f := range again.Faults {
			if f.Kind != transcript.FaultDuplicate && f.Kind != transcript.FaultInvalid {
				t.Fatalf("what was read and written has a fault: %v", f)
			}
		}
	})
}

// TestPropSplice: a spliced member is the only thing that changes (T-4).
func TestPropSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := readAll(t, generated(t, false), transcript.ReadOptions{})
		e := l.Entries[rapid.IntRange(0, len(l.Entries)-1).Draw(t, "entry")]
		raw, _ := e.Raw()
		key := rapid.SampledFrom([]string{"sessionId", "uuid", "varve", "new \"key\"", "cwd"}).Draw(t, "key")
		v := []byte(rapid.SampledFrom([]string{`"x"`, `{"a":[1,2]}`, `null`, `1.50`}).Draw(t, "value"))
		old, had := e.Field(key)
		got, err := transcript.Splice(raw, key, v)
		if err != nil {
			t.Fatal(err)
		}
		if key == "new \"key\"" {
			if string(got) != string(raw[:len(raw)-1])+`,"new \"key\"":`+string(v)+"}" {
				t.Fatalf("appended member: %s", got)
			}
			return
		}
		p, err := transcript.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		if now, _ := p.Field(key); string(now) != string(v) {
			t.Fatalf("member is %s, want %s", now, v)
		}
		if had {
			back, err := transcript.Splice(got, key, old)
			if err != nil || !bytes.Equal(back, raw) {
				t.Fatalf("spliced back: %v", err)
			}
		}
	})
}

// TestPropTail: G-9. Read backwards in steps of any size, the chain of the tip is
// that of a whole read.
func TestPropTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := generated(t, rapid.IntRange(0, 3).Draw(t, "damage") == 0)
		whole := readAll(t, b, transcript.ReadOptions{})
		tail, err := transcript.ReadTail(context.Background(), bytes.NewReader(b), int64(len(b)),
			transcript.ReadOptions{InMemory: -1, FirstTail: int64(rapid.IntRange(1, 4096).Draw(t, "first"))})
		if err != nil {
			t.Fatal(err)
		}
		if whole.Tip() == nil {
			if tail.Tip() != nil {
				t.Fatal("the tail has a tip, the whole has none")
			}
			return
		}
		a, c := whole.Chain(whole.Tip()), tail.Chain(tail.Tip())
		// Of an entry written twice the tail may see the second copy only.
		if names(a.Entries) != names(c.Entries) || names(a.Kept) != names(c.Kept) {
			t.Fatalf("from byte %d of %d:\nwhole %s\n tail %s\nkept %s / %s", tail.From, len(b), names(a.Entries), names(c.Entries), names(a.Kept), names(c.Kept))
		}
	})
}

// TestPropChain: T-8, T-11. Every chain ends in its leaf, holds no entry twice,
// and misses no result that the log has for a call on it.
func TestPropChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := readAll(t, generated(t, rapid.Bool().Draw(t, "damage")), transcript.ReadOptions{})
		has := map[string]bool{}
		for _, e := range l.Entries {
			if e.Type == transcript.TypeUser && l.ByUUID(e.UUID) == e {
				for _, id := range e.Results {
					has[id] = true
				}
			}
		}
		for _, leaf := range l.Leaves() {
			for _, c := range []*transcript.Chain{l.Chain(leaf), l.History(leaf)} {
				seen, answered, isLeaf := map[*transcript.Entry]bool{}, map[string]bool{}, false
				for _, e := range c.Entries {
					if seen[e] {
						t.Fatalf("entry %s twice", e.UUID)
					}
					seen[e] = true
					isLeaf = isLeaf || e == leaf
					for _, id := range e.Results {
						answered[id] = true
					}
				}
				if !isLeaf {
					t.Fatalf("leaf %s is not on its chain", leaf.UUID)
				}
				for _, e := range c.Entries {
					for _, id := range e.Calls {
						if has[id] && !answered[id] {
							t.Fatalf("the result of %s is in the log and not on the chain", id)
						}
					}
				}
			}
		}
	})
}

func readAll(t *rapid.T, b []byte, opt transcript.ReadOptions) *transcript.Log {
	l, err := transcript.Read(context.Background(), bytes.NewReader(b), int64(len(b)), opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// FuzzRead: no file crashes the reader, makes it loop, or makes it lose a sound
// line behind a damaged one (T-10).
func FuzzRead(f *testing.F) {
	s := loggen.NewStory()
	s.User("u1", "", "one").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x")
	f.Add(s.Bytes())
	f.Add([]byte("\xEF\xBB\xBF{\"type\":\"user\"}\r\n\x00\x00{\"a\":\n"))
	f.Add([]byte(s.Lines[0][:50] + s.Lines[1] + "\n" + s.Lines[0][50:]))
	f.Add([]byte(`{"type":"user","uuid":"a","parentUuid":"a","message":{"content":[{"type":"tool_use","id":"\ud99c"}]}}`))
	sound := `{"parentUuid":null,"sessionId":"zz","type":"user","message":{"role":"user","content":"sound"},"uuid":"sound-1"}`
	f.Fuzz(func(t *testing.T, data []byte) {
		b := append(append(bytes.Clone(data), '\n'), sound...)
		b = append(b, '\n')
		l := readBytes(t, b)
		last := l.Entries[len(l.Entries)-1]
		if raw, err := last.Raw(); err != nil || string(raw) != sound {
			t.Fatalf("the sound line behind the damage was not read: %v", err)
		}
		if _, err := l.Check(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for _, leaf := range l.Leaves() {
			l.Chain(leaf)
			l.History(leaf)
		}
		for _, e := range l.Entries {
			_, _ = e.Message()
			_, _ = e.PromptText()
		}
		if _, _, err := transcript.ReadLite(bytes.NewReader(b), int64(len(b))); err != nil {
			t.Fatal(err)
		}
		if _, err := transcript.ReadTail(context.Background(), bytes.NewReader(b), int64(len(b)), transcript.ReadOptions{FirstTail: 64}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzParse: what Parse accepts keeps its bytes, and Splice leaves the rest alone.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":"user","uuid":"u","a":[1,{"b":"}"}]}`))
	f.Add([]byte(`{ }`))
	f.Add([]byte(`{"varve":{},"varve":1 }`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := transcript.Parse(line)
		if err != nil {
			return
		}
		raw, err := e.Raw()
		if err != nil || !bytes.Equal(raw, line) {
			t.Fatal("bytes changed")
		}
		out, err := transcript.Splice(raw, "varve", []byte(`{"x":1}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := transcript.Parse(out)
		if err != nil {
			t.Fatalf("spliced line does not parse: %v: %s", err, out)
		}
		if v, _ := p.Field("varve"); string(v) != `{"x":1}` {
			t.Fatalf("spliced member reads %s from %s", v, out)
		}
	})
}
