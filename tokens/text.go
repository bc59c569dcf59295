package tokens

import "math"

// Text returns the estimated tokens of a text, in tokens of the o200k vocabulary; 0 only for the empty text. A [Weight]
// turns them into tokens of a model.
func Text(s string) int { return round(Scan(s), len(s)) }

// Bytes is [Text] for bytes.
func Bytes(b []byte) int { return round(ScanBytes(b), len(b)) }

func round(f Features, size int) int {
	if size == 0 {
		return 0
	}
	return max(1, int(math.Round(f.Tokens())))
}
