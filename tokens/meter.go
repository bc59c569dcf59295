package tokens

import (
	"math"

	"varve.dev/message"
)

// Meter keeps the size of one conversation's context: the usage of the last reply, plus the estimate of what was appended
// since, minus the estimate of what edits removed since (B-2). Where there is no usage to anchor on (a new conversation, the
// first request after a boundary, another model) everything is estimated.
//
// Feed it what the view gains and loses, in order: [Meter.Append], [Meter.Remove], [Meter.Reset]. It costs the estimate of
// each message once; reading it costs nothing. It is not safe for concurrent use.
type Meter struct {
	// Estimator estimates what has no usage yet.
	Estimator Estimator
	// Weight corrects the estimates of the model in use; nil: estimates count as they are. In reference mode it is not used.
	Weight *Weight
	// Fixed is the estimate of what is sent with every request beside the messages: system text, tools, instructions.
	Fixed int
	// Window is the model's window, against which usage figures are checked; 0 = not known.
	Window int

	view  int // estimate of all messages of the view
	since int // estimate of what was appended after the anchor, less what was removed

	anchored bool
	id       string // message.id of the anchor
	prompt   int    // measured tokens of the anchor's prompt
	reply    int    // measured tokens of the reply itself
	parts    int    // estimate of the reply, as far as it was appended
	touched  bool   // something was removed after the anchor: the next usage teaches nothing
	suspect  int    // a figure that was not believed, until the next one
	odd      string // message.id of the reply with that figure

	counted map[string]bool // message.id of every reply whose usage was taken
}

// Reading is what a [Meter] shows.
type Reading struct {
	Total     int // tokens of the next request's prompt, never negative
	Measured  int // the part of Total that was measured (prompt and reply of the anchor); 0 without one
	Estimated int // Total - Measured; negative when edits removed more than was appended
	// Anchored tells that Measured comes from usage. Without it Total is an estimate of everything, on the conservative
	// side as long as the model's weight was never learned.
	Anchored bool
	// Suspect is a figure of the provider's that contradicts the conversation (above the window, or twice what was there
	// without content to match); the Total is then estimated from the figure before. 0 = none. A second reply that says
	// the same is believed.
	Suspect int
}

// Append adds messages that joined the end of the view. The usage of an assistant message with an id becomes the anchor:
// once for each message.id, of several parts the last figure counts, and results that stand between the parts count as
// appended after the reply. Usage of an id that another reply followed, and usage without any tokens (synthetic replies), is
// ignored.
func (m *Meter) Append(ms ...message.Message) {
	for _, msg := range ms {
		n := m.Estimator.Message(msg)
		switch {
		case msg.Role != message.RoleAssistant:
			m.since += n
		case m.anchored && msg.ID != "" && msg.ID == m.id:
			m.parts += n
			if used(msg) {
				m.reply = clampInt(msg.Usage.ReplyTokens())
			}
		case msg.ID != "" && msg.ID == m.odd:
			m.since += n
		case used(msg) && !m.counted[msg.ID]:
			m.measure(msg, n)
		default:
			m.since += n
		}
		m.view += n
	}
}

func used(msg message.Message) bool { return msg.Usage != nil && msg.Usage.ContextTokens() > 0 }

func clampInt(n int64) int { return int(max(0, min(n, math.MaxInt32))) }

// measure takes the usage of a reply whose first part is msg, estimated at n.
func (m *Meter) measure(msg message.Message, n int) {
	prompt, before := clampInt(msg.Usage.ContextTokens()), m.Reading()
	if m.doubt(prompt, before) {
		m.suspect, m.odd = prompt, msg.ID
		m.since += n
		return
	}
	if m.Weight != nil && !m.touched {
		if m.anchored {
			m.Weight.Observe(m.parts+m.since, prompt-m.prompt)
		} else if m.Fixed > 0 {
			m.Weight.Observe(m.Fixed+m.view, prompt)
		}
	}
	counted := m.counted
	if counted == nil {
		counted = map[string]bool{}
	}
	if msg.ID != "" {
		counted[msg.ID] = true
	}
	*m = Meter{Estimator: m.Estimator, Weight: m.Weight, Fixed: m.Fixed, Window: m.Window, view: m.view, counted: counted,
		anchored: true, id: msg.ID, prompt: prompt, reply: clampInt(msg.Usage.ReplyTokens()), parts: n}
}

// doubt reports whether a figure contradicts what is known: it is above the window although the estimate is not, or at
// least twice the measured total before it although the estimate says far less. Only the second reply in a row with such a
// figure is believed.
func (m *Meter) doubt(prompt int, before Reading) bool {
	if m.suspect > 0 && prompt >= m.suspect-m.suspect/5 {
		return false
	}
	if m.Window > 0 && prompt > m.Window && before.Total <= m.Window {
		return true
	}
	return before.Anchored && prompt >= 2*before.Measured && before.Total < prompt/5*3
}

// Remove takes the estimate of what an edit took out of the view, or made shorter, while the rest stayed (cleared results,
// previews, what a server cleared). The argument is what the [Estimator] says of the old content less what it says of the new.
func (m *Meter) Remove(estimate int) {
	m.since -= estimate
	m.view = max(0, m.view-estimate)
	m.touched = true
}

// Reset starts over with the messages of a view whose usage figures do not hold any more: after a boundary, its undo, or a
// strip. Usage in these messages is not used. What the weight has learned stays.
func (m *Meter) Reset(view ...message.Message) {
	*m = Meter{Estimator: m.Estimator, Weight: m.Weight, Fixed: m.Fixed, Window: m.Window, counted: m.counted}
	for _, msg := range view {
		m.view += m.Estimator.Message(msg)
	}
}

// Switch changes the model: another weight, image rule and window. Usage that the former model reported is in tokens of
// another vocabulary and is not used any more; images are estimated anew only in what is appended from now on.
func (m *Meter) Switch(e Estimator, w *Weight, window int) {
	*m = Meter{Estimator: e, Weight: w, Fixed: m.Fixed, Window: window, view: m.view, counted: m.counted}
}

// Reading returns the present size.
func (m *Meter) Reading() Reading {
	if !m.anchored {
		t := m.weigh(m.Fixed + m.view)
		return Reading{Total: t, Estimated: t, Suspect: m.suspect}
	}
	// Logs of older versions keep a placeholder of a few tokens for the reply.
	measured := m.prompt + max(m.reply, m.weigh(m.parts))
	total := max(0, measured+m.weigh(m.since))
	return Reading{Total: total, Measured: measured, Estimated: total - measured, Anchored: true, Suspect: m.suspect}
}

// Total returns the tokens of the next request's prompt.
func (m *Meter) Total() int { return m.Reading().Total }

// Weigh returns an estimate in tokens of the model, by what was learned: what adding or removing content of that estimate
// will change.
func (m *Meter) Weigh(estimate int) int { return m.weigh(estimate) }

func (m *Meter) weigh(estimate int) int {
	if m.Weight == nil || m.Estimator.Reference {
		return estimate
	}
	return int(math.Round(float64(estimate) * m.Weight.Factor()))
}
