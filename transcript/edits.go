package transcript

import (
	"encoding/json"
	"fmt"
)

// This file decodes the entries that change what the model sees and the facts
// about what was sent. Their shapes are those of the reference where it has one;
// what is ours stands under the member varve or in varve-* side entries.

// Boundary is the content of a system/compact_boundary entry.
type Boundary struct {
	Trigger           string // auto or manual
	PreTokens         int64  // tokens before
	PostTokens        int64  // tokens after; 0 where not recorded
	PreservedMessages *PreservedMessages
	PreservedSegment  *PreservedSegment
	Own               BoundaryOwn // zero when another tool wrote the boundary
}

// PreservedMessages lists older entries that stay in view after a boundary.
type PreservedMessages struct {
	AnchorUUID string   `json:"anchorUuid"`
	UUIDs      []string `json:"uuids"`
}

// PreservedSegment is the reference's older form of the same: everything from
// head to tail along the parent links.
type PreservedSegment struct {
	HeadUUID   string `json:"headUuid"`
	AnchorUUID string `json:"anchorUuid"`
	TailUUID   string `json:"tailUuid"`
}

// BoundaryOwn is what Varve adds to a boundary.
type BoundaryOwn struct {
	Rung        string           `json:"rung,omitempty"`
	Cause       string           `json:"cause,omitempty"`
	CoversLeaf  string           `json:"coversLeaf,omitempty"`
	CoversHash  string           `json:"coversHash,omitempty"`
	Thinking    string           `json:"thinking,omitempty"` // keep or strip
	Loss        json.RawMessage  `json:"loss,omitempty"`
	Frame       string           `json:"frame,omitempty"`
	KeptOffsets map[string]int64 `json:"keptOffsets,omitempty"` // uuid → byte offset of its line
}

// Boundary decodes a compaction boundary.
func (e *Entry) Boundary() (Boundary, error) {
	if !e.IsBoundary() {
		return Boundary{}, fmt.Errorf("transcript: entry %s is no compaction boundary", e.ref())
	}
	var raw struct {
		Meta struct {
			Trigger           string             `json:"trigger"`
			PreTokens         json.Number        `json:"preTokens"`
			PostTokens        json.Number        `json:"postTokens"`
			PreservedMessages *PreservedMessages `json:"preservedMessages"`
			PreservedSegment  *PreservedSegment  `json:"preservedSegment"`
		} `json:"compactMetadata"`
		Own BoundaryOwn `json:"varve"`
	}
	if err := e.Decode(&raw); err != nil {
		return Boundary{}, err
	}
	m := raw.Meta
	return Boundary{Trigger: m.Trigger, PreTokens: whole(m.PreTokens), PostTokens: whole(m.PostTokens),
		PreservedMessages: m.PreservedMessages, PreservedSegment: m.PreservedSegment, Own: raw.Own}, nil
}

func whole(n json.Number) int64 {
	if i, err := n.Int64(); err == nil {
		return i
	}
	f, _ := n.Float64()
	return int64(f)
}

// Microcompact is the content of a system/microcompact_boundary entry: results of
// these calls are shown as a placeholder from here on.
type Microcompact struct {
	Trigger            string
	PreTokens          int64
	TokensSaved        int64
	ToolIDs            []string
	ClearedAttachments []string
	Placeholder        string // ours; "" means the reference's
	Thinking           string // ours: keep or strip
}

// Microcompact decodes a micro-compaction boundary.
func (e *Entry) Microcompact() (Microcompact, error) {
	var raw struct {
		Meta struct {
			Trigger     string      `json:"trigger"`
			PreTokens   json.Number `json:"preTokens"`
			TokensSaved json.Number `json:"tokensSaved"`
			IDs         []string    `json:"compactedToolIds"`
			Cleared     []string    `json:"clearedAttachmentUUIDs"`
		} `json:"microcompactMetadata"`
		Own struct {
			Placeholder string `json:"placeholder"`
			Thinking    string `json:"thinking"`
		} `json:"varve"`
	}
	if err := e.Decode(&raw); err != nil {
		return Microcompact{}, err
	}
	return Microcompact{Trigger: raw.Meta.Trigger, PreTokens: whole(raw.Meta.PreTokens), TokensSaved: whole(raw.Meta.TokensSaved),
		ToolIDs: raw.Meta.IDs, ClearedAttachments: raw.Meta.Cleared, Placeholder: raw.Own.Placeholder, Thinking: raw.Own.Thinking}, nil
}

// Replacement says what the model saw in place of a stored tool result.
type Replacement struct {
	Kind        string `json:"kind"` // tool-result
	ToolUseID   string `json:"toolUseId"`
	Replacement string `json:"replacement"`
}

// Replacements decodes a content-replacement side entry. Over a log they are a
// union in which the first for a tool-use id wins (T-12).
func (e *Entry) Replacements() ([]Replacement, error) {
	var raw struct {
		Replacements []Replacement `json:"replacements"`
	}
	err := e.Decode(&raw)
	return raw.Replacements, err
}

// Frame is the content of a system/varve_frame entry: it names the write-once
// bytes of system text, tools and options that requests from here on use.
type Frame struct {
	Frame        string          `json:"frame"` // sha256 in hex
	Provider     string          `json:"provider"`
	Model        string          `json:"model"`
	CapsHash     string          `json:"capsHash"`
	Render       string          `json:"render"`
	Edits        json.RawMessage `json:"edits,omitempty"`
	BlockBinding string          `json:"blockBinding,omitempty"`
}

// Frame decodes a frame entry.
func (e *Entry) Frame() (Frame, error) { return own[Frame](e, SubFrame) }

// Strip is the content of a system/varve_strip entry: thinking up to and with the
// entry UpTo is left out.
type Strip struct {
	UpTo   string `json:"upTo"`
	Reason string `json:"reason"` // mismatch, foreign, render, undo
}

// Strip decodes a strip entry.
func (e *Entry) Strip() (Strip, error) { return own[Strip](e, SubStrip) }

// Repair is the content of a system/varve_repair entry: what is left out of the
// view because it could not be sent.
type Repair struct {
	Drop []string `json:"drop"`
}

// Repair decodes a repair entry.
func (e *Entry) Repair() (Repair, error) { return own[Repair](e, SubRepair) }

// ofBoundary is what Varve adds to an attachment that came with a compaction.
type ofBoundary struct {
	Boundary string `json:"boundary"`
}

// OfBoundary marks an attachment as part of a compaction: it leaves the view with the
// boundary when that is taken back.
func OfBoundary(uuid string) Extra { return Own(ofBoundary{uuid}) }

// OfBoundary returns the boundary that an attachment came with; "" for others.
func (e *Entry) OfBoundary() string {
	var o ofBoundary
	if raw := e.Own(); raw == nil || json.Unmarshal(raw, &o) != nil {
		return ""
	}
	return o.Boundary
}

// Undo is the content of a system/varve_undo entry: the boundary it names no
// longer holds.
type Undo struct {
	BoundaryUUID string `json:"boundaryUuid"`
}

// Undo decodes an undo entry.
func (e *Entry) Undo() (Undo, error) { return own[Undo](e, SubUndo) }

func own[T any](e *Entry, sub string) (T, error) {
	var v T
	if e.Type != TypeSystem || e.Subtype != sub {
		return v, fmt.Errorf("transcript: entry %s is no %s", e.ref(), sub)
	}
	raw := e.Own()
	if raw == nil {
		return v, fmt.Errorf("transcript: entry %s: %s without its member varve", e.ref(), sub)
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("transcript: entry %s: %w", e.ref(), err)
	}
	return v, nil
}

// Receipt is a varve-receipt side entry: what one request sent and what came of it.
type Receipt struct {
	RequestID            string          `json:"requestId"`
	MessageID            string          `json:"messageId"`
	LeafUUID             string          `json:"leafUuid"`
	Frame                string          `json:"frame"`
	PrefixHash           string          `json:"prefixHash"`
	Blocks               int             `json:"blocks"`
	Usage                json.RawMessage `json:"usage,omitempty"`
	StopReason           string          `json:"stopReason,omitempty"`
	ExpectedCached       int64           `json:"expectedCached,omitempty"`
	AppliedEdits         json.RawMessage `json:"appliedEdits,omitempty"`
	InputTransformations json.RawMessage `json:"inputTransformations,omitempty"`
}

// Receipt decodes a receipt.
func (e *Entry) Receipt() (Receipt, error) {
	var r Receipt
	if e.Type != TypeReceipt {
		return r, fmt.Errorf("transcript: entry %s is no receipt", e.ref())
	}
	return r, e.Decode(&r)
}

// Covers is a varve-covers side entry: how far a background job (notes,
// extraction, collapse) has read.
type Covers struct {
	Kind     string `json:"kind"`
	UptoUUID string `json:"uptoUuid"`
	Hash     string `json:"hash"`
}

// Covers decodes a cursor.
func (e *Entry) Covers() (Covers, error) {
	var c Covers
	if e.Type != TypeCovers {
		return c, fmt.Errorf("transcript: entry %s is no cursor", e.ref())
	}
	return c, e.Decode(&c)
}

// Rendered returns the text blocks that the model saw for an attachment entry,
// and as what: user (default), system or tool_addition. It is empty for
// attachments of versions that did not record it. They are decoded once and kept.
func (e *Entry) Rendered() (texts []string, as string, err error) {
	if e.shown == nil {
		raw, err := e.Raw()
		if err != nil {
			return nil, "", err
		}
		if err := e.render(raw); err != nil {
			return nil, "", fmt.Errorf("transcript: entry %s: %w", e.ref(), err)
		}
	}
	return e.shown.texts, e.shown.as, nil
}

// rendered is what the model saw of an attachment.
type rendered struct {
	texts []string
	as    string
}

// render keeps what the model saw of the attachment whose bytes are raw, which may
// change afterwards.
func (e *Entry) render(raw []byte) error {
	var blocks []struct {
		Content string `json:"content"`
	}
	var own struct {
		As string `json:"as"`
	}
	if v, ok := field(raw, "rendered"); ok {
		if err := json.Unmarshal(v, &blocks); err != nil {
			return err
		}
	}
	if !e.own.empty() {
		if err := json.Unmarshal(raw[e.own.from:e.own.to], &own); err != nil {
			return err
		}
	}
	r := &rendered{as: "user"}
	for _, b := range blocks {
		r.texts = append(r.texts, b.Content)
	}
	if own.As != "" {
		r.as = own.As
	}
	e.shown = r
	return nil
}
