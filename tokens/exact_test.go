package tokens_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/internal/tokenfit"
	"varve.dev/tokens"
)

// exactCounts are the o200k counts of the chunks that were held out of the fit (testdata/exact.tsv, written by
// internal/tokenfit/fit), by source.
func exactCounts(t *testing.T) map[string]struct {
	hash   string
	tokens int
} {
	t.Helper()
	f, err := os.Open("testdata/exact.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]struct {
		hash   string
		tokens int
	}{}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		col := strings.Split(sc.Text(), "\t")
		n, err := strconv.Atoi(col[3])
		if err != nil {
			t.Fatal(err)
		}
		out[col[0]+" "+col[1]] = struct {
			hash   string
			tokens int
		}{col[2], n}
	}
	return out
}

// TestExact holds the estimator against exact counts of held-out texts (G-7): at least as good as ten run-length features
// are known to be (median error 3.6 %, 95th percentile 11.9 %), and within 6 % for base64 and 2 % for dense JSON, where
// those had 11 % and 9 %.
func TestExact(t *testing.T) {
	want := exactCounts(t)
	goroot, err := tokenfit.Goroot()
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := tokenfit.Installed(goroot, 90)
	if err != nil {
		t.Fatal(err)
	}
	chunks = append(chunks, tokenfit.GeneratedHeld(90)...)
	errs := map[string][]float64{}
	other := 0
	for _, c := range chunks {
		w, ok := want[c.Kind+" "+c.Source]
		if !ok {
			continue
		}
		if h := sha256.Sum256([]byte(c.Text)); fmt.Sprintf("%x", h[:8]) != w.hash {
			other++ // a file of another Go version
			continue
		}
		e := math.Abs(float64(tokens.Text(c.Text))/float64(w.tokens) - 1)
		errs["all"] = append(errs["all"], e)
		errs[c.Kind] = append(errs[c.Kind], e)
	}
	if len(errs["all"]) < 900 {
		t.Fatalf("only %d chunks are what they were when they were counted (%d are not): the generators changed, fit again", len(errs["all"]), other)
	}
	for kind, limit := range map[string][2]float64{"all": {0.036, 0.119}, "base64": {0.06, 0.11}, "json-dense": {0.02, 0.05}, "hex": {0.02, 0.05}, "chinese": {0.04, 0.10}} {
		e := errs[kind]
		slices.Sort(e)
		median, p95 := e[len(e)/2], e[len(e)*95/100]
		t.Logf("%-10s %4d chunks: median %.1f %%, 95th percentile %.1f %%", kind, len(e), 100*median, 100*p95)
		if median > limit[0] || p95 > limit[1] {
			t.Errorf("%s: median %.1f %%, 95th percentile %.1f %%; want at most %.1f %% and %.1f %%", kind, 100*median, 100*p95, 100*limit[0], 100*limit[1])
		}
	}
}
