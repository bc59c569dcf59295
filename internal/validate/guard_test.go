package validate

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/message"
)

// draw makes a conversation out of few ids and few texts, so that every rule about neighbours is met often, in both directions.
func draw(t *rapid.T) []json.RawMessage {
	id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e f", ""})
	word := rapid.SampledFrom([]string{"x", "y", " ", "", "z "})
	blocks := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0, 1, 2:
			return txt(word.Draw(t, "text"))
		case 3, 4, 5:
			return use(id.Draw(t, "id"), "Read", rapid.SampledFrom([]string{"{}", `"{}"`, `{"p":"\ud800"}`}).Draw(t, "input"))
		case 6, 7, 8:
			return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":[%s]}`, id.Draw(t, "id"), txt(word.Draw(t, "text")))
		case 9:
			return fmt.Sprintf(`{"type":"thinking","thinking":%q,"signature":"s"}`, word.Draw(t, "thinking"))
		case 10:
			return fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":"web_search","input":{}}`, id.Draw(t, "id"))
		}
		return rapid.SampledFrom([]string{
			`{"type":"web_search_tool_result","tool_use_id":"c","content":[]}`, `{"type":"compaction","content":"s"}`, `{"type":"compaction","content":null}`, `{}`, `{"type":"image","source":{"type":"url","url":"u"}}`,
		}).Draw(t, "odd")
	}), 0, 4)
	role := rapid.SampledFrom([]string{"user", "assistant", "user", "assistant", "system", "tool"})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) json.RawMessage {
		r := role.Draw(t, "role")
		if rapid.IntRange(0, 9).Draw(t, "string") == 0 {
			return json.RawMessage(fmt.Sprintf(`{"role":%q,"content":%q}`, r, word.Draw(t, "text")))
		}
		list, _ := json.Marshal(toRaw(blocks.Draw(t, "blocks")))
		return json.RawMessage(fmt.Sprintf(`{"role":%q,"content":%s}`, r, list))
	}), 0, 12).Draw(t, "messages")
}

// drawGood makes a conversation that is in order but for what chance does to it: ids of two calls may be the same.
func drawGood(t *rapid.T) []json.RawMessage {
	var out []json.RawMessage
	add := func(s string) { out = append(out, json.RawMessage(s)) }
	salt := rapid.IntRange(0, 5).Draw(t, "salt")
	for n := range rapid.IntRange(0, 4).Draw(t, "turns") {
		add(user(txt("go on")))
		var calls, results []string
		for k := range rapid.IntRange(0, 2).Draw(t, "calls") {
			id := fmt.Sprint("c", salt, n, k)
			calls, results = append(calls, use(id, "Read", "{}")), append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q}`, id))
		}
		switch {
		case rapid.IntRange(0, 3).Draw(t, "stop") == 0 && n > 0:
			return out
		case len(calls) == 0:
			add(assistant(txt("well")))
			continue
		case rapid.Bool().Draw(t, "split"): // the parts of a reply as messages of their own
			for _, c := range calls {
				add(assistant(c))
			}
		default:
			add(assistant(calls...))
		}
		if rapid.IntRange(0, 5).Draw(t, "open") == 0 {
			return out
		}
		add(user(results...))
		if rapid.IntRange(0, 3).Draw(t, "results last") == 0 {
			return out
		}
		add(assistant(txt("so")))
	}
	return out
}

func toRaw(list []string) []json.RawMessage {
	out := []json.RawMessage{}
	for _, s := range list {
		out = append(out, json.RawMessage(s))
	}
	return out
}

// TestSameAsMessageCheck: two implementations that share nothing agree on every rule that both know (C-15, G-6).
func TestSameAsMessageCheck(t *testing.T) {
	both := []string{RuleNone, RuleRole, RuleFirst, RuleCompact, RuleSystem, RuleEmpty, RuleText, RuleType, RuleWhere, RuleUnicode, RuleID, RuleName,
		RuleInput, RuleRepeated, RuleOpen, RuleOrphan, RuleAnswered, RuleOrder, RuleMixed, RuleServer, RuleServerID, RuleThinkingOnly, RuleThinkingLast}
	rapid.Check(t, func(t *rapid.T) {
		raw := draw(t)
		var ms []message.Message
		for _, r := range raw {
			m, err := message.ParseMessage(r)
			if err != nil {
				t.Fatal(err)
			}
			ms = append(ms, *m)
		}
		var theirs, ours []string
		checked := message.Check(ms)
		// Of two open calls with one id, message.Check reports the later one, this package both.
		repeated := slices.ContainsFunc(checked, func(v message.Violation) bool { return v.Rule == RuleRepeated })
		for _, v := range checked {
			if (v.Rule == RuleOpen || v.Rule == RuleServer) && repeated {
				continue
			}
			theirs = append(theirs, fmt.Sprint(position(v.Path), " ", v.Rule))
		}
		for _, v := range NewGuard(Options{}).Check(Request{Messages: raw}) {
			if slices.Contains(both, v.Rule) && !((v.Rule == RuleOpen || v.Rule == RuleServer) && repeated) {
				ours = append(ours, fmt.Sprint(max(0, position(v.Path)), " ", v.Rule))
			}
		}
		slices.Sort(theirs)
		slices.Sort(ours)
		if theirs, ours = slices.Compact(theirs), slices.Compact(ours); !slices.Equal(theirs, ours) {
			t.Fatalf("%s\nmessage.Check: %v\nvalidate:      %v", raw, theirs, ours)
		}
	})
}

// TestGuardForgetsNothing: a guard that saw other requests before says what a new one says, reasoning included.
func TestGuardForgetsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opt := Options{Bound: rapid.Bool().Draw(t, "bound"), NoPrefill: rapid.Bool().Draw(t, "noPrefill"), AppendOnly: rapid.Bool().Draw(t, "append")}
		old := NewGuard(opt)
		type exchange struct {
			req   Request
			reply json.RawMessage
		}
		var history []exchange
		more := drawGood
		if rapid.IntRange(0, 3).Draw(t, "disorder") == 0 {
			more = draw
		}
		req := Request{Messages: more(t)}
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			fresh := NewGuard(opt)
			for _, x := range history {
				if err := fresh.Received(x.req, x.reply); err != nil {
					t.Fatal(err)
				}
			}
			want, got := fresh.Check(req), old.Check(req)
			if !slices.Equal(got, want) {
				t.Fatalf("after %d exchanges, %s:\n got %v\nwant %v", len(history), req.Messages, got, want)
			}
			if rapid.Bool().Draw(t, "answered") {
				x := exchange{req, json.RawMessage(assistant(th(fmt.Sprint("t", len(history))), txt("ok")))}
				if err := old.Received(x.req, x.reply); err != nil {
					t.Fatal(err)
				}
				history = append(history, x)
				req.Messages = append(slices.Clone(req.Messages), x.reply)
			}
			if rapid.Bool().Draw(t, "other") { // an answer to a request that this guard was not asked about
				x := exchange{mutate(t, req, more), json.RawMessage(assistant(th(fmt.Sprint("o", len(history))), txt("ok")))}
				if err := old.Received(x.req, x.reply); err != nil {
					t.Fatal(err)
				}
				history = append(history, x)
			}
			req = mutate(t, req, more)
		}
	})
}

// mutate changes a request as a conversation goes on, is edited, or goes wrong.
func mutate(t *rapid.T, req Request, more func(*rapid.T) []json.RawMessage) Request {
	ms := slices.Clone(req.Messages)
	at := func() int { return rapid.IntRange(0, len(ms)-1).Draw(t, "at") }
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0, 1:
		ms = append(ms, more(t)...)
	case 2:
		if len(ms) > 0 {
			ms = ms[:at()]
		}
	case 3:
		if len(ms) > 0 {
			i := at()
			ms = slices.Delete(ms, i, i+1)
		}
	case 4:
		if more := more(t); len(ms) > 0 && len(more) > 0 {
			ms[at()] = more[0]
		}
	case 5:
		req.System = json.RawMessage(rapid.SampledFrom([]string{`"s"`, `[` + txt("s", short) + `]`, `"other"`}).Draw(t, "system"))
	}
	req.Messages = ms
	return req
}

// TestCutReply: a reply of two messages was good; cut after the first of them it is not, also for a guard that saw it whole.
func TestCutReply(t *testing.T) {
	g := NewGuard(Options{Bound: true})
	parts := []string{q1, assistant(th("x"), txt("a")), assistant(th("y"), txt("b")), q4}
	if err := g.Received(Request{Messages: toRaw(parts[:1])}, json.RawMessage(assistant(th("x"), txt("a"), th("y"), txt("b")))); err != nil {
		t.Fatal(err)
	}
	if vs := g.Check(Request{Messages: toRaw(parts)}); vs != nil {
		t.Fatal(vs)
	}
	parts[2] = q4
	if got, want := list(g.Check(Request{Messages: toRaw(parts[:3])})), "messages.1.content.0 thinking-partial"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPausedTurn: a reply that a server's tool paused goes back as it is, and goes on (stop reason pause_turn).
func TestPausedTurn(t *testing.T) {
	g := NewGuard(Options{NoPrefill: true})
	for _, ms := range [][]string{{hi, assistant(server)}, {hi, assistant(server)}, {hi, assistant(server), assistant(found, txt("so")), hi}} {
		if vs := g.Check(Request{Messages: toRaw(ms)}); vs != nil {
			t.Error(vs)
		}
	}
}

// TestSummariesInACircle: a history no server can have made, in which each of two summaries covers the other, ends.
func TestSummariesInACircle(t *testing.T) {
	g := NewGuard(Options{Bound: true, AppendOnly: true})
	for _, x := range []struct{ req, reply string }{{c2, c1}, {c1, c2}, {q1, r1}} {
		if err := g.Received(Request{Messages: toRaw([]string{x.req})}, json.RawMessage(x.reply)); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []string{c1, c2} {
		vs := g.Check(Request{Messages: toRaw([]string{first, r1, q2})})
		if got, want := list(vs), "messages.0.content.0 prefix-changed|messages.1.content.0 thinking-bound"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// loop is a conversation of n messages: calls of tools with results of size bytes.
func loop(n, size int) Request {
	filler := make([]byte, size)
	for i := range filler {
		filler[i] = "abcdefgh\\n ij"[i%10]
	}
	req := Request{System: json.RawMessage(`"be good"`), Tools: json.RawMessage(`[{"name":"Read"}]`)}
	req.Messages = append(req.Messages, json.RawMessage(hi))
	for i := 1; len(req.Messages) < n; i++ {
		id := fmt.Sprint("toolu_", i)
		req.Messages = append(req.Messages,
			json.RawMessage(assistant(th(id), use(id, "Read", fmt.Sprintf(`{"file_path":"/src/%d.go"}`, i)))),
			json.RawMessage(user(`{"type":"tool_result","tool_use_id":"`+id+`","content":`+string(quote(filler))+`}`)))
	}
	return req
}

func quote(b []byte) []byte { out, _ := json.Marshal(string(b)); return out }

// TestLongLoop: the conversation of the benchmarks is valid, so that they measure the common case.
func TestLongLoop(t *testing.T) {
	g := NewGuard(Options{Bound: true, NoPrefill: true})
	req := loop(101, 100)
	for n := 1; n+1 < len(req.Messages); n += 2 {
		part := req
		part.Messages = req.Messages[:n]
		if vs := g.Check(part); vs != nil {
			t.Fatal(vs)
		}
		if err := g.Received(part, req.Messages[n]); err != nil {
			t.Fatal(err)
		}
	}
	if vs := g.Check(req); vs != nil {
		t.Fatal(vs)
	}
	g.SetAppendOnly(true)
	req.Messages = slices.Delete(slices.Clone(req.Messages), 1, 3)
	if vs := g.Check(req); len(vs) == 0 || vs[0].Rule != RulePrefixChanged {
		t.Fatal("a message left out is not noticed", vs)
	}
}

// BenchmarkFirst is the first look at 10,000 messages, about 10 MB.
func BenchmarkFirst(b *testing.B) {
	req := loop(10_001, 1800)
	size := 0
	for _, m := range req.Messages {
		size += len(m)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		if vs := NewGuard(Options{NoPrefill: true}).Check(req); vs != nil {
			b.Fatal(vs)
		}
	}
}

// BenchmarkNext is what a send costs in a session of 10,000 messages, with the answer before it: two messages more than the last time
// (Prepare has 2 ms in all).
func BenchmarkNext(b *testing.B) {
	const from, to = 9_001, 11_001
	req := loop(to, 1800)
	for _, bound := range []bool{false, true} {
		b.Run(fmt.Sprint("bound=", bound), func(b *testing.B) {
			var g *Guard
			part := func(n int) Request {
				r := req
				r.Messages = req.Messages[:n]
				return r
			}
			for n := to; b.Loop(); n += 2 {
				if n >= to-2 {
					b.StopTimer()
					n = from
					g = NewGuard(Options{NoPrefill: true, Bound: bound, AppendOnly: bound})
					if err := g.Received(part(n-2), req.Messages[n-2]); err != nil {
						b.Fatal(err)
					}
					g.Check(part(n))
					b.StartTimer()
				}
				if err := g.Received(part(n), req.Messages[n]); err != nil {
					b.Fatal(err)
				}
				if vs := g.Check(part(n + 2)); vs != nil {
					b.Fatal(vs)
				}
			}
		})
	}
}
