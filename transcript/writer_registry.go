package transcript

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// drainers bounds how many logs are synced at once by DrainAll; a disk gains
// nothing from more.
const drainers = 8

// registry holds the writers of this process that appended something and are not
// closed.
var registry struct {
	mu      sync.Mutex
	writers map[*Writer]struct{}
}

func register(w *Writer) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.writers == nil {
		registry.writers = map[*Writer]struct{}{}
	}
	registry.writers[w] = struct{}{}
}

func unregister(w *Writer) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	delete(registry.writers, w)
}

// DrainAll makes every entry of every open writer of this process durable, with
// its metadata block. A command calls it when SIGINT, SIGTERM or SIGHUP arrives,
// before it exits (T-6); writers stay open and usable. It returns when all are
// done or ctx ends; a writer that hangs in a system call then goes on alone and
// is still waited for by its Close.
func DrainAll(ctx context.Context) error {
	registry.mu.Lock()
	var all []*Writer
	for w := range registry.writers {
		all = append(all, w)
	}
	registry.mu.Unlock()

	results := make(chan error, len(all))
	slots := make(chan struct{}, drainers)
	started := 0
	for _, w := range all {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return errors.Join(collect(ctx, results, started), fmt.Errorf("%d session logs not drained: %w", len(all)-started, context.Cause(ctx)))
		}
		started++
		if !w.begin() {
			results <- nil
			<-slots
			continue
		}
		go func() { // owned by w, whose Close waits for busy
			defer w.busy.Done()
			results <- w.drain(ctx)
			<-slots
		}()
	}
	return collect(ctx, results, started)
}

// collect joins n results, fewer when ctx ends.
func collect(ctx context.Context, results <-chan error, n int) error {
	var errs []error
	for range n {
		select {
		case err := <-results:
			errs = append(errs, err)
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("draining session logs: %w", context.Cause(ctx)))...)
		}
	}
	return errors.Join(errs...)
}

// begin counts one more goroutine that Close has to wait for; false when the
// writer is closed. A Close that gave up waiting for the disk leaves work to do.
func (w *Writer) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == writerClosed {
		return false
	}
	w.busy.Add(1)
	return true
}

func (w *Writer) drain(ctx context.Context) error {
	w.mu.Lock()
	if w.state == writerOpen && w.final == nil && w.meta.since > 0 {
		w.repeatMetadata()
	}
	w.mu.Unlock()
	return w.Sync(ctx)
}
