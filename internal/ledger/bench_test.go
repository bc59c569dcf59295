package ledger_test

import (
	"testing"

	"varve.dev/internal/ledger"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// entries returns the entries of all recorded sessions.
func entries(b *testing.B) []*transcript.Entry {
	var out []*transcript.Entry
	for _, p := range corpus(b) {
		out = append(out, whole(b, p).Entries...)
	}
	return out
}

// view returns entries that a model would see as about n tokens.
func view(b *testing.B, n int) []*transcript.Entry {
	var est tokens.Estimator
	var out []*transcript.Entry
	for _, e := range entries(b) {
		if n <= 0 {
			break
		}
		if !e.IsChain() {
			continue
		}
		out = append(out, e)
		if m, err := e.Message(); err == nil {
			n -= est.Message(*m)
		}
	}
	if n > 0 {
		b.Fatalf("the recorded sessions are %d tokens short", n)
	}
	return out
}

// BenchmarkAdd is the mean cost of one entry of the recorded sessions.
func BenchmarkAdd(b *testing.B) {
	es := entries(b)
	b.ReportAllocs()
	for b.Loop() {
		l := ledger.New()
		for _, e := range es {
			if err := l.Add(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(es)), "ns/entry")
}

// BenchmarkView is the ledger of a 200,000-token view, computed whole and rendered.
func BenchmarkView(b *testing.B) {
	es := view(b, 200_000)
	b.ReportAllocs()
	for b.Loop() {
		l := ledger.New()
		for _, e := range es {
			if err := l.Add(e); err != nil {
				b.Fatal(err)
			}
		}
		l.Render(8000, tokens.Text)
	}
	b.ReportMetric(float64(len(es)), "entries")
}

func full(b *testing.B) *ledger.Ledger {
	l := ledger.New()
	for _, e := range view(b, 200_000) {
		if err := l.Add(e); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

func BenchmarkRender(b *testing.B) {
	l := full(b)
	for _, bench := range []struct {
		name   string
		budget int
	}{{"2k", 2000}, {"8k", 8000}, {"32k", 32000}, {"all", ledger.Unlimited}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Render(bench.budget, tokens.Text)
			}
		})
	}
}

func BenchmarkCheckpoint(b *testing.B) {
	l := full(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(l.Checkpoint())
	}
	b.ReportMetric(float64(n), "bytes")
}

func BenchmarkRestore(b *testing.B) {
	raw := full(b).Checkpoint()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.Restore(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComplete(b *testing.B) {
	l := full(b)
	summary := l.Render(4000, tokens.Text)
	b.ReportAllocs()
	for b.Loop() {
		l.Complete(summary, 8000, tokens.Text)
	}
}
