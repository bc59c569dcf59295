package engine

import (
	"encoding/json"
	"strings"

	"varve.dev/message"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// Part is one kind of content in the window.
type Part struct {
	Kind   string `json:"kind"`   // one of the Kind constants
	Tokens int    `json:"tokens"` // of the next request
	Count  int    `json:"count"`  // blocks, definitions
}

// Kinds of parts, in the order in which [Engine.Context] lists them.
const (
	KindSystem       = "system"
	KindTools        = "tools"
	KindMCPTools     = "mcp tools"
	KindOptions      = "options"
	KindInstructions = "instruction files"
	KindMemory       = "memory"
	KindSummary      = "summary"
	KindUser         = "user text"
	KindAssistant    = "assistant text"
	KindReasoning    = "reasoning"
	KindCalls        = "tool calls"
	KindResults      = "tool results"
	KindImages       = "images"
	KindDocuments    = "documents"
	KindAttachments  = "attachments"
	KindOther        = "other"
)

var kindOrder = []string{KindSystem, KindTools, KindMCPTools, KindOptions, KindInstructions, KindMemory, KindSummary, KindUser,
	KindAssistant, KindReasoning, KindCalls, KindResults, KindImages, KindDocuments, KindAttachments, KindOther}

// Context is what fills the window (B-5).
type Context struct {
	Parts   []Part            `json:"parts"` // without those that are empty; their tokens add up to Total
	Total   int               `json:"total"`
	Free    int               `json:"free"`    // until the effective window is full
	Reserve int               `json:"reserve"` // kept for the reply
	Reading tokens.Reading    `json:"-"`
	Budget  tokens.Thresholds `json:"-"`
}

// Context returns what fills the window, by kind. The sum is what the meter says;
// its division among the kinds is by estimate.
func (e *Engine) Context() Context {
	e.mu.Lock()
	defer e.mu.Unlock()
	est, count := make(map[string]int), make(map[string]int)
	put := func(kind string, tokens, n int) {
		est[kind] += tokens
		count[kind] += n
	}
	e.fixedParts(put)
	for _, m := range e.view.Messages {
		for _, b := range m.Blocks {
			put(e.kindOf(m.Role, b.Block, b.Entry), e.cfg.Estimator.Block(b.Block), 1)
		}
	}
	sum := 0
	for _, n := range est {
		sum += n
	}
	r := e.meter.Reading()
	c := Context{Total: r.Total, Reading: r, Budget: e.budget, Reserve: e.budget.Reserve, Free: max(0, e.budget.Effective-r.Total)}
	scale, rest := 1.0, r.Total
	if sum > 0 {
		scale = float64(r.Total) / float64(sum)
	}
	largest := -1
	for _, k := range kindOrder {
		if count[k] == 0 {
			continue
		}
		n := int(float64(est[k]) * scale)
		rest -= n
		c.Parts = append(c.Parts, Part{Kind: k, Tokens: n, Count: count[k]})
		if i := len(c.Parts) - 1; largest < 0 || n > c.Parts[largest].Tokens {
			largest = i
		}
	}
	if largest >= 0 {
		c.Parts[largest].Tokens += rest // what rounding left
	}
	return c
}

func (e *Engine) fixedParts(put func(kind string, tokens, n int)) {
	f := e.frame
	if f.ID == "" {
		f = Frame{System: e.cfg.System, Tools: e.cfg.Tools, Options: e.cfg.Options}
	}
	if len(f.System) > 0 {
		put(KindSystem, tokens.Bytes(f.System), 1)
	}
	if len(f.Options) > 0 {
		put(KindOptions, tokens.Bytes(f.Options), 1)
	}
	var tools []json.RawMessage
	if json.Unmarshal(f.Tools, &tools) != nil && len(f.Tools) > 0 {
		put(KindTools, tokens.Bytes(f.Tools), 1)
	}
	for _, t := range tools {
		var def struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(t, &def) // a definition without a name is a tool all the same
		kind := KindTools
		if strings.HasPrefix(def.Name, "mcp__") {
			kind = KindMCPTools
		}
		put(kind, tokens.Bytes(t), 1)
	}
}

// kindOf says what a block is to people.
func (e *Engine) kindOf(role message.Role, b message.Block, entry string) string {
	switch {
	case b.Type == message.TypeToolUse || b.IsServerCall():
		return KindCalls
	case b.Type == message.TypeToolResult || b.IsServerResult():
		return KindResults
	case b.IsThinking():
		return KindReasoning
	case b.Type == message.TypeImage:
		return KindImages
	case b.Type == message.TypeDocument:
		return KindDocuments
	case b.Type != message.TypeText:
		return KindOther
	case role == message.RoleAssistant:
		return KindAssistant
	}
	x := e.log.ByUUID(entry)
	switch {
	case x == nil:
		return KindOther
	case x.CompactSummary:
		return KindSummary
	case x.Type == transcript.TypeAttachment:
		return attachmentKind(x)
	}
	return KindUser
}

// attachmentKind tells instruction files and memory from other attachments.
func attachmentKind(x *transcript.Entry) string {
	raw, _ := x.Field("attachment")
	var a struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &a) // another shape is an attachment like any other
	switch a.Type {
	case "nested_memory", "instructions":
		return KindInstructions
	case "memory", "relevant_memories":
		return KindMemory
	}
	return KindAttachments
}
