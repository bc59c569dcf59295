package modelsim

import (
	"strings"
	"testing"
)

// TestScriptJSON: a script in JSON answers as the same script of lines does, also in an archive.
func TestScriptJSON(t *testing.T) {
	lines := "model mine window 50000\nsplit random\nturn times 2\n say two words\n call read {\"path\":\"a ${n}\"}\non result ~ /par+t/ and not stream\n say @file\ndefault\n block {\"type\":\"text\",\"text\":\"end\"}\n-- file --\nfrom the archive\n"
	array := `["model mine window 50000", "split random",
  {"turn": [{"say":"two words"}, {"call":"read","input":{"path":"a ${n}"}}], "times": 2},
  {"on": "result ~ /par+t/ and not stream", "do": ["say @file"]},
  {"default": [{"block":{"type":"text","text":"end"}}]}
]
-- file --
from the archive
`
	answers := func(script string) string {
		c := newClient(t, Config{Script: script})
		var out strings.Builder
		for _, last := range []string{user("x"), user("x"), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a part"}]}`, user("z")} {
			messages := []string{user("x"), call1, last}
			if last == user("x") || last == user("z") {
				messages = []string{last}
			}
			a := c.send("mine", messages, aTool)
			if a.status != 200 {
				t.Fatalf("%s", a.body)
			}
			out.Write(a.body)
		}
		return out.String()
	}
	want, got := answers(lines), answers(array)
	if got != want || !strings.Contains(want, "from the archive") || !strings.Contains(want, `"path":"a 2"`) || !strings.Contains(want, "end") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestScriptJSONErrors: every mistake is named with the line of its section, and what to write instead.
func TestScriptJSONErrors(t *testing.T) {
	for script, want := range map[string]string{
		`[`:                                    "does not end",
		`[{"turn":["say x"]}`:                  "does not end",
		`[] []`:                                "behind the array",
		`["turn"]`:                             "a section is an object",
		`["say x"]`:                            "before the first",
		"[\n{\"turn\":[]},\n{\"turn\":1}]":     "line 3: want a line, or a section",
		"[{\"turn\":[]}\n,\n\n{\"turns\":1}]":  "line 4: want a line, or a section",
		`[{}]`:                                 "one of turn, default",
		`[{"turn":[],"default":[]}]`:           "one of turn, default",
		`[{"turn":[],"times":-1}]`:             "times -1",
		`[{"do":["echo"]}]`:                    "on without a condition",
		`[{"turn":["echo","fly"]}]`:            `line 1: step 2: unknown verb "fly"`,
		`[{"turn":[3]}]`:                       "step 1: want a line as a string",
		`[{"turn":[{}]}]`:                      "one verb",
		`[{"turn":[{"say":"x","think":"y"}]}]`: "one verb",
		`[{"turn":[{"say":3}]}]`:               "say: want a string",
		`[{"turn":[{"fail":500}]}]`:            "write it as a string",
		`[{"turn":[{"call":"a b"}]}]`:          "call: want",
		`[{"turn":[{"call":"a","input":3}]}]`:  "the input of a is no JSON object",
	} {
		_, err := ParseScript(script)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
}
