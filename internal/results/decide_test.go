package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/internal/vfs"
	"varve.dev/internal/vfs/crashfs"
	"varve.dev/message"
	"varve.dev/transcript"
)

// dir is absolute on every system.
var dir = filepath.Join(absolute(), "home", "s1", "tool-results")

func absolute() string {
	p, err := filepath.Abs(string(filepath.Separator))
	if err != nil {
		panic(err)
	}
	return p
}

func fresh(fsys vfs.FS, l Limits) *Decisions { return New(Folder{FS: fsys, Dir: dir}, l) }

func res(id, text string) Result {
	return Result{Block: message.ToolResult(id, false, message.Text(text))}
}

func read(t testing.TB, fsys vfs.FS, name string) string {
	t.Helper()
	data, err := vfs.ReadFile(fsys, filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func decide(t testing.TB, d *Decisions, rs ...Result) []transcript.Replacement {
	t.Helper()
	out, err := d.Decide(rs)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ids(rs []transcript.Replacement) string {
	var out []string
	for _, r := range rs {
		out = append(out, r.ToolUseID)
	}
	return strings.Join(out, " ")
}

// the literal form, the file, and the block.
func TestPersistedForm(t *testing.T) {
	fsys := crashfs.New()
	d := fresh(fsys, Limits{})
	text := strings.Repeat(strings.Repeat("x", 99)+"\n", 600) // 60,000 characters
	r := res("toolu_1", text)
	out := decide(t, d, r)
	want := "<persisted-output>\nOutput too large (58.6KB). Full output saved to: " + filepath.Join(dir, "toolu_1.txt") +
		"\n\nPreview (first 2KB):\n" + strings.TrimSuffix(text[:2000], "\n") + "\n...\n</persisted-output>"
	if len(out) != 1 || out[0] != (transcript.Replacement{Kind: "tool-result", ToolUseID: "toolu_1", Replacement: want}) {
		t.Fatalf("got %+v\nwant %s", out, want)
	}
	if read(t, fsys, "toolu_1.txt") != text {
		t.Error("the file does not hold the result")
	}
	st, err := fsys.Stat(filepath.Join(dir, "toolu_1.txt"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	got := d.Apply(r.Block)
	if got.Content[0].Text != want || !got.StringContent || got.ToolUseID != "toolu_1" {
		t.Errorf("applied: %s", got.Raw)
	}
	if Path(want) != filepath.Join(dir, "toolu_1.txt") || Path("x") != "" || Path(formStart+"x"+formEnd) != "" {
		t.Error("Path")
	}
}

// min(the tool's own limit, 50,000), in characters. anthropics/claude-code#60600, QwenLM/qwen-code#2439, anthropics/claude-code#45766
func TestResultLimit(t *testing.T) {
	e := strings.Repeat("é", 50_000)            // 100,000 bytes
	smile := strings.Repeat("😀", 30_000)        // 60,000 UTF-16 units
	mcp := strings.Repeat("[{},{}]\n", 250_000) // 2 MB
	for _, c := range []struct {
		name   string
		text   string
		limit  int
		limits Limits
		disk   bool
	}{
		{"50,000 letters", e, 0, Limits{}, false},
		{"one more", e + "x", 0, Limits{}, true},
		{"a tool with a higher limit", e + "x", 100_000, Limits{}, true},
		{"a tool with a lower limit", strings.Repeat("x", 30_001), 30_000, Limits{}, true},
		{"code points", smile, 0, Limits{}, false},
		{"UTF-16 units", smile, 0, Limits{UTF16: true}, true},
		{"UTF-16 units of letters", e, 0, Limits{UTF16: true}, false},
		{"2 MB of another server", mcp, 0, Limits{}, true},
		{"a setting", "12345678901", 0, Limits{Result: 10}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := res("a", c.text)
			r.Limit = c.limit
			if out := decide(t, fresh(crashfs.New(), c.limits), r); (len(out) == 1) != c.disk {
				t.Errorf("%d decisions", len(out))
			}
		})
	}
}

// two results with one id, which only a damaged log has, are one decision, and one file.
func TestSameID(t *testing.T) {
	fsys := crashfs.New()
	d := fresh(fsys, Limits{Result: 100})
	if out := decide(t, d, res("a", strings.Repeat("x", 200)), res("a", strings.Repeat("y", 300))); len(out) != 1 {
		t.Errorf("%d decisions", len(out))
	}
}

// reading a persisted result never persists it again.
func TestReadBack(t *testing.T) {
	fsys := crashfs.New()
	d := fresh(fsys, Limits{Result: 100})
	text := strings.Repeat("0123456789\n", 50)
	out := decide(t, d, res("a", text))
	path := Path(out[0].Replacement)
	if !d.Holds(path) || d.Holds(filepath.Join(dir, "..", "notes.md")) || d.Holds(filepath.Join(dir, "..", "tool-results", "..", "x.txt")) || d.Holds("a.txt") {
		t.Error("Holds")
	}
	back := res("b", text)
	back.Whole = d.Holds(path)
	if out := decide(t, d, back); len(out) != 0 {
		t.Errorf("persisted again: %v", out)
	}
	// A fork reads what its origin persisted; another folder, named in the entries it copied.
	fork := New(Folder{FS: fsys, Dir: filepath.Join(dir, "..", "..", "s2", "tool-results")}, Limits{})
	fork.Load(out...)
	if !fork.Holds(path) {
		t.Error("a fork does not know the file of its origin")
	}
	// A result that is in the form already, as a tool of the reference writes it, is not persisted once more.
	if out := decide(t, d, res("c", out[0].Replacement)); len(out) != 0 {
		t.Errorf("the form was persisted: %v", out)
	}
	// Nothing hides behind the form.
	fake := formStart + "x" + formSaved + "/x\n" + strings.Repeat("y", 9000) + formEnd
	if out := decide(t, d, res("d", fake)); len(out) != 1 {
		t.Error("a long output that pretends to be in the form stayed whole")
	}
}

// the largest of those not yet sent, until the message is within its limit.
func TestMessageLimit(t *testing.T) {
	text := func(n int) string { return strings.Repeat("x", n) }
	d := fresh(crashfs.New(), Limits{})
	rs := []Result{res("a", text(49_000)), res("b", text(50_000)), res("c", text(50_000)), res("d", text(48_000)), res("e", text(10))}
	if out := decide(t, d, rs[:4]...); len(out) != 0 { // 197,000
		t.Fatal(ids(out))
	}
	if out := decide(t, d, append(rs[:4:4], res("full", text(3_000)))...); len(out) != 0 { // 200,000
		t.Fatal(ids(out))
	}
	rs = append(rs, res("f", text(4_000)))
	if out := decide(t, d, rs...); ids(out) != "b" { // of two that are largest the earlier
		t.Fatal(ids(out))
	}
	d.Sent("a", "b", "c", "d", "e", "f")
	rs = append(rs, res("g", text(45_000)), res("h", text(3_000)))
	if out := decide(t, d, rs...); ids(out) != "g" { // not c, which was sent
		t.Fatal(ids(out))
	}
	total := 0
	for _, r := range rs {
		total += len(contentText(d.Apply(r.Block)))
	}
	if total > 200_000 {
		t.Errorf("%d characters", total)
	}
}

// R-2 where previews alone would break the limit: they get shorter.
func TestManyResults(t *testing.T) {
	d := fresh(crashfs.New(), Limits{})
	var rs []Result
	for i := range 300 {
		rs = append(rs, res(fmt.Sprint("id", i), strings.Repeat("line\n", 600)))
	}
	if out := decide(t, d, rs...); len(out) == 0 {
		t.Fatal("nothing decided")
	}
	total := 0
	for _, r := range rs {
		total += len(contentText(d.Apply(r.Block)))
	}
	if total > 200_000 {
		t.Errorf("%d characters", total)
	}
	// Results that a form would not make shorter stay.
	d = fresh(crashfs.New(), Limits{Message: 100})
	if out := decide(t, d, res("a", strings.Repeat("x", 90)), res("b", strings.Repeat("x", 90))); len(out) != 0 {
		t.Error(ids(out))
	}
}

// frozen, also "kept whole".
func TestFrozen(t *testing.T) {
	d := fresh(crashfs.New(), Limits{Result: 10})
	d.Sent("whole")
	big := res("whole", strings.Repeat("x", 100))
	if out := decide(t, d, big); len(out) != 0 {
		t.Error("a result that was sent whole was replaced")
	}
	if got := d.Apply(big.Block); string(got.Raw) != string(big.Block.Raw) {
		t.Error("a result kept whole was changed")
	}
	d.Load(transcript.Replacement{Kind: KindToolResult, ToolUseID: "x", Replacement: "first"},
		transcript.Replacement{Kind: KindToolResult, ToolUseID: "x", Replacement: "second"},
		transcript.Replacement{Kind: "other", ToolUseID: "y", Replacement: "not ours"},
		transcript.Replacement{Kind: KindToolResult, Replacement: "of nothing"})
	if got := d.Apply(res("x", "long").Block); got.Content[0].Text != "first" {
		t.Errorf("T-12: the first wins, got %s", got.Raw)
	}
	if got := d.Apply(res("y", "long").Block); got.Content[0].Text != "long" {
		t.Errorf("a replacement of another kind was applied: %s", got.Raw)
	}
}

func TestSentIn(t *testing.T) {
	call := func(id string) message.Message {
		b, err := message.ToolUse(id, "Read", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return message.Assistant(b)
	}
	ms := []message.Message{message.User("hi"), call("a"), message.UserBlocks(res("a", "1").Block), call("b"), message.UserBlocks(res("b", "2").Block)}
	if got := SentIn(ms); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v", got)
	}
	if got := SentIn(ms[:1]); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestMixedContent: images and documents stay in place, everything else is text.
func TestMixedContent(t *testing.T) {
	img, pdf := message.Image("image/png", []byte{1}), message.Document("application/pdf", []byte{2})
	found, err := message.ParseBlock([]byte(`{"type":"search_result","source":"s","title":"t","content":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := string(message.AppendBlocks(nil, []message.Block{img, message.Text("first"), pdf, found, message.Text("last")}))
	b, err := message.ParseBlock([]byte(`{"type":"tool_result","tool_use_id":"a","is_error":true,"content":` + raw + `,"extra":1.50}`))
	if err != nil {
		t.Fatal(err)
	}
	fsys := crashfs.New()
	d := fresh(fsys, Limits{Result: 10, Preview: 8})
	decide(t, d, Result{Block: b})
	if got, want := read(t, fsys, "a.txt"), "first\n"+string(found.Raw)+"\nlast"; got != want {
		t.Errorf("file %q, want %q", got, want)
	}
	form := message.Text(d.replaced["a"])
	want := `{"type":"tool_result","tool_use_id":"a","is_error":true,"content":` + string(message.AppendBlocks(nil, []message.Block{img, form, pdf})) + `,"extra":1.50}`
	if got := string(d.Apply(b).Raw); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// An image has no characters, however large.
	if out := decide(t, d, Result{Block: message.ToolResult("b", false, message.Image("image/png", make([]byte, 1000)))}); len(out) != 0 {
		t.Error("an image went to disk")
	}
	// A replacement of another tool for a result without text.
	d.Load(transcript.Replacement{Kind: KindToolResult, ToolUseID: "c", Replacement: "r"})
	if got, want := string(d.Apply(message.ToolResult("c", false, img)).Raw), `{"tool_use_id":"c","type":"tool_result","content":[{"type":"text","text":"r"},`+string(img.Raw)+`]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := d.Apply(message.ToolResult("c", false)); got.Content[0].Text != "r" {
		t.Errorf("no content: %s", got.Raw)
	}
	if got := d.Apply(message.Text("c")); got.Text != "c" {
		t.Error("a text was changed")
	}
}

// round writes decisions as an entry and reads them back, as a resumed session does.
func round(t rapid.TB, rs []transcript.Replacement) []transcript.Replacement {
	t.Helper()
	raw, err := (transcript.Stamp{SessionID: "s"}).Replacements(rs...).Raw()
	if err != nil {
		t.Fatal(err)
	}
	e, err := transcript.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Replacements()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestProperties: for any results of any sessions, R-1 to R-3 hold: limits, idempotence, determinism, files before entries, and the same
// bytes in every later request, after a resume, and when the files are gone.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Result: rapid.SampledFrom([]int{300, 1000}).Draw(t, "result"), Message: rapid.SampledFrom([]int{1500, 4000}).Draw(t, "message"),
			Preview: rapid.IntRange(1, 200).Draw(t, "preview"), UTF16: rapid.Bool().Draw(t, "utf16")}
		fsys, twin := crashfs.New(), crashfs.New()
		d, same := fresh(fsys, limits), fresh(twin, limits)
		id := rapid.SampledFrom([]string{"toolu_1", "TOOLU_1", "../../etc/passwd", "a/b", "con", strings.Repeat("long", 40), "é", "a\x00b"})
		word := rapid.SampledFrom([]string{"x", "é", "😀", "\n", "line\n", "\ud7ff", "\xff", formStart, formEnd})
		var log [][]transcript.Replacement
		var sent []string
		shown := map[string]string{} // what was sent, by id
		used := map[string]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			var rs []Result
			for range rapid.IntRange(0, 6).Draw(t, "results") {
				name := id.Draw(t, "id") + fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "n"))
				if used[name] {
					continue
				}
				used[name] = true
				text := strings.Repeat(word.Draw(t, "word"), rapid.IntRange(0, 1500).Draw(t, "times"))
				r := res(name, text)
				r.Limit = rapid.SampledFrom([]int{0, 0, 250, 100_000}).Draw(t, "limit")
				if rapid.IntRange(0, 5).Draw(t, "image") == 0 {
					r.Block = message.ToolResult(name, false, message.Text(text), message.Image("image/png", []byte("x")))
				}
				r.Whole = rapid.IntRange(0, 9).Draw(t, "whole") == 0
				rs = append(rs, r)
			}
			out, err := d.Decide(rs)
			if err != nil {
				t.Fatal(err)
			}
			if twice, err := same.Decide(rs); err != nil || !slices.Equal(twice, out) {
				t.Fatalf("not deterministic: %v, %v", twice, err)
			}
			if again, err := d.Decide(rs); err != nil || len(again) != 0 {
				t.Fatalf("not idempotent: %v, %v", again, err)
			}
			for _, r := range out {
				want := contentText(rs[slices.IndexFunc(rs, func(x Result) bool { return x.Block.ToolUseID == r.ToolUseID })].Block)
				if got, err := vfs.ReadFile(fsys.Crash(crashfs.Options{}), Path(r.Replacement)); err != nil || string(got) != want {
					t.Fatalf("%s does not hold the result of %q: %v", Path(r.Replacement), r.ToolUseID, err)
				}
				if filepath.Dir(Path(r.Replacement)) != dir {
					t.Fatalf("a file outside the folder: %s", Path(r.Replacement))
				}
			}
			hold(t, d, limits, rs)
			log = append(log, round(t, out))
			for _, r := range rs {
				shown[r.Block.ToolUseID] = string(d.Apply(r.Block).Raw)
				sent = append(sent, r.Block.ToolUseID)
			}
			d.Sent(sent...)
			same.Sent(sent...)

			resumed := New(Folder{FS: crashfs.New(), Dir: dir}, Limits{Result: 7, Message: 7, Preview: 3}) // no files, other settings
			for _, rs := range log {
				resumed.Load(rs...)
			}
			resumed.Sent(sent...)
			if out, err := resumed.Decide(rs); err != nil || len(out) != 0 {
				t.Fatalf("decided again after a resume: %v, %v", out, err)
			}
			for _, r := range rs {
				if got := string(resumed.Apply(r.Block).Raw); got != shown[r.Block.ToolUseID] || !json.Valid([]byte(got)) {
					t.Fatalf("sent  %q\nagain %q", shown[r.Block.ToolUseID], got)
				}
			}
		}
	})
}

// hold fails when a limit does not hold although it could.
func hold(t *rapid.T, d *Decisions, limits Limits, rs []Result) {
	total, left := 0, 0
	for _, r := range rs {
		text := contentText(d.Apply(r.Block))
		n := limits.count(text)
		total += n
		_, replaced := d.replaced[r.Block.ToolUseID]
		limit := limits.Result
		if r.Limit > 0 {
			limit = min(limit, r.Limit)
		}
		if r.Whole || replaced {
			continue
		}
		if n > limit && !isForm(text, limits.Preview) {
			t.Fatalf("a result of %d characters was kept", n)
		}
		if n > limits.count(form(d.folder.path(r.Block.ToolUseID, text), text, 0)) && !isForm(text, limits.Preview) {
			left++
		}
	}
	if total > limits.Message && left > 0 {
		fits := fresh(crashfs.New(), limits)
		if _, ok := fits.plan(rs, 0); ok {
			t.Fatalf("%d characters in a message, %d results could be shorter", total, left)
		}
	}
}

// BenchmarkDecide is a user message of 20 results of 20 KB, of which the limit of the message sends 10 to (a) disk (of memory).
func BenchmarkDecide(b *testing.B) {
	var rs []Result
	for i := range 20 {
		rs = append(rs, res(fmt.Sprint("id", i), strings.Repeat("a line of text\n", 1333)))
	}
	b.SetBytes(20 * 1333 * 15)
	for b.Loop() {
		decide(b, fresh(crashfs.New(), Limits{}), rs...)
	}
}

// BenchmarkNothingToDecide is the common case: small results.
func BenchmarkNothingToDecide(b *testing.B) {
	d := fresh(crashfs.New(), Limits{})
	r := res("a", strings.Repeat("a line of text\n", 100))
	b.ReportAllocs()
	for b.Loop() {
		decide(b, d, r)
	}
}
