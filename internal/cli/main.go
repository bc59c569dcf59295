package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"varve.dev/internal/sources"
)

// Env is the process that a command runs in.
type Env struct {
	Args           []string // without the program's name
	Stdout, Stderr *os.File
	Getenv         func(string) string
	Environ        func() []string // all variables, for settings; nil: none
	Getwd          func() (string, error)
	UserHome       string // "" when there is none
	CacheDir       string // for caches that may be lost; "" for none
	Now            func() time.Time
}

// System is the process as it is.
func System() Env {
	home, _ := os.UserHomeDir()   // absent in some containers: homes must be named then
	cache, _ := os.UserCacheDir() // likewise: nothing is cached then
	if cache != "" {
		cache = filepath.Join(cache, "varve")
	}
	return Env{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Getwd: os.Getwd,
		UserHome: home, CacheDir: cache, Now: time.Now}
}

// Version is set by the linker for released builds.
var Version = ""

func version() string {
	v := Version
	if v == "" {
		v = "devel"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			v = info.Main.Version
		}
	}
	return fmt.Sprintf("varve %s (%s, %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// grammar is every command and flag.
type grammar struct {
	Version  bool        `help:"Print the version." short:"V"`
	Sessions sessionsCmd `cmd:"" help:"List, show, check and export recorded sessions."`
	Replay   replayCmd   `cmd:"" help:"Drive a recorded session through the engine: context, rungs, cost, what is kept."`
	Context  contextCmd  `cmd:"" help:"What fills the window of a session, as a picture."`
	Compact  compactCmd  `cmd:"" help:"Shorten the context of a session by facts from its log; --undo takes it back."`
	Recall   recallCmd   `cmd:"" help:"Find in the whole log what left the context of a session."`
	Models   modelsCmd   `cmd:"" help:"What models can bear: windows, limits, prices."`
}

// app is what a running command has at hand.
type app struct {
	env    Env
	out    *printer
	finder *sources.Finder
}

// Main runs the command that env.Args name and returns the exit code.
func Main(env Env) int {
	ctx, signals := watchSignals()
	defer signals.stop()
	a := &app{env: env, out: newPrinter(env), finder: sources.New(sources.Homes(env.Getenv, env.UserHome))}
	if env.CacheDir != "" {
		a.finder.CacheDir = filepath.Join(env.CacheDir, "sessions")
	}
	err := a.run(ctx)
	if ferr := a.out.flush(); err == nil {
		err = ferr
	}
	if sig := signals.got(); sig != nil && err != nil {
		err = &interruptedError{sig}
	}
	a.report(err)
	return ExitCode(err)
}

// parsed ends the parser where it would end the process, after printing help.
type parsed struct{}

func (a *app) run(ctx context.Context) error {
	if len(a.env.Args) == 1 && (a.env.Args[0] == "--version" || a.env.Args[0] == "-V") {
		a.out.line("%s", version()) // the parser need not be built for it
		return nil
	}
	var g grammar
	defer func() {
		switch p := recover().(type) {
		case nil, parsed: // help was printed
		default:
			panic(p)
		}
	}()
	parser, err := kong.New(&g, kong.Name("varve"), kong.Description(description),
		kong.Writers(a.out.help(), a.env.Stderr), kong.Exit(func(int) { panic(parsed{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(a))
	if err != nil {
		return err
	}
	args := a.env.Args
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		if g.Version {
			a.out.line("%s", version())
			return nil
		}
		return &usageError{err}
	}
	return k.Run()
}

const description = `A session engine for coding agents: what happened is kept in a log, what a model sees is a view of it.

Exit codes: 0 done, 1 failed or damage found, 2 wrong use, 4 the provider was not reached or refused, 5 another process writes the session, 130 and 143 ended by a signal.`

// signalWatch ends a context at the first signal that asks the process to end.
type signalWatch struct {
	cancel context.CancelFunc
	ch     chan os.Signal
	done   chan struct{}
	sig    os.Signal
}

func watchSignals() (context.Context, *signalWatch) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &signalWatch{cancel: cancel, ch: make(chan os.Signal, 1), done: make(chan struct{})}
	signal.Notify(w.ch, os.Interrupt, syscall.SIGTERM)
	go func() { // ends in stop, which waits for it
		defer close(w.done)
		if sig, ok := <-w.ch; ok {
			w.sig = sig
			signal.Stop(w.ch) // a second one ends the process at once
			cancel()
		}
	}()
	return ctx, w
}

func (w *signalWatch) stop() {
	signal.Stop(w.ch)
	w.cancel()
	select {
	case <-w.done:
	default:
		close(w.ch)
		<-w.done
	}
}

// got returns the signal that ended the command, nil when none did.
func (w *signalWatch) got() os.Signal {
	select {
	case <-w.done:
		return w.sig
	default:
		return nil
	}
}
