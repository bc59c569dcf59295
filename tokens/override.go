package tokens

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MinWindow is the smallest window that a cap may set: below it no conversation with tools is possible.
const MinWindow = 4_000

// Overrides are what a user sets about the budget, as text, from settings or the environment (B-4). Name is only used in
// notices: the setting or variable that the text came from.
type Overrides struct {
	Window, WindowName   string // CLAUDE_CODE_AUTO_COMPACT_WINDOW, VARVE_WINDOW, setting window: a cap, in tokens
	Percent, PercentName string // CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: the threshold in percent of the effective window
}

// Apply returns the budget with the valid overrides set, and a notice for each that was ignored. The window can only be
// capped, the threshold only lowered: a cap above the window and a percentage above the threshold change nothing, silently.
func (o Overrides) Apply(b Budget) (Budget, []string) {
	var notices []string
	ignore := func(name, fallback, value, want string) {
		if name == "" {
			name = fallback
		}
		notices = append(notices, fmt.Sprintf("%s is %q and was ignored: %s", name, value, want))
	}
	if text := strings.TrimSpace(o.Window); text != "" {
		if n, err := strconv.Atoi(strings.ReplaceAll(text, "_", "")); err != nil || n < MinWindow {
			ignore(o.WindowName, "the window cap", o.Window, fmt.Sprintf("give a whole number of tokens, at least %d", MinWindow))
		} else if b.Cap == 0 || n < b.Cap {
			b.Cap = n
		}
	}
	if text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(o.Percent), "%")); text != "" {
		if p, err := strconv.ParseFloat(text, 64); err != nil || math.IsNaN(p) || p <= 0 || p > 100 {
			ignore(o.PercentName, "the compaction percentage", o.Percent, "give a number above 0 and up to 100")
		} else if b.Percent == 0 || p < b.Percent {
			b.Percent = p
		}
	}
	return b, notices
}
