package tokenfit

import (
	"math"
	"testing"
	"unicode/utf8"
)

// TestGenerated: the texts are the same every time, of the size asked for, and valid UTF-8; a third is held out.
func TestGenerated(t *testing.T) {
	a, b := Generated(6), Generated(6)
	if len(a) != 6*len(generators) {
		t.Fatalf("%d chunks", len(a))
	}
	held := 0
	for i, c := range a {
		if c != b[i] {
			t.Errorf("%s differs from run to run", c.Source)
		}
		if len(c.Text) > ChunkSize || len(c.Text) < ChunkSize*3/4 || !utf8.ValidString(c.Text) {
			t.Errorf("%s: %d bytes", c.Source, len(c.Text))
		}
		if c.Held {
			held++
		}
	}
	for i, c := range GeneratedHeld(6) {
		if c != a[i*3+2] {
			t.Errorf("%s differs when only held-out chunks are made", c.Source)
		}
	}
	if held != len(a)/3 {
		t.Errorf("%d of %d held out", held, len(a))
	}
}

// TestGeneratedPinned pins the first words of the stream that all texts come from: another one would need another fit.
func TestGeneratedPinned(t *testing.T) {
	r := rng(1)
	if got := r.next(); got != 0x910a2dec89025cc1 {
		t.Errorf("%#x", got)
	}
	if got := Generated(1)[0].Text[:40]; got != Generated(2)[0].Text[:40] {
		t.Error("the first chunk depends on how many are made")
	}
}

// TestInstalled: chunks come from many files, never cut a rune, and files of one folder are on one side of the split.
func TestInstalled(t *testing.T) {
	goroot, err := Goroot()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := Installed(goroot, 12)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, c := range chunks {
		kinds[c.Kind]++
		if len(c.Text) < ChunkSize/2-utf8.UTFMax || len(c.Text) > ChunkSize {
			t.Errorf("%s: %d bytes", c.Source, len(c.Text))
		}
	}
	for _, kind := range []string{"go", "go-numbered", "prose", "diff", "escaped", "markdown"} {
		if kinds[kind] < 5 {
			t.Errorf("%s: %d chunks", kind, kinds[kind])
		}
	}
	if _, err := Installed(t.TempDir(), 5); err != nil {
		t.Errorf("an installation without sources: %v", err)
	}
}

// TestSolve: the fit finds weights that made the counts, in spite of a few wild samples, and none is negative.
func TestSolve(t *testing.T) {
	r := rng(7)
	want := []float64{1.5, 0, 0.25}
	var samples []Sample
	for i := range 300 {
		x := []float64{float64(r.between(5, 100)), float64(r.between(0, 50)), float64(r.between(0, 200))}
		y := dot(want, x)
		if i%50 == 0 {
			y *= 3
		}
		samples = append(samples, Sample{X: x, Y: y, Weight: 1})
	}
	for i, w := range Solve(samples, 3, 30) {
		if math.Abs(w-want[i]) > 0.02 || w < 0 {
			t.Errorf("weight %d: %v, want %v", i, w, want[i])
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"漢字", 4, "漢"}, {"漢", 2, ""}} {
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("clip(%q, %d) = %q", c.in, c.n, got)
		}
	}
}
