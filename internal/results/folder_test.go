package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
	"varve.dev/transcript"
)

var large = strings.Repeat("0123456789\n", 100)

func small(fsys vfs.FS) *Decisions { return fresh(fsys, Limits{Result: 100}) }

// TestNames: ids are input; whatever they are, the file lies in the folder under a name every system takes.
func TestNames(t *testing.T) {
	for id, want := range map[string]string{
		"toolu_01AbC-_": "toolu_01AbC-_.txt",
		"con":           "_con.txt",
		"LPT1":          "_LPT1.txt",
		"com10":         "com10.txt",
	} {
		if got := names(id, "")[0]; got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	fsys := crashfs.New()
	d := small(fsys)
	seen := map[string]bool{}
	for _, id := range []string{"../../x", "/etc/passwd", "a/../b", `..\x`, "a\x00", ".", "..", "-rf", "~", strings.Repeat("x", 5000), "日本", "a b", "a:b", "NUL.txt", "x\n"} {
		out := decide(t, d, res(id, large))
		p := Path(out[0].Replacement)
		name := strings.TrimSuffix(filepath.Base(p), ".txt")
		if filepath.Dir(p) != dir || len(name) > 64 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" || seen[p] {
			t.Errorf("%q: %s", id, p)
		}
		seen[p] = true
	}
}

// TestNoOverwrite: what is there stays; the same content is the same file.
func TestNoOverwrite(t *testing.T) {
	fsys := crashfs.New()
	a := decide(t, small(fsys), res("a", large))
	again := decide(t, small(fsys), res("a", large)) // a crash came before the entry
	if Path(a[0].Replacement) != Path(again[0].Replacement) {
		t.Error("the same result went to two files")
	}
	other := decide(t, small(fsys), res("a", large+"!"))
	if p := Path(other[0].Replacement); p == Path(a[0].Replacement) || read(t, fsys, filepath.Base(p)) != large+"!" {
		t.Errorf("other content went to %s", p)
	}
	if read(t, fsys, "a.txt") != large {
		t.Error("the file was overwritten")
	}
	// Both names taken: nothing is overwritten, the result stays whole, the error says which.
	if err := vfs.WriteFile(fsys, filepath.Join(dir, names("a", large+"?")[1]), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := small(fsys)
	out, err := d.Decide([]Result{res("a", large+"?"), res("b", large)})
	var save *SaveError
	if !errors.Is(err, ErrTaken) || !errors.As(err, &save) || save.ToolUseID != "a" || ids(out) != "b" {
		t.Errorf("got %v, %v", ids(out), err)
	}
	if r := res("a", large+"?"); string(d.Apply(r.Block).Raw) != string(r.Block.Raw) {
		t.Error("a result that could not be saved was changed")
	}
}

// TestLinks: neither a link in the folder nor one in place of it is followed. It needs a real file system.
func TestLinks(t *testing.T) {
	home := t.TempDir()
	victim := filepath.Join(home, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(home, "s", "tool-results")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(folder, "a.txt")); err != nil {
		t.Skip("this system makes no links:", err)
	}
	out, err := New(Folder{FS: vfs.OS, Dir: folder}, Limits{Result: 100}).Decide([]Result{res("a", large)})
	if err != nil || filepath.Base(Path(out[0].Replacement)) == "a.txt" {
		t.Errorf("got %v, %v", out, err)
	}
	if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
		t.Errorf("the link was followed: %q, %v", data, err)
	}
	linked := filepath.Join(home, "linked")
	if err := os.Symlink(folder, linked); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Folder{FS: vfs.OS, Dir: linked}, Limits{Result: 100}).Decide([]Result{res("b", large)}); err == nil {
		t.Error("wrote through a link in place of the folder")
	}
	if _, err := New(Folder{FS: vfs.OS, Dir: "tool-results"}, Limits{Result: 100}).Decide([]Result{res("b", large)}); err == nil {
		t.Error("wrote into a relative folder")
	}
}

// TestNothingWithoutNeed: an unused folder does not come to be (T-2).
func TestNothingWithoutNeed(t *testing.T) {
	fsys := crashfs.New()
	decide(t, small(fsys), res("a", "short"))
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

// TestPowerLoss: whenever power is lost, a decision that was returned has its file, whole (R-1, DESIGN decision 9).
func TestPowerLoss(t *testing.T) {
	for seed := range uint64(60) {
		for _, mode := range []crashfs.Mode{crashfs.Strict, crashfs.Prefix, crashfs.Scatter} {
			fsys := crashfs.New()
			d := small(fsys)
			first := decide(t, d, res("a", large), res("b", large+"b"))
			after := fsys.Crash(crashfs.Options{Mode: mode, Seed: seed})
			for _, r := range first {
				data, err := vfs.ReadFile(after, Path(r.Replacement))
				if err != nil || !strings.HasPrefix(string(data), large) {
					t.Fatalf("mode %d, seed %d: %s: %d bytes, %v", mode, seed, Path(r.Replacement), len(data), err)
				}
			}
			// Life goes on after the crash, with the same decision.
			if again := decide(t, small(after), res("a", large)); again[0] != first[0] {
				t.Fatalf("mode %d, seed %d: decided otherwise: %v", mode, seed, again)
			}
		}
	}
}

// TestFailures: each call that can fail, failing once, leaves the result whole, no half file under its name, and works the next time.
func TestFailures(t *testing.T) {
	for _, op := range []crashfs.Op{crashfs.OpOpen, crashfs.OpWrite, crashfs.OpSync, crashfs.OpSyncDir, crashfs.OpRename, crashfs.OpMkdir, crashfs.OpStat} {
		for _, errno := range []error{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
			t.Run(fmt.Sprint(op, " ", errno), func(t *testing.T) {
				fsys := crashfs.New()
				d := small(fsys)
				in := fsys.Inject(crashfs.Fault{Op: op, Err: errno, Short: 5})
				out, err := d.Decide([]Result{res("a", large)})
				if in.Fired() == 0 {
					t.Fatal("the fault did not fire")
				}
				if err == nil || !errors.Is(err, errno) || len(out) != 0 {
					t.Fatalf("got %v, %v", out, err)
				}
				if data, err := vfs.ReadFile(fsys, filepath.Join(dir, "a.txt")); err == nil && string(data) != large {
					t.Errorf("half a file: %q", data)
				}
				if again := decide(t, d, res("a", large)); ids(again) != "a" || read(t, fsys.Crash(crashfs.Options{}), "a.txt") != large {
					t.Error("the next attempt did not work")
				}
			})
		}
	}
}

// TestMissingFile: a file that is gone changes nothing of what is sent (R-3, T-13).
func TestMissingFile(t *testing.T) {
	fsys := crashfs.New()
	d := small(fsys)
	r := res("a", large)
	out := decide(t, d, r)
	before := string(d.Apply(r.Block).Raw)
	if err := fsys.Remove(Path(out[0].Replacement)); err != nil {
		t.Fatal(err)
	}
	resumed := small(fsys)
	resumed.Load(transcript.Replacement(out[0]))
	if again := decide(t, resumed, r); len(again) != 0 || string(resumed.Apply(r.Block).Raw) != before || string(d.Apply(r.Block).Raw) != before {
		t.Error("the missing file changed what is sent")
	}
}

// TestRealFolder runs once on the file system of the machine.
func TestRealFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "s", "tool-results")
	out, err := New(Folder{FS: vfs.OS, Dir: folder}, Limits{Result: 100}).Decide([]Result{res("a", large)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(Path(out[0].Replacement))
	if err != nil || string(data) != large {
		t.Errorf("%q, %v", data, err)
	}
	list, err := os.ReadDir(folder)
	if err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// foldFS is a file system that does not tell upper from lower case, as on macOS and Windows.
type foldFS struct{ vfs.FS }

func (f foldFS) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	return f.FS.OpenFile(strings.ToLower(name), flag, perm)
}
func (f foldFS) Lstat(name string) (fs.FileInfo, error) { return f.FS.Lstat(strings.ToLower(name)) }
func (f foldFS) MkdirAll(name string, perm fs.FileMode) error {
	return f.FS.MkdirAll(strings.ToLower(name), perm)
}
func (f foldFS) SyncDir(name string) error { return f.FS.SyncDir(strings.ToLower(name)) }
func (f foldFS) Rename(from, to string) error {
	return f.FS.Rename(strings.ToLower(from), strings.ToLower(to))
}

// TestCase: ids that differ in case do not share a file where the file system takes their names for one.
func TestCase(t *testing.T) {
	fsys := foldFS{crashfs.New()}
	out := decide(t, small(fsys), res("toolu_a", large), res("toolu_A", large+"A"))
	for i, want := range []string{large, large + "A"} {
		if data, err := vfs.ReadFile(fsys, Path(out[i].Replacement)); err != nil || string(data) != want {
			t.Errorf("%s: %d bytes, %v", Path(out[i].Replacement), len(data), err)
		}
	}
}
