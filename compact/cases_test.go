package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"varve.dev/caps"
	"varve.dev/compact"
	"varve.dev/engine"
	"varve.dev/message"
	"varve.dev/transcript"
)

// This file pins reports of users of other agents (area compaction), each under its
// id: what must not happen here.

// step is one call of a tool and its result.
func (k *talk) step(tool, input, output string) {
	k.t.Helper()
	ctx := context.Background()
	req, err := k.e.Prepare(ctx)
	must(k.t, err)
	id := fmt.Sprintf("c%d", k.n)
	use, err := message.ToolUse(id, tool, json.RawMessage(input))
	must(k.t, err)
	r := message.Assistant(use)
	r.ID = fmt.Sprintf("m%d", k.n)
	must(k.t, k.e.Record(ctx, req, r))
	must(k.t, k.e.Append(message.UserBlocks(message.ToolResult(id, false, message.Text(output)))))
	k.n++
}

// lines is text of about n tokens.
func lines(tag string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < 4*n; i++ {
		fmt.Fprintf(&b, "%s line %d of the output\n", tag, i)
	}
	return b.String()
}

// TestCheckedBeforeEveryCall: aaif-goose/goose#11072. One turn with thirty calls grows
// by two thousand tokens each: the size is looked at before each request, not before
// each prompt.
func TestCheckedBeforeEveryCall(t *testing.T) {
	k := newTalk(t, 40_000, &compact.Ladder{})
	must(t, k.e.Append(message.User("do the whole thing NEEDLE-turn")))
	for i := range 30 {
		k.step("Read", fmt.Sprintf(`{"file_path":"/a/%d.go"}`, i), lines(fmt.Sprint("file ", i), 2000))
		if c := k.e.Context(); i > 0 && len(k.rungs) > 0 && c.Total > c.Budget.Effective+2500 {
			t.Fatalf("step %d: %d tokens, room for %d", i, c.Total, c.Budget.Effective)
		}
	}
	if len(k.rungs) == 0 || !strings.Contains(dump(k.e), "NEEDLE-turn") {
		t.Errorf("rungs %v", k.rungs)
	}
}

// TestProductiveCompactions: MoonshotAI/kimi-code#506. A turn of two hundred calls needs
// many compactions; as long as each makes room for something new none is one too many.
func TestProductiveCompactions(t *testing.T) {
	m := &model{say: adversaries["good"]}
	k := newTalk(t, 20_000, &compact.Ladder{Summarizer: m, Facts: noFacts})
	must(t, k.e.Append(message.User("do the whole thing")))
	for i := range 200 {
		k.step("Read", fmt.Sprintf(`{"file_path":"/a/%d.go"}`, i), lines(fmt.Sprint("file ", i), 500))
	}
	if len(k.rungs) < 5 || k.heard(compact.Stalled) != 0 || k.heard(compact.Breaker) != 0 {
		t.Errorf("rungs %v, said %+v", k.rungs, k.said)
	}
}

// TestReadAgain: G-5, C-12. What is read again right after it left fills the window with the
// same content: three in a row are a loop, it is said with what is read again, and
// automatic compaction stops; what does not fit is still dropped (G-1).
func TestReadAgain(t *testing.T) {
	m := &model{say: adversaries["good"]}
	ladder := &compact.Ladder{Summarizer: m, Facts: noFacts}
	k := newTalk(t, 20_000, ladder)
	must(t, k.e.Append(message.User("look at them")))
	more := 12 // steps behind it
	for i := 0; more > 0; i++ {
		if k.heard(compact.Stalled) > 0 {
			more--
		}
		k.step("Read", fmt.Sprintf(`{"file_path":"/src/big%d.go"}`, i%6), lines(fmt.Sprint("file ", i%6), 2000))
		if c := k.e.Context(); i > 100 || c.Total > c.Budget.Effective+2500 {
			t.Fatalf("step %d: %d of %d tokens", i, c.Total, c.Budget.Effective)
		}
	}
	if k.heard(compact.Stalled) != 1 {
		t.Fatalf("said %+v", k.said)
	}
	for _, ev := range k.said {
		if ev.Kind == compact.Stalled && (!strings.Contains(ev.Detail, "read again: Read big") || !strings.Contains(ev.Detail, "3 compactions in a row")) {
			t.Errorf("said %q", ev.Detail)
		}
	}
	for _, r := range k.rungs[4:] {
		if r != "drop" {
			t.Fatalf("after it was called a loop: %v", k.rungs)
		}
	}
	// Each of them was a good summary, and none closed the breaker: none made room.
	if s := ladder.Stats(); m.calls > 4 || s.Failed < 3 || k.heard(compact.Breaker) != 1 {
		t.Errorf("%d summaries of a loop, %+v", m.calls, s)
	}
}

// again attaches the same large thing behind every compaction.
type again struct{ n int }

func (a again) Attach(context.Context, int) ([]compact.Attachment, error) {
	return []compact.Attachment{{What: json.RawMessage(`{"type":"file"}`), Rendered: []string{lines("attached", a.n)}}}, nil
}

// TestAttachmentsAlone: anthropics/claude-code#24179. What is attached behind a
// compaction would alone be above the threshold: the plan is refused, and
// compactions that bring nothing count although none fails.
func TestAttachmentsAlone(t *testing.T) {
	m := &model{say: adversaries["good"]}
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Attacher: again{40_000}})
	for range 30 {
		k.turn(400)
		if c := k.e.Context(); c.Total > c.Budget.Effective+1000 {
			t.Fatalf("%d of %d tokens", c.Total, c.Budget.Effective)
		}
	}
	if m.calls > 3*2 {
		t.Errorf("%d summaries", m.calls)
	}
	if strings.Contains(dump(k.e), "attached line 5000") {
		t.Error("an attachment larger than the target stands in the view")
	}
}

// TestOverheadNamed: charmbracelet/crush#727, anomalyco/opencode#48188. System text and
// tools that are larger than the window are named with their sizes, at once, without
// a compaction; where they leave hardly any room, compactions without gain end.
func TestOverheadNamed(t *testing.T) {
	ctx := context.Background()
	m := &model{say: adversaries["good"]}
	sys, err := json.Marshal(lines("rule", 6_000))
	must(t, err)
	e := engine.New(engine.Memory(stamp()), engine.Config{Caps: caps.Window(4_000), System: sys, Ladder: &compact.Ladder{Summarizer: m}})
	must(t, e.Append(message.User("hi")))
	var over *engine.OverheadError
	if _, err := e.Prepare(ctx); !errors.As(err, &over) || !strings.Contains(err.Error(), "system") {
		t.Errorf("a system text of 6,000 tokens in a window of 4,000: %v", err)
	}
	if m.calls != 0 {
		t.Errorf("%d summaries", m.calls)
	}
	sys, err = json.Marshal(lines("rule", 13_000))
	must(t, err)
	var said []compact.Event
	e = engine.New(engine.Memory(stamp()), engine.Config{Caps: caps.Window(20_000), System: sys, NoUsage: true,
		Ladder: &compact.Ladder{Summarizer: m, Observe: func(ev compact.Event) { said = append(said, ev) }}})
	for n := range 40 {
		must(t, e.Append(message.User(fmt.Sprint("prompt ", n))))
		req, err := e.Prepare(ctx)
		if errors.As(err, &over) {
			break
		}
		must(t, err)
		r := message.Assistant(message.Text(lines("answer", 600)))
		r.ID = fmt.Sprint("m", n)
		must(t, e.Record(ctx, req, r))
	}
	if m.calls > 40/2 {
		t.Errorf("%d summaries for 40 prompts: %+v", m.calls, said)
	}
}

// TestSameCount: aaif-goose/goose#8642. What is shown and what compaction goes by are one
// count, with system text and tools.
func TestSameCount(t *testing.T) {
	sys, err := json.Marshal(lines("rule", 10_000))
	must(t, err)
	k := newTalk(t, 30_000, &compact.Ladder{Facts: noFacts})
	k.cfg.System = sys
	k.e = engine.New(engine.Memory(stamp()), k.cfg)
	last := 0
	for len(k.rungs) == 0 {
		last = k.total()
		k.turn(300)
	}
	if b := k.e.Context().Budget; last < b.Auto-100 || last > b.Auto+500 {
		t.Errorf("compacted at %d, threshold %d", last, b.Auto)
	}
	if last < 10_000 {
		t.Error("system text does not count")
	}
}

// TestNewSession: charmbracelet/crush#1055, anthropics/claude-code#82131,
// HKUDS/Vibe-Trading#1349. A full window and an open breaker are of one session: a new
// one starts at once, and /clear closes the breaker.
func TestNewSession(t *testing.T) {
	m := &model{say: adversaries["refusing"]}
	ladder := &compact.Ladder{Summarizer: m, Facts: noFacts}
	k := newTalk(t, 20_000, ladder)
	for k.heard(compact.Breaker) == 0 {
		k.turn(400)
	}
	calls := m.calls
	k.turn(400)
	if m.calls != calls {
		t.Error("asked although the breaker is open")
	}
	ladder.Reset() // what /clear calls
	m.say = adversaries["good"]
	next := engine.New(engine.Memory(stamp()), k.cfg)
	k.e, k.rungs = next, nil
	k.turn(10) // no compaction, no waiting
	if len(k.rungs) != 0 || m.calls != calls {
		t.Errorf("a new session begins with %v", k.rungs)
	}
	k.until(400, "a compaction", func() bool { return len(k.rungs) > 0 })
	if k.rungs[0] != "full" {
		t.Errorf("the breaker stays open after /clear: %v", k.rungs)
	}
}

// TestUnknownAge: seed:mc-unknown-age. Old results are cleared when the cache is known
// to have lost them: a time in the future, without a zone, or none at all is not
// known.
func TestUnknownAge(t *testing.T) {
	for name, stampOf := range map[string]string{"future": "2027-05-01T00:00:00.000Z", "no date": "soon", "none": "", "no zone": "2026-05-01 10:00"} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
			var log strings.Builder
			parent := "null"
			for i := range 12 {
				ts := ""
				if stampOf != "" {
					ts = fmt.Sprintf(`"timestamp":%q,`, stampOf)
				}
				fmt.Fprintf(&log, `{"parentUuid":%s,"isSidechain":false,%s"type":"assistant","uuid":"a%d","sessionId":"s","message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Read","input":{}}]}}`+"\n", parent, ts, i, i, i)
				fmt.Fprintf(&log, `{"parentUuid":"a%d","isSidechain":false,%s"type":"user","uuid":"r%d","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}}`+"\n", i, ts, i, i, lines("old", 8_000))
				parent = fmt.Sprintf("%q", fmt.Sprint("r", i))
			}
			fmt.Fprintf(&log, `{"parentUuid":%s,"isSidechain":false,"type":"assistant","uuid":"last","sessionId":"s",%s"message":{"id":"last","role":"assistant","content":[{"type":"text","text":"done"}]}}`+"\n", parent, func() string {
				if stampOf == "" {
					return ""
				}
				return fmt.Sprintf(`"timestamp":%q,`, stampOf)
			}())
			l, err := transcript.Read(context.Background(), strings.NewReader(log.String()), int64(log.Len()), transcript.ReadOptions{})
			must(t, err)
			st := stamp()
			st.Now = func() time.Time { return now }
			e := engine.New(engine.MemoryOf(st, l), engine.Config{Caps: caps.Window(400_000), Now: st.Now, Ladder: &compact.Ladder{Now: st.Now, Facts: noFacts}})
			must(t, e.Append(message.User("and now")))
			_, err = e.Prepare(context.Background())
			must(t, err)
			if strings.Contains(dump(e), "[Old tool result content cleared]") {
				t.Error("results were cleared on an age that is not known")
			}
		})
	}
}

// TestLittleUse: iOfficeAI/aionrs#271. Thirty reads of one turn in a window with much
// room: nothing is cleared, whatever the time, and never what the turn itself read.
func TestLittleUse(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	st := stamp()
	st.Now = func() time.Time { return now }
	e := engine.New(engine.Memory(st), engine.Config{Caps: caps.Window(1_000_000), Now: st.Now, NoUsage: true, Ladder: &compact.Ladder{Now: st.Now, Facts: noFacts}})
	k := &talk{t: t, e: e}
	must(t, e.Append(message.User("read them all")))
	for i := range 30 {
		k.step("Read", fmt.Sprintf(`{"file_path":"/a/%d"}`, i), lines(fmt.Sprint("file ", i), 2000))
		now = now.Add(6 * time.Minute) // each tool takes longer than the cache lives
	}
	_, err := e.Prepare(context.Background())
	must(t, err)
	if got := dump(e); strings.Contains(got, "cleared]") || !strings.Contains(got, "file 0 line 3") {
		t.Error("results of the turn itself were cleared")
	}
}

// TestSummaryTooLong: anthropics/claude-code#2119. The request for the summary is itself
// too long: the oldest rounds leave it, by the gap that is named or a fifth, a bounded
// number of times; then the ledger stands in, and nobody is stuck.
func TestSummaryTooLong(t *testing.T) {
	for _, gap := range []int{0, 3_000} {
		var sizes []int
		m := &model{say: func(n int, r compact.SummaryRequest) (string, error) {
			sizes = append(sizes, len(r.Messages))
			return "", &compact.TooLongError{Gap: gap}
		}}
		k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts})
		for range 30 {
			k.turn(300)
		}
		rep, err := k.e.Compact(context.Background(), engine.Ask{})
		must(t, err)
		if len(rep.Rungs) != 1 || rep.Rungs[0] != "ledger" || len(sizes) != 4 {
			t.Fatalf("gap %d: %+v after %v", gap, rep, sizes)
		}
		for i := 1; i < len(sizes); i++ {
			if sizes[i] >= sizes[i-1] {
				t.Errorf("gap %d: messages asked about %v", gap, sizes)
			}
		}
	}
}

// TestNoUsableSummary: openai/codex#31742, langchain-ai/langchain#38932,
// shareAI-lab/learn-claude-code#27, aaif-goose/goose#10500. No text, a call, reasoning
// only, a draft without an end, an error in the middle: history stays until
// something stands for it, and the turn goes on.
func TestNoUsableSummary(t *testing.T) {
	for name, say := range map[string]func(int, compact.SummaryRequest) (string, error){
		"no text":  adversaries["empty"],
		"a draft":  adversaries["draft"],
		"a cut":    adversaries["open"],
		"an error": adversaries["refusing"],
		"too long": adversaries["unknown"],
		"429":      func(int, compact.SummaryRequest) (string, error) { return "", errors.New("429 rate limited") },
		"cut short": func(int, compact.SummaryRequest) (string, error) {
			return "<analysis>the user wants", errors.New("stream ended")
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &model{say: say}
			k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m})
			for range 30 {
				k.turn(300)
			}
			before := dump(k.e)
			rep, err := k.e.Compact(context.Background(), engine.Ask{})
			must(t, err)
			if len(rep.Rungs) != 1 || rep.Rungs[0] != "ledger" {
				t.Fatalf("%+v", rep)
			}
			if got := dump(k.e); !strings.Contains(got, "NEEDLE-3") || strings.Contains(got, "the user wants") {
				t.Errorf("after a summary that failed:\n%.800s", got)
			}
			if k.heard(compact.Failed) != 1 {
				t.Errorf("said %+v", k.said)
			}
			k.turn(10)
			must(t, func() error { _, err := k.e.Undo(context.Background(), k.e.View().Boundary.UUID); return err }())
			if !strings.HasPrefix(dump(k.e), before) {
				t.Error("what stood before is not what comes back")
			}
		})
	}
}

// TestMediaLeaves: openai/codex#38835, anthropics/claude-code#8050. When the fork fails,
// the request of its own holds no images and documents and short outputs with head
// and tail, so that a conversation that fits can be summarized.
func TestMediaLeaves(t *testing.T) {
	var plain *compact.SummaryRequest
	m := &model{say: func(n int, r compact.SummaryRequest) (string, error) {
		if !r.Plain {
			return "", &compact.TooLongError{Gap: 2_000}
		}
		plain = &r
		return "<summary>fine</summary>", nil
	}}
	k := newTalk(t, 1_000_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{NoMicro: true}})
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	img, err := message.ParseBlock(json.RawMessage(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`))
	must(t, err)
	for i := range 20 {
		must(t, k.e.Append(message.UserBlocks(message.Text(fmt.Sprint("look at picture ", i)), img)))
		k.step("Bash", `{"command":"make"}`, "HEAD of it\n"+lines(fmt.Sprint("step ", i), 2_000)+"TAIL of it")
		k.turn(50)
	}
	rep, err := k.e.Compact(context.Background(), engine.Ask{})
	must(t, err)
	if len(rep.Rungs) != 1 || rep.Rungs[0] != "full" || plain == nil {
		t.Fatalf("%+v", rep)
	}
	var b strings.Builder
	for _, m := range plain.Messages {
		b.Write(m.AppendRequest(nil))
	}
	got := b.String()
	if strings.Contains(got, png) || strings.Count(got, "[image]") != 20 {
		t.Errorf("%d pictures are named", strings.Count(got, "[image]"))
	}
	if strings.Count(got, "HEAD of it") != 20 || strings.Count(got, "TAIL of it") != 20 || len(got) > 20*6_000 {
		t.Errorf("%d bytes, %d heads, %d tails", len(got), strings.Count(got, "HEAD of it"), strings.Count(got, "TAIL of it"))
	}
}

// TestMarkerOnce: 1jehuang/jcode#175. Ten emergency compactions leave one marker, not ten.
func TestMarkerOnce(t *testing.T) {
	k := newTalk(t, 20_000, &compact.Ladder{Facts: noFacts})
	for i := range 10 {
		for range 8 {
			k.turn(300)
		}
		_, err := k.e.Overflow(context.Background(), 2_000)
		must(t, err)
		got := dump(k.e)
		if n := strings.Count(got, "This session continues an earlier conversation"); n != 1 {
			t.Fatalf("compaction %d: %d summaries in the view", i, n)
		}
		if n := strings.Count(got, "nothing is known"); n != 1 {
			t.Fatalf("compaction %d: %d notes in the view", i, n)
		}
	}
}

// TestHalfACompaction: danny-avila/LibreChat#15913. A process that dies while a
// compaction is written leaves a boundary without its summary: it does not count.
func TestHalfACompaction(t *testing.T) {
	k := newTalk(t, 40_000, &compact.Ladder{})
	for range 20 {
		k.turn(300)
	}
	before, err := k.store.Bytes()
	must(t, err)
	want := dump(k.e)
	_, err = k.e.Compact(context.Background(), engine.Ask{})
	must(t, err)
	after, err := k.store.Bytes()
	must(t, err)
	done := dump(k.e)
	for cut := len(before); cut <= len(after); cut++ {
		if cut < len(after) && after[cut-1] != '\n' && cut%211 != 0 {
			continue // every end of a line, and some places inside lines
		}
		l, err := transcript.Read(context.Background(), strings.NewReader(string(after[:cut])), int64(cut), transcript.ReadOptions{})
		must(t, err)
		e := engine.New(engine.MemoryOf(stamp(), l), engine.Config{Caps: k.cfg.Caps, NoUsage: true})
		if got := dump(e); got != want && got != done {
			t.Fatalf("cut at %d of %d..%d: a conversation that is neither\n%.600s", cut, len(before), len(after), got)
		}
	}
}

// TestOnePromptManyResults: griffinwork40/agent-afk#671, anthropics/claude-code#23047. One
// prompt with forty results, and a result that goes from seventy to a hundred and one
// percent: the turn itself is shortened, calls stay with their results, and the same
// turn goes on.
func TestOnePromptManyResults(t *testing.T) {
	k := newTalk(t, 40_000, &compact.Ladder{})
	must(t, k.e.Append(message.User("do it all NEEDLE-prompt")))
	for i := range 40 {
		k.step("Grep", fmt.Sprintf(`{"pattern":"p%d"}`, i), lines(fmt.Sprint("hit ", i), 500))
	}
	rep, err := k.e.Overflow(context.Background(), 5_000)
	must(t, err)
	if len(rep.Rungs) == 0 || rep.After >= rep.Before {
		t.Fatalf("%+v", rep)
	}
	req, err := k.e.Prepare(context.Background())
	must(t, err)
	if bad := message.Check(req.Messages); len(bad) > 0 {
		t.Errorf("%v", bad)
	}
	got := dump(k.e)
	if !strings.Contains(got, "NEEDLE-prompt") || !strings.Contains(got, "hit 39 line") {
		t.Error("the prompt or the newest result is gone")
	}
	k.step("Bash", `{"command":"cat all"}`, lines("huge", 30_000))
	if _, err := k.e.Overflow(context.Background(), 12_000); err != nil {
		t.Fatal(err)
	}
	req, err = k.e.Prepare(context.Background())
	must(t, err)
	if req.Tokens > req.Budget.Effective {
		t.Errorf("%d tokens, room for %d", req.Tokens, req.Budget.Effective)
	}
}

// TestPromptsMeanwhile: anthropics/claude-code#62235, pingdotgg/t3code#11107. What is
// typed while a summary is made comes behind it, in order, once.
func TestPromptsMeanwhile(t *testing.T) {
	m := newSlow()
	k := newTalk(t, 40_000, &compact.Ladder{Summarizer: m, Facts: noFacts, Policy: compact.Policy{Drafts: true}})
	k.until(300, "a draft", func() bool { return k.heard(compact.Drafting) == 1 })
	must(t, k.e.Append(message.User("first, SEND-1")))
	must(t, k.e.Append(message.User("second, SEND-2")))
	m.let <- struct{}{}
	k.settle()
	_, err := k.e.Prepare(context.Background())
	must(t, err)
	rep, err := k.e.Overflow(context.Background(), 100)
	must(t, err)
	if len(rep.Rungs) == 0 || rep.Rungs[0] != "draft" {
		t.Fatalf("%+v, said %+v", rep, k.said)
	}
	got := dump(k.e)
	sum, one, two := strings.Index(got, "draft number 1"), strings.Index(got, "first, SEND-1"), strings.Index(got, "second, SEND-2")
	if sum < 0 || one < sum || two < one || strings.Count(got, "SEND-1") != 1 || strings.Count(got, "SEND-2") != 1 {
		t.Errorf("summary at %d, first at %d, second at %d", sum, one, two)
	}
}
