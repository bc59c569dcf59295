package transcript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/message"
	"varve.dev/transcript"
)

// fixed is a stamp of which every member has a value.
func fixed() transcript.Stamp {
	return transcript.Stamp{SessionID: "s1", CWD: "/w", Version: "1.0.0", GitBranch: "main", Entrypoint: "cli", AgentID: "a1", Sidechain: true,
		PromptID: "p1", Slug: "calm-quiet-lemon", Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 7e6, time.UTC) },
		NewID: func() string { return "u1" }}
}

// keys are the top-level members of a record, in order.
func keys(t testing.TB, raw []byte) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	var out []string
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		t.Fatalf("no object: %v %v", tok, err)
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tok.(string))
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(out, ",")
}

func bytesOf(t testing.TB, e *transcript.Entry) []byte {
	t.Helper()
	raw, err := e.Raw()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func extra(key, value string) transcript.Extra {
	return transcript.Extra{Key: key, Value: json.RawMessage(value)}
}

// TestMemberOrder: T-4, T-12, FORMAT.md section 10. Entries that are built have
// their members in the order of reference clients from 2.1.91 on, boundaries in
// theirs; what is ours comes last. Extras are given here in a wrong order.
func TestMemberOrder(t *testing.T) {
	const tail = ",userType,entrypoint,cwd,sessionId,version,gitBranch,slug"
	reply := message.Assistant(message.Text("x"))
	reply.ID, reply.Model = "msg_1", "m"
	own := transcript.Own(map[string]int{"x": 1})
	s := fixed()
	main := s
	main.AgentID, main.Sidechain, main.Slug, main.Entrypoint, main.PromptID = "", false, "", "", ""
	rows := []struct {
		name  string
		entry *transcript.Entry
		want  string
	}{
		{"prompt", s.User("p", message.User("x"), own, extra("promptSource", `"typed"`), extra("origin", `{"kind":"human"}`), extra("permissionMode", `"default"`)),
			"parentUuid,isSidechain,promptId,agentId,type,message,uuid,timestamp,permissionMode,origin,promptSource" + tail + ",varve"},
		{"tool result", s.User("p", message.UserBlocks(message.ToolResult("t", false)), extra("sourceToolAssistantUUID", `"a"`), extra("toolUseResult", `{}`)),
			"parentUuid,isSidechain,promptId,agentId,type,message,uuid,timestamp,toolUseResult,sourceToolAssistantUUID" + tail},
		{"meta", s.User("p", message.User("x"), extra("sourceToolUseID", `"t"`), extra("isMeta", "true")),
			"parentUuid,isSidechain,promptId,agentId,type,message,isMeta,uuid,timestamp,sourceToolUseID" + tail},
		{"summary", s.Summary("b", message.User("x"), own),
			"parentUuid,isSidechain,promptId,agentId,type,message,isVisibleInTranscriptOnly,isCompactSummary,uuid,timestamp" + tail + ",varve"},
		{"least prompt", main.User("", message.User("x")),
			"parentUuid,isSidechain,type,message,uuid,timestamp,userType,cwd,sessionId,version,gitBranch"},
		{"assistant", s.Assistant("p", reply, "req_1", own, extra("effort", `"high"`), extra("attributionSkill", `"s"`)),
			"parentUuid,isSidechain,message,requestId,attributionSkill,agentId,type,uuid,timestamp,effort" + tail + ",varve"},
		{"least assistant", main.Assistant("p", reply, ""),
			"parentUuid,isSidechain,message,type,uuid,timestamp,userType,cwd,sessionId,version,gitBranch"},
		{"attachment", s.Attachment("p", json.RawMessage(`{"type":"file"}`), []string{"x"}, own),
			"parentUuid,isSidechain,attachment,agentId,type,uuid,timestamp,rendered" + tail + ",varve"},
		{"system", s.System("p", "turn_duration", "text", "info", own, extra("messageCount", "3"), extra("durationMs", "12")),
			"parentUuid,isSidechain,agentId,type,subtype,content,durationMs,messageCount,level,timestamp,uuid,isMeta" + tail + ",varve"},
		{"boundary", s.CompactBoundary("leaf", transcript.Boundary{Trigger: "auto"}),
			"parentUuid,logicalParentUuid,isSidechain,userType,entrypoint,cwd,sessionId,version,gitBranch,agentId,slug,type,subtype,content,isMeta,timestamp,uuid,level,compactMetadata,varve"},
		{"micro-compaction", s.MicrocompactBoundary("p", transcript.Microcompact{Trigger: "auto"}),
			"parentUuid,isSidechain,userType,entrypoint,cwd,sessionId,version,gitBranch,agentId,slug,type,subtype,content,isMeta,timestamp,uuid,level,microcompactMetadata,varve"},
		{"title", s.Meta(transcript.TypeCustomTitle, "x"), "type,customTitle,sessionId"},
		{"generated title", s.Meta(transcript.TypeAITitle, "x"), "type,aiTitle,sessionId"},
		{"tag", s.Meta(transcript.TypeTag, "x"), "type,tag,sessionId"},
		{"agent's name", s.Meta(transcript.TypeAgentName, "x"), "type,agentName,sessionId"},
		{"agent's color", s.Meta(transcript.TypeAgentColor, "x"), "type,agentColor,sessionId"},
		{"agent's setting", s.Meta(transcript.TypeAgentSetting, "x"), "type,agentSetting,sessionId"},
		{"mode", s.Meta(transcript.TypeMode, "normal"), "type,mode,sessionId"},
		{"permission mode", s.Meta(transcript.TypePermissionMode, "plan"), "type,permissionMode,sessionId"},
		{"pointer", s.LastPrompt("x", "leaf", false), "type,lastPrompt,leafUuid,sessionId"},
		{"rewind", s.LastPrompt("", "leaf", true), "type,leafUuid,sessionId,varve"},
		{"pull request", s.PRLink(transcript.PRLink{Number: 1}), "type,sessionId,prNumber,prUrl,prRepository,timestamp"},
		{"worktree", s.WorktreeState(nil), "type,worktreeSession,sessionId"},
		{"replacement", s.Replacements(transcript.Replacement{}), "type,sessionId,agentId,replacements"},
		{"side entry of ours", s.Side(transcript.TypeReceipt, transcript.Receipt{}), "type,sessionId,requestId,messageId,leafUuid,frame,prefixHash,blocks"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got := keys(t, bytesOf(t, row.entry)); got != row.want {
				t.Errorf("members\n%s\nwant\n%s", got, row.want)
			}
		})
	}
}

// TestRealMemberOrder: the same against recorded sessions instead of a table: of
// the members that a recorded entry and one of ours share, each two stand in the
// same order.
func TestRealMemberOrder(t *testing.T) {
	s := fixed()
	reply := message.Assistant(message.Text("x"))
	reply.ID, reply.Model = "msg_1", "m"
	ours := map[string]*transcript.Entry{
		"user prompt": s.User("p", message.User("x"), extra("permissionMode", `""`), extra("origin", `{}`), extra("promptSource", `""`)),
		"user result": s.User("p", message.User("x"), extra("toolUseResult", `{}`), extra("sourceToolAssistantUUID", `""`)),
		"user meta":   s.User("p", message.User("x"), extra("isMeta", "true"), extra("sourceToolUseID", `""`)),
		"assistant":   s.Assistant("p", reply, "r", extra("effort", `""`), extra("attributionSkill", `""`), extra("attributionPlugin", `""`)),
		"attachment":  s.Attachment("p", json.RawMessage(`{}`), []string{"x"}),
		"system":      s.System("p", "x", "text", "info", extra("durationMs", "1"), extra("messageCount", "2")),
		"last-prompt": s.LastPrompt("x", "y", false), "ai-title": s.Meta("ai-title", "x"), "mode": s.Meta("mode", "x"),
		"permission-mode": s.Meta("permission-mode", "x"), "pr-link": s.PRLink(transcript.PRLink{}),
		"boundary":      s.CompactBoundary("l", transcript.Boundary{}),
		"microboundary": s.MicrocompactBoundary("p", transcript.Microcompact{}),
	}
	order := map[string]string{}
	for kind, e := range ours {
		order[kind] = keys(t, bytesOf(t, e))
	}
	seen := map[string]int{}
	for _, path := range corpus(t) {
		for _, e := range readBytes(t, read(t, path)).Entries {
			kind := e.Type
			switch {
			case e.IsBoundary():
				kind = "boundary"
			case e.Subtype == transcript.SubMicrocompact:
				kind = "microboundary"
			case e.IsChain() && !from2191(e.Version) || e.APIError:
				continue // older clients had other orders
			case e.Subtype == "bridge_status":
				continue // has isMeta before its timestamp, unlike all other kinds
			case e.Type == "user" && len(e.Results) > 0:
				kind = "user result"
			case e.Type == "user" && e.Meta:
				kind = "user meta"
			case e.Type == "user":
				kind = "user prompt"
			}
			if order[kind] == "" {
				continue
			}
			real := keys(t, bytesOf(t, e))
			if (e.Type == "attachment" || e.Type == "assistant") && strings.HasPrefix(real, "parentUuid,isSidechain,type,") {
				continue // 2 of 3,100: hook entries and errors are built elsewhere in the reference
			}
			seen[kind]++
			if !sameOrder(order[kind], real) {
				t.Fatalf("%s line %d: recorded\n%s\nours\n%s", path, e.Line, real, order[kind])
			}
		}
	}
	for kind := range ours {
		if seen[kind] == 0 {
			t.Errorf("no recorded %s", kind)
		}
	}
	t.Log(seen)
}

// from2191 reports whether a client version is 2.1.91 or newer.
func from2191(v string) bool {
	var a, b, c int
	if n, _ := fmt.Sscanf(v, "%d.%d.%d", &a, &b, &c); n != 3 {
		return false
	}
	return a > 2 || a == 2 && (b > 1 || b == 1 && c >= 91)
}

func sameOrder(a, b string) bool {
	at := map[string]int{}
	for i, k := range strings.Split(b, ",") {
		at[k] = i + 1
	}
	last := 0
	for _, k := range strings.Split(a, ",") {
		if i := at[k]; i > 0 {
			if i < last {
				return false
			}
			last = i
		}
	}
	return true
}

// TestTextAsStringify: T-4, FORMAT.md section 2. Text is written as JSON.stringify
// writes it, wherever it stands in an entry.
func TestTextAsStringify(t *testing.T) {
	const text = "<a href=\"x\">&amp; \\ \\u2028 / \u2028\u2029 \x00\x1b\x1f\x7f\b\f\n\r\t é 漢 🙂"
	const want = `"<a href=\"x\">&amp; \\ \\u2028 / ` + "\u2028\u2029" + ` \u0000\u001b\u001f` + "\x7f" + `\b\f\n\r\t é 漢 🙂"`
	s := fixed()
	s.CWD, s.GitBranch = text, text
	call, err := message.ToolUse("t1", "Bash", json.RawMessage(`{"command":`+want+`}`))
	if err != nil {
		t.Fatal(err)
	}
	own := transcript.Own(map[string]any{"s": text, "l": []string{text}})
	rows := map[string]struct {
		entry *transcript.Entry
		times int
	}{
		"prompt":      {s.User("p", message.User(text), own), 5},
		"blocks":      {s.User("p", message.UserBlocks(message.ToolResult("t", false, message.Text(text)))), 3},
		"reply":       {s.Assistant("p", message.Assistant(message.Text(text), call), text), 5},
		"attachment":  {s.Attachment("p", json.RawMessage(`{"x":`+want+`}`), []string{text, text}), 5},
		"system":      {s.System("p", "x", text, "info"), 3},
		"boundary":    {s.CompactBoundary(text, transcript.Boundary{Trigger: text, Own: transcript.BoundaryOwn{Cause: text}}), 5},
		"micro":       {s.MicrocompactBoundary("p", transcript.Microcompact{Trigger: text, ToolIDs: []string{text}, Placeholder: text}), 5},
		"title":       {s.Meta(transcript.TypeCustomTitle, text), 1},
		"pointer":     {s.LastPrompt(text, text, false), 2},
		"pr":          {s.PRLink(transcript.PRLink{URL: text, Repository: text}), 2},
		"worktree":    {s.WorktreeState(&transcript.WorktreeSession{WorktreePath: text}), 1},
		"replacement": {s.Replacements(transcript.Replacement{Replacement: text}), 1},
		"side":        {s.Side(transcript.TypePartial, map[string]string{"text": text}), 1},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			raw := bytesOf(t, row.entry)
			if n := bytes.Count(raw, []byte(want)); n != row.times {
				t.Errorf("the text stands %d times as it should, want %d: %s", n, row.times, raw)
			}
			if bytes.ContainsAny(raw, "\n\r") || !json.Valid(raw) {
				t.Errorf("not one line of JSON: %q", raw)
			}
			if bytes.Contains(raw, []byte(": ")) && !bytes.Contains([]byte(want), []byte(": ")) {
				t.Errorf("white space between tokens: %s", raw)
			}
		})
	}
}

// TestPropBuild: what is built reads as what went in, and its text is what a
// second encoder makes of it: encoding/json without HTML escapes.
func TestPropBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, cwd := rapid.String().Draw(t, "text"), rapid.String().Draw(t, "cwd")
		s := fixed()
		s.CWD = cwd
		e := s.User("p", message.User(text), transcript.Own(map[string]string{"x": text}))
		if e.CWD != cwd || e.UUID != "u1" || e.ParentUUID != "p" || !e.Sidechain || e.AgentID != "a1" || e.Timestamp != "2026-03-01T09:00:00.007Z" {
			t.Fatalf("head %+v", e.Head)
		}
		m, err := e.Message()
		if err != nil || len(m.Content) != 1 || m.Content[0].Text != text {
			t.Fatalf("message %+v, %v", m, err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{"x": text}); err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(want.String(), "\n"))
		if !strings.Contains(text, `\u202`) && string(e.Own()) != plain {
			t.Fatalf("own %s, want %s", e.Own(), plain)
		}
	})
}
