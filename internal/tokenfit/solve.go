package tokenfit

import "math"

// Sample is one chunk's features, its exact token count, and how much it counts in the fit.
type Sample struct {
	X      []float64
	Y      float64
	Weight float64
}

// Solve returns the weights w ≥ 0 for which the relative error |w·x − y| / y is least on average. It is a least squares
// fit by coordinate descent, repeated with each sample weighed down by its last error, so that a few odd chunks do not
// pull the fit. The result is deterministic.
func Solve(samples []Sample, features, rounds int) []float64 {
	w := make([]float64, features)
	scale := make([]float64, len(samples))
	for i, s := range samples {
		scale[i] = s.Weight / (s.Y * s.Y)
	}
	for range rounds {
		leastSquares(samples, scale, w)
		for i, s := range samples {
			rel := math.Abs(dot(w, s.X)-s.Y) / s.Y
			scale[i] = s.Weight / (s.Y * s.Y) / max(rel, 0.02)
		}
	}
	return w
}

// leastSquares improves w by cyclic coordinate descent on the normal equations, clamped at zero.
func leastSquares(samples []Sample, scale, w []float64) {
	n := len(w)
	a := make([][]float64, n)
	b := make([]float64, n)
	for i := range a {
		a[i] = make([]float64, n)
	}
	for k, s := range samples {
		for i, x := range s.X {
			if x == 0 {
				continue
			}
			b[i] += scale[k] * x * s.Y
			for j, z := range s.X {
				a[i][j] += scale[k] * x * z
			}
		}
	}
	for range 20000 {
		moved := 0.0
		for i := range w {
			if a[i][i] == 0 {
				continue
			}
			g := b[i]
			for j := range w {
				g -= a[i][j] * w[j]
			}
			next := max(0, w[i]+g/a[i][i])
			moved = max(moved, math.Abs(next-w[i]))
			w[i] = next
		}
		if moved < 1e-9 {
			return
		}
	}
}

func dot(w, x []float64) float64 {
	var t float64
	for i, v := range x {
		t += w[i] * v
	}
	return t
}
