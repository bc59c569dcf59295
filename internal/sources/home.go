package sources

import (
	"path/filepath"
	"strings"
)

// Names of the sources, as `--source` takes them and `--json` prints them.
const (
	SourceVarve  = "varve"
	SourceClaude = "claude"
)

// Home is a directory that holds projects with their sessions.
type Home struct {
	Source   string // SourceVarve or SourceClaude
	Dir      string // absolute
	ReadOnly bool   // sessions are read where they are and continued in ours
	// FolderName is the one project folder that the user told the reference client
	// to use whatever the working directory is (CLAUDE_CODE_PROJECT_DIR_NAME); "" for none.
	FolderName string
}

// Homes returns the homes in order of precedence: ours, then that of the
// reference client. env is os.Getenv or a stand-in; userHome is the user's home
// directory, "" when there is none, and then only homes that the environment
// names are returned. Nothing is created and nothing need exist.
func Homes(env func(string) string, userHome string) []Home {
	var out []Home
	add := func(h Home, variable, folder string) {
		if h.Dir = env(variable); h.Dir == "" {
			if userHome == "" {
				return
			}
			h.Dir = filepath.Join(userHome, folder)
		}
		if rest, ok := strings.CutPrefix(h.Dir, "~"+string(filepath.Separator)); ok && userHome != "" {
			h.Dir = filepath.Join(userHome, rest) // set in a file that no shell expanded
		}
		if abs, err := filepath.Abs(h.Dir); err == nil {
			h.Dir = abs
		}
		out = append(out, h)
	}
	add(Home{Source: SourceVarve}, "VARVE_HOME", ".varve")
	add(Home{Source: SourceClaude, ReadOnly: true, FolderName: env("CLAUDE_CODE_PROJECT_DIR_NAME")}, "CLAUDE_CONFIG_DIR", ".claude")
	if len(out) == 2 && out[0].Dir == out[1].Dir {
		out = out[:1] // one folder for both: ours to write, listed once
	}
	return out
}

// The layout of a home. Only names; nothing here touches the disk.

// Projects is the folder of all project folders.
func (h Home) Projects() string { return filepath.Join(h.Dir, "projects") }

// Folder is where new sessions of the canonical directory dir lie.
func (h Home) Folder(dir string) string { return filepath.Join(h.Projects(), Slug(dir)) }

// Log is the log of a session in the project folder.
func Log(folder, id string) string { return filepath.Join(folder, id+logSuffix) }

// Lock is the lock file of the session in the project folder.
func Lock(folder, id string) string { return filepath.Join(folder, id+".lock") }

// Subagents holds the logs of a session's sub-agents.
func Subagents(folder, id string) string { return filepath.Join(folder, id, "subagents") }

// ToolResults holds results of a session that were too long for the log.
func ToolResults(folder, id string) string { return filepath.Join(folder, id, "tool-results") }

// Frames holds the bytes of what was sent with every request of a session.
func Frames(folder, id string) string { return filepath.Join(folder, id, "frames") }

// Notes is the notes file of a session.
func Notes(folder, id string) string { return filepath.Join(folder, id, "notes.md") }

// Memory is the memory folder of the project.
func Memory(folder string) string { return filepath.Join(folder, "memory") }

// Running describes running processes, one file each, for display.
func (h Home) Running() string { return filepath.Join(h.Dir, "sessions") }

// FileHistory holds the versions of files that a session changed.
func (h Home) FileHistory(id string) string { return filepath.Join(h.Dir, "file-history", id) }

// Settings is the user's settings file.
func (h Home) Settings() string { return filepath.Join(h.Dir, "settings.json") }

// Trust lists the projects that the user approved.
func (h Home) Trust() string { return filepath.Join(h.Dir, "trust.json") }

const logSuffix = ".jsonl"
