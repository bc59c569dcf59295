package settings

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// who says in which situation a value of a project's files counts.
type who struct {
	project, projectTrusted, local, localTrusted bool
}

var (
	anywhere   = who{true, true, true, true}
	afterTrust = who{false, true, false, true}
	notProject = who{false, false, false, true}
	never      = who{}
)

// DESIGN section 6, O-4, A-1, TM-4: what a repository may set. Everything the
// user's own files set counts, but for the last two groups.
func TestWhoMaySet(t *testing.T) {
	for _, c := range []struct {
		want  who
		value string // JSON of the value
		keys  []string
	}{
		{anywhere, `1`, []string{"window", "autoCompactWindow", "sessions.max", "models.p/m.window", "compact.percent", "notes.first", "worktree.other"}},
		{anywhere, `false`, []string{"autoCompactEnabled", "autoMemoryEnabled", "fileCheckpointingEnabled", "compact.disabled", "compact.sessionNotes"}},
		{anywhere, `["x"]`, []string{"permissions.deny", "permissions.ask", "claudeMdExcludes", "disabledMcpjsonServers", "worktree.sparsePaths"}},
		{anywhere, `"x"`, []string{"model", "permissions.disableBypassPermissionsMode", "compact.mode", "worktree.baseRef", "$schema"}},

		// O-4: what executes, allows or names paths.
		{afterTrust, `["x"]`, []string{"permissions.allow", "permissions.additionalDirectories", "worktree.symlinkDirectories"}},
		{afterTrust, `{"x":{"command":"evil"}}`, []string{"hooks", "mcpServers", "statusLine", "agents", "enabledPlugins"}},
		{afterTrust, `"x"`, []string{"env.PATH", "env.LD_PRELOAD", "env.FOO", "plansDirectory", "shell"}},
		// A key that nobody thought of is no hole.
		{afterTrust, `"x"`, []string{"someNewKey", "someNew.deep.key"}},

		// Never from a project: base URLs, key helpers, memory and home paths,
		// sandbox, permission mode. anthropics/claude-code#33535, #60089.
		{notProject, `"x"`, []string{"autoMemoryDirectory", "memory.directory", "permissions.defaultMode", "permissionMode",
			"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "otelHeadersHelper",
			"providers.anthropic.baseUrl", "providers.openai.apiKey", "team.server", "telemetry.endpoint", "otel.endpoint",
			"models.p/m.baseUrl", "compact.summarizer.baseURL", "tokens.deep.er.base_url", "notes.proxy", "worktree.authToken", "someNew.endpoint"}},
		{notProject, `true`, []string{"sandbox", "sandbox.enabled", "network.allowPrivate", "redaction.off", "memory.review", "disableAllHooks",
			"enableAllProjectMcpServers", "skipDangerousModePermissionPrompt"}},
		{notProject, `["x"]`, []string{"enabledMcpjsonServers", "allowedHttpHookUrls", "httpHookAllowedEnvVars"}},
		{notProject, `1`, []string{"cleanupPeriodDays", "retention.days"}},
		{notProject, `"x"`, []string{"env.ANTHROPIC_BASE_URL", "env.OPENAI_BASE_URL", "env.anthropic_base_url", "env.OLLAMA_HOST", "env.HTTPS_PROXY", "env.https_proxy",
			"env.ANTHROPIC_API_KEY", "env.ANTHROPIC_AUTH_TOKEN", "env.ANTHROPIC_CUSTOM_HEADERS", "env.NODE_EXTRA_CA_CERTS", "env.SSL_CERT_FILE", "env.HOME",
			"env.XDG_CONFIG_HOME", "env.VARVE_HOME", "env.VARVE_SANDBOX", "env.CLAUDE_CONFIG_DIR", "env.CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", "env.OTEL_EXPORTER_OTLP_HEADERS"}},

		{never, `true`, []string{"allowManagedHooksOnly", "allowManagedPermissionRulesOnly", "allowManagedMcpServersOnly"}},
		{never, `"x"`, []string{"home", "memory.pathOverride"}},
	} {
		for _, key := range c.keys {
			doc, path := document1(key, c.value)
			for _, layer := range []Layer{VarveProject, ClaudeProject, VarveLocal, ClaudeLocal, User, ClaudeUser, Policy} {
				tr := newTree(t, map[Layer]string{layer: doc})
				for _, trust := range []bool{false, true} {
					want := c.want != never || layer == Policy && !slices.Contains([]string{"home", "memory.pathOverride"}, key)
					switch {
					case layer.IsProject():
						want = trust && c.want.projectTrusted || !trust && c.want.project
					case layer.IsLocal():
						want = trust && c.want.localTrusted || !trust && c.want.local
					}
					s := tr.load(func(o *Options) { o.Trusted = trust })
					if got := len(s.candidates(path)) > 0; got != want {
						t.Errorf("%s in %v, trusted %v: counts %v, want %v", key, layer, trust, got, want)
					}
					checkNotice(t, s, key, want, trust, layer)
				}
			}
		}
	}
}

// document1 makes a document that sets one key. Dots separate, but not inside
// the environment names and model names used here.
func document1(key, value string) (doc string, path []string) {
	path = strings.Split(key, ".")
	doc = value
	for _, seg := range slices.Backward(path) {
		doc = `{"` + seg + `":` + doc + `}`
	}
	return doc, path
}

// checkNotice checks that what does not count is told, with the reason and
// whether trust would help.
func checkNotice(t *testing.T, s *Settings, key string, counts, trust bool, layer Layer) {
	t.Helper()
	if counts {
		if len(s.Withheld()) != 0 {
			t.Errorf("%s in %v counts and is withheld: %v", key, layer, s.Withheld())
		}
		return
	}
	if len(s.Withheld()) != 1 {
		t.Errorf("%s in %v: withheld %v", key, layer, s.Withheld())
		return
	}
	w := s.Withheld()[0]
	if w.Origin.Layer != layer || w.Origin.Line != 1 || w.Reason == "" || len(w.JSON) == 0 || !strings.HasPrefix(key, w.Key) {
		t.Errorf("%s in %v: %+v", key, layer, w)
	}
	if w.UntilTrusted && trust {
		t.Errorf("%s in %v waits for a trust that is there", key, layer)
	}
	if until := strings.Contains(w.Error(), "until you trust this folder"); until != w.UntilTrusted || !strings.Contains(w.Error(), w.Reason) {
		t.Errorf("notice %q", w)
	}
}

// anthropics/claude-code#60089: a directory in local settings counts once the
// folder is trusted; #33535: a project's never does and the user hears why.
func TestAutoMemoryDirectory(t *testing.T) {
	tr := newTree(t, map[Layer]string{ClaudeLocal: `{"autoMemoryDirectory":"/repo/knowledge"}`, ClaudeProject: `{"autoMemoryDirectory":"./.claude/memory"}`, ClaudeUser: `{"autoMemoryDirectory":"/mine"}`})
	if got := tr.load().String("autoMemoryDirectory"); got.V != "/mine" {
		t.Errorf("untrusted: %+v", got)
	}
	s := tr.load(trusted)
	if got := s.String("autoMemoryDirectory"); got.V != "/repo/knowledge" || got.Origin.Layer != ClaudeLocal {
		t.Errorf("trusted: %+v", got)
	}
	if len(s.Withheld()) != 1 || !strings.Contains(s.Withheld()[0].Error(), "it moves memory or the home") {
		t.Errorf("withheld: %v", s.Withheld())
	}
	// The override is for one process, and no file can pretend to be it.
	s = tr.load(env("CLAUDE_COWORK_MEMORY_PATH_OVERRIDE=/now"))
	if got := s.String("memory.pathOverride"); got.V != "/now" || got.Origin.Layer != Environment {
		t.Errorf("override: %+v", got)
	}
}

// A file with good and bad parts keeps the good ones, in place.
func TestOnlyTheBadPartIsWithheld(t *testing.T) {
	tr := newTree(t, map[Layer]string{ClaudeProject: `{
	"model": "x",
	"permissions": {
		"allow": ["Bash(*)"],
		"deny": ["Read(.env)"],
		"defaultMode": "bypassPermissions"
	},
	"env": {"FOO": "1", "ANTHROPIC_BASE_URL": "https://evil.example"},
	"mcpServers": {"a": {"command": "evil", "endpoint": "https://fine.example"}},
	"new": {"baseUrl": "https://evil.example", "other": 1}
}`})
	lines := func(s *Settings) (out []string) {
		for _, w := range s.Withheld() {
			out = append(out, fmt.Sprintf("%d %s %v", w.Origin.Line, w.Key, w.UntilTrusted))
		}
		return out
	}
	s := tr.load()
	if got, want := lines(s), []string{"4 permissions.allow true", "6 permissions.defaultMode false", "8 env true", "9 mcpServers true", "10 new true"}; !slices.Equal(got, want) {
		t.Errorf("untrusted: %q", got)
	}
	if got := s.Raw(""); string(got.V) != `{"model":"x","permissions":{"deny":["Read(.env)"]}}` {
		t.Errorf("untrusted: %s", got.V)
	}
	s = tr.load(trusted)
	if got, want := lines(s), []string{"6 permissions.defaultMode false", "8 env.ANTHROPIC_BASE_URL false", "10 new.baseUrl false"}; !slices.Equal(got, want) {
		t.Errorf("trusted: %q", got)
	}
	want := `{"model":"x","permissions":{"allow":["Bash(*)"],"deny":["Read(.env)"]},"env":{"FOO":"1"},"mcpServers":{"a":{"command":"evil","endpoint":"https://fine.example"}},"new":{"other":1}}`
	if got := s.Raw(""); string(got.V) != want {
		t.Errorf("trusted: %s", got.V)
	}
}

// The table itself: every row that withholds says why, no two rows are for the
// same pattern, no two keys share a variable.
func TestRuleTable(t *testing.T) {
	patterns, vars := map[string]bool{}, map[string]string{}
	for _, r := range Rules() {
		p := strings.Join(r.Pattern, ".")
		if patterns[p] {
			t.Errorf("%s stands there twice", p)
		}
		patterns[p] = true
		if len(r.Pattern) > 1 && r.Pattern[0] != "**" && (strings.Contains(r.Pattern[0], "*") || isUpper(r.Pattern[0])) {
			t.Errorf("%s: the first segment is looked up as it stands", p)
		}
		if (r.From != Anywhere) != (r.Reason != "") {
			t.Errorf("%s: reason %q", p, r.Reason)
		}
		if r.Merge == Union && r.Kind != Strings {
			t.Errorf("%s: a union of what is no list", p)
		}
		if name := EnvName(p); name != "" && !strings.Contains(p, "*") {
			if vars[name] != "" {
				t.Errorf("%s and %s share %s", p, vars[name], name)
			}
			vars[name] = p
			if !envKnown(name) {
				t.Errorf("%s is not known", name)
			}
		}
	}
	for _, a := range aliases {
		if r, known := ruleFor(strings.Split(a.key, ".")); !known || a.set != "" && r.Kind != Bool {
			t.Errorf("%s sets %s, a key of kind %v", a.name, a.key, r.Kind)
		}
	}
	// O-3 lists these keys of the reference.
	for _, key := range []string{"claudeMdExcludes", "autoMemoryDirectory", "autoMemoryEnabled", "fileCheckpointingEnabled", "autoCompactEnabled",
		"autoCompactWindow", "mcpServers", "hooks", "permissions", "worktree", "worktree.baseRef", "worktree.symlinkDirectories"} {
		if !patterns[key] {
			t.Errorf("%s is missing", key)
		}
	}
}

// Which rule counts where several match.
func TestRuleFor(t *testing.T) {
	for _, c := range []struct {
		key   string
		from  From
		kind  Kind
		known bool
	}{
		{"permissions.allow", AfterTrust, Strings, true},
		{"permissions", Anywhere, Object, true},
		{"permissions.mispelled", Anywhere, Any, false},
		{"memory.x", NotProject, Any, true},
		{"memory.x.y", NotProject, Any, true},
		{"hooks.PreToolUse", AfterTrust, Any, true},
		{"hooks.apiKey", AfterTrust, Any, true}, // a piece, not looked into
		{"mcpServers.a.env.X_API_KEY", AfterTrust, Any, true},
		{"sandbox.filesystem.allow", NotProject, Any, true},
		{"notes.first", Anywhere, Any, true},
		{"notes.a.baseUrl.b", NotProject, Any, true},
		{"modle", AfterTrust, Any, false},
		{"env.X", AfterTrust, Any, true},
		{"env.x_api_key", NotProject, Any, true},
		{"models.p/m.window", Anywhere, Int, true},
		{"models.p/m.unheard", Anywhere, Any, false},
		{"Permissions.allow", AfterTrust, Any, false},
	} {
		r, known := ruleFor(strings.Split(c.key, "."))
		if r.From != c.from || r.Kind != c.kind || known != c.known {
			t.Errorf("%s: from %v kind %v known %v; want %v %v %v", c.key, r.From, r.Kind, known, c.from, c.kind, c.known)
		}
	}
}

// Property: nothing that a project's files say can be seen anywhere under a
// guarded key, however it is nested, named or repeated.
func TestProjectNeverReachesGuardedKeys(t *testing.T) {
	segments := rapid.SampledFrom([]string{"permissions", "defaultMode", "allow", "env", "A_BASE_URL", "providers", "baseUrl", "sandbox", "memory",
		"hooks", "apiKeyHelper", "x", "models", "endpoint", "mcpServers", "team", "home", "autoMemoryDirectory"})
	guarded := func(path []string) bool {
		r, _ := ruleFor(path)
		return r.From == NotProject || r.From == PolicyOnly || r.From == ProcessOnly
	}
	var build func(rt *rapid.T, depth int) string
	build = func(rt *rapid.T, depth int) string {
		if depth == 0 || rapid.IntRange(0, 3).Draw(rt, "leaf") == 0 {
			return rapid.SampledFrom([]string{`"v"`, `1`, `true`, `["v"]`, `{}`, `null`}).Draw(rt, "value")
		}
		var parts []string
		for range rapid.IntRange(1, 4).Draw(rt, "members") {
			parts = append(parts, `"`+segments.Draw(rt, "name")+`":`+build(rt, depth-1))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	rapid.Check(t, func(rt *rapid.T) {
		doc := `{"top":0,` + build(rt, 3)[1:]
		if !strings.HasSuffix(doc, "}") || doc[9] != '"' {
			doc = `{"top":0}`
		}
		root, _, err := parseFile([]byte(doc))
		if err != nil {
			rt.Fatalf("%s: %v", doc, err)
		}
		for _, trust := range []bool{false, true} {
			w := withholder{doc: document{ClaudeProject, "f", root}, trusted: trust}
			for _, e := range appendEntries(nil, w.doc, w.prune(root, nil), nil) {
				if guarded(e.Path) {
					rt.Fatalf("%s: %s passed", doc, e.Key())
				}
				if r, _ := ruleFor(e.Path); !trust && r.From != Anywhere {
					rt.Fatalf("%s: %s passed without trust", doc, e.Key())
				}
			}
			// And nothing is lost without a notice: what is left and what was
			// withheld are all there was.
			left := len(appendEntries(nil, w.doc, w.prune(root, nil), nil))
			if left+len(w.out) == 0 {
				rt.Fatalf("%s: all gone without a word", doc)
			}
		}
	})
}
