package modelsim

import (
	"strings"
	"testing"
	"time"
)

// TestVerbs: each line a section may have, and what it answers.
func TestVerbs(t *testing.T) {
	for _, w := range []struct {
		name, script string
		messages     []string
		extra        string
		want         string // stop reason, then the content
	}{
		{"echo without a script", "", nil, "", `end_turn [{"type":"text","text":"hi there"}]`},
		{"echo a result", "", []string{user("x"), call1, result1}, "", `end_turn [{"type":"text","text":"result: x"}]`},
		{"say", "turn\n say hello  world\n", nil, "", `end_turn [{"type":"text","text":"hello  world"}]`},
		{"say JSON", `turn` + "\n" + ` say "a\nb"`, nil, "", `end_turn [{"type":"text","text":"a\nb"}]`},
		{"say lines", "turn\n say <<END\nline 1\n # no comment\nEND\n", nil, "", `end_turn [{"type":"text","text":"line 1\n # no comment"}]`},
		{"say a file", "turn\n say @big.txt\n-- big.txt --\nfrom the archive\n", nil, "", `end_turn [{"type":"text","text":"from the archive\n"}]`},
		{"several", "turn\n say a\n say b\n", nil, "", `end_turn [{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"think", "turn\n think t\n say x\n", nil, "", `end_turn [{"type":"thinking","thinking":"t","signature":"`},
		{"redacted", "turn\n redacted\n say x\n", nil, "", `end_turn [{"type":"redacted_thinking","data":"`},
		{"call", "turn\n call read {\"path\": \"a\", \"n\": 1.50}\n", nil, aTool, `tool_use [{"type":"tool_use","id":"toolu_`},
		{"input as written", "turn\n call read {\"path\": \"a\", \"n\": 1.50}\n", nil, aTool, `"name":"read","input":{"path":"a","n":1.50}}]`},
		{"call what is offered", "turn\n call Bash|shell {\"c\":1} or read {\"path\":\"b\"}\n", nil, aTool, `"input":{"path":"b"}}]`},
		{"call of a group", "turn\n call Read|read {\"path\":\"b\"}\n", nil, aTool, `"name":"read"`},
		{"call without input", "turn\n call read\n", nil, aTool, `"input":{}}]`},
		{"block", `turn` + "\n" + ` block {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}` + "\n stop pause_turn", nil, "", `pause_turn [{"type":"server_tool_use","id":"srvtoolu_1"`},
		{"stop sequence", "turn\n say x\n stop stop_sequence END\n", nil, "", `stop_sequence [`},
		{"nothing", "turn\n stop end_turn\n", nil, "", `end_turn []`},
		{"refuse", "turn\n say part\n refuse cyber Not this.\n", nil, "", `refusal [{"type":"text","text":"part"}]`},
		{"fill", "turn\n fill 5\n", nil, "", `end_turn [{"type":"text","text":"`},
		{"summarize", "turn\n summarize\n", []string{user("keep\nthe NEEDLE-1 line\nrest")}, "", `end_turn [{"type":"text","text":"Summary of the conversation so far.\n\nthe NEEDLE-1 line\nkeep the NEEDLE-1 line rest"}]`},

		{"last", "on last ~ /hi (?P<who>\\w+)/\n say to ${who} ${1} ${0}\n", nil, "", `"to there there hi there"`},
		{"last of no turn before", "on last ~ /x/\n say yes\n", []string{user("x"), call1, result1}, "", `"result: x"`},
		{"result", "on result ~ /^(x)$/\n say got ${1}\n", []string{user("q"), call1, result1}, "", `"got x"`},
		{"any", "on any ~ /q/ and result ~ /x/\n say yes\n", []string{user("q"), call1, result1}, "", `"yes"`},
		{"system", "on system ~ /brief/\n say yes\n", nil, `"system":"be brief"`, `"yes"`},
		{"model", "on model ~ /opus/\n say yes\n", nil, "", `"yes"`},
		{"header", "on header X-Api-Key ~ /test$/\n say yes\n", nil, "", `"yes"`},
		{"tool", "on tool read\n say yes\n", nil, aTool, `"yes"`},
		{"tools", "on not tools\n say none\n", nil, "", `"none"`},
		{"tokens", "on tokens > 2 and tokens < 100\n say small\n", nil, "", `"small"`},
		{"request", "on request 1\n say first\n", nil, "", `"first"`},
		{"every", "on every 1\n say each\n", nil, "", `"each"`},
		{"not", "on not last ~ /zzz/\n say yes\n", nil, "", `"yes"`},
		{"slash", "on last ~ /a\\/b/\n say yes\n", []string{user("a/b")}, "", `"yes"`},
		{"arithmetic", "on last ~ /n=(\\d+)/\n say ${1+1} ${1-1} ${n} ${use} ${unknown} ${0+1}\n", []string{user("n=9")}, "", `"10 8 1 1 ${unknown} ${0+1}"`},
		{"in a call", "on last ~ /n=(\\d+)/\n call read {\"${1}\":\"p-${1+1}\\n\"}\n", []string{user("n=9")}, aTool, `"input":{"9":"p-10\n"}`},
		{"last and result", "default\n say ${last}/${result}\n", []string{user("q"), call1, result1}, "", `"q/x"`},
		{"rules before turns", "turn\n say turn\non last ~ /hi/\n say rule\n", nil, "", `"rule"`},
		{"default", "default\n say d\n", nil, "", `"d"`},
	} {
		t.Run(w.name, func(t *testing.T) {
			c := newClient(t, Config{Script: w.script})
			messages := w.messages
			if messages == nil {
				messages = []string{user("hi there")}
			}
			a := c.send("claude-opus-5-5", messages, w.extra)
			if got := a.o.str("stop_reason") + " " + string(a.o.get("content")); a.status != 200 || !strings.Contains(got, w.want) {
				t.Errorf("%s\n%s", got, a.body)
			}
			if err := c.sim.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSequence: turns in order, their times, rules with times, and what comes when all is used up.
func TestSequence(t *testing.T) {
	c := newClient(t, Config{Script: "turn\n say 1\nturn times 2\n say 2/${use}\non last ~ /rule/ times 1\n say rule\n"})
	var got []string
	for _, text := range []string{"a", "rule", "b", "c", "rule", "d"} {
		got = append(got, c.send("claude-opus-5-5", []string{user(text)}, "").text())
	}
	if s := strings.Join(got, " "); s != "1 rule 2/1 2/2 rule d" {
		t.Errorf("%q", s)
	}
	for i, want := range []string{"turn at line 1", "on at line 5", "turn at line 3", "turn at line 3", "echo at line 0"} {
		if got := c.sim.Requests()[i].Section; got != want {
			t.Errorf("request %d: %q", i, got)
		}
	}
}

// TestRefusal carries its details.
func TestRefusal(t *testing.T) {
	c := newClient(t, Config{Script: "turn\n refuse cyber Not this.\nturn\n refuse\n"})
	if got := string(c.send("claude-opus-5-5", []string{user("x")}, "").o.get("stop_details")); got != `{"category":"cyber","explanation":"Not this.","type":"refusal"}` {
		t.Error(got)
	}
	if got := string(c.send("claude-opus-5-5", []string{user("x")}, "").o.get("stop_details")); got != `{"category":null,"explanation":null,"type":"refusal"}` {
		t.Error(got)
	}
}

// TestScriptMistake: a call of a tool that is not offered is the script's mistake, not the client's, and nothing to retry.
func TestScriptMistake(t *testing.T) {
	c := newClient(t, Config{Script: "turn\n call read|cat {}\n"})
	a := c.send("claude-opus-5-5", []string{user("x")}, "")
	if a.status != 500 || a.header.Get("X-Should-Retry") != "false" || !strings.Contains(a.errorMessage(), "line 2 calls read or cat") || c.sim.Err() == nil || len(c.sim.Violations()) > 0 {
		t.Errorf("%s, %v", a.body, c.sim.Err())
	}
}

// TestParseErrors: every mistake is named with its line.
func TestParseErrors(t *testing.T) {
	for script, want := range map[string]string{
		"say x":                              `line 1: "say" before the first`,
		"turn\n\n fly":                       `line 3: unknown verb "fly"`,
		"turn x":                             "takes no conditions",
		"turn times 0":                       "times 0",
		"on":                                 "without a condition",
		"on moon ~ /x/":                      `unknown condition "moon"`,
		"on last = x":                        "want ~ /regular expression/",
		"on last ~ /x":                       "no closing /",
		"on last ~ /(/":                      "missing closing",
		"on last ~ /x/ or stream":            "want and",
		"on last ~ /x/ and":                  "want and",
		"on tokens many":                     "want a number",
		"on every 0":                         "want a number",
		"on tool":                            "without a name",
		"turn\n say":                         "no text",
		"turn\n say \"x":                     "not a JSON string",
		"turn\n say @none":                   `no file "none"`,
		"turn\n say <<END\nx":                `no line "END"`,
		"turn\n call":                        "without a name",
		"turn\n call x {":                    "the input of x",
		"turn\n call x {} y {}":              "want or",
		"turn\n block {}":                    "with a type",
		"turn\n stop never":                  `unknown stop reason "never"`,
		"turn\n echo x":                      "takes nothing",
		"turn\n fill many":                   "invalid syntax",
		"turn\n fill 0":                      "fill 0",
		"turn\n fail 200":                    "400 to 599",
		"turn\n fail 500 maybe":              `unknown word "maybe"`,
		"turn\n drop in space":               "want call, think or say",
		"turn\n drop times 0":                "times 0",
		"turn\n drop after -1":               "after -1",
		"turn\n slow fast":                   "invalid duration",
		"split 0":                            "split 0",
		"ping 0":                             "ping 0",
		"event x y":                          "a name and JSON",
		"usage half":                         "zero or a JSON object",
		"model":                              "without a name",
		"model x window many":                `window is "many"`,
		"model x size 1":                     `unknown key "size"`,
		"# fine\nmodel x bound perhaps":      `line 2: model: bound is "perhaps"`,
		"turn\n overflow plain":              "unknown word",
		"turn\n error overloaded_error what": "unknown word",
	} {
		if _, err := ParseScript(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", script, err, want)
		}
	}
	if _, err := Start(Config{Script: "fly"}); err == nil {
		t.Error("a server starts with a wrong script")
	}
}

// TestSettings: models of the script, a window smaller than told, and a factor.
func TestSettings(t *testing.T) {
	c := newClient(t, Config{Script: "model mine window 50000 true 2000 output 100 factor 2 mincache 10 sum true bound false\ndefault\n fill 500\n"})
	if a := c.send("mine", []string{user(long(300))}, ""); a.status != 400 || !hasRule(c.sim.Violations(), "max-tokens") {
		t.Errorf("%s", a.body)
	}
	body := func(n int) string {
		return strings.Replace(request("mine", []string{user(long(n))}, ""), "4096", "100", 1)
	}
	if a := c.post("/v1/messages", body(300)); a.status != 200 || a.o.str("stop_reason") != "max_tokens" || a.usage("output_tokens") != 100 {
		t.Errorf("%s", a.body)
	}
	if a := c.post("/v1/messages", body(960)); a.status != 400 || a.errorMessage() != "input length and `max_tokens` exceed context limit: 1926 + 100 > 2000, decrease input length or `max_tokens` and try again" {
		t.Errorf("%s", a.body)
	}
	if a := c.post("/v1/messages", body(1200)); a.status != 400 || a.errorMessage() != "prompt is too long: 2408 tokens > 2000 maximum" {
		t.Errorf("%s", a.body)
	}
	if r := c.sim.Report(); r.Overflows != 2 || r.Refused != 3 {
		t.Errorf("%+v", r)
	}
}

// TestWindowEnd: where the window ends in the middle of a reply, it ends with model_context_window_exceeded.
func TestWindowEnd(t *testing.T) {
	c := newClient(t, Config{Script: "model claude-opus-5-5 window 2000 factor 1\nturn\n fill 3000\nturn\n say x\n think y\n call read {\"path\":\"" + long(3000) + "\"}\n"})
	for range 2 {
		a := c.send("claude-opus-5-5", []string{user(long(1000))}, aTool)
		r := c.sim.Requests()
		if a.status != 200 || a.o.str("stop_reason") != "model_context_window_exceeded" || r[len(r)-1].PromptTokens+a.usage("output_tokens") > 2000 {
			t.Errorf("%s", a.body)
		}
	}
}

// TestWarming: max_tokens 0 writes the cache and says nothing.
func TestWarming(t *testing.T) {
	c := newClient(t, Config{})
	a := c.post("/v1/messages", strings.Replace(request("claude-opus-5-5", []string{markedUser(long(3000), "5m")}, ""), "4096", "0", 1))
	if a.status != 200 || len(a.content()) != 0 || a.usage("output_tokens") != 0 {
		t.Errorf("%s", a.body)
	}
	if f := c.send("claude-opus-5-5", []string{markedUser(long(3000), "5m")}, "").figures(); f.read == 0 {
		t.Errorf("%+v", f)
	}
}

// TestDeterministic: script, seed and clock decide every byte of an answer; a retry has ids of its own, and so has another seed.
func TestDeterministic(t *testing.T) {
	run := func(seed uint64) [2]string {
		c := newClient(t, Config{Script: "default\n think t\n fill 30\n call read {}\n", Seed: seed})
		body := request("claude-opus-5-5", []string{user("x")}, aTool)
		return [2]string{string(c.post("/v1/messages", body).body), string(c.post("/v1/messages", body).body)}
	}
	a, b, other := run(1), run(1), run(2)
	if a != b || a[0] == a[1] || a[0] == other[0] {
		t.Errorf("%q %q %q", a, b, other)
	}
}

// FuzzParseScript: no text makes the parser panic, and what it reads can answer a request.
func FuzzParseScript(f *testing.F) {
	for _, s := range []string{sdkScript, bindingScript, "on last ~ /(a)/ and not count times 2\n say ${1+1}\n fail 429 \"x\" retry-after=1 times 2\n", "turn\n say @f\n-- f --\nx\n",
		"turn\n call a|b {\"x\":\"\\u00e9\"} or c\n drop in call\n usage {\"input_tokens\":1}\n",
		`["delay 0s", {"turn":[{"think":"a\nb"},{"call":"a","input":{}}],"times":2}, {"on":"stream","do":["echo"]}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sim, err := New(Config{Script: text, Clock: NewClock(start)})
		if err != nil {
			return
		}
		if hangs(sim.script) {
			return
		}
		for range 2 {
			func() {
				defer func() {
					if r := recover(); r != nil && !isAbort(r) {
						panic(r)
					}
				}()
				direct(sim, request("claude-opus-5-5", []string{user("a")}, aTool))
			}()
		}
		if len(sim.Requests()) != 2 || sim.clock.Now().Before(start.Add(-time.Hour)) {
			t.Fatal("requests are not recorded")
		}
	})
}

// hangs reports whether a script may wait for the client to go away, or answers with very much.
func hangs(s *Script) bool {
	for _, sec := range s.sections {
		for _, a := range sec.acts {
			if a.fault != nil && a.fault.kind == "hang" || a.n > 10_000 {
				return true
			}
		}
	}
	return false
}
