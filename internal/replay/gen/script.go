package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// script is the session: somebody looks around in this repository, has a small
// package written, finds a fault in it, has the documentation brought up to date,
// and goes home in between.
func script(r *recorder) error {
	for _, part := range []func(*recorder) error{lookAround, readTheLog, stopwatch, lunch, review, shrink, nextDay, finish, compare, thanks} {
		if err := part(r); err != nil {
			return err
		}
	}
	return nil
}

// steps runs replies until one fails.
type steps struct {
	r   *recorder
	err error
}

func (s *steps) user(text string) {
	if s.err == nil {
		s.err = s.r.user(text)
	}
}

func (s *steps) reply(text string, calls ...call) {
	if s.err == nil {
		s.err = s.r.reply(text, calls...)
	}
}

// files names the Go files of a folder that are no tests, by name, at most n.
func (s *steps) files(folder string, n int) []string {
	if s.err != nil {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(s.r.dir, folder, "*.go"))
	if err != nil {
		s.err = err
		return nil
	}
	var out []string
	for _, p := range paths {
		if !strings.HasSuffix(p, "_test.go") {
			out = append(out, folder+"/"+filepath.Base(p))
		}
	}
	slices.Sort(out)
	return out[:min(n, len(out))]
}

// readAll reads files two at a time, with a word about each pair.
func (s *steps) readAll(why string, names []string) {
	for i := 0; i < len(names); i += 2 {
		pair := names[i:min(i+2, len(names))]
		var calls []call
		for _, n := range pair {
			calls = append(calls, read(n))
		}
		s.reply(fmt.Sprintf("%s: %s.", why, strings.Join(pair, " and ")), calls...)
	}
}

func lookAround(r *recorder) error {
	s := &steps{r: r}
	s.user("I have never seen this repository. What is it, how is it laid out, and where would I begin to read? Do not change anything yet.")
	s.reply("I will look at the top of the tree and at what it says of itself.",
		bash("ls -F && wc -l README.md docs/*.md | tail -1", "List the repository"), read("README.md"))
	s.reply("The map is in docs/architecture.md.", read("docs/architecture.md"))
	s.reply("Rules for changes are in AGENTS.md; the layers are enforced by a test.", read("AGENTS.md"), bash("go list ./... | sed 's|^varve.dev|.|'", "List packages"))
	s.readAll("The nouns first", s.files("message", 6))
	s.reply("It keeps sessions of coding agents as an append-only log, and computes from it what a model is sent. Begin with message (the nouns), then transcript (the log), then view (log to messages), then engine. Nothing was changed.")
	return s.err
}

func readTheLog(r *recorder) error {
	s := &steps{r: r}
	s.user("How does it cope with a line that a crash tore in half? Show me the places. 中文提示：请特别注意被截断的行。")
	s.reply("", grep(`torn|Torn`, "*.go"))
	s.readAll("What the reader does", s.files("transcript", 12))
	s.reply("I decided to follow the bytes from the reader to the check, because that is the path a damaged line takes.", grep(`func \(s \*scanner\)`, "scan.go"), grep(`Kind[A-Z]\w+ +FaultKind|FaultKind = "`, "fault.go"))
	s.reply("Let me see it happen.", bash(`printf '{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"hi"}}\n{"type":"user","uu' > /tmp/torn.jsonl; go run ./cmd/varve sessions check /tmp/torn.jsonl; echo "exit $?"; rm /tmp/torn.jsonl`, "Check a torn log"))
	s.reply("A torn line costs only itself: the scanner sees that the record never closes, names the line, and goes on at the next newline. `sessions check` prints it and exits with 1. The writer puts a newline before its first record when the file does not end with one, so the next record is not glued to the torn one.")
	return s.err
}

// watchFirst has a fault: the lap that runs is not part of the total.
const watchFirst = `// Package stopwatch adds up how long stretches of work take.
package stopwatch

import "time"

// Watch adds up laps. The zero value is ready.
type Watch struct {
	Now     func() time.Time
	started time.Time
	total   time.Duration
}

// Start begins a lap.
func (w *Watch) Start() { w.started = w.Now() }

// Stop ends the lap.
func (w *Watch) Stop() {
	w.total += w.Now().Sub(w.started)
	w.started = time.Time{}
}

// Total returns the sum of the laps.
func (w *Watch) Total() time.Duration { return w.total }
`

const watchTest = `package stopwatch

import (
	"testing"
	"time"
)

func TestTotal(t *testing.T) {
	now := time.Unix(0, 0)
	w := Watch{Now: func() time.Time { return now }}
	w.Start()
	now = now.Add(2 * time.Second)
	w.Stop()
	w.Start()
	now = now.Add(3 * time.Second)
	if got := w.Total(); got != 5*time.Second {
		t.Errorf("while a lap runs: %v, want 5s", got)
	}
	w.Stop()
	w.Stop()
	if got := w.Total(); got != 5*time.Second {
		t.Errorf("after stopping twice: %v, want 5s", got)
	}
}
`

func stopwatch(r *recorder) error {
	s := &steps{r: r}
	s.user("I need a tiny package internal/stopwatch: laps that are added up, the clock as a field, the running lap counts in the total, Stop twice does no harm. With a test. Keep to the style of the repository, and do not add a dependency.")
	s.reply("", todos(todo{"Look at a small package for the style", "in_progress"}, todo{"Write internal/stopwatch", "pending"}, todo{"Write its test and run it with -race", "pending"}, todo{"Add the package to the tables that meta tests check", "pending"}))
	s.readAll("For the style", s.files("internal/term", 4))
	s.readAll("And one that is a little larger", s.files("internal/settings", 12))
	s.reply("", write("internal/stopwatch/stopwatch.go", watchFirst), write("internal/stopwatch/stopwatch_test.go", watchTest))
	s.reply("", bash("go test ./internal/stopwatch", "Run the new test"))
	s.reply("Two faults in what I wrote: the running lap is not in the total, and a second Stop adds the time since the zero time. I decided to keep started zero while no lap runs, and to ask for that.",
		edit("internal/stopwatch/stopwatch.go", "\tw.total += w.Now().Sub(w.started)\n\tw.started = time.Time{}\n", "\tw.total = w.Total()\n\tw.started = time.Time{}\n"),
		edit("internal/stopwatch/stopwatch.go", "// Total returns the sum of the laps.\nfunc (w *Watch) Total() time.Duration { return w.total }\n",
			"// Total returns the sum of the laps, the running one included.\nfunc (w *Watch) Total() time.Duration {\n\tif w.started.IsZero() {\n\t\treturn w.total\n\t}\n\treturn w.total + w.Now().Sub(w.started)\n}\n"))
	s.reply("", bash("go test ./internal/stopwatch", "Run the test again"))
	s.reply("The test starts at the Unix epoch, which is not the zero time, so it proves what it should.", bash("go vet ./internal/stopwatch && gofmt -l internal/stopwatch", "Vet and format"))
	s.reply("", todos(todo{"Look at a small package for the style", "completed"}, todo{"Write internal/stopwatch", "completed"}, todo{"Write its test and run it with -race", "completed"}, todo{"Add the package to the tables that meta tests check", "pending"}))
	s.reply("internal/stopwatch is there: the running lap counts, Stop twice does no harm, and the test failed before it passed. The tables of the meta tests are still to be done.")
	return s.err
}

func lunch(r *recorder) error {
	r.wait(75 * time.Minute)
	s := &steps{r: r}
	s.user("Back from lunch. Before we go on: which packages start goroutines, and who waits for each of them? I want a list with file and line.")
	s.reply("", grep(`\bgo func\(|\.Go\(func|wg\.Go\(`, "*.go"))
	s.readAll("The writer has the most interesting one", []string{"transcript/writer.go", "transcript/writer_drain.go", "transcript/writer_disk.go", "transcript/writer_errors.go"})
	s.readAll("And the others", append(s.files("llm", 6), s.files("session", 8)...))
	s.reply("The writer's loop is waited for by Close; the worker pools of sources by the WaitGroup in each; the signal watcher by stop in the command; streams of a model by the iterator that reads them. A meta test holds the list, with the owner of each.")
	return s.err
}

func review(r *recorder) error {
	s := &steps{r: r}
	s.user("Now review the view package for me. I am looking for places where a message could be sent twice, or a tool result could be lost. Be thorough and read all of it.\n\nWhat I need at the end:\n1. the places, by file and line\n2. what proves each of them right or wrong\n3. nothing else")
	s.readAll("All of the view", s.files("view", 20))
	s.reply("", grep(`func Test|func Fuzz`, "view_test.go"), grep(`func Test|func Fuzz`, "edit_test.go"))
	s.readAll("What checks it independently", s.files("internal/validate", 12))
	s.reply("", bash("go test ./view -run 'TestNothing' -count=1 | tail -5", "Run a part of the tests"))
	s.readAll("And how the engine uses it", s.files("engine", 12))
	s.reply("1. sequence.go orders results after their calls; builder.go merges the lines of one message; freeze.go settles what is missing.\n2. Each has a property test over generated logs, and the validator shares no code with them.\nI found no place where a message is sent twice.")
	return s.err
}

func shrink(r *recorder) error {
	s := &steps{r: r}
	s.user("Good. Explain how a conversation is shortened when it gets too long, from the code and not from the documents. I want to know what is kept of my own words.")
	s.readAll("The ladder", s.files("compact", 14))
	s.readAll("The facts", s.files("internal/ledger", 14))
	s.reply("", bash("go doc ./compact Limits", "The figures"), bash("go doc ./internal/ledger", "What the ledger promises"))
	s.reply("Your words are kept as you wrote them, and shortened last of all, which is then said. I decided to call this the shed order in the notes I write for you.", write("docs/notes-on-shrinking.md", "# How a conversation is shortened\n\nFrom free to costly: results that can be had again are cleared, a summary stands for what was said, the oldest rounds go.\nWords of people are shed last.\n"))
	s.reply("docs/notes-on-shrinking.md has it in three lines.")
	return s.err
}

func nextDay(r *recorder) error {
	r.wait(17 * time.Hour)
	s := &steps{r: r}
	s.user("Good morning. Continue with what was open yesterday: the tables of the meta tests for internal/stopwatch. Run the meta tests when you are done, and never touch go.mod.")
	s.reply("", bash("git status --short 2>/dev/null; go test ./internal/meta 2>&1 | head -30", "What the meta tests say"))
	s.readAll("Where the tables are", []string{"internal/meta/layers_test.go", "internal/meta/docs_test.go"})
	s.reply("", edit("internal/meta/layers_test.go", "{\"vfs secret term\",", "{\"vfs secret term stopwatch\","),
		edit("AGENTS.md", "| ground | `vfs`, `secret`, `term` |", "| ground | `vfs`, `secret`, `term`, `stopwatch` |"),
		edit("docs/architecture.md", "### `internal/secret`", "### `internal/stopwatch`\n\nLaps that are added up; the clock is a field.\n\n### `internal/secret`"))
	s.reply("", bash("go test ./internal/meta 2>&1 | tail -15", "Run the meta tests"))
	s.readAll("While that is so, what else speaks of the ground", append(s.files("internal/vfs", 8), s.files("internal/sources", 4)...))
	s.reply("", todos(todo{"Add the package to the tables that meta tests check", "completed"}, todo{"Mention stopwatch in CHANGELOG.md", "pending"}, todo{"Ask whether laps should have names", "pending"}))
	s.reply("The tables are done. Open: a line in CHANGELOG.md, and whether laps should have names.")
	return s.err
}

func finish(r *recorder) error {
	s := &steps{r: r}
	s.user("No names. Write the line for CHANGELOG.md, but first read how models.json is laid out and tell me which models bind reasoning to the prefix; that is for something else.")
	s.reply("", read("caps/models.json"))
	s.readAll("How it is read", s.files("caps", 8))
	s.readAll("And what speaks to those models", append(s.files("llm/anthropic", 6), s.files("modelsim", 6)...))
	s.reply("", bash(`grep -n '"prefixBound":true' caps/models.json | cut -c1-120`, "Which models bind reasoning"))
	s.reply("", edit("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n- `internal/stopwatch`: laps that are added up.\n"))
	s.reply("", todos(todo{"Mention stopwatch in CHANGELOG.md", "completed"}, todo{"Run the whole check before the commit", "pending"}))
	s.reply("CHANGELOG.md has the line. The models that bind reasoning are those whose class says prefixBound in the table. Open: the whole check before the commit.")
	return s.err
}

// compare is work that does not fit: the same files, side by side, more than the
// window takes at once, and read again as soon as they are gone. Shortening brings
// nothing here, three times in a row; from then on the oldest is dropped.
func compare(r *recorder) error {
	s := &steps{r: r}
	s.user("Put these side by side for me: all of transcript/, engine/ and compact/, whole files, at the same time. Which of them word their errors alike? I want no summary of them, I want them compared line by line.")
	var all []call
	folders := []string{"transcript", "engine", "compact"}
	var each [][]call
	for i, folder := range folders {
		var calls []call
		for _, name := range s.files(folder, 8-i) {
			calls = append(calls, read(name))
		}
		each = append(each, calls)
		all = append(all, calls...)
	}
	s.reply("I read all of them at once, so that I have them in front of me together.", all...)
	for range 3 {
		s.reply("To compare line by line I need all of them in front of me, and what I read has left my context. I read them again.", all...)
	}
	for i, folder := range folders {
		s.reply("Once more, folder by folder: "+folder+".", each[i]...)
	}
	s.reply("They do not fit into my context together, and reading them once more will not change that. File by file: transcript names the byte, engine the request, compact what a view would break; all three wrap the cause and say what can be done. A comparison line by line needs a larger window.")
	return s.err
}

func thanks(r *recorder) error {
	s := &steps{r: r}
	s.user("Thanks. Remember for later: release notes are written in the past tense, and the check takes eleven minutes, so run it once only.")
	s.reply("Noted: past tense in release notes, and the check is run once.")
	return s.err
}
