package replay

import (
	"fmt"
	"html/template"
	"strings"
)

// The charts of the page are drawn in units of a thousandth of its width.
const (
	chartWide   = 1000
	chartHigh   = 340
	chartLeft   = 70
	chartTop    = 14
	chartBottom = 44 // below the plot: marks and the axis
	chartRight  = 10
)

// plot is the rectangle that holds the data.
type plot struct {
	strings.Builder
	columns int // of the longest run that is drawn
	top     int // tokens at the upper edge
}

func (p *plot) x(i int) float64 {
	return chartLeft + float64(i)*(chartWide-chartLeft-chartRight)/float64(max(p.columns, 1))
}

func (p *plot) y(n int) float64 {
	return chartHigh - chartBottom - float64(min(n, p.top))*(chartHigh-chartBottom-chartTop)/float64(max(p.top, 1))
}

func (p *plot) printf(format string, args ...any) { p.WriteString(fmt.Sprintf(format, args...)) }

// begin opens the picture and draws its scale.
func (p *plot) begin(title string, limits Limits) {
	p.printf(`<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s" data-left="%d" data-width="%d">`, chartWide, chartHigh, template.HTMLEscapeString(title), chartLeft, chartWide-chartLeft-chartRight)
	for i := range 5 {
		n := p.top * i / 4
		p.printf(`<path class="grid" d="M%d %.1fH%d"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`, chartLeft, p.y(n), chartWide-chartRight, chartLeft-8, p.y(n)+5, Tokens(n))
	}
	for _, l := range []struct {
		n, shift int // the lower line has its name below it, the upper one above
		name     string
	}{{limits.Auto, 14, "compaction begins"}, {limits.Effective, -5, "full"}} {
		if l.n > 0 && l.n <= p.top {
			p.printf(`<path class="limit" d="M%d %.1fH%d"/><text x="%d" y="%.1f">%s</text>`, chartLeft, p.y(l.n), chartWide-chartRight, chartLeft+6, p.y(l.n)+float64(l.shift), l.name)
		}
	}
}

// stackChart draws one run: what fills each request, by kind, and a mark for each
// compaction.
func stackChart(index int, r *Result, run *PolicyRun, turns []Turn) template.HTML {
	if len(turns) == 0 {
		return "<p>No request was recorded.</p>"
	}
	p := &plot{columns: len(turns), top: topOf(r, run)}
	p.begin(fmt.Sprintf("Tokens of %d requests under %s, at most %s; %d compactions. The tables below say the same.", len(run.Turns), run.Policy, Tokens(run.Peak), len(run.Compactions)), r.Limits)
	base := make([]int, len(turns))
	for k, name := range Parts() {
		used := false
		var up, down strings.Builder
		for i, t := range turns {
			n := t.Parts[name]
			used = used || n > 0
			fmt.Fprintf(&up, "%.1f %.1fH%.1fL", p.x(i), p.y(base[i]+n), p.x(i+1))
		}
		if !used {
			continue
		}
		for i := len(turns) - 1; i >= 0; i-- {
			fmt.Fprintf(&down, "%.1f %.1fH%.1fL", p.x(i+1), p.y(base[i]), p.x(i))
			base[i] += turns[i].Parts[name]
		}
		p.printf(`<path class="k%d" d="M%s%sZ"><title>%s</title></path>`, k, up.String(), strings.TrimSuffix(down.String(), "L"), name)
	}
	p.printf(`<rect class="cursor" x="0" y="%d" width="0" height="%d"/>`, chartTop, chartHigh-chartBottom-chartTop)
	each := (len(run.Turns) + len(turns) - 1) / len(turns)
	for k, c := range run.Compactions[:min(len(run.Compactions), pageCompactions)] {
		x := p.x(min((c.Turn-1)/each, len(turns)-1))
		p.printf(`<a class="mark" href="#%s" aria-label="%s before request %d, %s to %s tokens"><path d="M%.1f %dl7 12h-14z"/><text x="%.1f" y="%d">%s</text></a>`,
			anchorOf(index, k), template.HTMLEscapeString(c.Rung), c.Turn, Tokens(c.Before), Tokens(c.After), x, chartHigh-chartBottom+4, x, chartHigh-8, template.HTMLEscapeString(c.Rung[:min(1, len(c.Rung))]))
	}
	p.printf("</svg>")
	return template.HTML(p.String())
}

// topOf returns the upper edge of a run's chart.
func topOf(r *Result, run *PolicyRun) int {
	if run.Policy == None || run.Peak < r.Limits.Auto/2 {
		return max(run.Peak*21/20, 1)
	}
	return max(run.Peak, r.Limits.Effective) * 21 / 20
}

// compareChart draws the size of the requests of every run as lines. What grows
// beyond the window is cut off at the upper edge.
func compareChart(r *Result) template.HTML {
	p := &plot{top: r.Limits.Effective * 5 / 4}
	peak := 0
	for i := range r.Runs {
		p.columns = max(p.columns, len(r.Runs[i].Turns))
		peak = max(peak, r.Runs[i].Peak)
	}
	if p.columns == 0 {
		return "<p>No request was recorded.</p>"
	}
	p.top = max(min(p.top, peak*21/20), 1)
	p.begin(fmt.Sprintf("Tokens of each request under %d policies; the table below has the figures.", len(r.Runs)), r.Limits)
	for i := range r.Runs {
		turns := r.Runs[i].Turns
		var d strings.Builder
		step := max(len(turns)/pageColumns, 1)
		for k := 0; k < len(turns); k += step {
			fmt.Fprintf(&d, "L%.1f %.1f", p.x(k), p.y(turns[k].Tokens))
		}
		if d.Len() > 0 {
			p.printf(`<path class="line l%d" d="M%s"><title>%s</title></path>`, i, strings.TrimPrefix(d.String(), "L"), template.HTMLEscapeString(r.Runs[i].Policy))
		}
	}
	p.printf("</svg>")
	return template.HTML(p.String())
}
