package term

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// U-4, openai/codex#22984: no content can break or spoof the screen.
func TestString(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "plain text\n\tindented\n", "plain text\n\tindented\n"},
		{"other scripts", "Grüße, 世界, Привет, 🎉", "Grüße, 世界, Привет, 🎉"},
		{"empty", "", ""},

		// Sequences go as a whole.
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"256 colours with colons", "\x1b[38:5:1mred\x1b[m", "red"},
		{"cursor and erase", "a\x1b[2J\x1b[1;1Hb\x1b[1Ac", "abc"},
		{"private modes", "\x1b[?1049h\x1b[?25lx\x1b[?2004h", "x"},
		{"intermediate bytes", "\x1b[2 qx\x1b[!p", "x"},
		{"reset and save", "\x1bca\x1b7b\x1b8", "ab"},
		{"character set", "\x1b(0lqk\x1b(B", "lqk"},
		{"window title", "\x1b]0;evil\x07text", "text"},
		{"link (OSC 8)", "\x1b]8;;http://evil.example/\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"clipboard (OSC 52)", "a\x1b]52;c;cm0gLXJmIH4=\x07b", "ab"},
		{"OSC ended by ST as a rune", "\x1b]0;t\u009cx", "x"},
		{"device control", "a\x1bP1$r0m\x1b\\b", "ab"},
		{"picture (sixel)", "a\x1bPq#0;2;0;0;0~~@@\x1b\\b", "ab"},
		{"APC, PM, SOS", "\x1b_Gf=100;AAAA\x1b\\a\x1b^x\x1b\\b\x1bXy\x1b\\c", "abc"},
		{"BEL does not end DCS", "\x1bPq\x07x\x1b\\y", "y"},
		{"C1 as runes", "\u009b31mred\u009b0m \u009d0;t\u009cx\u0090q\u009cy", "red xy"},
		{"C1 as bytes", "\x9b31mred\x9b0m \x9d0;t\x9cx\x90q\x9cy", "red xy"},
		{"escape in escape", "\x1b\x1b[31mx", "x"},
		{"escape inside a sequence begins a new one", "\x1b[3\x1b[1mx", "3x"},

		// Broken sequences: printable text is never lost.
		{"unfinished colour", "x\x1b[31", "x31"},
		{"unfinished title", "x\x1b]0;all of this\nis shown", "x0;all of this\nis shown"},
		{"title without an end", "x\x1b]0;all of this", "x0;all of this"},
		{"string ended by another sequence", "\x1b]0;shown\x1b[31mx", "0;shownx"},
		{"cancelled", "\x1b]0;shown\x18x", "0;shown␘x"},
		{"newline in a control sequence", "\x1b[31\nx", "31\nx"},
		{"lone escape", "a\x1b", "a"},
		{"escape before a letter of another script", "a\x1bé", "aé"},
		{"very long control sequence", "\x1b[" + strings.Repeat("1;", 200) + "mx", strings.Repeat("1;", 128) + strings.Repeat("1;", 72) + "mx"},
		{"ST without a string", "a\u009cb", "ab"},

		// Controls.
		{"bell, backspace, NUL", "a\x07b\x08c\x00d", "a␇b␈c␀d"},
		{"form feed, vertical tab, DEL", "a\x0cb\x0bc\x7fd", "a␌b␋c␡d"},
		{"other C1", "a\u0085b\u0080c\u0084d", "a\nb\uFFFDc\uFFFDd"},

		// Carriage returns: no line overwrites another.
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10 %\r20 %\rdone\n", "10 %\n20 %\ndone\n"},
		{"overwriting a question", "Delete everything?\rList files?       \n", "Delete everything?\nList files?       \n"},
		{"CR CR LF", "a\r\r\nb", "a\nb"},
		{"CR at the end", "a\r", "a\n"},
		{"CR before a sequence", "a\r\x1b[Kb", "a\nb"},

		// Direction and what cannot be seen.
		{"right-to-left override", "a\u202eb\u202c", "a<U+202E>b<U+202C>"},
		{"isolates", "a\u2066b\u2069", "a<U+2066>b<U+2069>"},
		{"marks", "\u200ea\u200fb\u061c", "<U+200E>a<U+200F>b<U+061C>"},
		{"zero width", "pass\u200bword\ufeff\u2060", "pass<U+200B>word<U+FEFF><U+2060>"},
		{"soft hyphen", "a\u00adb", "a<U+00AD>b"},
		{"tags", "a\U000e0041\U000e007f", "a<U+E0041><U+E007F>"},
		{"separators", "a\u2028b\u2029", "a<U+2028>b<U+2029>"},
		{"Hangul fillers", "\u3164x\uffa0", "<U+3164>x<U+FFA0>"},
		{"selectors as a hiding place", "x\ufe00\ufe01\U000e0100", "x<U+FE00><U+FE01><U+E0100>"},
		{"joiner in Latin", "ad\u200dmin", "ad<U+200D>min"},
		{"joiner at the end", "\U0001f468\u200d", "\U0001f468<U+200D>"},
		{"two joiners", "\U0001f468\u200d\u200d\U0001f469", "\U0001f468<U+200D><U+200D>\U0001f469"},

		// What belongs to spelling stays.
		{"family emoji", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f468\u200d\U0001f469\u200d\U0001f467"},
		{"emoji with selector and joiner", "\u2764\ufe0f\u200d\U0001f525", "\u2764\ufe0f\u200d\U0001f525"},
		{"skin tone and profession", "\U0001f469\U0001f3fd\u200d\U0001f4bb", "\U0001f469\U0001f3fd\u200d\U0001f4bb"},
		{"key cap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Hindi", "क्\u200dष", "क्\u200dष"},
		{"variant of a Han character", "葛\U000e0100城", "葛\U000e0100城"},
		{"Arabic number sign", "\u0600\u0661", "\u0600\u0661"},

		// Invalid UTF-8.
		{"invalid bytes", "a\xffb\xc3", "a\uFFFDb\uFFFD"},
		{"overlong", "\xc0\xaf", "\uFFFD\uFFFD"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"cut character before a letter", "\xe2\x9bHello", "\uFFFD\uFFFDHello"},
		{"raw control behind a broken byte is no control", "\xe2\x9b31mx", "\uFFFD\uFFFD31mx"},
		{"Latin-1", "na\xefve caf\xe9", "na\uFFFDve caf\uFFFD"},

		// From the report: directives, Windows paths, colours, marks.
		{"the report", "::x{cwd=\"C:\\a\\b\"} \x1b[1mbold\x1b[22m \u200fend", "::x{cwd=\"C:\\a\\b\"} bold <U+200F>end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := String(c.in); got != c.want {
				t.Errorf("String(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			for cut := range len(c.in) {
				if got := written(c.in[:cut], c.in[cut:]); got != c.want {
					t.Errorf("cut at %d: %q", cut, got)
				}
			}
			var single []string
			for i := range len(c.in) {
				single = append(single, c.in[i:i+1])
			}
			if got := written(single...); got != c.want {
				t.Errorf("byte by byte: %q", got)
			}
		})
	}
}

// written is what a Writer makes of the pieces.
func written(pieces ...string) string {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, p := range pieces {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// openai/codex#22984: a line of 100,000 characters, and one of many megabytes.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("0123456789", 10_000)
	if got := String(long); got != long {
		t.Error("a long line was changed")
	}
	if got := String("\x1b[1m" + long + "\x1b[0m"); got != long {
		t.Error("a long coloured line was changed")
	}
	big := strings.Repeat("é\x1b[1m", 1<<20)
	if got := String(big); len(got) != 2<<20 {
		t.Errorf("%d bytes, want %d", len(got), 2<<20)
	}
	if got := Line(big, 10); got != "ééééééééé…" {
		t.Errorf("Line = %q", got)
	}
}

// A string without an end may hold back no more than its limit, however it is
// written.
func TestEndlessStringIsShown(t *testing.T) {
	payload := strings.Repeat("x", maxString+100)
	if got := String("\x1b]52;c;" + payload); got != "52;c;"+payload {
		t.Errorf("%d bytes shown, want %d", len(got), len(payload)+5)
	}
	var b bytes.Buffer
	w := NewWriter(&b)
	for i := 0; i < len(payload)+7; i += 1000 {
		all := "\x1b]52;c;" + payload
		if _, err := w.Write([]byte(all[i:min(i+1000, len(all))])); err != nil {
			t.Fatal(err)
		}
	}
	if b.Len() == 0 {
		t.Error("nothing was shown before the end")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriterReportsErrors(t *testing.T) {
	broken := errors.New("broken pipe")
	w := NewWriter(failing{broken})
	if n, err := w.Write([]byte("text")); n != 0 || !errors.Is(err, broken) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if n, err := NewWriter(failing{broken}).Write([]byte("\x1b[3")); n != 3 || err != nil {
		t.Errorf("nothing to write yet: %d, %v", n, err)
	}
}

// A Writer can be used again after Close, with nothing left of what was before.
func TestWriterAgain(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, s := range []string{"\x1b]0;t", "a\xe2", "b\r", "\U0001f468\u200d", "1"} {
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "0;ta\uFFFDb\n\U0001f468<U+200D>1"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// checkSafe fails where s is not what the package promises.
func checkSafe(t interface{ Fatalf(string, ...any) }, s string) {
	if !utf8.ValidString(s) {
		t.Fatalf("not UTF-8: %q", s)
	}
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
		case r < 0x20, r == 0x7f, r >= 0x80 && r <= 0x9f:
			t.Fatalf("control %U in %q", r, s)
		case IsBidi(r):
			t.Fatalf("direction control %U in %q", r, s)
		case r == 0x200b, r == 0x2060, r == 0xfeff, r >= 0xe0000 && r <= 0xe00ff:
			t.Fatalf("hidden %U in %q", r, s)
		}
	}
}

var awkward = []string{"\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\r", "\n", "\x9b", "\u009b", "\u009c", "\x9c", "31m", "0;t", "\u202e", "\u200d", "\u200c",
	"\ufe0f", "\u2764", "\U0001f468", "می", "a", "1", "世", "\xe2", "\x80", "\xff", "\U000e0041", "\u0301", "\x00", "\x18", " ", "\t", "葛", "\U000e0100"}

func drawAwkward(t *rapid.T) string {
	piece := rapid.OneOf(rapid.SampledFrom(awkward), rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }))
	return strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, "pieces"), "")
}

// U-4: whatever comes in, what goes out is safe; cleaning twice is cleaning
// once; writes may be cut anywhere; printable ASCII outside of sequences stays.
func TestStringProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawAwkward(t)
		out := String(in)
		checkSafe(t, out)
		if again := String(out); again != out {
			t.Fatalf("cleaned twice: %q, once: %q", again, out)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(in)), 0, 4).Draw(t, "cuts")
		var pieces []string
		at := 0
		for _, c := range cuts {
			if c > at {
				pieces = append(pieces, in[at:c])
				at = c
			}
		}
		if got := written(append(pieces, in[at:])...); got != out {
			t.Fatalf("in pieces %q, at once %q", got, out)
		}
	})
}

func TestLineProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, width := drawAwkward(t), rapid.IntRange(-1, 40).Draw(t, "width")
		out := Line(in, width)
		checkSafe(t, out)
		if strings.ContainsAny(out, "\n\t") {
			t.Fatalf("more than a line: %q", out)
		}
		if n := StringWidth(out); n > max(width, 0) {
			t.Fatalf("%d columns of %d: %q", n, width, out)
		}
		if full := Line(in, 1<<20); StringWidth(full) <= width && out != full {
			t.Fatalf("cut without need: %q of %q", out, full)
		}
	})
}

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain \x1b[1m \r\n", "plain \x1b[1m \r\n"},
		{"a\u202eb\u200b", "a<U+202E>b<U+200B>"},
		{"\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"},
		{"\xffx", "\uFFFDx"},
	} {
		if got := Visible(c.in); got != c.want {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzString(f *testing.F) {
	for _, a := range awkward {
		f.Add(a+"text"+a, 3)
	}
	f.Fuzz(func(t *testing.T, in string, cut int) {
		out := String(in)
		checkSafe(t, out)
		if again := String(out); again != out {
			t.Fatalf("cleaned twice: %q, once: %q", again, out)
		}
		if cut < 0 || cut > len(in) {
			cut = len(in) / 2
		}
		if got := written(in[:cut], in[cut:]); got != out {
			t.Fatalf("in pieces %q, at once %q", got, out)
		}
		line := Line(in, cut%100)
		checkSafe(t, line)
		if StringWidth(line) > max(cut%100, 0) {
			t.Fatalf("too wide: %q", line)
		}
	})
}

func BenchmarkString(b *testing.B) {
	for name, s := range map[string]string{
		"plain":    strings.Repeat("plain text of a tool, line after line\n", 30_000),
		"coloured": strings.Repeat("\x1b[32mok\x1b[0m  \tpackage/name\t0.012s\n", 30_000),
		"Chinese":  strings.Repeat("工具的输出，一行又一行\n", 30_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				String(s)
			}
		})
	}
}
