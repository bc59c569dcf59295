//go:build !amd64

package recall

// Without vector code a term is looked for byte by byte, in a copy in lower case.
const hasVector = false

func pairVector(*byte, int, int, byte, byte, byte, byte) int { return -1 }
