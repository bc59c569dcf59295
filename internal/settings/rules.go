package settings

import (
	"path"
	"strings"
	"sync"
)

// From says which layers may set a key.
type From int

const (
	// Anywhere: harmless in every layer; the worst a repository can do with it
	// is to be annoying.
	Anywhere From = iota
	// AfterTrust: from project and local files only once the user trusts the
	// folder (O-4), because it executes, allows, or names paths.
	AfterTrust
	// NotProject: never from project files; from local ones once the folder is
	// trusted (A-1, DESIGN section 6), because it redirects credentials or data
	// or takes a guard away.
	NotProject
	// PolicyOnly: the machine's owner alone.
	PolicyOnly
	// ProcessOnly: environment and flags alone, because the files are found by
	// it or it belongs to one run.
	ProcessOnly
)

// Merge says how the values of several layers become one.
type Merge int

const (
	// Strongest: the strongest layer that sets the key decides. Objects are
	// merged member by member.
	Strongest Merge = iota
	// Union: the lists of all layers, strongest first, without repetition.
	Union
	// Whole: the members of the object come from the strongest layer that has
	// them, as they stand there; nothing is mixed inside a member.
	Whole
)

// Kind is the type that the value of a known key must have.
type Kind int

const (
	Any Kind = iota
	Bool
	Int
	Float
	String
	Duration
	Strings
	Object
)

// Rule is what is known about a key or a group of keys.
type Rule struct {
	// Pattern is a path of segments; a segment may hold `*`, and `**` as the
	// first segment stands for any number of them. A rule counts for
	// everything below its path as well unless a longer pattern matches there.
	Pattern []string
	Kind    Kind
	From    From
	Merge   Merge
	// Opaque ends the search for longer or general patterns below: the value
	// is allowed or withheld as one piece.
	Opaque bool
	// Reason is why From is not Anywhere, a clause for the user.
	Reason string
}

// Reasons that several rules share.
const (
	executes  = "it makes Varve execute something that comes with the folder"
	allows    = "it allows what would otherwise be asked"
	paths     = "it names paths that Varve would read or write"
	redirects = "it can send credentials or conversations to another address"
	helpers   = "it runs a program that handles credentials"
	homes     = "it moves memory or the home to a place that the folder's author chooses"
	guards    = "it takes a guard away"
	mode      = "it decides what is asked at all"
	deletes   = "it deletes"
	owner     = "it is for the owner of this machine"
	oneRun    = "it belongs to one run: use the environment or a flag"
	unknown   = "it is not a key that this version knows"
)

// k makes the rule of one key or group; see Rule.Pattern.
func k(pattern string, kind Kind) Rule { return Rule{Pattern: strings.Split(pattern, "."), Kind: kind} }

func (r Rule) from(f From, reason string) Rule { r.From, r.Reason = f, reason; return r }
func (r Rule) union() Rule                     { r.Merge = Union; return r }
func (r Rule) whole() Rule                     { r.Merge, r.Opaque = Whole, true; return r }
func (r Rule) opaque() Rule                    { r.Opaque = true; return r }

// rules is the table of known keys: those of O-3 and O-1, what SPEC and DESIGN
// name, and the reference's keys that mean something here or would be dangerous
// to pass on. A key that is not in it counts only where the user is the author
// or trusts the folder, so that a forgotten row is not a hole.
var rules = []Rule{
	k("$schema", String),

	// Windows and compaction (sections 3 and 4).
	k("window", Int),
	k("models", Object),
	k("models.*", Object),
	k("models.*.window", Int),
	k("models.*.maxOutput", Int),
	k("autoCompactEnabled", Bool),
	k("autoCompactWindow", Int),
	k("idleCompaction", Bool),
	k("promptCacheTtl", String),
	k("subagentPromptCacheTtl", String),
	k("compact", Object),
	k("compact.*", Any),
	k("compact.mode", String),
	k("compact.disabled", Bool),
	k("compact.percent", Float),
	k("compact.sessionNotes", Bool),
	k("tokens", Object),
	k("results", Object),
	k("notes", Object),
	k("extraction", Object),
	k("dream", Object),
	k("sessions", Object),
	k("sessions.*", Any),
	k("sessions.max", Int),
	k("cleanupPeriodDays", Int).from(NotProject, deletes),
	k("retention", Object).from(NotProject, deletes),

	// Models and the turn.
	k("model", String),
	k("fallbackModel", String),
	k("effortLevel", String),
	k("alwaysThinkingEnabled", Bool),
	k("outputStyle", String),
	k("language", String),
	k("tui", Object),
	k("includeCoAuthoredBy", Bool),
	k("attribution", Object),

	// Instructions and memory (sections 6 to 8).
	k("claudeMdExcludes", Strings).union(),
	k("autoMemoryEnabled", Bool),
	k("autoMemoryDirectory", String).from(NotProject, homes),
	k("memory", Object).from(NotProject, homes),
	k("memory.*", Any).from(NotProject, homes),
	k("memory.pathOverride", String).from(ProcessOnly, oneRun),
	k("memory.review", Bool).from(NotProject, guards),
	k("team", Object).from(NotProject, redirects),
	k("home", String).from(ProcessOnly, oneRun),
	k("plansDirectory", String).from(AfterTrust, paths),

	// Worktrees and checkpoints (sections 9 and 10).
	k("worktree", Object),
	k("worktree.baseRef", String),
	k("worktree.bgIsolation", Any),
	k("worktree.sparsePaths", Strings),
	k("worktree.symlinkDirectories", Strings).from(AfterTrust, paths),
	k("fileCheckpointingEnabled", Bool),
	k("checkpoint", Object),
	k("checkpoint.*", Any),
	k("checkpoint.headless", Bool),

	// MCP (section 12).
	k("mcp", Object),
	k("mcp.*", Any),
	k("mcp.maxOutputTokens", Int),
	k("mcpServers", Object).from(AfterTrust, executes).whole(),
	k("enableAllProjectMcpServers", Bool).from(NotProject, allows),
	k("enabledMcpjsonServers", Strings).from(NotProject, allows).union(),
	k("disabledMcpjsonServers", Strings).union(),
	k("allowedMcpServers", Any).from(PolicyOnly, owner).opaque(),
	k("deniedMcpServers", Any).from(PolicyOnly, owner).opaque(),
	k("allowManagedMcpServersOnly", Bool).from(PolicyOnly, owner),

	// Permissions, hooks, what executes.
	k("permissions", Object),
	k("permissions.allow", Strings).from(AfterTrust, allows).union(),
	k("permissions.ask", Strings).union(),
	k("permissions.deny", Strings).union(),
	k("permissions.additionalDirectories", Strings).from(AfterTrust, paths).union(),
	k("permissions.defaultMode", String).from(NotProject, mode),
	k("permissions.disableBypassPermissionsMode", String),
	k("permissionMode", String).from(NotProject, mode),
	k("skipDangerousModePermissionPrompt", Bool).from(NotProject, guards),
	k("allowManagedPermissionRulesOnly", Bool).from(PolicyOnly, owner),
	k("sandbox", Any).from(NotProject, guards).opaque(),
	k("network", Object).from(NotProject, guards),
	k("redaction", Object).from(NotProject, guards),
	k("hooks", Object).from(AfterTrust, executes).opaque(),
	k("disableAllHooks", Bool).from(NotProject, guards),
	k("allowManagedHooksOnly", Bool).from(PolicyOnly, owner),
	k("allowedHttpHookUrls", Strings).from(NotProject, redirects),
	k("httpHookAllowedEnvVars", Strings).from(NotProject, redirects),
	k("statusLine", Object).from(AfterTrust, executes).opaque(),
	k("fileSuggestion", Object).from(AfterTrust, executes).opaque(),
	k("shell", String).from(AfterTrust, executes),
	k("agent", String).from(AfterTrust, executes),
	k("agents", Object).from(AfterTrust, executes).opaque(),
	k("enabledPlugins", Object).from(AfterTrust, executes).opaque(),
	k("extraKnownMarketplaces", Object).from(AfterTrust, executes).opaque(),

	// Credentials and where requests go.
	k("apiKeyHelper", String).from(NotProject, helpers),
	k("awsAuthRefresh", String).from(NotProject, helpers),
	k("awsCredentialExport", String).from(NotProject, helpers),
	k("gcpAuthRefresh", String).from(NotProject, helpers),
	k("otelHeadersHelper", String).from(NotProject, helpers),
	k("providers", Object).from(NotProject, redirects),
	k("telemetry", Object).from(NotProject, redirects),
	k("otel", Object).from(NotProject, redirects),

	// Words that mean an address or a credential wherever they stand.
	k("**.baseUrl", Any).from(NotProject, redirects),
	k("**.baseURL", Any).from(NotProject, redirects),
	k("**.base_url", Any).from(NotProject, redirects),
	k("**.endpoint", Any).from(NotProject, redirects),
	k("**.proxy", Any).from(NotProject, redirects),
	k("**.apiKey", Any).from(NotProject, redirects),
	k("**.apiKeyHelper", Any).from(NotProject, helpers),
	k("**.authToken", Any).from(NotProject, redirects),

	// Variables that settings put into the environment: they could do what the
	// keys above may not.
	k("env", Object).from(AfterTrust, executes),
	k("env.*", Any).from(AfterTrust, executes),
	k("env.*_BASE_URL", Any).from(NotProject, redirects),
	k("env.*_HOST", Any).from(NotProject, redirects),
	k("env.*_ENDPOINT", Any).from(NotProject, redirects),
	k("env.*_PROXY", Any).from(NotProject, redirects),
	k("env.*_API_KEY", Any).from(NotProject, redirects),
	k("env.*_AUTH_TOKEN", Any).from(NotProject, redirects),
	k("env.*_CUSTOM_HEADERS", Any).from(NotProject, redirects),
	k("env.*_CA_BUNDLE", Any).from(NotProject, redirects),
	k("env.SSL_CERT_*", Any).from(NotProject, redirects),
	k("env.NODE_EXTRA_CA_CERTS", Any).from(NotProject, redirects),
	k("env.NODE_TLS_REJECT_UNAUTHORIZED", Any).from(NotProject, guards),
	k("env.OTEL_*", Any).from(NotProject, redirects),
	k("env.VARVE_*", Any).from(NotProject, mode),
	k("env.CLAUDE_CONFIG_DIR", Any).from(NotProject, homes),
	k("env.CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", Any).from(NotProject, homes),
	k("env.HOME", Any).from(NotProject, homes),
	k("env.USERPROFILE", Any).from(NotProject, homes),
	k("env.XDG_*", Any).from(NotProject, homes),
}

// Rules returns a copy of the table of known keys, for documentation.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// unknownRule is what counts for keys that no rule matches.
var unknownRule = Rule{From: AfterTrust, Reason: unknown}

// ruleFor returns the rule for the value at key: that of the most particular
// pattern that matches key itself; otherwise that of the longest prefix of key
// that has one, with kind and merge left open. known is false when nothing
// matches, or only a group whose members the table lists.
func ruleFor(key []string) (r Rule, known bool) {
	r = unknownRule
	for n := 1; n <= len(key); n++ {
		exact, ok := exactRule(key[:n])
		switch {
		case ok:
			r, known = exact, true
			if r.Opaque && n < len(key) {
				r.Kind, r.Merge = Any, Strongest
				return r, true
			}
		case known:
			known = r.Kind != Object || !listed(r.Pattern)
			r.Kind, r.Merge = Any, Strongest
		}
	}
	return r, known
}

// ruleIndex makes the table quick to ask: it is asked for every member of every
// file.
type ruleIndex struct {
	plain    map[string]int   // joined patterns without stars → row
	patterns map[string][]int // first segment → rows that must be matched
	listed   map[string]bool  // joined groups that have rows for their members
}

// index is made when it is first needed, not when the program starts.
var index = sync.OnceValue(func() ruleIndex {
	x := ruleIndex{plain: map[string]int{}, patterns: map[string][]int{}, listed: map[string]bool{}}
	for i, r := range rules {
		plain := true
		for _, seg := range r.Pattern {
			plain = plain && !strings.Contains(seg, "*") && !isUpper(seg)
		}
		if plain {
			x.plain[indexKey(r.Pattern)] = i
		} else {
			x.patterns[r.Pattern[0]] = append(x.patterns[r.Pattern[0]], i)
		}
		x.listed[indexKey(r.Pattern[:len(r.Pattern)-1])] = true
	}
	return x
})

// indexKey joins a path by what cannot stand in the table.
func indexKey(path []string) string { return strings.Join(path, "\x00") }

// exactRule returns the most particular rule whose pattern matches key itself.
func exactRule(key []string) (Rule, bool) {
	x := index()
	if i, ok := x.plain[indexKey(key)]; ok {
		return rules[i], true
	}
	best, score := -1, -1
	for _, first := range []string{key[0], "**"} {
		for _, i := range x.patterns[first] {
			if s := rules[i].match(key); s > score {
				best, score = i, s
			}
		}
	}
	if best < 0 {
		return Rule{}, false
	}
	return rules[best], true
}

// listed reports whether the table has rows for members of the group.
func listed(group []string) bool { return index().listed[indexKey(group)] }

// match returns how particular r is for exactly key, or -1 when it does not
// match. A pattern that begins with ** is less particular than any other.
func (r *Rule) match(key []string) int {
	pattern := r.Pattern
	if pattern[0] == "**" {
		rest := pattern[1:]
		if len(key) < len(rest) {
			return -1
		}
		return matchSegments(rest, key[len(key)-len(rest):], 0)
	}
	if len(pattern) != len(key) {
		return -1
	}
	const particular = 1000 // above what any ** pattern reaches
	return matchSegments(pattern, key, particular)
}

// matchSegments adds up, over all segments, the characters that are not stars.
func matchSegments(pattern, key []string, score int) int {
	for i, p := range pattern {
		if !matchSegment(p, key[i]) {
			return -1
		}
		score += len(p) - strings.Count(p, "*")
	}
	return score
}

// matchSegment matches one segment. Patterns of environment variables are in
// capitals and match every spelling, because Windows does not tell them apart.
func matchSegment(pattern, s string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == s || isUpper(pattern) && strings.EqualFold(pattern, s)
	}
	if isUpper(pattern) {
		s = strings.ToUpper(s)
	}
	// A slash separates for path.Match; a key may hold one (models).
	ok, err := path.Match(pattern, strings.ReplaceAll(s, "/", "_"))
	return err == nil && ok
}

// isUpper reports whether p is the pattern of an environment variable.
func isUpper(p string) bool { return len(p) > 1 && p == strings.ToUpper(p) && p != strings.ToLower(p) }
