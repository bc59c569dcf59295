package export

import (
	"regexp"
	"strings"
	"testing"

	"varve.dev/internal/term"
)

func TestReplyMarkdown(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "Hello **you**, a < b and `List<T>`.", "Hello **you**, a < b and `List<T>`.\n\n"},
		{"code block", "x\n```go\na := <-b\n```\ny", "x\n\n```go\na := <-b\n```\n\ny\n\n"},
		{"code with backticks in it", "````\n```\nx\n````", "````\n```\nx\n````\n\n"},
		{"tildes", "~~~\n```\n~~~", "````\n```\n````\n\n"},
		{"block in a list", "- first\n\n  ```sh\n  ls\n  ```\n- second", "- first\n\n```sh\nls\n```\n\n- second\n\n"},
		{"block as a list item", "- ```\n  x\n  ```", "-\n\n```\nx\n```\n\n"},
		{"block in a quote", "> ```\n> x\n> ```", "```\nx\n```\n\n"},
		{"not closed", "```\nx", "```\nx\n```\n\n"},
		{"HTML", "<script>x</script> <!-- y", "&lt;script>x&lt;/script> &lt;!-- y\n\n"},
		{"HTML behind an open backtick", "a ` b\n`<b>`", "a ` b\n`&lt;b>`\n\n"},
		{"image", "![x](http://a/b.png)", "!&#91;x](http://a/b.png)\n\n"},
		{"links", "[a](https://x) [b](javascript:x) [c](./d.md) [e](f/g.go#L1) [h](data:x)", "[a](https://x) [b]&#40;javascript:x) [c](./d.md) [e](f/g.go#L1) [h]&#40;data:x)\n\n"},
		{"definition", "[x]: javascript:y", "[x]&#58; javascript:y\n\n"},
		{"span in a table", "| `a | <b>` |", "| `a | &lt;b>` |\n\n"},
		{"span behind a bare link", "https://x.y#`<b>`", "https://x.y#`&lt;b>`\n\n"},
		{"long marks at the beginning", "```0``` x", "`0` x\n\n"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b strings.Builder
			replyMarkdown(&b, c.in)
			if b.String() != c.want {
				t.Errorf("got  %q\nwant %q", b.String(), c.want)
			}
		})
	}
}

func TestLiteralAndSpan(t *testing.T) {
	for in, want := range map[string]string{
		"a_b": "a_b", "_a_": `\_a\_`, "*x*": `\*x\*`, "<b>": "&lt;b&gt;", "a`b": "a&#96;b", "[x](y)": `\[x\](y)`, `\`: `\\`, "a\nb": "a b", "R&D": "R&amp;D",
	} {
		if got := literal(in); got != want {
			t.Errorf("literal(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"x": "`x`", "a`b": "``a`b``", "`x`": "`` `x` ``", "``": "``` `` ```", " x ": "`  x  `"} {
		if got := codeSpan(in); got != want {
			t.Errorf("codeSpan(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestPreview(t *testing.T) {
	long := strings.Repeat("line\n", 100)
	if head, cut := preview(long); !cut || strings.Count(head, "\n") != previewLines-1 {
		t.Errorf("%d lines shown, cut %t", strings.Count(head, "\n")+1, cut)
	}
	wide := strings.Repeat("é", 5000)
	if head, cut := preview(wide); !cut || len(head) > previewBytes || !strings.HasPrefix(wide, head) || len(head)%2 != 0 {
		t.Errorf("%d bytes shown, cut %t", len(head), cut)
	}
	for _, whole := range []string{"", "x", strings.Repeat("line\n", previewLines), strings.Repeat("line\n", previewLines+2)} {
		if head, cut := preview(whole); cut || head != whole {
			t.Errorf("%d lines were cut", strings.Count(whole, "\n"))
		}
	}
}

// U-4: whatever a reply holds, outside of the code that this package wrote there
// is no HTML, no image and no script link, and no fence is left open.
func FuzzReplyMarkdown(f *testing.F) {
	for _, h := range hostile {
		f.Add(h)
	}
	danger := regexp.MustCompile(`<[A-Za-z/!?]|!\[|\]\((?i:javascript|data|vbscript):|^ {0,3}~~~`)
	f.Fuzz(func(t *testing.T, in string) {
		var b strings.Builder
		replyMarkdown(&b, term.String(in))
		if m := danger.FindString(withoutCode(t, b.String())); m != "" {
			t.Fatalf("%q in the text of\n%s", m, b.String())
		}
		richText(term.String(in)) // must not panic
	})
}

// What the page shows of a reply has all of its words.
func TestRichText(t *testing.T) {
	in := "Intro with `code` and **strong words**. **Why `x` is**\n\n## Heading\n- item **one**\n- item two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\nend ` odd"
	var kinds, text []string
	for _, r := range richText(in) {
		kinds = append(kinds, r.Kind)
		text = append(text, r.Text)
		for _, s := range r.Spans {
			text = append(text, s.Kind+":"+s.Text)
		}
	}
	if got := strings.Join(kinds, " "); got != "para heading para code code para" {
		t.Errorf("pieces %s", got)
	}
	for _, want := range []string{"code:code", "strong:strong words", "strong:Why \x00code:x\x00strong: is", ":Heading", "strong:one", "| 1 | 2 |", "x := 1", ":end ` odd"} {
		if !strings.Contains(strings.Join(text, "\x00"), want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}
