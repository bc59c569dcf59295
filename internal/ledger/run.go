package ledger

import (
	"slices"
	"strings"
)

// run is a command that was run, once or several times.
type run struct {
	Cmd     string `json:"c"`
	Tool    string `json:"tool,omitempty"` // what ran it, when it is no shell: a sub-agent
	N       int    `json:"n"`
	Exit    int    `json:"x,omitempty"`
	HasExit bool   `json:"hx,omitempty"`
	Failed  bool   `json:"f,omitempty"`
	Refused bool   `json:"no,omitempty"`
	Running bool   `json:"run,omitempty"`
	Session string `json:"s,omitempty"`
	Look    bool   `json:"look,omitempty"` // it only showed something
	User    bool   `json:"u,omitempty"`    // a person ran it
	Out     string `json:"o,omitempty"`
	At      int    `json:"at"`
}

// failure is a command or tool that failed, and what ended that.
type failure struct {
	Key   string   `json:"k"`
	What  string   `json:"w"`
	Tool  bool     `json:"tool,omitempty"` // What is a tool's call, not a command
	Out   string   `json:"o,omitempty"`
	Exit  int      `json:"x,omitempty"`
	N     int      `json:"n"`
	At    int      `json:"at"`             // when it failed last
	Fixed int      `json:"ok,omitempty"`   // when it succeeded; 0 while it did not
	By    []string `json:"by,omitempty"`   // files that were changed in between
	More  int      `json:"by+,omitempty"`  // how many more
	Then  string   `json:"then,omitempty"` // else the command that ran in between
	Wider string   `json:"wide,omitempty"` // the command that showed it, when it was another
}

// maxFixes is how many files a fix names.
const maxFixes = 6

// commandLine is a command as it is kept.
func commandLine(s string) string {
	return clip(clean(strings.TrimSpace(clip(s, maxCommand))), maxCommand)
}

// settleRun enters a shell command that was answered.
func (l *Ledger) settleRun(c call, o outcome) {
	all := segments(c.Cmd)
	segs := core(all)
	r := run{Cmd: c.Cmd, Exit: o.Exit, HasExit: o.HasExit, Failed: o.failed(), Refused: o.Refused, Running: o.Running, Session: o.Session, Look: looks(segs), At: l.s.N}
	if c.Act == actScript {
		r.Look = false
	}
	if !o.HasExit && o.Error {
		if code, ok := exitLine(firstLine(o.Line)); ok {
			r.Exit, r.HasExit = code, true
		}
	}
	if (!r.Look || r.Failed) && !r.Running {
		r.Out = o.Line
	}
	if o.Note != "" {
		r.Out = o.Note
	}
	if c.Act == actScript && !o.HasExit {
		r.Out = ""
	}
	key := commandKey(segs)
	l.ran(r, key)
	if r.Refused || r.Running || r.Look {
		return
	}
	if r.Failed {
		l.failed(failure{Key: key, What: c.Cmd, Out: o.Line, Exit: r.Exit, At: l.s.N})
		return
	}
	dir := folder(c.Dir, all)
	for _, ch := range shellDeletes(segs) {
		l.moved(dir, ch)
	}
	l.succeeded(key, segs, c.Cmd)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// ran enters a run; the same command again counts up.
func (l *Ledger) ran(r run, key string) {
	r.N = 1
	for i := len(l.s.Runs) - 1; i >= 0; i-- {
		if k := &l.s.Runs[i]; k.Cmd == r.Cmd && k.Tool == r.Tool && k.User == r.User {
			r.N += k.N
			l.s.Runs = append(l.s.Runs[:i], l.s.Runs[i+1:]...)
			break
		}
	}
	l.s.Runs = append(l.s.Runs, r)
	if len(l.s.Runs) <= maxRuns {
		return
	}
	// What only looked goes first, the oldest first.
	drop := maxRuns / 8
	for _, look := range [2]bool{true, false} {
		l.s.Runs = slices.DeleteFunc(l.s.Runs, func(r run) bool {
			if drop == 0 || r.Look != look {
				return false
			}
			drop--
			l.s.Lost.Runs++
			return true
		})
	}
}

// continued enters more output of a command that ran on in a session.
func (l *Ledger) continued(c call, o outcome) {
	if o.Running || !o.HasExit {
		return
	}
	for i := len(l.s.Runs) - 1; i >= 0; i-- {
		r := &l.s.Runs[i]
		if !r.Running || r.Session == "" || r.Session != c.Session {
			continue
		}
		r.Running, r.Session = false, ""
		segs := core(segments(r.Cmd))
		key := commandKey(segs)
		r.Exit, r.HasExit, r.Failed, r.Out = o.Exit, true, o.failed(), o.Line
		switch {
		case r.Look:
		case r.Failed:
			l.failed(failure{Key: key, What: r.Cmd, Out: o.Line, Exit: o.Exit, At: l.s.N})
		default:
			l.succeeded(key, segs, r.Cmd)
		}
		return
	}
}

// settleTool enters the failure of a tool that is no command, and its end: the same
// tool on the same thing, or any change of the same file.
func (l *Ledger) settleTool(c call, o outcome) {
	if o.Refused || c.Act == actRead || c.Act == actLook {
		return // a file that is not there is an answer
	}
	label := callLabel(c)
	key := "tool:" + clip(label, 400)
	if c.Path != "" {
		key = "file:" + clip(fileKey(c.Dir, c.Path), 400)
	}
	if o.failed() {
		l.failed(failure{Key: key, What: label, Tool: true, Out: o.Line, At: l.s.N})
		return
	}
	for i := len(l.s.Fails) - 1; i >= 0; i-- {
		if f := &l.s.Fails[i]; f.Fixed == 0 && f.Key == key {
			// That a file could be edited at the second try is no fact worth keeping.
			l.s.Fails = append(l.s.Fails[:i], l.s.Fails[i+1:]...)
			return
		}
	}
}

// failed enters a failure, or another of the same.
func (l *Ledger) failed(f failure) {
	f.N = 1
	for i := len(l.s.Fails) - 1; i >= 0; i-- {
		if k := l.s.Fails[i]; k.Key == f.Key && k.Fixed == 0 {
			f.N += k.N
			l.s.Fails = append(l.s.Fails[:i], l.s.Fails[i+1:]...)
			break
		}
	}
	l.s.Fails = append(l.s.Fails, f)
	if len(l.s.Fails) <= maxFails {
		return
	}
	for i := range l.s.Fails {
		if l.s.Fails[i].Fixed > 0 || l.s.Fails[i].Tool {
			l.s.Fails = append(l.s.Fails[:i], l.s.Fails[i+1:]...)
			l.s.Lost.Fails++
			return
		}
	}
	l.s.Fails = append(l.s.Fails[:0], l.s.Fails[1:]...)
	l.s.Lost.Fails++
}

// succeeded ends the failures of the same command, and of checks that this one
// includes when something was changed since they failed.
func (l *Ledger) succeeded(key string, segs [][]string, cmd string) {
	all := slices.ContainsFunc(segs, func(s []string) bool { return family(s) != "" && wide(s) })
	for i := range l.s.Fails {
		f := &l.s.Fails[i]
		if f.Fixed > 0 || f.Tool {
			continue
		}
		same := f.Key == key
		if !same && (!all || !covers(segs, core(segments(f.What)))) {
			continue
		}
		by := l.changedSince(f.At)
		if !same {
			if len(by) == 0 {
				continue
			}
			f.Wider = cmd
		}
		f.Fixed = l.s.N
		f.By = by[:min(len(by), maxFixes)]
		f.More = len(by) - len(f.By)
		if len(by) == 0 {
			f.Then = l.between(f.At, cmd)
		}
	}
}

// between returns the newest command since a point that may have mended something.
func (l *Ledger) between(at int, not string) string {
	for i := len(l.s.Runs) - 1; i >= 0; i-- {
		r := &l.s.Runs[i]
		if r.At <= at {
			return ""
		}
		if !r.Look && !r.Failed && !r.Refused && r.Cmd != not && r.Tool == "" {
			return r.Cmd
		}
	}
	return ""
}
