package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"varve.dev/caps"
	"varve.dev/engine"
	"varve.dev/internal/replay"
	"varve.dev/internal/sources"
	"varve.dev/internal/term"
	"varve.dev/session"
	"varve.dev/transcript"
)

// replayCmd is `varve replay`.
type replayCmd struct {
	ID        string   `arg:"" optional:"" help:"File, id, the beginning of one, or title; also a file of Codex, Gemini CLI, opencode or pi. Without it: a recording that comes with the program."`
	Window    string   `placeholder:"TOKENS" help:"Window to replay with, for example 32k, 200k or 1M. Without it: the model's, at most 200k."`
	Model     string   `placeholder:"NAME" help:"Model whose window, prices and rules count. Without it: the recorded one."`
	Policy    []string `placeholder:"NAME" help:"Policies to compare, separated by commas; all for every one. Without it: varve, varve-server and none."`
	JSON      bool     `name:"json" help:"Print a JSON document."`
	HTML      string   `name:"html" placeholder:"FILE" type:"path" help:"Also write a page with an interactive picture."`
	Out       string   `placeholder:"DIR" type:"path" help:"Leave the session in this folder instead of the usual one (VARVE_HOME)."`
	NoSession bool     `help:"Leave no session behind."`
	Force     bool     `help:"Replace the page if there is one."`
}

// Help is the manual of the command.
func (*replayCmd) Help() string {
	var b strings.Builder
	b.WriteString("Every request that a recorded session would have sent is prepared by the engine again, without a model: you see how the context grows, which rung of the ladder fires when, what it costs, and what is kept. Nothing is sent anywhere. Policies:\n\n")
	for _, p := range replay.Policies() {
		fmt.Fprintf(&b, "  %-12s %s\n", p.Name, p.Title)
	}
	b.WriteString("\nThose of other agents are approximations; docs/replay.md says of what.")
	return b.String()
}

// Run replays one recording.
func (c *replayCmd) Run(ctx context.Context, a *app, g *grammar) error {
	window, err := parseTokens(c.Window)
	if err != nil {
		return &usageError{err}
	}
	if c.HTML != "" && !c.Force {
		if _, err := os.Lstat(c.HTML); err == nil {
			return fmt.Errorf("%s exists; --force replaces it", c.HTML)
		}
	}
	rec, done, err := c.open(ctx, a, g)
	if err != nil {
		return err
	}
	defer done()
	model, err := c.model(a, rec)
	if err != nil {
		return err
	}
	switch {
	case window != 0:
	case c.ID == "":
		window = replay.BundledWindow
	default:
		window = min(model.Window, usualWindow)
	}
	left := &leftSession{cmd: c, app: a, title: rec.Title, project: rec.CWD}
	opt := replay.Options{Model: model, Window: window, Policies: c.policies()}
	if !c.NoSession {
		opt.Store = func(now func() time.Time) (engine.Store, error) { return left.create(ctx, now) }
	}
	res, err := c.run(ctx, a, rec, opt)
	if cerr := left.close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		var unknown *replay.PolicyError
		if errors.As(err, &unknown) {
			return &usageError{err}
		}
		return err
	}
	res.Session = left.left
	if c.HTML != "" {
		if err := c.page(a, res); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.out.json(res, "", nil)
	}
	replayText{a.out, res}.print()
	return nil
}

// usualWindow is what the replay of a model with a larger window is limited to: the
// window that most sessions run with.
const usualWindow = 200_000

func (c *replayCmd) policies() []string {
	if len(c.Policy) == 0 {
		return []string{replay.Own, replay.Server, replay.None}
	}
	if len(c.Policy) == 1 && c.Policy[0] == "all" {
		var names []string
		for _, p := range replay.Policies() {
			names = append(names, p.Name)
		}
		return names
	}
	return c.Policy
}

// largeRecording is the size of a recording from which on memory counts more than
// time, in bytes.
const largeRecording = 64 << 20

// run shows the progress while the replay goes on.
func (c *replayCmd) run(ctx context.Context, a *app, rec *replay.Recording, opt replay.Options) (*replay.Result, error) {
	if rec.Bytes > largeRecording {
		// What is known of each entry stays, and would be held twice by the time the
		// collector looks again.
		defer debug.SetGCPercent(debug.SetGCPercent(50))
	}
	bar := a.out.progress("Replaying", int64(rec.Replies*len(opt.Policies)))
	defer bar.Done()
	var n int64
	opt.Observe = func(replay.Progress) {
		n++
		bar.Set(n)
	}
	return replay.Run(ctx, rec, opt)
}

// open reads the recording that is meant. done gives back what it holds.
func (c *replayCmd) open(ctx context.Context, a *app, g *grammar) (rec *replay.Recording, done func(), err error) {
	if c.ID == "" {
		rec, err := replay.Bundled()
		return rec, func() {}, err
	}
	other, err := a.foreignSession(ctx, c.ID)
	if err != nil {
		return nil, nil, err
	}
	if other != nil {
		rec, err := foreignRecording(c.ID, other)
		return rec, func() {}, err
	}
	s, err := g.Sessions.find(ctx, a, c.ID)
	if err != nil {
		return nil, nil, strangeFile(c.ID, err)
	}
	log, err := transcript.ReadFile(ctx, s.Path, transcript.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = log.Close() } // opened for reading: nothing to lose
	rec, err = replay.FromLog(log)
	switch {
	case err != nil:
	case log.Size == 0:
		err = fmt.Errorf("%s is empty", s.Path)
	case rec.Recorded.Entries == 0:
		err = fmt.Errorf("%s holds no conversation; `varve sessions check` says what it holds", s.Path)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	rec.Name, rec.Format, rec.Title = filepath.Base(s.Path), s.Source, s.Name()
	if rec.Format == "" {
		rec.Format = sources.SourceClaude
	}
	agents, _ := a.finder.Agents(s) // what was skipped is not replayed either
	rec.SubAgents = len(agents)
	return rec, done, nil
}

// model resolves the model to count for.
func (c *replayCmd) model(a *app, rec *replay.Recording) (caps.Model, error) {
	name := c.Model
	if name == "" {
		name = rec.Model
	}
	if name == "" {
		name = replay.UsualModel
	}
	m, notices := caps.Catalogue{}.Resolve(caps.Query{Model: name})
	for _, n := range notices {
		a.out.note("Note: %s", n)
	}
	return m, nil
}

// parseTokens reads a number of tokens: 200000, 200k, 1M; 0 for nothing.
func parseTokens(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	digits, unit := s, 1.0
	switch s[len(s)-1] {
	case 'k', 'K':
		digits, unit = s[:len(s)-1], 1e3
	case 'm', 'M':
		digits, unit = s[:len(s)-1], 1e6
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
	n := f * unit
	if err != nil || n < 4000 || n > 1e9 {
		return 0, fmt.Errorf("--window takes a number of tokens from 4000 on, such as 32k, 200k or 1M, not %s", s)
	}
	return int(n), nil
}

// leftSession is the session that a replay leaves behind.
type leftSession struct {
	cmd     *replayCmd
	app     *app
	title   string
	project string // the recorded directory: the session belongs to it
	s       *session.Session
	left    *replay.Left
}

func (l *leftSession) create(ctx context.Context, now func() time.Time) (engine.Store, error) {
	dir := l.cmd.Out
	if dir == "" {
		dir = l.app.env.Getenv("VARVE_HOME")
	}
	st, err := session.OpenStore(session.Home{Dir: dir})
	if err != nil {
		return nil, err
	}
	project := l.project
	if project == "" {
		if project, err = l.app.env.Getwd(); err != nil {
			return nil, fmt.Errorf("the current directory is gone: %w; use --no-session", err)
		}
	}
	l.s, err = st.Create(ctx, session.Project(project), session.Clock(now), session.Program("replay", "cli"))
	if err != nil {
		return nil, err
	}
	return l.s, nil
}

func (l *leftSession) close(ctx context.Context) error {
	if l.s == nil {
		return nil
	}
	st := l.s.Stamp()
	err := l.s.Append(st.Meta(transcript.TypeCustomTitle, "Replay of "+term.Line(l.title, titleShown)))
	err = errors.Join(err, l.s.Close(context.WithoutCancel(ctx)))
	for _, w := range l.s.Warnings() {
		l.app.out.note("Note: %s", w)
	}
	if _, serr := os.Stat(l.s.Path); serr == nil {
		l.left = &replay.Left{ID: l.s.ID, Path: l.s.Path}
	}
	return err
}

// page writes the picture for a browser.
func (c *replayCmd) page(a *app, res *replay.Result) error {
	var b bytes.Buffer
	if err := replay.HTML(&b, res); err != nil {
		return err
	}
	if err := writeDocument(c.HTML, b.Bytes(), c.Force); err != nil {
		return err
	}
	a.out.note("Wrote %s.", c.HTML)
	return nil
}
