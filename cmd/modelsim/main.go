// Modelsim serves the scripted outside on a port: a model API that says what a script tells it to and judges what it is sent. The
// script's format is in the documentation of package modelsim.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"varve.dev/modelsim"
)

// Exit codes: 0 no violation, 1 the server failed, 2 usage or script, 3 violations were found.
const (
	exitFailed     = 1
	exitUsage      = 2
	exitViolations = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until ctx ends. It prints the base URL first, and a report at the end.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("modelsim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	script := flags.String("script", "", "`file` with the script; without one the server echoes")
	port := flags.Int("port", 0, "`port` on the loopback interface; 0 takes a free one")
	log := flags.String("log", "", "`file` that gets a line of JSON for each request; - is standard error")
	lenient := flags.Bool("lenient", false, "count violations, but answer")
	old := flags.Bool("old-account", false, "check the place of reasoning only when asked to")
	seed := flags.Uint64("seed", 0, "of everything random")
	factor := flags.Float64("factor", 0, "tokens for one token of the estimator; 0 is each model's own")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitUsage
	}
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintln(stderr, "modelsim:", strings.TrimPrefix(err.Error(), "modelsim: ")) // there is no other place to say it
		return code
	}
	if flags.NArg() > 0 {
		return fail(exitUsage, fmt.Errorf("unexpected argument %q; a script is given with --script FILE", flags.Arg(0)))
	}
	if *port < 0 || *port > 65535 {
		return fail(exitUsage, fmt.Errorf("--port %d: want 1 to 65535, or 0 for a free one", *port))
	}
	if !(*factor >= 0 && *factor <= 100) { // also no number at all
		return fail(exitUsage, fmt.Errorf("--factor %v: want more than 0 and at most 100", *factor))
	}
	cfg := modelsim.Config{Lenient: *lenient, OldAccount: *old, Seed: *seed, Factor: *factor}
	if *script != "" {
		text, err := os.ReadFile(*script)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("--script: %w", err))
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return fail(exitUsage, fmt.Errorf("--script: %s is empty; without --script the user's text is echoed", *script))
		}
		cfg.Script = string(text)
	}
	if *log == "-" {
		cfg.Log = stderr
	} else if *log != "" {
		f, err := os.OpenFile(*log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fail(exitUsage, fmt.Errorf("--log: %w", err))
		}
		defer f.Close()
		cfg.Log = f
	}
	sim, err := modelsim.New(cfg)
	if err != nil {
		return fail(exitUsage, err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)))
	if err != nil {
		return fail(exitFailed, fmt.Errorf("%w; give another --port, or none for a free one", err))
	}
	sim.Listen(l)
	if _, err := fmt.Fprintln(stdout, sim.URL); err != nil {
		return fail(exitFailed, errors.Join(err, sim.Close()))
	}
	<-ctx.Done()
	if err := errors.Join(sim.Close(), sim.Err()); err != nil {
		return fail(exitFailed, err)
	}
	return report(stdout, sim)
}

// report prints what happened.
func report(w io.Writer, sim *modelsim.Server) int {
	var out strings.Builder
	line := func(format string, args ...any) { out.WriteString(fmt.Sprintf(format, args...)) }
	r := sim.Report()
	line("%d requests (%d for summaries), %d refused, %d overflows\n", r.Requests, r.Side, r.Refused, r.Overflows)
	line("prompts: %d tokens uncached, %d written, %d read (%.1f%%), peak %d; replies: %d; $%.4f (summaries $%.4f)\n",
		r.Input, r.CacheWrite, r.CacheRead, 100*r.ReadShare(), r.Peak, r.Output, r.Cost, r.SideCost)
	line("prefix breaks: %d, of which %d after a compaction; needles: %d of %d\n", r.Breaks, r.BreaksShorter, r.Needles, r.Shown)
	for _, b := range sim.Breaks() {
		line("  %v\n", b)
	}
	var rules []string
	for rule := range r.Violations {
		rules = append(rules, rule)
	}
	sort.Strings(rules)
	for _, rule := range rules {
		line("violation %s: %d\n", rule, r.Violations[rule])
	}
	if _, err := io.WriteString(w, out.String()); err != nil {
		return exitFailed
	}
	if len(rules) > 0 {
		return exitViolations
	}
	return 0
}
