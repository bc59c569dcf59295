package recall

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"varve.dev/transcript"
)

// Call returns a tool call and every result that was recorded for it, whole.
func Call(ctx context.Context, l *transcript.Log, id string) (*Result, error) {
	res := &Result{Hits: []Hit{}}
	for _, x := range l.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.Contains(x.Calls, id) && !slices.Contains(x.Results, id) {
			continue
		}
		res.Matched++
		for _, p := range blocksOf(x) {
			if p.call == id {
				res.Hits = append(res.Hits, whole(p, x))
			}
		}
	}
	name := ""
	for i := range res.Hits {
		if name == "" {
			name = res.Hits[i].Tool
		}
		res.Hits[i].Tool = name
	}
	place(l, res.Hits)
	return res, nil
}

func whole(p piece, x *transcript.Entry) Hit {
	h := Hit{Kind: p.kind, Tool: p.tool, Call: p.call, Text: p.text}
	h.Snippet, _ = snippet(p.text, p.text, 0, nil)
	h.on(x)
	return h
}

// Path returns the calls that name a file, in the order of the log: those that were
// given its path, or a path that ends with it, and commands in which it stands.
func Path(ctx context.Context, l *transcript.Log, name string, limit int) (*Result, error) {
	res := &Result{Hits: []Hit{}}
	name = strings.TrimPrefix(path.Clean(strings.ReplaceAll(name, `\`, "/")), "./")
	var called []*transcript.Entry
	for _, x := range l.Entries {
		if len(x.Calls) > 0 {
			called = append(called, x)
		}
	}
	base, n := writings(path.Base(name)), 0
	err := l.Each(called, func(x *transcript.Entry, raw []byte) error {
		if n++; n&255 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if !slices.ContainsFunc(base, func(b []byte) bool { return bytes.Contains(raw, b) }) {
			return nil
		}
		m, err := x.Message()
		if err != nil {
			return nil // its line cannot be read; check names it
		}
		for k := range m.Content {
			if b := &m.Content[k]; b.Name != "" && names(b.Input, name) {
				res.Matched++
				res.Hits = append(res.Hits, whole(piece{kind: KindCall, tool: b.Name, call: b.ID, text: b.Name + " " + string(b.Input)}, x))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if limit > 0 && len(res.Hits) > limit {
		res.Hits = res.Hits[len(res.Hits)-limit:] // the newest
	}
	place(l, res.Hits)
	return res, nil
}

// writings are the ways in which a name stands in JSON: as it is, with what JSON
// must escape escaped, and with everything beyond ASCII escaped.
func writings(name string) [][]byte {
	quoted, _ := json.Marshal(name) // a string always can
	return [][]byte{[]byte(name), bytes.Trim(quoted, `"`), []byte(escapedForm(name))}
}

// names reports whether a string in the input of a call names the file.
func names(input json.RawMessage, name string) bool {
	var v any
	if json.Unmarshal(input, &v) != nil {
		return false
	}
	var in func(v any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return namesIn(v, name)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for _, x := range v {
				if in(x) {
					return true
				}
			}
		}
		return false
	}
	return in(v)
}

// namesIn looks for a path in a text, where it begins and ends as a path does.
func namesIn(s, name string) bool {
	s = strings.ReplaceAll(s, `\`, "/")
	for from := 0; ; {
		i := strings.Index(s[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !pathByte(s[i-1]) || s[i-1] == '/') && (end == len(s) || !pathByte(s[end])) {
			return true
		}
		from = i + 1
	}
}

func pathByte(c byte) bool {
	return c == '/' || c == '_' || c == '-' || c == '.' || c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
