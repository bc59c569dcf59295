package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// BenchmarkPrepare: one turn in a conversation of 10,000 messages. The limit is
// 2 ms for Prepare (DESIGN.md section 9); ns/op is for the whole turn.
func BenchmarkPrepare(b *testing.B) {
	ctx := context.Background()
	e := engine.New(engine.Memory(transcript.Stamp{CWD: "/w"}), engine.Config{Caps: caps.Window(100_000_000), System: []byte(`"sys"`)})
	n := 0
	turn := func() time.Duration {
		n++
		if err := e.Append(message.User("a prompt of some words, as people write them")); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		req, err := e.Prepare(ctx)
		took := time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		m := message.Assistant(message.Text("an answer of some words, as models write them"))
		m.ID = "m" + strconv.Itoa(n)
		if err := e.Record(ctx, req, m); err != nil {
			b.Fatal(err)
		}
		return took
	}
	for range 5_000 {
		turn()
	}
	b.ReportAllocs()
	var prepare time.Duration
	for b.Loop() {
		prepare += turn()
	}
	b.ReportMetric(float64(prepare.Nanoseconds())/float64(b.N), "ns/prepare")
}

// bigLog writes a log of about size bytes once a run; with a boundary that many
// bytes before its end when that is not 0.
func bigLog(b *testing.B, size, boundary int64) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "log.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	// One stretch of conversation is written again and again, each time with ids of
	// its own and behind the last entry of the one before.
	lines := loggen.Make(rand.New(rand.NewPCG(1, 2)), loggen.Options{Turns: 200, Thinking: true, Text: 1500, Prefix: "@@@@@@-", Root: "@root@"})
	last := lastUUID(b, lines)
	block := loggen.Bytes(lines)
	var n int64
	root := `null`
	for i := 0; n < size-boundary; i++ {
		id := fmt.Sprintf("%06d", i)
		part := bytes.Replace(block, []byte(`"@root@"`), []byte(root), 1)
		part = bytes.ReplaceAll(part, []byte("@@@@@@"), []byte(id))
		root = `"` + strings.Replace(last, "@@@@@@", id, 1) + `"`
		k, err := f.Write(part)
		if err != nil {
			b.Fatal(err)
		}
		n += int64(k)
	}
	if boundary > 0 {
		s := loggen.NewStory().Boundary("B", "000000-u1", transcript.Boundary{}).Summary("S", "B")
		k, err := f.Write(s.Bytes())
		if err != nil {
			b.Fatal(err)
		}
		n += int64(k)
		tail := loggen.Make(rand.New(rand.NewPCG(9, 9)), loggen.Options{Turns: int(boundary / 20_000), Text: 1500, Prefix: "tail-", Root: "S"})
		if _, err := f.Write(loggen.Bytes(tail)); err != nil {
			b.Fatal(err)
		}
	}
	return path
}

func lastUUID(b *testing.B, lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if e, err := transcript.Parse([]byte(lines[i])); err == nil && e.IsChain() {
			return e.UUID
		}
	}
	b.Fatal("no chain entry")
	return ""
}

// BenchmarkReady: from a file to a view that can be sent. 52 MB without boundary:
// 150 ms; 1 GB with a boundary near its end: 60 ms and 60 MB (DESIGN.md section 9).
// The large one is written only with VARVE_FULL=1; otherwise it has 64 MB.
func BenchmarkReady(b *testing.B) {
	large := int64(64 << 20)
	if os.Getenv("VARVE_FULL") != "" {
		large = 1 << 30
	}
	for _, c := range []struct {
		name           string
		size, boundary int64
	}{{"52MB-no-boundary", 52 << 20, 0}, {fmt.Sprintf("%dMB-boundary-2MB-before-end", large>>20), large, 2 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			path := bigLog(b, c.size, c.boundary)
			st, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var held uint64
			best, read := time.Hour, time.Hour
			for b.Loop() {
				start := time.Now()
				l, err := transcript.ReadTailFile(context.Background(), path, transcript.ReadOptions{})
				if err != nil {
					b.Fatal(err)
				}
				chain := l.Chain(l.Tip())
				read = min(read, time.Since(start))
				v := view.Of(view.Input{Chain: chain, Facts: view.FactsOf(l)})
				best = min(best, time.Since(start))
				if len(v.Messages) < 10 {
					b.Fatalf("a view of %d messages", len(v.Messages))
				}
				if held == 0 {
					runtime.GC()
					var ms runtime.MemStats
					runtime.ReadMemStats(&ms)
					held = ms.HeapAlloc
				}
				l.Close()
				runtime.KeepAlive(v)
			}
			b.ReportMetric(float64(st.Size())/1e6, "MB-log")
			b.ReportMetric(float64(held)/1e6, "MB-held")
			b.ReportMetric(float64(read.Microseconds())/1e3, "best-chain-ms")
			b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
		})
	}
}
