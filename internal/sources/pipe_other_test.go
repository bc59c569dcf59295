//go:build !unix

package sources

import (
	"os"
	"testing"
)

// pipe stands in with a folder: there are no named pipes in folders here.
func pipe(t *testing.T, name string) {
	t.Helper()
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
}
