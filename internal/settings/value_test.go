package settings

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Typed access, from files and from texts. A wrong value is an error that names
// its place, and never the value of a weaker layer.
func TestTypes(t *testing.T) {
	type answer struct {
		v   any
		err string // part of the message; "" = no error
	}
	boolean := func(s *Settings) answer { v := s.Bool("k"); return answer{v.V, message(v.Err)} }
	whole := func(s *Settings) answer { v := s.Int("k"); return answer{v.V, message(v.Err)} }
	float := func(s *Settings) answer { v := s.Float("k"); return answer{v.V, message(v.Err)} }
	text := func(s *Settings) answer { v := s.String("k"); return answer{v.V, message(v.Err)} }
	span := func(s *Settings) answer { v := s.Duration("k"); return answer{v.V, message(v.Err)} }
	for _, c := range []struct {
		name       string
		read       func(*Settings) answer
		file, flag string // JSON, text of a flag; "-" = not tried
		want       any
		err        string
	}{
		{"true", boolean, `true`, "Yes", true, ""},
		{"false", boolean, `false`, " off ", false, ""},
		{"text for a switch", boolean, `"true"`, "-", false, `must be true or false, not the text "true"`},
		{"other text for a switch", boolean, `1`, "maybe", false, "must be true or false"},
		{"null for a switch", boolean, `null`, "-", false, "not null"},

		{"zero", whole, `0`, "0", int64(0), ""},
		{"negative", whole, `-12`, "-12", int64(-12), ""},
		{"largest", whole, `9223372036854775807`, "9223372036854775807", int64(math.MaxInt64), ""},
		{"too large", whole, `9223372036854775808`, "9223372036854775808", int64(0), "a whole number"},
		{"exponent", whole, `2e5`, "2e5", int64(200_000), ""},
		{"whole with a point", whole, `30.0`, "30.0", int64(30), ""},
		{"fraction", whole, `30.5`, "30.5", int64(0), "not a number (30.5)"},
		{"text for a number", whole, `"30"`, "thirty", int64(0), "a whole number"},
		{"list for a number", whole, `[30]`, "[30]", int64(0), "a whole number"},
		{"hexadecimal", whole, "-", "0x10", int64(0), "a whole number"},
		{"not a number", whole, "-", "NaN", int64(0), "a whole number"},
		{"spaces", whole, "-", " 7 ", int64(7), ""},

		{"float", float, `80.5`, "80.5", 80.5, ""},
		{"float, whole", float, `80`, "80", 80.0, ""},
		{"float, too large", float, `1e999`, "1e999", 0.0, "a number"},
		{"float, infinity", float, "-", "Inf", 0.0, "a number"},
		{"float, hexadecimal", float, "-", "0x1p4", 0.0, "a number"},

		{"string", text, `"h\u00e9\n"`, "hé\n", "hé\n", ""},
		{"lone surrogate", text, `"\ud800"`, "\ufffd", "\ufffd", ""},
		{"empty string", text, `""`, "-", "", ""},
		{"number for a string", text, `5`, "-", "", "must be a string, not a number (5)"},
		{"object for a string", text, `{"a":1}`, "-", "", "not an object"},

		{"seconds", span, `"90s"`, "90s", 90 * time.Second, ""},
		{"days", span, `"7d"`, "7d", 7 * 24 * time.Hour, ""},
		{"mixed", span, `"1h30m"`, "1h30m", 90 * time.Minute, ""},
		{"no time", span, `0`, "0", time.Duration(0), ""},
		{"no unit", span, `30`, "30", time.Duration(0), "a duration with a unit"},
		{"no unit, text", span, `"30"`, "-", time.Duration(0), "a duration with a unit"},
		{"too many days", span, `"999999999999d"`, "999999999999d", time.Duration(0), "a duration with a unit"},
		{"half a day", span, `"0.5d"`, "0.5d", time.Duration(0), "a duration with a unit"},
	} {
		if c.file != "-" {
			s := newTree(t, map[Layer]string{User: `{"k":` + c.file + `}`, ClaudeUser: `{"k":77}`}).load()
			if got := c.read(s); got.v != c.want || (got.err == "") != (c.err == "") || !strings.Contains(got.err, c.err) {
				t.Errorf("%s in a file: %v; want %v, %q", c.name, got, c.want, c.err)
			} else if c.err != "" && !strings.Contains(got.err, "settings.json:1 (user): k must be") {
				t.Errorf("%s in a file: no place in %q", c.name, got.err)
			}
		}
		if c.flag != "-" {
			s := Load(Options{Flags: []Flag{{"--k", "k", c.flag}}})
			if got := c.read(s); got.v != c.want || (got.err == "") != (c.err == "") {
				t.Errorf("%s in a flag: %v; want %v, %q", c.name, got, c.want, c.err)
			} else if c.err != "" && !strings.Contains(got.err, "--k (flags): k must be") {
				t.Errorf("%s in a flag: no place in %q", c.name, got.err)
			}
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Long texts may be secrets in the wrong place and are not repeated.
func TestWrongValuesAreNotShown(t *testing.T) {
	secret := "sk-ant-api03-verysecret"
	s := Load(Options{Flags: []Flag{{"--window", "window", secret}}, Settings: []string{`{"sessions":{"max":"` + secret + `"}}`}})
	if len(s.Problems()) != 2 {
		t.Fatalf("problems: %v", s.Problems())
	}
	for _, p := range s.Problems() {
		if strings.Contains(p.Error(), "verysecret") || !strings.Contains(p.Error(), "a text of 23 bytes") {
			t.Error(p)
		}
	}
}

// A value and its default.
func TestOr(t *testing.T) {
	s := newTree(t, map[Layer]string{User: `{"window":0,"autoCompactWindow":"x"}`}).load()
	if v := s.Int("window"); !v.Set() || v.Or(5) != 0 {
		t.Errorf("a zero that was set: %+v", v)
	}
	if v := s.Int("autoCompactWindow"); v.Set() || v.Or(5) != 5 || v.Err == nil {
		t.Errorf("a wrong value: %+v", v)
	}
	if v := s.Int("sessions.max"); v.Set() || v.Or(5) != 5 || v.Err != nil {
		t.Errorf("no value: %+v", v)
	}
}

// Lists of permissions are the union of all layers, each element with its own
// origin; other lists are the strongest layer's.
func TestLists(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		Policy:        `{"permissions":{"deny":["Read(.env)"]}}`,
		VarveLocal:    `{"permissions":{"deny":["Bash(rm:*)","Read(.env)"]}}`,
		ClaudeProject: `{"permissions":{"deny":["WebFetch"],"allow":["Bash(ls)"]},"worktree":{"sparsePaths":["p"]}}`,
		User:          `{"permissions":{"deny":[],"allow":["Bash(git status:*)"]},"worktree":{"sparsePaths":["u","u"]}}`,
		ClaudeUser:    `{"permissions":{"deny":["Edit"]}}`,
	})
	s := tr.load(func(o *Options) { o.Flags = []Flag{{"--disallowedTools", "permissions.deny", "Task, mcp__x__*,"}} })
	deny := s.Strings("permissions.deny")
	if got, want := deny.Values(), []string{"Read(.env)", "Task", "mcp__x__*", "Bash(rm:*)", "WebFetch", "Edit"}; !slices.Equal(got, want) || deny.Err != nil || !deny.Set() {
		t.Errorf("deny %q, %v", got, deny.Err)
	}
	var layers []Layer
	for _, it := range deny.Items {
		layers = append(layers, it.Origin.Layer)
	}
	if want := []Layer{Policy, Flags, Flags, VarveLocal, ClaudeProject, ClaudeUser}; !slices.Equal(layers, want) {
		t.Errorf("from %v", layers)
	}
	if got := s.Strings("permissions.allow").Values(); !slices.Equal(got, []string{"Bash(git status:*)"}) {
		t.Errorf("allow of an untrusted project: %q", got)
	}
	if got := tr.load(trusted).Strings("permissions.allow").Values(); !slices.Equal(got, []string{"Bash(ls)", "Bash(git status:*)"}) {
		t.Errorf("allow of a trusted project: %q", got)
	}
	if got := s.Strings("worktree.sparsePaths").Values(); !slices.Equal(got, []string{"p"}) {
		t.Errorf("a list that is no union: %q", got)
	}
	if got := s.Raw("permissions"); string(got.V) != `{"deny":["Read(.env)","Bash(rm:*)","WebFetch","Edit"],"allow":["Bash(git status:*)"]}` {
		t.Errorf("raw: %s", got.V)
	}
	if l := s.Strings("claudeMdExcludes"); l.Set() || l.Items != nil || l.Err != nil {
		t.Errorf("no list: %+v", l)
	}
	if l := s.Strings("permissions.deny"); !l.Set() {
		t.Errorf("%+v", l)
	}
}

// One bad element does not void a list of what is forbidden.
func TestListWithBadElements(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		User:       "{\"permissions\":{\"deny\":[\"a\",\n7,\n\"b\",null]}}",
		ClaudeUser: `{"permissions":{"deny":"c"}}`,
		Policy:     `{"permissions":{"deny":["d"]}}`,
	})
	s := tr.load()
	l := s.Strings("permissions.deny")
	if !slices.Equal(l.Values(), []string{"d", "a", "b"}) {
		t.Errorf("got %q", l.Values())
	}
	wantErr(t, l.Err, "settings.json:2 (user): permissions.deny.1 must be a string, not a number (7)")
	for _, part := range []string{"permissions.deny.3 must be a string, not null", `(claude user): permissions.deny must be a list of strings, not the text "c"`} {
		if !strings.Contains(l.Err.Error(), part) {
			t.Errorf("no %q in %v", part, l.Err)
		}
	}
	if len(s.Problems()) != 2 { // one a file
		t.Errorf("problems: %q", tr.texts(s.Problems()))
	}
	for text, want := range map[string][]string{`["a, b","c"]`: {"a, b", "c"}, "a,b": {"a", "b"}, "[a": {"[a"}, ",": nil, `["a"`: {`["a"`}} {
		s := Load(Options{Flags: []Flag{{"--x", "x", text}}})
		if got := s.Strings("x"); !slices.Equal(got.Values(), want) || got.Err != nil || !got.Set() {
			t.Errorf("%s: %q, %v", text, got.Values(), got.Err)
		}
	}
}

// Servers come whole from the strongest layer that names them.
func TestMembers(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		ClaudeLocal: "{\"mcpServers\":{\n\"a\":{\"command\":\"local\"}}}",
		ClaudeUser:  `{"mcpServers":{"b":{"url":"u"},"a":{"command":"user","env":{"X":"1"}}}}`,
		User:        `{"mcpServers":[1]}`,
	})
	got, err := tr.load(trusted).Members("mcpServers")
	wantErr(t, err, "(user): mcpServers must be an object, not a list")
	if len(got) != 2 || got[0].Name != "a" || string(got[0].JSON) != `{"command":"local"}` || got[0].Origin != (Origin{ClaudeLocal, tr.path(ClaudeLocal), 2}) ||
		got[1].Name != "b" || string(got[1].JSON) != `{"url":"u"}` {
		t.Errorf("got %+v", got)
	}
	tr.write(User, `{"mcpServers":{}}`)
	s := tr.load(trusted)
	if raw := s.Raw("mcpServers"); string(raw.V) != `{"a":{"command":"local"},"b":{"url":"u"}}` {
		t.Errorf("raw: %s", raw.V)
	}
	if got, err := s.Members("agents"); got != nil || err != nil {
		t.Errorf("no object: %v, %v", got, err)
	}
	// A flag can bring an object.
	s = Load(Options{Flags: []Flag{{"--mcp", "mcpServers", `{"c":{}}`}, {"--bad", "agents", `{`}}})
	if got, err := s.Members("mcpServers"); err != nil || len(got) != 1 || got[0].Name != "c" || got[0].Origin.Line != 0 {
		t.Errorf("from a flag: %v, %v", got, err)
	}
	if raw := s.Raw("agents"); string(raw.V) != `"{"` {
		t.Errorf("text that is no JSON: %s", raw.V)
	}
	_, err = s.Members("agents")
	wantErr(t, err, "--bad (flags): agents must be an object")
}

// Objects merge member by member, hooks are given layer by layer.
func TestObjects(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		Policy:      `{"compact":{"percent":70,"deep":{"a":1}},"hooks":{"Stop":[1]}}`,
		ClaudeLocal: `{"compact":{"deep":{"a":2,"b":[1]},"mode":"x"}}`,
		User:        `{"compact":{"deep":{"b":[2],"c":3},"percent":5},"hooks":{"Stop":[2]},"models":{"anthropic/claude-opus-4.6":{"window":9},"plain":{"window":8}}}`,
		ClaudeUser:  `{"compact":false}`,
	})
	s := tr.load()
	if got := s.Raw("compact"); string(got.V) != `{"percent":70,"deep":{"a":1,"b":[1],"c":3},"mode":"x"}` || got.Origin.Layer != Policy {
		t.Errorf("compact: %s", got.V)
	}
	if each := s.Each("hooks"); len(each) != 2 || string(each[0].JSON) != `{"Stop":[1]}` || each[1].Origin.Layer != User || each[0].Name != "hooks" {
		t.Errorf("hooks: %+v", each)
	}
	// Names with dots are reached by Sub; a dot in a key is always a step.
	if got := s.Sub("models", "anthropic/claude-opus-4.6").Int("window"); got.V != 9 {
		t.Errorf("window: %+v", got)
	}
	if got := s.Int("models.anthropic/claude-opus-4.6.window"); got.Set() {
		t.Errorf("window by dots: %+v", got)
	}
	if got := s.Sub("models").Sub("plain").Int("window"); got.V != 8 {
		t.Errorf("window: %+v", got)
	}
	if got := s.Raw("nothing"); got.Set() || got.V != nil {
		t.Errorf("nothing: %+v", got)
	}
	// A weaker scalar does not hide members, a stronger one hides nothing below.
	if got := s.String("compact.mode"); got.V != "x" {
		t.Errorf("mode: %+v", got)
	}
	a, b := s.Sub("models"), s.Sub("models")
	if a.Sub("plain").Int("window").V != 8 || b.Sub("other").Int("window").Set() || a.Sub("plain").Int("window").V != 8 {
		t.Error("views disturb each other")
	}
}

// Keys nobody knows are kept, can be asked for, and are listed.
func TestUnknown(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		User:         "{\"model\":\"x\",\n\"modle\":\"y\",\"permissions\":{\"alow\":[\"a\"]},\"new\":{\"deep\":{\"er\":1}},\"empty\":{},\n\"a.b\":true}",
		VarveProject: `{"other":1}`,
	})
	s := tr.load(trusted, env("VARVE_MODLE=z", "VARVE_MODEL=m", "VARVE_COMPACT_ANYTHING=1", "VARVE_HOME=/h", "VARVE_WINDOW=", "PATH=/bin", "VARVE_MODELS_X=1"))
	var got []string
	for _, e := range s.Unknown() {
		got = append(got, e.Key()+"="+string(e.JSON)+" "+e.Origin.Layer.String())
	}
	want := []string{`VARVE_MODLE="z" environment`, `other=1 varve project`, `modle="y" user`, `permissions.alow=["a"] user`, `new.deep.er=1 user`, `empty={} user`, `"a.b"=true user`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if v := s.Int("new.deep.er"); v.V != 1 || v.Origin.Line != 2 {
		t.Errorf("kept: %+v", v)
	}
	if v := s.Sub("a.b").Bool(""); !v.V {
		t.Errorf("a key with a dot: %+v", v)
	}
	if got := len(s.Entries()); got != 7 {
		t.Errorf("%d entries", got)
	}
}

// All mistakes are told at once when the layers are read.
func TestProblemsOfKnownKeys(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		User: `{"window":"big","compact":true,"permissions":{"allow":"x"},"models":{"p/m":{"window":null},"q":3},"fine":"x","sandbox":7,"hooks":[]}`,
	})
	s := tr.load(env("VARVE_SESSIONS_MAX=many", "DISABLE_COMPACT=please", "MAX_MCP_OUTPUT_TOKENS=5"))
	var missing []string
	got := tr.texts(s.Problems())
	for _, want := range []string{
		`home/settings.json:1 (user): window must be a whole number, not the text "big"`,
		`home/settings.json:1 (user): compact must be an object, not true or false (true)`,
		`home/settings.json:1 (user): permissions.allow must be a list of strings, not the text "x"`,
		`home/settings.json:1 (user): models.p/m.window must be a whole number, not null`,
		`home/settings.json:1 (user): models.q must be an object, not a number (3)`,
		`home/settings.json:1 (user): hooks must be an object, not a list`,
		`VARVE_SESSIONS_MAX (environment): sessions.max must be a whole number, not the text "many"`,
		`DISABLE_COMPACT (environment): compact.disabled must be true or false, not the text "please"`,
	} {
		if !slices.Contains(got, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 || len(got) != 8 {
		t.Errorf("missing %q\nin %q", missing, got)
	}
	if !s.Complete() {
		t.Error("a wrong value is no unreadable file")
	}
}

// Property: merging keeps every member of every layer reachable, and what Raw
// says of a scalar is what Each lists first.
func TestRawAgreesWithEach(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "compact", "permissions", "deny", "mcpServers"})
	var build func(rt *rapid.T, depth int) any
	build = func(rt *rapid.T, depth int) any {
		switch n := rapid.IntRange(0, 3).Draw(rt, "kind"); {
		case depth > 0 && n > 0:
			m := map[string]any{}
			for range n {
				m[names.Draw(rt, "name")] = build(rt, depth-1)
			}
			return m
		case n == 1:
			return []any{"x", rapid.SampledFrom([]string{"y", "z"}).Draw(rt, "element")}
		default:
			return rapid.IntRange(0, 9).Draw(rt, "n")
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := &Settings{}
		s.View = View{s: s}
		for _, layer := range []Layer{Policy, User, ClaudeUser} {
			raw, err := json.Marshal(map[string]any{"top": build(rt, 3)})
			if err != nil {
				rt.Fatal(err)
			}
			root, _, err := parseFile(raw)
			if err != nil {
				rt.Fatal(err)
			}
			s.docs = append(s.docs, document{layer, layer.String(), root})
		}
		merged := parseText(string(s.Raw("").V))
		if merged == nil {
			rt.Fatalf("no JSON: %s", s.Raw("").V)
		}
		var walk func(n *node, path []string)
		walk = func(n *node, path []string) {
			if n.kind == object {
				for i, name := range n.names {
					walk(n.kids[i], append(path[:len(path):len(path)], name))
				}
				return
			}
			each := s.View.Sub(path...).Each("")
			if len(each) == 0 {
				// Inside a list member of a stronger scalar nothing is listed.
				rt.Fatalf("%v of %s comes from nowhere", path, merged.appendJSON(nil))
			}
			if r, _ := ruleFor(path); r.Merge != Union && string(each[0].JSON) != string(n.appendJSON(nil)) {
				rt.Fatalf("%v: Raw %s, Each %s", path, n.appendJSON(nil), each[0].JSON)
			}
		}
		walk(merged, nil)
	})
}
