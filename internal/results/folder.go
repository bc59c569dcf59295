package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"varve.dev/internal/vfs"
	"varve.dev/message"
)

// ErrTaken says that the names for a result are taken by files with other content. Nothing is overwritten; moving those files away
// helps.
var ErrTaken = errors.New("a file of that name with other content exists")

// A Folder holds the results of one session: <session>/tool-results.
type Folder struct {
	FS  vfs.FS
	Dir string // absolute, since the model is told paths in it

	made bool
}

// names are the file names for a result, in the order in which they are tried. The id is input from a model or a foreign log: only
// [A-Za-z0-9_-]{1,64} becomes part of a name, anything else is mapped to that. The second name, with a hash of the content, is for
// ids that differ in case where the file system does not, and for folders that hold something else already.
func names(id, text string) [2]string {
	name := message.CanonicalID(id)
	if isDevice(name) {
		name = "_" + name
	}
	sum := sha256.Sum256([]byte(text))
	return [2]string{name + ".txt", name + "-" + hex.EncodeToString(sum[:8]) + ".txt"}
}

// isDevice reports whether Windows takes the name, with any extension, for a device.
func isDevice(name string) bool {
	switch up := strings.ToUpper(name); {
	case up == "CON", up == "PRN", up == "AUX", up == "NUL":
		return true
	case len(up) == 4 && (strings.HasPrefix(up, "COM") || strings.HasPrefix(up, "LPT")):
		return '0' <= up[3] && up[3] <= '9'
	}
	return false
}

// path is where the result will be unless that name is taken.
func (f *Folder) path(id, text string) string { return filepath.Join(f.Dir, names(id, text)[0]) }

// save writes the text and returns the path of the file, which is durable then, its name too. The same text for the same id is the same
// file.
func (f *Folder) save(id, text string) (string, error) {
	if err := f.prepare(); err != nil {
		return "", err
	}
	for _, name := range names(id, text) {
		path := filepath.Join(f.Dir, name)
		free, err := f.free(path, text)
		if err != nil {
			return "", err
		}
		if free {
			// A file with the same text is written again: nobody knows whether it was ever synced.
			return path, vfs.WriteFile(f.FS, path, []byte(text), 0o600)
		}
	}
	return "", fmt.Errorf("%s: %w", f.path(id, text), ErrTaken)
}

// prepare makes the folder, once.
func (f *Folder) prepare() error {
	if f.made {
		return nil
	}
	if !filepath.IsAbs(f.Dir) {
		return fmt.Errorf("the folder of tool results, %q, is no absolute path", f.Dir)
	}
	if err := f.FS.MkdirAll(f.Dir, 0o700); err != nil {
		return err
	}
	switch st, err := f.FS.Lstat(f.Dir); {
	case err != nil:
		return err
	case !st.IsDir():
		return fmt.Errorf("%s is a link; tool results are only written into a folder of the session itself", f.Dir)
	}
	if err := vfs.SyncTree(f.FS, f.Dir); err != nil {
		return err
	}
	f.made = true
	return nil
}

// free reports whether nothing is at path, or a file that holds text.
func (f *Folder) free(path, text string) (bool, error) {
	st, err := f.FS.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !st.Mode().IsRegular() || st.Size() != int64(len(text)):
		return false, nil
	}
	old, err := vfs.ReadFile(f.FS, path)
	return err == nil && string(old) == text, err
}

// holds reports whether path names a file of the folder.
func (f *Folder) holds(path string) bool {
	return filepath.IsAbs(path) && filepath.Dir(filepath.Clean(path)) == filepath.Clean(f.Dir)
}
