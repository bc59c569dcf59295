package term

import (
	"os"
	"strconv"
)

// defaultWidth is the width of a terminal that does not say: what terminals have
// had since the VT100.
const defaultWidth = 80

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, _, ok := size(f)
	return ok
}

// Size returns the columns and rows of the terminal that f is. It is not ok
// where f is none or the terminal does not know its size.
func Size(f *os.File) (columns, rows int, ok bool) {
	columns, rows, ok = size(f)
	return columns, rows, ok && columns > 0 && rows > 0
}

// Width returns how many columns output to f may take: those of the terminal,
// else those that the environment variable COLUMNS names, else 80.
func Width(f *os.File) int {
	if columns, _, ok := Size(f); ok {
		return columns
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 && n <= 10_000 {
		return n
	}
	return defaultWidth
}
