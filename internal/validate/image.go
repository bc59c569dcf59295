package validate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"  // DecodeConfig
	_ "image/jpeg" // DecodeConfig
	_ "image/png"  // DecodeConfig
	"io"
	"slices"
)

// imageTypes are the media types of images that the API takes.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// headerBytes is how much of an image is decoded to find its size; photographs carry up to 64 KiB of metadata before it.
const headerBytes = 1 << 17

// media looks at an image or a document, in a message or inside a result.
func (l *looker) media(s *seen, o object, typ, at string) {
	if typ != "image" && typ != "document" {
		return
	}
	im := picture{path: at}
	src, err := parseObject(o.get("source"))
	kind, _ := src.str("type")
	if err != nil || kind == "" {
		s.report(at, RuleImageType, "%s without a source", typ)
	}
	if kind == "base64" {
		data := src.get("data")
		switch n := len(data) - len(`""`); {
		case n <= 0:
			s.report(at, RuleImageType, "%s without bytes", typ)
		case typ == "image" && n > l.opt.MaxImageBytes:
			s.report(at, RuleImageBytes, "image exceeds %d bytes of base64: it has %d", l.opt.MaxImageBytes, n)
		}
		if mt, _ := src.str("media_type"); typ == "image" && !slices.Contains(imageTypes, mt) {
			s.report(at, RuleImageType, "media type %q, want one of %v", mt, imageTypes)
		}
		if typ == "image" {
			im.width, im.height = pixels(data)
		}
	}
	s.images = append(s.images, im)
}

// pixels reads the size of an image from the start of its base64 text; 0, 0 when it is of a format that cannot be read here (webp).
func pixels(data json.RawMessage) (w, h int) {
	if len(data) < 2 || data[0] != '"' {
		return 0, 0
	}
	head := io.LimitReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data[1:len(data)-1])), headerBytes)
	c, _, err := image.DecodeConfig(head)
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// images holds the request's images against the limits that depend on their number.
func (r *run) images() {
	n := 0
	for _, i := range r.notable {
		n += len(r.msgs[i].images)
	}
	if n == 0 {
		return
	}
	limit := maxPixels
	if n > manyImages {
		limit = maxPixelsWhenMany
	}
	if n > r.opt.MaxImages {
		r.report("", RuleImageCount, "%d images and documents, at most %d", n, r.opt.MaxImages)
	}
	for _, i := range r.notable {
		for _, im := range r.msgs[i].images {
			if im.width > limit || im.height > limit {
				r.report(path(i, whole)+im.path, RuleImagePixels, "image of %d×%d pixels, at most %d a side with %s", im.width, im.height, limit, count(n, "image"))
			}
		}
	}
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
