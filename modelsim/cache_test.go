package modelsim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// long is a text of more than n tokens.
func long(n int) string { return strings.Repeat("silt ", n) }

func markedUser(text, ttl string) string {
	return fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":%q,"cache_control":{"type":"ephemeral","ttl":%q}}]}`, text, ttl)
}

// figures are the four counts of a reply's usage.
type figures struct{ input, read, write5m, write1h int }

func (a answer) figures() figures {
	u := a.o.obj("usage")
	f := figures{}
	f.input, _ = u.num("input_tokens")
	f.read, _ = u.num("cache_read_input_tokens")
	f.write5m, _ = u.obj("cache_creation").num("ephemeral_5m_input_tokens")
	f.write1h, _ = u.obj("cache_creation").num("ephemeral_1h_input_tokens")
	return f
}

func (f figures) String() string {
	word := func(n int) string {
		if n > 0 {
			return "+"
		}
		return "0"
	}
	return "in " + word(f.input) + " read " + word(f.read) + " 5m " + word(f.write5m) + " 1h " + word(f.write1h)
}

// TestCache: what is written, read, and lost, by position, size and time (API.md 1.7, G-12).
func TestCache(t *testing.T) {
	const model = "claude-opus-5-5"
	head := []string{markedUser(long(3000), "5m")}
	many := func(n int) []string { // n blocks, the last marked
		var blocks []string
		for i := range n {
			mark := ""
			if i == n-1 {
				mark = `,"cache_control":{"type":"ephemeral"}`
			}
			blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":"block %d"%s}`, i, mark))
		}
		return append([]string{markedUser(long(3000), "5m")}, `{"role":"assistant","content":"ok"}`, `{"role":"user","content":[`+strings.Join(blocks, ",")+`]}`)
	}
	unmarked := func(list []string) []string { // the same without the mark on the first
		return append([]string{strings.Replace(list[0], `,"cache_control":{"type":"ephemeral","ttl":"5m"}`, "", 1)}, list[1:]...)
	}
	type step struct {
		wait     time.Duration
		model    string
		messages []string
		extra    string
		want     string
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"nothing marked", []step{{0, model, []string{user(long(3000))}, "", "in + read 0 5m 0 1h 0"}, {0, model, []string{user(long(3000))}, "", "in + read 0 5m 0 1h 0"}}},
		{"written, then read", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, model, head, "", "in 0 read + 5m 0 1h 0"}}},
		{"too short to be cached", []step{{0, model, []string{markedUser("short", "5m")}, "", "in + read 0 5m 0 1h 0"}, {0, model, []string{markedUser("short", "5m")}, "", "in + read 0 5m 0 1h 0"}}},
		{"five minutes", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {5 * time.Minute, model, head, "", "in 0 read 0 5m + 1h 0"}}},
		{"refreshed by use", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {4 * time.Minute, model, head, "", "in 0 read + 5m 0 1h 0"}, {4 * time.Minute, model, head, "", "in 0 read + 5m 0 1h 0"}}},
		{"an hour", []step{{0, model, []string{markedUser(long(3000), "1h")}, "", "in 0 read 0 5m 0 1h +"}, {59 * time.Minute, model, []string{markedUser(long(3000), "1h")}, "", "in 0 read + 5m 0 1h 0"}}},
		{"both", []step{{0, model, []string{markedUser(long(2000), "1h"), assistant("ok"), markedUser(long(100), "5m")}, "", "in 0 read 0 5m + 1h +"}}},
		{"automatic", []step{{0, model, []string{user(long(3000))}, `"cache_control":{"type":"ephemeral"}`, "in 0 read 0 5m + 1h 0"}, {0, model, []string{user(long(3000)), assistant("ok"), user("more")}, `"cache_control":{"type":"ephemeral"}`, "in 0 read + 5m + 1h 0"}}},
		{"read behind 18 new blocks", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, model, unmarked(many(18)), "", "in 0 read + 5m + 1h 0"}}},
		{"not found behind 19 new blocks", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, model, unmarked(many(19)), "", "in 0 read 0 5m + 1h 0"}}},
		{"found by a mark in between", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, model, many(40), "", "in 0 read + 5m + 1h 0"}}},
		{"other tools", []step{{0, model, head, aTool, "in 0 read 0 5m + 1h 0"}, {0, model, head, "", "in 0 read 0 5m + 1h 0"}}},
		{"other model", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, "claude-sonnet-5-5", head, "", "in 0 read 0 5m + 1h 0"}}},
		{"other effort", []step{{0, model, head, "", "in 0 read 0 5m + 1h 0"}, {0, model, head, `"output_config":{"effort":"low"}`, "in 0 read 0 5m + 1h 0"}}},
		{"other effort, system kept", []step{
			{0, model, []string{user("x")}, `"system":[{"type":"text","text":"` + long(3000) + `","cache_control":{"type":"ephemeral"}}]`, "in + read 0 5m + 1h 0"},
			{0, model, []string{user("x")}, `"output_config":{"effort":"low"},"system":[{"type":"text","text":"` + long(3000) + `","cache_control":{"type":"ephemeral"}}]`, "in + read + 5m 0 1h 0"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := NewClock(start)
			cl := newClient(t, Config{Clock: clock})
			for i, s := range c.steps {
				clock.Advance(s.wait)
				a := cl.send(s.model, s.messages, s.extra)
				f := a.figures()
				if a.status != 200 || f.String() != s.want {
					t.Errorf("step %d: %s, want %s (%+v) %s", i, f, s.want, f, a.errorMessage())
				}
				if r := cl.sim.Requests()[i]; f.input+f.read+f.write5m+f.write1h != r.PromptTokens {
					t.Errorf("step %d: %+v is not %d tokens", i, f, r.PromptTokens)
				}
			}
		})
	}
}

// TestCacheKeys: one key does not read what another wrote.
func TestCacheKeys(t *testing.T) {
	c := newClient(t, Config{})
	for i, key := range []string{"a", "b", "a"} {
		c.key = key
		if f := c.send("claude-opus-5-5", []string{markedUser(long(3000), "5m")}, "").figures(); (f.read > 0) != (i == 2) {
			t.Errorf("key %s: %+v", key, f)
		}
	}
}

// TestCost: a conversation is paid by the prices of package caps, and most of it comes from the cache.
func TestCost(t *testing.T) {
	c := newConversation(t, Config{}, "claude-opus-5-5")
	c.extra += `,"cache_control":{"type":"ephemeral"},"system":"` + long(4000) + `"`
	for i := range 20 {
		c.say(fmt.Sprint("text ", i, long(50)))
	}
	r := c.sim.Report()
	want := (float64(r.Input)*4 + float64(r.CacheWrite)*5 + float64(r.CacheRead)*0.2 + float64(r.Output)*20) / 1e6
	if r.ReadShare() < 0.9 || r.Cost < want*0.999 || r.Cost > want*1.001 || r.Breaks > 0 || r.Requests != 20 || r.Peak < 8000 {
		t.Errorf("%+v; want $%v", r, want)
	}
}

// TestDiagnostics: why a prefix was not found, by the message it is compared with.
func TestDiagnostics(t *testing.T) {
	c := newClient(t, Config{})
	first := c.send("claude-opus-5-5", []string{user("one")}, aTool+`,"system":"s","diagnostics":{"previous_message_id":null}`)
	if got := string(first.o.get("diagnostics")); got != `{"cache_miss_reason":null}` {
		t.Error(got)
	}
	id := first.o.str("id")
	for _, w := range []struct{ model, messages, extra, want string }{
		{"claude-opus-5-5", user("one") + "," + first.back() + "," + user("two"), aTool + `,"system":"s"`, "null"},
		{"claude-opus-5-5", user("ONE"), aTool + `,"system":"s"`, "messages_changed"},
		{"claude-opus-5-5", user("one"), aTool + `,"system":"t"`, "system_changed"},
		{"claude-opus-5-5", user("one"), `"system":"s"`, "tools_changed"},
		{"claude-opus-5", user("one"), aTool + `,"system":"s"`, "model_changed"},
	} {
		a := c.send(w.model, []string{w.messages}, w.extra+`,"diagnostics":{"previous_message_id":"`+id+`"}`)
		if got := string(a.o.get("diagnostics")); !strings.Contains(got, w.want) || w.want != "null" && !strings.Contains(got, "cache_missed_input_tokens") {
			t.Errorf("%s: %s", w.want, got)
		}
	}
	if a := c.send("claude-opus-5-5", []string{user("one")}, `"diagnostics":{"previous_message_id":"msg_x"}`); !strings.Contains(string(a.o.get("diagnostics")), "previous_message_not_found") {
		t.Errorf("%s", a.body)
	}
}

// TestBreaks: a request that does not extend the one before is named with its cause (G-12); appending, requests for summaries and other
// lanes are none.
func TestBreaks(t *testing.T) {
	c := newConversation(t, Config{Script: "on last ~ /summarize/\n summarize\n"}, "claude-opus-5-5")
	c.extra += `,"system":"` + long(200) + `"`
	for i := range 4 {
		c.say(fmt.Sprint(long(300), i))
	}
	c.send(c.model, []string{user("title please")}, "") // no tools: another lane
	c.say("five")
	if b := c.sim.Breaks(); len(b) > 0 {
		t.Fatalf("%v", b)
	}
	changed := with(c.messages, 2, user(long(300)+"x"))
	c.send(c.model, append(changed, user("six")), c.extra)
	c.send(c.model, append(changed, user("six")), strings.Replace(c.extra, "Reads", "Read", 1))
	c.send(c.model, []string{user("the summary")}, strings.Replace(c.extra, "Reads", "Read", 1))
	var got []string
	for _, b := range c.sim.Breaks() {
		got = append(got, fmt.Sprintf("%s %s %v", b.Cause, b.Path, b.Shorter))
	}
	want := "messages messages.2.content false; tools tools.0 false; messages messages.0.content true"
	if strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
