package tokens

// The figures of the reference, in tokens, which hold from a window of 200,000 on; below, each is a share of the window (B-3).
const (
	maxReserve  = 20_000 // room for the reply
	maxBuffer   = 13_000 // between the compaction threshold and the effective window
	maxWarning  = 20_000 // between warning and compaction threshold
	maxBlocking = 3_000  // between the blocking limit and the effective window
)

// The shares of the window below 200,000, in thousandths. At 200,000 each meets its figure above exactly, so that the
// thresholds have no step there.
const (
	reserveShare  = 100
	bufferShare   = 65
	warningShare  = 100
	blockingShare = 15
)

// Budget is what a window has room for. All values are in tokens; zero values of MaxOutput and InputLimit mean "not known"
// and "none". It is plain arithmetic without state.
type Budget struct {
	Window     int // the model's context window
	MaxOutput  int // the longest reply the model can give; 0 = not known, taken as large
	InputLimit int // the largest prompt where a model has a limit of its own below the window; 0 = none

	// Cap lowers the window ([Overrides]); 0 = none.
	Cap int
	// Percent lowers the compaction threshold to that share of the effective window, in percent; 0 = none. It never raises.
	Percent float64
}

// Thresholds are the sizes of the prompt at which something happens.
type Thresholds struct {
	Window    int // the window that counts: capped, and no more than the input limit with the reserve
	Reserve   int // kept free for the reply
	Effective int // Window - Reserve: the largest prompt
	Auto      int // automatic compaction begins
	Warning   int // the distance to compaction is shown; the target of automatic compaction (G-4)
	Error     int // the same number, shown as an error state (B-6)
	Blocking  int // with automatic compaction off, new prompts are refused from here on
}

// Thresholds returns the thresholds (B-3). With W the smaller of window and cap, c = min(max output, 20,000), and L the
// input limit, the reserve is min(c, W/10); where there is an input limit, W = min(window, L + reserve), of which the
// reserve of that W is meant: the effective window is then exactly L, or less.
//
// Every threshold is continuous (a window larger by one token moves it by zero or one) and monotone in Window, Cap and
// InputLimit, for any window. At 200,000: effective 180,000, auto 167,000, warning and error 147,000, blocking 177,000.
func (b Budget) Thresholds() Thresholds {
	w := int64(max(0, b.Window))
	if b.Cap > 0 {
		w = min(w, int64(b.Cap))
	}
	output := int64(maxReserve)
	if b.MaxOutput > 0 {
		output = min(output, int64(b.MaxOutput))
	}
	if limit := int64(b.InputLimit); limit > 0 {
		// The W for which W - min(c, W/10) is L.
		w = min(w, limit+min(output, (limit+8)/9))
	}
	// In thousandths of a token, rounded once at the end: shares rounded one by one would step backwards together.
	share := func(figure, thousandths int64) int64 { return min(figure*1000, w*thousandths) }
	effective := w*1000 - share(output, reserveShare)
	auto := effective - share(maxBuffer, bufferShare)
	if b.Percent > 0 {
		auto = min(auto, int64(float64(effective)*min(b.Percent, 100)/100))
	}
	// A threshold lowered far by percentage would leave no room for a warning below it, and no target to compact to.
	warning := max(auto-share(maxWarning, warningShare), auto/2)
	t := Thresholds{
		Window:    int(w),
		Effective: int(effective / 1000),
		Auto:      int(auto / 1000),
		Warning:   int(warning / 1000),
		Blocking:  int((effective - share(maxBlocking, blockingShare)) / 1000),
	}
	t.Reserve, t.Error = t.Window-t.Effective, t.Warning
	return t
}

// State is where a context of a certain size stands.
type State int

// The states, from empty to full.
const (
	Fine     State = iota
	Warned         // from Warning on
	Due            // from Auto on: automatic compaction
	Blocked        // from Blocking on: with automatic compaction off, prompts are refused
	Overfull       // above Effective: the reply has no room
)

var stateNames = [...]string{"fine", "warning", "due", "blocked", "overfull"}

// String returns the state's lower-case name.
func (s State) String() string {
	if s < Fine || s > Overfull {
		return "unknown"
	}
	return stateNames[s]
}

// State returns where a prompt of so many tokens stands.
func (t Thresholds) State(tokens int) State {
	switch {
	case tokens > t.Effective:
		return Overfull
	case tokens >= t.Blocking:
		return Blocked
	case tokens >= t.Auto:
		return Due
	case tokens >= t.Warning:
		return Warned
	}
	return Fine
}

// Left returns how many tokens remain until automatic compaction, never negative.
func (t Thresholds) Left(tokens int) int { return max(0, t.Auto-tokens) }
