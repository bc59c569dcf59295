package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// How much of a file a list entry may cost (T-9).
const (
	liteWindow   = 64 << 10  // tail and head that are always looked at
	liteLineMax  = 4 << 20   // how far to go for the end of one long line or the first prompt
	backScanFull = 8 << 20   // how far back to look for a title when the tail has no metadata block
	backScanNear = 256 << 10 // and when it has one, without a title of the user's
	backScanStep = 256 << 10 // bytes of it that are looked at at a time,
	backScanMore = 16 << 10  // and behind them, for a line that begins in them
	liteLong     = backScanStep + backScanMore + 1
	promptMax    = 1000 // bytes of a prompt that are kept
	forkLook     = 4    // entries that are asked for the original of a fork, which begins with copies
)

// Lite is what a list of sessions shows of one. It is read from both ends of the
// file, never by a full scan.
type Lite struct {
	SessionID string // as the records say; the file's name decides identity
	Size      int64

	Title     string // the title to show; "" when none was found
	TitleFrom string // custom-title, ai-title, summary or ""
	Tag       string
	AgentName, AgentColor, AgentSetting,
	Mode, PermissionMode string
	PR       *PRLink
	Worktree *WorktreeState // nil: never set

	FirstPrompt, LastPrompt string    // one line, at most 1,000 bytes
	Branch, CWD, Version    string    // the newest
	FirstCWD                string    // the one the session started in; decides its project
	ForkedFrom              string    // session id of the original of a fork
	First, Last             time.Time // first record; last user or assistant record
	Messages                int       // user and assistant records, estimated unless Whole
	Whole                   bool      // the windows covered the whole file
	Sidechain               bool      // a sub-agent's file
}

// ReadLiteFile is [ReadLite] for the file at path.
func ReadLiteFile(path string) (Lite, []Fault, error) {
	f, size, err := openLog(path)
	if err != nil {
		return Lite{}, nil, err
	}
	defer f.Close()
	return ReadLite(f, size)
}

// ReadLite reads the metadata of a log of size bytes: from its last 64 KiB, its
// first 64 KiB, and, where a title lies deeper, a bounded search backwards.
// Damaged lines in those windows are returned as faults (without line numbers)
// and otherwise passed over. An empty file gives a zero Lite.
func ReadLite(src io.ReaderAt, size int64) (Lite, []Fault, error) {
	r := &liteReader{src: src, lite: Lite{Size: size}, got: make(map[string]bool)}
	defer r.release()
	tailFrom, err := r.tail(size)
	if err != nil {
		return r.lite, r.faults, err
	}
	headTo, err := r.head(tailFrom)
	if err != nil {
		return r.lite, r.faults, err
	}
	if headTo < tailFrom {
		if err := r.backScan(headTo, tailFrom); err != nil {
			return r.lite, r.faults, err
		}
	}
	r.finish(headTo, tailFrom)
	return r.lite, r.faults, nil
}

type liteReader struct {
	src     io.ReaderAt
	lite    Lite
	faults  []Fault
	got     map[string]bool // metadata types seen, from the end
	ai      string
	sum     string
	leafOf  map[string]string // summary text by leaf
	block   bool              // the tail holds a block of re-appended metadata
	windows []*liteBuffer     // to be given back
	counted [][]*Entry        // the entries of the windows, good until release
	count   int               // messages among them
	seen    int64             // bytes in the windows
	cmd     string            // the first slash command, shown where no prompt is
}

func (r *liteReader) read(from, to int64) ([]byte, error) {
	buf := r.buffer(int(to - from))
	n, err := r.src.ReadAt(buf, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("transcript: read at byte %d: %w", from, err)
	}
	return buf[:n], nil
}

// liteBuffer is memory for one window and the entries found in it.
type liteBuffer struct {
	window  [liteWindow]byte
	long    []byte // for windows that are longer; nil while there was none
	entries [liteEntries]Entry
	listed  [liteEntries]*Entry
	used    bool // entries are taken

	// What repeats from line to line repeats from log to log, too, in the lists of
	// one project.
	scan scanner
}

// liteEntries is how many entries of a window are read into memory that is used
// again: as many as most windows hold.
const liteEntries = 48

// liteBuffers keeps them for the next log: a list reads thousands. Nothing that
// ReadLite returns shares memory with them.
var liteBuffers = sync.Pool{New: func() any { return new(liteBuffer) }}

// buffer returns memory for n bytes, which is good until release.
func (r *liteReader) buffer(n int) []byte {
	if n > liteLong {
		return make([]byte, n)
	}
	b := liteBuffers.Get().(*liteBuffer)
	r.windows = append(r.windows, b)
	if n <= liteWindow {
		return b.window[:n]
	}
	if b.long == nil {
		b.long = make([]byte, liteLong)
	}
	return b.long[:n]
}

func (r *liteReader) release() {
	for _, b := range r.windows {
		if b.used {
			clear(b.entries[:])
			clear(b.listed[:])
			if len(b.scan.seen) == maxInterned {
				clear(b.scan.seen) // of logs that were listed long ago
			}
			b.used = false
		}
		liteBuffers.Put(b)
	}
}

// parse reads the whole lines of data, which stands at from in the file. A first
// line that begins before it and a last one that ends behind it are left out.
func (r *liteReader) parse(data []byte, from, size int64) (entries []*Entry, first, end int64) {
	start := 0
	if from > 0 {
		k := bytes.IndexByte(data, '\n')
		if k < 0 {
			return nil, from, from
		}
		start = k + 1
	}
	stop := len(data)
	if from+int64(stop) < size {
		stop = bytes.LastIndexByte(data, '\n') + 1
	}
	if stop <= start {
		return nil, from + int64(start), from + int64(start)
	}
	lr := &lineReader{}
	if n := len(r.windows); n > 0 && !r.windows[n-1].used {
		b := r.windows[n-1]
		b.used = true
		lr.slab, lr.entries, lr.scan = b.entries[:], b.listed[:0], b.scan
		defer func() { b.scan = lr.scan }()
	}
	_ = eachLineOf(context.Background(), data[start:stop], from+int64(start), func(line []byte, off int64, how lineKind) {
		lr.line(line, off, 0, how)
	})
	r.faults = append(r.faults, lr.faults...)
	return lr.entries, from + int64(start), from + int64(stop)
}

// tail reads the last lines; a line longer than the window makes it grow, up to a
// bound.
func (r *liteReader) tail(size int64) (from int64, err error) {
	for window := int64(liteWindow); ; window *= 4 {
		from = max(size-window, 0)
		data, err := r.read(from, size)
		if err != nil {
			return 0, err
		}
		entries, first, _ := r.parse(data, from, size)
		r.faults = dropBefore(r.faults, first)
		if !hasMessage(entries) && from > 0 && window < liteLineMax {
			r.faults = nil
			continue
		}
		for i := len(entries) - 1; i >= 0; i-- {
			r.newest(entries[i])
		}
		r.countIn(entries)
		if from == 0 {
			r.oldest(entries)
			r.lite.Whole = true
		}
		return first, nil
	}
}

func dropBefore(fs []Fault, off int64) []Fault {
	for len(fs) > 0 && fs[0].Offset < off {
		fs = fs[1:]
	}
	return fs
}

func hasMessage(entries []*Entry) bool {
	for _, e := range entries {
		if (e.Type == TypeUser || e.Type == TypeAssistant) && !e.Sidechain {
			return true
		}
	}
	return false
}

func (r *liteReader) countIn(entries []*Entry) {
	r.counted = append(r.counted, entries)
	for _, e := range entries {
		r.seen += int64(e.Len) + 1
		if (e.Type == TypeUser || e.Type == TypeAssistant) && !e.Meta {
			r.count++
		}
	}
}

// newest takes what an entry says, where nothing nearer to the end said it.
func (r *liteReader) newest(e *Entry) {
	l := &r.lite
	if e.SessionID != "" && l.SessionID == "" {
		l.SessionID = e.SessionID
	}
	if e.IsChain() {
		l.Branch, l.CWD, l.Version = first(l.Branch, e.GitBranch), first(l.CWD, e.CWD), first(l.Version, e.Version)
	}
	if (e.Type == TypeUser || e.Type == TypeAssistant) && l.Last.IsZero() {
		if t, ok := e.Time(); ok {
			l.Last = t
		}
	}
	if l.LastPrompt == "" {
		if p, ok := e.PromptText(); ok {
			l.LastPrompt = p
		}
	}
	r.meta(e)
}

func (r *liteReader) meta(e *Entry) {
	l := &r.lite
	if !IsMetadata(e.Type) && e.Type != TypeSummary {
		return
	}
	if e.Type == TypeSummary {
		if v, ok := e.metaValue(); ok {
			if r.leafOf == nil {
				r.leafOf = make(map[string]string)
			}
			r.leafOf[e.LeafUUID] = v
		}
		return
	}
	r.block = true
	if r.got[e.Type] {
		return
	}
	switch e.Type {
	case TypePRLink:
		if p, err := e.PRLink(); err == nil {
			l.PR, r.got[e.Type] = &p, true
		}
		return
	case TypeWorktreeState:
		if w, err := e.WorktreeState(); err == nil {
			l.Worktree, r.got[e.Type] = &w, true
		}
		return
	}
	v, ok := e.metaValue()
	if !ok {
		return
	}
	r.got[e.Type] = true
	switch e.Type {
	case TypeCustomTitle:
		l.Title, l.TitleFrom = v, TypeCustomTitle
	case TypeAITitle:
		r.ai = v
	case TypeTag:
		l.Tag = v
	case TypeAgentName:
		l.AgentName = v
	case TypeAgentColor:
		l.AgentColor = v
	case TypeAgentSetting:
		l.AgentSetting = v
	case TypeMode:
		l.Mode = v
	case TypePermissionMode:
		l.PermissionMode = v
	case TypeLastPrompt:
		l.LastPrompt = clip(v)
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// head reads the first lines, as far as the first prompt, up to a bound. It does
// not read again what the tail covered.
func (r *liteReader) head(tailFrom int64) (to int64, err error) {
	if r.lite.Whole {
		return tailFrom, nil
	}
	for window := int64(liteWindow); ; window *= 4 {
		to := min(window, tailFrom)
		data, err := r.read(0, to)
		if err != nil {
			return 0, err
		}
		keep := r.faults
		entries, _, end := r.parse(data, 0, tailFrom)
		if to == tailFrom {
			end = to
		}
		found := false
		for _, e := range entries {
			_, prompt := e.PromptText()
			cmd, _ := e.commandText()
			if prompt || strings.Contains(cmd, " ") {
				found = true
				break
			}
		}
		if !found && to < tailFrom && window < liteLineMax {
			r.faults = keep
			continue
		}
		r.oldest(entries)
		r.countIn(entries)
		for i := len(entries) - 1; i >= 0; i-- {
			if e := entries[i]; e.Type == TypeSummary || e.Type != TypeLastPrompt && to == tailFrom {
				r.meta(e)
			}
		}
		if end == tailFrom {
			r.lite.Whole = true
		}
		r.headMeta(entries)
		return end, nil
	}
}

// headMeta remembers metadata of the head, which counts only where neither the
// tail nor the search backwards finds newer.
func (r *liteReader) headMeta(entries []*Entry) {
	for _, e := range entries {
		if v, ok := e.metaValue(); ok {
			switch e.Type {
			case TypeCustomTitle:
				r.sum = "custom:" + v
			case TypeAITitle:
				if !strings.HasPrefix(r.sum, "custom:") {
					r.sum = "ai:" + v
				}
			}
		}
	}
}

// oldest takes what the first entries say.
func (r *liteReader) oldest(entries []*Entry) {
	l := &r.lite
	looked := 0
	for _, e := range entries {
		if l.First.IsZero() {
			if t, ok := e.Time(); ok {
				l.First = t
			}
		}
		if l.FirstCWD == "" && e.IsChain() {
			l.FirstCWD = e.CWD
		}
		if l.SessionID == "" {
			l.SessionID = e.SessionID
		}
		if l.ForkedFrom == "" && looked < forkLook && e.IsChain() {
			l.ForkedFrom = e.forkedFrom()
			looked++
		}
		if l.FirstPrompt == "" {
			if p, ok := e.PromptText(); ok {
				l.FirstPrompt = p
			} else if c, ok := e.commandText(); ok && (r.cmd == "" || !strings.Contains(r.cmd, " ")) {
				r.cmd = c // one with arguments says more than /model
			}
		}
	}
	if len(entries) > 0 {
		l.Sidechain = sideOnly(entries)
	}
}

func sideOnly(entries []*Entry) bool {
	n := 0
	for _, e := range entries {
		if e.IsChain() {
			if !e.Sidechain {
				return false
			}
			n++
		}
	}
	return n > 0
}

func (e *Entry) forkedFrom() string {
	if !e.forked {
		return ""
	}
	v, ok := e.Field("forkedFrom")
	if !ok {
		return ""
	}
	f, _ := field(v, "sessionId")
	return (*scanner)(nil).text(f, span{0, int32(len(f))})
}

// sideStart is how a side entry's line begins behind the newline; inside a string
// its quotes would be escaped, so a hit is a line, whatever the conversation talks
// about.
var sideStart = []byte("{\"type\":")

// backScan looks for metadata between the windows, from behind, up to a bound.
func (r *liteReader) backScan(headTo, tailFrom int64) error {
	if r.got[TypeCustomTitle] {
		return nil
	}
	limit := int64(backScanFull)
	if r.block {
		limit = backScanNear
	}
	lowest := max(tailFrom-limit, headTo)
	const step = backScanStep
	for to := tailFrom; to > lowest && !r.got[TypeCustomTitle]; to -= step {
		from := max(to-step, lowest)
		// A line that begins in this step may end in the next: read on to its end,
		// metadata lines are short.
		data, err := r.read(max(from-1, 0), min(to+backScanMore, tailFrom))
		if err != nil {
			return err
		}
		var hits []int
		for at := 0; ; {
			k := bytes.IndexByte(data[at:], '\n')
			if k < 0 || at+k >= int(to-from)+1 {
				break
			}
			if at += k + 1; bytes.HasPrefix(data[at:], sideStart) {
				hits = append(hits, at)
			}
		}
		for i := len(hits) - 1; i >= 0; i-- {
			line := data[hits[i]:]
			if k := bytes.IndexByte(line, '\n'); k >= 0 {
				line = line[:k]
			}
			if e, err := Parse(line); err == nil {
				r.meta(e)
			}
		}
	}
	return nil
}

func (r *liteReader) finish(headTo, tailFrom int64) {
	l := &r.lite
	if l.Title == "" && strings.HasPrefix(r.sum, "custom:") {
		l.Title, l.TitleFrom = r.sum[len("custom:"):], TypeCustomTitle
	}
	if l.Title == "" {
		switch {
		case r.ai != "":
			l.Title, l.TitleFrom = r.ai, TypeAITitle
		case strings.HasPrefix(r.sum, "ai:"):
			l.Title, l.TitleFrom = r.sum[len("ai:"):], TypeAITitle
		default:
			// Old clients wrote titles of other sessions here: trust one only when
			// the leaf that it names is in this file.
			for leaf, v := range r.leafOf {
				if r.holds(leaf) && (l.Title == "" || v < l.Title) {
					l.Title, l.TitleFrom = v, TypeSummary
				}
			}
		}
	}
	if l.FirstPrompt == "" {
		l.FirstPrompt = first(r.cmd, l.LastPrompt)
	}
	l.Messages = r.count
	if !l.Whole && r.seen > 0 {
		l.Messages = int(float64(r.count) * float64(l.Size) / float64(r.seen))
	}
}

// holds reports whether an entry that takes part in chains and has that uuid was
// read.
func (r *liteReader) holds(uuid string) bool {
	for _, entries := range r.counted {
		for _, e := range entries {
			if e.UUID == uuid && e.IsChain() {
				return true
			}
		}
	}
	return false
}

// PromptText returns what a person typed in this entry as one line, at most 1,000
// bytes of it, and false for entries that are not prompts: tool results, meta text, summaries,
// command echoes, interrupt markers.
func (e *Entry) PromptText() (string, bool) {
	if e.Type != TypeUser || e.Meta || e.Sidechain || e.CompactSummary || len(e.Results) > 0 || e.body.empty() {
		return "", false
	}
	s := e.text()
	if s == "" || strings.HasPrefix(s, "[Request interrupted by user") || strings.HasPrefix(s, "Caveat: The messages below") {
		return "", false
	}
	for _, p := range []string{"<command-name>", "<command-message>", "<local-command-", "<task-notification>", "<bash-stdout>", "<bash-stderr>"} {
		if strings.HasPrefix(s, p) {
			return "", false
		}
	}
	if t, ok := strings.CutPrefix(s, "<bash-input>"); ok {
		t, _, _ = strings.Cut(t, "</bash-input>")
		s = "! " + t
	}
	return clip(s), true
}

// commandText returns the slash command that a command echo stands for.
func (e *Entry) commandText() (string, bool) {
	if e.Type != TypeUser || e.Sidechain || len(e.Results) > 0 || e.body.empty() {
		return "", false
	}
	s := e.text()
	_, rest, ok := strings.Cut(s, "<command-name>")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "</command-name>")
	if _, args, ok := strings.Cut(s, "<command-args>"); ok {
		args, _, _ = strings.Cut(args, "</command-args>")
		name = strings.TrimSpace(name + " " + args)
	}
	return clip(name), name != ""
}

// text returns the text of the entry's message: its string content, or its first
// non-empty text block.
func (e *Entry) text() string {
	m, err := e.Message()
	if err != nil {
		return ""
	}
	for _, b := range m.Content {
		if b.Type == "text" {
			if s := strings.TrimSpace(b.Text); s != "" {
				return s
			}
		}
	}
	return ""
}

// clip returns s as one line, at most promptMax bytes of it, never cutting a
// character. It is a copy: s may be part of a buffer that is read into again.
func clip(s string) string {
	if len(s) > 4*promptMax {
		s = s[:4*promptMax] // a pasted file need not be split into words
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= promptMax {
		return strings.Clone(s)
	}
	at := promptMax
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return strings.Clone(s[:at])
}
