package settings

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// envPrefix begins the names of Varve's own variables (O-1).
const envPrefix = "VARVE_"

// alias is a variable of the reference that sets one of our keys.
type alias struct {
	name, key string
	// set is the value the key gets when the variable is switched on. Empty:
	// the variable's own text is the value.
	set string
	// wins: the variable counts before Varve's own name. Only switches that turn
	// something off do.
	wins bool
}

// aliases are the variables of O-1, in the order in which they count.
var aliases = []alias{
	{name: "DISABLE_COMPACT", key: "compact.disabled", set: "true", wins: true},
	{name: "DISABLE_AUTO_COMPACT", key: "autoCompactEnabled", set: "false", wins: true},
	{name: "DISABLE_CLAUDE_CODE_SM_COMPACT", key: "compact.sessionNotes", set: "false", wins: true},
	{name: "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", key: "fileCheckpointingEnabled", set: "false", wins: true},
	{name: "ENABLE_CLAUDE_CODE_SM_COMPACT", key: "compact.sessionNotes", set: "true"},
	{name: "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", key: "checkpoint.headless", set: "true"},
	{name: "CLAUDE_CODE_AUTO_COMPACT_WINDOW", key: "autoCompactWindow"},
	{name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", key: "compact.percent"},
	{name: "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE", key: "memory.pathOverride"},
	{name: "MAX_MCP_OUTPUT_TOKENS", key: "mcp.maxOutputTokens"},
}

// EnvName returns the name of Varve's own variable for a key: `VARVE_` and the
// path in upper snake case, so autoCompactWindow is VARVE_AUTO_COMPACT_WINDOW
// and compact.sessionNotes is VARVE_COMPACT_SESSION_NOTES. It returns "" for a
// path with a segment that is not made of ASCII letters and digits, such as a
// model's name.
func EnvName(key string) string { return envName(strings.Split(key, ".")) }

func envName(path []string) string {
	if len(path) == 0 {
		return ""
	}
	name := envPrefix
	for i, segment := range path {
		if i > 0 {
			name += "_"
		}
		part, ok := upperSnake(segment)
		if !ok {
			return ""
		}
		name += part
	}
	return name
}

// upperSnake turns maxOutputTokens into MAX_OUTPUT_TOKENS. A run of capitals is
// one word, whose last letter begins the next word if a small letter follows.
func upperSnake(s string) (string, bool) {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return "", false
		}
		if i > 0 && unicode.IsUpper(r) {
			afterSmall := !unicode.IsUpper(runes[i-1])
			beforeSmall := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterSmall || beforeSmall {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String(), b.Len() > 0
}

// environment is a process's variables. Empty values count as not set, as
// shells have no other way to say so in one line.
type environment map[string]string

// newEnvironment reads variables of the form NAME=value; the last one counts.
func newEnvironment(vars []string) environment {
	env := environment{}
	for _, v := range vars {
		if name, value, ok := strings.Cut(v, "="); ok && value != "" {
			env[name] = value
		} else if ok {
			delete(env, name)
		}
	}
	return env
}

// find returns the variable that sets the key at path and the text that counts.
// Of a switch that is neither on nor off that is its own text, which no key
// takes for true or false.
func (env environment) find(path []string) (name, text string, ok bool) {
	key := strings.Join(path, ".")
	for _, wins := range []bool{true, false} {
		if !wins {
			if own := envName(path); own != "" {
				if text, ok := env[own]; ok {
					return own, text, true
				}
			}
		}
		for _, a := range aliases {
			if a.key != key || a.wins != wins {
				continue
			}
			text, ok := env[a.name]
			if !ok {
				continue
			}
			on, known := parseBool(text)
			switch {
			case a.set == "" || !known:
				return a.name, text, true
			case on:
				return a.name, a.set, true
			}
		}
	}
	return "", "", false
}

// parseBool reads a switch in a variable or flag.
func parseBool(s string) (on, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

// envKeys are the known keys that have a variable, by its name, and the names
// of the groups whose members are open.
type envKeys struct {
	keys   map[string][]string
	groups []string // with the underscore at their end
}

// knownEnv is made when it is first needed.
var knownEnv = sync.OnceValue(func() envKeys {
	x := envKeys{keys: map[string][]string{}}
	for _, r := range rules {
		last := len(r.Pattern) - 1
		switch {
		case r.Pattern[last] == "*":
			if name := envName(r.Pattern[:last]); name != "" {
				x.groups = append(x.groups, name+"_")
			}
			continue
		case r.Kind == Object && !listed(r.Pattern):
			x.groups = append(x.groups, envName(r.Pattern)+"_")
		}
		if name := envName(r.Pattern); name != "" {
			x.keys[name] = r.Pattern
		}
	}
	return x
})

// set returns the known keys for which some variable is set, in no order.
func (env environment) set() [][]string {
	var paths [][]string
	for name := range env {
		if path, ok := knownEnv().keys[name]; ok && strings.HasPrefix(name, envPrefix) {
			paths = append(paths, path)
		}
	}
	for _, a := range aliases {
		if _, ok := env[a.name]; ok {
			paths = append(paths, strings.Split(a.key, "."))
		}
	}
	return paths
}

// unknown returns the names of variables with our prefix that no known key
// has, in no order.
func (env environment) unknown() []string {
	var names []string
	for name := range env {
		if strings.HasPrefix(name, envPrefix) && !envKnown(name) {
			names = append(names, name)
		}
	}
	return names
}

// envKnown reports whether a known key or a member of a known open group has
// the variable called name.
func envKnown(name string) bool {
	x := knownEnv()
	if x.keys[name] != nil {
		return true
	}
	return slices.ContainsFunc(x.groups, func(g string) bool { return strings.HasPrefix(name, g) })
}
