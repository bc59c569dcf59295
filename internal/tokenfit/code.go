package tokenfit

import (
	"fmt"
	"strings"
)

func typescript(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		name, arg := r.camel(), r.camel()
		switch r.n(5) {
		case 0:
			fmt.Fprintf(b, "import { %s, type %s } from '../%s/%s';\nimport * as %s from '@%s/%s';\n\n", r.camel(), r.title(), r.word(), r.word(), r.word(), r.word(), r.word())
		case 1:
			fmt.Fprintf(b, "export interface %s%s {\n  %s: string;\n  %s?: number;\n  readonly %s: Array<%s>;\n  on%s: (%s: %s, %s?: boolean) => Promise<void>;\n}\n\n", r.title(), r.title(), r.camel(), r.camel(), r.camel(), r.title(), r.title(), r.word(), r.title(), r.word())
		case 2:
			fmt.Fprintf(b, "export async function %s(%s: %s, options: %s = {}): Promise<%s | undefined> {\n  const { %s, %s } = options;\n  if (!%s || %s.length === 0) {\n    throw new Error(`%s: ${%s}`);\n  }\n  // %s\n  const %s = await this.%s.%s(%s, { %s: true, %s: %d });\n  return %s?.map((item) => item.%s) ?? [];\n}\n\n",
				name, arg, r.title(), r.title(), r.title(), r.camel(), r.camel(), arg, arg, r.sentence(), arg, r.sentence(), r.camel(), r.word(), r.camel(), arg, r.word(), r.word(), r.n(100), r.camel(), r.word())
		case 3:
			fmt.Fprintf(b, "describe('%s', () => {\n  it('%s', async () => {\n    const %s = new %s({ %s: '%s' });\n    expect(%s.%s()).toEqual({ %s: %d, %s: '%s' });\n  });\n});\n\n", name, r.sentence(), arg, r.title(), r.word(), r.word(), arg, r.camel(), r.word(), r.n(100), r.camel(), r.word())
		default:
			fmt.Fprintf(b, "  return (\n    <div className=\"%s-%s\" onClick={() => set%s(!%s)}>\n      {%s.map((%s) => (\n        <%s key={%s.id} {...%s} />\n      ))}\n    </div>\n  );\n}\n\n", r.word(), r.word(), r.title(), r.camel(), r.camel(), arg, r.title(), arg, arg)
		}
	})
}

func python(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		name, arg := r.snake(), r.snake()
		switch r.n(4) {
		case 0:
			fmt.Fprintf(b, "from %s.%s import %s, %s\nimport %s\n\n", r.word(), r.word(), r.title(), r.snake(), r.word())
		case 1:
			fmt.Fprintf(b, "def %s(self, %s: str, *, %s: int = %d) -> dict[str, Any]:\n    \"\"\"%s\n\n    %s\n    \"\"\"\n    if not %s:\n        raise ValueError(f\"%s {%s!r}\")\n    for index, item in enumerate(self.%s):\n        if item.%s == %s:\n            return {\"%s\": item, \"%s\": index}\n    return {}\n\n",
				name, arg, r.snake(), r.n(100), r.sentence(), r.sentence(), arg, r.sentence(), arg, r.snake(), r.word(), arg, r.word(), r.snake())
		case 2:
			fmt.Fprintf(b, "class %s%s(%s):\n    %s: Optional[%s] = None\n\n    def __init__(self, %s=None, **kwargs):\n        super().__init__(**kwargs)\n        self._%s = %s or []\n\n", r.title(), r.title(), r.title(), r.snake(), r.title(), arg, arg, arg)
		default:
			fmt.Fprintf(b, "@pytest.mark.parametrize(\"%s,%s\", [(%d, %d), (%d, None)])\ndef test_%s(%s, tmp_path):\n    assert %s(%s) == [x for x in %s if x.%s]\n\n", r.word(), r.word(), r.n(100), r.n(100), r.n(100), name, arg, r.snake(), arg, r.snake(), r.word())
		}
	})
}

func stackTrace(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		switch r.n(3) {
		case 0:
			fmt.Fprintf(b, "goroutine %d [%s]:\nexample.com/%s/%s.(*%s).%s(0xc000%s, {0x%s, 0x%x})\n\t/home/%s/%s:%d +0x%x\n", r.n(200), r.one("running", "chan receive", "select"), r.word(), r.word(), r.title(), r.title(), r.hex(6), r.hex(6), r.n(256), r.word(), r.path(".go"), r.n(900), r.n(4096))
		case 1:
			fmt.Fprintf(b, "    at %s.%s (/app/node_modules/%s/dist/%s.js:%d:%d)\n    at async %s (file:///app/%s:%d:%d)\n", r.title(), r.camel(), r.word(), r.word(), r.n(900), r.n(90), r.camel(), r.path(".js"), r.n(900), r.n(90))
		default:
			fmt.Fprintf(b, "  File \"/usr/lib/python3/dist-packages/%s\", line %d, in %s\n    %s = self.%s(%s)\n%sError: %s\n", r.path(".py"), r.n(900), r.snake(), r.word(), r.snake(), r.word(), r.title(), r.sentence())
		}
	})
}

func grepOutput(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		if r.chance(30) {
			fmt.Fprintf(b, "/home/%s/%s/%s\n", r.word(), r.word(), r.path(r.one(".go", ".ts", ".py", ".md")))
			return
		}
		fmt.Fprintf(b, "%s:%d:%s%s\n", r.path(".go"), r.n(2000), r.one("\t", "\t\t", "    "), r.one("func "+r.camel()+"("+r.word()+" "+r.title()+") error {", r.camel()+" := "+r.word()+"."+r.title()+"("+r.camel()+")", "// "+r.sentence(), "return fmt.Errorf(\""+r.word()+" "+r.word()+": %w\", err)"))
	})
}

func buildOutput(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		switch r.n(6) {
		case 0:
			fmt.Fprintf(b, "=== RUN   Test%s%s\n--- PASS: Test%s%s (0.%02ds)\n", r.title(), r.title(), r.title(), r.title(), r.n(100))
		case 1:
			fmt.Fprintf(b, "    %s_test.go:%d: got %q, want %q\n--- FAIL: Test%s (%d.%02ds)\n", r.snake(), r.n(500), r.word(), r.word(), r.title(), r.n(9), r.n(100))
		case 2:
			fmt.Fprintf(b, "ok  \texample.com/%s/%s\t%d.%03ds\tcoverage: %d.%d%% of statements\n", r.word(), r.word(), r.n(20), r.n(1000), r.n(100), r.n(10))
		case 3:
			fmt.Fprintf(b, "%s:%d:%d: undefined: %s\n", r.path(".go"), r.n(900), r.n(60), r.camel())
		case 4:
			fmt.Fprintf(b, "%s(%d,%d): error TS%d: Property '%s' does not exist on type '%s'.\n", r.path(".ts"), r.n(900), r.n(60), r.between(2000, 2900), r.camel(), r.title())
		default:
			fmt.Fprintf(b, "[%d/%d] Compiling %s v%d.%d.%d\nwarning: unused variable: `%s`\n", r.n(300), 300, r.word()+"-"+r.word(), r.n(3), r.n(20), r.n(9), r.snake())
		}
	})
}

func xml(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		t := r.camel()
		switch r.n(3) {
		case 0:
			fmt.Fprintf(b, "  <%s %s=\"%s\" id=\"%d\">\n    <%s>%s</%s>\n  </%s>\n", t, r.word(), r.word(), r.n(1000), r.word(), r.sentence(), r.word(), t)
		case 1:
			fmt.Fprintf(b, "<dependency>\n  <groupId>org.%s.%s</groupId>\n  <artifactId>%s-%s</artifactId>\n  <version>%d.%d.%d</version>\n</dependency>\n", r.word(), r.word(), r.word(), r.word(), r.n(9), r.n(20), r.n(9))
		default:
			fmt.Fprintf(b, "<div class=\"%s %s-%s\"><a href=\"/%s/%d\">%s</a></div>\n", r.word(), r.word(), r.word(), r.word(), r.n(1000), r.sentence())
		}
	})
}

// chat is what assistants write: prose with lists, code spans and headings.
func chat(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		switch r.n(5) {
		case 0:
			fmt.Fprintf(b, "## %s %s\n\n", r.title(), r.word())
		case 1:
			for i := range r.between(2, 5) {
				fmt.Fprintf(b, "%d. **%s %s**: %s\n", i+1, r.title(), r.word(), r.sentence())
			}
			b.WriteString("\n")
		case 2:
			fmt.Fprintf(b, "- `%s:%d` %s\n- %s\n\n", r.path(".go"), r.n(900), r.sentence(), r.sentence())
		default:
			fmt.Fprintf(b, "%s %s %s\n\n", r.sentence(), r.sentence(), r.sentence())
		}
	})
}

// tables is box drawing, arrows, progress marks and emoji, as command line programs print them.
func tables(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		switch r.n(5) {
		case 0:
			fmt.Fprintf(b, "┌%s┬%s┐\n│ %-18s │ %-8d │\n└%s┴%s┘\n", strings.Repeat("─", 20), strings.Repeat("─", 10), r.word(), r.n(1000), strings.Repeat("─", 20), strings.Repeat("─", 10))
		case 1:
			fmt.Fprintf(b, "├── %s\n│   ├── %s.go\n│   └── %s\n", r.word(), r.snake(), r.word())
		case 2:
			fmt.Fprintf(b, "%s %s → %s\n", r.one("✓", "✗", "⚠", "●", "✔", "▶", "✅", "❌", "🚀", "🔧"), r.sentence(), r.camel())
		case 3:
			fmt.Fprintf(b, "| %s | %s | %d | %s |\n|---|---|---|---|\n", r.word(), r.camel(), r.n(100), r.one("✅", "❌", "—", "≥ 5", "± 0.3"))
		default:
			fmt.Fprintf(b, "%s %3d%%\n", strings.Repeat("█", r.n(20))+strings.Repeat("░", r.n(20)), r.n(100))
		}
	})
}

// emoji is text with pictures and signs in every line.
func emoji(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		fmt.Fprintf(b, "%s %s", r.one("🎉", "📦", "🐛", "👍🏽", "👨‍👩‍👧", "❤️", "🚀", "🔧", "😀", "🔥", "💡", "🧪"), r.word())
		b.WriteRune(rune(0x1F300 + r.n(0x300)))
		fmt.Fprintf(b, " %s %s\n", r.sentence(), r.one("✅", "❌", "⚠️", "•", "→", "…", "—", "™", "π"))
	})
}
