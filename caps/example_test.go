package caps_test

import (
	"fmt"

	"varve.dev/caps"
)

func ExampleCatalogue_Resolve() {
	c := caps.Catalogue{Overrides: map[string]caps.Override{"anthropic/claude-opus-5": {Window: 400_000}}}
	for _, name := range []string{"claude-opus-5", "claude-opus-5-5", "ollama/qwen3:8b"} {
		m, notices := c.Resolve(caps.Query{Model: name})
		fmt.Println(m.Key(), m.Window, m.PrefixBound, len(notices))
	}
	// Output:
	// anthropic/claude-opus-5 400000 false 0
	// anthropic/claude-opus-5-5 1000000 true 0
	// ollama/qwen3:8b 4096 false 1
}

func ExampleWindow() {
	m := caps.Window(128_000)
	fmt.Println(m.Window, m.PrefixBound, m.Compaction.Any())
	// Output: 128000 false false
}
