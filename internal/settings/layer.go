package settings

import "strconv"

// Layer is one source of settings. A smaller number is stronger. The order is
// O-3's; the environment stands where the reference has it, above flags and
// files and below the policy of the machine's owner.
type Layer int

const (
	None          Layer = iota // no layer: the value is not set
	Policy                     // settings.json in the policy directory, the machine's owner
	Environment                // variables of the process
	Flags                      // the command line
	VarveLocal                 // .varve/settings.local.json, one user's own in a project
	ClaudeLocal                // .claude/settings.local.json
	VarveProject               // .varve/settings.json, everybody's in a project
	ClaudeProject              // .claude/settings.json
	User                       // settings.json in $VARVE_HOME
	ClaudeUser                 // settings.json in ~/.claude
)

var layerNames = [...]string{"unset", "policy", "environment", "flags", "varve local", "claude local", "varve project", "claude project", "user", "claude user"}

// String names the layer as `varve config` shows it.
func (l Layer) String() string {
	if l < 0 || int(l) >= len(layerNames) {
		return "layer " + strconv.Itoa(int(l))
	}
	return layerNames[l]
}

// IsProject reports whether everybody who can write to the repository can
// write to the layer.
func (l Layer) IsProject() bool { return l == VarveProject || l == ClaudeProject }

// IsLocal reports whether the layer is one user's own by convention but lies in
// the project's folder, so that a repository can bring it along.
func (l Layer) IsLocal() bool { return l == VarveLocal || l == ClaudeLocal }

// Origin says where a value comes from. The zero Origin means that it is not
// set.
type Origin struct {
	Layer Layer
	// Name is the file, the environment variable or the flag.
	Name string
	// Line is the value's line in the file, from 1; 0 for variables and flags.
	Line int
}

// String gives the origin as file:line, variable or flag, and the layer.
func (o Origin) String() string {
	switch {
	case o.Layer == None:
		return "not set"
	case o.Line > 0:
		return o.Name + ":" + strconv.Itoa(o.Line) + " (" + o.Layer.String() + ")"
	default:
		return o.Name + " (" + o.Layer.String() + ")"
	}
}
