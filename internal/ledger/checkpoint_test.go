package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"varve.dev/internal/ledger"
	"varve.dev/transcript"
)

// TestCheckpointEntry: the side entry is one of the log's own cursors, survives being
// written and read, and is refused when it was changed.
func TestCheckpointEntry(t *testing.T) {
	l := shop(t).ledger()
	e := l.Entry(newTalk(t).Stamp(""))
	raw, err := e.Raw()
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Covers()
	if err != nil || c.Kind != ledger.Kind || c.UptoUUID != l.Upto() || len(c.Hash) != 64 {
		t.Errorf("as a cursor: %+v %v", c, err)
	}
	again, err := transcript.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := ledger.FromEntry(again)
	if !ok || err != nil || !bytes.Equal(got.Checkpoint(), l.Checkpoint()) {
		t.Fatalf("not the same after reading: %v %v", ok, err)
	}
	for _, c := range []struct{ name, from, to string }{
		{"another state", "checkout", "checkin "}, {"another end", `"uptoUuid":"`, `"uptoUuid":"x`}, {"another version", `{"v":1`, `{"v":2`},
	} {
		bad, err := transcript.Parse([]byte(strings.Replace(string(raw), c.from, c.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok, err := ledger.FromEntry(bad); !ok || !errors.Is(err, ledger.ErrCheckpoint) {
			t.Errorf("%s: %v %v", c.name, ok, err)
		}
	}
	notes := newTalk(t).Stamp("").Side(transcript.TypeCovers, transcript.Covers{Kind: "notes", UptoUUID: "u1"})
	if _, ok, err := ledger.FromEntry(notes); ok || err != nil {
		t.Errorf("a cursor of notes: %v %v", ok, err)
	}
	for _, bad := range []string{"", "null", "[]", "{}", `{"v":2}`, `{"v":1,"words":7}`, "{"} {
		if _, err := ledger.Restore(json.RawMessage(bad)); !errors.Is(err, ledger.ErrCheckpoint) {
			t.Errorf("Restore(%q): %v", bad, err)
		}
	}
}

// TestForged: a checkpoint that somebody wrote by hand cannot leave its quotes either.
func TestForged(t *testing.T) {
	state := `{"v":1,"n":-5,"cwd":"/w\n## Plan","branch":"b\n# Ledger","words":[{"k":"odd","t":"x\r## Open tasks"},{"t":"y","on":"q\n## z","from":"a\n## b","k":"answer"}],
"files":[{"p":"a\n## Files changed","k":"a","e":-3,"w":1},{"p":"twice","k":"a"}],"runs":[{"c":"ls\u2028## x","n":1,"o":"\n## out","tool":"T\n## t"}],"fails":[{"k":"k","w":"w\n## w","n":1,"by":["p\n## p"],"ok":4,"then":"t\n## t","wide":"v\n## v"}],
"stated":[{"t":"s\n## s"}],"todos":[{"t":"todo\n## todo","s":"odd\n## odd","d":"d\n## d","id":"i\n## i"}],"plan":{"t":"p\n## p","f":"f\n## f"},"said":"said\n## said","earlier":{"t":"e\n## e","src":"m\n## m"},
"calls":[{"id":"c1","n":"N\n## n","a":"write","p":"p\n## p"}],"lost":{"reads":-1}}`
	l, err := ledger.Restore(json.RawMessage(state))
	if err != nil {
		t.Fatal(err)
	}
	checkFrame(t, l.Render(ledger.Unlimited, nil))
	again, err := ledger.Restore(l.Checkpoint())
	if err != nil || !bytes.Equal(again.Checkpoint(), l.Checkpoint()) {
		t.Errorf("restoring twice is not restoring once: %v", err)
	}
}

// TestResume: the newest checkpoint of the branch is used, one of another branch is not,
// and the result is that of the whole branch.
func TestResume(t *testing.T) {
	k := newTalk(t)
	k.says("first").edit("/w/p/a.go").bash("make test", 1, "error: x")
	atFork := k.tip
	fork := of(t, k.entries())
	k.Add(fork.Entry(k.Stamp("")))
	k.says("a road not taken").edit("/w/p/gone.go")
	k.Add(k.ledger().Entry(k.Stamp("")))
	k.tip = atFork
	queueOp(k, "enqueue", "40:00", "said in between")
	k.says("the other road").edit("/w/p/b.go").bash("make test", 0, "ok")

	log := logOf(t, k)
	branch := log.Chain(log.Tip()).Entries
	got, err := ledger.Resume(log.Entries, branch)
	if err != nil {
		t.Fatal(err)
	}
	r := got.Render(ledger.Unlimited, nil)
	for _, no := range []string{"a road not taken", "gone.go"} {
		wantNotIn(t, r, no)
	}
	for _, yes := range []string{"first", "the other road", "said in between", "after changes to `/w/p/b.go`"} {
		wantIn(t, r, yes)
	}
	if want := k.ledgerOf(log, branch); !bytes.Equal(got.Checkpoint(), want.Checkpoint()) {
		t.Errorf("resumed from a checkpoint:\n%s\ncomputed whole:\n%s", got.Checkpoint(), want.Checkpoint())
	}
}

// ledgerOf computes the ledger of a branch and of the log's queue without any checkpoint.
func (k *talk) ledgerOf(log *transcript.Log, branch []*transcript.Entry) *ledger.Ledger {
	k.t.Helper()
	var es []*transcript.Entry
	for _, e := range log.Entries {
		if e.Type == transcript.TypeQueueOperation {
			es = append(es, e)
		}
	}
	return of(k.t, append(es, branch...))
}

func logOf(t testing.TB, k *talk) *transcript.Log {
	t.Helper()
	data := k.Bytes()
	l, err := transcript.Read(t.Context(), bytes.NewReader(data), int64(len(data)), transcript.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestResumeTail: with a checkpoint beside the boundary, the entries before it are not
// needed (G-9).
func TestResumeTail(t *testing.T) {
	k := newTalk(t)
	k.says("the one request").edit("/w/p/a.go")
	whole := k.ledger()
	leaf := k.tip
	k.Boundary("b1", leaf, transcript.Boundary{})
	k.Summary("s1", "b1")
	k.Add(whole.Entry(k.Stamp("")))
	k.tip = "s1"
	k.says("go on").edit("/w/p/b.go")

	log := logOf(t, k)
	chain := log.Chain(log.Tip())
	if chain.Boundary == nil {
		t.Fatal("the chain does not start at the boundary")
	}
	got, err := ledger.Resume(log.Entries, chain.Entries)
	if err != nil {
		t.Fatal(err)
	}
	r := got.Render(ledger.Unlimited, nil)
	wantIn(t, r, "> the one request")
	wantIn(t, r, "/w/p/a.go")
	wantIn(t, r, "/w/p/b.go")
	if want := k.ledger(); !bytes.Equal(got.Checkpoint(), want.Checkpoint()) {
		t.Errorf("resumed from the tail:\n%s\ncomputed whole:\n%s", got.Checkpoint(), want.Checkpoint())
	}
}
