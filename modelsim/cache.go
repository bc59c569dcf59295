package modelsim

import (
	"strings"
	"time"
)

// lookBack is how many positions before a breakpoint, itself included, an entry is found (API.md 1.7).
const lookBack = 20

// A cacheEntry is one prefix that was written.
type cacheEntry struct {
	expires time.Time
	ttl     time.Duration
}

// promptCache is the simulated prompt cache: prefixes named by the chain of their pieces. Its owner guards it with a lock.
type promptCache struct {
	entries map[sum]cacheEntry
}

// A cacheUse is what one request reads and writes, in tokens.
type cacheUse struct {
	input, read, write5m, write1h int
	commit                        func() // writes the entries, when the reply begins
}

func (u *cacheUse) written() int { return u.write5m + u.write1h }

// chain names every prefix of the prompt. What else the prefix depends on is mixed in where it counts: a change of the speed spoils
// system text and messages, a change of tool_choice, of reasoning settings, or of whether there are images the messages (API.md 1.7).
func (c *call) chain(pieces []piece) []sum {
	h := sumOf([]byte(c.key), []byte(c.model.canonical))
	section := inTools
	out := make([]sum, 0, len(pieces))
	for _, p := range pieces {
		for section < p.section {
			if section++; section == inSystem {
				h = h.then([]byte("system"), c.body.get("speed"))
			} else {
				h = h.then([]byte("messages"), c.body.get("tool_choice"), bare(c.body.get("thinking")), []byte(c.effort()), []byte(c.hasImages()))
			}
		}
		h = h.then(p.sum[:])
		out = append(out, h)
	}
	return out
}

func (c *call) effort() string { return c.body.obj("output_config").str("effort") }

func (c *call) hasImages() string {
	found := ""
	c.each(func(b *block) {
		if b.Type == "image" || strings.Contains(string(b.Raw), `"type":"image"`) {
			found = "images"
		}
	})
	return found
}

// use looks up what of the prompt is cached now, and says what this request writes.
func (pc *promptCache) use(c *call, now time.Time) *cacheUse {
	pieces := c.prompt
	chain := c.chain(pieces)
	ends := make([]int, len(pieces)) // tokens up to and with a piece
	n := 0
	for i, p := range pieces {
		n += p.tokens
		ends[i] = n
	}
	marks := breakpoints(c, pieces)
	read, hit := 0, -1
	u := &cacheUse{}
	var refresh []sum
	for _, at := range marks {
		if ends[at] < c.model.minCache {
			continue
		}
		for i := at; i > at-lookBack && i >= 0; i-- {
			if e, ok := pc.entries[chain[i]]; ok && now.Before(e.expires) {
				refresh = append(refresh, chain[i])
				if ends[i] > read {
					read, hit = ends[i], i
				}
				break
			}
		}
	}
	u.read = read
	from := read
	write := map[sum]time.Duration{}
	for _, at := range marks {
		if ends[at] < c.model.minCache {
			continue
		}
		ttl := 5 * time.Minute
		if pieces[at].mark == "1h" {
			ttl = time.Hour
		}
		write[chain[at]] = ttl
		if at <= hit {
			continue
		}
		if ttl == time.Hour {
			u.write1h += ends[at] - from
		} else {
			u.write5m += ends[at] - from
		}
		from = ends[at]
	}
	u.input = n - from
	u.commit = func() {
		for _, h := range refresh {
			e := pc.entries[h]
			e.expires = now.Add(e.ttl)
			pc.entries[h] = e
		}
		for h, ttl := range write {
			if e, ok := pc.entries[h]; ok && now.Before(e.expires) {
				ttl = max(ttl, e.ttl)
			}
			pc.entries[h] = cacheEntry{now.Add(ttl), ttl}
		}
	}
	return u
}

// breakpoints lists the indexes of the pieces that end a prefix to be cached, in order.
func breakpoints(c *call, pieces []piece) []int {
	var marks []int
	for i, p := range pieces {
		if p.mark != "" {
			marks = append(marks, i)
		}
	}
	if c.body.has("cache_control") {
		last := len(pieces) - 1
		for last >= 0 && pieces[last].noMark {
			last--
		}
		if last >= 0 && pieces[last].mark == "" {
			pieces[last].mark = markOf(object{{"cache_control", c.body.get("cache_control")}})
			marks = append(marks, last)
		}
	}
	return marks
}
