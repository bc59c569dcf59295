package tokens

import (
	"encoding/json"
	"math"
	"unicode/utf8"
	"unsafe"

	"varve.dev/message"
)

// Estimator estimates content blocks and messages. The zero value is the default estimator (G-7) with [FlatImage] for each
// image. It may be used by any number of goroutines.
type Estimator struct {
	// Reference selects the reference's estimate (B-1) in place of the default: UTF-16 units / 4, images and documents
	// 2,000 each, the total × 4/3, rounded up.
	Reference bool
	// Images is the model's rule for images; not used in reference mode.
	Images ImageRule
	// Memo remembers what texts count; nil: every text is counted each time. Not used in reference mode.
	Memo *Memo
}

// Block returns the estimated tokens of one block with everything in it.
func (e Estimator) Block(b message.Block) int {
	var s sum
	s.block(e, b)
	return s.total(e)
}

// Message returns the estimated tokens of one message.
func (e Estimator) Message(m message.Message) int {
	var s sum
	s.message(e, m)
	return s.total(e)
}

// Messages returns the estimated tokens of messages together. In reference mode it is not the sum of [Estimator.Message],
// because only the total is rounded.
func (e Estimator) Messages(ms []message.Message) int {
	var s sum
	for _, m := range ms {
		s.message(e, m)
	}
	return s.total(e)
}

// sum adds up what was seen: UTF-16 units in reference mode, features by default.
type sum struct {
	features Features
	units    int
	flat     int // images and documents
	extra    float64
}

func (s *sum) total(e Estimator) int {
	if e.Reference {
		// (units/4 + flat) × 4/3, rounded up.
		return (s.units + 4*s.flat + 2) / 3
	}
	return int(math.Ceil(s.features.Tokens() + s.extra + float64(s.flat)))
}

func (s *sum) text(e Estimator, t string) {
	if e.Reference {
		s.units += utf16Len(t)
		return
	}
	f := e.Memo.scan(t)
	s.features.Add(&f)
}

func (s *sum) json(e Estimator, raw json.RawMessage) {
	if e.Reference {
		s.units += utf16Len(unsafe.String(unsafe.SliceData(raw), len(raw)))
		return
	}
	f := e.Memo.scan(unsafe.String(unsafe.SliceData(raw), len(raw)))
	s.features.Add(&f)
}

func (s *sum) message(e Estimator, m message.Message) {
	s.extra += messageOverhead
	for _, b := range m.Content {
		s.block(e, b)
	}
}

// What surrounds the content of blocks in a prompt, and what is not in their text, in o200k tokens. Fitted to the usage
// figures of some 3,000 turns of Claude Code sessions of the models 4.5 to 5 (docs/tokens.md).
const (
	toolUseOverhead    = 36.0 // markup of a call, its id
	toolResultOverhead = 24.0
	messageOverhead    = 4.0
	// signatureTokens is what a character of a thinking signature counts: the signature holds the reasoning itself, of
	// which the text is a summary or nothing.
	signatureTokens = 0.17
)

func (s *sum) block(e Estimator, b message.Block) {
	switch b.Type {
	case message.TypeText:
		s.text(e, b.Text)
	case message.TypeThinking:
		s.thinking(e, b)
	case message.TypeRedactedThinking:
		if e.Reference {
			s.text(e, b.Data)
		} else {
			s.extra += signatureTokens * float64(len(b.Data))
		}
	case message.TypeToolUse:
		s.text(e, b.Name)
		s.json(e, b.Input)
		s.extra += toolUseOverhead
	case message.TypeToolResult:
		for _, c := range b.Content {
			s.block(e, c)
		}
		s.extra += toolResultOverhead
	case message.TypeImage, message.TypeDocument:
		s.media(e, b)
	default:
		s.json(e, b.Raw)
	}
}

// thinking counts the text (B-1), or by default the signature where that says more.
func (s *sum) thinking(e Estimator, b message.Block) {
	if e.Reference {
		s.text(e, b.Text)
		return
	}
	f := e.Memo.scan(b.Text)
	if hidden := signatureTokens * float64(len(b.Signature)); hidden > f.Tokens() {
		s.extra += hidden
		return
	}
	s.features.Add(&f)
}

// media counts an image by the provider's rule, a document by its text or its pages.
func (s *sum) media(e Estimator, b message.Block) {
	src := b.Source
	switch {
	case e.Reference || src == nil:
		s.flat += FlatImage
	case b.Type == message.TypeImage:
		w, h := 0, 0
		if src.Type == "base64" {
			w, h, _ = Dimensions64(src.Data)
		}
		s.flat += e.Images.Tokens(w, h)
	case src.Type == "base64":
		s.flat += FlatImage * pdfPages(src.Data)
	case src.Type == "text":
		f := ScanBytes(src.Data)
		s.features.Add(&f)
	case src.Type == "content":
		s.json(e, b.Raw)
	default: // a URL or an uploaded file: nothing to measure here
		s.flat += FlatImage
	}
}

// utf16Len counts the UTF-16 units of a text, as JavaScript's length does; bytes that are not UTF-8 count one each.
func utf16Len(s string) int {
	n := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			n++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}
