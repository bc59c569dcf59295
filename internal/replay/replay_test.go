package replay_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"varve.dev/caps"
	"varve.dev/internal/replay"
	"varve.dev/view"
)

func bundledRun(t *testing.T, opt replay.Options) *replay.Result {
	t.Helper()
	rec, err := replay.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	opt.Model, _ = caps.Find(replay.UsualModel)
	if opt.Window == 0 {
		opt.Window = replay.BundledWindow
	}
	res, err := replay.Run(context.Background(), rec, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// partRun replays the beginning of the bundled recording, on a window that it fills
// some times.
func partRun(t *testing.T, opt replay.Options) *replay.Result {
	t.Helper()
	opt.Model, _ = caps.Find(replay.UsualModel)
	opt.Window = 24_000
	res, err := replay.Run(context.Background(), bundledPart(t), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Runs[0].Compactions) < 3 {
		t.Fatal("the part is too short to show anything")
	}
	return res
}

func bundledPart(t *testing.T) *replay.Recording {
	t.Helper()
	all, err := replay.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	rec, err := replay.FromEntries(all.Entries[:130])
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// G-1, G-3: what the command shows when it is given nothing: the ladder works,
// nothing that people said is lost, no file and no open task.
func TestBundled(t *testing.T) {
	res := bundledRun(t, replay.Options{})
	run := res.Runs[0]
	if run.Stopped != nil || run.Overflows != 0 || run.Peak > res.Limits.Effective {
		t.Errorf("stopped %v, %d overflows, peak %d of %d", run.Stopped, run.Overflows, run.Peak, res.Limits.Effective)
	}
	fired := map[string]bool{}
	for _, r := range run.Rungs {
		fired[r.Rung] = true
		if r.Freed <= 0 {
			t.Errorf("%s freed %d", r.Rung, r.Freed)
		}
	}
	for _, want := range []string{"micro", "ledger", "drop"} { // every one that needs neither model nor server
		if !fired[want] {
			t.Errorf("%s never fired: %v", want, run.Rungs)
		}
	}
	k := run.Kept
	if k.Words.Kept != k.Words.Of || k.Words.Shortened != 0 || k.Words.Of != 10 {
		t.Errorf("messages of people: %+v", k.Words)
	}
	if k.Files.Kept != k.Files.Of || k.Files.Of == 0 || k.Todos.Kept != k.Todos.Of || k.Todos.Of == 0 {
		t.Errorf("files %+v, todos %+v", k.Files, k.Todos)
	}
	if res.Recording.Prompts != 10 || res.Recording.Replies != len(run.Turns) {
		t.Errorf("%+v, %d turns", res.Recording, len(run.Turns))
	}
}

// Every policy runs over a part of the recording and shortens it, within the window
// but for the one that never does; where the server clears old results, which is
// simulated and said to be, its rung fires. Every rung that fires is explained.
func TestBundledPolicies(t *testing.T) {
	res := partRun(t, replay.Options{Policies: allPolicies()})
	for i := range res.Runs {
		run := &res.Runs[i]
		check(t, run)
		if none := run.Policy == replay.None; none == (len(run.Rungs) > 0) || none == (run.Overflows == 0) {
			t.Errorf("%s: %d requests refused, rungs %+v", run.Policy, run.Overflows, run.Rungs)
		}
		server := slices.ContainsFunc(run.Rungs, func(r replay.Rung) bool { return r.Rung == "server" && r.Freed > 0 })
		if server != (run.Policy == replay.Server) || server != strings.Contains(run.Title, "simulated") {
			t.Errorf("%s, %s: %+v", run.Policy, run.Title, run.Rungs)
		}
		for _, r := range run.Rungs {
			if replay.RungMeaning(r.Rung) == "" {
				t.Errorf("nothing says what %s does", r.Rung)
			}
		}
	}
}

// The recording speaks of the project only: no path but the neutral one.
func TestBundledIsNeutral(t *testing.T) {
	rec, err := replay.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range rec.Entries {
		raw, err := x.Raw()
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"/ro" + "ot/", "/work/", "/tmp/varve-recording"} {
			if strings.Contains(string(raw), bad) {
				t.Errorf("line %d holds %s", x.Line, bad)
			}
		}
		if x.CWD != "/src/varve" {
			t.Errorf("line %d: cwd %s", x.Line, x.CWD)
		}
	}
}

// The figures depend on nothing but the recording and the options; sums are sums.
func TestDeterministic(t *testing.T) {
	// The second time only what is compared; every policy runs in TestPeersOnRecorded.
	names := []string{replay.Own, replay.Model, "reference"}
	var last string
	for i := range 2 {
		names = names[:3-i]
		res := partRun(t, replay.Options{Policies: names})
		for i := range res.Runs {
			run := &res.Runs[i]
			check(t, run)
			plainRun(run)
		}
		res.Runs = res.Runs[:2]
		raw, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		if last != "" && last != string(raw) {
			t.Error("two replays of the same recording differ")
		}
		last = string(raw)
	}
}

// plainRun takes out of a run what differs from one to the next.
func plainRun(run *replay.PolicyRun) {
	run.Millis = 0
	for k := range run.Rungs {
		run.Rungs[k].Millis = 0
	}
	for k := range run.Compactions {
		run.Compactions[k].Millis, run.Compactions[k].Boundary = 0, ""
	}
}

// check adds up what a run says of itself.
func check(t *testing.T, run *replay.PolicyRun) {
	t.Helper()
	var read, written, uncached, output int64
	for i, u := range run.Turns {
		if u.Read+u.Written+u.Uncached != u.Tokens {
			t.Fatalf("%s turn %d: %d + %d + %d is not %d", run.Policy, i+1, u.Read, u.Written, u.Uncached, u.Tokens)
		}
		parts := 0
		for _, n := range u.Parts {
			parts += n
		}
		if d := parts - u.Tokens; d > 10 || d < -10 {
			t.Fatalf("%s turn %d: parts make %d, the request %d", run.Policy, i+1, parts, u.Tokens)
		}
		read, written, uncached, output = read+int64(u.Read), written+int64(u.Written), uncached+int64(u.Uncached), output+int64(u.Output)
	}
	calls := 0
	for _, c := range run.Compactions {
		if c.After >= c.Before {
			t.Errorf("%s: a compaction from %d to %d", run.Policy, c.Before, c.After)
		}
		if c.Call != nil {
			calls++
			read, uncached, output = read+int64(c.Call.Read), uncached+int64(c.Call.Uncached), output+int64(c.Call.Output)
		}
	}
	c := run.Cost
	if c.Read != read || c.Written != written || c.Uncached != uncached || c.Output != output || c.Requests != len(run.Turns) || c.Summaries != calls {
		t.Errorf("%s: %+v; the parts make read %d written %d uncached %d output %d, %d calls", run.Policy, c, read, written, uncached, output, calls)
	}
}

// G-3, U-4: the session that a replay leaves can be opened again, and holds the
// view that the replay ended with.
func TestLeavesSession(t *testing.T) {
	rec, err := replay.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := caps.Find(replay.UsualModel)
	leaves(t, rec, replay.Options{Model: model, Window: replay.BundledWindow}, nil)
}

func wire(v *view.View) string {
	var b strings.Builder
	for _, m := range v.Plain() {
		b.Write(m.AppendRequest(nil))
		b.WriteByte('\n')
	}
	return b.String()
}

// A policy that does not exist is named together with those that do.
func TestUnknownPolicy(t *testing.T) {
	rec, err := replay.Bundled()
	if err != nil {
		t.Fatal(err)
	}
	_, err = replay.Run(context.Background(), rec, replay.Options{Model: caps.Window(64_000), Policies: []string{"best"}})
	if err == nil || !strings.Contains(err.Error(), `"best"`) || !strings.Contains(err.Error(), "reference") {
		t.Error(err)
	}
}
