package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"varve.dev/message"
	"varve.dev/transcript"
)

// Session is what an export is made of.
type Session struct {
	ID   string          // the name of the log without its ending
	Lite transcript.Lite // title, tag, branch, directory, times

	Sections []Section           // in reading order; exactly one has the kind SectionMain
	Side     []*transcript.Entry // entries that are no part of any conversation, in file order; JSON only
	Agents   []Agent             // in the order of their ids
	Faults   []transcript.Fault  // what was wrong with the log
	Usage    Usage

	undone map[string]bool // boundaries that an undo entry took back
	close  func() error
}

// SectionKind says how a part of a log belongs to the session.
type SectionKind string

// The kinds of sections.
const (
	SectionMain    SectionKind = "conversation" // from the start to the tip
	SectionEarlier SectionKind = "earlier"      // a conversation that ended before the main one began
	SectionBranch  SectionKind = "branch"       // left behind by a rewind or an edit
	SectionAgent   SectionKind = "sub-agent"    // recorded in the same file, as old clients did
	SectionLoose   SectionKind = "unlinked"     // entries that no leaf leads to
)

// Section is a sequence of entries that follow each other.
type Section struct {
	Kind    SectionKind
	Entries []*transcript.Entry
}

// Agent is a sub-agent that has a log of its own.
type Agent struct {
	ID          string
	Type        string // explore, reviewer, …; "" when not recorded
	Description string
	Prompt      string // all of it; shown in part
	Messages    int
	First, Last time.Time
}

// Usage sums up the tokens of the main conversation. Each reply counts once.
type Usage struct {
	Replies    int   `json:"replies"`
	Input      int64 `json:"input"`      // tokens not read from a cache
	CacheRead  int64 `json:"cacheRead"`  // tokens read from a cache
	CacheWrite int64 `json:"cacheWrite"` // tokens written to a cache
	Output     int64 `json:"output"`
}

// Open reads the log at path and, beside it, what is there of its sub-agents.
// Damaged lines are passed over and listed in Faults. Close the session after
// its last export.
func Open(ctx context.Context, path string) (*Session, error) {
	log, err := transcript.ReadFile(ctx, path, transcript.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	lite, _, err := transcript.ReadLiteFile(path)
	if err != nil {
		_ = log.Close() // the error that matters is the first
		return nil, fmt.Errorf("export: %w", err)
	}
	s := FromLog(log)
	s.ID = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	s.Lite = lite
	s.Agents = agentsBeside(path)
	s.close = log.Close
	return s, nil
}

// Close releases the log of a session that [Open] read.
func (s *Session) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// FromLog makes a session of a log. Its ID is that of the records; the caller
// sets what else it knows.
func FromLog(l *transcript.Log) *Session {
	s := &Session{Faults: l.Faults, undone: map[string]bool{}}
	seen := map[*transcript.Entry]bool{}
	var main []*transcript.Entry
	if tip := l.Tip(); tip != nil {
		main = l.History(tip).Entries
	}
	for _, e := range main {
		seen[e] = true
		s.noteUndo(e)
	}
	s.Sections = []Section{{SectionMain, main}}
	s.addBranches(l, seen)
	var loose []*transcript.Entry
	for _, e := range l.Entries {
		if s.ID == "" {
			s.ID = e.SessionID
		}
		switch {
		case seen[e]:
		case e.IsChain():
			loose = append(loose, e)
		case e.Type != transcript.TypeProgress:
			s.Side = append(s.Side, e)
		}
	}
	if len(loose) > 0 {
		s.Sections = append(s.Sections, Section{SectionLoose, loose})
	}
	slices.SortStableFunc(s.Sections, func(a, b Section) int { return first(a) - first(b) })
	s.joinEarlier()
	s.Lite.SessionID = s.ID
	s.Usage = sumUsage(main)
	return s
}

// addBranches adds what other leaves lead to and the main conversation does not
// hold, each entry once. A path that leaves another branch joins its section:
// most are results of parallel calls, and a tree of branches read in the order
// of the file is easier to follow than many fragments.
func (s *Session) addBranches(l *transcript.Log, seen map[*transcript.Entry]bool) {
	parents := map[string]bool{}
	for _, e := range l.Entries {
		if e.ParentUUID != "" {
			parents[e.ParentUUID] = true
		}
	}
	sectionOf := map[*transcript.Entry]int{}
	for _, leaf := range l.Entries {
		if seen[leaf] || leaf.UUID == "" || parents[leaf.UUID] {
			continue
		}
		var path []*transcript.Entry
		at := leaf
		for at != nil && !seen[at] {
			seen[at] = true
			if at.IsChain() {
				path = append(path, at)
				s.noteUndo(at)
			}
			at = l.ByUUID(at.ParentUUID)
		}
		if len(path) == 0 {
			continue
		}
		slices.Reverse(path)
		to, joins := sectionOf[at]
		if joins {
			s.Sections[to].Entries = append(s.Sections[to].Entries, path...)
		} else {
			to = len(s.Sections)
			s.Sections = append(s.Sections, Section{s.branchKind(path, at), path})
		}
		for _, e := range path {
			sectionOf[e] = to
		}
	}
	for _, sec := range s.Sections[1:] {
		slices.SortStableFunc(sec.Entries, func(a, b *transcript.Entry) int { return a.Seq() - b.Seq() })
	}
}

// branchKind says what a path is that leaves the main conversation at from, nil
// where it does not touch it.
func (s *Session) branchKind(path []*transcript.Entry, from *transcript.Entry) SectionKind {
	main := s.Sections[0].Entries
	switch {
	case path[0].Sidechain:
		return SectionAgent
	case from == nil && len(main) > 0 && path[len(path)-1].Seq() < main[0].Seq():
		return SectionEarlier
	}
	return SectionBranch
}

// joinEarlier makes one section of earlier conversations that follow each other:
// logs in which few entries name their parent have very many.
func (s *Session) joinEarlier() {
	out := s.Sections[:0]
	for _, sec := range s.Sections {
		if n := len(out); n > 0 && sec.Kind == SectionEarlier && out[n-1].Kind == SectionEarlier {
			out[n-1].Entries = append(out[n-1].Entries, sec.Entries...)
			continue
		}
		out = append(out, sec)
	}
	s.Sections = out
}

func (s *Session) noteUndo(e *transcript.Entry) {
	if e.Type != transcript.TypeSystem || e.Subtype != transcript.SubUndo {
		return
	}
	if u, err := e.Undo(); err == nil {
		s.undone[u.BoundaryUUID] = true
	}
}

// first is the place in the file at which a section begins.
func first(s Section) int {
	if len(s.Entries) == 0 {
		return -1
	}
	return s.Entries[0].Seq()
}

// sumUsage counts each reply once, by its last record, which has the final
// figures.
func sumUsage(entries []*transcript.Entry) Usage {
	byReply := map[string]message.Usage{}
	for _, e := range entries {
		if e.Type != transcript.TypeAssistant || e.MessageID == "" {
			continue
		}
		if m, err := e.Message(); err == nil && m.Usage != nil {
			byReply[e.MessageID] = *m.Usage
		}
	}
	var sum Usage
	for _, u := range byReply {
		sum.Replies++
		sum.Input += u.InputTokens
		sum.CacheRead += u.CacheReadTokens
		sum.CacheWrite += u.CacheCreationTokens
		sum.Output += u.OutputTokens
	}
	return sum
}

// agentsBeside lists the sub-agents of the log at path. What cannot be read is
// listed with what is known of it.
func agentsBeside(path string) []Agent {
	dir := filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil // most sessions have none
	}
	var agents []Agent
	for _, d := range list {
		name, isLog := strings.CutSuffix(d.Name(), ".jsonl")
		id, isAgent := strings.CutPrefix(name, "agent-")
		if !isLog || !isAgent || !d.Type().IsRegular() {
			continue
		}
		a := Agent{ID: id}
		if lite, _, err := transcript.ReadLiteFile(filepath.Join(dir, d.Name())); err == nil {
			a.Messages, a.First, a.Last = lite.Messages, lite.First, lite.Last
		}
		a.Prompt = taskOf(filepath.Join(dir, d.Name()))
		a.readMeta(filepath.Join(dir, name+".meta.json"))
		agents = append(agents, a)
	}
	return agents
}

// taskOf returns what a sub-agent was told, from the first record of its log, ""
// where it cannot be read.
func taskOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // nothing was written
	line, err := bufio.NewReader(io.LimitReader(f, maxFirst)).ReadBytes('\n')
	if err != nil {
		return ""
	}
	e, err := transcript.Parse(bytes.TrimRight(line, "\r\n"))
	if err != nil || e.Type != transcript.TypeUser {
		return ""
	}
	m, err := e.Message()
	if err != nil {
		return ""
	}
	for _, b := range m.Content {
		if b.Type == message.TypeText && !message.IsBlank(b.Text) {
			return b.Text
		}
	}
	return ""
}

// maxFirst bounds the first record; longer tasks are not listed.
const maxFirst = 1 << 20

// maxMeta bounds what is read of a file that should have a hundred bytes.
const maxMeta = 64 << 10

// readMeta reads type and description from the file that newer clients write
// beside a sub-agent's log.
func (a *Agent) readMeta(path string) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxMeta {
		return
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return
	}
	var meta struct{ AgentType, Description string }
	if json.Unmarshal(raw, &meta) == nil {
		a.Type, a.Description = meta.AgentType, meta.Description
	}
}
