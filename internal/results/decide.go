package results

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/message"
	"varve.dev/transcript"
)

// KindToolResult is the kind of the replacements this package makes and applies; others are left alone.
const KindToolResult = "tool-result"

// Limits say what is large. The zero value means [DefaultLimits], member by member.
type Limits struct {
	Result  int  // characters of one result; a tool's own limit may be lower
	Message int  // characters of the results of one user message together
	Preview int  // bytes of a result that is on disk which the model sees at once
	UTF16   bool // characters are UTF-16 code units, as in the reference; else code points
}

// DefaultLimits are those of SPEC.
var DefaultLimits = Limits{Result: 50_000, Message: 200_000, Preview: 2_000}

func (l Limits) filled() Limits {
	l.Result = cmp.Or(l.Result, DefaultLimits.Result)
	l.Message = cmp.Or(l.Message, DefaultLimits.Message)
	l.Preview = cmp.Or(l.Preview, DefaultLimits.Preview)
	return l
}

// count counts the characters of s.
func (l Limits) count(s string) int {
	n := utf8.RuneCountInString(s)
	if l.UTF16 {
		for i := range len(s) {
			if s[i] >= 0xf0 { // starts a code point beyond U+FFFF: two units
				n++
			}
		}
	}
	return n
}

// A Result is a tool_result block of the user message that is about to be sent.
type Result struct {
	Block message.Block
	// Limit is the tool's own limit in characters; 0 means that it has none. It can only lower [Limits].Result.
	Limit int
	// Whole says that this is what a tool read from a file of this kind ([Decisions.Holds]): it never goes to disk again, or the
	// model would be sent in a circle. The tool itself bounds how much it reads.
	Whole bool
}

// Decisions are what was decided about the results of one session. Not safe for concurrent use.
type Decisions struct {
	folder   Folder
	limits   Limits
	replaced map[string]string // tool-use id → what the model sees
	sent     map[string]bool   // tool-use ids that the model saw, replaced or whole
	files    map[string]bool   // paths that replacements name
}

// New returns decisions for a session with no results yet. Nothing is created on disk before the first large result.
func New(folder Folder, limits Limits) *Decisions {
	return &Decisions{folder: folder, limits: limits.filled(), replaced: map[string]string{}, sent: map[string]bool{}, files: map[string]bool{}}
}

// Load takes over what a log says was decided, in the order of the log: the first for a tool-use id wins (T-12).
func (d *Decisions) Load(rs ...transcript.Replacement) {
	for _, r := range rs {
		if _, ok := d.replaced[r.ToolUseID]; ok || r.Kind != KindToolResult || r.ToolUseID == "" {
			continue
		}
		d.replaced[r.ToolUseID] = r.Replacement
		if p := Path(r.Replacement); p != "" {
			d.files[p] = true
		}
	}
}

// Sent says that the results of these calls are being sent or were: those without a replacement stay whole from now on.
func (d *Decisions) Sent(ids ...string) {
	for _, id := range ids {
		d.sent[id] = true
	}
}

// SentIn returns the ids of the results in ms that the model must have seen, since it answered after them.
func SentIn(ms []message.Message) []string {
	last := len(ms) - 1
	for last >= 0 && ms[last].Role != message.RoleAssistant {
		last--
	}
	var ids []string
	for _, m := range ms[:max(0, last)] {
		for _, b := range m.Content {
			if b.Type == message.TypeToolResult {
				ids = append(ids, b.ToolUseID)
			}
		}
	}
	return ids
}

// Holds reports whether path names a result on disk: a file of the session's folder, or one that a decision names (of the session
// this one was forked from). It does not look at the disk.
func (d *Decisions) Holds(path string) bool { return d.files[path] || d.folder.holds(path) }

// A SaveError says that the file of one result could not be written. The result stays whole for now; the next Decide tries again.
type SaveError struct {
	ToolUseID string
	Err       error
}

func (e *SaveError) Error() string {
	return fmt.Sprintf("results: the output of call %s is too large and could not be saved: %v; free space or check the permissions of the session's folder", e.ToolUseID, e.Err)
}
func (e *SaveError) Unwrap() error { return e.Err }

// Decide looks at the results of one user message (all that the API merges into one), writes those to disk that are too large and
// returns what was newly decided, in the order of the results, to be appended as an entry before the request is sent. First goes every
// result over its own limit; if the message is still too large, the largest of the others, those not sent yet, until it is not
// one of these that would not get shorter stays. Where previews alone would break the limit of the message they are made shorter.
//
// The error joins a [SaveError] for each file that could not be written; what is returned beside it is decided and valid.
func (d *Decisions) Decide(rs []Result) ([]transcript.Replacement, error) {
	chosen, fits := d.plan(rs, d.limits.Preview)
	for preview := d.limits.Preview; !fits && preview > 0; {
		preview /= 4
		if shorter, ok := d.plan(rs, preview); ok {
			chosen, fits = shorter, true
		}
	}
	var out []transcript.Replacement
	var errs []error
	for _, c := range chosen {
		path, err := d.folder.save(c.id, c.text)
		if err != nil {
			errs = append(errs, &SaveError{c.id, err})
			continue
		}
		r := transcript.Replacement{Kind: KindToolResult, ToolUseID: c.id, Replacement: form(path, c.text, c.preview)}
		d.Load(r)
		out = append(out, r)
	}
	return out, errors.Join(errs...)
}

// A choice is a result that is to go to disk.
type choice struct {
	index, preview int
	id, text       string
	size, gain     int // characters; gain is what its form saves
	over           bool
}

// plan chooses the results that go to disk with previews of that size, in the order of rs, and reports whether the message is within
// its limit then.
func (d *Decisions) plan(rs []Result, preview int) (chosen []choice, fits bool) {
	total := 0
	var open []choice
	seen := map[string]bool{}
	for i, r := range rs {
		id := r.Block.ToolUseID
		if rep, ok := d.replaced[id]; ok {
			total += d.limits.count(rep)
			continue
		}
		text := contentText(r.Block)
		c := choice{index: i, preview: preview, id: id, text: text, size: d.limits.count(text)}
		total += c.size
		if d.sent[id] || r.Whole || id == "" || seen[id] || isForm(text, d.limits.Preview) {
			continue
		}
		seen[id] = true
		limit := d.limits.Result
		if r.Limit > 0 {
			limit = min(limit, r.Limit)
		}
		c.over = c.size > limit
		open = append(open, c)
	}
	// Those over their own limit first, then by size; of two the earlier.
	slices.SortStableFunc(open, func(a, b choice) int {
		if a.over != b.over {
			if a.over {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.size, a.size)
	})
	for _, c := range open {
		if !c.over && total <= d.limits.Message {
			break
		}
		c.gain = c.size - d.limits.count(form(d.folder.path(c.id, c.text), c.text, preview))
		if c.over || c.gain > 0 {
			total -= c.gain
			chosen = append(chosen, c)
		}
	}
	slices.SortFunc(chosen, func(a, b choice) int { return cmp.Compare(a.index, b.index) })
	return chosen, total <= d.limits.Message
}

// isForm reports whether a result is in the persisted form already, as the reference's tools write it themselves. A tool's output may
// pretend to be; it has to be as short as a form then.
func isForm(text string, preview int) bool {
	const longestPath = 4096 // PATH_MAX on Linux
	return len(text) <= preview+longestPath+256 && Path(text) != ""
}

// Apply returns the result as the model sees it: b itself, or with its text replaced. It depends on b and on what was decided alone.
// Images and documents stay where they are; all text becomes the replacement. All bytes of b but its content are kept.
func (d *Decisions) Apply(b message.Block) message.Block {
	rep, ok := d.replaced[b.ToolUseID]
	if !ok || b.Type != message.TypeToolResult {
		return b
	}
	return message.ReplaceText(b, rep)
}

// contentText is the text of a result: that of its text blocks, and the JSON of others that are text, one after the other in lines.
func contentText(b message.Block) string {
	if len(b.Content) == 1 && b.Content[0].Type == message.TypeText {
		return b.Content[0].Text
	}
	var s strings.Builder
	for _, c := range b.Content {
		if !message.IsText(c) {
			continue
		}
		if t := s.String(); t != "" && !strings.HasSuffix(t, "\n") {
			s.WriteByte('\n')
		}
		if c.Type == message.TypeText {
			s.WriteString(c.Text)
		} else {
			s.Write(c.Raw)
		}
	}
	return s.String()
}
