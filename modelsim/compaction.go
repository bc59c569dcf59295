package modelsim

import (
	"encoding/json"
	"regexp"
	"strings"

	"varve.dev/message"
)

// The betas of the two ways to compact (API.md 2.2, 2.3).
const (
	betaOnDemand  = "compact-2026-09-04"
	betaThreshold = "compact-2026-01-12"
)

// maxInstructions is in characters (API.md 2.2).
const maxInstructions = 16_384

// followCompaction checks a compaction block and starts over behind it.
func (s *Server) followCompaction(c *call, j *judge, b *bound, blk *block, frame sum) {
	if blk.isOnDemand() {
		if blk.path != "messages.0.content.0" {
			j.coded("compaction_block_misplaced", blk.path, "the compaction block is not the first block of the conversation")
			return
		}
		if blk.o.has("tool_changes") { // this server changes no tools
			j.coded("compaction_tool_changes_mismatch", blk.path, "tool_changes differs from what was returned with the block")
		}
		j.needBeta(betaOnDemand, blk.path, "compaction blocks")
	} else {
		j.needAnyBeta(blk.path, "compaction blocks", betaThreshold, betaOnDemand)
	}
	if !blk.isSummary() {
		return // a summary that failed: a no-op for the server
	}
	e, ok := openSeal(s.secret, blk.signature(), 'c')
	var content [8]byte
	short(content[:], []byte(blk.text()))
	switch {
	case !ok || e.account != c.account():
		j.coded("compaction_signature_invalid", blk.path, "the signature does not verify")
		return
	case e.content != content:
		j.coded("compaction_content_mismatch", blk.path, "the content differs from the text that the signature recorded")
		return
	}
	b.walker.restart(frame, e, blk.signature())
	b.replies = map[[6]byte]*replyParts{} // what stands before is ignored
	if blk.isOnDemand() {
		s.overlap(c, j, blk)
	}
}

// overlap looks for messages behind a compaction block that it stands for already: a mistake that the real API takes without a word
// and that makes the model read everything twice. It is an end of what was covered, with something the assistant said in it, at the
// start of what follows.
func (s *Server) overlap(c *call, j *judge, blk *block) {
	covered := s.covered[blk.signature()]
	if len(covered) == 0 || len(c.msgs) < 2 {
		return
	}
	var rest []covering
	for i := 1; i < len(c.msgs); i++ {
		for k := range c.msgs[i].blocks {
			rest = append(rest, coveringOf(&c.msgs[i].blocks[k]))
		}
	}
	for from := range covered {
		tail := covered[from:]
		if len(tail) > len(rest) {
			continue
		}
		same, spoke := true, false
		for i := range tail {
			same = same && tail[i] == rest[i]
			spoke = spoke || tail[i].assistant
		}
		if same && spoke {
			j.add("compaction-overlap", "messages.1", "%d blocks after the compaction block that it covers already", len(tail))
			return
		}
	}
}

// A covering is one block that a compaction stands for.
type covering struct {
	sum       sum
	assistant bool
}

func coveringOf(b *block) covering {
	return covering{b.sum, b.role == "assistant"}
}

// compactionRules checks a request for a summary.
func (j *judge) compactionRules() {
	c := j.call
	if !c.body.has("compaction") || c.isCount() {
		return
	}
	j.needBeta(betaOnDemand, "compaction", "compaction")
	if o := c.body.obj("compaction"); o.str("type") != "summarize" {
		j.add("compaction", "compaction", "type: Input should be 'summarize'")
	} else if n := len([]rune(o.str("instructions"))); n > maxInstructions {
		j.add("compaction", "compaction.instructions", "String should have at most %d characters", maxInstructions)
	}
	if c.model != nil && !c.model.Compaction.OnDemand {
		j.add("compaction", "compaction", "compaction is not supported on this model")
	}
	for _, field := range []string{"context_management", "stop_sequences", "output_format"} {
		if c.body.has(field) {
			j.add("compaction", field, "%s cannot be combined with compaction", field)
		}
	}
	if c.body.obj("output_config").has("format") {
		j.add("compaction", "output_config.format", "an output format cannot be combined with compaction")
	}
	if t := c.body.obj("tool_choice").str("type"); t == "any" || t == "tool" {
		j.add("compaction", "tool_choice", "a forced tool_choice cannot be combined with compaction")
	}
	news := false
	c.each(func(b *block) { news = news || b.Type != "compaction" })
	if !news {
		j.coded("compaction_nothing_to_summarize", "messages", "there is no content to summarize")
	}
}

// Needle is what the extractive summarizer keeps and what recall is counted by: a word that begins with NEEDLE-.
var needle = regexp.MustCompile(`NEEDLE-[A-Za-z0-9_-]*[A-Za-z0-9]`)

// The summarizer's limits, those of the measurements that recall is compared with: a fixed extract, not a model.
const (
	summaryTokens  = 3000 // at most, of package tokens
	summaryExcerpt = 150  // characters kept of each user text
)

// summarize extracts, from what the request holds, each line with a needle once, and the start of each user text.
func (c *call) summarize() string {
	var lines, starts []string
	seen := map[string]bool{}
	c.each(func(b *block) {
		text := b.text()
		if strings.Contains(text, "NEEDLE-") {
			for line := range strings.Lines(text) {
				line = strings.TrimSpace(line)
				if needle.MatchString(line) && !seen[line] {
					seen[line] = true
					lines = append(lines, line)
				}
			}
		}
		if b.role == "user" && b.Type == "text" {
			starts = append(starts, excerpt(text, summaryExcerpt))
		}
	})
	var out strings.Builder
	out.WriteString("Summary of the conversation so far.\n\n")
	used := 0
	for _, line := range append(lines, starts...) {
		if used += rawTokens(line) + 1; used > summaryTokens {
			break
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return strings.TrimRight(out.String(), "\n")
}

// excerpt is the start of s on one line, n characters at most.
func excerpt(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}

// seal signs a summary made at the walker's place.
func (s *Server) sealSummary(c *call, w *walker, text string) string {
	e := seal{kind: 'c', account: c.account(), model: c.modelSum(), covered: w.covered()}
	short(e.content[:], []byte(text))
	return e.encode(s.secret)
}

// onDemand builds the compaction block that answers a request for a summary, and remembers what it stands for.
func (s *Server) onDemand(c *call, w *walker, text string) outBlock {
	sig := s.sealSummary(c, w, text)
	var list []covering
	c.each(func(b *block) { list = append(list, coveringOf(b)) })
	s.covered[sig] = list
	raw := marshal(struct {
		Type      string           `json:"type"`
		Content   string           `json:"content"`
		Encrypted *string          `json:"encrypted_content"`
		Signature string           `json:"signature"`
		Changes   *json.RawMessage `json:"tool_changes"`
	}{"compaction", text, nil, sig, nil})
	return outBlock{typ: "compaction", text: text, raw: raw}
}

// threshold builds the compaction block that stands at the start of a reply (compact_20260112).
func (s *Server) threshold(c *call, w *walker, text string, null bool) outBlock {
	if null {
		return outBlock{typ: "compaction_delta", raw: []byte(`{"type":"compaction","content":null,"encrypted_content":null}`)}
	}
	sig := s.sealSummary(c, w, text)
	raw := marshal(struct {
		Type      string `json:"type"`
		Content   string `json:"content"`
		Encrypted string `json:"encrypted_content"`
	}{"compaction", text, sig})
	e, _ := openSeal(s.secret, sig, 'c')
	w.restart(c.frameSum(), e, sig)
	return outBlock{typ: "compaction_delta", text: text, signature: sig, raw: raw}
}

// compactEdit returns the compact_20260112 edit of the request, nil when there is none.
func (c *call) compactEdit() object {
	for _, e := range c.edits() {
		if e.str("type") == "compact_20260112" {
			return e
		}
	}
	return nil
}

// The thresholds of compact_20260112 in input tokens (API.md 2.3).
const (
	compactTrigger    = 150_000
	compactMinTrigger = 50_000
)

// mustCompact reports whether the prompt is over the trigger of the request's compact edit.
func (c *call) mustCompact(prompt int) bool {
	e := c.compactEdit()
	if e == nil {
		return false
	}
	trigger := compactTrigger
	if n, ok := e.obj("trigger").num("value"); ok {
		trigger = n
	}
	return prompt > trigger
}

// compacted is the prompt after a threshold compaction: the frame and the summary.
func (c *call) compacted(text string) []piece {
	var out []piece
	for _, p := range c.prompt {
		if p.section < inMessages {
			out = append(out, p)
		}
	}
	raw := marshal(map[string]string{"type": "compaction", "content": text})
	b := block{Block: message.Block{Type: "compaction", Raw: raw}, role: "assistant", bare: raw, path: "compaction"}
	return append(out, piece{section: inMessages, sum: sumOf([]byte(b.role), raw), tokens: c.model.count(text), path: b.path})
}
