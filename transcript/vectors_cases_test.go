package transcript_test

import (
	"bytes"
	"encoding/json"
	"strings"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
)

// vectorCases make the files of testdata/vectors.
var vectorCases = []vectorCase{
	// The chain.
	{name: "chain-plain", about: "two turns, one entry after the other",
		build: func(s *loggen.Story) { before(s) }},
	{name: "chain-side-entries", about: "side entries, known and unknown, are no part of the chain",
		build: func(s *loggen.Story) {
			s.Raw(`{"type":"summary","summary":"a title","leafUuid":"a1"}`).User("u1", "", "hi").Pointer("u1", false).
				Raw(`{"type":"of-tomorrow","sessionId":"s1","n":1.50}`).Say("a1", "u1", "m1", "x").Add(s.Stamp("").Meta(transcript.TypeCustomTitle, "mine")).
				Raw(`{"type":"queue-operation","operation":"enqueue","timestamp":"2026-03-01T09:00:00.000Z","sessionId":"s1","content":"later"}`)
		}},
	{name: "chain-attachments", about: "attachments and system entries of any subtype are part of the chain",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Attach("t1", "u1", `{"type":"file","filename":"a.go"}`, "<system-reminder>a.go</system-reminder>").Say("a1", "t1", "m1", "x").
				Add(s.Stamp("y1").System("a1", "turn_duration", "", "", transcript.Extra{Key: "durationMs", Value: json.RawMessage("12")})).User("u2", "y1", "on")
		}},
	{name: "chain-progress", about: "progress entries stand between parents and children up to 2.1.42; they are bridged",
		build: func(s *loggen.Story) {
			s.Progress("p0", "").User("u1", "p0", "hi").Progress("p1", "u1").Progress("p2", "p1").Say("a1", "p2", "m1", "x").Progress("p3", "a1")
		}},
	{name: "chain-sidechain", about: "sidechain entries inside a main log (1.0.x) are no part of it",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x")
			st := s.Stamp("side1")
			st.Sidechain = true
			s.Add(st.User("", message.User("a task for a sub-agent"))).User("u2", "r1", "on")
		}},
	{name: "chain-sub-agent", about: "in a sub-agent's file every entry is a sidechain entry",
		build: func(s *loggen.Story) {
			s.Sidechain().User("u1", "", "a task").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "done")
		}},

	// Split replies and parallel calls.
	{name: "parts-parallel-before-2.1.91", about: "all parts first, each result hangs on the part with its call: the walk from the last result misses the first",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "two calls").Call("a2", "a1", "m1", "x").Call("a3", "a2", "m1", "y").
				Result("r1", "a2", "x").Result("r2", "a3", "y").Say("a4", "r2", "m2", "done")
		}},
	{name: "parts-parallel-last-first", about: "the same, and the first call's result came last: the walk misses a part too",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "two calls").Call("a2", "a1", "m1", "x").Call("a3", "a2", "m1", "y").
				Result("r2", "a3", "y").Result("r1", "a2", "x").Say("a4", "r1", "m2", "done")
		}},
	{name: "parts-parallel-since-2.1.91", about: "results stand between the parts of one reply",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Think("a1", "u1", "m1", "two calls then", "c2ln").Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").
				Call("a3", "r1", "m1", "y").Result("r2", "a3", "y").Say("a4", "r2", "m2", "done")
		}},
	{name: "parts-children-first", about: "a result stands in the file before the part that made the call (2.1.101 to 2.1.170)",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Result("r1", "a1", "x").Call("a1", "u1", "m1", "x").Say("a2", "r1", "m2", "ok")
		}},
	{name: "parts-interrupted", about: "two calls, one answered, then the end: both calls and the one result",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Call("a2", "a1", "m1", "y").Result("r1", "a1", "x")
		}},
	{name: "parts-rewound", finer: true, about: "a rewind to a part does not bring back the rest of its reply",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "text").Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").User("u2", "a1", "other")
		}},

	// The tip.
	{name: "tip-rewind-child", about: "a rewind is a second child of an older entry; the last appended leaf counts",
		build: func(s *loggen.Story) {
			before(s).User("u3", "a1", "right").Say("a3", "u3", "m3", "z")
		}},
	{name: "tip-pointer-last", about: "a pointer behind the last chain entry decides",
		build: func(s *loggen.Story) { before(s).Pointer("a1", true) }},
	{name: "tip-pointer-plain-last", about: "and so does one that is no rewind",
		build: func(s *loggen.Story) { before(s).Pointer("a1", false) }},
	{name: "tip-pointer-passed", about: "a pointer before a newer chain entry does not",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Pointer("u1", false).User("u2", "a1", "on").Say("a2", "u2", "m2", "y")
		}},
	{name: "tip-pointer-dangling", about: "a pointer to nothing is passed over",
		build: func(s *loggen.Story) { before(s).Pointer("gone", true) }},
	{name: "tip-hooks-only", about: "a run that ended before its first prompt leaves a root of hook output; it is no tip",
		build: func(s *loggen.Story) { before(s).Attach("h1", "", `{"type":"hook_success"}`) }},
	{name: "tip-early-child", about: "the last entry of the file has a child before it: the child is the tip",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Result("r1", "a1", "x").Call("a1", "u1", "m1", "x")
		}},

	// Links that lead nowhere.
	{name: "link-missing", about: "a missing parent is bridged to the entry appended before on the branch",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a3", "lost", "m2", "y")
		}},
	{name: "link-missing-root", about: "with nothing before it the entry is a root",
		build: func(s *loggen.Story) { s.User("u1", "lost", "hi").Say("a1", "u1", "m1", "x") }},
	{name: "link-missing-behind-rewind", about: "the bridge never crosses a rewind that a pointer shows",
		build: func(s *loggen.Story) { before(s).Pointer("a1", true).Say("a9", "lost", "m3", "z") }},
	{name: "link-missing-on-branch", about: "the bridge stays on the new branch",
		build: func(s *loggen.Story) { before(s).User("u3", "a1", "new").Say("a9", "lost", "m3", "z") }},
	{name: "link-cut-record", about: "a cut record still tells its parent, which the entry after it is bridged to",
		build: func(s *loggen.Story) {
			before(s).Raw(`{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"us`).Say("a9", "u3", "m3", "z")
		}},
	{name: "link-cut-parent", about: "a record cut inside the name of its parent tells nothing",
		build: func(s *loggen.Story) { before(s).Raw(`{"parentUuid":"a`).Say("a9", "u3", "m3", "z") }},
	{name: "link-self", about: "an entry that names itself is bridged",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "u2", "self").Say("a2", "u2", "m2", "y")
		}},
	{name: "link-cycle", about: "two entries that name each other: the walk ends at the second meeting",
		build: func(s *loggen.Story) { s.User("b", "a", "one").User("a", "b", "two").Pointer("a", true) }},
	{name: "link-duplicate", about: "of two entries with one uuid the first counts",
		build: func(s *loggen.Story) { s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u1", "a1", "again") }},

	// Boundaries.
	{name: "boundary", about: "a boundary with its summary starts the chain; history goes on through it",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", transcript.Boundary{}).Summary("s", "b").User("u3", "s", "on").Say("a3", "u3", "m3", "z")
		}},
	{name: "boundary-1.0", about: "clients 1.0.x wrote a summary without a boundary; it is a root",
		build: func(s *loggen.Story) { before(s).Summary("s", "").User("u3", "s", "on") }},
	{name: "boundary-two", about: "of two boundaries the newer counts",
		build: func(s *loggen.Story) {
			before(s).Boundary("b1", "a2", transcript.Boundary{}).Summary("s1", "b1").User("u3", "s1", "on").Boundary("b2", "u3", transcript.Boundary{}).Summary("s2", "b2").User("u4", "s2", "go")
		}},
	{name: "boundary-logical-missing", about: "the logical parent of a boundary is a hint: where it is missing history goes on at the entry before",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "only-in-memory", transcript.Boundary{}).Summary("s", "b").User("u3", "s", "on")
		}},
	{name: "boundary-inert", about: "a boundary without a summary changes nothing",
		build: func(s *loggen.Story) { before(s).Boundary("b", "a2", transcript.Boundary{}) }},
	{name: "boundary-summary-lost", about: "the same where entries follow: the earlier turns stay",
		build: func(s *loggen.Story) { before(s).Boundary("b", "a2", transcript.Boundary{}).User("u3", "s", "on") }},
	{name: "boundary-lost", about: "a summary whose boundary is lost stands for it",
		build: func(s *loggen.Story) { before(s).Summary("s", "b").User("u3", "s", "on") }},
	{name: "boundary-undone", about: "an undo behind a boundary brings the earlier turns back; the later ones stay",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", transcript.Boundary{}).Summary("s", "b").User("u3", "s", "on").Undo("x", "u3", "b")
		}},
	{name: "boundary-undone-elsewhere", about: "an undo on another branch says nothing",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", transcript.Boundary{}).Summary("s", "b").User("u3", "s", "on").Undo("x", "u3", "b").User("u4", "s", "other")
		}},
	{name: "boundary-kept", about: "kept messages stand behind the summary, their anchor",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", loggen.Keep("s", "u2", "a2")).Summary("s", "b").User("u3", "s", "on")
		}},
	{name: "boundary-from", about: "kept messages stand before the summary: the boundary is their anchor",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", loggen.Keep("b", "u1", "a1")).Summary("s", "b").User("u3", "s", "on")
		}},
	{name: "boundary-kept-segment", about: "the older form of kept messages: from tail to head along the parents",
		build: func(s *loggen.Story) {
			before(s).Raw(`{"parentUuid":null,"logicalParentUuid":"a2","isSidechain":false,"sessionId":"s1","type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{"trigger":"auto","preTokens":155377,"preservedSegment":{"headUuid":"u2","anchorUuid":"s","tailUuid":"a2"}}}`).
				Summary("s", "b")
		}},
	{name: "boundary-kept-missing", about: "a kept message that is not in the file is said; the others are kept",
		build: func(s *loggen.Story) {
			before(s).Boundary("b", "a2", loggen.Keep("s", "gone", "u2", "a2")).Summary("s", "b")
		}},

	// Edits that take nothing off the chain.
	{name: "edit-replacements", about: "replacements are a union, the first for a call counts",
		build: func(s *loggen.Story) {
			r := func(id, text string) transcript.Replacement {
				return transcript.Replacement{Kind: "tool-result", ToolUseID: id, Replacement: text}
			}
			s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Add(s.Stamp("").Replacements(r("x", "first"))).
				Call("a2", "r1", "m2", "y").Result("r2", "a2", "y").Add(s.Stamp("").Replacements(r("x", "second"), r("y", "other \u2028 <text>")))
		}},
	{name: "edit-microcompact", about: "results that are shown as a placeholder from here on; the chain is as before",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "y").
				Add(s.Stamp("mc").MicrocompactBoundary("a2", transcript.Microcompact{Trigger: "auto", PreTokens: 9000, TokensSaved: 4000, ToolIDs: []string{"x"}})).User("u2", "mc", "on")
		}},
	{name: "own-entries", about: "what is ours: frame, receipt, synthetic result, repair, strip, partial reply, cursor, attachment for another role",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Own("f1", "u1", transcript.SubFrame, transcript.Frame{Frame: strings.Repeat("0f", 32), Provider: "anthropic", Model: "model-1", CapsHash: "c0", Render: "1"}).
				Call("a1", "f1", "m1", "x")
			sideEntry(s, transcript.TypeReceipt, transcript.Receipt{RequestID: "req_1", MessageID: "m1", LeafUUID: "f1", Frame: strings.Repeat("0f", 32), PrefixHash: "aa", Blocks: 1, Usage: json.RawMessage(`{"input_tokens":9}`), StopReason: "tool_use"})
			syntheticResult(s, "r1", "a1", "x").Attach("t1", "r1", `{"type":"date_change"}`, "<system-reminder>a new day</system-reminder>")
			sideEntry(s, transcript.TypePartial, map[string]string{"messageId": "m2", "text": "half a sen"})
			s.Own("p1", "t1", transcript.SubRepair, transcript.Repair{Drop: []string{"gone"}}).Own("x1", "p1", transcript.SubStrip, transcript.Strip{UpTo: "p1", Reason: "mismatch"}).
				Say("a2", "x1", "m3", "done")
			sideEntry(s, transcript.TypeCovers, transcript.Covers{Kind: "notes", UptoUUID: "a2", Hash: "bb"})
		}},

	// Bytes.
	{name: "bytes-empty", about: "an empty file", build: func(*loggen.Story) {}, bytes: func([]byte) []byte { return nil }},
	{name: "bytes-text", about: "JSON text as JSON.stringify writes it: U+2028, <, & raw; \\u001b in lower case; number texts kept",
		build: func(s *loggen.Story) {
			s.User("u1", "", "<b>&amp; \u2028 \x1b[0m \\ \" \b\f\n\r\t é 漢 🙂").Raw(`{"parentUuid":"u1","isSidechain":false,"type":"system","subtype":"api_error","retryInMs":545.2778597981155,"big":1e400,"uuid":"y1","sessionId":"s1"}`)
		}},
	{name: "bytes-spaces", about: "white space between tokens, escaped names, members in any order: legal, read, kept",
		build: func(s *loggen.Story) {
			s.Raw(`{ "uuid" : "u1" , "type" : "user" , "\u0070arentUuid" : null , "message" : { "content" : "hi" , "role" : "user" } }`).Say("a1", "u1", "m1", "x")
		}},
	{name: "bytes-no-newline", about: "the last record is whole but its line is not ended",
		build: func(s *loggen.Story) { before(s) }, bytes: func(b []byte) []byte { return b[:len(b)-1] }},
	{name: "bytes-torn", about: "the last record was not written to its end",
		build: func(s *loggen.Story) { before(s) }, bytes: func(b []byte) []byte { return b[:len(b)-60] }},
	{name: "bytes-torn-middle", about: "a record breaks off and a newline follows; the next entry is bridged over it",
		build: func(s *loggen.Story) { before(s); s.Lines[2] = s.Lines[2][:70] }},
	{name: "bytes-torn-then-record", about: "a record breaks off and the next follows on the same line: the second is read",
		build: func(s *loggen.Story) {
			before(s)
			s.Lines = []string{s.Lines[0], s.Lines[1], s.Lines[2][:70] + s.Lines[3]}
		}},
	{name: "bytes-glued", about: "two whole records on a line: both are read",
		build: func(s *loggen.Story) { before(s) }, bytes: swap("}\n", "}")},
	{name: "bytes-split", about: "a record of a second writer stands inside another: both are read",
		build: func(s *loggen.Story) {
			before(s)
			s.Lines = []string{s.Lines[0], s.Lines[1][:60] + s.Lines[2], s.Lines[1][60:], s.Lines[3]}
		}},
	{name: "bytes-nul", about: "zero bytes before a record, as after a power loss: the record is read",
		build: func(s *loggen.Story) { before(s); s.Lines[1] = strings.Repeat("\x00", 64) + s.Lines[1] }},
	{name: "bytes-nul-line", about: "a line of zero bytes: what stood there is lost, the next entry is bridged",
		build: func(s *loggen.Story) { before(s); s.Lines[2] = strings.Repeat("\x00", len(s.Lines[2])) }},
	{name: "bytes-nul-inside", about: "zero bytes from inside one record into the next: no record is made of the two; the end of the second is lost with it",
		build: func(s *loggen.Story) {
			before(s)
			s.Lines = []string{s.Lines[0], s.Lines[1][:200] + strings.Repeat("\x00", 128) + s.Lines[2][150:], s.Lines[3]}
		}},
	{name: "bytes-bom-crlf", about: "a byte order mark and CR LF, as an editor leaves them: every record is read",
		build: func(s *loggen.Story) { before(s) },
		bytes: func(b []byte) []byte {
			return append([]byte("\xEF\xBB\xBF"), bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))...)
		}},
	{name: "bytes-not-objects", about: "lines that are JSON but no objects, or no JSON, or empty",
		build: func(s *loggen.Story) {
			before(s)
			s.Lines = append(s.Lines, "42", `"x"`, "[1]", "hello", "", `{"silly":"this"}`)
		}},
	{name: "bytes-invalid", about: "a record with a colon turned into another character",
		build: func(s *loggen.Story) { before(s); s.Lines[1] = strings.Replace(s.Lines[1], `":`, `"=`, 1) }},
	{name: "bytes-unicode", about: "half a surrogate pair, and a byte that is no UTF-8: read, kept, said by a check",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Raw(`{"parentUuid":"u1","isSidechain":false,"type":"user","message":{"role":"user","content":"\ud99c"},"uuid":"u2","sessionId":"s1"}`).
				Raw("{\"parentUuid\":\"u2\",\"isSidechain\":false,\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"},\"uuid\":\"u3\",\"sessionId\":\"s1\"}")
		}},
	{name: "bytes-bad-messages", about: "messages that are none: said by a check, kept on the chain",
		build: func(s *loggen.Story) {
			s.User("u1", "", "hi").Raw(`{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":"error","uuid":"a1","sessionId":"s1"}`).
				Raw(`{"parentUuid":"a1","isSidechain":false,"type":"user","message":{"role":"user"},"uuid":"u2","sessionId":"s1"}`)
		}},
}
