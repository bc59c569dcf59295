package ledger_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"varve.dev/internal/ledger"
	"varve.dev/internal/loggen"
	"varve.dev/internal/term"
	"varve.dev/tokens"
	"varve.dev/transcript"
)

// TestDeterministic: the same entries give the same bytes (G-2), and so do entries
// among which side and progress entries stand elsewhere or not at all.
func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		es := conversation(rt, newTalk(t))
		a, b := of(t, es), of(t, es)
		if string(a.Checkpoint()) != string(b.Checkpoint()) || a.Render(900, nil) != b.Render(900, nil) {
			rt.Fatal("two ledgers of the same entries differ")
		}
		var main, side []*transcript.Entry
		for _, e := range es {
			switch {
			case e.IsChain():
				main = append(main, e)
			case e.Type == transcript.TypeQueueOperation:
				side = append(side, e)
			}
		}
		for _, e := range side {
			i := rapid.IntRange(0, len(main)).Draw(rt, "place")
			main = append(main[:i], append([]*transcript.Entry{e}, main[i:]...)...)
		}
		if c := of(t, main); string(c.Checkpoint()) != string(a.Checkpoint()) {
			rt.Fatalf("side entries at other places change the ledger:\n%s\n%s", a.Checkpoint(), c.Checkpoint())
		}
	})
}

// TestIncremental: a restored state and the entries behind it equal a state that was
// computed whole, wherever the log is cut.
func TestIncremental(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		es := conversation(rt, newTalk(t))
		want := of(t, es)
		cut := rapid.IntRange(0, len(es)).Draw(rt, "cut")
		half := of(t, es[:cut])
		got, ok, err := ledger.FromEntry(half.Entry(transcript.Stamp{SessionID: "s1"}))
		if !ok || err != nil {
			rt.Fatalf("a checkpoint does not restore: %v %v\n%s", ok, err, half.Checkpoint())
		}
		if string(got.Checkpoint()) != string(half.Checkpoint()) {
			rt.Fatalf("restoring changes the state:\n%s\n%s", half.Checkpoint(), got.Checkpoint())
		}
		for _, e := range es[cut:] {
			if err := got.Add(e); err != nil {
				rt.Fatal(err)
			}
		}
		if string(got.Checkpoint()) != string(want.Checkpoint()) {
			rt.Fatalf("cut at %d of %d:\n%s\n%s", cut, len(es), want.Checkpoint(), got.Checkpoint())
		}
		if got.Render(ledger.Unlimited, nil) != want.Render(ledger.Unlimited, nil) {
			rt.Fatal("renders differ")
		}
	})
}

// sizes are ways to count: what a caller gives is not always as well behaved as an
// estimator.
var sizes = map[string]func(string) int{
	"tokens": tokens.Text,
	"bytes":  func(s string) int { return (len(s) + 3) / 4 },
	"runes":  utf8.RuneCountInString,
	"steep":  func(s string) int { n := len(s) / 4; return n + n*n/150 },
	"rough":  func(s string) int { return len(s)/4 + len(s)*7919%23 },
}

// TestBudget: a render holds within any budget from Minimum on, and a larger budget
// never shows less of anything.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := of(t, conversation(rt, newTalk(t)))
		if n := tokens.Text(l.Render(0, nil)); n > ledger.Minimum {
			rt.Fatalf("the frame takes %d tokens, more than Minimum", n)
		}
		for name, size := range sizes {
			least := size(l.Render(0, size))
			small := rapid.IntRange(least, least+3000).Draw(rt, "small")
			large := small + rapid.IntRange(0, 2000).Draw(rt, "more")
			for _, b := range []int{small, large} {
				if n := size(l.Render(b, size)); n > b {
					rt.Fatalf("%s: budget %d, the render takes %d", name, b, n)
				}
			}
			more := l.Shown(large, size)
			for key, limit := range l.Shown(small, size) {
				if more[key] < limit {
					rt.Fatalf("%s: %s is shown to %d within %d and to %d within %d", name, key, limit, small, more[key], large)
				}
			}
		}
	})
}

// TestOldestFirst: of messages of the user the oldest are shortened and left out first,
// and what is left out is counted.
func TestOldestFirst(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := newTalk(t)
		for range rapid.IntRange(1, 30).Draw(rt, "messages") {
			k.says("w" + strings.Repeat("ord in a message ", rapid.IntRange(0, 600).Draw(rt, "length")))
		}
		l := k.ledger()
		budget := rapid.IntRange(ledger.Minimum, 9000).Draw(rt, "budget")
		limits := l.WordLimits(budget, tokens.Text)
		left, last := 0, 0
		for _, n := range limits {
			if n == 0 {
				left++
			}
			if n < 0 {
				continue // it is whole, and may be short
			}
			if n < last {
				rt.Fatalf("a newer message is shown to %d characters, an older one to %d: %v", n, last, limits)
			}
			last = n
		}
		r := l.Render(budget, tokens.Text)
		if shown, said := shownAndLeft(r); shown > 0 && (said != left || shown != len(limits)-left) {
			rt.Fatalf("%d shown and %d said to be left out of %d, %d are:\n%s", shown, said, len(limits), left, r)
		}
	})
}

// ownLine is what a line of a render may begin with. All but the headings begin with a
// mark of ours.
var ownLine = regexp.MustCompile(`^(> |>$|- |\d+\.( \(|$)|\(\d|$|Written by: ` + "`?" + `[^#]|What it covers |Approved, |The user (approved|did not approve) |Presented; |Plan mode is on|Its file: |Facts taken |it is what people|Left out for lack of room: )`)

var ownHeading = regexp.MustCompile(`^(# Ledger of this conversation|## (` + strings.Join([]string{tEarlier, tWords, tTasks, tPlan, tStands, tFails, tDecisions, tFixed, tRuns, tChanged, tRead}, "|") + `))$`)

// checkFrame holds that nothing in a render can be taken for a line of the ledger's own.
func checkFrame(t interface{ Fatalf(string, ...any) }, r string) {
	if !utf8.ValidString(r) {
		t.Fatalf("not UTF-8: %q", r)
	}
	seen := map[string]bool{}
	for l := range strings.SplitSeq(r, "\n") {
		for _, c := range l {
			if c != '\t' && unicode.IsControl(c) || term.IsBidi(c) || c == 0x2028 || c == 0x2029 {
				t.Fatalf("control character %U in %q", c, l)
			}
		}
		if strings.HasPrefix(l, "#") {
			if !ownHeading.MatchString(l) || seen[l] {
				t.Fatalf("heading %q in\n%s", l, r)
			}
			seen[l] = true
			continue
		}
		if !ownLine.MatchString(l) {
			t.Fatalf("line %q in\n%s", l, r)
		}
	}
}

// TestQuoted: whatever people, models, tools and files say stays inside its quotes.
func TestQuoted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := of(t, conversation(rt, newTalk(t)))
		checkFrame(rt, l.Render(ledger.Unlimited, nil))
		checkFrame(rt, l.Render(rapid.IntRange(0, 2000).Draw(rt, "budget"), nil))
	})
}

// TestCompleteIsComplete: a summary and what was appended to it miss nothing, a ledger's
// own text misses nothing, and the appended part holds within its budget.
func TestCompleteIsComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := of(t, conversation(rt, newTalk(t)))
		if m := l.Missing(l.Render(ledger.Unlimited, nil)); len(m) > 0 {
			rt.Fatalf("the ledger's own text misses %q", m)
		}
		summary := texts().Draw(rt, "summary")
		done := l.Complete(summary, ledger.Unlimited, nil)
		if m := l.Missing(done); len(m) > 0 {
			rt.Fatalf("%q is missing in\n%s", m, done)
		}
		if again := l.Complete(done, ledger.Unlimited, nil); again != done {
			rt.Fatalf("completing twice adds again:\n%s", again)
		}
		if !strings.HasPrefix(done, strings.TrimRight(summary, "\n")) {
			rt.Fatal("the summary was changed")
		}
		budget := rapid.IntRange(0, 1500).Draw(rt, "budget")
		short := l.Complete(summary, budget, nil)
		if added := strings.TrimPrefix(strings.TrimPrefix(short, strings.TrimRight(summary, "\n")), "\n\n"); short != summary && tokens.Text(added) > budget {
			rt.Fatalf("budget %d, %d added", budget, tokens.Text(added))
		}
	})
}

// TestGenerated: logs of every shape that real ones have (split replies, results of
// parallel calls, rewinds, damage) never fail and are the same when cut.
func TestGenerated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lines := loggen.Make(choices{rt}, loggen.Options{Turns: rapid.IntRange(1, 8).Draw(rt, "turns"), Boundaries: true, Rewinds: true, Damage: true, Thinking: true})
		var es []*transcript.Entry
		for _, s := range lines {
			if e, err := transcript.Parse([]byte(s)); err == nil {
				es = append(es, e)
			}
		}
		want := of(t, es)
		checkFrame(rt, want.Render(ledger.Unlimited, nil))
		cut := rapid.IntRange(0, len(es)).Draw(rt, "cut")
		got, err := ledger.Restore(of(t, es[:cut]).Checkpoint())
		if err != nil {
			rt.Fatal(err)
		}
		for _, e := range es[cut:] {
			if err := got.Add(e); err != nil {
				rt.Fatal(err)
			}
		}
		if string(got.Checkpoint()) != string(want.Checkpoint()) {
			rt.Fatal("a restored state differs")
		}
	})
}

type choices struct{ t *rapid.T }

func (c choices) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, fmt.Sprint("of ", n)) }
