package replay_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"varve.dev/internal/replay"
)

func allPolicies() []string {
	var names []string
	for _, p := range replay.Policies() {
		names = append(names, p.Name)
	}
	return names
}

func pageOf(t *testing.T, res *replay.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := replay.HTML(&b, res); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// U-4: the page asks the network for nothing, runs only what its policy names by
// hash, and says the same figures as the result.
func TestPage(t *testing.T) {
	res := partRun(t, replay.Options{Policies: allPolicies()[:2]})
	page := pageOf(t, res)
	if m := regexp.MustCompile(`(?i)(src|href|url\()\s*=?\s*["']?(https?:)?//`).FindString(page); m != "" {
		t.Errorf("the page refers to the network: %s", m)
	}
	csp := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if csp == nil || !strings.Contains(csp[1], "default-src &#39;none&#39;") {
		t.Fatalf("policy %v", csp)
	}
	allowed := strings.ReplaceAll(strings.ReplaceAll(csp[1], "&#39;", "'"), "&#43;", "+")
	for _, inline := range []string{`(?s)<style>(.*?)</style>`, `(?s)<script>(.*?)</script>`} {
		all := regexp.MustCompile(inline).FindAllStringSubmatch(page, -1)
		if len(all) != 1 {
			t.Fatalf("%d of %s", len(all), inline)
		}
		sum := sha256.Sum256([]byte(all[0][1]))
		if h := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(allowed, h) {
			t.Errorf("%s is not allowed by %s", h, allowed)
		}
	}
	if regexp.MustCompile(`<[a-z]+[^>]*\son[a-z]+=`).MatchString(page) {
		t.Error("a handler stands in the markup")
	}
	for _, run := range res.Runs {
		for _, want := range []string{"<td>" + replay.Tokens(run.Peak) + "</td>", "<td>" + run.Kept.Words.String() + "</td>", run.Policy + ": " + strings.ReplaceAll(run.Title, "'", "&#39;")} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q on the page", run.Policy, want)
			}
		}
	}
	if n := strings.Count(page, "<details id="); n != len(res.Runs[0].Compactions)+len(res.Runs[1].Compactions) {
		t.Errorf("%d compactions are listed", n)
	}
}

// Text of a recording stays text, and secrets in it do not reach the page.
func TestPageHostile(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>"'><b>`
	const key = "sk-ant-api03-" + "Zx9Qw7Lm2Kp4Rt6Yu8Io1As3Df5Gh7Jk9Lz2Xc4Vb6Nm8Qw0Er2Ty4Ui6Op8As1Df3Gh5Jk7Lz9Xc1Vb3Nm5Qw7Er9Ty1-AbCdEfGh" + "AA"
	res := &replay.Result{Recording: replay.Recorded{Title: evil + "\x1b[31m"}, Window: 1000, Limits: replay.Limits{Auto: 800, Effective: 900}, Runs: []replay.PolicyRun{{
		Policy: evil, Title: evil, Approximation: evil, Stopped: &replay.Stop{Turn: 1, Reason: evil},
		Turns:       []replay.Turn{{Turn: 1, Tokens: 500, Parts: map[string]int{replay.PartUser: 500}, Prompt: evil + " " + key, Tools: []string{evil}}},
		Compactions: []replay.Compaction{{Turn: 1, Rung: evil, Cause: evil, Before: 10, After: 5, Summary: evil + "\n" + key, Lost: map[string]int{evil: 3}, LostCount: 1}},
		Rungs:       []replay.Rung{{Rung: evil}},
	}}, Notes: []string{evil}}
	page := pageOf(t, res)
	if strings.Contains(page, "<img") || strings.Contains(page, "<b>") || strings.Count(page, "</script>") != 2 {
		t.Error("a text of the recording became markup")
	}
	if strings.Contains(page, key) {
		t.Error("a key is on the page")
	}
	if strings.Contains(page, "\x1b") {
		t.Error("a control character is on the page")
	}
	data := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(page)
	if data == nil || !json.Valid([]byte(data[1])) {
		t.Error("the data are no JSON")
	}
}

// Long replays stay small: every column of the picture is the largest of a stretch.
func TestPageLong(t *testing.T) {
	res := &replay.Result{Window: 1000, Limits: replay.Limits{Auto: 800, Effective: 900}}
	for range 9 {
		run := replay.PolicyRun{Policy: "p", Rungs: []replay.Rung{{Rung: "ledger", Times: 3000}}}
		for i := range 10_000 {
			n := 100 + i%7
			if i == 5003 {
				n = 877
			}
			run.Turns = append(run.Turns, replay.Turn{Turn: i + 1, Tokens: n, Parts: map[string]int{replay.PartUser: n}, Prompt: strings.Repeat("x", 120)})
			run.Peak = max(run.Peak, n)
		}
		for i := range 3000 {
			run.Compactions = append(run.Compactions, replay.Compaction{Turn: i*3 + 1, Rung: "ledger", Before: 10, After: 5, Summary: strings.Repeat("y", 100)})
		}
		res.Runs = append(res.Runs, run)
	}
	page := pageOf(t, res)
	if len(page) > 5<<20 {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{"up to 25 requests", `"turn":5004,`, "2800 more are not listed"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// The page in a browser: it works without the network under its own policy, by
// keyboard, on a narrow screen. VARVE_FULL only: a browser is installed for it.
func TestPageInBrowser(t *testing.T) {
	if os.Getenv("VARVE_FULL") == "" {
		t.Skip("set VARVE_FULL to start a browser")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium; make test-full installs it where it may")
	}
	res := bundledRun(t, replay.Options{Policies: allPolicies()[:3]})
	probe := `<script>
addEventListener("securitypolicyviolation", function (e) { document.documentElement.dataset.violation = e.violatedDirective; });
addEventListener("error", function (e) { document.documentElement.dataset.error = e.message; });
addEventListener("load", function () {
  var svg = document.querySelector("section.run svg.chart"), d = document.documentElement.dataset;
  svg.focus();
  d.first = document.querySelector(".request").textContent;
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
  d.last = document.querySelector(".request").textContent;
  d.visible = Array.prototype.filter.call(document.querySelectorAll("section.run"), function (s) { return !s.hidden; }).length;
  document.querySelectorAll("#tabs button")[1].click();
  d.second = String(!document.getElementById("run-1").hidden && document.getElementById("run-0").hidden);
  d.wide = String(document.documentElement.scrollWidth > innerWidth);
  location.hash = "#c-0-0";
  setTimeout(function () { d.open = String(document.getElementById("c-0-0").open && !document.getElementById("run-0").hidden); }, 50);
});
</script>`
	page := pageOf(t, res)
	sum := sha256.Sum256([]byte(strings.TrimSuffix(strings.TrimPrefix(probe, "<script>"), "</script>")))
	// The probe is let in by its own hash; everything else is under the page's policy.
	page = strings.Replace(page, "script-src ", "script-src &#39;sha256-"+strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")+"&#39; ", 1)
	page = strings.Replace(page, "<body>", "<body>"+probe, 1)
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=320,800", "--virtual-time-budget=3000",
		"--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file)
	cmd.WaitDelay = 10 * time.Second
	dom, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	root := regexp.MustCompile(`<html[^>]*>`).FindString(string(dom))
	for name, want := range map[string]string{"visible": `data-visible="1"`, "second": `data-second="true"`, "wide": `data-wide="false"`, "open": `data-open="true"`,
		"first": "Request 1:", "last": fmt.Sprintf("Request %d:", len(res.Runs[0].Turns))} {
		if !strings.Contains(root, want) {
			t.Errorf("%s: no %s in %s", name, want, root)
		}
	}
	for _, bad := range []string{"data-violation", "data-error"} {
		if strings.Contains(root, bad) {
			t.Errorf("%s in %s", bad, root)
		}
	}
}
