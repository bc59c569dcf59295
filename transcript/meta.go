package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// This file decodes the side entries of SPEC T-5. Each is small; callers that
// list sessions read them through [ReadLite].

// PRLink ties a session to a pull request.
type PRLink struct {
	Number     int    `json:"prNumber"`
	URL        string `json:"prUrl"`
	Repository string `json:"prRepository"`
	Timestamp  string `json:"timestamp,omitempty"`
}

// WorktreeState is one of three states: never set (no entry), explicitly none
// (Session nil), or a worktree.
type WorktreeState struct {
	Session *WorktreeSession
}

// WorktreeSession is the worktree a session stands in.
type WorktreeSession struct {
	OriginalCwd         string `json:"originalCwd"`
	PreEnterOriginalCwd string `json:"preEnterOriginalCwd,omitempty"`
	WorktreePath        string `json:"worktreePath"`
	WorktreeName        string `json:"worktreeName"`
	WorktreeBranch      string `json:"worktreeBranch,omitempty"`
	BaseCommit          string `json:"baseCommit,omitempty"`
}

// FileBackup is one version of one file in the file history.
type FileBackup struct {
	BackupFileName *string `json:"backupFileName"` // nil: the file did not exist
	Version        int     `json:"version"`
	BackupTime     string  `json:"backupTime"`
	RealParentDir  string  `json:"realParentDir,omitempty"`
}

// FileSnapshot is a file-history-snapshot entry.
type FileSnapshot struct {
	MessageID string `json:"messageId"`
	Snapshot  struct {
		MessageID          string                `json:"messageId"`
		TrackedFileBackups map[string]FileBackup `json:"trackedFileBackups"`
		Timestamp          string                `json:"timestamp"`
	} `json:"snapshot"`
	IsUpdate bool `json:"isSnapshotUpdate"`
}

// FileDelta is a file-history-delta entry: one changed path of a snapshot.
type FileDelta struct {
	MessageID         string     `json:"messageId"`
	SnapshotMessageID string     `json:"snapshotMessageId"`
	TrackingPath      string     `json:"trackingPath"`
	Backup            FileBackup `json:"backup"`
	Timestamp         string     `json:"timestamp"`
}

// QueueOperation is a queue-operation entry: prompts typed while a turn ran.
type QueueOperation struct {
	Operation string          `json:"operation"` // enqueue, dequeue, remove, popAll
	Timestamp string          `json:"timestamp"`
	Content   json.RawMessage `json:"content,omitempty"`
}

// PRLink decodes a pr-link entry.
func (e *Entry) PRLink() (PRLink, error) { return side[PRLink](e, TypePRLink) }

// FileSnapshot decodes a file-history-snapshot entry.
func (e *Entry) FileSnapshot() (FileSnapshot, error) { return side[FileSnapshot](e, TypeFileSnapshot) }

// FileDelta decodes a file-history-delta entry.
func (e *Entry) FileDelta() (FileDelta, error) { return side[FileDelta](e, TypeFileDelta) }

// QueueOperation decodes a queue-operation entry.
func (e *Entry) QueueOperation() (QueueOperation, error) {
	return side[QueueOperation](e, TypeQueueOperation)
}

// WorktreeState decodes a worktree-state entry.
func (e *Entry) WorktreeState() (WorktreeState, error) {
	raw, err := side[struct {
		Session *WorktreeSession `json:"worktreeSession"`
	}](e, TypeWorktreeState)
	return WorktreeState{Session: raw.Session}, err
}

func side[T any](e *Entry, typ string) (T, error) {
	var v T
	if e.Type != typ {
		return v, fmt.Errorf("transcript: entry %s is a %s, not a %s", e.ref(), e.Type, typ)
	}
	return v, e.Decode(&v)
}

// metaValue returns the text that a one-valued metadata entry sets: the title of
// a custom-title, the mode of a mode, and so on. The member is named after the
// type, as the reference does.
func (e *Entry) metaValue() (string, bool) {
	key, ok := metaKeys[e.Type]
	if !ok {
		return "", false
	}
	raw, ok := e.Field(key)
	if !ok {
		return "", false
	}
	if in, ok := plainText(raw, span{0, int32(len(raw))}); ok && !slices.ContainsFunc(in, isControl) {
		return string(in), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// isControl reports whether c may not stand in a JSON string as it is.
func isControl(c byte) bool { return c < 0x20 }

// metaKeys names the member in which each one-valued metadata type keeps its value.
var metaKeys = map[string]string{
	TypeLastPrompt:     "lastPrompt",
	TypeCustomTitle:    "customTitle",
	TypeAITitle:        "aiTitle",
	TypeTag:            "tag",
	TypeAgentName:      "agentName",
	TypeAgentColor:     "agentColor",
	TypeAgentSetting:   "agentSetting",
	TypeMode:           "mode",
	TypePermissionMode: "permissionMode",
	TypeSummary:        "summary",
}

// IsMetadata reports whether entries of this type describe the session as a whole
// and count by their last value; a writer appends them again from time to time so
// that a read of the tail finds them (T-9).
func IsMetadata(typ string) bool {
	switch typ {
	case TypeLastPrompt, TypeCustomTitle, TypeAITitle, TypeTag, TypeAgentName, TypeAgentColor,
		TypeAgentSetting, TypeMode, TypePermissionMode, TypePRLink, TypeWorktreeState:
		return true
	}
	return false
}

// formatTime writes a timestamp as the reference does: RFC 3339, milliseconds, Z.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
