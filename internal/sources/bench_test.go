package sources

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"varve.dev/internal/vfs"
	"varve.dev/transcript"
)

// benchHome makes 10,000 sessions in 200 projects once for all benchmarks: nine in
// ten of 4 to 40 KB, the rest of 300 KB, titles re-appended as the reference does.
var benchHome = sync.OnceValues(func() (Home, error) {
	root, err := os.MkdirTemp("", "varve-bench-home")
	if err != nil {
		return Home{}, err
	}
	h := Home{Source: SourceClaude, Dir: root, ReadOnly: true}
	const id = "00000000-0000-4000-8000-000000000000"
	sizes := []int{4 << 10, 10 << 10, 20 << 10, 30 << 10, 40 << 10, 8 << 10, 15 << 10, 25 << 10, 12 << 10, 300 << 10}
	bodies := make([][]byte, len(sizes))
	for i, n := range sizes {
		l := newLog(id, "/bench/p000", day)
		for l.buf.Len() < n {
			l.pad(min(32<<10, n)).meta(transcript.TypeAITitle, "A title given by the model").add(l.stamp.LastPrompt("and then?", l.leaf, false))
		}
		bodies[i] = l.buf.Bytes()
	}
	for i := range 10_000 {
		cwd := fmt.Sprintf("/bench/p%03d", i%200)
		data := bytes.ReplaceAll(bodies[i%len(bodies)], []byte("/bench/p000"), []byte(cwd))
		data = bytes.ReplaceAll(data, []byte(id), []byte(uuid(i)))
		path := filepath.Join(h.Projects(), theirFolder(cwd), uuid(i)+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return h, err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return h, err
		}
		at := day.Add(time.Duration(i*7919%10_000) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			return h, err
		}
	}
	return h, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if h, err := benchHomeMade(); err == nil && h.Dir != "" {
		_ = os.RemoveAll(h.Dir)
	}
	os.Exit(code)
}

var benchUsed bool

func benchHomeMade() (Home, error) {
	if !benchUsed {
		return Home{}, nil
	}
	return benchHome()
}

func benchFinder(b *testing.B) *Finder {
	b.Helper()
	benchUsed = true
	h, err := benchHome()
	if err != nil {
		b.Fatal(err)
	}
	f := New([]Home{h})
	f.FS = vfs.OS
	return f
}

// bestOf runs do as often as the benchmark asks for and reports the shortest run,
// which is what the work costs when nobody else is at it.
func bestOf(b *testing.B, do func()) {
	b.Helper()
	best := time.Duration(1<<63 - 1)
	for b.Loop() {
		start := time.Now()
		do()
		best = min(best, time.Since(start))
	}
	b.ReportMetric(float64(best.Microseconds())/1e3, "best-ms")
}

// What the system itself takes, for the same files: describing all of them, and
// opening all and reading their last 64 KiB. A busy machine slows these down with
// the benchmarks below; the ratio to them stays.
func BenchmarkSystem(b *testing.B) {
	f := benchFinder(b)
	files, _, err := f.scan(context.Background(), Query{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("stat", func(b *testing.B) {
		bestOf(b, func() {
			_ = f.each(context.Background(), len(files), func(i int) { _, _ = os.Lstat(files[i].path) })
		})
	})
	b.Run("read", func(b *testing.B) {
		var bufs sync.Pool
		bestOf(b, func() {
			_ = f.each(context.Background(), len(files), func(i int) {
				buf, _ := bufs.Get().(*[64 << 10]byte)
				if buf == nil {
					buf = new([64 << 10]byte)
				}
				if r, err := os.Open(files[i].path); err == nil {
					_, _ = r.ReadAt(buf[:], max(0, files[i].size-int64(len(buf))))
					_ = r.Close()
				}
				bufs.Put(buf)
			})
		})
	})
}

// DESIGN section 9: 10,000 sessions in 0.4 s, files in the page cache.
func BenchmarkList10000(b *testing.B) {
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprintf("cache=%v", cached), func(b *testing.B) {
			f := benchFinder(b)
			if cached {
				f.CacheDir = b.TempDir()
				if _, err := f.All(context.Background(), Query{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			bestOf(b, func() {
				l, err := f.All(context.Background(), Query{})
				if err != nil || len(l.Sessions) != 10_000 {
					b.Fatal(len(l.Sessions), err)
				}
			})
		})
	}
}

// DESIGN section 9: the first page of 50 in 50 ms.
func BenchmarkFirstPage(b *testing.B) {
	for _, cached := range []bool{false, true} {
		b.Run(fmt.Sprintf("cache=%v", cached), func(b *testing.B) {
			f := benchFinder(b)
			if cached {
				f.CacheDir = b.TempDir()
				if _, err := f.All(context.Background(), Query{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			bestOf(b, func() {
				for l, err := range f.List(context.Background(), Query{First: 50}) {
					if err != nil || len(l.Sessions) != 50 {
						b.Fatal(len(l.Sessions), err)
					}
					break
				}
			})
		})
	}
}

// One project among 200: the folder of 50 sessions.
func BenchmarkOneProject(b *testing.B) {
	f := benchFinder(b)
	p := NewProject("/bench/p007", Paths{Same: func(a, b string) bool { return a == b }})
	for b.Loop() {
		l, err := f.All(context.Background(), Query{Project: p})
		if err != nil || len(l.Sessions) != 50 {
			b.Fatal(len(l.Sessions), err)
		}
	}
}

func BenchmarkFindByID(b *testing.B) {
	f := benchFinder(b)
	for b.Loop() {
		if m, err := f.Find(context.Background(), uuid(4321), Query{}); err != nil || m.ID != uuid(4321) {
			b.Fatal(err)
		}
	}
}
