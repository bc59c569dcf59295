package term

import (
	"sort"
	"unicode"
)

const (
	zwnj = 0x200c
	zwj  = 0x200d
)

// hidden are characters without a picture of their own that Unicode does not
// class as format characters (Cf), plus line and paragraph separators.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1}, // combining grapheme joiner
		{0x115f, 0x1160, 1}, // Hangul fillers
		{0x17b4, 0x17b5, 1}, // Khmer inherent vowels
		{0x180b, 0x180f, 1}, // Mongolian selectors
		{0x2028, 0x2029, 1}, // separators
		{0x2065, 0x2065, 1}, // unassigned, ignorable
		{0x3164, 0x3164, 1}, // Hangul filler
		{0xfe00, 0xfe0f, 1}, // variation selectors
		{0xffa0, 0xffa0, 1}, // halfwidth Hangul filler
		{0xfff0, 0xfff8, 1}, // unassigned, ignorable
	},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}}, // tags, selectors, unassigned, ignorable
}

// drawn are format characters that do have a picture: signs that enclose or
// precede a number.
var drawn = &unicode.RangeTable{
	R16: []unicode.Range16{{0x0600, 0x0605, 1}, {0x06dd, 0x06dd, 1}, {0x070f, 0x070f, 1}, {0x0890, 0x0891, 1}, {0x08e2, 0x08e2, 1}},
	R32: []unicode.Range32{{0x110bd, 0x110bd, 1}, {0x110cd, 0x110cd, 1}},
}

// isInvisible reports whether a character cannot be seen or changes the
// direction of the text around it.
func isInvisible(r rune) bool {
	switch { // stretches without any, for speed
	case r < 0xad, r > 0xad && r < 0x034f, r > 0x034f && r < 0x0600, r > 0x3164 && r < 0xd800:
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(drawn, r) || unicode.Is(hidden, r)
}

// IsBidi reports whether r is one of the controls with which Unicode lets a text
// change its direction.
func IsBidi(r rune) bool {
	switch {
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

// appendVisible appends <U+XXXX>.
func appendVisible(dst []byte, r rune) []byte {
	const digits = "0123456789ABCDEF"
	dst = append(dst, "<U+"...)
	for shift := 20; shift >= 0; shift -= 4 {
		if shift >= 16 && r>>shift == 0 {
			continue
		}
		dst = append(dst, digits[r>>shift&15])
	}
	return append(dst, '>')
}

// joining are the scripts whose spelling needs joiners inside of words.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// joinsAfter reports whether a joiner may follow prev.
func joinsAfter(prev rune) bool { return isPictograph(prev) || unicode.In(prev, joining...) }

// joins reports whether the joiner j is at home between two characters: a zero
// width joiner between the parts of an emoji, either joiner inside a word of a
// script that needs it.
func joins(prev, j, next rune) bool {
	if j == zwj && isPictograph(prev) && isPictograph(next) {
		return true
	}
	return unicode.In(prev, joining...) && unicode.In(next, joining...)
}

// isPictograph reports whether r is an emoji or a part of one: a symbol, a skin
// tone or the selector of emoji presentation.
func isPictograph(r rune) bool {
	switch {
	case r >= 0x1f000 && r <= 0x1faff, r >= 0x2190 && r <= 0x2bff, r == 0xfe0f, r == 0xa9, r == 0xae, r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299:
		return true
	}
	return false
}

func isSelector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }

// selects reports whether the variation selector r is at home behind prev: text
// or emoji presentation behind a symbol or a key cap, a variant behind a Han
// character. One selector only, so that nothing can be written with them.
func selects(prev, r rune) bool {
	switch {
	case r == 0xfe0e || r == 0xfe0f:
		return isPictograph(prev) && prev != 0xfe0f || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	default:
		return unicode.Is(unicode.Han, prev)
	}
}

// runeWidth returns the columns that a terminal gives to r: 2 for East Asian
// wide and full width characters and emoji, 0 for marks that sit on the
// character before, else 1. prev is the character before it: a symbol that asks
// for emoji presentation becomes wide on some terminals, which is counted here.
func runeWidth(r, prev rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == 0xfe0f:
		if prev != 0 && runeWidth(prev, 0) == 1 {
			return 1
		}
		return 0
	case r >= 0x1160 && r <= 0x11ff: // medial and final Hangul letters join the first
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) && !unicode.Is(drawn, r):
		return 0
	}
	i := sort.Search(len(wide), func(i int) bool { return wide[i][1] >= r })
	if i < len(wide) && wide[i][0] <= r {
		return 2
	}
	return 1
}

// StringWidth returns how many columns a line of cleaned text takes. A tab
// counts as one.
func StringWidth(s string) int {
	n, prev := 0, rune(0)
	for _, r := range s {
		n += runeWidth(r, prev)
		prev = r
	}
	return n
}

// wide are the characters of East Asian width W or F: EastAsianWidth.txt of
// Unicode 15.0.0, neighbours joined.
var wide = [...][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec}, {0x23f0, 0x23f0}, {0x23f3, 0x23f3},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce}, {0x26d4, 0x26d4}, {0x26ea, 0x26ea},
	{0x26f2, 0x26f3}, {0x26f5, 0x26f5}, {0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755}, {0x2757, 0x2757}, {0x2795, 0x2797},
	{0x27b0, 0x27b0}, {0x27bf, 0x27bf}, {0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x2e99},
	{0x2e9b, 0x2ef3}, {0x2f00, 0x2fd5}, {0x2ff0, 0x2ffb}, {0x3000, 0x303e}, {0x3041, 0x3096}, {0x3099, 0x30ff},
	{0x3105, 0x312f}, {0x3131, 0x318e}, {0x3190, 0x31e3}, {0x31f0, 0x321e}, {0x3220, 0x3247}, {0x3250, 0x4dbf},
	{0x4e00, 0xa48c}, {0xa490, 0xa4c6}, {0xa960, 0xa97c}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe10, 0xfe19},
	{0xfe30, 0xfe52}, {0xfe54, 0xfe66}, {0xfe68, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x16fe4},
	{0x16ff0, 0x16ff1}, {0x17000, 0x187f7}, {0x18800, 0x18cd5}, {0x18d00, 0x18d08}, {0x1aff0, 0x1aff3}, {0x1aff5, 0x1affb},
	{0x1affd, 0x1affe}, {0x1b000, 0x1b122}, {0x1b132, 0x1b132}, {0x1b150, 0x1b152}, {0x1b155, 0x1b155}, {0x1b164, 0x1b167},
	{0x1b170, 0x1b2fb}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f202},
	{0x1f210, 0x1f23b}, {0x1f240, 0x1f248}, {0x1f250, 0x1f251}, {0x1f260, 0x1f265}, {0x1f300, 0x1f320}, {0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7}, {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7eb},
	{0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a}, {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1fa7c}, {0x1fa80, 0x1fa88},
	{0x1fa90, 0x1fabd}, {0x1fabf, 0x1fac5}, {0x1face, 0x1fadb}, {0x1fae0, 0x1fae8}, {0x1faf0, 0x1faf8}, {0x20000, 0x2fffd},
	{0x30000, 0x3fffd},
}
