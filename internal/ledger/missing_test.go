package ledger_test

import (
	"strings"
	"testing"

	"varve.dev/internal/ledger"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// shop is a conversation with one fact of every kind that a summary is held to.
func shop(t testing.TB) *talk {
	k := newTalk(t)
	k.says("Please make the checkout page faster, it takes four seconds to load on mobile.")
	k.does("TodoWrite", `{"todos":[{"content":"Measure the checkout page","status":"completed"},{"content":"Cache the price table between requests","status":"in_progress"}]}`, "ok")
	k.edit("/w/p/internal/price/cache.go").edit("/w/p/main.go").edit("/w/p/cmd/main.go").does("Read", `{"file_path":"/w/p/README.md"}`, "x")
	k.bash("go test ./internal/price", 1, "--- FAIL: TestCacheExpires (0.00s)")
	k.says("yes").says("缓存不要超过五分钟，谢谢。")
	k.gets(k.calls("ExitPlanMode", `{"plan":"# Speed up the checkout\n\n1. measure\n2. cache"}`), "User has approved your plan.", false, "")
	return k
}

func kinds(items []ledger.Item) string {
	var out []string
	for _, it := range items {
		out = append(out, string(it.Kind)+":"+strings.Fields(it.Text + " -")[0])
	}
	return strings.Join(out, " ")
}

// TestMissing: what a model's summary left out is found by rule, on the safe side (G-2).
func TestMissing(t *testing.T) {
	l := shop(t).ledger()
	all := "words:Please words:yes words:缓存不要超过五分钟，谢谢。 task:Cache plan:# branch:main failure:--- file:/w/p/internal/price/cache.go file:/w/p/main.go file:/w/p/cmd/main.go"
	for _, c := range []struct{ name, summary, want string }{
		{"nothing", "", all},
		{"something else", "The user and the assistant talked.", all},
		{"all of it, in its own form", `User messages:
- "Please make the checkout page faster, it takes four seconds to load on mobile."
- "yes"
- 缓存不要超过五分钟，谢谢。
Pending: cache the price table between requests.
The plan: Speed up the checkout. On branch main.
Files: internal/price/cache.go, /w/p/main.go, cmd/main.go
go test ./internal/price still fails.`, ""},
		{"told in nearly the same words", "He asked to please make the checkout page faster because it takes four seconds to load on any mobile.", strings.TrimPrefix(all, "words:Please ")},
		{"told freely", "The user wants better performance of the shop.", all},
		{"a name that is part of another", "see xcache.go and mycmd/mainline.go", all},
		{"a name of one file only", "changed cache.go", strings.Replace(all, " file:/w/p/internal/price/cache.go", "", 1)},
		{"a name of two files", "changed main.go", strings.Replace(all, " branch:main", "", 1)}, // the branch is called main
		{"by its message", "TestCacheExpires is red: --- FAIL: TestCacheExpires (0.00s)", strings.Replace(all, " failure:---", "", 1)},
		{"yes in a sentence", "Then he said yes to it.", all},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kinds(l.Missing(c.summary)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if got := kinds(l.Items()); got != all {
		t.Errorf("items: %s", got)
	}
}

// TestComplete: what is missing is appended under a heading of its own, the summary is
// kept as it is.
func TestComplete(t *testing.T) {
	l := shop(t).ledger()
	summary := "Summary:\n1. Checkout work.\n\n"
	got := l.Complete(summary, 2000, tokens.Text)
	for _, want := range []string{"Summary:\n1. Checkout work.\n\n# Added from the log: what the summary above leaves out\n", "## " + tWords + "\n1.\n> Please make", "## " + tTasks + "\n- [in progress] Cache the price table", "- `/w/p/internal/price/cache.go`"} {
		wantIn(t, got, want)
	}
	for _, no := range []string{"README.md", "## " + tDecisions, "Folder:"} {
		wantNotIn(t, got, no)
	}
	if got := l.Complete(summary, 20, tokens.Text); got != summary {
		t.Errorf("without room the summary comes back as it was, got\n%s", got)
	}
	small := l.Complete(summary, 160, tokens.Text)
	if n := tokens.Text(strings.TrimPrefix(small, summary)); n > 160 {
		t.Errorf("%d tokens were added", n)
	}
	wantIn(t, small, "left out for lack of room")
	if full := l.Render(ledger.Unlimited, nil); l.Complete(full, 500, nil) != full {
		t.Error("a complete text was changed")
	}
}

// TestCompleteRecorded: of the model's summaries in the recorded sessions, what they
// left out is appended, and then nothing is missing.
func TestCompleteRecorded(t *testing.T) {
	n, words, files := 0, 0, 0
	for _, path := range corpus(t) {
		l := ledger.New()
		for _, e := range whole(t, path).Entries {
			if m, err := e.Message(); err == nil && e.CompactSummary && e.Type == transcript.TypeUser && len(m.Content) > 0 {
				missing := l.Missing(m.Content[0].Text)
				for _, it := range missing {
					switch it.Kind {
					case ledger.ItemWords:
						words++
					case ledger.ItemFile:
						files++
					}
				}
				done := l.Complete(m.Content[0].Text, ledger.Unlimited, nil)
				if left := l.Missing(done); len(left) > 0 {
					t.Errorf("%s: still missing: %q", name(path), left)
				}
				n++
			}
			if err := l.Add(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d recorded summaries left out %d messages of users and %d changed files", n, words, files)
	if n < 10 {
		t.Error("too few summaries to mean anything")
	}
}
