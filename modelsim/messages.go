package modelsim

import (
	"context"
	"math/rand/v2"
	"net/http"
)

// serveMessages is POST /v1/messages and POST /v1/messages/count_tokens of the Anthropic Messages API.
func (s *Server) serveMessages(ctx context.Context, w http.ResponseWriter, c *call, rec *Request) error {
	out := s.decide(c, rec)
	if out.failure != nil {
		return s.refuse(w, rec, out.failure)
	}
	rec.Status = http.StatusOK
	if out.count != nil {
		return writeJSON(w, out.count)
	}
	snd := &sender{w: w, ctx: ctx, clock: s.clock, style: out.style, fault: out.fault, rand: rand.New(rand.NewPCG(s.cfg.Seed, uint64(rec.N)))}
	s.mu.Lock()
	// A dropped reply panics through here. Until all of it was sent it counts as cut: nobody has the whole reply.
	s.cut[out.reply.reply] = true
	s.mu.Unlock()
	if out.fault != nil {
		rec.Cut = out.fault.kind
	}
	if err := snd.pause(out.style.delay); err != nil {
		return err
	}
	s.mu.Lock()
	out.use.commit()
	s.mu.Unlock()
	var err error
	if c.body.flag("stream") {
		err = snd.stream(out.body.frames(out.style))
	} else {
		err = snd.whole(marshal(out.body))
	}
	if err != nil {
		return err
	}
	if !out.shortened {
		s.mu.Lock()
		delete(s.cut, out.reply.reply)
		s.mu.Unlock()
	}
	return nil
}

// outcome is what a request is answered with: a failure, a count, or a reply.
type outcome struct {
	failure   *failure
	count     map[string]any
	reply     *reply
	body      *messageBody
	style     style
	fault     *fault
	use       *cacheUse
	shortened bool // the limit took some of the reply
}

// decide judges the request and makes the answer, but sends nothing.
func (s *Server) decide(c *call, rec *Request) outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.publish(rec)
	c.model = s.findModel(c.body.str("model"))
	found, b := s.judge(c)
	rec.take(c, found, b)
	if !c.isCount() {
		s.messages++
		rec.Message = s.messages
	}
	if f := s.refusal(c, found); f != nil {
		return outcome{failure: f}
	}
	before := total(c.render())
	edits := c.applyEdits()
	c.prompt = c.render()
	prompt := total(c.prompt)
	rec.PromptTokens, rec.AppliedEdits = prompt, edits
	if c.isCount() {
		return s.countTokens(c, rec, before, prompt)
	}
	s.observe(c, rec)
	maxTokens, _ := c.body.num("max_tokens")
	switch {
	case prompt > c.model.window:
		rec.Overflow = true
		return outcome{failure: tooLong(prompt, c.model.window)}
	case c.model.sumLimit && prompt+maxTokens > c.model.window:
		rec.Overflow = true
		return outcome{failure: sumTooLong(prompt, maxTokens, c.model.window)}
	}
	ch := s.choose(c, s.messages, prompt)
	rec.Section = ch.section.name()
	if f := ch.fault; f != nil && f.failure.status != 0 {
		return outcome{failure: copyOf(f.failure)}
	} else if f != nil && f.kind == "overflow" {
		return outcome{failure: tooLong(prompt, prompt-1)}
	}
	return s.answer(c, rec, ch, b, edits, prompt)
}

func copyOf(f failure) *failure { return &f }

// refusal is the answer to a request that breaks a rule; nil when it is answered nevertheless.
func (s *Server) refusal(c *call, found []Violation) *failure {
	for _, v := range found {
		if s.cfg.Lenient && c.body != nil && c.model != nil && v.status != http.StatusUnauthorized && len(c.msgs) > 0 {
			continue
		}
		status, typ := v.apiType()
		return &failure{status: status, typ: typ, message: v.apiMessage(), code: v.code}
	}
	return nil
}

// countTokens answers a request to count. A rule of the script may fail it.
func (s *Server) countTokens(c *call, rec *Request, before, prompt int) outcome {
	if ch := s.choose(c, s.messages, prompt); ch.fault != nil && ch.fault.failure.status != 0 {
		rec.Section = ch.section.name()
		return outcome{failure: copyOf(ch.fault.failure)}
	}
	count := map[string]any{"input_tokens": prompt}
	if c.body.has("context_management") {
		count["context_management"] = map[string]any{"original_input_tokens": before}
	}
	return outcome{count: count}
}

// answer makes the reply.
func (s *Server) answer(c *call, rec *Request, ch *choice, b *bound, edits []AppliedEdit, prompt int) outcome {
	style := s.script.style.over(ch.section.style)
	now := s.clock.Now()
	use := s.cache.use(c, now)
	model := c.body.str("model")
	var first *outBlock
	var compaction []iteration
	if c.mustCompact(prompt) {
		text := c.summarize()
		blk := s.threshold(c, b.walker, text, ch.section.style.null)
		first = &blk
		compaction = []iteration{newIteration("compaction", "", use, c.model.count(text))}
		if !ch.section.style.null {
			c.prompt = c.compacted(text)
			commit := use.commit
			use = s.cache.use(c, now)
			use.commit = both(commit, use.commit)
		}
	}
	r, err := s.compose(c, ch, s.messages, b, first != nil && c.compactEdit().flag("pause_after_compaction"))
	if err != nil {
		s.faults = append(s.faults, err)
		return outcome{failure: &failure{status: 500, typ: "api_error", message: "modelsim: " + err.Error(), headers: [][2]string{{"X-Should-Retry", "false"}}}}
	}
	whole := len(r.blocks)
	s.limit(c, r, prompt)
	out := outcome{reply: r, style: style, fault: ch.fault, use: use, shortened: len(r.blocks) < whole}
	if first != nil {
		r.blocks = append([]outBlock{*first}, r.blocks...)
	}
	u := s.usage(c, r, use, compaction, model)
	u.setScript(style.usage)
	out.body = newBody(r, model, u)
	s.tell(c, out.body, b, edits, use)
	rec.reply(c, out.body, r, s.usage(c, r, use, compaction, model))
	return out
}

func both(a, b func()) func() { return func() { a(); b() } }

// limit cuts the reply to what the request and the window allow.
func (s *Server) limit(c *call, r *reply, prompt int) {
	maxTokens, _ := c.body.num("max_tokens")
	room := c.model.window - total(c.prompt)
	if room < maxTokens {
		r.limit(room, "model_context_window_exceeded")
		return
	}
	r.limit(maxTokens, "max_tokens")
	if maxTokens == 0 {
		r.blocks, r.stop = nil, "max_tokens"
	}
}

// usage counts what the reply used.
func (s *Server) usage(c *call, r *reply, use *cacheUse, compaction []iteration, model string) *usage {
	output, thinking := r.tokens()
	u := &usage{ServiceTier: "standard", Speed: c.body.str("speed")}
	if c.wantsCompaction() && r.side {
		u.Iterations = []iteration{newIteration("compaction", "", use, output)}
		return u // the figures beside the iterations leave the compaction out
	}
	u.InputTokens, u.CacheRead, u.CacheCreation, u.OutputTokens = use.input, use.read, use.written(), output
	u.Created = cacheCreation{use.write5m, use.write1h}
	u.OutputDetails = &outputDetail{thinking}
	if len(c.betas) > 0 {
		u.Iterations = append(compaction, newIteration("message", model, use, output))
	}
	return u
}

// tell adds what the request asked to be told.
func (s *Server) tell(c *call, body *messageBody, b *bound, edits []AppliedEdit, use *cacheUse) {
	if c.body.has("context_management") {
		body.ContextManagement = &contextManagement{edits}
	}
	if c.betas["thinking-binding-controls-2026-08-01"] {
		list := append([]Transformation{}, b.changed...)
		body.Transformations = &list
	}
	if c.body.has("diagnostics") {
		body.Diagnostics = &diagnostics{s.missReason(c)}
	}
	s.remember(body.ID, c)
}
