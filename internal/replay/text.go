package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tokens writes a number of tokens shortly: 950, 12.3k, 167k, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e3), ".0") + "k"
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// Sizes writes tokens by kind of block, the largest first.
func Sizes(m map[string]int) string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(x, y string) int { return cmp.Or(cmp.Compare(m[y], m[x]), cmp.Compare(x, y)) })
	for i, k := range keys {
		keys[i] = strings.ReplaceAll(k, "_", " ") + " " + Tokens(m[k])
	}
	return strings.Join(keys, ", ")
}

// String writes a part of a whole: 7/9, with how many are shortened behind it, and
// a dash for a part of nothing.
func (s Share) String() string {
	switch {
	case s.Of == 0:
		return "–"
	case s.Shortened > 0:
		return fmt.Sprintf("%d/%d (%d shortened)", s.Kept, s.Of, s.Shortened)
	}
	return fmt.Sprintf("%d/%d", s.Kept, s.Of)
}
