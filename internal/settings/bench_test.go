package settings

import (
	"os"
	"testing"
)

// BenchmarkLoad is the reading of seven layers with twenty values each, which
// is part of every start (DESIGN section 9: --version in 15 ms).
func BenchmarkLoad(b *testing.B) {
	doc := `{"model":"x","window":1,"permissions":{"allow":["a","b"],"deny":["c","d"],"ask":["e"]},"env":{"A":"1","B":"2"},
		"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"mcpServers":{"a":{"command":"x"},"b":{"url":"y"}},
		"compact":{"percent":80,"mode":"x"},"models":{"p/m":{"window":1},"p/n":{"window":2}},"worktree":{"baseRef":"head"},"sandbox":{"enabled":true}}`
	tr := newTree(b, nil)
	for _, lf := range layerFiles {
		tr.write(lf.layer, doc)
	}
	tr.opt.Env = os.Environ()
	for b.Loop() {
		if s := tr.load(trusted); len(s.Problems()) != 0 {
			b.Fatal(s.Problems())
		}
	}
}
