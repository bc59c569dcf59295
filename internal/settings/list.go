package settings

import (
	"slices"
	"strings"
)

// Entry is one value of one layer.
type Entry struct {
	Path   []string
	JSON   []byte // in secret keys too: redact before showing
	Origin Origin
}

// Key returns the path as it is shown.
func (e Entry) Key() string { return joinKey(e.Path) }

// Entries lists every value of every file layer that counts, strongest layer
// first: scalars, lists, empty objects and objects that are one piece.
func (s *Settings) Entries() []Entry {
	var out []Entry
	for _, d := range s.docs {
		out = appendEntries(out, d, d.root, nil)
	}
	return out
}

func appendEntries(out []Entry, d document, n *node, path []string) []Entry {
	for i, name := range n.names {
		at := append(path[:len(path):len(path)], name)
		kid := n.kids[i]
		if r, _ := exactRule(at); kid.kind == object && len(kid.kids) > 0 && !r.Opaque {
			out = appendEntries(out, d, kid, at)
			continue
		}
		out = append(out, Entry{Path: at, JSON: kid.appendJSON(nil), Origin: Origin{d.layer, d.name, n.lines[i]}})
	}
	return out
}

// Unknown lists the values whose key this version does not know, among them
// misspelled ones, and variables with our prefix that set no known key. They
// are kept and can be asked for by key.
func (s *Settings) Unknown() []Entry {
	var out []Entry
	names := s.env.unknown()
	slices.Sort(names)
	for _, name := range names {
		out = append(out, Entry{Path: []string{name}, JSON: quoteJSON(s.env[name]), Origin: Origin{Layer: Environment, Name: name}})
	}
	for _, e := range s.Entries() {
		if _, known := ruleFor(e.Path); !known {
			out = append(out, e)
		}
	}
	return out
}

// checkKnown looks at the type of every value of a known key, so that a user
// hears of all mistakes at once and not only of those that are asked for.
func (s *Settings) checkKnown() {
	for _, d := range s.docs {
		s.checkTypes(d, d.root, nil)
	}
	paths := s.env.set()
	for _, f := range s.flags {
		paths = append(paths, strings.Split(f.Key, "."))
	}
	slices.SortFunc(paths, slices.Compare[[]string]) // a stable report
	for _, path := range slices.CompactFunc(paths, slices.Equal[[]string]) {
		r, ok := exactRule(path)
		if !ok {
			continue
		}
		for _, c := range s.candidates(path) {
			if c.node == nil {
				s.checkOne(path, r.Kind, c)
			}
		}
	}
}

// checkTypes walks one document.
func (s *Settings) checkTypes(d document, n *node, path []string) {
	for i, name := range n.names {
		at := append(path[:len(path):len(path)], name)
		kid := n.kids[i]
		r, ok := exactRule(at)
		if ok {
			s.checkOne(at, r.Kind, candidate{origin: Origin{d.layer, d.name, kid.line}, node: kid})
		}
		if kid.kind == object && !r.Opaque {
			s.checkTypes(d, kid, at)
		}
	}
}

// checkOne notes the problem that a typed method would report of c.
func (s *Settings) checkOne(path []string, want Kind, c candidate) {
	ok, text := true, ""
	switch want {
	case Bool:
		_, ok = c.bool()
		text = wantBool
	case Int:
		_, ok = c.int()
		text = wantInt
	case Float:
		_, ok = c.float()
		text = wantFloat
	case String:
		_, ok = c.string()
		text = wantString
	case Duration:
		_, ok = c.duration()
		text = wantDuration
	case Object:
		ok, text = c.json().kind == object, wantObject
	case Strings:
		if _, err := c.strings(path); err != nil {
			s.problems = append(s.problems, err)
		}
	}
	if !ok {
		s.problems = append(s.problems, c.wrong(path, text))
	}
}
