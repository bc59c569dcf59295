package settings

import (
	"strings"
	"testing"
)

// O-1: `VARVE_` and the key path in upper snake case.
func TestEnvName(t *testing.T) {
	for key, want := range map[string]string{
		"window":                    "VARVE_WINDOW",
		"autoCompactWindow":         "VARVE_AUTO_COMPACT_WINDOW",
		"compact.sessionNotes":      "VARVE_COMPACT_SESSION_NOTES",
		"mcp.maxOutputTokens":       "VARVE_MCP_MAX_OUTPUT_TOKENS",
		"promptCacheTTL":            "VARVE_PROMPT_CACHE_TTL",
		"enableURLFetch":            "VARVE_ENABLE_URL_FETCH",
		"x2Y3":                      "VARVE_X2_Y3",
		"home":                      "VARVE_HOME",
		"models.anthropic/x.window": "",
		"$schema":                   "",
		"a..b":                      "",
		"":                          "",
		"größe":                     "",
	} {
		if got := EnvName(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// O-1: the variables of the reference, beside our own.
func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  string // variables separated by spaces
		key  string
		want string // of Raw; "" = not set
		name string
	}{
		{"CLAUDE_CODE_AUTO_COMPACT_WINDOW=150000", "autoCompactWindow", `150000`, "CLAUDE_CODE_AUTO_COMPACT_WINDOW"},
		{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=70", "compact.percent", `70`, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"},
		{"DISABLE_COMPACT=1", "compact.disabled", `true`, "DISABLE_COMPACT"},
		{"DISABLE_COMPACT=0", "compact.disabled", ``, ""},
		{"DISABLE_COMPACT=", "compact.disabled", ``, ""},
		{"DISABLE_AUTO_COMPACT=true", "autoCompactEnabled", `false`, "DISABLE_AUTO_COMPACT"},
		{"DISABLE_AUTO_COMPACT=false", "autoCompactEnabled", ``, ""},
		{"ENABLE_CLAUDE_CODE_SM_COMPACT=1", "compact.sessionNotes", `true`, "ENABLE_CLAUDE_CODE_SM_COMPACT"},
		{"DISABLE_CLAUDE_CODE_SM_COMPACT=1", "compact.sessionNotes", `false`, "DISABLE_CLAUDE_CODE_SM_COMPACT"},
		{"ENABLE_CLAUDE_CODE_SM_COMPACT=1 DISABLE_CLAUDE_CODE_SM_COMPACT=1", "compact.sessionNotes", `false`, "DISABLE_CLAUDE_CODE_SM_COMPACT"},
		{"ENABLE_CLAUDE_CODE_SM_COMPACT=1 DISABLE_CLAUDE_CODE_SM_COMPACT=0", "compact.sessionNotes", `true`, "ENABLE_CLAUDE_CODE_SM_COMPACT"},
		{"CLAUDE_COWORK_MEMORY_PATH_OVERRIDE=/m", "memory.pathOverride", `"/m"`, "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"},
		{"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING=1", "fileCheckpointingEnabled", `false`, "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"},
		{"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=yes", "checkpoint.headless", `true`, "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"},
		{"MAX_MCP_OUTPUT_TOKENS=9", "mcp.maxOutputTokens", `9`, "MAX_MCP_OUTPUT_TOKENS"},
		{"VARVE_WINDOW=4000", "window", `4000`, "VARVE_WINDOW"},
		{"VARVE_WINDOW=1 VARVE_WINDOW=2", "window", `2`, "VARVE_WINDOW"},
		{"VARVE_WINDOW=1 VARVE_WINDOW=", "window", ``, ""},
		// Our own name counts before the reference's, but for what turns off.
		{"MAX_MCP_OUTPUT_TOKENS=9 VARVE_MCP_MAX_OUTPUT_TOKENS=8", "mcp.maxOutputTokens", `8`, "VARVE_MCP_MAX_OUTPUT_TOKENS"},
		{"DISABLE_AUTO_COMPACT=1 VARVE_AUTO_COMPACT_ENABLED=true", "autoCompactEnabled", `false`, "DISABLE_AUTO_COMPACT"},
		{"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING=on VARVE_FILE_CHECKPOINTING_ENABLED=1", "fileCheckpointingEnabled", `false`, "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING"},
		// Any key has a variable, known or not.
		{"VARVE_NOTES_FIRST=5", "notes.first", `5`, "VARVE_NOTES_FIRST"},
		{"VARVE_HOME=/h", "home", `"/h"`, "VARVE_HOME"},
		{"nonsense VARVE_", "", ``, ""},
	} {
		v := Load(Options{Env: strings.Fields(c.env)}).Raw(c.key)
		if string(v.V) != c.want || v.Origin.Name != c.name {
			t.Errorf("%s: %s = %s from %q; want %s from %q", c.env, c.key, v.V, v.Origin.Name, c.want, c.name)
		}
	}
}

// The order between policy, variables, flags and files, for a variable of the
// reference too.
func TestEnvironmentRank(t *testing.T) {
	tr := newTree(t, map[Layer]string{Policy: `{"autoCompactEnabled":true,"allowManagedHooksOnly":true}`, User: `{"mcp":{"maxOutputTokens":1}}`})
	s := tr.load(env("DISABLE_AUTO_COMPACT=1", "MAX_MCP_OUTPUT_TOKENS=3", "VARVE_ALLOW_MANAGED_HOOKS_ONLY=false"), func(o *Options) {
		o.Flags = []Flag{{"--mcp-limit", "mcp.maxOutputTokens", "2"}, {"--x", "allowManagedMcpServersOnly", "true"}}
	})
	if v := s.Bool("autoCompactEnabled"); !v.V || v.Origin.Layer != Policy {
		t.Errorf("the policy: %+v", v)
	}
	if v := s.Int("mcp.maxOutputTokens"); v.V != 3 || v.Origin.Layer != Environment {
		t.Errorf("variable over flag over file: %+v", v)
	}
	if v := s.Bool("allowManagedHooksOnly"); !v.V || v.Origin.Layer != Policy {
		t.Errorf("a key of the policy alone: %+v", v)
	}
	if v := s.Bool("allowManagedMcpServersOnly"); v.Set() {
		t.Errorf("a flag set a key of the policy: %+v", v)
	}
	// A bad switch is told and leaves the key wrong, not silently on or off.
	v := Load(Options{Env: []string{"DISABLE_COMPACT=perhaps"}}).Bool("compact.disabled")
	wantErr(t, v.Err, `DISABLE_COMPACT (environment): compact.disabled must be true or false, not the text "perhaps"`)
}
