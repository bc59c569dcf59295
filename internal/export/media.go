package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// leastMedia is the length from which a base64 text is left out; shorter ones
// are no burden to a reader.
const leastMedia = 256

// withoutMedia returns a JSON value with the bytes of images and documents
// replaced by a note of their size: strings under the name "data" beside a
// media type, and under "base64". All other bytes are kept. What is no JSON is
// returned as it is.
func withoutMedia(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`"base64"`)) {
		return raw
	}
	spans := mediaSpans(raw)
	if len(spans) == 0 {
		return raw
	}
	var out []byte
	at := 0
	for _, s := range spans {
		out = append(out, raw[at:s[0]]...)
		out = append(out, `"[left out: `+size((s[1]-s[0]-2)/4*3)+`]"`...)
		at = s[1]
	}
	return append(out, raw[at:]...)
}

// frame is an open object or array while a value is walked.
type frame struct {
	object, wantKey, isMedia bool
	key                      string
	data                     [][2]int // strings under "data"
}

// mediaSpans returns the ranges of the string literals to leave out, nil where
// raw cannot be read.
func mediaSpans(raw []byte) [][2]int {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var spans [][2]int
	stack := []frame{{}}
	for prev := 0; ; {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return spans
		}
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		start := prev
		for start < end && bytes.IndexByte([]byte(" \t\r\n,:"), raw[start]) >= 0 {
			start++
		}
		prev = end
		top := &stack[len(stack)-1]
		switch t {
		case json.Delim('{'), json.Delim('['):
			stack = append(stack, frame{object: t == json.Delim('{'), wantKey: true})
			continue
		case json.Delim('}'), json.Delim(']'):
			if top.isMedia {
				spans = append(spans, top.data...)
			}
			stack = stack[:len(stack)-1]
			stack[len(stack)-1].wantKey = true
			continue
		}
		if !top.object {
			continue
		}
		text, isString := t.(string)
		if top.wantKey {
			top.key, top.wantKey = text, false
			continue
		}
		top.wantKey = true
		switch {
		case !isString:
		case top.key == "media_type", top.key == "type" && text == "base64":
			top.isMedia = true
		case len(text) < leastMedia:
		case top.key == "data":
			top.data = append(top.data, [2]int{start, end})
		case top.key == "base64":
			spans = append(spans, [2]int{start, end})
		}
	}
}
