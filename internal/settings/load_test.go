package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
)

// O-3: every layer that exists sets the key; leaving out the strongest makes
// the next one decide, down to none.
func TestPrecedence(t *testing.T) {
	type source struct {
		layer Layer
		set   func(tr *tree, value string)
	}
	var order []source
	for _, lf := range layerFiles {
		order = append(order, source{lf.layer, func(tr *tree, value string) { tr.write(lf.layer, `{"model":"`+value+`"}`) }})
	}
	process := []source{
		{Environment, func(tr *tree, value string) { tr.opt.Env = []string{"VARVE_MODEL=" + value} }},
		{Flags, func(tr *tree, value string) {
			tr.opt.Flags = []Flag{{"--model", "model", "not this one"}, {"--model", "model", value}}
		}},
		{Flags, func(tr *tree, value string) {
			tr.opt.Settings = []string{`{"model":"weaker"}`, ` {"model":"` + value + `"}`}
		}},
	}
	order = slices.Concat(order[:1], process, order[1:])
	if len(order) != int(ClaudeUser)+1 {
		t.Fatalf("%d sources for %d layers", len(order), ClaudeUser)
	}
	for first := range order {
		tr := newTree(t, nil)
		for i := first; i < len(order); i++ {
			order[i].set(tr, fmt.Sprintf("from-%d", i))
		}
		s := tr.load()
		got := s.String("model")
		if got.V != fmt.Sprintf("from-%d", first) || got.Origin.Layer != order[first].layer || !got.Set() || got.Err != nil {
			t.Errorf("strongest is %v: got %+v", order[first].layer, got)
		}
		if n := len(s.Each("model")); first > 3 && n != len(order)-first {
			t.Errorf("strongest is %v: Each lists %d, want %d", order[first].layer, n, len(order)-first)
		}
		if len(s.Problems()) != 0 {
			t.Errorf("problems: %v", s.Problems())
		}
	}
	s := newTree(t, nil).load()
	if got := s.String("model"); got.Set() || got.Err != nil || got.Or("default") != "default" || got.Origin.String() != "not set" {
		t.Errorf("nothing is set: %+v", got)
	}
	if !s.Complete() || s.Problems() != nil || s.Unknown() != nil || s.Withheld() != nil || s.Entries() != nil {
		t.Error("an empty machine has problems")
	}
}

// Every value names file, layer and line.
func TestOrigin(t *testing.T) {
	tr := newTree(t, map[Layer]string{
		User:         "{\n  \"model\": \"a\",\n\n  \"compact\": {\n    \"percent\":\n 80.5 } }",
		VarveProject: `{"permissions":{"deny":["Bash(rm:*)",` + "\n\n" + `"Read(.env)"]}}`,
	})
	s := tr.load(func(o *Options) { o.Flags = []Flag{{"--model-x", "effortLevel", "high"}} }, env("MAX_MCP_OUTPUT_TOKENS=7"))
	home, project := tr.path(User), tr.path(VarveProject)
	for _, c := range []struct{ got, want Origin }{
		{s.String("model").Origin, Origin{User, home, 2}},
		{s.Float("compact.percent").Origin, Origin{User, home, 6}},
		{s.Sub("compact").Float("percent").Origin, Origin{User, home, 6}},
		{s.Strings("permissions.deny").Items[0].Origin, Origin{VarveProject, project, 1}},
		{s.Strings("permissions.deny").Items[1].Origin, Origin{VarveProject, project, 3}},
		{s.Int("mcp.maxOutputTokens").Origin, Origin{Environment, "MAX_MCP_OUTPUT_TOKENS", 0}},
		{s.String("effortLevel").Origin, Origin{Flags, "--model-x", 0}},
		{s.Raw("compact").Origin, Origin{User, home, 4}},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if got, want := s.String("model").Origin.String(), home+":2 (user)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := s.String("effortLevel").Origin.String(), "--model-x (flags)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Reading is strict and never fails: the bad file is named with its position,
// left out as a whole, and the layers below it still count.
func TestBadFiles(t *testing.T) {
	cases := map[string]struct{ content, want string }{
		"empty":              {"", "settings.json: the file is empty"},
		"blank":              {" \n\t\r\n", "the file is empty"},
		"only a BOM":         {"\ufeff", "the file is empty"},
		"cut off":            {`{"model":"x"`, "settings.json:1:12: unexpected end"},
		"cut off in a text":  {`{"model":"x`, "unexpected end"},
		"not an object":      {"[1]", "settings.json:1:1: a settings file is a JSON object, not a list"},
		"a text":             {"\n  \"x\"", "settings.json:2:3: a settings file is a JSON object, not a string"},
		"null":               {"null", "not null"},
		"comment":            {"{\n  // why\n  \"model\": \"x\"\n}", "settings.json:2:3: invalid character '/'"},
		"trailing comma":     {"{\n  \"model\": \"x\",\n}", "settings.json:3:1: invalid character '}'"},
		"after a BOM":        {"\ufeff{\n x}", "settings.json:2:2: invalid character 'x'"},
		"two documents":      {"{}\n{}", "settings.json:2:1: invalid character '{' after"},
		"single quotes":      {"{'model':1}", "settings.json:1:2: invalid character"},
		"NUL padding":        {"{}\x00\x00", "settings.json:1:3: invalid character"},
		"not UTF-8":          {"{\n\"model\":\"\xff\"}", "settings.json:2:10: not UTF-8"},
		"UTF-16":             {"\xff\xfe{\x00}\x00", "settings.json:1:1: not UTF-8"},
		"too deep":           {`{"a":` + nest("[", "", "]", 100) + `}`, "more than 100 levels"},
		"far too deep":       {nest(`{"a":`, "1", "}", 20_000), "settings.json"},
		"merge conflict":     {"<<<<<<< HEAD\n{}\n", "settings.json:1:1: invalid character '<'"},
		"number with a zero": {`{"sessions":{"max":012}}`, "settings.json:1:21"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tr := newTree(t, map[Layer]string{User: c.content, ClaudeUser: `{"model":"below"}`})
			s := tr.load()
			if s.Complete() || len(s.Unreadable()) != 1 || len(s.Problems()) != 1 {
				t.Fatalf("unreadable %v, problems %v", s.Unreadable(), s.Problems())
			}
			fe := s.Unreadable()[0]
			if fe.Layer != User || fe.File != tr.path(User) {
				t.Errorf("names %v %s", fe.Layer, fe.File)
			}
			if !strings.Contains(fe.Error(), c.want) || !strings.Contains(fe.Error(), "until it is mended") {
				t.Errorf("message %q, want %q", fe, c.want)
			}
			if got := s.String("model"); got.V != "below" {
				t.Errorf("model %+v", got)
			}
		})
	}
}

// What is no regular file is not opened; what is not there is no problem.
func TestOddFiles(t *testing.T) {
	tr := newDiskTree(t)
	tr.write(ClaudeUser, `{"model":"x"}`)
	if err := os.MkdirAll(filepath.Join(tr.opt.Home, "settings.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A file in the place of the layer's directory: the layer is just absent.
	if err := os.MkdirAll(tr.opt.Project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tr.opt.Project, ".claude"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := tr.load()
	if len(s.Unreadable()) != 1 || s.Unreadable()[0].Layer != User || !strings.Contains(s.Unreadable()[0].Error(), "not a regular file") {
		t.Errorf("unreadable: %v", s.Unreadable())
	}
	if got := s.String("model"); got.V != "x" {
		t.Errorf("model %+v", got)
	}
	big := newTree(t, map[Layer]string{User: `{"model":"` + strings.Repeat("x", maxFile) + `"}`}).load()
	if big.Complete() || !strings.Contains(big.Unreadable()[0].Error(), "more than a settings file may have") {
		t.Errorf("big file: %v", big.Unreadable())
	}
	named := Load(Options{Settings: []string{filepath.Join(t.TempDir(), "typo.json")}})
	if named.Complete() || named.Unreadable()[0].Layer != Flags {
		t.Errorf("a file the user named is not there: %v", named.Unreadable())
	}
	bad := Load(Options{Settings: []string{`{"model":`}})
	if bad.Complete() || !strings.Contains(bad.Unreadable()[0].Error(), "--settings:1:9") {
		t.Errorf("bad JSON on the command line: %v", bad.Unreadable())
	}
	if runtime.GOOS != "windows" {
		if got := PolicyDir(); got != "/etc/varve" {
			t.Errorf("policy directory %s", got)
		}
	}
}

// An error of the disk is no absent file.
func TestUnreadableDisk(t *testing.T) {
	fsys := crashfs.New()
	if err := fsys.MkdirAll("/home/user/.varve", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(fsys, "/home/user/.varve/settings.json", []byte(`{"model":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{FS: fsys, Home: "/home/user/.varve", Claude: "/home/user/.claude"}
	if s := Load(opt); s.String("model").V != "x" || !s.Complete() {
		t.Fatalf("%+v %v", s.String("model"), s.Problems())
	}
	broken := errors.New("input/output error")
	fsys.Inject(crashfs.Fault{Op: crashfs.OpRead, Err: broken})
	s := Load(opt)
	if s.Complete() || !errors.Is(s.Unreadable()[0], broken) {
		t.Errorf("after a read error: %v", s.Unreadable())
	}
}

// anthropics/claude-code#95403, S-8: whoever deletes can see that the period is
// not what it seems, or that a file which may forbid it could not be read.
func TestRetentionFailsClosed(t *testing.T) {
	mayDelete := func(s *Settings) (days int64, ok bool) {
		v := s.Int("cleanupPeriodDays")
		return v.V, s.Complete() && v.Set() && v.V > 0
	}
	for content, want := range map[string]struct {
		days int64
		ok   bool
	}{
		`{"cleanupPeriodDays":36500}`:                {36500, true},
		`{"cleanupPeriodDays":0}`:                    {0, false},
		`{"cleanupPeriodDays":-1}`:                   {-1, false},
		`{"cleanupPeriodDays":"30"}`:                 {0, false},
		`{"cleanupPeriodDays":null}`:                 {0, false},
		`{"cleanupPeriodDays":30.5}`:                 {0, false},
		`{"cleanupPeriodDays":99999999999999999999}`: {0, false},
		`{"cleanupPeriodDays":30,}`:                  {0, false},
		`{}`:                                         {0, false},
	} {
		// A weaker layer with a good value must not step in.
		tr := newTree(t, map[Layer]string{User: content, ClaudeUser: `{"cleanupPeriodDays":1}`})
		s := tr.load()
		days, ok := mayDelete(s)
		if content == `{}` {
			want.days, want.ok = 1, true
		}
		if strings.HasSuffix(content, ",}") {
			days = 0 // the weaker file's, which must not be used
		}
		if days != want.days || ok != want.ok {
			t.Errorf("%s: %d, %v; want %d, %v", content, days, ok, want.days, want.ok)
		}
		if !ok && want.days == 0 && !strings.Contains(content, ":0}") && len(s.Problems()) == 0 {
			t.Errorf("%s: nobody is told", content)
		}
	}
	// No file of a project makes anything be deleted.
	s := newTree(t, map[Layer]string{VarveProject: `{"cleanupPeriodDays":1}`, VarveLocal: `{"retention":{"days":1}}`}).load()
	if _, ok := mayDelete(s); ok || s.Raw("retention").Set() {
		t.Error("a project decides about deletion")
	}
}

// In the home directory the user's files are not a project's.
func TestProjectIsHome(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{".varve": `{"apiKeyHelper":"mine"}`, ".claude": `{"permissions":{"defaultMode":"plan"}}`} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "settings.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opt := Options{Project: dir, Home: filepath.Join(dir, ".varve"), Claude: filepath.Join(dir, ".claude")}
	link := filepath.Join(t.TempDir(), "link")
	projects := []string{dir, dir + "/./"}
	if os.Symlink(dir, link) == nil {
		projects = append(projects, link)
	}
	for _, p := range projects {
		opt.Project = p
		s := Load(opt)
		if len(s.Withheld()) != 0 || s.String("apiKeyHelper").Origin.Layer != User || s.String("permissions.defaultMode").Origin.Layer != ClaudeUser {
			t.Errorf("from %s: withheld %v", p, s.Withheld())
		}
	}
}

// --setting-sources leaves layers out, never the policy.
func TestWithout(t *testing.T) {
	files := map[Layer]string{}
	var all []Layer
	for _, lf := range layerFiles {
		files[lf.layer] = `{"sessions":{"` + strings.ReplaceAll(lf.layer.String(), " ", "") + `":1}}`
		all = append(all, lf.layer)
	}
	tr := newTree(t, files)
	for _, without := range [][]Layer{nil, {User, ClaudeUser}, {VarveProject}, all} {
		s := tr.load(func(o *Options) { o.Without = without })
		var got []Layer
		for _, e := range s.Entries() {
			got = append(got, e.Origin.Layer)
		}
		want := slices.DeleteFunc(slices.Clone(all), func(l Layer) bool { return l != Policy && slices.Contains(without, l) })
		if !slices.Equal(got, want) {
			t.Errorf("without %v: %v, want %v", without, got, want)
		}
	}
}

// Members that stand twice are told; the last one counts, for everybody.
func TestDuplicates(t *testing.T) {
	tr := newTree(t, map[Layer]string{User: "{\"model\":\"a\",\n\"compact\":{\"mode\":\"x\",\n\"mode\":\"y\"},\n\"model\":\"b\"}"})
	s := tr.load()
	if s.String("model").V != "b" || s.String("compact.mode").V != "y" || !s.Complete() {
		t.Errorf("model %v, mode %v", s.String("model"), s.String("compact.mode"))
	}
	want := []string{
		"home/settings.json:3 (user): compact.mode stands there twice, first in line 2; the last one counts",
		"home/settings.json:4 (user): model stands there twice, first in line 1; the last one counts",
	}
	if got := tr.texts(s.Problems()); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// A second, worse member does not slip past the rules.
	s = newTree(t, map[Layer]string{VarveProject: `{"env":{"A":"1"},"env":{"ANTHROPIC_BASE_URL":"https://evil"},"apiKeyHelper":"x","apiKeyHelper":"y"}`}).load(trusted)
	if s.Raw("env").Set() && strings.Contains(string(s.Raw("env").V), "evil") || s.String("apiKeyHelper").Set() {
		t.Error("a duplicate passed")
	}
}

// One Settings value is read by many goroutines.
func TestConcurrentReading(t *testing.T) {
	s := newTree(t, map[Layer]string{User: `{"model":"x","permissions":{"allow":["a"]},"models":{"p/m":{"window":1}}}`, Policy: `{"permissions":{"allow":["b"]}}`}).load()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				s.String("model")
				s.Strings("permissions.allow")
				s.Sub("models", "p/m").Int("window")
				s.Raw("permissions")
				s.Entries()
				s.Unknown()
			}
		})
	}
	wg.Wait()
}

// Property: for any layers that set any of some keys, the strongest decides,
// its origin is named, and Each lists all of them in order.
func TestPrecedenceProperty(t *testing.T) {
	keys := []string{"window", "sessions.max", "models.x.window"}
	rapid.Check(t, func(rt *rapid.T) {
		tr := newTree(t, nil)
		want := map[string][]int64{}
		layers := map[string][]Layer{}
		for i, lf := range layerFiles {
			doc := map[string]string{}
			for _, key := range keys {
				if rapid.Bool().Draw(rt, "set") {
					n := int64(rapid.IntRange(-9, 9).Draw(rt, "n")*10 + i)
					want[key], layers[key] = append(want[key], n), append(layers[key], lf.layer)
					doc[key] = fmt.Sprint(n)
				}
			}
			var parts []string
			for _, key := range keys {
				if v, ok := doc[key]; ok {
					path := strings.Split(key, ".")
					part := v
					for _, seg := range slices.Backward(path) {
						part = `{"` + seg + `":` + part + `}`
					}
					parts = append(parts, part[1:len(part)-1])
				}
			}
			if len(parts) > 0 {
				tr.write(lf.layer, "{"+strings.Join(parts, ",\n")+"}")
			}
		}
		s := tr.load()
		for _, key := range keys {
			v := s.Int(key)
			if v.Set() != (len(want[key]) > 0) {
				rt.Fatalf("%s: %+v, want %v", key, v, want[key])
			}
			if v.Set() && (v.V != want[key][0] || v.Origin.Layer != layers[key][0]) {
				rt.Fatalf("%s: %+v, want %v of %v", key, v, want[key], layers[key])
			}
			var got []Layer
			for _, e := range s.Each(key) {
				got = append(got, e.Origin.Layer)
			}
			if !reflect.DeepEqual(got, layers[key]) {
				rt.Fatalf("%s: Each %v, want %v", key, got, layers[key])
			}
		}
	})
}
