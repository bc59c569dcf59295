package tokens_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/tokens"
)

// TestThresholds pins the figures of B-3 and points below it.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name                                string
		b                                   tokens.Budget
		effective, auto, warning, blockings int
	}{
		{"the reference's 200k", tokens.Budget{Window: 200_000, MaxOutput: 64_000}, 180_000, 167_000, 147_000, 177_000},
		{"a million", tokens.Budget{Window: 1_000_000, MaxOutput: 128_000}, 980_000, 967_000, 947_000, 977_000},
		{"output not known", tokens.Budget{Window: 200_000}, 180_000, 167_000, 147_000, 177_000},
		{"short replies", tokens.Budget{Window: 200_000, MaxOutput: 8_000}, 192_000, 179_000, 159_000, 189_000},
		{"128k", tokens.Budget{Window: 128_000, MaxOutput: 32_000}, 115_200, 106_880, 94_080, 113_280},
		{"32k", tokens.Budget{Window: 32_000, MaxOutput: 8_000}, 28_800, 26_720, 23_520, 28_320},
		{"4k", tokens.Budget{Window: 4_000, MaxOutput: 4_000}, 3_600, 3_340, 2_940, 3_540},
		// A prompt limit of its own: the effective window is exactly that limit.
		{"gpt-6.2", tokens.Budget{Window: 1_050_000, MaxOutput: 128_000, InputLimit: 922_000}, 922_000, 909_000, 889_000, 919_000},
		{"gpt-5", tokens.Budget{Window: 400_000, MaxOutput: 128_000, InputLimit: 272_000}, 272_000, 259_000, 239_000, 269_000},
		{"small input limit", tokens.Budget{Window: 10_000, MaxOutput: 4_000, InputLimit: 5_000}, 5_000, 4_639, 4_083, 4_917},
		{"input limit that never binds", tokens.Budget{Window: 200_000, MaxOutput: 64_000, InputLimit: 190_000}, 180_000, 167_000, 147_000, 177_000},
		{"capped", tokens.Budget{Window: 1_000_000, MaxOutput: 128_000, Cap: 200_000}, 180_000, 167_000, 147_000, 177_000},
		{"cap above", tokens.Budget{Window: 200_000, MaxOutput: 64_000, Cap: 400_000}, 180_000, 167_000, 147_000, 177_000},
		{"percent lowers", tokens.Budget{Window: 200_000, MaxOutput: 64_000, Percent: 50}, 180_000, 90_000, 70_000, 177_000},
		{"percent never raises", tokens.Budget{Window: 200_000, MaxOutput: 64_000, Percent: 99}, 180_000, 167_000, 147_000, 177_000},
		{"a warning stays possible", tokens.Budget{Window: 200_000, MaxOutput: 64_000, Percent: 10}, 180_000, 18_000, 9_000, 177_000},
		{"nothing", tokens.Budget{}, 0, 0, 0, 0},
		{"nonsense", tokens.Budget{Window: -5}, 0, 0, 0, 0},
	} {
		got := c.b.Thresholds()
		if got.Effective != c.effective || got.Auto != c.auto || got.Warning != c.warning || got.Error != c.warning || got.Blocking != c.blockings {
			t.Errorf("%s: %+v, want effective %d, auto %d, warning %d, blocking %d", c.name, got, c.effective, c.auto, c.warning, c.blockings)
		}
	}
}

// fields lists what must be continuous and monotone.
func fields(t tokens.Thresholds) [5]int {
	return [5]int{t.Window, t.Effective, t.Auto, t.Warning, t.Blocking}
}

// checkStep holds the thresholds of two budgets that differ by one token of window against each other.
func checkStep(t interface {
	Fatalf(string, ...any)
}, small, large tokens.Budget) {
	a, b := small.Thresholds(), large.Thresholds()
	for i, v := range fields(b) {
		if d := v - fields(a)[i]; d < 0 || d > 1 {
			t.Fatalf("field %d steps by %d from %+v (%+v) to %+v (%+v)", i, d, small, a, large, b)
		}
	}
	if b.Warning > b.Auto || b.Auto > b.Blocking || b.Blocking > b.Effective || b.Effective > b.Window || b.Reserve < 0 {
		t.Fatalf("out of order: %+v: %+v", large, b)
	}
}

// TestThresholdsContinuous is G-6: continuous and monotone for every window from 4k to 10M tokens, every single one up to
// 210,000, for several output limits.
func TestThresholdsContinuous(t *testing.T) {
	for _, output := range []int{0, 1, 300, 4_000, 8_192, 20_000, 64_000} {
		for w := 4_000; w < 210_000; w++ {
			checkStep(t, tokens.Budget{Window: w, MaxOutput: output}, tokens.Budget{Window: w + 1, MaxOutput: output})
		}
		for w := 210_000; w < 10_000_000; w += 9_973 {
			checkStep(t, tokens.Budget{Window: w, MaxOutput: output}, tokens.Budget{Window: w + 1, MaxOutput: output})
		}
	}
}

// TestThresholdsMonotone is G-6 over all inputs at once: a larger window, cap or input limit never lowers a threshold, and
// one token of either never moves one by more than one (an input limit's by 10/9 at most, as W = L/0.9).
func TestThresholdsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(4_000, 10_000_000), rapid.IntRange(4_000, 250_000), rapid.IntRange(199_900, 200_100))
		b := tokens.Budget{
			Window:     size.Draw(t, "window"),
			MaxOutput:  rapid.SampledFrom([]int{0, 1, 1_000, 4_096, 19_999, 20_000, 20_001, 128_000}).Draw(t, "output"),
			InputLimit: rapid.OneOf(rapid.Just(0), size).Draw(t, "limit"),
			Cap:        rapid.OneOf(rapid.Just(0), size).Draw(t, "cap"),
			Percent:    rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.5, 100)).Draw(t, "percent"),
		}
		next := b
		next.Window++
		checkStep(t, b, next)
		if b.Cap > 0 {
			next = b
			next.Cap++
			checkStep(t, b, next)
		}
		if b.InputLimit > 0 {
			next = b
			next.InputLimit++
			small, large := b.Thresholds(), next.Thresholds()
			for i, v := range fields(large) {
				if d := v - fields(small)[i]; d < 0 || d > 2 {
					t.Fatalf("field %d steps by %d from %+v to %+v", i, d, small, large)
				}
			}
			if small.Effective > b.InputLimit {
				t.Fatalf("the prompt may pass the input limit: %+v: %+v", b, small)
			}
			free := b
			free.InputLimit = 0
			if want := min(free.Thresholds().Effective, b.InputLimit); small.Effective != want {
				t.Fatalf("effective %d, want %d: %+v", small.Effective, want, b)
			}
		}
		far := b
		far.Window += rapid.IntRange(1, 1_000_000).Draw(t, "more")
		for i, v := range fields(far.Thresholds()) {
			if v < fields(b.Thresholds())[i] {
				t.Fatalf("field %d falls from %+v to %+v", i, b, far)
			}
		}
		lower := b
		lower.Percent = max(0.1, b.Percent/2)
		if lower.Thresholds().Auto > b.Thresholds().Auto {
			t.Fatalf("a percentage raised the threshold: %+v", lower)
		}
	})
}

// TestState is B-6's order of states. The threshold follows the model that is active now, whatever was configured as a
// default (pingdotgg/t3code#12495): the same 190,000 tokens are fine in a million and overfull in 200,000.
func TestState(t *testing.T) {
	small := tokens.Budget{Window: 200_000, MaxOutput: 64_000}.Thresholds()
	for _, c := range []struct {
		tokens int
		want   tokens.State
	}{{0, tokens.Fine}, {146_999, tokens.Fine}, {147_000, tokens.Warned}, {167_000, tokens.Due}, {177_000, tokens.Blocked}, {180_000, tokens.Blocked}, {180_001, tokens.Overfull}, {190_000, tokens.Overfull}} {
		if got := small.State(c.tokens); got != c.want {
			t.Errorf("State(%d) = %v, want %v", c.tokens, got, c.want)
		}
	}
	large := tokens.Budget{Window: 1_000_000, MaxOutput: 128_000}.Thresholds()
	if got := large.State(190_000); got != tokens.Fine {
		t.Errorf("State(190,000) in a million = %v", got)
	}
	if small.Left(160_000) != 7_000 || small.Left(170_000) != 0 {
		t.Errorf("Left: %d, %d", small.Left(160_000), small.Left(170_000))
	}
}

// TestOverrides is B-4: a cap and a percentage, only downwards, invalid values ignored with a notice that names them.
func TestOverrides(t *testing.T) {
	base := tokens.Budget{Window: 200_000, MaxOutput: 64_000}
	for _, c := range []struct {
		window, percent string
		cap             int
		pct             float64
		notices         int
	}{
		{"", "", 0, 0, 0},
		{" ", "", 0, 0, 0},
		{"100000", "", 100_000, 0, 0},
		{"100_000", "50%", 100_000, 50, 0},
		{"4000", " 0.5 ", 4_000, 0.5, 0},
		{"3999", "", 0, 0, 1},
		{"-1", "0", 0, 0, 2},
		{"200k", "NaN", 0, 0, 2},
		{"1e5", "101", 0, 0, 2},
		{"99999999999999999999", "half", 0, 0, 2},
		{"", "Inf", 0, 0, 1},
	} {
		got, notices := tokens.Overrides{Window: c.window, WindowName: "VARVE_WINDOW", Percent: c.percent, PercentName: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"}.Apply(base)
		if got.Cap != c.cap || got.Percent != c.pct || len(notices) != c.notices {
			t.Errorf("%q %q: cap %d percent %v notices %q", c.window, c.percent, got.Cap, got.Percent, notices)
		}
		for _, n := range notices {
			if !strings.Contains(n, "VARVE_WINDOW") && !strings.Contains(n, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE") || !strings.Contains(n, "ignored") {
				t.Errorf("notice does not say what and why: %q", n)
			}
		}
	}
	if _, notices := (tokens.Overrides{Window: "x"}).Apply(base); len(notices) != 1 || !strings.Contains(notices[0], "the window cap") {
		t.Errorf("%q", notices)
	}
	lower, _ := tokens.Overrides{Window: "150000"}.Apply(tokens.Budget{Window: 200_000, Cap: 100_000})
	if lower.Cap != 100_000 {
		t.Errorf("a second cap raised the first: %d", lower.Cap)
	}
}
