package transcript

import (
	"context"
	"io/fs"
	"path/filepath"
	"testing"

	"varve.dev/internal/vfs"
)

// Enqueueing must not be felt by the loop that streams a response: at most 2 µs
// for an entry of usual size. The disk is one that takes everything at once: at
// the rate of this loop a real one would be measured instead.
func BenchmarkWriterAppend(b *testing.B) {
	w, err := OpenWriter(logPath, WriterOptions{FS: &sink{}})
	noErr(b, err)
	noErr(b, w.Append(sideOf(b, `{"type":"custom-title","customTitle":"x","sessionId":"s"}`), sideOf(b, `{"type":"last-prompt","lastPrompt":"x","sessionId":"s"}`)))
	e := entryOf(b, "assistant", "0b5b4b70-2e80-4a0f-9f1a-4b2f6a7f5f5e", "0b5b4b70-2e80-4a0f-9f1a-4b2f6a7f5f5f", 1500)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.Append(e); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 999 { // no stream is this fast: do not measure the memory of a queue that only grows
			b.StopTimer()
			noErr(b, w.Flush(context.Background()))
			b.StartTimer()
		}
	}
	b.StopTimer()
	noErr(b, w.Close(context.Background()))
}

// sink is a file system with one file that takes everything and keeps its size.
type sink struct {
	vfs.FS
	made bool
}

func (s *sink) Stat(string) (fs.FileInfo, error) {
	if !s.made {
		return nil, fs.ErrNotExist
	}
	return sinkInfo{}, nil
}
func (*sink) MkdirAll(string, fs.FileMode) error { return nil }
func (*sink) SyncDir(string) error               { return nil }
func (s *sink) OpenFile(string, int, fs.FileMode) (vfs.File, error) {
	s.made = true
	return &sinkFile{}, nil
}

type sinkFile struct {
	vfs.File
	size int64
}

func (f *sinkFile) Write(p []byte) (int, error) { f.size += int64(len(p)); return len(p), nil }
func (f *sinkFile) Sync() error                 { return nil }
func (f *sinkFile) Close() error                { return nil }
func (f *sinkFile) Stat() (fs.FileInfo, error)  { return sinkInfo{size: f.size}, nil }

type sinkInfo struct {
	fs.FileInfo
	size int64
}

func (i sinkInfo) Size() int64               { return i.size }
func (i sinkInfo) SameFile(fs.FileInfo) bool { return true }

// A turn as the agent drives it: some entries, one fsync.
func BenchmarkWriterTurn(b *testing.B) {
	w, err := OpenWriter(filepath.Join(b.TempDir(), "s.jsonl"), WriterOptions{})
	noErr(b, err)
	e := entryOf(b, "assistant", "u", "p", 1500)
	for b.Loop() {
		w.Turn()
		for range 6 {
			noErr(b, w.Append(e))
		}
		noErr(b, w.Sync(context.Background()))
	}
	s := w.Stats()
	b.ReportMetric(s.PerTurn(), "fsyncs/turn")
	b.ReportMetric(s.Amplification(), "bytes/visible")
	noErr(b, w.Close(context.Background()))
}
