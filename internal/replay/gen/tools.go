package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// where the recorded project seems to lie.
const where = "/src/varve"

// recorder writes entries as an agent would.
type recorder struct {
	dir      string // the copy
	goroot   string // of the Go that runs commands
	log      bytes.Buffer
	stamp    transcript.Stamp
	now      time.Time
	leaf     string
	ids      int
	entries  int
	requests int
	context  int // bytes so far, for the usage that replies carry
}

func newRecorder(dir string) (*recorder, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	r := &recorder{dir: dir, goroot: strings.TrimSpace(string(root)), now: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	r.stamp = transcript.Stamp{SessionID: "7a1d3c52-0000-4000-8000-76617276652e", CWD: where, Version: "2.1.199", GitBranch: "main",
		Now: func() time.Time { return r.now }, NewID: func() string {
			r.ids++
			return fmt.Sprintf("%08x-0000-4000-8000-76617276652e", r.ids)
		}}
	return r, nil
}

func (r *recorder) add(e *transcript.Entry) error {
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	r.log.Write(raw)
	r.log.WriteByte('\n')
	r.entries++
	r.context += len(raw)
	if e.IsChain() {
		r.leaf = e.UUID
	}
	return nil
}

// wait lets time pass.
func (r *recorder) wait(d time.Duration) { r.now = r.now.Add(d) }

// user records what somebody typed.
func (r *recorder) user(text string) error {
	r.wait(20 * time.Second)
	return r.add(r.stamp.User(r.leaf, message.User(text)))
}

// call is one use of a tool.
type call struct {
	name string
	in   any
}

// reply records what the model says and calls, and what the calls returned.
func (r *recorder) reply(text string, calls ...call) error {
	r.requests++
	r.wait(time.Duration(4+len(text)/40) * time.Second)
	id := fmt.Sprintf("msg_%06d", r.requests)
	var blocks []message.Block
	if text != "" {
		blocks = append(blocks, message.Text(text))
	}
	var ids []string
	for i, c := range calls {
		raw, err := json.Marshal(c.in)
		if err != nil {
			return err
		}
		use := fmt.Sprintf("toolu_%06d%02d", r.requests, i)
		b, err := message.ToolUse(use, c.name, raw)
		if err != nil {
			return err
		}
		blocks, ids = append(blocks, b), append(ids, use)
	}
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
	}
	// One line for each block, as the reference writes them.
	for _, b := range blocks {
		m := message.Assistant(b)
		m.ID, m.Model, m.StopReason = id, "claude-sonnet-4-6", stop
		if err := r.add(r.stamp.Assistant(r.leaf, m, "req_"+id[4:])); err != nil {
			return err
		}
	}
	if len(calls) == 0 {
		return nil
	}
	var results []message.Block
	for i, c := range calls {
		out, err := r.run(c)
		var failed *failure
		if err != nil && !errors.As(err, &failed) {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		results = append(results, message.ToolResult(ids[i], failed != nil, message.Text(r.neutral(out))))
	}
	r.wait(2 * time.Second)
	return r.add(r.stamp.User(r.leaf, message.UserBlocks(results...)))
}

// failure is what a tool reports as its error.
type failure struct{ code int }

func (f *failure) Error() string { return fmt.Sprintf("exit code %d", f.code) }

// neutral takes the place of the copy, and of the Go installation, out of a text.
func (r *recorder) neutral(s string) string {
	return strings.NewReplacer(r.dir, where, r.goroot, "/usr/local/go", os.TempDir(), "/tmp").Replace(s)
}

type (
	readIn struct {
		FilePath string `json:"file_path"`
		Offset   int    `json:"offset,omitempty"`
		Limit    int    `json:"limit,omitempty"`
	}
	grepIn struct {
		Pattern    string `json:"pattern"`
		Glob       string `json:"glob"`
		OutputMode string `json:"output_mode"`
	}
	editIn struct {
		FilePath  string `json:"file_path"`
		OldString string `json:"old_string"`
		NewString string `json:"new_string"`
	}
	writeIn struct {
		FilePath string `json:"file_path"`
		Content  string `json:"content"`
	}
	bashIn struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	todo struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	}
	todoIn struct {
		Todos []todo `json:"todos"`
	}
)

func at(name string) string { return where + "/" + name }

func read(name string) call { return call{"Read", readIn{FilePath: at(name), Limit: 400}} }

func grep(pattern, glob string) call { return call{"Grep", grepIn{pattern, glob, "content"}} }

func edit(name, old, text string) call { return call{"Edit", editIn{at(name), old, text}} }

func write(name, text string) call { return call{"Write", writeIn{at(name), text}} }

func bash(command, why string) call { return call{"Bash", bashIn{command, why}} }

func todos(list ...todo) call { return call{"TodoWrite", todoIn{list}} }

// run does what a call asks for, in the copy.
func (r *recorder) run(c call) (string, error) {
	switch in := c.in.(type) {
	case readIn:
		return r.read(in)
	case grepIn:
		return r.grep(in)
	case editIn:
		return r.edit(in)
	case writeIn:
		path := r.real(in.FilePath)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		return "File created successfully at: " + in.FilePath, os.WriteFile(path, []byte(in.Content), 0o644)
	case bashIn:
		return r.bash(in)
	case todoIn:
		return "Todos have been modified successfully.", nil
	}
	return "", fmt.Errorf("no tool for %T", c.in)
}

func (r *recorder) real(name string) string {
	return filepath.Join(r.dir, strings.TrimPrefix(name, where))
}

// read numbers the lines as `cat -n` does.
func (r *recorder) read(in readIn) (string, error) {
	data, err := os.ReadFile(r.real(in.FilePath))
	if errors.Is(err, fs.ErrNotExist) {
		return "File does not exist.", &failure{1}
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; n > in.Offset && n <= in.Offset+in.Limit {
			fmt.Fprintf(&b, "%6d\t%s", n, line)
		}
	}
	return b.String(), nil
}

// grep searches the files that a pattern of names means, in the order of names.
func (r *recorder) grep(in grepIn) (string, error) {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", err
	}
	var found []string
	err = filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ok, _ := filepath.Match(in.Glob, d.Name()); !ok { // the pattern is the script's
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			if n++; re.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d:%s", path, n, strings.TrimRight(line, "\n")))
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	const most = 100
	if len(found) > most {
		found = append(slices.Clip(found[:most]), fmt.Sprintf("(%d more)", len(found)-most))
	}
	if len(found) == 0 {
		return "No matches found", nil
	}
	return strings.Join(found, "\n"), nil
}

func (r *recorder) edit(in editIn) (string, error) {
	path := r.real(in.FilePath)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if strings.Count(string(data), in.OldString) != 1 {
		return "String to replace not found, or found more than once.", &failure{1}
	}
	data = []byte(strings.Replace(string(data), in.OldString, in.NewString, 1))
	return "The file " + in.FilePath + " has been updated.", os.WriteFile(path, data, 0o644)
}

func (r *recorder) bash(in bashIn) (string, error) {
	cmd := exec.Command("bash", "-c", in.Command)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Sprintf("Exit code %d\n%s", exit.ExitCode(), out), &failure{exit.ExitCode()}
	}
	return string(out), err
}
