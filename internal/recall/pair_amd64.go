package recall

import "golang.org/x/sys/cpu"

// On processors that have AVX2, 32 places are looked at at a time (pair_amd64.s).
var hasVector = cpu.X86.HasAVX2

// pairVector returns the first of 32·blocks places from p on where a byte with the
// bits of aMask set is a, and the byte off behind it with the bits of bMask set is b;
// -1 when there is none. blocks is at least 1; off bytes are read behind them.
//
//go:noescape
func pairVector(p *byte, blocks, off int, a, aMask, b, bMask byte) int
