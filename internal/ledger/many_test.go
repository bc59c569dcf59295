package ledger_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"varve.dev/internal/ledger"
	"varve.dev/transcript"
)

// G-2: of a conversation in which more was said than a checkpoint should repeat each
// time, the newest messages stand as they were said, older ones with their beginning,
// the oldest are counted; and a state that was restored half way goes on as one that
// was computed whole.
func TestMuchSaid(t *testing.T) {
	const n = 6000
	k := newTalk(t)
	for i := range n {
		text := fmt.Sprintf("request %d: please change the widget number %d", i, i)
		switch {
		case i%500 == 7:
			text += strings.Repeat(" and mind the long list", 3000)
		case i%3 == 0:
			text += strings.Repeat(" as it was said before", 20)
		}
		k.says(text)
	}
	es := k.entries()
	whole := of(t, es)
	half, err := ledger.Restore(of(t, es[:len(es)/2]).Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es[len(es)/2:] {
		if err := half.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	state := whole.Checkpoint()
	if !bytes.Equal(half.Checkpoint(), state) {
		t.Error("a restored ledger goes on otherwise than one that was computed whole")
	}
	if len(state) > 700<<10 {
		t.Errorf("the checkpoint of %d messages has %d bytes", n, len(state))
	}
	all := whole.Render(ledger.Unlimited, nil)
	wantIn(t, all, fmt.Sprintf("%d.\n> request %d: please", n, n-1))
	wantIn(t, all, "older messages of the user")
	wantIn(t, all, "bytes were not kept")
	shown, left := strings.Count(all, "> request "), 0
	if _, err := fmt.Sscanf(strings.ReplaceAll(all[strings.LastIndex(all, "Left out"):], ",", ""), "Left out for lack of room: %d older messages", &left); err != nil || shown+left != n {
		t.Errorf("%d shown and %d left out of %d (%v)", shown, left, n, err)
	}
	checkFrame(t, all)
	if out := whole.Render(20_000, nil); !strings.Contains(out, fmt.Sprintf("request %d", n-1)) {
		t.Error("the newest message is not in a usual render")
	}
}

// A single long message stays whole as long as it is the newest.
func TestLongPaste(t *testing.T) {
	k := newTalk(t)
	k.says("first").says(strings.Repeat("a pasted line of a log\n", 40_000) + "its end")
	wantIn(t, k.ledger().Render(ledger.Unlimited, nil), "its end")
	k.says("and now fix it")
	all := k.ledger().Render(ledger.Unlimited, nil)
	for _, w := range []string{"> first", "a pasted line of a log", "and now fix it", "bytes were not kept"} {
		wantIn(t, all, w)
	}
	wantNotIn(t, all, "its end")
}

// The same for files: the newest that were changed stay, the oldest are counted.
func TestManyChanged(t *testing.T) {
	const n = 3200
	k := newTalk(t)
	k.says("change all of them")
	for i := range n {
		k.edit(fmt.Sprintf("/w/p/f%d.go", i))
	}
	es := k.entries()
	whole := of(t, es)
	half, err := ledger.Restore(of(t, es[:len(es)*9/10]).Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es[len(es)*9/10:] {
		if err := half.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(half.Checkpoint(), whole.Checkpoint()) {
		t.Error("a restored ledger goes on otherwise than one that was computed whole")
	}
	all := whole.Render(ledger.Unlimited, nil)
	for _, yes := range []string{"f3199.go", "f600.go", "older changed files"} {
		wantIn(t, all, yes)
	}
	wantNotIn(t, all, "`/w/p/f100.go`")
}

// A folder that damage put a control character into names the same file before and
// after a checkpoint.
func TestOddFolder(t *testing.T) {
	line := func(id, parent, cwd string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"%s","parentUuid":"%s","cwd":"%s","message":{"role":"assistant","id":"m%s","content":[{"type":"tool_use","id":"t%s","name":"Read","input":{"file_path":"x"}}]}}`, id, parent, cwd, id, id)
	}
	answer := func(id, parent, cwd, call string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"%s","parentUuid":"%s","cwd":"%s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"text"}]}}`, id, parent, cwd, call)
	}
	var es []*transcript.Entry
	for _, s := range []string{line("a", "", `\u0001/w`), answer("b", "a", `\u0001/w`, "ta"), line("c", "b", "/w"), answer("d", "c", "/w", "tc")} {
		e, err := transcript.Parse([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	whole := of(t, es)
	half, err := ledger.Restore(of(t, es[:2]).Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es[2:] {
		if err := half.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(half.Checkpoint(), whole.Checkpoint()) {
		t.Errorf("restored\n%s\nwhole\n%s", half.Checkpoint(), whole.Checkpoint())
	}
}
