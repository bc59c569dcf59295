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
	var at *places
	for _, x := range l.Entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.Contains(x.Calls, id) && !slices.Contains(x.Results, id) {
			continue
		}
		if at == nil {
			at = placesOf(l)
		}
		res.Matched++
		for _, p := range blocksOf(x) {
			if p.call == id {
				res.Hits = append(res.Hits, whole(p, x, at))
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
	return res, nil
}

func whole(p piece, x *transcript.Entry, at *places) Hit {
	h := Hit{Kind: p.kind, Tool: p.tool, Call: p.call, Text: p.text}
	h.Snippet, _ = snippet(p.text, p.text, 0, nil)
	h.place(at, x)
	return h
}

// Path returns the calls that name a file, in the order of the log: those that were
// given its path, or a path that ends with it, and commands in which it stands.
func Path(ctx context.Context, l *transcript.Log, name string, limit int) (*Result, error) {
	res := &Result{Hits: []Hit{}}
	name = strings.TrimPrefix(path.Clean(strings.ReplaceAll(name, `\`, "/")), "./")
	base := []byte(path.Base(name))
	var at *places
	for i, x := range l.Entries {
		if i&255 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if len(x.Calls) == 0 {
			continue
		}
		raw, err := x.Raw()
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(raw, base) {
			continue
		}
		if at == nil {
			at = placesOf(l)
		}
		m, err := x.Message()
		if err != nil {
			continue // its line cannot be read; check names it
		}
		for k := range m.Content {
			if b := &m.Content[k]; b.Name != "" && names(b.Input, name) {
				res.Matched++
				res.Hits = append(res.Hits, whole(piece{kind: KindCall, tool: b.Name, call: b.ID, text: b.Name + " " + string(b.Input)}, x, at))
			}
		}
	}
	if limit > 0 && len(res.Hits) > limit {
		res.Hits = res.Hits[len(res.Hits)-limit:] // the newest
	}
	return res, nil
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
