package transcript_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// What these must reach, and what they reached where, is in docs/benchmarks.md.

// pieces cuts data into whole lines of about size bytes.
func pieces(data []byte, size int) [][]byte {
	var out [][]byte
	for len(data) > 0 {
		n := min(size, len(data))
		if k := bytes.IndexByte(data[n-1:], '\n'); k >= 0 {
			n += k
		} else {
			n = len(data)
		}
		out = append(out, data[:n:n])
		data = data[n:]
	}
	return out
}

// fastest runs each f over every piece in turn, b.N times, and returns how long
// each took at best: the sum over the pieces of the shortest time of each. Other
// work on the machine disturbs that little, and the pieces are too many for branch
// predictors to learn them.
func fastest(b *testing.B, ps [][]byte, fs ...func([]byte)) []time.Duration {
	best := make([][]time.Duration, len(fs))
	for i := range best {
		best[i] = make([]time.Duration, len(ps))
	}
	for first := true; b.Loop(); first = false {
		for k, p := range ps {
			for i, f := range fs {
				start := time.Now()
				f(p)
				if d := time.Since(start); first || d < best[i][k] {
					best[i][k] = d
				}
			}
		}
	}
	out := make([]time.Duration, len(fs))
	for i := range fs {
		for _, d := range best[i] {
			out[i] += d
		}
	}
	return out
}

// recorded are the recorded sessions as one log.
func recorded(b *testing.B) []byte {
	var all []byte
	for _, path := range corpus(b) {
		all = append(all, read(b, path)...)
		if all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
	}
	return all
}

// BenchmarkScan: the structural scan beside a full decode by encoding/json and a
// copy of the same bytes, which is what reading them from the page cache costs.
// The ratio moves less between machines than the rates.
func BenchmarkScan(b *testing.B) {
	logs := map[string]func(*testing.B) []byte{"recorded": recorded, "generated": func(b *testing.B) []byte {
		return chainOf(32<<20, 400, loggen.Options{Thinking: true, Rewinds: true})
	}}
	for name, make := range logs {
		b.Run(name, func(b *testing.B) { benchScan(b, make(b)) })
	}
}

// scanOnAll returns the shortest time in which as many scanners as there are
// processors get through the pieces, as the stretches of a large log are scanned.
func scanOnAll(n int, ps [][]byte) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range max(n, 5) {
		var next atomic.Int64
		var wg sync.WaitGroup
		start := time.Now()
		for range runtime.GOMAXPROCS(0) {
			wg.Go(func() {
				pass := transcript.Scan()
				for i := int(next.Add(1)) - 1; i < len(ps); i = int(next.Add(1)) - 1 {
					pass(ps[i])
				}
			})
		}
		wg.Wait()
		best = min(best, time.Since(start))
	}
	return best
}

func benchScan(b *testing.B, data []byte) {
	ps := pieces(data, 256<<10)
	buf := make([]byte, 8<<20)
	pass := transcript.Scan()
	scan := func(p []byte) { pass(p) }
	move := func(p []byte) { copy(buf, p) }
	decode := func(p []byte) {
		for line := range bytes.SplitSeq(p, []byte("\n")) {
			var v map[string]any
			_ = json.Unmarshal(line, &v)
		}
	}
	t := fastest(b, ps, scan, decode, move)
	all := scanOnAll(b.N, ps)
	rate := func(d time.Duration) float64 { return float64(len(data)) / d.Seconds() / 1e6 }
	b.ReportMetric(rate(t[0]), "scan-MB/s")
	b.ReportMetric(rate(all), "all-cores-MB/s")
	b.ReportMetric(rate(t[1]), "json-MB/s")
	b.ReportMetric(rate(t[2]), "copy-MB/s")
	b.ReportMetric(t[1].Seconds()/t[0].Seconds(), "times-json")
	b.ReportMetric(0, "ns/op")
}

// chainOf is a log of at least size bytes: generated conversations, each going on
// where the one before ended.
func chainOf(size, text int, opt loggen.Options) []byte {
	var out []byte
	for n := 0; len(out) < size; n++ {
		opt.Turns, opt.Text, opt.Prefix = 40, text, strconv.Itoa(n)+"-"
		out = append(out, loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(uint64(n), 7)), opt))...)
		l, err := transcript.Parse(lastChainLine(out))
		if err != nil {
			panic(err) // generated lines parse
		}
		opt.Root = l.UUID
	}
	return out
}

// lastChainLine is the last line that is an entry of the chain.
func lastChainLine(log []byte) []byte {
	for end := len(log); end > 0; {
		start := bytes.LastIndexByte(log[:end-1], '\n') + 1
		if bytes.HasPrefix(log[start:end], []byte(`{"parentUuid"`)) && !bytes.Contains(log[start:end], []byte(`"type":"progress"`)) {
			return log[start : end-1]
		}
		end = start
	}
	panic("a generated log has chain entries")
}

// report says the best of all runs beside the mean, which other work on the
// machine spoils.
func report(b *testing.B, f func()) {
	best := time.Hour
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best)/1e6, "best-ms")
}

// BenchmarkOpenWhole: a log of 52 MB without a boundary, until its chain is ready;
// bodies stay on disk.
func BenchmarkOpenWhole(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.jsonl")
	data := chainOf(52<<20, 1000, loggen.Options{Thinking: true})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	entries := 0
	report(b, func() {
		l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		entries = len(l.Chain(l.Tip()).Entries)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(float64(entries), "chain-entries")
}

// benchBytes is the size of the large log: VARVE_BENCH_BYTES, else 1 GB in a full
// run and 64 MiB otherwise.
func benchBytes(b *testing.B) int64 {
	if s := os.Getenv("VARVE_BENCH_BYTES"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1<<20 {
			b.Fatalf("VARVE_BENCH_BYTES=%s: want a number of at least 1048576", s)
		}
		return n
	}
	if os.Getenv("VARVE_FULL") == "1" {
		return 1e9
	}
	return 64 << 20
}

// largeLog writes a log of about size bytes whose newest boundary is near its end;
// the boundary keeps two entries from the very beginning. It returns the path and
// the length of the chain.
func largeLog(b *testing.B, size int64) (path string, entries int) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "large.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	put := func(p []byte) {
		if _, err := w.Write(p); err != nil {
			b.Fatal(err)
		}
		size -= int64(len(p))
	}
	s := loggen.NewStory().User("first", "", "the task").Say("second", "first", "m0", "understood")
	head := s.Bytes()
	put(head)
	// What lies before the boundary is not read: one piece, again and again.
	block := chainOf(4<<20, 600, loggen.Options{Thinking: true, Prefix: "old"})
	for size > int64(len(block)) {
		put(block)
	}
	s.Lines = nil
	meta := loggen.Keep("s", "first", "second")
	meta.Own.KeptOffsets = map[string]int64{"first": 0, "second": int64(bytes.IndexByte(head, '\n') + 1)}
	s.Boundary("b", "second", meta).Summary("s", "b")
	put(s.Bytes())
	tail := loggen.Bytes(loggen.Make(rand.New(rand.NewPCG(3, 7)), loggen.Options{Turns: 30, Text: 600, Prefix: "new", Root: "s", Thinking: true}))
	put(tail)
	last, err := transcript.Parse(lastChainLine(tail))
	if err != nil {
		b.Fatal(err)
	}
	s.Lines = nil // the block of metadata that writers repeat
	s.Pointer(last.UUID, false).Add(s.Stamp("").Meta(transcript.TypeAITitle, "a title"))
	put(s.Bytes())
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	l, err := transcript.ReadTailFile(context.Background(), path, transcript.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	c := l.Chain(l.Tip())
	if c.Boundary == nil || c.Boundary.UUID != "b" || len(c.Kept) != 2 || l.From == 0 {
		b.Fatalf("the tail is not what it should be: boundary %v, kept %d, from %d", c.Boundary != nil, len(c.Kept), l.From)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return path, len(c.Entries)
}

// BenchmarkOpenTail: a log of 1 GB (see benchBytes) with a boundary near its end,
// until the chain of its tip is ready.
func BenchmarkOpenTail(b *testing.B) {
	size := benchBytes(b)
	path, entries := largeLog(b, size)
	report(b, func() {
		l, err := transcript.ReadTailFile(context.Background(), path, transcript.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if c := l.Chain(l.Tip()); len(c.Entries) != entries {
			b.Fatalf("a chain of %d entries, want %d", len(c.Entries), entries)
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(float64(size)/1e6, "log-MB")
	b.ReportMetric(float64(entries), "chain-entries")
}

// BenchmarkReadLite: what a list shows of the same large log, of one of 17 MB
// without any metadata, which is looked for far back, and of a small one.
func BenchmarkReadLite(b *testing.B) {
	large, _ := largeLog(b, benchBytes(b))
	small := filepath.Join(b.TempDir(), "small.jsonl")
	if err := os.WriteFile(small, chainOf(40<<10, 200, loggen.Options{}), 0o600); err != nil {
		b.Fatal(err)
	}
	untitled := filepath.Join(b.TempDir(), "untitled.jsonl")
	if err := os.WriteFile(untitled, bytes.Repeat([]byte(`{"parentUuid":null,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u"}`+"\n"), 200_000), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"large": large, "small": small, "untitled": untitled} {
		b.Run(name, func(b *testing.B) {
			report(b, func() {
				if _, _, err := transcript.ReadLiteFile(path); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

// BenchmarkBuild: building entries, which happens while a reply streams.
func BenchmarkBuild(b *testing.B) {
	s := transcript.Stamp{SessionID: "s1", CWD: "/work/app", Version: "1.0.0", GitBranch: "main", Entrypoint: "cli"}
	text := fmt.Sprintf("%2000s", "text")
	b.ReportAllocs()
	for b.Loop() {
		s.User("p", message.UserBlocks(message.ToolResult("t1", false, message.Text(text))))
	}
}
