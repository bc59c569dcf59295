package tokens

import "sync"

// The bounds of a learned weight (G-7).
const (
	MinWeight = 0.5
	MaxWeight = 2.0
)

// UnknownFactor is the factor of the conservative mode for a model of which nothing is known: the largest that any
// tokenizer was measured to have over o200k (Claude from 4.7 on: 1.5 to 1.65 on tool output, code and prose).
const UnknownFactor = 1.65

// conservative is what the prior factor of a known model is raised by until it was measured.
const conservative = 1.1

const (
	priorTokens = 4000 // the prior counts as an observation of this size
	decay       = 0.95 // how much of the past stays with each observation
	minObserved = 64   // estimates below this are mostly rounding and overhead
)

// Weight is what one model's tokenizer makes of an estimated token: a moving average (EWMA) of real tokens over one of
// estimated tokens, each observation weighing as much as it is large, clamped to [MinWeight, MaxWeight]. Keep one for each
// (provider, model), for as long as the process runs. It is safe for concurrent use.
//
// Until it has learned something it is conservative: the prior raised by a tenth, or [UnknownFactor].
type Weight struct {
	mu              sync.Mutex
	prior           float64
	real, estimated float64
	seen            int
}

// NewWeight returns a weight that starts from prior, the factor known for the model's tokenizer (package caps); 0 = unknown.
func NewWeight(prior float64) *Weight {
	w := &Weight{prior: prior}
	start := prior
	if !(prior > 0) {
		w.prior, start = 0, 1.15 // the older Claude models'; the first observations decide
	}
	start = clamp(start)
	w.real, w.estimated = start*priorTokens, priorTokens
	return w
}

func clamp(f float64) float64 { return max(MinWeight, min(MaxWeight, f)) }

// Observe learns that content estimated at so many tokens really had so many. Observations too small to tell anything, and
// impossible ones, are ignored; a wild one counts as the bound it passes.
func (w *Weight) Observe(estimated, real int) {
	if estimated < minObserved || real <= 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e := float64(estimated)
	w.real = w.real*decay + e*clamp(float64(real)/e)
	w.estimated = w.estimated*decay + e
	w.seen++
}

// Factor returns the number by which estimates are multiplied.
func (w *Weight) Factor() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.seen > 0:
		return clamp(w.real / w.estimated)
	case w.prior > 0:
		return clamp(w.prior * conservative)
	}
	return UnknownFactor
}

// Learned reports whether anything was observed: before that the factor is conservative.
func (w *Weight) Learned() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen > 0
}
