//go:build !amd64

package transcript

// Without vector code the scan goes byte by byte, and from quote to quote with
// bytes.IndexByte.

func vectorQuote(_ []byte, j int) (quote, next int) { return -1, j }

func vectorContainer([]byte, int) (end int, ok bool) { return 0, false }

func newlineOrZero(b []byte, i int) int { return carefulNewline(b, i) }
