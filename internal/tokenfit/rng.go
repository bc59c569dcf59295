package tokenfit

// rng is SplitMix64. It is written out so that the generated texts are the same with every Go version.
type rng uint64

func (r *rng) next() uint64 {
	*r += 0x9E3779B97F4A7C15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// n returns a number in [0, k).
func (r *rng) n(k int) int { return int(r.next() % uint64(k)) }

// between returns a number in [a, b].
func (r *rng) between(a, b int) int { return a + r.n(b-a+1) }

// one returns one of the choices.
func (r *rng) one(choices ...string) string { return choices[r.n(len(choices))] }

// chance is true p times of a hundred.
func (r *rng) chance(p int) bool { return r.n(100) < p }

// bytes returns k random bytes.
func (r *rng) bytes(k int) []byte {
	b := make([]byte, k)
	for i := range b {
		b[i] = byte(r.next())
	}
	return b
}
