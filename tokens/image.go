package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
)

// FlatImage is what an image or a document counts in the reference's estimate (B-1), and what it counts here when neither
// a rule nor its dimensions are known. It is also charged for each page of a PDF.
const FlatImage = 2000

// ImageRule says what an image costs with a provider, as plain data (package caps has the rule of each model; its type has
// the same fields, so that one converts to the other). The zero rule charges [FlatImage].
type ImageRule struct {
	Kind string // "patch", "tile", "flat"; anything else is FlatImage

	// MaxEdge scales larger images down first, so that the longer side has that many pixels; 0 = not.
	MaxEdge int
	// Size is the side of a patch or tile, in pixels.
	Size int
	// Base is added once; PerTile is charged for each patch or tile (patch: 1 when 0). For "flat", Base is all.
	Base, PerTile int
	// Cap is the most patches or tiles that are charged; 0 = no limit.
	Cap int
	// Small is the side up to which, in both directions, a single tile is charged; 0 = none.
	Small int
}

// Tokens returns what an image of w × h pixels costs; FlatImage when the rule or the dimensions are not known.
func (r ImageRule) Tokens(w, h int) int {
	if r.Kind == "flat" && r.Base > 0 {
		return r.Base
	}
	if r.Kind != "patch" && r.Kind != "tile" || r.Size <= 0 || w <= 0 || h <= 0 {
		return FlatImage
	}
	if long := max(w, h); r.MaxEdge > 0 && long > r.MaxEdge {
		f := float64(r.MaxEdge) / float64(long)
		w, h = max(1, int(math.Round(float64(w)*f))), max(1, int(math.Round(float64(h)*f)))
	}
	n := ceil(w, r.Size) * ceil(h, r.Size)
	if r.Small > 0 && w <= r.Small && h <= r.Small {
		n = 1
	}
	if r.Cap > 0 {
		n = min(n, r.Cap)
	}
	return r.Base + n*max(1, r.PerTile)
}

func ceil(a, b int) int { return (a + b - 1) / b }

// maxHeader bounds how far into an image its size is looked for: JPEG files carry previews and colour profiles before it.
const maxHeader = 1 << 20

// maxSide is the largest width or height that is believed.
const maxSide = 1 << 20

// Dimensions reads width and height, in pixels, from the header of a PNG, JPEG, GIF or WebP image, without decoding it.
// ok is false for anything else, and for a header that is cut off.
func Dimensions(image []byte) (w, h int, ok bool) { return dimensions(bytes.NewReader(image)) }

// Dimensions64 is [Dimensions] for an image in base64 (standard alphabet), of which it decodes only what it needs.
func Dimensions64(image []byte) (w, h int, ok bool) {
	return dimensions(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(image)))
}

func dimensions(r io.Reader) (w, h int, ok bool) {
	r = io.LimitReader(r, maxHeader)
	var head [30]byte
	n, _ := io.ReadFull(r, head[:])
	b := head[:n]
	switch {
	case n >= 24 && string(b[:8]) == "\x89PNG\r\n\x1a\n" && string(b[12:16]) == "IHDR":
		w, h = int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
	case n >= 10 && (string(b[:6]) == "GIF87a" || string(b[:6]) == "GIF89a"):
		w, h = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
	case n >= 4 && b[0] == 0xFF && b[1] == 0xD8:
		w, h = jpegSize(io.MultiReader(bytes.NewReader(b[2:]), r))
	case n >= 30 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		w, h = webpSize(b[12:])
	}
	if w <= 0 || h <= 0 || w > maxSide || h > maxSide {
		return 0, 0, false
	}
	return w, h, true
}

// jpegSize walks the segments of a JPEG file, after its first marker, to the frame header.
func jpegSize(r io.Reader) (w, h int) {
	var b [5]byte
	for {
		// A marker is 0xFF, any number of times, and a code.
		if _, err := io.ReadFull(r, b[:1]); err != nil || b[0] != 0xFF {
			return 0, 0
		}
		for b[0] == 0xFF {
			if _, err := io.ReadFull(r, b[:1]); err != nil {
				return 0, 0
			}
		}
		code := b[0]
		if code == 0x01 || code >= 0xD0 && code <= 0xD8 {
			continue // no parameters
		}
		if code == 0xD9 || code == 0xDA {
			return 0, 0 // the picture begins, or ends, without a frame header
		}
		if _, err := io.ReadFull(r, b[:2]); err != nil {
			return 0, 0
		}
		length := int64(binary.BigEndian.Uint16(b[:])) - 2
		if code >= 0xC0 && code <= 0xCF && code != 0xC4 && code != 0xC8 && code != 0xCC {
			if _, err := io.ReadFull(r, b[:5]); err != nil || length < 5 {
				return 0, 0
			}
			return int(binary.BigEndian.Uint16(b[3:])), int(binary.BigEndian.Uint16(b[1:]))
		}
		if length < 0 {
			return 0, 0
		}
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return 0, 0
		}
	}
}

// webpSize reads the first chunk of a WebP file, which has at least 18 bytes here.
func webpSize(b []byte) (w, h int) {
	switch data := b[8:]; string(b[:4]) {
	case "VP8X": // extended: 24-bit sizes, less one
		w = int(data[4]) | int(data[5])<<8 | int(data[6])<<16
		h = int(data[7]) | int(data[8])<<8 | int(data[9])<<16
		return w + 1, h + 1
	case "VP8L": // lossless: 14-bit sizes, less one, after a signature byte
		if data[0] != 0x2F {
			return 0, 0
		}
		v := binary.LittleEndian.Uint32(data[1:])
		return int(v&0x3FFF) + 1, int(v>>14&0x3FFF) + 1
	case "VP8 ": // lossy: frame tag, start code, 14-bit sizes
		if data[3] != 0x9D || data[4] != 0x01 || data[5] != 0x2A {
			return 0, 0
		}
		return int(binary.LittleEndian.Uint16(data[6:])) & 0x3FFF, int(binary.LittleEndian.Uint16(data[8:])) & 0x3FFF
	}
	return 0, 0
}

// pdfPages guesses the pages of a PDF in base64: the page objects that stand in the open, or else, where they are
// compressed, one for every 100,000 bytes. It is at least one.
func pdfPages(data []byte) int {
	r := io.LimitReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)), 32<<20)
	buf := make([]byte, 64<<10)
	const mark = "/Type"
	pages, keep := 0, 0
	for {
		n, err := io.ReadFull(r, buf[keep:])
		b := buf[:keep+n]
		done := err != nil
		end := len(b)
		if !done {
			end -= 32 // a mark this near to the end is looked at with the next piece
		}
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte(mark))
			if i < 0 || at+i >= end {
				break
			}
			at += i + len(mark)
			if rest := bytes.TrimLeft(b[at:], " \r\n\t"); bytes.HasPrefix(rest, []byte("/Page")) && !bytes.HasPrefix(rest, []byte("/Pages")) {
				pages++
			}
		}
		if done {
			break
		}
		keep = copy(buf, b[end:])
	}
	if pages == 0 {
		pages = len(data) * 3 / 4 / 100_000
	}
	return max(1, pages)
}
