package caps_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/caps"
	"varve.dev/message"
	"varve.dev/tokens"
)

// TestTable: every entry can be used, and says where it is from.
func TestTable(t *testing.T) {
	models := caps.Models()
	if len(models) < 60 {
		t.Fatalf("%d models", len(models))
	}
	if _, err := time.Parse(time.DateOnly, caps.Dated()); err != nil {
		t.Error(err)
	}
	sources := caps.Sources()
	for _, m := range models {
		switch {
		case m.Window < 4_000 || m.Window > 10_000_000, m.MaxOutput <= 0 || m.MaxOutput > m.Window, m.InputLimit < 0 || m.InputLimit > m.Window:
			t.Errorf("%s: window %d, output %d, input %d", m.Key(), m.Window, m.MaxOutput, m.InputLimit)
		case sources[m.Source] == "" || m.Source == "fallback":
			t.Errorf("%s: source %q is not explained", m.Key(), m.Source)
		case m.TokenFactor < 0.5 || m.TokenFactor > 2:
			t.Errorf("%s: token factor %v", m.Key(), m.TokenFactor)
		case m.Price.Known() && (m.Price.Input <= 0 || m.Price.Output < m.Price.Input || m.Price.CacheRead >= m.Price.Input):
			t.Errorf("%s: price %+v", m.Key(), m.Price)
		case m.Thinking.DefaultEffort != "" && !slices.Contains(m.Thinking.Effort, m.Thinking.DefaultEffort):
			t.Errorf("%s: effort %+v", m.Key(), m.Thinking)
		}
		if found, ok := caps.Lookup(m.Provider, m.Name); !ok || found.Hash() != m.Hash() {
			t.Errorf("%s is not found under its own name", m.Key())
		}
	}
}

// TestTableFields: no entry has a member that no field takes, which a slip of the pen would be.
func TestTableFields(t *testing.T) {
	data, err := os.ReadFile("models.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Families  map[string]json.RawMessage
		Providers []struct {
			Models []json.RawMessage
			Set    json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	check := func(raw json.RawMessage) {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		var m struct {
			Like string `json:"like"`
			caps.Model
		}
		if err := d.Decode(&m); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	n := 0
	for _, raw := range f.Families {
		check(raw)
	}
	for _, p := range f.Providers {
		for _, raw := range p.Models {
			check(raw)
			n++
		}
		if p.Set != nil {
			check(p.Set)
		}
	}
	if n < 50 {
		t.Errorf("%d entries", n)
	}
}

// TestFacts pins the facts that decide which rungs exist (C-0), as the providers document them.
func TestFacts(t *testing.T) {
	get := func(key string) caps.Model {
		t.Helper()
		m, ok := caps.Find(key)
		if !ok {
			t.Fatalf("%s is not in the table", key)
		}
		return m
	}
	var bound, mid, always, kept []string
	for _, m := range caps.Models() {
		if m.Provider != "anthropic" && m.Provider != "openai" {
			continue
		}
		name := strings.TrimPrefix(m.Name, "claude-")
		if m.PrefixBound {
			bound = append(bound, name)
		}
		if m.MidSystem {
			mid = append(mid, name)
		}
		if m.Thinking.Always {
			always = append(always, name)
		}
		if m.Provider == "anthropic" && !m.Thinking.Kept {
			kept = append(kept, name)
		}
	}
	for _, c := range []struct {
		what string
		got  []string
		want string
	}{
		{"prefix-bound", bound, "fable-5-1 fable-5-2 haiku-5-5 mythos-5-1 opus-5-5 sonnet-5-5 gpt-6.2-astra gpt-6.2-sol"},
		{"mid-conversation system", mid, "fable-5 fable-5-1 fable-5-2 haiku-5-5 mythos-5 mythos-5-1 opus-4-8 opus-5 opus-5-5 sonnet-5-5"},
		{"always thinking", always, "fable-5 fable-5-1 fable-5-2 mythos-5 mythos-5-1 opus-5-5"},
		{"earlier thinking left out", kept, "haiku-4-5 sonnet-4-5"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	for key, want := range map[string][3]int{
		"claude-opus-5-5": {1_000_000, 128_000, 0}, "claude-opus-4-5": {200_000, 64_000, 0}, "gpt-6.2-astra": {1_050_000, 128_000, 922_000},
		"gpt-5": {400_000, 128_000, 272_000}, "gemini-4-argon": {1_048_576, 65_536, 0}, "kimi-k3": {1_048_576, 131_072, 0},
		"copilot/claude-opus-5.5": {328_000, 128_000, 0}, "deepseek-v4-pro": {1_000_000, 384_000, 0},
	} {
		if m := get(key); [3]int{m.Window, m.MaxOutput, m.InputLimit} != want {
			t.Errorf("%s: %d, %d, %d, want %d", key, m.Window, m.MaxOutput, m.InputLimit, want)
		}
	}
	opus := get("claude-opus-5-5")
	if c := opus.Cache; !c.Explicit || c.Breakpoints != 4 || c.LookBack != 20 || c.Lifetime(false) != 5*time.Minute || c.Lifetime(true) != time.Hour {
		t.Errorf("cache: %+v", c)
	}
	if p := opus.Price; p.CacheRead != 0.2 || p.CacheWrite != 5 || p.CacheWriteLong != 8 {
		t.Errorf("price: %+v", p)
	}
	if m := get("claude-opus-4-6").Cache.MinTokens; m != 4096 {
		t.Errorf("cache minimum: %d", m)
	}
	if m := get("openai/gpt-6.2-sol"); !m.UsageIncludesCache || !m.Compaction.Endpoint || m.ServerClearing {
		t.Errorf("%+v", m)
	}
	if m := get("claude-opus-4-5"); m.Compaction.Any() || !m.ServerClearing || !m.Prefill || m.UsageIncludesCache {
		t.Errorf("%+v", m)
	}
	if (caps.Cache{}).Lifetime(true) != 5*time.Minute {
		t.Error("an unknown cache does not live five minutes")
	}
}

// TestImages: the image rule is the one of the model's generation, in the words of package tokens (G-7).
func TestImages(t *testing.T) {
	for key, want := range map[string]int{"claude-opus-4-6": 1568, "claude-opus-4-7": 4784, "claude-fable-5": 4784, "gemini-4-argon": 1120, "kimi-k3": tokens.FlatImage} {
		m, _ := caps.Find(key)
		if got := tokens.ImageRule(m.Images).Tokens(4000, 4000); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
	}
}

// TestCanonical: dated names, and names of other hosts, mean the same model.
func TestCanonical(t *testing.T) {
	for name, want := range map[string]string{
		"claude-opus-4-5-20251101": "claude-opus-4-5", "claude-opus-4-5@20251101": "claude-opus-4-5", "claude-sonnet-5-latest": "claude-sonnet-5",
		"us.anthropic.claude-opus-4-5-20251101-v1:0": "claude-opus-4-5", "anthropic.claude-opus-5-v1": "claude-opus-5", "claude-sonnet-4-6[1m]": "claude-sonnet-4-6",
		"gpt-5-2025-08-07": "gpt-5", " MiniMax-M3 ": "minimax-m3", "": "", "-latest": "-latest", "qwen3:8b": "qwen3:8b",
	} {
		if got := caps.Canonical(name); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", name, got, want)
		}
	}
	if m, ok := caps.Find("bedrock/us.anthropic.claude-opus-4-6-20260201-v1:0"); !ok || m.Provider != "bedrock" || m.Window != 1_000_000 || m.ServerClearing || m.MaxBody != 20_000_000 {
		t.Errorf("%v %+v", ok, m)
	}
	if m, ok := caps.Find("claude-opus-4-6"); !ok || m.Provider != "anthropic" {
		t.Errorf("a bare name is not its maker's: %+v", m)
	}
}

// TestResolve: unknown hosted models have 200,000 with a notice, local servers 4,096 unless they were asked (B-3); what the
// user set wins over what the server said, and that over the table.
func TestResolve(t *testing.T) {
	no := false
	c := caps.Catalogue{Overrides: map[string]caps.Override{
		"anthropic/claude-opus-5-5": {Window: 400_000, PrefixBound: &no},
		"kimi-k3":                   {Window: 300_000},
		"ollama/small":              {Window: 10},
		"mine":                      {Window: 64_000, MaxOutput: 8_000, TokenFactor: 7},
	}}
	for _, x := range []struct {
		name    string
		q       caps.Query
		window  int
		notices int
		bound   bool
		local   bool
	}{
		{"in the table", caps.Query{Model: "anthropic/claude-opus-5"}, 1_000_000, 0, false, false},
		{"bare", caps.Query{Model: "claude-opus-5-20260724"}, 1_000_000, 0, false, false},
		{"unknown hosted model (anthropics/claude-code#94481)", caps.Query{Model: "anthropic/claude-opus-9"}, 200_000, 1, true, false},
		{"unknown, maker known by its name", caps.Query{Model: "gpt-9-sol"}, 200_000, 1, true, false},
		{"unknown altogether", caps.Query{Model: "someone/some-model"}, 200_000, 1, false, false},
		{"nothing", caps.Query{}, 200_000, 1, false, false},
		{"local, not asked", caps.Query{Model: "ollama/qwen3:8b"}, 4_096, 1, false, true},
		{"local, asked", caps.Query{Model: "ollama/qwen3:8b", Probe: caps.Probe{Window: 32_768}}, 32_768, 0, false, true},
		{"local server that speaks a hosted protocol", caps.Query{Model: "openai-chat/kimi-k3x", Local: true}, 4_096, 1, false, true},
		{"any host, known model", caps.Query{Model: "openai-chat/deepseek-v4-pro"}, 1_000_000, 1, false, false},
		{"any host, unknown model", caps.Query{Model: "openai-chat/acme/one"}, 200_000, 1, false, false},
		{"the endpoint knows better", caps.Query{Model: "claude-opus-5", Probe: caps.Probe{Window: 2_000_000}}, 2_000_000, 0, false, false},
		{"overridden", caps.Query{Model: "claude-opus-5-5", Probe: caps.Probe{Window: 2_000_000}}, 400_000, 0, false, false},
		{"overridden by bare name", caps.Query{Model: "moonshot/kimi-k3"}, 300_000, 0, false, false},
		{"nonsense is ignored with a notice", caps.Query{Model: "ollama/small"}, 4_096, 2, false, true},
		{"unknown but set", caps.Query{Model: "mine"}, 64_000, 1, false, false},
	} {
		m, notices := c.Resolve(x.q)
		if m.Window != x.window || len(notices) != x.notices || m.PrefixBound != x.bound || m.Local != x.local || m.Local && !m.SilentTruncation {
			t.Errorf("%s: window %d, bound %v, local %v, notices %q", x.name, m.Window, m.PrefixBound, m.Local, notices)
		}
		for _, n := range notices {
			if !strings.HasSuffix(n, ".") || !strings.Contains(n, "models.") {
				t.Errorf("%s: the notice does not say what to do: %q", x.name, n)
			}
		}
	}
	if m, _ := c.Resolve(caps.Query{Model: "openai-chat/gpt-6.2-sol"}); m.Compaction.Any() || m.Price.Known() || m.Provider != "openai-chat" {
		t.Errorf("another host offers what the maker's server does: %+v", m)
	}
}

// TestWindow is the embedder's own model.
func TestWindow(t *testing.T) {
	m := caps.Window(128_000)
	if m.Window != 128_000 || m.PrefixBound || m.Compaction.Any() || m.ServerClearing {
		t.Errorf("%+v", m)
	}
	if got := (tokens.Budget{Window: m.Window, MaxOutput: m.MaxOutput, InputLimit: m.InputLimit}).Thresholds().Effective; got != 115_200 {
		t.Errorf("effective window %d", got)
	}
	if caps.Window(-1).Window != 0 {
		t.Error("negative window")
	}
}

// TestHash: frames name their capabilities by hash (T-13); the value must not change between versions for the same facts.
func TestHash(t *testing.T) {
	for name, c := range map[string]struct {
		m    caps.Model
		want string
	}{
		"own": {caps.Window(128_000), "ce5bea635a952e91"},
		"all": {caps.Model{Window: 1, MaxOutput: 2, InputLimit: 3, Local: true, MaxBody: 4, MaxImages: 5, Images: caps.ImageRule{Kind: "patch", Size: 28},
			Cache: caps.Cache{Explicit: true, TTL: 300}, PrefixBound: true, Thinking: caps.Thinking{Modes: []string{"adaptive"}}}, "168818b675f5a872"},
	} {
		if got := c.m.Hash(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	a, _ := caps.Find("claude-opus-5-5")
	b := a
	b.Price, b.Source, b.Note, b.Name, b.TokenFactor = caps.Price{}, "x", "y", "z", 2
	if a.Hash() != b.Hash() {
		t.Error("price, source, note, name or token factor change the hash")
	}
	b.PrefixBound = false
	if a.Hash() == b.Hash() {
		t.Error("a capability does not change the hash")
	}
}

// TestCopies: what a caller does with a model does not reach the table.
func TestCopies(t *testing.T) {
	a, _ := caps.Find("claude-opus-5-5")
	a.Thinking.Effort[0] = "changed"
	a.Thinking.Modes = append(a.Thinking.Modes, "more")
	b, _ := caps.Find("claude-opus-5-5")
	c, _ := caps.Find("claude-sonnet-5-5")
	if b.Thinking.Effort[0] != "low" || c.Thinking.Effort[0] != "low" || len(b.Thinking.Modes) != 1 {
		t.Errorf("%+v, %+v", b.Thinking, c.Thinking)
	}
	caps.Sources()["P"] = ""
	if caps.Sources()["P"] == "" {
		t.Error("sources are shared")
	}
}

func TestCost(t *testing.T) {
	opus, _ := caps.Find("claude-opus-5-5")
	haiku, _ := caps.Find("claude-haiku-5-5")
	for _, c := range []struct {
		name string
		p    caps.Price
		u    message.Usage
		want float64
	}{
		{"by kind", opus.Price, message.Usage{InputTokens: 1e6, OutputTokens: 1e6, CacheReadTokens: 1e6, CacheCreationTokens: 2e6, Cache5m: 1e6, Cache1h: 1e6}, 4 + 20 + 0.2 + 5 + 8},
		{"writes of unknown lifetime are short", opus.Price, message.Usage{CacheCreationTokens: 1e6}, 5},
		{"iterations, a compaction among them", opus.Price, message.Usage{OutputTokens: 5, Iterations: []message.Iteration{{Type: "message", InputTokens: 1e6}, {Type: "compaction", OutputTokens: 1e6}}}, 24},
		{"short prompt", haiku.Price, message.Usage{InputTokens: 100_000, OutputTokens: 1000}, 0.0105},
		{"long prompt", haiku.Price, message.Usage{InputTokens: 1, CacheReadTokens: 100_000, OutputTokens: 1000}, 0.5e-6 + 0.005 + 0.0025},
		{"cached price not known", caps.Price{Input: 2, Output: 10}, message.Usage{CacheReadTokens: 1e6}, 2},
		{"price not known", caps.Price{}, message.Usage{InputTokens: 1e6}, 0},
	} {
		if got := c.p.Cost(c.u); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestResolveAny: any name gives a usable model with a window, from the same query always the same.
func TestResolveAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`(anthropic|openai|ollama|openai-chat)/[a-z0-9.:/-]{0,20}`)).Draw(t, "name")
		q := caps.Query{Model: name, Local: rapid.Bool().Draw(t, "local"), Probe: caps.Probe{Window: rapid.IntRange(-5, 1_000_000).Draw(t, "probe")}}
		a, notices := caps.Catalogue{}.Resolve(q)
		b, _ := caps.Catalogue{}.Resolve(q)
		if a.Window <= 0 || a.Hash() != b.Hash() || len(notices) > 1 {
			t.Fatalf("%+v, %q", a, notices)
		}
	})
}

// FuzzCanonical: a name is canonical after one pass, whatever it is.
func FuzzCanonical(f *testing.F) {
	f.Add("us.anthropic.claude-opus-4-5-20251101-v1:0")
	f.Add("claude-x-latest-latest[1m]")
	f.Fuzz(func(t *testing.T, name string) {
		c := caps.Canonical(name)
		if again := caps.Canonical(c); again != c {
			t.Fatalf("%q → %q → %q", name, c, again)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		caps.Catalogue{}.Resolve(caps.Query{Model: "anthropic/claude-opus-5-5"})
	}
}
