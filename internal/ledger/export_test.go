package ledger

import "fmt"

// Clean is clean, for the tests of what a text may hold.
func Clean(s string) string { return clean(s) }

// Shown returns what a render within a budget shows and how much of each, by a name
// that is the same for every budget.
func (l *Ledger) Shown(budget int, size func(string) int) map[string]int {
	r := renderer{title: title, units: l.units(), size: size, lost: l.s.Lost}
	r.render(budget)
	out := map[string]int{}
	for i, u := range r.units {
		if limit := r.shown[u]; limit > 0 {
			out[fmt.Sprintf("%d/%d", u.sec, i)] = limit
		}
	}
	return out
}

// WordLimits returns how many characters of each message of the user a render within
// a budget shows, oldest first; whole ones have -1, those left out 0.
func (l *Ledger) WordLimits(budget int, size func(string) int) []int {
	r := renderer{title: title, units: l.units(), size: size, lost: l.s.Lost}
	r.render(budget)
	var out []int
	for _, u := range r.units {
		if u.sec == secWords {
			n := r.shown[u]
			if n == u.limits[len(u.limits)-1] {
				n = -1
			}
			out = append(out, n)
		}
	}
	return out
}
