package term

import (
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"exactly ten", 10, "exactly t…"},
		{"", 5, ""}, {"x", 0, ""}, {"x", -3, ""}, {"x", 1, "x"}, {"xy", 1, "…"},
		{"two\nlines", 20, "two lines"}, {"  a \n\n\t b  ", 20, "a b"}, {"a  b", 20, "a  b"},
		{"cut at a blank", 5, "cut…"},
		{"世界世界", 8, "世界世界"}, {"世界世界", 7, "世界世…"}, {"世界世界", 6, "世界…"}, {"世界", 1, "…"}, {"世界", 2, "…"}, {"世界", 3, "世…"},
		{"éclair", 6, "éclair"}, {"e\u0301clair", 6, "e\u0301clair"}, {"e\u0301clair", 2, "e\u0301…"},
		{"\U0001f600\U0001f600", 3, "\U0001f600…"},
		{"\x1b[31mred\x1b[0m \x1b]0;t\x07title", 9, "red title"},
		{"a\r\nb\rc", 9, "a b c"},
		{"x\u202e", 20, "x<U+202E>"},
	} {
		if got := Line(c.in, c.width); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// Only as much of a text is read as is shown.
func TestLineOfAHugeText(t *testing.T) {
	huge := strings.Repeat("x", 64<<20)
	if n := testing.AllocsPerRun(1, func() { Line(huge, 80) }); n > 50 {
		t.Errorf("%v allocations for one line", n)
	}
}

func TestStringWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "é": 1, "e\u0301": 1, "世界": 4, "ｆｕｌｌ": 8, "한글": 4, "\u1112\u1161\u11ab": 2, "\U0001f600": 2, "\u2764": 1, "\u2764\ufe0f": 2,
		"ﾊﾝｶｸ": 4, "□": 1, "…": 1, "\U00020000": 2, "Привет": 6, "שלום": 4,
	} {
		if got := StringWidth(s); got != want {
			t.Errorf("StringWidth(%q) = %d, want %d", s, got, want)
		}
	}
}

// The stretches that isInvisible passes over hold nothing invisible.
func TestInvisibleStretches(t *testing.T) {
	for r := rune(0x80); r < 0x110000; r++ {
		if want := r >= 0xa0 && (unicode.Is(unicode.Cf, r) && !unicode.Is(drawn, r) || unicode.Is(hidden, r)); isInvisible(r) != want {
			t.Fatalf("isInvisible(%U) = %t", r, !want)
		}
		if IsBidi(r) && !isInvisible(r) {
			t.Fatalf("%U changes direction and is not shown", r)
		}
		if unicode.Is(unicode.Bidi_Control, r) != IsBidi(r) {
			t.Fatalf("IsBidi(%U) = %t", r, IsBidi(r))
		}
	}
}

func TestWideTableIsSorted(t *testing.T) {
	last := rune(-1)
	for _, r := range wide {
		if r[0] <= last || r[1] < r[0] {
			t.Errorf("range %x out of order", r)
		}
		last = r[1]
	}
}

func TestWidthOfWhatIsNoTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) {
		t.Error("a file was taken for a terminal")
	}
	if _, _, ok := Size(f); ok {
		t.Error("a file has a size")
	}
	if IsTerminal(nil) {
		t.Error("nothing was taken for a terminal")
	}
	t.Setenv("COLUMNS", "123")
	if n := Width(f); n != 123 {
		t.Errorf("width %d, want that of COLUMNS", n)
	}
	for _, bad := range []string{"", "x", "-5", "0", "99999999"} {
		t.Setenv("COLUMNS", bad)
		if n := Width(f); n != 80 {
			t.Errorf("COLUMNS=%q: width %d, want 80", bad, n)
		}
	}
}

// screen shows what a terminal of one line would: enough of one to see that
// pictures do not leave anything behind.
type screen struct{ line []rune }

func (s *screen) Write(p []byte) (int, error) {
	at := 0
	for _, r := range string(p) {
		if r == '\r' {
			at = 0
			continue
		}
		if at == len(s.line) {
			s.line = append(s.line, ' ')
		}
		s.line[at] = r
		at++
	}
	return len(p), nil
}

func (s *screen) String() string { return strings.TrimRight(string(s.line), " ") }

func TestProgress(t *testing.T) {
	now := time.Unix(1000, 0)
	var s screen
	p := &Progress{w: &s, label: "Reading", total: 40_000_000, now: func() time.Time { return now }, width: func() int { return 80 }}
	p.started = now
	p.Add(1000)
	if s.String() != "" {
		t.Errorf("shown at once: %q", s.String())
	}
	now = now.Add(10 * time.Second)
	p.Set(10_000_000)
	if want := "Reading [#####...............]  25 %  10.0 MB of 40.0 MB  0:30 left"; s.String() != want {
		t.Errorf("got  %q\nwant %q", s.String(), want)
	}
	p.Add(10_000_000)
	if strings.Contains(s.String(), "50 %") {
		t.Error("redrawn without a pause")
	}
	now = now.Add(time.Second)
	p.Add(20_000_000)
	if want := "Reading [####################] 100 %  40.0 MB of 40.0 MB"; s.String() != want {
		t.Errorf("got  %q\nwant %q", s.String(), want)
	}
	p.Done()
	if s.String() != "" {
		t.Errorf("left behind: %q", s.String())
	}
	p.Add(5)
	if s.String() != "" {
		t.Errorf("drawn after the end: %q", s.String())
	}
}

func TestProgressNarrowUnknownAndOff(t *testing.T) {
	now := time.Unix(1000, 0)
	var s screen
	p := &Progress{w: &s, label: "Reading \x1b[31m session", total: 1000, now: func() time.Time { return now }, width: func() int { return 30 }}
	now = now.Add(time.Second)
	p.Add(500)
	if n := StringWidth(s.String()); n > 29 || !strings.HasPrefix(s.String(), "Reading") {
		t.Errorf("%d columns: %q", n, s.String())
	}
	var u screen
	p = &Progress{w: &u, label: "Reading", now: func() time.Time { return now }, width: func() int { return 30 }}
	now = now.Add(time.Second)
	p.Add(1500)
	if u.String() != "Reading  1.5 KB" {
		t.Errorf("got %q", u.String())
	}
	var none *Progress
	none.Add(1)
	none.Set(1)
	none.Done()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	off := NewProgress(f, "Reading", 10)
	off.started = off.started.Add(-time.Hour)
	off.Add(5)
	off.Done()
	if st, err := f.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("a file got progress: %v %v", st.Size(), err)
	}
}

func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		spent time.Duration
		share float64
		want  string
	}{{10 * time.Second, 0.5, "0:10"}, {time.Second, 0.01, ""}, {100 * time.Millisecond, 0.5, ""}, {time.Hour, 0.25, "3:00:00"}, {time.Minute, 1, ""}} {
		if got := timeLeft(c.spent, c.share); got != c.want {
			t.Errorf("timeLeft(%v, %v) = %q, want %q", c.spent, c.share, got, c.want)
		}
	}
}
