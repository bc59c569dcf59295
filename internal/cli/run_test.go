package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a command that runs inside the test.
type process struct {
	dir   string // working directory and home
	env   map[string]string
	cache string // folder for caches; "" for none
}

func (p process) run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.CreateTemp(t.TempDir(), name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	out, errs := open("stdout"), open("stderr")
	code = Main(Env{Args: args, Stdout: out, Stderr: errs, Getenv: func(k string) string { return p.env[k] },
		Getwd: func() (string, error) { return p.dir, nil }, UserHome: p.dir, CacheDir: p.cache, Now: time.Now})
	read := func(f *os.File) string {
		data, err := os.ReadFile(f.Name())
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return read(out), read(errs), code
}

// DESIGN 8: the exit codes.
func TestExitCodes(t *testing.T) {
	p := process{dir: t.TempDir()}
	bad := filepath.Join(p.dir, "bad.jsonl")
	good := filepath.Join(p.dir, "good.jsonl")
	for name, data := range map[string]string{bad: "no log\n", good: ""} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string]int{
		"--version":                           0,
		"":                                    0,
		"--help":                              0,
		"sessions list":                       0,
		"sessions show --help":                0,
		"sessions check " + good:              0,
		"sessions check " + bad:               1,
		"sessions check --json " + bad:        1,
		"sessions show nobody":                1,
		"sessions show " + bad + ".jsonl":     1,
		"sessions export " + good + " -o /":   1,
		"nothing":                             2,
		"sessions list --nothing":             2,
		"sessions list --limit x":             2,
		"sessions list --limit -1":            2,
		"sessions list --source x":            2,
		"sessions show --tree --chain":        2,
		"sessions check --all x":              2,
		"sessions export":                     2,
		"sessions list -C " + bad:             2,
		"sessions export x --format pdf":      2,
		"sessions show x --raw --json " + bad: 2,
	} {
		out, errs, code := p.run(t, strings.Fields(args)...)
		if code != want {
			t.Errorf("varve %s: exit %d, want %d\n%s%s", args, code, want, out, errs)
		}
		if code == 2 && out != "" {
			t.Errorf("varve %s: wrong use prints %q to standard output", args, out)
		}
	}
	for err, want := range map[error]int{
		&interruptedError{os.Interrupt}:                         130,
		fmt.Errorf("x: %w", &interruptedError{syscall.SIGTERM}): 143,
		errors.New("any"):                                       1,
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: exit %d, want %d", err, got, want)
		}
	}
}

// What cannot be written is said, not passed over.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full:", err)
	}
	defer full.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, args := range [][]string{{"--version"}, {"--help"}, {"sessions", "list", "--json"}} {
		code := Main(Env{Args: args, Stdout: full, Stderr: null, Getenv: func(string) string { return "" },
			Getwd: os.Getwd, UserHome: t.TempDir(), Now: time.Now})
		if code != 1 {
			t.Errorf("varve %v on a full disk: exit %d", args, code)
		}
	}
}

func TestClean(t *testing.T) {
	got := fmt.Sprintf("%s|%s|%s|%s|%v|%v", clean([]any{
		"two\nlines \x1b[31m", prose("two\nlines\x1b[31m"), styled{bold, " - \x1b]0;x\x07a\nb "}, styled{bold, ""}, errors.New("e\x1b[1m\n"), 3}, true)...)
	if want := "two lines|two\nlines| \x1b[1m- a b\x1b[0m ||e|3"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := fmt.Sprint(clean([]any{styled{red, "x"}}, false)...); got != "x" {
		t.Errorf("without colours: %q", got)
	}
}

func TestCutLines(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a", 2, "a"}, {"a\nb", 2, "a\nb"}, {"a\nb\nc", 2, "a\nb\n… 1 more line"}, {"a\nb\nc\nd", 2, "a\nb\n… 2 more lines"}, {"", 2, ""},
	} {
		if got := cutLines(c.text, c.n); got != c.want {
			t.Errorf("cutLines(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestGists(t *testing.T) {
	for in, want := range map[string]string{
		`{"command":"git status","description":"d"}`: "git status",
		`{"file_path":"/a","content":"long"}`:        "/a",
		`{"todos":[]}`:                               `{"todos":[]}`,
		`{}`:                                         "",
		`null`:                                       "",
		`"text"`:                                     `"text"`,
	} {
		if got := callGist(json.RawMessage(in)); got != want {
			t.Errorf("callGist(%s) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"<command-message>x</command-message><command-name>/model</command-name><command-args>a b</command-args>": "/model a b",
		"<command-name>/exit</command-name>": "/exit",
		"no command":                         "",
	} {
		if got, _ := slashCommand(in); got != want {
			t.Errorf("slashCommand(%s) = %q, want %q", in, got, want)
		}
	}
}
