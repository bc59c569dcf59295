package view_test

import (
	"strings"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/message"
	"varve.dev/transcript"
	"varve.dev/view"
)

// brief writes a view for comparison: one word a block.
func brief(v *view.View) string {
	var out []string
	for _, m := range v.Messages {
		words := []string{string(m.Role[:1])}
		for _, b := range m.Blocks {
			switch b.Type {
			case message.TypeText:
				words = append(words, firstWords(b.Text))
			case message.TypeThinking:
				words = append(words, "~"+b.Text)
			case message.TypeToolUse:
				words = append(words, "!"+b.ID)
			case message.TypeToolResult:
				w := "=" + b.ToolUseID
				if b.IsError {
					w += "?"
				}
				if len(b.Content) > 0 {
					w += ":" + firstWords(b.Content[0].Text)
				}
				words = append(words, w)
			default:
				words = append(words, b.Type)
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	return strings.Join(out, " | ")
}

func firstWords(s string) string {
	if i := strings.IndexAny(s, ":\n…"); i >= 0 {
		s = s[:i]
	}
	return strings.ReplaceAll(strings.TrimSpace(s), " ", "_")
}

// TestEdits: T-11, T-12, S-2, C-14, C-15 and DESIGN section 3, one row each.
func TestEdits(t *testing.T) {
	long := strings.Repeat("x", 2048)
	rows := []struct {
		name, want string
		build      func(*loggen.Story)
	}{
		{"parts of a reply are one message, results in the calls' order",
			"u hi | a ~hm text !x !y | u =x:out_of_x =y:out_of_y | a done",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "hm", "sig").Say("a1", "a0", "m1", "text").Call("a2", "a1", "m1", "x").Call("a3", "a2", "m1", "y").
					Result("r2", "a3", "y").Result("r1", "a2", "x").Say("a4", "r1", "m2", "done")
			}},
		{"results between the parts of one reply (2.1.91)", "u hi | a !x !y | u =x:out_of_x =y:out_of_y | a done",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Call("a2", "r1", "m1", "y").Result("r2", "a2", "y").Say("a3", "r2", "m2", "done")
			}},
		{"anthropics/claude-code#1894: open calls are answered before the user's words",
			"u hi | a !x !y !z | u =x:out_of_x =y?:[Interrupted =z?:[Interrupted stop",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Call("a2", "a1", "m1", "y").Call("a3", "a2", "m1", "z").Result("r1", "a1", "x").User("u2", "r1", "stop")
			}},
		{"anthropics/claude-code#63147: reasoning without text keeps its signature", "u hi | a ~ !x | u =x:out_of_x",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a1", "u1", "m1", "", long).Call("a2", "a1", "m1", "x").Result("r1", "a2", "x")
			}},
		{"anthropics/claude-code#10199: a reply of reasoning alone is left out", "u hi more",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a1", "u1", "m1", "hm", "sig").User("u2", "a1", "more")
			}},
		{"Hmbown/Codewhale#6119: an orphan result goes, the text beside it stays", "u hi | a yes | u words",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "yes").Blocks("u2", "a1", message.Text("words"), message.ToolResult("gone", false, message.Text("x")))
			}},
		{"a second call with the id of the first is left out, its result too", "u hi | a !x | u =x:out_of_x | a again",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "again").Call("a3", "a2", "m2", "x").Result("r2", "a3", "x")
			}},
		{"blank text is left out", "u hi | a yes",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", " \n").Say("a2", "a1", "m1", "yes")
			}},
		{"errors that the client showed are not sent", "u hi",
			func(s *loggen.Story) {
				s.User("u1", "", "hi")
				m := message.Assistant(message.Text("API Error"))
				s.Add(s.Stamp("a1").Assistant("u1", m, "", transcript.Extra{Key: "isApiErrorMessage", Value: []byte("true")}))
			}},
		{"a conversation that starts with a reply", "u [The_beginning_of_this_conversation_is_not_available.] | a yes | u on",
			func(s *loggen.Story) { s.Say("a1", "lost", "m1", "yes").User("u1", "a1", "on") }},
		{"boundary: the summary stands first", "u This_session_continues on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "yes").Boundary("b", "a1", transcript.Boundary{}).Summary("s", "b").User("u2", "s", "on")
			}},
		{"kept messages follow the summary", "u This_session_continues more | a y | u on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y").Boundary("b", "a2", loggen.Keep("s", "u2", "a2")).Summary("s", "b").User("u3", "s", "on")
			}},
		{"from: the kept head stands before boundary and summary", "u hi | a x | u This_session_continues on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y").Boundary("b", "a2", loggen.Keep("b", "u1", "a1")).Summary("s", "b").User("u3", "s", "on")
			}},
		{"openclaw/openclaw#8525: a kept part of a pair is completed", "u This_session_continues | a !x | u =x?:[Interrupted on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Boundary("b", "r1", loggen.Keep("s", "a1")).Summary("s", "b").User("u2", "s", "on")
			}},
		{"earendil-works/pi#4570: pairs are whole across an inner boundary", "u This_session_continues | a !x | u =x:out_of_x on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Boundary("b", "a1", loggen.Keep("s", "a1")).Summary("s", "b").Result("r1", "s", "x").
					Boundary("b2", "r1", loggen.Keep("s2", "a1", "r1")).Summary("s2", "b2").User("u2", "s2", "on")
			}},
		{"openclaw/openclaw#85912, anthropics/claude-code#64066: a boundary that strips leaves no reasoning in what it keeps", "u This_session_continues | a text !x | u =x:out_of_x on",
			func(s *loggen.Story) {
				b := loggen.Keep("s", "a0", "a1", "a2", "r1")
				b.Own.Thinking = "strip"
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "hm", "sig").Say("a1", "a0", "m1", "text").Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").Boundary("b", "r1", b).Summary("s", "b").User("u2", "s", "on")
			}},
		{"and one that keeps it leaves all of it", "u This_session_continues | a ~hm text !x | u =x:out_of_x on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "hm", "sig").Say("a1", "a0", "m1", "text").Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").
					Boundary("b", "r1", loggen.Keep("s", "a0", "a1", "a2", "r1")).Summary("s", "b").User("u2", "s", "on")
			}},
		{"undo: what the boundary covered is back, its summary is gone, later turns stay", "u hi | a x | u on | a y",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).Summary("s", "b").User("u2", "s", "on").Say("a2", "u2", "m2", "y").Undo("x", "a2", "b")
			}},
		{"cleared results keep their call", "u hi | a !x !y | u =x:[Old_tool_result_content_cleared] =y:out_of_y | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Call("a2", "a1", "m1", "y").Result("r1", "a2", "x").Result("r2", "r1", "y").Say("a3", "r2", "m2", "ok").
					Add(s.Stamp("mc").MicrocompactBoundary("a3", transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"x"}}))
			}},
		{"a replaced result; the first decision counts", "u hi | a !x | u =x:preview",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").
					Add(s.Stamp("").Replacements(transcript.Replacement{Kind: "tool-result", ToolUseID: "x", Replacement: "preview"})).
					Add(s.Stamp("").Replacements(transcript.Replacement{Kind: "tool-result", ToolUseID: "x", Replacement: "other"}))
			}},
		{"strip: reasoning up to an entry is left out, whole replies at a time", "u hi | a x | u more | a ~later y",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "hm", "sig").Say("a1", "a0", "m1", "x").Own("st", "a1", transcript.SubStrip, transcript.Strip{UpTo: "a1", Reason: "foreign"}).
					User("u2", "st", "more").Think("a2", "u2", "m2", "later", "sig2").Say("a3", "a2", "m2", "y")
			}},
		{"repair: a dropped block and a dropped entry", "u hi | a b",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Part("a1", "u1", "m1", message.Text("a"), message.Text("b")).User("u2", "a1", "gone").
					Own("rp", "u2", transcript.SubRepair, transcript.Repair{Drop: []string{"a1#0", "u2"}})
			}},
		{"a boundary of the reference that keeps a segment", "u This_session_continues more | a y | u on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").User("u2", "a1", "more").Say("a2", "u2", "m2", "y").
					Raw(segment("u2", "a2")).Summary("s", "b").User("u3", "s", "on")
			}},
		{"a segment that does not lead to its head: nothing of it is kept", "u This_session_continues on",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").
					Raw(segment("lost", "a1")).Summary("s", "b").User("u3", "s", "on")
			}},
		{"1.0.x: a summary without boundary is where the conversation begins", "u This_session_continues on | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Add(s.Stamp("s").Summary("", message.User("This session continues: x"))).User("u2", "s", "on").Say("a2", "u2", "m2", "ok")
			}},
		{"a boundary without summary is inert", "u hi | a x | u on | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "x").Boundary("b", "a1", transcript.Boundary{}).User("u2", "b", "on").Say("a2", "u2", "m2", "ok")
			}},
		{"a boundary that strips keeps the reasoning behind it", "u This_session_continues | a text | u on | a ~new ok",
			func(s *loggen.Story) {
				b := loggen.Keep("s", "a0", "a1")
				b.Own.Thinking = "strip"
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "hm", "sig").Say("a1", "a0", "m1", "text").Boundary("b", "a1", b).Summary("s", "b").User("u2", "s", "on").
					Think("a2", "u2", "m2", "new", "sig").Say("a3", "a2", "m2", "ok")
			}},
		{"also of a reply that is the last entry kept", "u This_session_continues | a text | u on",
			func(s *loggen.Story) {
				b := loggen.Keep("s", "a1")
				b.Own.Thinking = "strip"
				s.User("u1", "", "hi").Part("a1", "u1", "m1", message.Thinking("hm", "sig"), message.Text("text")).Boundary("b", "a1", b).Summary("s", "b").User("u2", "s", "on")
			}},
		{"clearing takes attachments and, if it says so, the reasoning before it", "u hi | a !x | u =x:[Old_tool_result_content_cleared] | a ok | u on | a ~new yes",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Attach("at", "u1", `{"type":"file"}`, "<file>").Think("a0", "at", "m1", "hm", "sig").Call("a1", "a0", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "ok").
					Add(s.Stamp("mc").MicrocompactBoundary("a2", transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"x"}, ClearedAttachments: []string{"at"}, Thinking: "strip"})).
					User("u2", "mc", "on").Think("a3", "u2", "m3", "new", "sig").Say("a4", "a3", "m3", "yes")
			}},
		{"of two placeholders the first counts, and it is the one that the log says", "u hi | a !x | u =x:one | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "ok").
					Add(s.Stamp("mc").MicrocompactBoundary("a2", transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"x"}, Placeholder: "one"})).
					Add(s.Stamp("mc2").MicrocompactBoundary("mc", transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"x"}, Placeholder: "two"}))
			}},
		{"a decision about what is no tool result is none", "u hi | a !x | u =x:out_of_x",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "x").Result("r1", "a1", "x").
					Add(s.Stamp("").Replacements(transcript.Replacement{Kind: "other", ToolUseID: "x", Replacement: "preview"}))
			}},
		{"a result before its call is its result; a second one is left out", "u hi | a !x | u =x:out_of_x",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Result("r1", "u1", "x").Blocks("r2", "r1", message.ToolResult("x", false, message.Text("second"))).Call("a1", "r2", "m1", "x")
			}},
		{"an id that the API does not take", "u hi | a !ab_c8687a08aa5d6ed2 | u =ab_c8687a08aa5d6ed2:preview",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Call("a1", "u1", "m1", "a b").Result("r1", "a1", "a b").
					Add(s.Stamp("").Replacements(transcript.Replacement{Kind: "tool-result", ToolUseID: message.CanonicalID("a b"), Replacement: "preview"}))
			}},
		{"a server tool's call without result is left out when the conversation went on", "u hi | a so | u on | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Part("a1", "u1", "m1", message.Text("so"), server("sv")).User("u2", "a1", "on").Say("a2", "u2", "m2", "ok")
			}},
		{"a paused turn goes back as it is, also behind results of other tools", "u hi | a so server_tool_use !x | u =x:out_of_x",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Part("a1", "u1", "m1", message.Text("so"), server("sv")).Call("a2", "a1", "m1", "x").Result("r1", "a2", "x")
			}},
		{"and not when a person said more", "u hi | a so !x | u =x:out_of_x stop",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Part("a1", "u1", "m1", message.Text("so"), server("sv")).Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").User("u2", "r1", "stop")
			}},
		{"system attachments come last before the reply, tool additions as what they are", "u hi more | s be_brief tool_addition | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").
					Add(s.Stamp("at1").Attachment("u1", []byte(`{"type":"x"}`), []string{"be brief"}, transcript.Own(map[string]string{"as": "system"}))).
					Add(s.Stamp("at2").Attachment("at1", []byte(`{"type":"x"}`), []string{`{"type":"tool_addition","tool":{}}`}, transcript.Own(map[string]string{"as": "tool_addition"}))).
					User("u2", "at2", "more").Say("a1", "u2", "m1", "ok")
			}},
		{"reasoning that is not Unicode goes with all of its reply's", "u hi | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Think("a0", "u1", "m1", "fine", "sig").
					Raw(`{"parentUuid":"a0","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a1","message":{"role":"assistant","id":"m1","content":[{"type":"thinking","thinking":"a\ud99cb","signature":"sig"}]}}`).
					Say("a2", "a1", "m1", "ok")
			}},
		{"rendered attachments are the user's side", "u hi <system-reminder>x</system-reminder> | a ok",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Attach("at", "u1", `{"type":"file"}`, "<system-reminder>x</system-reminder>").Say("a1", "at", "m1", "ok")
			}},
		{"a prompt typed while a turn ran, from a client that did not record it", "u hi | a ok | u and_this",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Say("a1", "u1", "m1", "ok").Attach("at", "a1", `{"type":"queued_command","prompt":"and this"}`)
			}},
		{"tool listings of another client are not ours to send", "u hi",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").Attach("at", "u1", `{"type":"deferred_tools_delta","addedNames":["X"]}`)
			}},
		{"QwenLM/qwen-code#7377: an input that is text becomes an object, one that cannot is closed with an error", "u hi | a !x !y | u =x:out_of_x =y?:[Not_run",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").
					Raw(`{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a1","message":{"role":"assistant","id":"m1","content":[{"type":"tool_use","id":"x","name":"Read","input":"{\"file_path\":\"a\"}"},{"type":"tool_use","id":"y","name":"Read","input":"rm"}]}}`).
					Result("r1", "a1", "x")
			}},
		{"anthropics/claude-code#68325: a lone surrogate is sent as U+FFFD", "u hi | a a�b",
			func(s *loggen.Story) {
				s.User("u1", "", "hi").
					Raw(`{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a1","message":{"role":"assistant","id":"m1","content":[{"type":"text","text":"a\ud99cb"}]}}`)
			}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := loggen.NewStory()
			row.build(s)
			l := parse(t, s.Bytes())
			v := of(l, l.Tip())
			if got := brief(v); got != row.want {
				t.Errorf("view\n%s\nwant\n%s", got, row.want)
			}
			valid(t, v, row.name)
		})
	}
}

// segment is a boundary b with the summary s, as the reference writes one that keeps what leads from head to tail.
func segment(head, tail string) string {
	return `{"parentUuid":null,"logicalParentUuid":"` + tail + `","isSidechain":false,"sessionId":"s1","type":"system","subtype":"compact_boundary","uuid":"b",` +
		`"compactMetadata":{"trigger":"auto","preTokens":1,"preservedSegment":{"headUuid":"` + head + `","anchorUuid":"s","tailUuid":"` + tail + `"}}}`
}

func server(id string) message.Block {
	b, err := message.ParseBlock([]byte(`{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`))
	if err != nil {
		panic(err)
	}
	return b
}

// TestBytesKept: rule 2 of DESIGN section 7. What a reply holds is sent byte for
// byte, whatever its members' order and numbers look like.
func TestBytesKept(t *testing.T) {
	block := `{"signature":"c2ln","type":"thinking","thinking":"","x":1.50}`
	call := `{"id":"x","caller":{"type":"direct"},"type":"tool_use","input":{"b":1e3,"a":[1,  2]},"name":"Read"}`
	s := loggen.NewStory().User("u1", "", "hi").
		Raw(`{"parentUuid":"u1","isSidechain":false,"sessionId":"s1","type":"assistant","uuid":"a1","message":{"role":"assistant","id":"m1","content":[`+block+`,`+`{"id":"x","caller":{"type":"direct"},"type":"tool_use","input":{"b":1e3,"a":[1,2]},"name":"Read"}`+`]}}`).
		Result("r1", "a1", "x")
	l := parse(t, s.Bytes())
	v := of(l, l.Tip())
	if got := string(v.Messages[1].Blocks[0].Raw); got != block {
		t.Errorf("reasoning %s, want %s", got, block)
	}
	if got, want := string(v.Messages[1].Blocks[1].Raw), strings.ReplaceAll(call, ",  ", ","); got != want {
		t.Errorf("call %s, want %s", got, want)
	}
}

// TestSubAgent: anthropics/claude-code#91971, #94728, #44724. The log of a sub-agent
// is viewed and extended like any other.
func TestSubAgent(t *testing.T) {
	s := loggen.NewStory().Sidechain().User("u1", "", "task").Think("a0", "u1", "m1", "hm", "sig").Call("a1", "a0", "m1", "x")
	l := parse(t, s.Bytes())
	v := of(l, l.Tip())
	s.Result("r1", "a1", "x").Say("a2", "r1", "m2", "done")
	l2 := parse(t, s.Bytes())
	if !v.Append(l2.Entries[3], l2.Entries[4]) {
		t.Fatal("the view could not be extended")
	}
	if got, want := brief(v), "u task | a ~hm !x | u =x:out_of_x | a done"; got != want || got != brief(of(l2, l2.Tip())) {
		t.Errorf("view %s, want %s", got, want)
	}
}

// A server tool's result may come with the next reply, part by part: the call that was left out for want of it is back.
func TestServerResultLater(t *testing.T) {
	s := loggen.NewStory().User("u1", "", "hi").Part("a1", "u1", "m1", message.Text("so"), server("sv")).Call("a2", "a1", "m1", "x").Result("r1", "a2", "x").
		Say("a3", "r1", "m2", "and")
	v := of(parse(t, s.Bytes()), parse(t, s.Bytes()).Tip())
	found, err := message.ParseBlock([]byte(`{"type":"web_search_tool_result","tool_use_id":"sv","content":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Part("a4", "a3", "m2", found)
	l := parse(t, s.Bytes())
	if got, want := brief(v), "u hi | a so !x | u =x:out_of_x | a and"; got != want {
		t.Errorf("without the result: %s, want %s", got, want)
	}
	if !v.Append(l.Entries[len(l.Entries)-1]) {
		t.Fatal("the view could not be extended")
	}
	if got, want := brief(v), "u hi | a so server_tool_use !x | u =x:out_of_x | a and web_search_tool_result"; got != want || got != brief(of(l, l.Tip())) {
		t.Errorf("view %s, want %s", got, want)
	}
	accepted(t, v, "view")
}

// TestRenderVersion: T-13. A log keeps the renderer that it was sent with.
func TestRenderVersion(t *testing.T) {
	defer view.AddRenderer("2", "[cleared, version 2]")()
	s := loggen.NewStory().User("u1", "", "hi").Own("f", "u1", transcript.SubFrame, transcript.Frame{Frame: "x", Render: "1"}).
		Call("a1", "f", "m1", "x").Result("r1", "a1", "x").Say("a2", "r1", "m2", "ok").
		Add(s1().MicrocompactBoundary("a2", transcript.Microcompact{Trigger: "auto", ToolIDs: []string{"x"}}))
	l := parse(t, s.Bytes())
	if got := brief(of(l, l.Tip())); !strings.Contains(got, "[Old_tool") {
		t.Errorf("log of version 1: %s", got)
	}
	two := strings.Replace(string(s.Bytes()), `"render":"1"`, `"render":"2"`, 1)
	l = parse(t, []byte(two))
	if got := brief(of(l, l.Tip())); !strings.Contains(got, "[cleared,_version_2]") {
		t.Errorf("log of version 2: %s", got)
	}
}

func s1() transcript.Stamp { return loggen.NewStory().Stamp("mc") }
