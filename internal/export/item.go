package export

import (
	"html/template"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// item is one piece of a document: a prompt, a reply or a part of one, a note.
// All of its texts are redacted and cleaned.
type item struct {
	Class     string // user, assistant, note, boundary, summary, meta, attachment: names the style
	Anchor    string // e12, by the line of the log
	Label     string // who or what
	Detail    string // in small print behind the label
	When      string
	Continued bool   // goes on under the heading of the item before
	Folded    string // when set, the blocks stand behind a fold with this text
	Error     bool
	Blocks    []block
}

// block is one piece of an item.
type block struct {
	Kind    string // prompt, text, verbatim, thinking, call, result, image, note, data
	Title   string // call: the tool; thinking, data: the text of the fold
	Summary string // call: what it is about, on one line
	Text    string
	Note    string // a size, a state
	Fields  []field
	Results []block // call: what came of it
	Error   bool
	Image   template.URL
}

// field is one member of a tool's input.
type field struct {
	Name  string
	Value string
	Long  bool // to be shown as a block of its own
	Mark  string
}

// builder makes items of entries.
type builder struct {
	red     *redactor
	opt     Options
	undone  map[string]bool
	results map[string]*transcript.Entry // by tool-use id, within the section
	done    map[resultKey]bool           // results shown with their call
	speaker string                       // who the last item was by, when it was the assistant
	spoke   time.Time                    // when that was
	shown   int
}

// sameBreath is how long one who goes on speaking needs no new heading.
const sameBreath = 10 * time.Minute

type resultKey struct {
	entry *transcript.Entry
	id    string
}

// section calls emit for every item of the entries.
func (b *builder) section(entries []*transcript.Entry, emit func(*item) error) error {
	b.results = map[string]*transcript.Entry{}
	b.done = map[resultKey]bool{}
	b.speaker = ""
	for _, e := range entries {
		for _, id := range e.Results {
			if b.results[id] == nil {
				b.results[id] = e
			}
		}
	}
	for _, e := range entries {
		b.red.at(e)
		it := b.entry(e)
		b.shown++
		if it == nil {
			continue
		}
		it.Anchor = anchor(e)
		it.When = when(e)
		b.heading(e, it)
		if err := emit(it); err != nil {
			return err
		}
	}
	return nil
}

// heading decides whether an item needs one: parts of a reply, and replies that
// follow each other soon, go on under the first.
func (b *builder) heading(e *transcript.Entry, it *item) {
	if it.Class != "assistant" || it.Error {
		b.speaker = ""
		return
	}
	at, _ := e.Time()
	soon := at.Sub(b.spoke).Abs() < sameBreath
	b.spoke = at
	if it.Label == labelResult {
		it.Continued = b.speaker != ""
		return
	}
	speaker := it.Label + it.Detail
	it.Continued = speaker == b.speaker && soon
	b.speaker = speaker
}

// labelResult heads results whose call is not in the section.
const labelResult = "Result"

// entry makes the item of an entry, nil where there is nothing to show.
func (b *builder) entry(e *transcript.Entry) *item {
	switch e.Type {
	case transcript.TypeUser:
		return b.user(e)
	case transcript.TypeAssistant:
		return b.assistant(e)
	case transcript.TypeAttachment:
		return b.attachment(e)
	case transcript.TypeSystem:
		return b.system(e)
	}
	return nil
}

// assistant shows a reply or a part of one.
func (b *builder) assistant(e *transcript.Entry) *item {
	it := &item{Class: "assistant", Label: "Assistant", Error: e.APIError}
	m, err := e.Message()
	if err != nil {
		return b.unreadable(e, err)
	}
	switch {
	case e.APIError:
		it.Label = "Error"
	case m.Model != "" && m.Model != "<synthetic>":
		it.Detail = b.red.text(m.Model)
	}
	for _, c := range m.Content {
		it.Blocks = append(it.Blocks, b.block(e, c)...)
	}
	if len(it.Blocks) == 0 {
		return nil
	}
	return it
}

// block shows one content block of a message; nothing where it is empty or has
// been shown.
func (b *builder) block(e *transcript.Entry, c message.Block) []block {
	switch {
	case c.Type == message.TypeText:
		if message.IsBlank(c.Text) {
			return nil
		}
		return []block{{Kind: "text", Text: b.red.text(c.Text)}}
	case c.IsThinking():
		return b.thinking(c)
	case c.Type == message.TypeToolUse || c.IsServerCall():
		return []block{b.call(e, c)}
	case c.Type == message.TypeToolResult:
		if b.done[resultKey{e, c.ToolUseID}] {
			return nil
		}
		return b.result(c)
	case c.Type == message.TypeImage || c.Type == message.TypeDocument:
		return []block{b.media(c)}
	}
	return []block{b.data(c.Type, c.Raw)}
}

func (b *builder) thinking(c message.Block) []block {
	switch {
	case !message.IsBlank(c.Text):
		return []block{{Kind: "thinking", Title: "Thinking", Text: b.red.text(c.Text), Note: lines(c.Text)}}
	case c.Type == message.TypeRedactedThinking:
		return []block{{Kind: "note", Text: "Thinking that the provider encrypted, " + size(len(c.Data))}}
	}
	return nil // a signature without text
}

// data shows what has no form of its own as JSON behind a fold.
func (b *builder) data(title string, raw []byte) block {
	return block{Kind: "data", Title: b.red.text(title), Text: b.red.text(indent(b.red.json(raw))), Note: size(len(raw))}
}

// unreadable shows an entry whose content cannot be decoded.
func (b *builder) unreadable(e *transcript.Entry, err error) *item {
	it := &item{Class: "note", Label: "Unreadable entry", Detail: b.red.text(err.Error()), Error: true}
	if raw, err := e.Raw(); err == nil {
		it.Blocks = []block{b.data("Bytes of the entry", raw)}
	}
	return it
}
