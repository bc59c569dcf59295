package view_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/loggen"
	"varve.dev/internal/validate"
	"varve.dev/transcript"
	"varve.dev/view"
)

// accepted asks the validator that shares no code with what made the view.
func accepted(t fataler, v *view.View, where string) {
	t.Helper()
	if len(v.Messages) == 0 {
		return
	}
	var req validate.Request
	for _, m := range v.Plain() {
		req.Messages = append(req.Messages, m.AppendRequest(nil))
	}
	for _, bad := range validate.NewGuard(validate.Options{}).Check(req) {
		switch bad.Rule {
		case validate.RuleTrail, validate.RulePrefill: // a view may end with a reply; a request does not
		case validate.RuleThinkingShape: // whether a signature is needed depends on the provider, which the engine knows
		default:
			t.Fatalf("%s: %v", where, bad)
		}
	}
}

// withoutOurs is the log as a program sees it that knows nothing of Varve: side entries of ours are gone, our member of other entries,
// and our system entries are ones it never heard of.
func withoutOurs(t fataler, data []byte) []byte {
	t.Helper()
	var out []byte
	for _, line := range bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n")) {
		e, err := transcript.Parse(line)
		if err != nil {
			out = append(append(out, line...), '\n') // damaged: it reads what it can of it
			continue
		}
		if strings.HasPrefix(e.Type, "varve-") {
			continue
		}
		if e.Own() != nil {
			if line, err = transcript.Splice(line, "varve", json.RawMessage("null")); err != nil {
				t.Fatalf("%v", err)
			}
		}
		if strings.HasPrefix(e.Subtype, "varve_") {
			if line, err = transcript.Splice(line, "subtype", json.RawMessage(`"later"`)); err != nil {
				t.Fatalf("%v", err)
			}
		}
		out = append(append(out, line...), '\n')
	}
	return out
}

// TestPropOthers: T-12, C-15. A reader that passes over all that is ours still has a valid conversation, longer or shorter, on every
// branch, also behind repairs that were frozen, strips and boundaries that were taken back.
func TestPropOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		data := loggen.Bytes(loggen.Make(rnd, loggen.Options{Turns: rapid.IntRange(1, 8).Draw(t, "turns"), Boundaries: true, Rewinds: true,
			Thinking: true, Damage: rapid.Bool().Draw(t, "damage")}))
		l := parse(t, data)
		tip := l.Tip()
		if tip == nil {
			return
		}
		st := ids()
		v := of(l, tip)
		accepted(t, v, "ours")
		add := v.Freeze(st)
		leaf := v.Leaf
		if n := len(add); n > 0 {
			leaf = add[n-1].UUID
		}
		add = append(add, st.System(leaf, transcript.SubStrip, "", "", transcript.Own(transcript.Strip{UpTo: leaf, Reason: "foreign"})),
			st.Side(transcript.TypeReceipt, transcript.Receipt{MessageID: "m"}))
		for _, e := range add {
			raw, err := e.Raw()
			if err != nil {
				t.Fatal(err)
			}
			data = append(append(bytes.TrimRight(data, "\n"), '\n'), raw...)
		}
		data = append(data, '\n')
		mine := parse(t, data)
		accepted(t, of(mine, mine.Tip()), "frozen")
		theirs := parse(t, withoutOurs(t, data))
		for _, leaf := range theirs.Leaves() {
			v := of(theirs, leaf)
			valid(t, v, "for others, leaf "+leaf.UUID)
			accepted(t, v, "for others, leaf "+leaf.UUID)
		}
	})
}

// TestAdversarial: C-15, G-1. What no client writes but anybody can: every kind of block in every role, ids that are empty, repeated or of
// the wrong kind, values of the wrong shape. The view is valid all the same.
func TestAdversarial(t *testing.T) {
	blocks := []string{`{"type":"text","text":"a"}`, `{"type":"text","text":""}`, `{"type":"text"}`, `{"type":"text","text":7}`,
		`{"type":"thinking","thinking":"t","signature":"s"}`, `{"type":"thinking","thinking":"t"}`, `{"type":"redacted_thinking","data":"d"}`, `{"type":"redacted_thinking"}`,
		`{"type":"tool_use","id":"x","name":"R","input":{}}`, `{"type":"tool_use","id":"y","name":"R","input":[]}`, `{"type":"tool_use","id":"","name":"R","input":{}}`,
		`{"type":"tool_use","id":7,"name":{}}`, `{"type":"tool_use","id":"a/b","name":"` + strings.Repeat("n", 300) + `","input":null}`,
		`{"type":"tool_result","tool_use_id":"x","content":"o"}`, `{"type":"tool_result","tool_use_id":"x","content":[{"type":"tool_use","id":"z","name":"n","input":{}}]}`,
		`{"type":"tool_result","tool_use_id":"y","content":{"type":"text","text":"o"}}`, `{"type":"tool_result","tool_use_id":"a/b","is_error":"yes","content":[7,null]}`,
		`{"type":"tool_result"}`, `{"type":"server_tool_use","id":"sv","name":"web_search","input":{}}`, `{"type":"web_search_tool_result","tool_use_id":"sv","content":[]}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`, `{"type":"image"}`, `{"type":"document","source":{"type":"base64"}}`, `{"type":"tool_result","tool_use_id":"y","content":[{"type":"image","source":{"type":"base64","media_type":"image/svg+xml","data":"aGk="}},{"type":"text","text":""}]}`, `{"type":"later","x":1}`, `{}`, `7`, `null`, `"s"`, `[]`,
		`{"type":"text","text":"\ud800"}`, `{"type":"compaction","content":"c"}`}
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		parent := "null"
		for i := range rapid.IntRange(1, 12).Draw(t, "entries") {
			role := rapid.SampledFrom([]string{"user", "assistant"}).Draw(t, "role")
			content := "[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(blocks), 0, 5).Draw(t, "blocks"), ",") + "]"
			if rapid.IntRange(0, 9).Draw(t, "shape") == 0 {
				content = rapid.SampledFrom([]string{`"text"`, `""`, `null`, `{"type":"text","text":"x"}`, `7`}).Draw(t, "content")
			}
			uuid := `"e` + string(rune('a'+i)) + `"`
			lines = append(lines, `{"parentUuid":`+parent+`,"sessionId":"s","type":"`+role+`","uuid":`+uuid+`,"message":{"role":"`+
				rapid.SampledFrom([]string{role, role, role, "system", "x"}).Draw(t, "said")+`","id":"m`+
				rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "id")+`","content":`+content+`}}`)
			parent = uuid
		}
		lines = append(lines, `{"parentUuid":`+parent+`,"sessionId":"s","type":"user","uuid":"last","message":{"role":"user","content":"go on"}}`)
		l := parse(t, []byte(strings.Join(lines, "\n")+"\n"))
		v := of(l, l.Tip())
		valid(t, v, "view")
		accepted(t, v, "view")
		grown := of(&transcript.Log{}, nil)
		for i := range l.Entries {
			part := relog(t, l.Entries[:i+1])
			fresh := of(part, part.Tip())
			if !grown.Append(part.Entries[i]) {
				grown = fresh
			}
			if dump(grown) != dump(fresh) || fmt.Sprint(grown.Repairs) != fmt.Sprint(fresh.Repairs) {
				t.Fatalf("after entry %d: extended\n%s%v\nafresh\n%s%v", i, dump(grown), grown.Repairs, dump(fresh), fresh.Repairs)
			}
		}
	})
}
