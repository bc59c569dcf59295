package caps

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"varve.dev/message"
)

// The windows that are assumed where nothing is known (B-3).
const (
	DefaultWindow = 200_000 // a hosted model that the table does not know
	LocalWindow   = 4_096   // a local server that was not asked: what Ollama starts with
)

// Model is what one model can bear at one provider. Sizes are in tokens; a zero size is not known.
type Model struct {
	Provider string `json:"-"`
	Name     string `json:"name"`

	Window     int  `json:"window"`
	MaxOutput  int  `json:"maxOutput"`
	InputLimit int  `json:"inputLimit"` // of the prompt alone, where it is below the window; 0 = none
	Local      bool `json:"local"`      // a server on the user's machine
	MaxBody    int  `json:"maxBody"`    // bytes of a request; 0 = not known
	MaxImages  int  `json:"maxImages"`  // images and document pages in one request; 0 = not known

	// TokenFactor is how many tokens of this model one token of the o200k vocabulary is, on the average of code, prose and
	// tool output; 0 = not known. It is where package tokens starts to learn from.
	TokenFactor float64   `json:"tokenFactor"`
	Images      ImageRule `json:"images"`
	Price       Price     `json:"price"`
	Cache       Cache     `json:"cache"`
	// UsageIncludesCache: the input tokens that the provider reports include cached ones. Adapters subtract them.
	UsageIncludesCache bool `json:"usageIncludesCache"`

	// PrefixBound: reasoning is tied to unchanged earlier bytes. Changing what was sent costs the reasoning, or a 400.
	PrefixBound bool `json:"prefixBound"`
	// ServerClearing: old tool results can be cleared on the server (clear_tool_uses_20250919), which breaks nothing.
	ServerClearing bool       `json:"serverClearing"`
	Compaction     Compaction `json:"compaction"`
	// MidSystem: messages of the role system may stand inside the conversation.
	MidSystem bool `json:"midSystem"`
	// SilentTruncation: a prompt that is too long is cut without an error; the reported prompt size gives it away.
	SilentTruncation bool     `json:"silentTruncation"`
	Thinking         Thinking `json:"thinking"`
	Prefill          bool     `json:"prefill"`     // the conversation may end with an assistant message
	Sampling         bool     `json:"sampling"`    // temperature and the like may be set
	ForcedTools      bool     `json:"forcedTools"` // tool_choice may be "any" or a tool

	Source string `json:"source"` // key of [Sources]
	Note   string `json:"note"`   // what is assumed
}

// ImageRule says what an image costs. It has the fields of tokens.ImageRule, which explains them: one converts to the other.
type ImageRule struct {
	Kind    string `json:"kind"`
	MaxEdge int    `json:"maxEdge"`
	Size    int    `json:"size"`
	Base    int    `json:"base"`
	PerTile int    `json:"perTile"`
	Cap     int    `json:"cap"`
	Small   int    `json:"small"`
}

// Compaction says how the provider itself can summarize a conversation.
type Compaction struct {
	OnDemand  bool `json:"onDemand"`  // Anthropic: "compaction" in a request (compact-2026-09-04)
	Threshold bool `json:"threshold"` // Anthropic: the compact_20260112 edit
	Endpoint  bool `json:"endpoint"`  // OpenAI: /responses/compact and context_management
}

// Any reports whether there is any way.
func (c Compaction) Any() bool { return c.OnDemand || c.Threshold || c.Endpoint }

// Thinking says how the model reasons.
type Thinking struct {
	Modes []string `json:"modes"` // values of thinking.type, best first; "effort" for providers with levels only
	// Always: it cannot be switched off.
	Always bool `json:"always"`
	// Kept: the reasoning of earlier turns stays in the context and counts. Otherwise the server leaves it out.
	Kept          bool     `json:"kept"`
	Effort        []string `json:"effort"`
	DefaultEffort string   `json:"defaultEffort"`
}

// Cache says how the provider's prompt cache works. Zero values are not known.
type Cache struct {
	Explicit    bool `json:"explicit"`    // entries are written only where a request marks it
	Breakpoints int  `json:"breakpoints"` // marks in one request
	LookBack    int  `json:"lookBack"`    // content blocks before a mark, itself included, in which an earlier entry is found
	MinTokens   int  `json:"minTokens"`   // shorter prefixes are silently not cached
	TTL         int  `json:"ttl"`         // seconds that an entry lives after its last use
	LongTTL     int  `json:"longTTL"`     // seconds, for those written to live long; 0 = no such choice
}

// Lifetime returns how long an entry lives after its last use; the long lifetime where there is one and long is set. Where
// nothing is known it is five minutes, the shortest of any provider.
func (c Cache) Lifetime(long bool) time.Duration {
	switch {
	case long && c.LongTTL > 0:
		return time.Duration(c.LongTTL) * time.Second
	case c.TTL > 0:
		return time.Duration(c.TTL) * time.Second
	}
	return 5 * time.Minute
}

// Price is in US dollars for a million tokens. Where CacheRead is 0 although Input is not, cached input costs as much as
// other input, as far as is known; CacheWrite and CacheWriteLong alike.
type Price struct {
	Input          float64 `json:"input"`
	Output         float64 `json:"output"`
	CacheRead      float64 `json:"cacheRead"`
	CacheWrite     float64 `json:"cacheWrite"`
	CacheWriteLong float64 `json:"cacheWriteLong"`

	// Above LongFrom tokens of prompt (cached ones included) the whole request costs more; 0 = it does not.
	LongFrom      int     `json:"longFrom"`
	LongInput     float64 `json:"longInput"`
	LongOutput    float64 `json:"longOutput"`
	LongCacheRead float64 `json:"longCacheRead"`
}

// Known reports whether the price is known at all.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

// Cost returns what a reply cost, in dollars, by its usage: of all iterations where there are any, since the figures beside
// them leave the provider's own compaction out. 0 where the price is not known.
func (p Price) Cost(u message.Usage) float64 {
	if len(u.Iterations) == 0 {
		return p.call(message.Iteration{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CacheReadTokens: u.CacheReadTokens,
			CacheCreationTokens: u.CacheCreationTokens, Cache5m: u.Cache5m, Cache1h: u.Cache1h})
	}
	total := 0.0
	for _, it := range u.Iterations {
		total += p.call(it)
	}
	return total
}

func (p Price) call(it message.Iteration) float64 {
	or := func(v, fallback float64) float64 {
		if v > 0 {
			return v
		}
		return fallback
	}
	input, output, read := p.Input, p.Output, or(p.CacheRead, p.Input)
	write, writeLong := or(p.CacheWrite, input), or(p.CacheWriteLong, or(p.CacheWrite, input))
	if p.LongFrom > 0 && p.LongInput > 0 && it.InputTokens+it.CacheReadTokens+it.CacheCreationTokens > int64(p.LongFrom) {
		f := p.LongInput / p.Input
		input, output, read = p.LongInput, or(p.LongOutput, output), or(p.LongCacheRead, p.LongInput)
		write, writeLong = write*f, writeLong*f
	}
	long := min(it.Cache1h, it.CacheCreationTokens)
	return (float64(it.InputTokens)*input + float64(it.OutputTokens)*output + float64(it.CacheReadTokens)*read +
		float64(it.CacheCreationTokens-long)*write + float64(long)*writeLong) / 1e6
}

// Window returns a model of the embedder's own with a window of n tokens, of which nothing else is assumed: nothing is bound
// to a prefix, and the provider offers nothing.
func Window(n int) Model {
	return Model{Window: max(0, n), Sampling: true, ForcedTools: true, Source: "own"}
}

// Key returns "provider/name", or the name where there is no provider.
func (m Model) Key() string {
	if m.Provider == "" {
		return m.Name
	}
	return m.Provider + "/" + m.Name
}

// Hash names the capabilities for a frame: the same for the same capabilities, in every process and every version of Varve.
// Prices, sources and notes have no part in it, and neither has the name: a frame has that itself. A capability that a later
// version adds changes the hash only of models that have it.
func (m Model) Hash() string {
	var b strings.Builder
	put := func(name string, v any) {
		switch v {
		case 0, 0.0, false, "":
			return
		}
		fmt.Fprintf(&b, "%s=%v\n", name, v)
	}
	put("window", m.Window)
	put("maxOutput", m.MaxOutput)
	put("inputLimit", m.InputLimit)
	put("local", m.Local)
	put("maxBody", m.MaxBody)
	put("maxImages", m.MaxImages)
	put("images", strings.TrimSuffix(fmt.Sprintf("%s %d %d %d %d %d %d", m.Images.Kind, m.Images.MaxEdge, m.Images.Size, m.Images.Base, m.Images.PerTile, m.Images.Cap, m.Images.Small), " 0 0 0 0 0 0"))
	put("cache.explicit", m.Cache.Explicit)
	put("cache.breakpoints", m.Cache.Breakpoints)
	put("cache.lookBack", m.Cache.LookBack)
	put("cache.minTokens", m.Cache.MinTokens)
	put("cache.ttl", m.Cache.TTL)
	put("cache.longTTL", m.Cache.LongTTL)
	put("prefixBound", m.PrefixBound)
	put("serverClearing", m.ServerClearing)
	put("compaction.onDemand", m.Compaction.OnDemand)
	put("compaction.threshold", m.Compaction.Threshold)
	put("compaction.endpoint", m.Compaction.Endpoint)
	put("midSystem", m.MidSystem)
	put("silentTruncation", m.SilentTruncation)
	put("thinking.modes", strings.Join(m.Thinking.Modes, " "))
	put("thinking.always", m.Thinking.Always)
	put("thinking.kept", m.Thinking.Kept)
	put("thinking.effort", strings.Join(m.Thinking.Effort, " "))
	put("thinking.defaultEffort", m.Thinking.DefaultEffort)
	put("prefill", m.Prefill)
	put("sampling", m.Sampling)
	put("forcedTools", m.ForcedTools)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}
