package replay

import (
	"crypto/sha256"
	_ "embed" // the parts of the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"varve.dev/internal/secret"
	"varve.dev/internal/term"
)

//go:embed page/page.html
var pageTemplate string

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

var page = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageTemplate)) })

const (
	pageColumns     = 400 // requests of a run that the page has details of, and columns of a chart
	pageCompactions = 200 // compactions of a run that are listed
	titleShown      = 80  // characters of a title: that of an untitled session is its first message
)

// pageData is what the template is filled with.
type pageData struct {
	Policy, Title, Facts, Columns string
	Intro                         string
	Explained                     []Column
	Style                         template.CSS
	Script                        template.JS
	Data                          template.JS
	Compare                       template.HTML
	Runs                          []pageRun
	Notes                         []string
}

// pageRun is one policy on the page, figures as text.
type pageRun struct {
	Index                                                    int
	Policy, Title, Approximation, Stopped                    string
	Chart                                                    template.HTML
	Legend                                                   []legendItem
	Peak, Summaries, Uncached, Written, Cached, Output, Cost string
	Words, Files, Todos, Results, Overflows                  string
	Rungs                                                    []pageRung
	Compactions                                              []pageCompaction
	More                                                     int
}

type legendItem struct {
	Kind int // index in Parts
	Name string
}

type pageRung struct{ Rung, Times, Freed, Time, Meaning string }

type pageCompaction struct {
	Anchor, Rung, Before, After, Freed, Time, Cause, Call, Lost, Summary string
	Turn, Share                                                          int
}

// scriptData is what the page's script reads.
type scriptData struct {
	Kinds []string    `json:"kinds"`
	Runs  []scriptRun `json:"runs"`
}

type scriptRun struct {
	Policy string `json:"policy"`
	Turns  []Turn `json:"turns"`
}

// HTML writes the replay as one page that needs no network: a picture for each
// policy, the tables of the terminal, and every compaction with what left the
// context. Secrets that the redactor knows are taken out of its texts. Of long
// replays it shows the largest request of every few; it says so.
func HTML(w io.Writer, r *Result) error {
	d := pageData{Title: "Replay of " + shorten(clean(orName(r.Recording.Title, r.Recording.Name)), titleShown), Intro: Intro, Explained: Columns(), Style: template.CSS(pageStyle), Script: template.JS(pageScript)}
	d.Policy = fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hashOf(pageStyle), hashOf(pageScript))
	rec := r.Recording
	d.Facts = fmt.Sprintf("%d messages by people, %d replies, %d tool calls. Window %s tokens, model %s.", rec.Prompts, rec.Replies, rec.Calls, Tokens(r.Window), r.Model)
	d.Columns = "Each column is one request."
	data := scriptData{Kinds: Parts()}
	for i := range r.Runs {
		run := &r.Runs[i]
		turns, most := largestOfEach(run.Turns, pageColumns)
		if most > 1 {
			d.Columns = fmt.Sprintf("Each column stands for up to %d requests and shows the largest of them.", most)
		}
		d.Runs = append(d.Runs, pageRunOf(i, r, run, turns))
		data.Runs = append(data.Runs, scriptRun{run.Policy, cleanTurns(turns)})
	}
	d.Compare = compareChart(r)
	d.Notes = append(slices.Clone(r.Notes), "Passwords and keys that are known by their shape are replaced in prompts and summaries; not every one can be found, so read the page before you share it.")
	raw, err := json.Marshal(data) // escapes <, > and & as the page needs it
	if err != nil {
		return err
	}
	d.Data = template.JS(raw)
	return page().Execute(w, d)
}

func orName(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// clean takes secrets and control characters out of a text of the recording.
func clean(s string) string {
	s, _ = secret.Redact(s)
	return term.String(s)
}

func cleanTurns(turns []Turn) []Turn {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Prompt = clean(out[i].Prompt)
		out[i].Tools = slices.Clone(out[i].Tools)
		for k := range out[i].Tools {
			out[i].Tools[k] = clean(out[i].Tools[k])
		}
	}
	return out
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// largestOfEach divides turns into at most n stretches of equal length and returns
// the largest turn of each, and how long the stretches are.
func largestOfEach(turns []Turn, n int) (out []Turn, most int) {
	most = (len(turns) + n - 1) / n
	if most <= 1 {
		return turns, most
	}
	for i := 0; i < len(turns); i += most {
		part := turns[i:min(i+most, len(turns))]
		best := part[0]
		for _, t := range part {
			if t.Tokens > best.Tokens {
				best = t
			}
		}
		out = append(out, best)
	}
	return out, most
}

func pageRunOf(i int, r *Result, run *PolicyRun, turns []Turn) pageRun {
	p := pageRun{Index: i, Policy: run.Policy, Title: run.Title, Approximation: run.Approximation, Chart: stackChart(i, r, run, turns),
		Peak: Tokens(run.Peak), Summaries: fmt.Sprint(run.Cost.Summaries), Uncached: Tokens(int(run.Cost.Uncached)), Written: Tokens(int(run.Cost.Written)),
		Cached: Tokens(int(run.Cost.Read)), Output: Tokens(int(run.Cost.Output)), Cost: "–", Words: run.Kept.Words.String(), Files: run.Kept.Files.String(),
		Todos: run.Kept.Todos.String(), Results: run.Kept.Results.String(), Overflows: fmt.Sprint(run.Overflows)}
	if run.Cost.Priced {
		p.Cost = fmt.Sprintf("$%.2f", run.Cost.USD)
	}
	if run.Stopped != nil {
		p.Stopped = fmt.Sprintf("It cannot go on at request %d: %s.", run.Stopped.Turn, strings.TrimSuffix(run.Stopped.Reason, "."))
	}
	for k, name := range Parts() {
		if slices.ContainsFunc(turns, func(t Turn) bool { return t.Parts[name] > 0 }) {
			p.Legend = append(p.Legend, legendItem{k, name})
		}
	}
	for _, g := range run.Rungs {
		p.Rungs = append(p.Rungs, pageRung{g.Rung, fmt.Sprint(g.Times), Tokens(g.Freed), fmt.Sprintf("%.0f ms", g.Millis), RungMeaning(g.Rung)})
	}
	p.More = max(len(run.Compactions)-pageCompactions, 0)
	for k, c := range run.Compactions[:len(run.Compactions)-p.More] {
		p.Compactions = append(p.Compactions, pageCompactionOf(i, k, c))
	}
	return p
}

func pageCompactionOf(run, k int, c Compaction) pageCompaction {
	p := pageCompaction{Anchor: anchorOf(run, k), Turn: c.Turn, Rung: c.Rung, Before: Tokens(c.Before), After: Tokens(c.After), Freed: Tokens(max(c.Before-c.After, 0)),
		Time: fmt.Sprintf("%.1f ms", c.Millis), Cause: c.Cause, Summary: clean(c.Summary)}
	if c.Before > 0 {
		p.Share = min(max(c.After*100/c.Before, 0), 100)
	}
	if c.Call != nil {
		p.Call = fmt.Sprintf("%s tokens from the cache, %s uncached, %s written by it: $%.3f", Tokens(c.Call.Read), Tokens(c.Call.Uncached), Tokens(c.Call.Output), c.Call.USD)
	}
	if c.LostCount > 0 {
		p.Lost = fmt.Sprintf("%d messages: %s", c.LostCount, Sizes(c.Lost))
	}
	return p
}

func anchorOf(run, compaction int) string { return fmt.Sprintf("c-%d-%d", run, compaction) }
