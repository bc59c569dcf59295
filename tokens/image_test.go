package tokens_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"varve.dev/message"
	"varve.dev/tokens"
)

// The rules of Claude models up to 4.6 and from 4.7 on, as package caps has them.
var (
	claude46 = tokens.ImageRule{Kind: "patch", Size: 28, MaxEdge: 1568, Cap: 1568}
	claude47 = tokens.ImageRule{Kind: "patch", Size: 28, MaxEdge: 2576, Cap: 4784}
)

// TestImageRule: images by the provider's own size rule (G-7), capped by model generation.
func TestImageRule(t *testing.T) {
	tile := tokens.ImageRule{Kind: "tile", Size: 768, PerTile: 258, Small: 384}
	for _, c := range []struct {
		name       string
		rule       tokens.ImageRule
		w, h, want int
	}{
		{"one patch", claude46, 28, 28, 1},
		{"a patch begun", claude46, 29, 28, 2},
		{"screen, older", claude46, 1000, 1000, 36 * 36},
		{"screen, capped", claude46, 1568, 1568, 1568},
		{"screen, newer", claude47, 1568, 1568, 56 * 56},
		{"newer, capped", claude47, 2576, 2576, 4784},
		{"scaled down first", claude46, 3136, 280, 56 * 5},
		{"8000 on a side", claude47, 8000, 8000, 4784},
		{"a line", claude47, 8000, 1, 92},
		{"small", tile, 384, 384, 258},
		{"four tiles", tile, 1000, 1000, 4 * 258},
		{"flat", tokens.ImageRule{Kind: "flat", Base: 1120}, 10, 10, 1120},
		{"flat, unknown size", tokens.ImageRule{Kind: "flat", Base: 1120}, 0, 0, 1120},
		{"base and tiles", tokens.ImageRule{Kind: "tile", Size: 512, Base: 70, PerTile: 140}, 1024, 512, 70 + 280},
		{"no rule", tokens.ImageRule{}, 100, 100, tokens.FlatImage},
		{"unknown rule", tokens.ImageRule{Kind: "voxel", Size: 3}, 100, 100, tokens.FlatImage},
		{"unknown size", claude47, 0, 0, tokens.FlatImage},
	} {
		if got := c.rule.Tokens(c.w, c.h); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// pictures returns one image of 123 × 45 pixels in each format.
func pictures(t testing.TB) map[string][]byte {
	t.Helper()
	rgba := image.NewRGBA(image.Rect(0, 0, 123, 45))
	out := map[string][]byte{}
	var b bytes.Buffer
	if err := png.Encode(&b, rgba); err != nil {
		t.Fatal(err)
	}
	out["png"] = bytes.Clone(b.Bytes())
	b.Reset()
	if err := gif.Encode(&b, rgba, nil); err != nil {
		t.Fatal(err)
	}
	out["gif"] = bytes.Clone(b.Bytes())
	b.Reset()
	if err := jpeg.Encode(&b, rgba, nil); err != nil {
		t.Fatal(err)
	}
	out["jpeg"] = bytes.Clone(b.Bytes())
	// A JPEG with 300 kB of metadata before its frame header, and padding before a marker.
	big := append([]byte{}, out["jpeg"][:2]...)
	for range 5 {
		big = append(append(big, 0xFF, 0xFF, 0xE1, 0xEA, 0x60), make([]byte, 60_000-2)...)
	}
	out["jpeg with metadata"] = append(big, out["jpeg"][2:]...)
	riff := func(chunk string, data []byte) []byte {
		b := append([]byte("RIFF\x00\x00\x00\x00WEBP"), chunk...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
		return append(b, data...)
	}
	out["webp lossy"] = riff("VP8 ", []byte{0, 0, 0, 0x9D, 0x01, 0x2A, 123, 0, 45, 0, 0, 0})
	out["webp lossless"] = riff("VP8L", append(binary.LittleEndian.AppendUint32([]byte{0x2F}, 122|44<<14), 0, 0, 0, 0, 0))
	out["webp extended"] = riff("VP8X", []byte{0, 0, 0, 0, 122, 0, 0, 44, 0, 0, 0, 0})
	return out
}

func TestDimensions(t *testing.T) {
	for name, data := range pictures(t) {
		if w, h, ok := tokens.Dimensions(data); !ok || w != 123 || h != 45 {
			t.Errorf("%s: %d × %d, %v", name, w, h, ok)
		}
		text := base64.StdEncoding.EncodeToString(data)
		if w, h, ok := tokens.Dimensions64([]byte(text)); !ok || w != 123 || h != 45 {
			t.Errorf("%s in base64: %d × %d, %v", name, w, h, ok)
		}
		for cut := range min(len(data), 29) {
			if w, h, ok := tokens.Dimensions(data[:cut]); ok && (w != 123 || h != 45) {
				t.Errorf("%s cut at %d: %d × %d", name, cut, w, h)
			}
		}
	}
	for _, bad := range []string{"", "GIF89a", "\xff\xd8", "\xff\xd8\xff\xe0\x00\x00", "\xff\xd8\xff\xda\x00\x08", "\xff\xd8\xff\xd9", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x00\x00\x00\x00\x05",
		"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\xff\xff\xff\xff\x00\x00\x00\x05", "RIFF0000WEBPVP8?" + strings.Repeat("x", 30), "<svg>"} {
		if w, h, ok := tokens.Dimensions([]byte(bad)); ok {
			t.Errorf("%q: %d × %d", bad, w, h)
		}
	}
}

// FuzzDimensions: a header never makes it fail, or say a size that is none.
func FuzzDimensions(f *testing.F) {
	for _, data := range pictures(f) {
		f.Add(data[:min(len(data), 2000)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, h, ok := tokens.Dimensions(data)
		if ok != (w > 0 && h > 0) {
			t.Fatalf("%d × %d, %v", w, h, ok)
		}
	})
}

// TestImageBlocks: an image block is counted by its dimensions, a document by its text or its pages.
func TestImageBlocks(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 560, 280))); err != nil {
		t.Fatal(err)
	}
	e := tokens.Estimator{Images: claude47}
	if got := e.Block(message.Image("image/png", b.Bytes())); got != 20*10 {
		t.Errorf("image: %d", got)
	}
	if got := (tokens.Estimator{}).Block(message.Image("image/png", b.Bytes())); got != tokens.FlatImage {
		t.Errorf("image without a rule: %d", got)
	}
	if got := e.Block(message.Image("image/png", []byte("nonsense"))); got != tokens.FlatImage {
		t.Errorf("unreadable image: %d", got)
	}
	if got := e.Block(message.ToolResult("t", false, message.Image("image/png", b.Bytes()))); got < 200 || got > 250 {
		t.Errorf("image in a result: %d", got)
	}
	var pdf strings.Builder
	pdf.WriteString("%PDF-1.4\n<< /Type /Pages /Count 7 >>\n")
	for i := range 7 {
		// Some marks lie across the pieces in which the file is read.
		fmt.Fprintf(&pdf, "%d 0 obj << /Type /Page /Parent 1 0 R >>\n%s\n", i, strings.Repeat("x", 16_350))
	}
	if got := e.Block(message.Document("application/pdf", []byte(pdf.String()))); got != 7*tokens.FlatImage {
		t.Errorf("document of seven pages: %d", got)
	}
	if got := e.Block(message.Document("application/pdf", make([]byte, 950_000))); got != 9*tokens.FlatImage {
		t.Errorf("document of 950 kB, compressed: %d", got)
	}
	text, err := message.ParseBlock([]byte(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + strings.Repeat("word ", 1000) + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Block(text); got < 950 || got > 1050 {
		t.Errorf("document of 1,000 words: %d", got)
	}
	url, err := message.ParseBlock([]byte(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Block(url); got != tokens.FlatImage {
		t.Errorf("image at a URL: %d", got)
	}
}
