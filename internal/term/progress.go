package term

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// showAfter is how long work may take before its progress is shown: what is
	// over sooner would only flicker.
	showAfter = 500 * time.Millisecond
	// redrawEvery is the least time between two pictures.
	redrawEvery = 100 * time.Millisecond
)

// Progress shows on a terminal how far long work has come, on one line that is
// drawn again and removed at the end. Where its file is no terminal it shows
// nothing, so that logs and pipes stay clean. It draws only when it is told of
// progress and starts no goroutine. Its methods may be called from several
// goroutines, and on a nil Progress, where they do nothing.
type Progress struct {
	mu      sync.Mutex
	w       io.Writer // nil: off
	width   func() int
	now     func() time.Time
	label   string
	total   int64
	done    int64
	started time.Time
	drawn   time.Time
	shown   int // columns of the picture on the screen
}

// NewProgress returns a Progress for total units of work (bytes, by the way
// they are shown), 0 where that is not known. Give it os.Stderr.
func NewProgress(f *os.File, label string, total int64) *Progress {
	p := &Progress{label: label, total: total, now: time.Now, width: func() int { return Width(f) }}
	if os.Getenv("TERM") != "dumb" && IsTerminal(f) {
		p.w = f
	}
	p.started = p.now()
	return p
}

// Add says that n more units are done.
func (p *Progress) Add(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.draw()
}

// Set says that n units are done in all.
func (p *Progress) Set(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = n
	p.draw()
}

// Done removes the picture. Call it before anything else is printed.
func (p *Progress) Done() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown > 0 {
		p.print("\r" + strings.Repeat(" ", p.shown) + "\r")
		p.shown = 0
	}
	p.w = nil
}

// draw draws the picture if it is time to. The lock is held.
func (p *Progress) draw() {
	if p.w == nil {
		return
	}
	now := p.now()
	if now.Sub(p.started) < showAfter || now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.drawn = now
	// One column stays free: some terminals go to the next line when the last
	// one is written.
	line := p.picture(now, p.width()-1)
	columns := StringWidth(line)
	p.print("\r" + line + strings.Repeat(" ", max(0, p.shown-columns)))
	p.shown = columns
}

// print writes to the terminal; one that cannot be written to is left alone.
func (p *Progress) print(s string) {
	if _, err := io.WriteString(p.w, s); err != nil {
		p.w, p.shown = nil, 0
	}
}

// picture returns the line for a width: label, bar, share, amount, time left.
func (p *Progress) picture(now time.Time, width int) string {
	if p.total <= 0 {
		return Line(fmt.Sprintf("%s  %s", p.label, amount(p.done)), width)
	}
	done := min(max(p.done, 0), p.total)
	share := float64(done) / float64(p.total)
	tail := fmt.Sprintf(" %3.0f %%  %s of %s", 100*share, amount(done), amount(p.total))
	if left := timeLeft(now.Sub(p.started), share); left != "" {
		tail += "  " + left + " left"
	}
	const barWidth = 20
	label := String(p.label)
	if StringWidth(label)+barWidth+3+len(tail) > width {
		return Line(p.label+tail, width)
	}
	full := int(share * barWidth)
	return Line(label+" ["+strings.Repeat("#", full)+strings.Repeat(".", barWidth-full)+"]"+tail, width)
}

// timeLeft estimates from the time that the done share took; empty while that
// would be a guess.
func timeLeft(spent time.Duration, share float64) string {
	if share < 0.02 || share >= 1 || spent < time.Second {
		return ""
	}
	left := time.Duration(float64(spent) * (1 - share) / share).Round(time.Second)
	if left >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", left/time.Hour, left/time.Minute%60, left/time.Second%60)
	}
	return fmt.Sprintf("%d:%02d", left/time.Minute, left/time.Second%60)
}

// amount writes bytes with a decimal unit.
func amount(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1_000_000_000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
