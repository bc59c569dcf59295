package foreign_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"varve.dev/internal/recall"
	"varve.dev/message"
	"varve.dev/transcript"
)

// G-3, G-14: of every recorded session of other agents, every message of the user's
// side, every call and every result that the independent reader lists is found by
// Recall: messages by their own words, the others by the id of the call, whole. A
// sample without VARVE_FULL.
func TestRecallRecorded(t *testing.T) {
	data := recorded(t)
	var names []string
	for name := range data {
		names = append(names, name)
	}
	sort.Strings(names)
	found := map[string]int{}
	for i, name := range names {
		if os.Getenv("VARVE_FULL") == "" && i%9 != 4 {
			continue
		}
		agent := filepath.Base(filepath.Dir(name))
		l := read(t, data[name], name).Log()
		for _, line := range independent(t, agent, data[name]) {
			f := strings.SplitN(line, " ", 4)
			if f[0] == "user" {
				f = strings.SplitN(line, " ", 2)
			}
			if ok := recalls(t, l, f); !ok {
				t.Errorf("%s: not found: %.200q", filepath.Base(name), line)
			}
			found[agent+" "+f[0]]++
		}
	}
	t.Log(found)
	for _, want := range []string{"codex user", "codex call", "codex result", "pi user"} {
		if found[want] == 0 {
			t.Errorf("nothing of %s was looked for", want)
		}
	}
}

// recalls reports whether what a line lists is found.
func recalls(t *testing.T, l *transcript.Log, f []string) bool {
	t.Helper()
	ctx := context.Background()
	switch f[0] {
	case "user":
		var text string
		if err := json.Unmarshal([]byte(f[1]), &text); err != nil {
			t.Fatal(err)
		}
		if !strings.ContainsFunc(text, func(r rune) bool {
			return r > ' ' && (r >= 0x80 || 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9')
		}) {
			return true // no word to look for
		}
		res, err := recall.Search(ctx, l, text, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(res.Hits, func(h recall.Hit) bool {
			m, err := l.ByUUID(h.Entry).Message()
			return err == nil && slices.ContainsFunc(m.Content, func(b message.Block) bool { return strings.TrimSpace(b.Text) == strings.TrimSpace(text) })
		})
	case "call", "result":
		res, err := recall.Call(ctx, l, message.CanonicalID(f[1]))
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(res.Hits, func(h recall.Hit) bool {
			if f[0] == "call" {
				return h.Kind == recall.KindCall && strings.HasPrefix(h.Text, f[2]+" ")
			}
			var text string
			return h.Kind == recall.KindResult && json.Unmarshal([]byte(f[3]), &text) == nil && strings.ReplaceAll(h.Text, "\n", "") == strings.ReplaceAll(text, "\n", "")
		})
	}
	return true // said, usage, notice: other tests compare them
}
