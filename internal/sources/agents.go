package sources

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/internal/vfs"
)

// Agent is the log of a sub-agent of a session.
type Agent struct {
	ID   string // without the prefix "agent-"
	Path string
	Size int64
	// What the file beside the log says, where there is one.
	Type, Description, ToolUseID, Model string
	// Compaction is true for the log of a request that compacted the session.
	Compaction bool
}

// compactPrefix begins the ids under which the reference client keeps the
// requests that compacted a session.
const compactPrefix = "acompact-"

// Agents returns the sub-agents of a session by id: the logs below its own folder
// (workflows included), and those of clients of 2.0, which lie beside the session
// and name it in their records. Folders that cannot be read are told.
func (f *Finder) Agents(s *Session) ([]Agent, []Skipped) {
	var out []Agent
	own := Subagents(s.Folder(), s.ID)
	skipped := f.agentsIn(own, &out, 0)
	entries, err := f.FS.ReadDir(s.Folder())
	if err != nil {
		return out, append(skipped, Skipped{s.Folder(), reason(err)})
	}
	for _, e := range entries {
		if !isAgentLog(e.Name()) {
			continue
		}
		fl, err := f.stat(nil, filepath.Join(s.Folder(), e.Name()))
		if err != nil {
			skipped = append(skipped, Skipped{filepath.Join(s.Folder(), e.Name()), err})
			continue
		}
		if a := f.load(fl); a.Err == nil && a.SessionID == s.ID {
			out = append(out, f.agent(fl))
		}
	}
	slices.SortFunc(out, func(a, b Agent) int { return strings.Compare(a.ID+a.Path, b.ID+b.Path) })
	return out, skipped
}

// agentDepth is how deep sub-agents are looked for: subagents/workflows/<id>/ and
// one more.
const agentDepth = 3

func (f *Finder) agentsIn(dir string, out *[]Agent, depth int) (skipped []Skipped) {
	entries, err := f.FS.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			skipped = append(skipped, Skipped{dir, reason(err)})
		}
		return skipped
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() && depth < agentDepth {
			skipped = append(skipped, f.agentsIn(path, out, depth+1)...)
			continue
		}
		if !isAgentLog(e.Name()) {
			continue
		}
		fl, err := f.stat(nil, path)
		if err != nil {
			skipped = append(skipped, Skipped{path, err})
			continue
		}
		*out = append(*out, f.agent(fl))
	}
	return skipped
}

// agentMetaMax is far more than a description of an agent has.
const agentMetaMax = 64 << 10

func (f *Finder) agent(fl *file) Agent {
	a := Agent{ID: strings.TrimPrefix(fl.id(), agentPrefix), Path: fl.path, Size: fl.size}
	a.Compaction = strings.HasPrefix(a.ID, compactPrefix)
	beside := strings.TrimSuffix(fl.path, logSuffix) + ".meta.json"
	if st, err := f.FS.Stat(beside); err != nil || !st.Mode().IsRegular() || st.Size() > agentMetaMax {
		return a
	}
	data, err := vfs.ReadFile(f.FS, beside)
	if err != nil {
		return a
	}
	var m struct{ AgentType, Description, ToolUseID, Model string }
	if json.Unmarshal(data, &m) == nil { // member names match without case
		a.Type, a.Description, a.ToolUseID, a.Model = m.AgentType, m.Description, m.ToolUseID, m.Model
	}
	return a
}
