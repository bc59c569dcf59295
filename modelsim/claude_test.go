package modelsim

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// claudeVersion is pinned: a test must not change because somebody else released.
const claudeVersion = "2.1.197"

// claudeScript leads the reference client through 60 steps with its own tools.
const claudeScript = `
split random
ping 5
on tool Bash and result ~ /step (\d+) of 60/ and not result ~ /step 60 of/
  think looking at ${1}
  say Step ${1} is done.
  call Bash {"command":"echo step ${1+1} of 60 NEEDLE-${1+1}","description":"next step"}
on tool Bash and last ~ /drive the steps/ and not result ~ /./
  think first
  call Bash {"command":"echo step 1 of 60 NEEDLE-1","description":"first step"}
default
  say All done.
`

// TestClaudeCode judges the judge from outside: the reference client, which works against the real API, runs 60 steps without a
// violation, extends its prefix each time, and reads nearly all of it from the cache. It runs in full tests, where npm can install it.
func TestClaudeCode(t *testing.T) {
	if os.Getenv("VARVE_FULL") == "" {
		t.Skip("installs the reference client: set VARVE_FULL=1")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	dir := t.TempDir()
	install := exec.Command(npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "@anthropic-ai/claude-code@"+claudeVersion)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install the reference client: %v\n%s", err, out)
	}
	project := filepath.Join(dir, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-5-5"} {
		t.Run(model, func(t *testing.T) {
			sim := ForTest(t, Config{Script: claudeScript})
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "claude"), "-p", "--output-format", "json", "--allowedTools", "Bash,Read", "--", "drive the steps")
			cmd.Dir, cmd.WaitDelay = project, time.Second
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + sim.URL, "ANTHROPIC_API_KEY=sk-ant-none", "ANTHROPIC_MODEL=" + model,
				"ANTHROPIC_DEFAULT_HAIKU_MODEL=claude-haiku-4-5", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1", "DO_NOT_TRACK=1"}
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r := sim.Report()
			var told struct {
				Cost float64 `json:"total_cost_usd"`
			}
			if err := json.Unmarshal(out, &told); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			// This release knows the price of the older model only.
			if model == "claude-sonnet-4-5" && math.Abs(told.Cost-r.Cost) > r.Cost/1000 {
				t.Errorf("the client counts $%v, the report $%v", told.Cost, r.Cost)
			}
			if len(r.Violations) > 0 || r.Breaks > 0 || r.Requests < 61 || r.Needles != 60 || r.ReadShare() < 0.95 || sim.Err() != nil {
				t.Errorf("read %.3f: %+v, %v, %v, %v", r.ReadShare(), r, sim.Violations(), sim.Breaks(), sim.Err())
			}
		})
	}
}
