package lease

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// seed:pid-reuse, Yeachan-Heo/oh-my-codex#305, anthropics/claude-code#72898,
// anthropics/claude-code#85283, seed:pid-sweep: who counts as running, as gone
// and as somebody to leave alone.
func TestLiveness(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("start times are known on Linux and Windows only, and this table needs /proc")
	}
	me := self()
	if me.start == "" || me.boot == "" || me.space == "" || me.host == "" {
		t.Fatalf("this process is not identified: %+v", me)
	}
	mine := Holder{PID: me.pid, Start: me.start, Boot: me.boot, Space: me.space, Host: me.host}
	parent := os.Getppid()
	for name, c := range map[string]struct {
		change func(h *Holder)
		want   Liveness
	}{
		"this process":                       {func(*Holder) {}, Running},
		"reused pid":                         {func(h *Holder) { h.PID = parent; h.Start = "1" }, Gone},
		"no such pid":                        {func(h *Holder) { h.PID = 1<<22 - 1 }, Gone},
		"no start time, live pid":            {func(h *Holder) { h.Start = "" }, Unknown},
		"no start time, no such pid":         {func(h *Holder) { h.PID, h.Start = 1<<22-1, "" }, Gone},
		"another host":                       {func(h *Holder) { h.Host = "elsewhere" }, Unknown},
		"another host, no such pid":          {func(h *Holder) { h.Host, h.PID = "elsewhere", 1<<22-1 }, Unknown},
		"another boot":                       {func(h *Holder) { h.Boot = "0000" }, Unknown},
		"another pid namespace":              {func(h *Holder) { h.Space = "pid:[1]" }, Unknown},
		"another pid namespace, no such pid": {func(h *Holder) { h.Space, h.PID = "pid:[1]", 1<<22-1 }, Unknown},
		"nothing known":                      {func(h *Holder) { *h = Holder{} }, Unknown},
		"no boot":                            {func(h *Holder) { h.Boot = "" }, Unknown},
	} {
		h := mine
		c.change(&h)
		if got := h.Liveness(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	// The same records seen from a container on this machine.
	inside := me
	inside.space = "pid:[9]"
	if got := mine.liveness(inside); got != Unknown {
		t.Errorf("from another namespace: %v, want unknown", got)
	}
}

// A process that has ended but was not yet waited for holds no lock.
func TestZombieIsGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("zombies are told apart through /proc")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // see startChild
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, _ := processStart(cmd.Process.Pid)
	me := self()
	h := Holder{PID: cmd.Process.Pid, Start: start, Boot: me.boot, Space: me.space, Host: me.host}
	for wait := 0; h.Liveness() != Gone; wait++ {
		if wait > 500 {
			t.Fatal("a zombie counts as running")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Text in the lock file cannot spoof the terminal of who is refused.
func TestHolderStringIsHarmless(t *testing.T) {
	h := Holder{PID: 1, Host: "a\x1b]52;c;evil\x07\u202e", Kind: strings.Repeat("k\n", 500)}
	s := h.String()
	for _, r := range s {
		if !unicode.IsPrint(r) {
			t.Fatalf("unprintable %U in %q", r, s)
		}
	}
	if len(s) > 400 {
		t.Errorf("%d bytes", len(s))
	}
	if got := (Holder{}).String(); got != "an unknown process" {
		t.Error(got)
	}
	ok := Holder{PID: 7, Host: "build-01.example", Kind: "bg", Acquired: time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)}
	if got, want := ok.String(), "process 7 on build-01.example (bg) since 2026-12-01T08:00:00Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// read(write(x)) = x, also over a longer text that stood there before.
func TestHolderRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.P), 0, 60, -1)
		h := Holder{
			PID: rapid.IntRange(1, 1<<31-1).Draw(rt, "pid"), Start: text.Draw(rt, "start"), Boot: text.Draw(rt, "boot"),
			Space: text.Draw(rt, "space"), Host: text.Draw(rt, "host"), Kind: text.Draw(rt, "kind"), Instance: text.Draw(rt, "instance"),
			Acquired: time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "acquired"), 0).UTC(),
			Beat:     rapid.Uint64().Draw(rt, "beat"), Released: rapid.Bool().Draw(rt, "released"),
		}
		name := filepath.Join(dir, "f")
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		for _, x := range []Holder{{PID: 9, Host: strings.Repeat("x", rapid.IntRange(0, 300).Draw(rt, "older"))}, h} {
			if err := x.write(f); err != nil {
				rt.Fatal(err)
			}
		}
		got, err := readHolderFile(name)
		if err != nil || got != h {
			rt.Fatalf("got %+v, %v; want %+v", got, err, h)
		}
	})
}

func FuzzParseHolder(f *testing.F) {
	for _, s := range []string{"", "{}", "null", "[]", `{"pid":1,"instance":"x"}`, `{"pid":-1}`, `{"pid":1e99}`, `{"acquired":"yesterday"}`, "\xff\xfe", `{"pid":1}{"pid":2}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h := parseHolder(raw)
		if h.PID < 0 {
			t.Errorf("pid %d", h.PID)
		}
		for _, r := range h.String() {
			if !unicode.IsPrint(r) {
				t.Errorf("unprintable %U in %q", r, h.String())
			}
		}
		// A mark is always a plain name beside the file.
		if mark := markPath("/d/s.heartbeat", h); filepath.Dir(mark) != "/d" || len(mark) > 100 {
			t.Errorf("mark %q", mark)
		}
		h.Liveness()
		if _, err := json.Marshal(h); err != nil && h.Acquired.Year() >= 0 && h.Acquired.Year() < 10000 {
			t.Error(err)
		}
	})
}
