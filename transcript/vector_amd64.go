package transcript

import "math/bits"

// On processors that have AVX2 the scan looks at 64 bytes at a time (vector_amd64.s).
// What it cannot judge in that way it leaves to the careful scan of scan.go, which
// alone decides what is damaged.

// nest is where a container is in the middle of. Its layout is known to the
// assembly.
type nest struct {
	//lint:ignore U1000 the assembly keeps it between blocks
	escaped uint64 // 1: the next byte is escaped by a backslash
	inside  uint64 // all ones: the next byte is inside a string
	depth   int64  // open brackets
	opens   uint64 // brackets in the block that may end the container
	closes  uint64
	odd     uint64 // 1: something stands there that the careful scan has to judge
}

// quoteVector returns the position of the first quote without a backslash before
// it in 64·blocks bytes from p on, -1 when there is none. blocks is at least 1.
//
//go:noescape
func quoteVector(p *byte, blocks int) int

// nestVector follows brackets through up to 64·blocks bytes from p on. It stops in
// front of the block in which the depth may become zero, or something is odd, and
// returns how many bytes stand before it: all of them when there is no such block.
// The state is then that behind the block it stopped at, but for the depth.
//
//go:noescape
func nestVector(p *byte, blocks int, st *nest) int

// newlineVector returns the position of the first newline or zero byte in 64·blocks
// bytes from p on, -1 when there is neither. blocks is at least 1.
//
//go:noescape
func newlineVector(p *byte, blocks int) int

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

var hasVector = vectorCPU()

// vectorCPU reports whether processor and operating system have what the assembly
// uses: AVX2, PCLMULQDQ, POPCNT, and the wide registers saved between processes.
func vectorCPU() bool {
	const (
		pclmul, popcnt, osxsave, avx = 1 << 1, 1 << 23, 1 << 27, 1 << 28
		avx2                         = 1 << 5
		sseAndAVX                    = 1<<1 | 1<<2
	)
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	if need := uint32(pclmul | popcnt | osxsave | avx); c&need != need || xgetbv()&sseAndAVX != sseAndAVX {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

// newlineOrZero is carefulNewline, faster.
func newlineOrZero(b []byte, i int) int {
	if blocks := (len(b) - i) >> 6; hasVector && blocks > 0 {
		if k := newlineVector(&b[i], blocks); k >= 0 {
			return i + k
		}
		i += blocks << 6
	}
	return carefulNewline(b, i)
}

// vectorQuote returns the position of the quote that ends the string whose content
// begins at j, or -1 and where to look further: no backslash before that place
// escapes anything behind it.
func vectorQuote(b []byte, j int) (quote, next int) {
	blocks := (len(b) - j) >> 6
	if !hasVector || blocks == 0 {
		return -1, j
	}
	if k := quoteVector(&b[j], blocks); k >= 0 {
		return j + k, 0
	}
	next = j + blocks<<6
	for next > j && b[next-1] == '\\' {
		next--
	}
	return -1, next
}

// vectorContainer returns the position behind the container that begins at i; ok
// is false when the careful scan has to find it.
func vectorContainer(b []byte, i int) (end int, ok bool) {
	pos := i + 1
	if !hasVector || (len(b)-pos)>>6 == 0 {
		return 0, false
	}
	st := nest{depth: 1}
	for {
		blocks := (len(b) - pos) >> 6
		if blocks == 0 {
			return vectorRest(b, i, pos, &st)
		}
		done := nestVector(&b[pos], blocks, &st)
		if st.odd != 0 {
			return 0, false
		}
		pos += done
		if done == blocks<<6 {
			continue
		}
		for all := st.opens | st.closes; all != 0; all &= all - 1 {
			if st.opens>>bits.TrailingZeros64(all)&1 != 0 {
				st.depth++
			} else if st.depth--; st.depth == 0 {
				return pos + bits.TrailingZeros64(all) + 1, true
			}
		}
		pos += 64
	}
}

// vectorRest goes on byte by byte in what is shorter than a block.
func vectorRest(b []byte, i, pos int, st *nest) (end int, ok bool) {
	if st.inside != 0 {
		var err error
		if pos, err = stringEnd(b, i, pos); err != nil {
			return 0, false
		}
	}
	end, err := nested(b, pos, int(st.depth))
	return end, err == nil
}
