package tokens_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"varve.dev/internal/tokenfit"
	"varve.dev/tokens"
)

// counts gives the features of a text that are not zero.
func counts(text string) string {
	var b strings.Builder
	for i, n := range tokens.Scan(text) {
		if n != 0 {
			fmt.Fprintf(&b, "%s=%d ", tokens.Feature(i), n)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestScan pins what each feature counts (G-7).
func TestScan(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"word", "word=1"},
		{"two words", "word=2"},
		{"international", "word=1 long=7 verylong=1"},
		{"parseFileName", "word=3 hump=2"},
		{"HTTPServer", "word=1 long=4 cluster=2"},
		{"TIMEOUT", "word=1 long=1 caps=4"},
		{"strncpy", "word=1 long=1 cluster=3"},
		{"in 2026, 12345678", "word=1 digits=5 punct=1 digit=2 blank=2"},
		{"a    b", "word=2 space=1"},
		{"x\ty", "word=2 tab=1"},
		{"a\n\n\nb", "word=2 newline=1"},
		{"a;\nb", "word=2 punct=1 wrap=1"},
		{"a; \nb", "word=2 punct=1 wrap=1"},
		{"f(x)", "word=2 punct=1 glue=1"},
		{"});", "punct=1 extra=2"},
		{"----------", "punct=1 reps=6"},
		{`{"a":"b"}`, "word=2 punct=3 quote=4"},
		{"da39a3ee5e6b4b0d3255bfef95601890afd80709", "hex=40"},
		{"fixed in a7be2f0", "word=2 hex=7"},
		{"defaced", "word=1 long=1"},
		{"dGhpcyBpcyBhIHRlc3Q+aW4gYmFzZTY0/ZW5j", "opaque=37"},
		{"getHTTPResponseForUser", "word=4 long=6 hump=3 cluster=2"},
		{"漢字", "han=2"},
		{"ひらカナ", "kana=4"},
		{"한글", "hangul=2"},
		{"größe", "word=1 accent=2"},
		{"привет", "cyrillic=6"},
		{"שלום γεια", "rare=8"},
		{"سلام नमस्ते", "script=10"},
		{"→ ────", "other=2 repeat=3"},
		{"🎉", "emoji=1"},
		{"\xff\xfe", "other=1 repeat=1"},
		{"\x00\x01", "punct=1 extra=1"},
	} {
		if got := counts(c.text); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// TestTextCJK: Chinese, Japanese and Korean cost 0.6 to 0.8 tokens a rune (o200k), not a quarter of a token each, as
// characters / 4 has it, nor one for every byte.
func TestTextCJK(t *testing.T) {
	for _, text := range []string{"我们已经修改了这个文件，请再次运行测试。", "このファイルを修正しました。もう一度テストを実行してください。", "이 파일을 수정했습니다. 테스트를 다시 실행하세요."} {
		n, runes := tokens.Text(text), utf8.RuneCountInString(text)
		if n < runes/2 || n > runes {
			t.Errorf("%d tokens for %d runes: %s", n, runes, text)
		}
	}
}

// TestTextProperties: any bytes have an estimate; it grows with the text, never faster than a small number of tokens a
// byte, is the same for string and bytes, and adds up (G-7).
func TestTextProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.StringOfN(rapid.RuneFrom([]rune("aB9 \n\t{}\":,/+=é漢한🎉─")), 0, 400, -1)).Draw(t, "text")
		n := tokens.Text(text)
		if n != tokens.Bytes([]byte(text)) {
			t.Fatal("string and bytes differ")
		}
		if (n == 0) != (text == "") || n > 3*len(text) {
			t.Fatalf("%d tokens for %d bytes", n, len(text))
		}
		// Two texts apart cost what they cost together, but for the runs that met at the line end.
		twice := tokens.Text(text + "\n" + text)
		if d := twice - 2*n; d < -4 || d > 4 {
			t.Fatalf("%d tokens, twice %d", n, twice)
		}
	})
}

// FuzzScan: no input makes the estimator fail or count nothing.
func FuzzScan(f *testing.F) {
	f.Add("package main\n\nfunc main() {}\n")
	f.Add("漢字 \xff\xfe 🎉 dGhpcyBpcyBhIHRlc3QgaW4gYmFzZTY0")
	f.Fuzz(func(t *testing.T, text string) {
		if n := tokens.Text(text); n < 0 || n == 0 && text != "" {
			t.Fatalf("%d tokens for %q", n, text)
		}
	})
}

func TestScanAllocates(t *testing.T) {
	text := strings.Repeat("func (s *Server) 漢字 {\"a\": 12345}\n", 100)
	raw := []byte(text)
	if n := testing.AllocsPerRun(100, func() { tokens.Text(text); tokens.Bytes(raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func benchmarkText(b *testing.B, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		tokens.Text(text)
	}
}

// goSource is a long Go file.
func goSource(b *testing.B) string {
	b.Helper()
	goroot, err := tokenfit.Goroot()
	if err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(goroot, "src", "net", "http", "server.go"))
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func BenchmarkTextGo(b *testing.B) {
	text := goSource(b)
	benchmarkText(b, text)
}

func BenchmarkTextJSON(b *testing.B) {
	benchmarkText(b, strings.Repeat(`{"id":12345,"name":"alpha beta","list":[1,2,3],"ok":true},`, 2000))
}

func BenchmarkTextCJK(b *testing.B) {
	benchmarkText(b, strings.Repeat("我们已经修改了这个文件，请再次运行测试。", 2000))
}

func BenchmarkTextBase64(b *testing.B) {
	benchmarkText(b, strings.Repeat("dGhpcyBpcyBhIHRlc3QgaW4gYmFzZTY0IHdpdGggYSBsb25nIGxpbmUgb2YgdGV4", 2000))
}

// BenchmarkRunes is the cost of only walking over the runes of the same text, to compare with.
func BenchmarkRunes(b *testing.B) {
	text := goSource(b)
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		for _, r := range text {
			if r == ' ' {
				n++
			}
		}
	}
	_ = n
}
