package transcript

import "fmt"

// FaultKind says what is wrong with a place in a log. The names are stable: they
// are printed by `varve sessions check --json`.
type FaultKind string

// Kinds of faults. The first group is about the bytes of a line, the second about
// how entries link to each other, the third is worth a note but harms nothing.
const (
	FaultTorn          FaultKind = "torn"           // a record ends inside a value
	FaultInvalid       FaultKind = "invalid-json"   // a record is not JSON
	FaultGlued         FaultKind = "glued"          // several records on one line
	FaultSplit         FaultKind = "split"          // a record of another writer cut this one in two
	FaultNUL           FaultKind = "nul-bytes"      // zero bytes around or instead of a record
	FaultNotObject     FaultKind = "not-object"     // JSON, but not an object
	FaultNoType        FaultKind = "no-type"        // an object without a type
	FaultMessage       FaultKind = "bad-message"    // user or assistant without a usable message
	FaultBoundary      FaultKind = "bad-boundary"   // compaction boundary whose metadata cannot be read
	FaultUTF8          FaultKind = "invalid-utf8"   // bytes that are not UTF-8
	FaultSurrogate     FaultKind = "lone-surrogate" // \ud800–\udfff without its other half
	FaultTooLong       FaultKind = "too-long"       // a line over 2 GiB
	FaultDuplicate     FaultKind = "duplicate-uuid" // the first entry with the uuid counts
	FaultCycle         FaultKind = "cycle"          // an entry is its own ancestor
	FaultMissingParent FaultKind = "missing-parent" // the parent is not in the file

	FaultBOM       FaultKind = "bom"            // byte order mark at the start
	FaultCRLF      FaultKind = "crlf"           // lines end with CR LF
	FaultNoNewline FaultKind = "no-newline"     // the last line is whole but not ended
	FaultBlank     FaultKind = "blank-line"     // an empty line
	FaultInert     FaultKind = "inert-boundary" // a boundary without its summary; it changes nothing
)

// Fault is one thing that is wrong with a log, and where.
type Fault struct {
	Line   int       `json:"line"`   // 1-based; 0 when unknown (tail reads)
	Offset int64     `json:"offset"` // byte position in the file
	Kind   FaultKind `json:"kind"`
	Detail string    `json:"detail"`

	// What could be read of a damaged record before it broke off; used to bridge
	// the gap it leaves in the chain.
	uuid, parent string
	hasParent    bool
}

// Harmless reports whether the fault is only worth a note: nothing was lost and
// nothing needed mending.
func (f Fault) Harmless() bool {
	switch f.Kind {
	case FaultBOM, FaultCRLF, FaultNoNewline, FaultBlank, FaultInert:
		return true
	}
	return false
}

// String gives the fault in one line for people.
func (f Fault) String() string {
	if f.Line > 0 {
		return fmt.Sprintf("line %d: %s: %s", f.Line, f.Kind, f.Detail)
	}
	return fmt.Sprintf("byte %d: %s: %s", f.Offset, f.Kind, f.Detail)
}
