package modelsim

import (
	"context"
	"sync"
	"time"
)

// A Clock is the time of a server. Sleep returns early, with the context's error, when the context ends.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// A ManualClock stands still until it is told otherwise: the lifetime of cache entries is tested in no time. Sleeping on it moves it
// forward at once. It is safe for concurrent use.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at t.
func NewClock(t time.Time) *ManualClock { return &ManualClock{now: t} }

// Now returns the time at which the clock stands.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep moves the clock forward without waiting.
func (c *ManualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.Advance(d)
	return ctx.Err()
}

// wallClock is the time of the machine.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
