package ledger

import (
	"path"
	"strings"
)

// patchMark begins a text in the form of Codex's apply_patch. Other agents use the
// same form, inside a tool of its own or inside a shell command.
const patchMark = "*** Begin Patch"

// change is one thing done to one file by a call that may do several.
type change struct {
	Path string `json:"p"`
	Act  action `json:"a"`
	Hash string `json:"h,omitempty"` // of the content after it, where known
}

// maxChanges bounds what one call can do to different files.
const maxChanges = 500

// patchChanges reads the files that a patch adds, updates, moves and deletes. Of
// an added file the content is known, and so its hash.
func patchChanges(s string) []change {
	i := strings.Index(s, patchMark)
	if i < 0 {
		return nil
	}
	var out []change
	var added *strings.Builder
	end := func() {
		if added != nil && len(out) > 0 {
			out[len(out)-1].Hash = hash([]byte(added.String()))
		}
		added = nil
	}
	for l := range strings.SplitSeq(s[i:], "\n") {
		l = strings.TrimSuffix(l, "\r")
		verb, name, ok := patchHeader(l)
		switch {
		case !ok:
			if added != nil && strings.HasPrefix(l, "+") {
				added.WriteString(l[1:])
				added.WriteByte('\n')
			}
			continue
		case verb == "End Patch" || len(out) >= maxChanges:
			end()
			return out
		case verb == "Move to":
			if n := len(out); n > 0 {
				out = append(out, change{Path: name, Act: actEdit})
				out[n-1].Act = actDelete
			}
			continue
		}
		end()
		switch verb {
		case "Add File":
			out = append(out, change{Path: name, Act: actWrite})
			added = new(strings.Builder)
		case "Update File":
			out = append(out, change{Path: name, Act: actEdit})
		case "Delete File":
			out = append(out, change{Path: name, Act: actDelete})
		}
	}
	end()
	return out
}

// patchHeader reads a line "*** Verb: name".
func patchHeader(l string) (verb, name string, ok bool) {
	l, ok = strings.CutPrefix(l, "*** ")
	if !ok {
		return "", "", false
	}
	verb, name, _ = strings.Cut(l, ":")
	switch verb {
	case "Add File", "Update File", "Delete File", "Move to":
		name = strings.Clone(storePath(name)) // a patch is not kept for its names
		return verb, name, name != ""
	case "End Patch":
		return verb, "", true
	}
	return "", "", false
}

// maxPath bounds a path; the longest that Linux takes.
const maxPath = 4096

// storePath returns a path as it is kept and shown: as it was written, on one line.
func storePath(s string) string {
	return oneLine(s, maxPath)
}

// fileKey is what tells files apart: the path made absolute by the folder in which
// it was said. Paths with backslashes are compared as they are. It is what a
// checkpoint may hold: a damaged folder can carry control characters.
func fileKey(dir, p string) string { return clip(clean(joined(dir, p)), 3*maxPath) }

func joined(dir, p string) string {
	switch {
	case strings.Contains(p, `\`) || len(p) > 1 && p[1] == ':':
		return p
	case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "~"), dir == "":
		return path.Clean(p)
	}
	return path.Join(dir, p)
}
