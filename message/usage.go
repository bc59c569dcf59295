package message

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Usage is what a reply says it cost, in tokens, in the Anthropic convention: InputTokens does not include what came from or went
// into the cache. Adapters of providers whose input includes cached tokens (OpenAI, Gemini) subtract them first.
type Usage struct {
	InputTokens         int64 // uncached input, after the last cache marker
	OutputTokens        int64 // a placeholder on all but the last part of a streamed reply
	CacheReadTokens     int64
	CacheCreationTokens int64
	Cache5m, Cache1h    int64 // CacheCreationTokens by lifetime; both 0 in logs before 1.0.81
	Iterations          []Iteration
	Raw                 json.RawMessage // the exact bytes when read or received; nil when built here
}

// An Iteration is one of several model calls behind one reply.
type Iteration struct {
	Type                string // "message", "compaction", "advisor_message", "fallback_message"
	Model               string
	InputTokens         int64
	OutputTokens        int64
	CacheReadTokens     int64
	CacheCreationTokens int64
	Cache5m, Cache1h    int64
}

// maxTokens is the largest count that is believed, so that sums of a hostile log's figures cannot overflow: 2^53, JavaScript's
// largest exact integer.
const maxTokens = 1 << 53

// measured returns what describes the context of the reply: the last iteration of type "message" when there are iterations, else
// the top level. A compaction's iteration reports the summarizing call, even when it is last, and with server tools the top level
// sums over several calls.
func (u Usage) measured() Iteration {
	for i := len(u.Iterations) - 1; i >= 0; i-- {
		if u.Iterations[i].Type == "message" {
			return u.Iterations[i]
		}
	}
	return Iteration{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CacheReadTokens: u.CacheReadTokens, CacheCreationTokens: u.CacheCreationTokens}
}

// ContextTokens is the size of the prompt that was answered: input + cache read + cache creation (B-2). The context after the
// reply is ContextTokens + [Usage.ReplyTokens].
func (u Usage) ContextTokens() int64 {
	m := u.measured()
	return m.InputTokens + m.CacheReadTokens + m.CacheCreationTokens
}

// ReplyTokens is the size of the reply itself, measured where ContextTokens is.
func (u Usage) ReplyTokens() int64 { return u.measured().OutputTokens }

// ParseUsage reads a usage object. Counts that are missing, null or no number are 0, negative ones too. The error is a
// *[SyntaxError] or [ErrNotObject]. Usage shares the memory of raw.
func ParseUsage(raw []byte) (Usage, error) {
	var u Usage
	p := parser{scanner: scanner{data: raw}}
	start := p.space(0)
	if err := p.wantObject(start); err != nil {
		return u, err
	}
	var it Iteration
	end, err := p.counts(start, &it, &u.Iterations)
	if err == nil {
		err = p.whole(end)
	}
	if err != nil {
		return Usage{}, err
	}
	u.InputTokens, u.OutputTokens = it.InputTokens, it.OutputTokens
	u.CacheReadTokens, u.CacheCreationTokens = it.CacheReadTokens, it.CacheCreationTokens
	u.Cache5m, u.Cache1h = it.Cache5m, it.Cache1h
	u.Raw = json.RawMessage(raw[start:end:end])
	return u, nil
}

// counts reads one object of counts at i. Iterations are read where list is not nil, that is, not inside an iteration.
func (p *parser) counts(i int, it *Iteration, list *[]Iteration) (int, error) {
	cur, err := p.open(i, '{')
	if err != nil {
		return i, err
	}
	for cur.next() {
		at, name := cur.pos, cur.name()
		switch {
		case string(name) == "iterations" && list != nil && p.at(at) == '[':
			cur.pos, err = p.iterations(at, list)
		case string(name) == "cache_creation" && p.at(at) == '{':
			cur.pos, err = p.counts(at, it, nil)
		default:
			cur.pos, err = p.value(at)
		}
		if err != nil {
			return i, err
		}
		v := p.data[at:cur.pos]
		switch string(name) {
		case "type":
			it.Type = known(v)
		case "model":
			it.Model, _ = text(v)
		case "input_tokens":
			it.InputTokens = count(v)
		case "output_tokens":
			it.OutputTokens = count(v)
		case "cache_read_input_tokens":
			it.CacheReadTokens = count(v)
		case "cache_creation_input_tokens":
			it.CacheCreationTokens = count(v)
		case "ephemeral_5m_input_tokens":
			it.Cache5m = count(v)
		case "ephemeral_1h_input_tokens":
			it.Cache1h = count(v)
		}
	}
	return cur.pos, cur.err
}

func (p *parser) iterations(i int, list *[]Iteration) (int, error) {
	cur, err := p.open(i, '[')
	if err != nil {
		return i, err
	}
	*list = nil
	for cur.next() {
		if p.at(cur.pos) != '{' {
			if cur.pos, err = p.value(cur.pos); err != nil {
				return i, err
			}
			continue
		}
		var it Iteration
		if cur.pos, err = p.counts(cur.pos, &it, nil); err != nil {
			return i, err
		}
		*list = append(*list, it)
	}
	return cur.pos, cur.err
}

// count reads a token count; anything that is none is 0.
func count(v []byte) int64 {
	if len(v) > 0 && len(v) <= 15 {
		n := int64(0)
		for _, c := range v {
			if !isDigit(c) {
				n = -1
				break
			}
			n = n*10 + int64(c-'0')
		}
		if n >= 0 {
			return n
		}
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil && f == 0 || !(f > 0) {
		return 0
	}
	return int64(min(f, maxTokens))
}

// AppendJSON appends the usage as a log keeps it: Raw, or the counts in the reference's key order.
func (u Usage) AppendJSON(dst []byte) []byte {
	if u.Raw != nil {
		return append(dst, u.Raw...)
	}
	dst = appendCounts(append(dst, '{'), Iteration{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens,
		CacheReadTokens: u.CacheReadTokens, CacheCreationTokens: u.CacheCreationTokens, Cache5m: u.Cache5m, Cache1h: u.Cache1h})
	if len(u.Iterations) > 0 {
		dst = append(dst, `,"iterations":[`...)
		for i, it := range u.Iterations {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendCounts(append(dst, '{'), it)
			if it.Model != "" {
				dst = AppendString(append(dst, `,"model":`...), it.Model)
			}
			dst = append(AppendString(append(dst, `,"type":`...), it.Type), '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func appendCounts(dst []byte, it Iteration) []byte {
	return fmt.Appendf(dst, `"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,`+
		`"cache_creation":{"ephemeral_5m_input_tokens":%d,"ephemeral_1h_input_tokens":%d}`,
		it.InputTokens, it.CacheCreationTokens, it.CacheReadTokens, it.OutputTokens, it.Cache5m, it.Cache1h)
}
