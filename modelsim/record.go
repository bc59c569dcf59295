package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"varve.dev/message"
)

// A Request is the record of one request: what was sent, how it was judged, and what was answered.
type Request struct {
	N         int // of all requests, from 1
	Message   int // of the requests for a reply, from 1; 0 for others
	RequestID string
	Time      time.Time
	Duration  time.Duration `json:"-"`
	Done      bool          // the answer was sent, or cut

	Method, Path string
	Header       http.Header `json:"-"`
	Body         []byte      `json:"-"`
	Kind         string      // message, compaction, count, models, other
	Key          string      `json:"-"`
	Model        string
	Stream       bool
	Side         bool // a summary, or a request for one: no part of the main conversation

	Violations      []Violation
	Transformations []Transformation
	AppliedEdits    []AppliedEdit

	PromptTokens int    // what the model saw: after edits, drops and compaction
	SentTokens   int    // what was sent
	Section      string // of the script: "turn at line 12"
	Overflow     bool   // over the window, really

	Status     int
	Error      string // error type; "plain" for a body that is no JSON
	Cut        string // the fault that cut the reply, or "client" when the client went away; "" when all of it was sent
	MessageID  string
	StopReason string
	Reply      json.RawMessage `json:",omitempty"` // the message, as it would be with all of it sent
	Usage      message.Usage   `json:"-"`          // what was really used, whatever the script told the client
	Cost       float64         // dollars, by the prices of package caps

	Needles int // in the messages of this request
	Shown   int // in all main requests up to this one
	Break   *Break
}

// A Break is a main request that did not extend what was sent before in its lane (one key, one model, with or without tools): it
// shares less than 97 % of the previous request with anything sent.
type Break struct {
	Request  int    // number of the record
	Path     string // the first piece that is not what the previous request had there
	Cause    string // tools, system, messages
	Shared   int    // tokens in common with something sent before
	Previous int    // tokens of the request before
	Shorter  bool   // the request is under 70 % of the previous one: something was compacted
}

func (b Break) String() string {
	return fmt.Sprintf("request %d: %s changed at %s: %d of %d tokens are what was sent before", b.Request, b.Cause, b.Path, b.Shared, b.Previous)
}

// begin starts the record of a request.
func (s *Server) begin(r *http.Request, body []byte) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := &Request{N: len(s.records) + 1, Kind: "other", Time: s.clock.Now(), Method: r.Method, Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	rec.RequestID = fmt.Sprintf("req_%x", sumOf(s.secret, []byte(itoa(rec.N))))
	s.records = append(s.records, *rec)
	return rec
}

// take notes what the judgement found.
func (rec *Request) take(c *call, found []Violation, b *bound) {
	rec.Key, rec.Model, rec.Stream = c.key, c.body.str("model"), c.body.flag("stream")
	rec.Violations, rec.Transformations = found, b.changed
	rec.Kind = "message"
	switch {
	case c.isCount():
		rec.Kind, rec.Side = "count", true
	case c.wantsCompaction():
		rec.Kind, rec.Side = "compaction", true
	}
}

func (rec *Request) reply(c *call, body *messageBody, r *reply, used *usage) {
	rec.Side = rec.Side || r.side
	rec.MessageID, rec.StopReason = body.ID, r.stop
	rec.Reply = marshal(body)
	rec.Usage = used.actual()
	rec.Cost = c.model.Price.Cost(rec.Usage)
}

// logLine is a record as it is logged.
type logLine struct {
	*Request
	Header http.Header
	Body   json.RawMessage
	Usage  map[string]int64
	Millis float64 `json:"DurationMs"`
}

// publish makes what is known of a request visible to others. A record belongs to the goroutine that answers; others see copies.
func (s *Server) publish(rec *Request) { s.records[rec.N-1] = *rec }

// finish ends a record and logs it. The key goes into no log.
func (s *Server) finish(rec *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Duration = s.clock.Now().Sub(rec.Time)
	rec.Done = true
	s.publish(rec)
	if s.cfg.Log == nil {
		return
	}
	u := rec.Usage
	line := logLine{Request: rec, Header: rec.Header.Clone(), Body: rec.Body, Millis: float64(rec.Duration.Microseconds()) / 1000,
		Usage: map[string]int64{"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens,
			"cache_read_input_tokens": u.CacheReadTokens, "cache_creation_input_tokens": u.CacheCreationTokens}}
	line.Header.Del("X-Api-Key")
	line.Header.Del("Authorization")
	if !json.Valid(line.Body) {
		line.Body = marshal(string(rec.Body))
	}
	if _, err := s.cfg.Log.Write(append(marshal(line), '\n')); err != nil {
		s.faults = append(s.faults, fmt.Errorf("modelsim: log: %w", err))
	}
}

// Requests returns the records of all requests so far, in the order in which they arrived. Bodies are shared, and must not be changed.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

// Violations returns what all requests so far did wrong, in their order; [Server.Requests] says which did what.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Violation
	for _, r := range s.records {
		out = append(out, r.Violations...)
	}
	return out
}

// Breaks returns the requests that did not extend what was sent before.
func (s *Server) Breaks() []Break {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Break
	for _, r := range s.records {
		if r.Break != nil {
			out = append(out, *r.Break)
		}
	}
	return out
}

// Err returns the first mistake of the script that a request met, such as a call of a tool that is not offered, or of writing the log.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return nil
	}
	return s.faults[0]
}

// A Report sums up all requests so far.
type Report struct {
	Requests, Side, Refused, Overflows int
	Violations                         map[string]int // by rule
	Breaks, BreaksShorter              int            // all; those that a compaction explains
	Input, CacheRead, CacheWrite       int64          // tokens of prompts: uncached, read, written
	Output                             int64
	Cost, SideCost                     float64 // dollars; SideCost is part of Cost
	Needles, Shown                     int     // in the last main request; in all before it
	Peak                               int     // the largest prompt, in tokens
}

// ReadShare is the share of prompts that came from the cache, from 0 to 1.
func (r Report) ReadShare() float64 {
	all := r.Input + r.CacheRead + r.CacheWrite
	if all == 0 {
		return 0
	}
	return float64(r.CacheRead) / float64(all)
}

// Report returns the sums.
func (s *Server) Report() Report {
	out := Report{Violations: map[string]int{}}
	for _, r := range s.Requests() {
		for _, v := range r.Violations {
			out.Violations[v.Rule]++
		}
		if !slices.Contains([]string{"message", "compaction"}, r.Kind) {
			continue
		}
		out.Requests++
		out.Cost += r.Cost
		u := r.Usage
		for _, it := range u.Iterations {
			if it.Type == "compaction" {
				u.InputTokens, u.CacheReadTokens = u.InputTokens+it.InputTokens, u.CacheReadTokens+it.CacheReadTokens
				u.CacheCreationTokens, u.OutputTokens = u.CacheCreationTokens+it.CacheCreationTokens, u.OutputTokens+it.OutputTokens
			}
		}
		out.Input, out.CacheRead, out.CacheWrite, out.Output = out.Input+u.InputTokens, out.CacheRead+u.CacheReadTokens, out.CacheWrite+u.CacheCreationTokens, out.Output+u.OutputTokens
		out.Peak = max(out.Peak, r.PromptTokens)
		if r.Status != http.StatusOK {
			out.Refused++
		}
		if r.Overflow {
			out.Overflows++
		}
		if r.Side {
			out.Side++
			out.SideCost += r.Cost
		} else if r.Shown > 0 {
			out.Needles, out.Shown = r.Needles, r.Shown
		}
		if r.Break != nil {
			out.Breaks++
			if r.Break.Shorter {
				out.BreaksShorter++
			}
		}
	}
	return out
}
