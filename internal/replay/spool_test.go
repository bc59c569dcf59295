package replay_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"varve.dev/caps"
	"varve.dev/internal/replay"
)

// A large recording, of which what left the view is put aside, is replayed with the
// same figures as one that stays in memory, and leaves no file behind.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // Windows
	model, _ := caps.Find(replay.UsualModel)
	var want string
	for i, size := range []int64{1 << 20, 1 << 40} {
		rec := bundledPart(t)
		rec.Bytes = size
		used := false
		res, err := replay.Run(context.Background(), rec, replay.Options{Model: model, Window: 16_000, Policies: []string{replay.Own, "reference"},
			Observe: func(replay.Progress) {
				if files, err := os.ReadDir(dir); err == nil && len(files) > 0 {
					used = true
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if used != (i == 1) {
			t.Errorf("a recording of %d bytes: a temporary file: %v", size, used)
		}
		res.Recording.Bytes = 0
		for i := range res.Runs {
			plainRun(&res.Runs[i])
		}
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(raw)
		} else if want != string(raw) {
			t.Error("the figures differ")
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
