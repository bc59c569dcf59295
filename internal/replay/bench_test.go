package replay_test

import (
	"context"
	"os"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/internal/replay"
	"varve.dev/transcript"
)

// DESIGN section 9: a replay makes 30 MB/s of the recording, reading included.
func BenchmarkReplay(b *testing.B) {
	var path string
	var size int64
	for _, p := range recorded(b, "claude") {
		if st, err := os.Stat(p); err == nil && st.Size() > size {
			path, size = p, st.Size()
		}
	}
	model, _ := caps.Find("anthropic/claude-sonnet-4-6")
	b.SetBytes(size)
	b.ReportAllocs()
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		rec, err := replay.FromLog(l)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := replay.Run(context.Background(), rec, replay.Options{Model: model, Window: 200_000}); err != nil {
			b.Fatal(err)
		}
		_ = l.Close()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(size)/1e6/best.Seconds(), "best-MB/s")
}
