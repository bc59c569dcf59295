package transcript_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

var update = flag.Bool("update", false, "write the files of testdata/vectors anew")

// The test vectors for other implementations: logs in testdata/vectors, each beside
// what a reader finds in it. docs/transcript-format.md says what the members mean.
const vectorDir = "testdata/vectors"

// vector is what a reader finds in a log.
type vector struct {
	About        string            `json:"about"`
	Tip          string            `json:"tip,omitempty"`
	Chain        []string          `json:"chain"`
	Boundary     string            `json:"boundary,omitempty"`
	Kept         []string          `json:"kept,omitempty"`
	Inert        []string          `json:"inert,omitempty"`
	Undone       []string          `json:"undone,omitempty"`
	Recovered    []string          `json:"recovered,omitempty"`
	Gaps         []vectorGap       `json:"gaps,omitempty"`
	History      []string          `json:"history"`
	Leaves       []string          `json:"leaves"`
	Replacements map[string]string `json:"replacements,omitempty"`
	Faults       []vectorFault     `json:"faults"`      // of reading the file
	ChainFaults  []vectorFault     `json:"chainFaults"` // of walking from the tip
	CheckFaults  []vectorFault     `json:"checkFaults"` // of looking at everything
}

type vectorGap struct {
	Child   string `json:"child"`
	Missing string `json:"missing"`
	Bridged string `json:"bridged,omitempty"` // absent: the child is a root
}

type vectorFault struct {
	Line int                  `json:"line"`
	Kind transcript.FaultKind `json:"kind"`
}

func uuids(es []*transcript.Entry) []string {
	out := []string{}
	for _, e := range es {
		out = append(out, e.UUID)
	}
	return out
}

func faultsOf(fs []transcript.Fault) []vectorFault {
	out := []vectorFault{}
	for _, f := range fs {
		out = append(out, vectorFault{f.Line, f.Kind})
	}
	return out
}

// find reads a log as its vector says.
func find(t testing.TB, about string, data []byte) vector {
	t.Helper()
	l := readBytes(t, data)
	v := vector{About: about, Chain: []string{}, History: []string{}, Leaves: uuids(l.Leaves()), Faults: faultsOf(l.Faults), ChainFaults: []vectorFault{}}
	if tip := l.Tip(); tip != nil {
		c := l.Chain(tip)
		v.Tip, v.Chain, v.History = tip.UUID, uuids(c.Entries), uuids(l.History(tip).Entries)
		v.Kept, v.Inert, v.Undone, v.Recovered = uuids(c.Kept), uuids(c.Inert), uuids(c.Undone), uuids(c.Recovered)
		v.ChainFaults = faultsOf(c.Faults)
		if c.Boundary != nil {
			v.Boundary = c.Boundary.UUID
		}
		for _, g := range c.Gaps {
			gap := vectorGap{Child: g.Child.UUID, Missing: g.Missing}
			if g.Bridged != nil {
				gap.Bridged = g.Bridged.UUID
			}
			v.Gaps = append(v.Gaps, gap)
		}
	}
	for _, e := range l.Entries {
		if e.Type != transcript.TypeContentReplacement {
			continue
		}
		rs, err := e.Replacements()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			if v.Replacements == nil {
				v.Replacements = map[string]string{}
			}
			if _, ok := v.Replacements[r.ToolUseID]; !ok {
				v.Replacements[r.ToolUseID] = r.Replacement
			}
		}
	}
	all, err := l.Check(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	v.CheckFaults = faultsOf(all)
	return v
}

// TestVectors: T-8, T-10, T-11, T-12, S-7. The shipped logs are what the builders
// below make, and the reader finds in them what is shipped beside them.
func TestVectors(t *testing.T) {
	names := map[string]bool{}
	for _, c := range vectorCases {
		if names[c.name] {
			t.Errorf("two vectors are called %s", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) {
			s := loggen.NewStory()
			c.build(s)
			data := s.Bytes()
			if c.bytes != nil {
				data = c.bytes(data)
			}
			var want bytes.Buffer
			enc := json.NewEncoder(&want)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(find(t, c.about, data)); err != nil {
				t.Fatal(err)
			}
			base := filepath.Join(vectorDir, c.name)
			if *update {
				if err := os.MkdirAll(vectorDir, 0o755); err != nil {
					t.Fatal(err)
				}
				for name, b := range map[string][]byte{base + ".jsonl": data, base + ".json": want.Bytes()} {
					if err := os.WriteFile(name, b, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := read(t, base+".jsonl"); !bytes.Equal(got, data) {
				t.Errorf("%s.jsonl is not what the builder makes; go test -run TestVectors -update writes it", base)
			}
			if got := read(t, base+".json"); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%s.json says\n%s\nread:\n%s", base, got, want.Bytes())
			}
		})
	}
	files, err := os.ReadDir(vectorDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		base := strings.TrimSuffix(strings.TrimSuffix(f.Name(), ".jsonl"), ".json")
		if base != f.Name() && !names[base] {
			t.Errorf("nothing makes %s", f.Name())
		}
	}
}

// TestVectorsIndependent: what the second reader sends of the undamaged vectors is
// what theirs says.
func TestVectorsIndependent(t *testing.T) {
	compared := 0
	for _, c := range vectorCases {
		data := read(t, filepath.Join(vectorDir, c.name+".jsonl"))
		var v vector
		if err := json.Unmarshal(read(t, filepath.Join(vectorDir, c.name+".json")), &v); err != nil {
			t.Fatal(err)
		}
		damaged := slices.ContainsFunc(v.Faults, func(f vectorFault) bool {
			return f.Kind != transcript.FaultDuplicate && f.Kind != transcript.FaultNoNewline
		})
		if damaged || len(v.ChainFaults)+len(v.Undone)+len(v.Gaps) > 0 || len(v.Chain) == 0 || c.finer {
			continue
		}
		compared++
		f := readFile(data)
		if n := judge(t, f); n.orphans+n.repeated > 0 {
			t.Errorf("%s: mended %+v", c.name, n)
		}
		agree(t, f, readBytes(t, data))
		if got := sortedUUIDs(f.conversation(f.byUUID[v.Tip])); !slices.Equal(got, slices.Sorted(slices.Values(slices.Concat(v.Chain, v.Kept)))) {
			t.Errorf("%s: the second reader goes through %v, the vector says %v and %v", c.name, got, v.Chain, v.Kept)
		}
	}
	if compared < 20 {
		t.Errorf("only %d vectors compared", compared)
	}
}

func sortedUUIDs(lines []*line) []string {
	var out []string
	for _, e := range lines {
		out = append(out, e.UUID)
	}
	slices.Sort(out)
	return out
}

// before are two turns that the boundaries of the vectors come after.
func before(s *loggen.Story) *loggen.Story {
	return s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y")
}

type vectorCase struct {
	name, about string
	build       func(s *loggen.Story)
	bytes       func(data []byte) []byte // changes the file when it is not nil
	finer       bool                     // the rule is finer than that of the second reader
}

// swap replaces text once in the file.
func swap(old, new string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
}

// sideEntry is a reasoning-free entry of ours.
func sideEntry(s *loggen.Story, typ string, v any) { s.Add(s.Stamp("").Side(typ, v)) }

var synthetic = transcript.Own(map[string]bool{"synthetic": true})

func syntheticResult(s *loggen.Story, uuid, parent, call string) *loggen.Story {
	return s.Add(s.Stamp(uuid).User(parent, message.UserBlocks(message.ToolResult(call, true, message.Text("interrupted; may have run"))), synthetic))
}
