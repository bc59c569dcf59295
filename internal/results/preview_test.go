package results

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSize(t *testing.T) {
	// 209,406 and 144,356 bytes are sizes that the reference wrote with these words.
	for n, want := range map[int]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1KB", 2000: "2KB", 41216: "40.3KB", 209_406: "204.5KB", 144_356: "141KB",
		1<<20 - 1: "1024KB", 1 << 20: "1MB", 1572864: "1.5MB", 1 << 30: "1GB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestHead(t *testing.T) {
	for _, c := range []struct {
		s, want string
		max     int
		more    bool
	}{
		{"abc", "abc", 3, false},
		{"abcd", "abc", 3, true},
		{"aé", "a", 2, true},
		{"a😀b", "a", 4, true},
		{"a😀b", "a😀", 5, true},
		{"line one\nline two", "line one", 12, true},
		{"a\nlong line without an end", "a\nlong lin", 10, true}, // the newline lies in the first half
		{"x", "", 0, true},
		{"", "", 0, false},
	} {
		if got, more := Head(c.s, c.max); got != c.want || more != c.more {
			t.Errorf("Head(%q, %d) = %q, %v, want %q, %v", c.s, c.max, got, more, c.want, c.more)
		}
	}
}

func TestHeadTail(t *testing.T) {
	s := strings.Repeat("é", 100)
	got := HeadTail(s, 101)
	if want := strings.Repeat("é", 16) + "\n[… 68 characters left out …]\n" + strings.Repeat("é", 16); got != want {
		t.Errorf("got %q", got)
	}
	if got := HeadTail(s, 9); got != "éééé" {
		t.Errorf("no room for a note: %q", got)
	}
	if got := HeadTail("abc", 3); got != "abc" {
		t.Errorf("short: %q", got)
	}
}

// TestPreviews: R-1: no preview is longer than allowed or cuts a code point.
func TestPreviews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(0, 200, -1).Draw(t, "s")
		max := rapid.IntRange(0, 300).Draw(t, "max")
		head, more := Head(s, max)
		if len(head) > max || !strings.HasPrefix(s, head) || !utf8.ValidString(head) || more != (len(s) > max) {
			t.Fatalf("Head = %q, %v", head, more)
		}
		both := HeadTail(s, max)
		if len(both) > max || !utf8.ValidString(both) {
			t.Fatalf("HeadTail = %q, %d bytes", both, len(both))
		}
	})
}

// FuzzPreview: any bytes, UTF-8 or not, any limit.
func FuzzPreview(f *testing.F) {
	f.Add("a😀b\nc", 4)
	f.Add("\x80\x80\x80\x80\x80\xff", 3)
	f.Add(strings.Repeat("é", 90), 80)
	f.Fuzz(func(t *testing.T, s string, max int) {
		if max < 0 || max > 1<<20 {
			return
		}
		if head, _ := Head(s, max); len(head) > max || !strings.HasPrefix(s, head) || utf8.ValidString(s) && !utf8.ValidString(head) {
			t.Fatalf("Head(%q, %d) = %q", s, max, head)
		}
		if both := HeadTail(s, max); len(both) > max || utf8.ValidString(s) && !utf8.ValidString(both) {
			t.Fatalf("HeadTail(%q, %d) = %q", s, max, both)
		}
		if p := Path(form("/p", s, max)); p != "/p" {
			t.Fatalf("the path of the form is %q", p)
		}
		if text := form("/p\xff", s, max); !utf8.ValidString(text) {
			t.Fatalf("form is not UTF-8: %q", text)
		}
	})
}
