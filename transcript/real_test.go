package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/transcript"
)

// TestRealRoundTrip: T-4, T-10. Every record of a real log is read with its bytes
// as they are, in memory or lazily from disk.
func TestRealRoundTrip(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data := read(t, path)
			for _, opt := range []transcript.ReadOptions{{InMemory: 1 << 30}, {InMemory: -1}} {
				l, err := transcript.ReadFile(context.Background(), path, opt)
				if err != nil {
					t.Fatal(err)
				}
				damaged := map[int]bool{}
				for _, f := range l.Faults {
					if !f.Harmless() && f.Kind != transcript.FaultDuplicate {
						damaged[f.Line] = true
					}
				}
				at := 0
				for n, want := range lines(data) {
					if damaged[n+1] {
						continue
					}
					got, err := l.Entries[at].Raw()
					if err != nil {
						t.Fatal(err)
					}
					if l.Entries[at].Line != n+1 || !bytes.Equal(got, want) {
						t.Fatalf("line %d: read as line %d with other bytes", n+1, l.Entries[at].Line)
					}
					at++
				}
				if at != len(l.Entries) {
					t.Fatalf("%d entries from %d sound lines", len(l.Entries), at)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// sampled is every third of the recorded sessions, and all of them with VARVE_FULL: for
// tests that decode everything a second time.
func sampled(paths []string) []string {
	if os.Getenv("VARVE_FULL") != "" {
		return paths
	}
	var out []string
	for i := 0; i < len(paths); i += 3 {
		out = append(out, paths[i])
	}
	return out
}

// TestRealHead: the structural scan sees what encoding/json sees.
func TestRealHead(t *testing.T) {
	for _, path := range sampled(corpus(t)) {
		l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Entries {
			var want struct {
				Type, Subtype, UUID, ParentUUID, SessionID, Timestamp, AgentID, CWD string
				IsSidechain, IsMeta, IsCompactSummary                               bool
				Message                                                             json.RawMessage
			}
			if err := e.Decode(&want); err != nil {
				t.Fatal(err)
			}
			var msg struct {
				ID      string
				Content json.RawMessage
			}
			_ = json.Unmarshal(want.Message, &msg)
			if e.Type != want.Type || e.Subtype != want.Subtype || e.UUID != want.UUID || e.ParentUUID != want.ParentUUID ||
				e.SessionID != want.SessionID || e.Timestamp != want.Timestamp || e.AgentID != want.AgentID || e.CWD != want.CWD ||
				e.Sidechain != want.IsSidechain || e.Meta != want.IsMeta || e.CompactSummary != want.IsCompactSummary || e.MessageID != msg.ID {
				t.Fatalf("%s line %d: head differs: %+v", filepath.Base(path), e.Line, e.Head)
			}
			var blocks []struct {
				Type, ID  string
				ToolUseID string `json:"tool_use_id"`
			}
			_ = json.Unmarshal(msg.Content, &blocks)
			var calls, results []string
			for _, b := range blocks {
				switch b.Type {
				case "tool_use":
					calls = append(calls, b.ID)
				case "tool_result":
					results = append(results, b.ToolUseID)
				}
			}
			if !equal(calls, e.Calls) || !equal(results, e.Results) {
				t.Fatalf("%s line %d: calls %v results %v, want %v %v", filepath.Base(path), e.Line, e.Calls, e.Results, calls, results)
			}
		}
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestRealChain: T-8, T-11, S-7. Each log has a chain, and no tool result that the
// file holds is missing for a call on it.
func TestRealChain(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l, err := transcript.ReadFile(context.Background(), path, transcript.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tip := l.Tip()
			if tip == nil {
				t.Fatal("no tip")
			}
			have := map[string]bool{}
			for _, e := range l.Entries {
				for _, id := range e.Results {
					have[id] = true
				}
			}
			for _, c := range []*transcript.Chain{l.Chain(tip), l.History(tip)} {
				if len(c.Entries) == 0 {
					t.Fatal("empty chain")
				}
				answered := map[string]bool{}
				for _, e := range c.Entries {
					for _, id := range e.Results {
						answered[id] = true
					}
				}
				for _, e := range c.Entries {
					for _, id := range e.Calls {
						if have[id] && !answered[id] {
							t.Errorf("result of %s is in the file and not on the chain", id)
						}
					}
				}
			}
			c, h := l.Chain(tip), l.History(tip)
			t.Logf("%d entries, tip line %d, chain %d, history %d, recovered %d, gaps %d, boundary %v, faults %d",
				len(l.Entries), tip.Line, len(c.Entries), len(h.Entries), len(c.Recovered), len(h.Gaps), c.Boundary != nil, len(l.Faults))
		})
	}
}

// TestRealTail: G-9. Reading backwards finds the same chain as reading all.
func TestRealTail(t *testing.T) {
	for _, path := range corpus(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data := read(t, path)
			whole, err := transcript.Read(context.Background(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// The log once more behind itself's first part would change the tip; so
			// the tail is read of the log as it is, with a small first step.
			tail, err := transcript.ReadTail(context.Background(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{InMemory: -1})
			if err != nil {
				t.Fatal(err)
			}
			a, b := whole.Chain(whole.Tip()), tail.Chain(tail.Tip())
			if len(a.Entries) != len(b.Entries) {
				t.Fatalf("chain of %d entries, by tail %d", len(a.Entries), len(b.Entries))
			}
			for i := range a.Entries {
				if a.Entries[i].Offset != b.Entries[i].Offset {
					t.Fatalf("entry %d at %d, by tail at %d", i, a.Entries[i].Offset, b.Entries[i].Offset)
				}
			}
		})
	}
}
