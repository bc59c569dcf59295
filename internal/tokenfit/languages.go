package tokenfit

import (
	"fmt"
	"strings"
)

// rareHan is the share, of a hundred, of ideographs drawn from the whole common block instead of the vocabulary: names,
// rare words and classical text are cut into more pieces than the everyday words listed here. With this share the
// generated Chinese has about as many runes a token (1.46) as running text was measured to have.
const rareHan = 12

func chineseText(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		for i := range r.between(5, 16) {
			if i > 0 && r.chance(15) {
				b.WriteString("，")
			}
			if r.chance(rareHan) {
				b.WriteRune(rune(0x4E00 + r.n(0x4000)))
				continue
			}
			b.WriteString(chinese[r.n(len(chinese))])
			if r.chance(4) {
				b.WriteString(r.one("“", "”", "（", "）", "、", " API ", "2026", "《", "》"))
			}
		}
		b.WriteString(r.one("。", "。", "。\n", "？", "！", "；", "：\n"))
	})
}

func japaneseText(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		for range r.between(2, 6) {
			b.WriteString(japanese[r.n(len(japanese))] + japaneseParticles[r.n(len(japaneseParticles))])
			if r.chance(rareHan) {
				b.WriteRune(rune(0x4E00 + r.n(0x4000)))
			}
			if r.chance(15) {
				b.WriteString("、")
			}
		}
		b.WriteString(japaneseEnds[r.n(len(japaneseEnds))] + r.one("。", "。", "。\n", "？"))
	})
}

func koreanText(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		for range r.between(2, 6) {
			b.WriteString(korean[r.n(len(korean))] + koreanParticles[r.n(len(koreanParticles))] + " ")
			if r.chance(5) {
				b.WriteRune(rune(0xAC00 + r.n(0x2BA4)))
			}
		}
		b.WriteString(koreanEnds[r.n(len(koreanEnds))] + r.one(". ", ". ", ".\n", "? "))
	})
}

// spaced makes sentences of a language that writes blanks between words.
func spaced(words []string) func(r *rng, n int) string {
	return func(r *rng, n int) string {
		return fill(n, func(b *strings.Builder) {
			for i := range r.between(5, 14) {
				if i > 0 {
					b.WriteString(r.one(" ", " ", " ", " ", " ", ", "))
				}
				b.WriteString(words[r.n(len(words))])
			}
			b.WriteString(r.one(". ", ". ", ".\n", "? "))
		})
	}
}

func europeanText(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		for range r.between(5, 14) {
			if r.chance(55) {
				b.WriteString(european[r.n(len(european))] + " ")
			} else {
				b.WriteString(r.one("der", "die", "und", "ist", "nicht", "les", "des", "pour", "dans", "une", "que", "los", "para", "con", "del", "uma", "com", "Datei", "fichier", "archivo", "Fehler", "erreur", "prueba", "Zeit", "temps", "tiempo") + " ")
			}
		}
		b.WriteString(r.one(". ", ".\n", ", "))
	})
}

func thaiText(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		for range r.between(4, 10) {
			b.WriteString(thai[r.n(len(thai))])
		}
		b.WriteString(r.one(" ", " ", "\n"))
	})
}

// cjkCode is source text whose comments and literals are Chinese, Japanese or Korean.
func cjkCode(r *rng, n int) string {
	return fill(n, func(b *strings.Builder) {
		text := r.one(chineseText(r, 30), japaneseText(r, 30), koreanText(r, 30))
		text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "")
		switch r.n(3) {
		case 0:
			fmt.Fprintf(b, "\t// %s\n\t%s := %s.%s(%d)\n", text, r.camel(), r.word(), r.title(), r.n(100))
		case 1:
			fmt.Fprintf(b, "  \"%s\": \"%s\",\n", r.camel(), text)
		default:
			fmt.Fprintf(b, "if %s == nil {\n\treturn errors.New(%q)\n}\n", r.camel(), text)
		}
	})
}
