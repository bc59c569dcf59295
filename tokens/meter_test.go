package tokens_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/message"
	"varve.dev/tokens"
)

// reply is an assistant message with usage.
func reply(id string, u message.Usage, blocks ...message.Block) message.Message {
	m := message.Assistant(blocks...)
	m.ID, m.Usage = id, &u
	return m
}

func usage(input, read, creation, output int64) message.Usage {
	return message.Usage{InputTokens: input, CacheReadTokens: read, CacheCreationTokens: creation, OutputTokens: output}
}

// meter estimates by the reference, whose numbers can be written down: 300 characters are 100 tokens.
func meter() *tokens.Meter { return &tokens.Meter{Estimator: tokens.Estimator{Reference: true}} }

func chars(n int) string { return strings.Repeat("x", n) }

func want(t *testing.T, m *tokens.Meter, total int, anchored bool) {
	t.Helper()
	r := m.Reading()
	if r.Total != total || r.Anchored != anchored || r.Measured+r.Estimated != r.Total {
		t.Errorf("%+v, want total %d, anchored %v", r, total, anchored)
	}
}

// TestMeterUsage is B-2: input + cache read + cache creation + output, plus the estimate of what came later, and only of
// that (anthropics/claude-code#46422: usage input=2, cache_read=150k, cache_creation=10k; chenhg5/cc-connect#765: mostly
// cache_read).
func TestMeterUsage(t *testing.T) {
	m := meter()
	m.Fixed = 1000
	m.Append(message.User(chars(300)))
	want(t, m, 1100, false)
	m.Append(reply("msg_1", usage(2, 150_000, 10_000, 500), message.Text(chars(30))))
	want(t, m, 160_502, true)
	m.Append(message.User(chars(3000)))
	want(t, m, 161_502, true)
	m.Append(reply("msg_2", usage(100, 161_000, 400, 20), message.Text(chars(30))))
	want(t, m, 161_520, true)
}

// TestMeterParts: usage counts once for each message.id and the last line wins (B-2); results between the parts of one
// reply count as appended after it.
func TestMeterParts(t *testing.T) {
	m := meter()
	m.Append(message.User("go"))
	m.Append(reply("msg_1", usage(0, 0, 10_000, 2), message.Text(chars(300))))
	m.Append(reply("msg_1", usage(0, 0, 10_000, 2), call(t, "Read", `{"a":1}`)))
	m.Append(message.UserBlocks(message.ToolResult("toolu_1", false, message.Text(chars(3000)))))
	m.Append(reply("msg_1", usage(0, 0, 10_000, 900), call(t, "Read", `{"a":2}`)))
	want(t, m, 10_000+900+1000, true)
	m.Append(message.UserBlocks(message.ToolResult("toolu_2", false, message.Text(chars(6000)))))
	want(t, m, 10_000+900+1000+2000, true)
	m.Append(reply("msg_2", usage(0, 0, 14_000, 50), message.Text("x")))
	m.Append(reply("msg_1", usage(0, 0, 10_000, 900), message.Text(chars(300)))) // a straggler
	want(t, m, 14_150, true)
}

// TestMeterPlaceholder: logs up to 2.1.42 keep a placeholder of a few tokens for the reply; its own text is then the
// better figure.
func TestMeterPlaceholder(t *testing.T) {
	m := meter()
	m.Append(reply("msg_1", usage(10, 0, 0, 2), message.Text(chars(3000))))
	want(t, m, 1010, true)
}

// TestMeterIterations: with iterations the last `message` entry counts, never the call of a compaction (B-2), nor the sum
// over several calls or sub-agents (anthropics/claude-code#52981, anthropics/claude-code#30276).
func TestMeterIterations(t *testing.T) {
	m := meter()
	u := usage(40_000, 300_000, 0, 2_000)
	u.Iterations = []message.Iteration{
		{Type: "message", InputTokens: 5, CacheReadTokens: 100_000, OutputTokens: 700},
		{Type: "message", InputTokens: 7, CacheReadTokens: 110_000, OutputTokens: 800},
		{Type: "compaction", InputTokens: 3_000, OutputTokens: 400},
	}
	m.Append(reply("msg_1", u, message.Text("x")))
	want(t, m, 110_807, true)
}

// TestMeterBoundary: usage from before the newest boundary is never used (B-2), also not that of messages it keeps; the
// first usage after it anchors again.
func TestMeterBoundary(t *testing.T) {
	m := meter()
	m.Fixed = 500
	kept := reply("msg_1", usage(0, 150_000, 0, 100), message.Text(chars(300)))
	m.Append(message.User("go"), kept)
	want(t, m, 150_100, true)
	m.Reset(message.User(chars(3000)), kept)
	want(t, m, 500+1000+100, false)
	m.Append(message.User(chars(300)))
	want(t, m, 1700, false)
	m.Append(reply("msg_2", usage(9, 0, 2_000, 50), message.Text("x")))
	want(t, m, 2_059, true)
}

// TestMeterRemove: what edits took away since the last usage is subtracted (B-2), and forgotten at the next usage, which
// was measured without it.
func TestMeterRemove(t *testing.T) {
	m := meter()
	m.Append(message.User(chars(60_000)), reply("msg_1", usage(0, 0, 20_000, 10), message.Text("x")))
	m.Remove(5_000)
	want(t, m, 15_010, true)
	m.Append(reply("msg_2", usage(0, 0, 15_100, 10), message.Text("x")))
	want(t, m, 15_110, true)
	m.Remove(1 << 30)
	if got := m.Total(); got != 0 {
		t.Errorf("total %d", got)
	}
}

// TestMeterNoUsage: replies without tokens (synthetic ones) and without usage do not anchor.
func TestMeterNoUsage(t *testing.T) {
	m := meter()
	m.Append(reply("msg_1", usage(0, 20_000, 0, 10), message.Text("x")))
	m.Append(reply("synthetic", message.Usage{}, message.Text(chars(30))), message.Assistant(message.Text(chars(30))))
	want(t, m, 20_030, true)
}

// TestMeterSuspect is anthropics/claude-code#82863 (usage 100k, then 211k for one response, then 108k): a total above the
// window, or a jump to twice as much without content to match, is checked against the estimate; only a second reply that
// says the same is believed.
func TestMeterSuspect(t *testing.T) {
	odd := func() *tokens.Meter {
		m := meter()
		m.Window = 200_000
		m.Append(message.User("go"), reply("msg_1", usage(0, 100_000, 0, 300), message.Text(chars(900))), message.User(chars(3000)))
		want(t, m, 101_300, true)
		m.Append(reply("msg_2", usage(0, 211_000, 0, 300), message.Text(chars(900))), message.User(chars(3000)))
		want(t, m, 102_600, true)
		if got := m.Reading().Suspect; got != 211_000 {
			t.Errorf("suspect %d", got)
		}
		return m
	}
	m := odd()
	m.Append(reply("msg_3", usage(0, 108_000, 0, 300), message.Text(chars(900))))
	want(t, m, 108_300, true)
	if got := m.Reading().Suspect; got != 0 {
		t.Errorf("suspect %d", got)
	}
	m = odd()
	m.Append(reply("msg_3", usage(0, 212_500, 0, 300), message.Text(chars(900))))
	want(t, m, 212_800, true)

	// A second figure that is as odd and says something else is not believed either; the parts of a reply with an odd figure are what
	// was appended, each once.
	m = meter()
	m.Append(message.User("go"), reply("msg_1", usage(0, 10_000, 0, 300), message.Text(chars(900))))
	m.Append(reply("msg_2", usage(0, 100_000, 0, 300), message.Text(chars(300))), reply("msg_2", usage(0, 100_000, 0, 300), message.Text(chars(300))))
	want(t, m, 10_500, true)
	m.Append(reply("msg_3", usage(0, 50_000, 0, 300), message.Text(chars(300))))
	want(t, m, 10_600, true)

	// Twice as much with content to match is nothing odd.
	m = meter()
	m.Append(message.User("go"), reply("msg_1", usage(0, 50_000, 0, 300), message.Text(chars(900))), message.User(chars(240_000)))
	m.Append(reply("msg_2", usage(0, 130_000, 0, 300), message.Text(chars(900))))
	want(t, m, 130_300, true)
}

// TestMeterSwitch: another model counts in another vocabulary; everything is estimated, on the conservative side.
func TestMeterSwitch(t *testing.T) {
	m := &tokens.Meter{Weight: tokens.NewWeight(1.2), Fixed: 1_000}
	m.Append(message.User(strings.Repeat("word ", 10_000)), reply("msg_1", usage(0, 14_000, 0, 10), message.Text("x")))
	want(t, m, 14_010, true)
	m.Switch(tokens.Estimator{}, tokens.NewWeight(0), 4_096)
	if r := m.Reading(); r.Anchored || r.Total < 17_000 || r.Total > 20_000 {
		t.Errorf("%+v", r)
	}
}

// TestWeight: the conservative mode before the first usage, learning, and the clamp to 0.5 to 2.0 (G-7).
func TestWeight(t *testing.T) {
	if f := tokens.NewWeight(0).Factor(); f != tokens.UnknownFactor {
		t.Errorf("unknown model: %v", f)
	}
	w := tokens.NewWeight(1.2)
	if f := w.Factor(); f < 1.3 || f > 1.35 || w.Learned() {
		t.Errorf("known model, not measured: %v", f)
	}
	w.Observe(10, 1000) // too small to tell anything
	w.Observe(1000, 0)
	w.Observe(1000, -5)
	if w.Learned() {
		t.Error("learned from nothing")
	}
	for range 100 {
		w.Observe(2_000, 3_000)
	}
	if f := w.Factor(); f < 1.49 || f > 1.51 {
		t.Errorf("after a hundred observations of 1.5: %v", f)
	}
	w.Observe(2_000, 2_000_000) // one wild figure moves it little
	if f := w.Factor(); f > 1.56 {
		t.Errorf("after one wild figure: %v", f)
	}
	for range 1000 {
		w.Observe(5_000, 1_000_000)
	}
	if f := w.Factor(); f > tokens.MaxWeight || f < 1.99 {
		t.Errorf("upper bound: %v", f)
	}
	for range 1000 {
		w.Observe(5_000, 1)
	}
	if f := w.Factor(); f < tokens.MinWeight || f > 0.51 {
		t.Errorf("lower bound: %v", f)
	}
	if f := tokens.NewWeight(1e9).Factor(); f != tokens.MaxWeight {
		t.Errorf("nonsense prior: %v", f)
	}
}

// TestMeterLearns: after some turns of a model that counts half as much again, the estimate of a large result is right.
func TestMeterLearns(t *testing.T) {
	m := &tokens.Meter{Weight: tokens.NewWeight(0), Fixed: 2_000}
	real := 0
	text := strings.Repeat("the function returns an error when the file is missing\n", 200)
	for i := range 8 {
		m.Append(message.User(text))
		real += tokens.Text(text) * 3 / 2
		id := "msg_" + string(rune('a'+i))
		m.Append(reply(id, usage(0, int64(3_000+real), 0, 6), message.Text("ok")))
	}
	m.Append(message.User(text))
	got, want := m.Total(), 3_000+real+tokens.Text(text)*3/2
	if d := float64(got-want) / float64(want); d < -0.01 || d > 0.01 {
		t.Errorf("%d, want about %d", got, want)
	}
}

// TestMeterLearnsNothing: what an edit removed was measured in the figure before and is not in the next, so that the two say nothing about
// the estimate between them; and usage of a reply from before a boundary is not taken when one of its parts is seen again (B-2).
func TestMeterLearnsNothing(t *testing.T) {
	m := &tokens.Meter{Weight: tokens.NewWeight(1)}
	m.Append(message.User(strings.Repeat("word ", 4_000)), reply("msg_1", usage(0, 9_000, 0, 10), message.Text("x")))
	if m.Weight.Learned() {
		t.Fatal("learned from one figure without a fixed part")
	}
	m.Append(message.User(strings.Repeat("word ", 4_000)))
	m.Remove(2_000)
	m.Append(reply("msg_2", usage(0, 11_000, 0, 10), message.Text("x")))
	if m.Weight.Learned() {
		t.Errorf("learned %v across an edit", m.Weight.Factor())
	}

	m = meter()
	m.Append(message.User(chars(300)), reply("msg_1", usage(0, 50_000, 0, 10), message.Text(chars(300))))
	m.Reset(message.User(chars(300)))
	m.Append(reply("msg_1", usage(0, 50_000, 0, 10), message.Text(chars(300))))
	want(t, m, 200, false)
}

// TestMeterProperties: whatever is appended, removed and reset, in whatever order, the total is never negative, the parts
// of a reading add up, usage right after it was appended is what the meter shows, and the weight stays in its bounds.
func TestMeterProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := tokens.NewWeight(rapid.SampledFrom([]float64{0, 0.3, 1.2, 1.56, 9}).Draw(t, "prior"))
		m := &tokens.Meter{Weight: w, Fixed: rapid.IntRange(0, 30_000).Draw(t, "fixed"), Window: rapid.SampledFrom([]int{0, 4_096, 200_000}).Draw(t, "window")}
		count := rapid.OneOf(rapid.Int64Range(0, 250_000), rapid.Int64Range(-5, 1<<60))
		seen := map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				m.Append(message.User(rapid.StringN(0, 200, -1).Draw(t, "text")))
			case 1:
				u := usage(count.Draw(t, "input"), count.Draw(t, "read"), 0, count.Draw(t, "output"))
				msg := reply(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e"}).Draw(t, "id"), u, message.Text("x"))
				before := m.Reading()
				m.Append(msg)
				if r := m.Reading(); u.ContextTokens() > 0 && r.Suspect == 0 && !seen[msg.ID] && !before.Anchored && int64(r.Measured) < min(u.ContextTokens(), 1<<31-1) {
					t.Fatalf("%+v after usage %+v", r, u)
				}
				seen[msg.ID] = msg.ID != ""
			case 2:
				m.Remove(rapid.IntRange(-100, 300_000).Draw(t, "removed"))
			case 3:
				m.Reset(message.User("summary"))
			case 4:
				m.Switch(tokens.Estimator{}, w, 0)
			}
			if r := m.Reading(); r.Total < 0 || r.Measured+r.Estimated != r.Total || !r.Anchored && r.Measured != 0 {
				t.Fatalf("%+v", r)
			}
			if f := w.Factor(); f < tokens.MinWeight || f > tokens.MaxWeight {
				t.Fatalf("weight %v", f)
			}
		}
	})
}
