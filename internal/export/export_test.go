package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"varve.dev/message"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// H-8: what an export of every kind of entry looks like.
func TestGolden(t *testing.T) {
	s := withAgents(t, everything(t))
	for _, f := range formats {
		t.Run(f.ext, func(t *testing.T) {
			got, _ := export(t, s, f.ext, Options{})
			if f.ext == "json" {
				got = skeleton(got)
			}
			name := filepath.Join("testdata", "session."+f.ext)
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(string(want), "\r\n", "\n"); got != want {
				t.Errorf("differs from %s near\n%s\nrun with -update to accept", name, difference(got, want))
			}
			first, _ := export(t, s, f.ext, Options{})
			if again, _ := export(t, s, f.ext, Options{}); again != first {
				t.Error("a second export differs from the first")
			}
		})
	}
}

// skeleton shortens the entries of a JSON export, each on its line, to what
// names them. How an entry is written is not the subject of this package; that
// it is the same as in the log is what TestJSONShape shows.
func skeleton(doc string) string {
	lines := strings.Split(doc, "\n")
	for i, l := range lines {
		raw := strings.TrimRight(l, ",]")
		var e struct {
			Type    string `json:"type"`
			Subtype string `json:"subtype,omitempty"`
			UUID    string `json:"uuid,omitempty"`
		}
		if json.Unmarshal([]byte(raw), &e) == nil && e.Type != "" {
			lines[i] = marshal(e) + l[len(raw):]
		}
	}
	return strings.Join(lines, "\n")
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-100):min(len(a), i+200)]
}

// H-8: no secret of any place is in any export, unless it was asked for; the
// report says where they were and does not repeat them.
func TestRedaction(t *testing.T) {
	s := withAgents(t, everything(t))
	for _, f := range formats {
		got, report := export(t, s, f.ext, Options{})
		for _, x := range fakeSecrets {
			if strings.Contains(got, x) || strings.Contains(html.UnescapeString(got), x) {
				t.Errorf("%s shows a secret: …%s…", f.ext, x[:8])
			}
		}
		rules := map[string]bool{}
		for _, r := range report.Redactions {
			rules[r.Rule] = true
		}
		for _, want := range []string{"github-token", "anthropic-key", "password", "private-key", "url-password"} {
			if !rules[want] {
				t.Errorf("%s: no redaction by %s in %v", f.ext, want, report.Redactions)
			}
		}
		raw, err := json.Marshal(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range fakeSecrets {
			if bytes.Contains(raw, []byte(x[:12])) {
				t.Errorf("the report of %s holds a secret", f.ext)
			}
		}
		open, report := export(t, s, f.ext, Options{Secrets: true})
		if !strings.Contains(open, fakeToken) || len(report.Redactions) > 0 {
			t.Errorf("%s: asked for secrets, they were redacted: %v", f.ext, report.Redactions)
		}
	}
}

// What must be seen of the fixture in a document for people.
func TestDocumentShowsEverything(t *testing.T) {
	s := withAgents(t, everything(t))
	for _, ext := range []string{"md", "html"} {
		got, _ := export(t, s, ext, Options{})
		text := html.UnescapeString(strings.ReplaceAll(got, "\\", ""))
		for _, want := range []string{
			"Repair the checkout <b>& test</b> [REDACTED:github-token]", "/home/dev/shop", "9.9.9", "7,070 in (7,000 of them from the cache), 55 out, 7 replies",
			"Why does `checkout` fail?", "file · src/cart.go", "The date is 2026-03-04.", "Thinking, 2 lines", "run the tests", "go test ./...", "Run all tests",
			"FAIL shop/cart", "All of it, 42 lines", "exit status 1", "total := 3", "total := 4", "The result is empty", "Image, image/png",
			"sub-agent a1b2c3d", "Report their files.", "Thinking that the provider encrypted, 64 bytes", "Also look at the tax, please.", "typed while the turn ran",
			"Another branch, left behind", "This answer was left behind.", "Interrupted by the user", "/compact keep the tests", "Compacted",
			"Old results cleared from view", "2 results · 21,500 tokens freed", "overloaded_error", "Conversation compacted", "by the user · 155,377 → 12,040 tokens · by L4 · threshold · 1 entry kept",
			"Summary of what came before", "was repaired.", "grep -r PRIVATE .", "explore · Look for callers · 2 messages", "Secrets were redacted: ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q", ext, want)
			}
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%s holds an escape character", ext)
		}
		if n := strings.Count(text, "go test ./..."); n != 1 {
			t.Errorf("%s shows the command %d times", ext, n)
		}
	}
}

// The documented shape of JSON, and that the bytes of the log are kept.
func TestJSONShape(t *testing.T) {
	w := everything(t)
	s := withAgents(t, w)
	got, report := export(t, s, "json", Options{Secrets: true, EmbedImages: true})
	var doc struct {
		Format  string
		Session struct {
			ID, Title, CWD, GitBranch, Version, First, Last, LeafUUID string
			Usage                                                     Usage
			Redacted, WithMedia                                       *bool
		}
		Entries, Others []json.RawMessage
		Agents          []struct {
			ID, Type, Description, Prompt string
			Messages                      int
		}
		Redactions []Redaction
	}
	d := json.NewDecoder(strings.NewReader(got))
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "varve-session/1" || doc.Session.ID != w.stamp.SessionID || doc.Session.CWD != "/home/dev/shop" || doc.Session.LeafUUID != s.Sections[0].Entries[len(s.Sections[0].Entries)-1].UUID {
		t.Errorf("session %+v", doc.Session)
	}
	if *doc.Session.Redacted || !*doc.Session.WithMedia || doc.Redactions == nil {
		t.Errorf("flags %v %v %v", *doc.Session.Redacted, *doc.Session.WithMedia, doc.Redactions)
	}
	if want := (Usage{Replies: 7, Input: 70, CacheRead: 7000, Output: 55}); doc.Session.Usage != want {
		t.Errorf("usage %+v, want %+v", doc.Session.Usage, want)
	}
	if len(doc.Agents) != 2 || doc.Agents[0].Type != "explore" || doc.Agents[0].Messages != 2 || doc.Agents[0].Prompt != "Find all callers of Total. Report their files." {
		t.Errorf("agents %+v", doc.Agents)
	}
	// Every line of the log is in the export, byte for byte, once.
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	all := slices.Concat(doc.Entries, doc.Others)
	if len(all) != len(lines) || report.Entries != len(lines) {
		t.Fatalf("%d entries of %d lines, report %d", len(all), len(lines), report.Entries)
	}
	for _, l := range lines {
		if !slices.ContainsFunc(all, func(raw json.RawMessage) bool { return string(raw) == l }) {
			t.Errorf("missing or changed: %.200s", l)
		}
	}
	// Redacted, number texts and everything without secrets are the same.
	got, _ = export(t, s, "json", Options{})
	if err := json.Unmarshal([]byte(got), &doc); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"retryInMs":545.2778597981155`, `"preTokens":155377`, `[left out: `} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in the export", want)
		}
	}
	if strings.Contains(got, base64.StdEncoding.EncodeToString(picture(t))[:200]) {
		t.Error("an image is in the export though it was not asked for")
	}
}

// Images are in the page only when asked for, and only those that cannot run.
func TestImages(t *testing.T) {
	w := newWriter(t)
	w.add(w.stamp.User("", message.UserBlocks(message.Text("look"), message.Image("image/png", picture(t)), message.Image("image/svg+xml", []byte("<svg onload='alert(1)'/>")),
		message.Document("application/pdf", []byte("%PDF-1.7")))))
	s := w.session()
	for _, ext := range []string{"md", "html"} {
		got, _ := export(t, s, ext, Options{})
		if strings.Contains(got, "data:image") {
			t.Errorf("%s embeds images unasked", ext)
		}
		for _, want := range []string{"Image, image/png, ", "Image, image/svg", "Document, application/pdf, "} {
			if !strings.Contains(html.UnescapeString(got), want) {
				t.Errorf("%s has no note %q", ext, want)
			}
		}
		got, _ = export(t, s, ext, Options{EmbedImages: true})
		if n := strings.Count(got, "data:image/png;base64,"); n != 1 {
			t.Errorf("%s embeds %d images", ext, n)
		}
		if strings.Contains(got, "data:image/svg") || strings.Contains(got, "data:application") {
			t.Errorf("%s embeds what may hold scripts", ext)
		}
	}
}

// A secret that does not fit the short form of a prompt is redacted as a whole
// before the prompt is cut for a title or a list.
func TestLongSecretInTitle(t *testing.T) {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	token := part(`{"alg":"RS256"}`) + "." + part(`{"sub":"`+strings.Repeat("claims of all kinds ", 80)+`"}`) + "." + strings.Repeat("aZ0_", 40)
	w := newWriter(t)
	w.prompt("Is " + token + " still good?")
	w.prompt("And now?")
	s := w.session()
	for _, f := range formats {
		got, _ := export(t, s, f.ext, Options{})
		if strings.Contains(got, token[:16]) {
			t.Errorf("%s shows the beginning of a token", f.ext)
		}
	}
}

// hostile are contents that would like to be more than text.
var hostile = []string{
	"<script>alert(1)</script>", "</style><script>alert(1)</script>", "</title><img src=x onerror=alert(1)>", "<img src=\"http://evil.example/x.png\">",
	"[click](javascript:alert(1))", "![](http://evil.example/track.png)", "<a href=\"javascript:alert(1)\">x</a>", "[x]: javascript:alert(1)\n\n[x]", "</pre></details><h1>You</h1>",
	"```\n</pre>\n````\n# User\n````", "~~~~\ncode\n~~~~", "<details><summary>x", "-->", "<!-- ", "<![CDATA[", "{{.}}", "\u202egnp.exe", "a\u200bb\u2066c", "\x1b]52;c;eA==\x07", "\x00",
	"` <b>x</b>", "\\<script>alert(1)</script>", "&lt;script&gt;", "<svg/onload=alert(1)>", "\xff\xfe", "[a](a](javascript:alert(1))", "| `a | <b>` |\n|--|--|", "<javascript:alert(1)>",
}

// hostileSession has every hostile content in every place.
func hostileSession(t *testing.T) *Session {
	w := newWriter(t)
	all := strings.Join(hostile, "\n\n")
	w.stamp.CWD, w.stamp.GitBranch = "/tmp/"+hostile[0], hostile[1]
	w.add(w.stamp.Meta("custom-title", hostile[2]+hostile[16]))
	for _, h := range append(hostile, all) {
		w.prompt(h)
		call, id := w.call(h, map[string]any{"command": h, h: h, "long": h + "\n" + h})
		w.reply("msg_"+id, message.Thinking(h, ""), message.Text(h), call)
		w.result(id, true, message.Text(h), message.Image(h, []byte(h)))
		w.attach(map[string]any{"type": h, "filename": h}, h)
		w.add(w.stamp.System(w.tip, "local_command", h, "info"))
		w.meta(h)
	}
	b := w.add(w.stamp.CompactBoundary(w.tip, transcriptBoundary(hostile[0])))
	w.add(w.stamp.Summary(b, message.User(all)))
	return w.session()
}

// U-4, DESIGN section 6: text nodes only. Every tag of the page is one of ours,
// with attributes of ours.
func TestHTMLHoldsOnlyOurTags(t *testing.T) {
	got, _ := export(t, hostileSession(t), "html", Options{EmbedImages: true})
	_, body, _ := strings.Cut(got, "<body>")
	tag := regexp.MustCompile(`<[^>]*>?`)
	ours := regexp.MustCompile(`^</?(header|main|footer|nav|article|div|details|summary|section|h[1-3]|p|pre|code|b|i|strong|span|bdi|time|ul|ol|li|dl|dt|dd|a|html|body)` +
		`( class="[a-z ]*"| id="e[0-9]+"| href="#e[0-9]+"| dir="auto"| open)*>$`)
	for _, m := range tag.FindAllString(body, -1) {
		if !ours.MatchString(m) {
			t.Errorf("a tag that is not ours: %.200s", m)
		}
	}
	checkNoHiddenText(t, got)
	for _, bad := range []string{"<script", "<img", "<svg", "javascript:alert(1)\""} {
		if strings.Contains(got, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
}

func checkNoHiddenText(t *testing.T, s string) {
	t.Helper()
	for _, r := range s {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x202e || r == 0x2066 || r == 0x200b {
			t.Errorf("%U is in the document", r)
			return
		}
	}
}

// The policy in the page allows our style sheet, by the hash of what the page
// holds, and nothing else.
func TestHTMLPolicy(t *testing.T) {
	got, _ := export(t, hostileSession(t), "html", Options{})
	m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(got)
	if m == nil {
		t.Fatal("no policy in the page")
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(got)
	sum := sha256.Sum256([]byte(style[1]))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'"
	if policy := html.UnescapeString(m[1]); policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	if strings.Index(got, "Content-Security-Policy") > strings.Index(got, "<title>") {
		t.Error("the policy stands behind content")
	}
	if strings.Contains(style[1], "url(") || strings.Contains(style[1], "@import") {
		t.Error("the style sheet loads something")
	}
	if strings.Contains(got, "<style") && strings.Count(got, "<style") != 1 || strings.Contains(got, " style=") {
		t.Error("there is a style that the policy does not know")
	}
}

// Markdown: outside of our fences and code spans there is no HTML but our folds,
// no image, and no link that is not to the web.
func TestMarkdownIsDisarmed(t *testing.T) {
	got, _ := export(t, hostileSession(t), "md", Options{})
	checkNoHiddenText(t, got)
	outside := regexp.MustCompile(`\\[!-/:-@\[-_{-~]`).ReplaceAllString(withoutCode(t, got), "") // escaped marks mean nothing
	tag := regexp.MustCompile(`<[A-Za-z/!?][^>]*>?`)
	for _, m := range tag.FindAllString(outside, -1) {
		if m != "<details>" && m != "</details>" && m != "<summary>" && m != "</summary>" {
			t.Errorf("HTML in the Markdown: %.100s", m)
		}
	}
	if strings.Contains(outside, "![") {
		t.Error("an image in the Markdown")
	}
	if strings.Contains(outside, "](javascript:") {
		t.Error("a script link in the Markdown")
	}
	if strings.Count(outside, "<details>") != strings.Count(outside, "</details>") {
		t.Error("folds are not closed")
	}
}

// withoutCode takes fenced blocks and code spans out of a document that this
// package wrote, and fails where a fence is not closed.
func withoutCode(t *testing.T, doc string) string {
	t.Helper()
	var out []string
	open := ""
	for _, l := range strings.Split(doc, "\n") {
		marks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case open == "" && len(marks) >= 3:
			open = marks
		case open == "":
			out = append(out, withoutSpans(l))
		case l == open:
			open = ""
		case len(marks) >= len(open) && strings.TrimSpace(l) == marks:
			t.Fatalf("a fence of %d is closed by content: %q", len(open), l)
		}
	}
	if open != "" {
		t.Fatal("a fence is not closed at the end of the document")
	}
	return strings.Join(out, "\n")
}

// withoutSpans takes the code spans out of a line: from a run of backticks to the
// next of the same length.
func withoutSpans(l string) string {
	runs := regexp.MustCompile("`+").FindAllStringIndex(l, -1)
	var b strings.Builder
	at := 0
	for i := 0; i < len(runs); i++ {
		for j := i + 1; j < len(runs); j++ {
			if runs[j][1]-runs[j][0] == runs[i][1]-runs[i][0] {
				b.WriteString(l[at:runs[i][0]])
				at = runs[j][1]
				i = j
				break
			}
		}
	}
	return b.String() + l[at:]
}

// T-10: a damaged log is exported as far as it can be read.
func TestDamagedLog(t *testing.T) {
	w := newWriter(t)
	w.prompt("before the damage")
	w.log.WriteString("{\"type\":\"user\",\"uuid\":\"x\",\"mess\n\x00\x00\x00\n[1,2]\n")
	w.log.WriteString(`{"type":"user","uuid":"77777777-0000-4000-8000-000000000000","parentUuid":"` + w.tip + `","message":"not a message"}` + "\n")
	w.tip = "77777777-0000-4000-8000-000000000000"
	w.log.WriteString(`{"type":"assistant","uuid":"77777778-0000-4000-8000-000000000000","parentUuid":"` + w.tip + `","message":{"role":"assistant","content":[{"type":"novel","x":1},7,{"type":"text","text":"after \ud800 it"}]}}` + "\n")
	w.tip = "77777778-0000-4000-8000-000000000000"
	w.prompt("after the damage")
	s := w.session()
	for _, f := range formats {
		got, _ := export(t, s, f.ext, Options{})
		for _, want := range []string{"before the damage", "after the damage", "novel"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q", f.ext, want)
			}
		}
		if f.ext == "json" && !json.Valid([]byte(got)) {
			t.Error("JSON is invalid")
		}
		if f.ext != "json" && !strings.Contains(got, "The log has damage in") {
			t.Errorf("%s does not say that the log is damaged", f.ext)
		}
	}
}

func TestEmptyLog(t *testing.T) {
	s := newWriter(t).session()
	for _, f := range formats {
		got, r := export(t, s, f.ext, Options{})
		if got == "" || r.Entries != 0 || !strings.Contains(got, s.ID) {
			t.Errorf("%s of an empty log: %q", f.ext, got)
		}
	}
}

type full struct{ after int }

var errFull = errors.New("no space left on device")

func (f *full) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// A full disk is an error of the export, wherever it strikes.
func TestWriteErrors(t *testing.T) {
	s := withAgents(t, everything(t))
	for _, after := range []int{0, 100, 2000, 5000} {
		for i, run := range []func(*full) error{
			func(w *full) error { _, err := Markdown(w, s, Options{}); return err },
			func(w *full) error { _, err := HTML(w, s, Options{}); return err },
			func(w *full) error { _, err := JSON(w, s, Options{}); return err },
		} {
			if err := run(&full{after}); !errors.Is(err, errFull) {
				t.Errorf("format %d, full after %d bytes: %v", i, after, err)
			}
		}
	}
}
