package tokens

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// Feature is one count taken of a text. The first ten are the run-length features that were measured to predict a byte
// pair encoding best (median error 3.6 % where characters/4 has 19 %); the others split off what those ten get wrong:
// opaque data, dense JSON, words glued to punctuation, and scripts whose letters cost differently.
type Feature int

// The features. A "segment" is a run of ASCII letters as tokenizers cut them: camelCase is two segments, HTTPServer one.
const (
	Word     Feature = iota // segments of ASCII letters
	Long                    // letters after the sixth of a segment
	Digits                  // groups of at most three digits
	Space                   // runs of two or more blanks
	Punct                   // runs of punctuation, except a single mark directly before a letter
	Extra                   // changes of mark within a run of punctuation ("});" has two)
	Newline                 // line ends that do not follow punctuation (those are part of its token)
	Han                     // ideographs
	Other                   // runes of no script named here, unless repeated: arrows, box drawing, signs, invalid bytes
	Hump                    // segments that begin inside a word (camelCase)
	VeryLong                // letters after the twelfth of a segment
	Caps                    // letters after the third in segments without a lower-case letter
	Cluster                 // consonants after the third in a row: abbreviations and mnemonics
	Glue                    // single punctuation marks directly before a letter (".foo", "_bar")
	Quote                   // as Extra, in runs that hold a double quote (dense JSON)
	Wrap                    // line ends that follow punctuation
	Hex                     // characters of hexadecimal runs
	Opaque                  // characters of base64-like runs
	Kana                    // Japanese syllables
	Hangul                  // Korean syllables
	Accent                  // accented and other Latin letters; they join the ASCII letters around them
	Cyrillic                // Cyrillic letters
	Script                  // letters of Arabic and the Indic scripts
	Rare                    // letters of all other scripts (Greek, Hebrew, Thai, Georgian …)
	Digit                   // runs of digits, whatever their length
	Blank                   // blanks directly before a digit, which do not join it
	Tab                     // single tabs
	Emoji                   // runes beyond the basic plane that are no script
	Repeat                  // runes of Other that repeat the rune before
	Reps                    // bytes of runs of one punctuation mark after the fourth (rulers)
	NumFeatures
)

var featureNames = [NumFeatures]string{
	"word", "long", "digits", "space", "punct", "extra", "newline", "han", "other", "hump", "verylong", "caps", "cluster", "glue",
	"quote", "wrap", "hex", "opaque", "kana", "hangul", "accent", "cyrillic", "script", "rare", "digit",
	"blank", "tab", "emoji", "repeat", "reps",
}

// String returns the feature's lower-case name.
func (f Feature) String() string {
	if f < 0 || f >= NumFeatures {
		return "unknown"
	}
	return featureNames[f]
}

// Features are the counts of one text, indexed by [Feature]. They add up: the features of two texts one after the other
// are the sums, apart from the runs that meet at the seam.
type Features [NumFeatures]int

// Add adds the counts of g.
func (f *Features) Add(g *Features) {
	for i, n := range g {
		f[i] += n
	}
}

// Tokens returns the estimate for the counts, in tokens of the vocabulary the weights were fitted to (o200k).
func (f *Features) Tokens() float64 {
	var t float64
	for i, n := range f {
		t += float64(n) * weights[i]
	}
	return t
}

// Byte classes, in the low bits of a table entry; the high bits say more of letters.
const (
	clPunct = iota
	clLower
	clUpper
	clDigit
	clBlank
	clNewline
	clHigh
	clMask = 7

	notHex    = 8  // a letter after f
	consonant = 16 // a letter that is no vowel
)

var classes = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = clLower
		case c >= 'A' && c <= 'Z':
			t[c] = clUpper
		case c >= '0' && c <= '9':
			t[c] = clDigit
		case c == ' ' || c == '\t':
			t[c] = clBlank
		case c == '\n' || c == '\r':
			t[c] = clNewline
		case c >= utf8.RuneSelf:
			t[c] = clHigh
		}
		if t[c] == clLower || t[c] == clUpper {
			if c|0x20 > 'f' {
				t[c] |= notHex
			}
			switch c | 0x20 {
			case 'a', 'e', 'i', 'o', 'u', 'y':
			default:
				t[c] |= consonant
			}
		}
	}
	return t
}()

func class(c byte) uint8 { return classes[c] & clMask }

// Scan counts the features of a text in one pass, without allocating. Any bytes are accepted; those that are not UTF-8
// count as [Other].
func Scan(text string) Features {
	s := scanner{text: text}
	for s.at < len(text) {
		switch class(text[s.at]) {
		case clLower:
			if !s.word() {
				s.alnum()
			}
		case clUpper, clDigit:
			s.alnum()
		case clBlank:
			s.blanks()
		case clNewline:
			s.newlines()
		case clHigh:
			s.runes()
		default:
			s.punctuation()
		}
	}
	return s.f
}

// ScanBytes is [Scan] for bytes, which it does not keep.
func ScanBytes(text []byte) Features { return Scan(unsafe.String(unsafe.SliceData(text), len(text))) }

// scanner is the state of one pass: the position, and what the run before it was.
type scanner struct {
	text   string
	at     int
	f      Features
	punct  bool // the run before was punctuation (a line end joins its token)
	opaque bool // the run before was base64-like (its '+' and '/' do not end it)
	accent bool // the run before ended with a Latin letter that is not ASCII
}

// minOpaque is the shortest run of letters and digits that is taken for opaque data. Shorter ones are told from
// identifiers like utf8x3 too rarely, and weigh nearly the same either way.
const minOpaque = 16

// minHex is the shortest hexadecimal run: abbreviated commit hashes have seven or more characters.
const minHex = 7

// word takes a run of letters and digits that is lower-case letters only, as most are. Otherwise it takes nothing and
// returns false.
func (s *scanner) word() bool {
	text, from := s.text, s.at
	i, row, cluster := from, 0, 0
	for i < len(text) {
		k := classes[text[i]]
		if k&clMask != clLower {
			if k &= clMask; k == clUpper || k == clDigit {
				return false
			}
			break
		}
		row = (row + 1) & -int(k>>4&1)
		cluster += int(uint(3-row) >> (bits.UintSize - 1)) // one when row > 3
		i++
	}
	s.at, s.punct, s.opaque = i, false, false
	if !s.accent {
		s.f[Word]++
	}
	s.accent = false
	s.f[Cluster] += cluster
	if n := i - from; n > 6 {
		s.f[Long] += n - 6
		s.f[VeryLong] += max(0, n-12)
	}
	return true
}

// alnum takes one run of ASCII letters and digits.
func (s *scanner) alnum() {
	var r run
	text, start := s.text, s.at
	i, lower := start, false // lower: the byte before i is a lower-case letter
	for i < len(text) {
		from := i
		switch class(text[i]) {
		case clDigit:
			for i++; i < len(text) && class(text[i]) == clDigit; i++ {
			}
			r.digits += (i - from + 2) / 3
			r.digit++
			lower = false
			continue
		case clUpper:
			row := 0
			for i < len(text) && class(text[i]) == clUpper {
				row = r.letter(text[i], row)
				i++
			}
			end := i
			for i < len(text) && class(text[i]) == clLower {
				row = r.letter(text[i], row)
				i++
			}
			if i == end {
				r.caps += max(0, i-from-3)
			}
			if lower {
				r.hump++
			}
			lower = i > end
		case clLower:
			row := 0
			for i < len(text) && class(text[i]) == clLower {
				row = r.letter(text[i], row)
				i++
			}
			lower = true
		default:
			s.ended(&r, start, i)
			return
		}
		r.segment(i - from)
	}
	s.ended(&r, start, i)
}

// run is what is counted within one run of letters and digits, until its end tells what it is.
type run struct {
	word, long, veryLong, hump, caps, cluster, digits, digit int
	seen                                                     uint8 // the class bits of all letters
}

// letter counts a letter and returns how many consonants in a row end with it.
func (r *run) letter(c byte, row int) int {
	k := classes[c]
	r.seen |= k
	row = (row + 1) & -int(k>>4&1)
	r.cluster += int(uint(3-row) >> (bits.UintSize - 1)) // one when row > 3
	return row
}

func (r *run) segment(letters int) {
	r.word++
	if letters > 6 {
		r.long += letters - 6
		r.veryLong += max(0, letters-12)
	}
}

// ended adds a run of letters and digits, as what it proves to be.
func (s *scanner) ended(r *run, from, to int) {
	length := to - from
	joined := s.accent && class(s.text[from]) == clLower
	s.at, s.punct, s.accent = to, false, false
	if r.digit > 0 && r.word > 0 && r.seen&notHex == 0 && length >= minHex {
		s.f[Hex] += length
		s.opaque = false
		return
	}
	// Random letters and digits change class every two or three characters, names and words every five or more.
	if (r.word+r.digit)*7 >= length*2 && r.digit+r.hump > 0 && (length >= minOpaque || s.opaque && length > 3) {
		s.f[Opaque] += length
		s.opaque = true
		return
	}
	s.opaque = false
	if joined {
		r.word--
	}
	f := &s.f
	f[Word] += r.word
	f[Long] += r.long
	f[VeryLong] += r.veryLong
	f[Hump] += r.hump
	f[Caps] += r.caps
	f[Cluster] += r.cluster
	f[Digits] += r.digits
	f[Digit] += r.digit
}

// blanks takes one run of spaces and tabs. A single one belongs to the word or mark after it.
func (s *scanner) blanks() {
	from, n := s.at, len(s.text)
	i := from + 1
	for i < n && class(s.text[i]) == clBlank {
		i++
	}
	s.at, s.opaque, s.accent = i, false, false
	if i < n && class(s.text[i]) == clNewline {
		return // trailing blanks are part of the line end's token
	}
	s.punct = false
	if i-from > 1 {
		s.f[Space]++
	} else if s.text[from] == '\t' {
		s.f[Tab]++
	}
	if i < n && class(s.text[i]) == clDigit {
		s.f[Blank]++
	}
}

// newlines takes one run of line ends; empty lines cost nothing more.
func (s *scanner) newlines() {
	i, n := s.at+1, len(s.text)
	for i < n && class(s.text[i]) == clNewline {
		i++
	}
	s.at, s.opaque, s.accent = i, false, false
	if s.punct {
		s.f[Wrap]++
	} else {
		s.f[Newline]++
	}
	s.punct = false
}

// punctuation takes one run of ASCII marks and control characters.
func (s *scanner) punctuation() {
	from, n := s.at, len(s.text)
	i := from + 1
	prev := s.text[from]
	quote := prev == '"'
	changes, same := 0, 0
	for i < n && class(s.text[i]) == clPunct {
		c := s.text[i]
		if c != prev {
			changes++
			prev = c
			same = 0
		} else if same++; same > 3 {
			s.f[Reps]++
		}
		quote = quote || c == '"'
		i++
	}
	s.at, s.accent = i, false
	if s.opaque && i == from+1 && (prev == '+' || prev == '/' || prev == '=') {
		s.f[Opaque]++
		return
	}
	s.opaque, s.punct = false, true
	if i == from+1 && i < n && (class(s.text[i]) == clLower || class(s.text[i]) == clUpper) {
		s.f[Glue]++
		return
	}
	s.f[Punct]++
	if quote {
		s.f[Quote] += changes
	} else {
		s.f[Extra] += changes
	}
}

// runes takes a run of bytes that are not ASCII.
func (s *scanner) runes() {
	s.punct, s.opaque = false, false
	n, prev := len(s.text), rune(0)
	for s.at < n && s.text[s.at] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		s.at += size
		f := script(r)
		if f == Other && r == prev {
			f = Repeat
		}
		s.f[f]++
		prev = r
		s.accent = f == Accent
	}
}

// script says which feature a rune that is not ASCII counts as.
func script(r rune) Feature {
	switch {
	case r < 0xA0:
		return Other
	case r < 0x0370: // Latin-1 signs and letters, Latin extensions, combining marks
		if r < 0xC0 && r != 0xAA && r != 0xB5 && r != 0xBA || r == 0xD7 || r == 0xF7 {
			return Other
		}
		return Accent
	case r >= 0x0400 && r < 0x0530:
		return Cyrillic
	case r >= 0x0600 && r < 0x0780 || r >= 0x0900 && r < 0x0E00:
		return Script
	case r < 0x1100: // Greek, Armenian, Hebrew, Thai, Lao, Tibetan, Myanmar, Georgian
		return Rare
	case r < 0x1200 || r >= 0x3130 && r < 0x3190 || r >= 0xA960 && r < 0xA980 || r >= 0xAC00 && r < 0xD7FC:
		return Hangul
	case r < 0x1E00: // Ethiopic, Cherokee, Khmer, Mongolian and others
		return Rare
	case r < 0x1F00: // Latin with accents
		return Accent
	case r < 0x2000: // Greek with accents
		return Rare
	case r < 0x2E80: // punctuation, arrows, mathematics, box drawing, dingbats, Braille
		return Other
	case r >= 0x3040 && r < 0x3100 || r >= 0x31F0 && r < 0x3200 || r >= 0xFF66 && r < 0xFFA0:
		return Kana
	case r < 0xA000 || r >= 0xF900 && r < 0xFB00 || r >= 0xFF00 && r < 0xFFF0 || r >= 0x20000 && r < 0x32000:
		return Han // with CJK punctuation and full-width forms, which cost about the same
	case r >= 0xFB1D && r < 0xFE00 || r >= 0xFE70 && r < 0xFEFF:
		return Script
	case r >= 0x10000:
		return Emoji
	}
	return Other
}
