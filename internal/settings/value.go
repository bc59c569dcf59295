package settings

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is the answer to a question for one value.
type Value[T any] struct {
	V      T      // the value; the zero value when it is not set or wrong
	Origin Origin // of the value, also when it is wrong
	// Err is a *ValueError when the strongest layer that sets the key has the
	// wrong type there. Weaker layers are not asked then.
	Err error
}

// Set reports whether V is a value from some layer.
func (v Value[T]) Set() bool { return v.Origin.Layer != None && v.Err == nil }

// Or returns the value, or def when it is not set or wrong. Wrong values of
// known keys are in [Settings.Problems]; whoever must fail closed looks at Err.
func (v Value[T]) Or(def T) T {
	if v.Set() {
		return v.V
	}
	return def
}

// View answers for the settings below one path; [Settings] is the view of all.
// Keys are paths joined by dots. Where a segment itself holds a dot, as the
// names of models do, go there with Sub.
type View struct {
	s    *Settings
	path []string
}

// Sub returns the view below the given segments, which are taken as they are.
func (v View) Sub(segments ...string) View {
	return View{v.s, append(v.path[:len(v.path):len(v.path)], segments...)}
}

// key returns the whole path of a key of the view.
func (v View) key(key string) []string {
	if key == "" {
		return v.path
	}
	return append(v.path[:len(v.path):len(v.path)], strings.Split(key, ".")...)
}

// candidate is the value that one source has for a key: a node of a file, or
// the text of a variable or flag.
type candidate struct {
	origin Origin
	node   *node  // nil for text
	text   string // of a variable or flag
}

// candidates lists the values for path, strongest first.
func (s *Settings) candidates(path []string) []candidate {
	var all []candidate
	process := func() {
		if name, text, ok := s.env.find(path); ok {
			all = append(all, candidate{origin: Origin{Layer: Environment, Name: name}, text: text})
		}
		key := strings.Join(path, ".")
		for _, f := range s.flags {
			if f.Key == key {
				all = append(all, candidate{origin: Origin{Layer: Flags, Name: f.Name}, text: f.Text})
			}
		}
	}
	r, _ := ruleFor(path)
	done := r.From == PolicyOnly // no variable and no flag replaces the policy
	for _, d := range s.docs {
		if !done && d.layer > Policy {
			process()
			done = true
		}
		if n := d.root.at(path); n != nil {
			all = append(all, candidate{origin: Origin{d.layer, d.name, n.line}, node: n})
		}
	}
	if !done {
		process()
	}
	return all
}

// one reads the strongest value for a key with read, which reports whether the
// candidate has the wanted type.
func one[T any](v View, key, want string, read func(c candidate) (T, bool)) Value[T] {
	path := v.key(key)
	all := v.s.candidates(path)
	if len(all) == 0 {
		return Value[T]{}
	}
	c := all[0]
	out := Value[T]{Origin: c.origin}
	got, ok := read(c)
	if !ok {
		out.Err = c.wrong(path, want)
		return out
	}
	out.V = got
	return out
}

// wrong is the error that c is not what path needs.
func (c candidate) wrong(path []string, want string) error {
	return &ValueError{Key: joinKey(path), Origin: c.origin, Want: want, Got: c.describe()}
}

// describe says what a value is, for the message that it is the wrong one.
// Strings and texts may be secrets that slipped, so only short ones that look
// like a number or a word are shown.
func (c candidate) describe() string {
	text := c.text
	if c.node != nil {
		switch c.node.kind {
		case object, array, null:
			return c.node.kind.name()
		case number, boolean:
			return c.node.kind.name() + " (" + shorten(string(c.node.raw)) + ")"
		}
		text = c.node.str()
	}
	if len(text) <= 12 { // longer than any word for a switch, shorter than any key
		return "the text " + strconv.QuoteToASCII(text)
	}
	return "a text of " + strconv.Itoa(len(text)) + " bytes"
}

func shorten(s string) string {
	if len(s) > 24 {
		return s[:24] + "…"
	}
	return s
}

// What the typed methods want, for messages.
const (
	wantBool     = "true or false"
	wantInt      = "a whole number"
	wantFloat    = "a number"
	wantString   = "a string"
	wantDuration = "a duration with a unit, such as \"30s\", \"5m\", \"24h\" or \"7d\""
	wantStrings  = "a list of strings"
	wantObject   = "an object"
)

// Bool returns a switch. In variables and flags 1, true, yes, on and their
// opposites count.
func (v View) Bool(key string) Value[bool] { return one(v, key, wantBool, candidate.bool) }

func (c candidate) bool() (bool, bool) {
	if c.node == nil {
		return parseBool(c.text)
	}
	return string(c.node.raw) == "true", c.node.kind == boolean
}

// Int returns a whole number that fits int64. In files 1e3 and 30.0 count as
// whole, "30" does not.
func (v View) Int(key string) Value[int64] { return one(v, key, wantInt, candidate.int) }

func (c candidate) int() (int64, bool) {
	switch {
	case c.node == nil:
		return parseInt(strings.TrimSpace(c.text))
	case c.node.kind == number:
		return parseInt(string(c.node.raw))
	default:
		return 0, false
	}
}

func parseInt(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, ok := parseFloat(s)
	// 2^53 is where float64 stops telling whole numbers apart.
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Float returns a finite number.
func (v View) Float(key string) Value[float64] { return one(v, key, wantFloat, candidate.float) }

func (c candidate) float() (float64, bool) {
	switch {
	case c.node == nil:
		return parseFloat(strings.TrimSpace(c.text))
	case c.node.kind == number:
		return parseFloat(string(c.node.raw))
	default:
		return 0, false
	}
}

// parseFloat reads the numbers that JSON has: no hexadecimal, no infinity.
func parseFloat(s string) (float64, bool) {
	if strings.Trim(s, "+-0123456789.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// String returns a text.
func (v View) String(key string) Value[string] { return one(v, key, wantString, candidate.string) }

func (c candidate) string() (string, bool) {
	switch {
	case c.node == nil:
		return c.text, true
	case c.node.kind == text:
		return c.node.str(), true
	default:
		return "", false
	}
}

// Duration returns a span of time, written as time.ParseDuration reads it or
// as whole days ("7d"). A number without a unit is refused: nobody could tell
// seconds from milliseconds. Only 0 needs none.
func (v View) Duration(key string) Value[time.Duration] {
	return one(v, key, wantDuration, candidate.duration)
}

func (c candidate) duration() (time.Duration, bool) {
	switch {
	case c.node == nil:
		return parseDuration(strings.TrimSpace(c.text))
	case c.node.kind == text:
		return parseDuration(c.node.str())
	default:
		return 0, c.node.kind == number && string(c.node.raw) == "0"
	}
}

func parseDuration(s string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		const day = 24 * time.Hour
		if err != nil || n > math.MaxInt64/int64(day) || n < math.MinInt64/int64(day) {
			return 0, false
		}
		return time.Duration(n) * day, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

// Item is one element of a list.
type Item struct {
	V      string
	Origin Origin
}

// List is the answer to a question for a list of strings.
type List struct {
	Items []Item // strongest layer first
	// Err joins a *ValueError for everything that is not as it must be. The
	// good elements are in Items all the same: one bad line must not void a
	// list of what is forbidden.
	Err error
	set bool
}

// Set reports whether some layer sets the list, be it to an empty one.
func (l List) Set() bool { return l.set }

// Values returns the elements without their origins.
func (l List) Values() []string {
	out := make([]string, len(l.Items))
	for i, it := range l.Items {
		out[i] = it.V
	}
	return out
}

// Strings returns a list of strings: the union of all layers for keys whose
// rule says so, the strongest layer's list otherwise. In variables and flags a
// list is a JSON array or is separated by commas.
func (v View) Strings(key string) List {
	path := v.key(key)
	r, _ := ruleFor(path)
	var out List
	var errs []error
	have := map[string]bool{}
	for _, c := range v.s.candidates(path) {
		out.set = true
		items, err := c.strings(path)
		errs = append(errs, err)
		for _, it := range items {
			if r.Merge != Union || !have[it.V] {
				have[it.V] = true
				out.Items = append(out.Items, it)
			}
		}
		if r.Merge != Union {
			break
		}
	}
	out.Err = errors.Join(errs...)
	return out
}

// strings reads one source's list.
func (c candidate) strings(path []string) ([]Item, error) {
	n := c.node
	if n == nil {
		if n = parseText(c.text); n == nil || n.kind != array {
			return c.splitText(), nil
		}
	}
	if n.kind != array {
		return nil, c.wrong(path, wantStrings)
	}
	var items []Item
	var errs []error
	for i, kid := range n.kids {
		at := c.origin
		if c.node != nil {
			at.Line = kid.line
		}
		if kid.kind != text {
			bad := candidate{node: kid, origin: at}
			errs = append(errs, bad.wrong(append(path[:len(path):len(path)], strconv.Itoa(i)), wantString))
			continue
		}
		items = append(items, Item{kid.str(), at})
	}
	return items, errors.Join(errs...)
}

// splitText reads a list that is separated by commas.
func (c candidate) splitText() []Item {
	var items []Item
	for part := range strings.SplitSeq(c.text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, Item{part, c.origin})
		}
	}
	return items
}

// parseText reads the text of a variable or flag as JSON, or returns nil.
func parseText(s string) *node {
	if !json.Valid([]byte(s)) || len(s) > maxFile {
		return nil
	}
	n, err := (&reader{data: []byte(s), line: 1}).value(0)
	if err != nil {
		return nil
	}
	return n
}

// Member is one member of an object.
type Member struct {
	Name   string
	JSON   json.RawMessage
	Origin Origin
}

// Members returns the members of the object at key, each whole and from the
// strongest layer that has it, in the order of the layers and of the files. It
// is for maps of named things such as mcpServers, which must not be mixed.
func (v View) Members(key string) ([]Member, error) {
	path := v.key(key)
	var out []Member
	var errs []error
	have := map[string]bool{}
	for _, c := range v.s.candidates(path) {
		n := c.json()
		if n.kind != object {
			errs = append(errs, c.wrong(path, wantObject))
			continue
		}
		for i, name := range n.names {
			if have[name] {
				continue
			}
			have[name] = true
			at := c.origin
			if c.node != nil {
				at.Line = n.lines[i]
			}
			out = append(out, Member{name, n.kids[i].appendJSON(nil), at})
		}
	}
	return out, errors.Join(errs...)
}

// Each returns the value that every layer has for key, strongest first, as
// JSON: for hooks, which add up in a way of their own, and for showing what a
// stronger layer hides. The text of a variable or flag that is not JSON comes as
// a JSON string.
func (v View) Each(key string) []Member {
	path := v.key(key)
	var out []Member
	name := ""
	if len(path) > 0 {
		name = path[len(path)-1]
	}
	for _, c := range v.s.candidates(path) {
		out = append(out, Member{name, c.json().appendJSON(nil), c.origin})
	}
	return out
}

// json returns a candidate as a node.
func (c candidate) json() *node {
	if c.node != nil {
		return c.node
	}
	if n := parseText(c.text); n != nil {
		return n
	}
	return &node{kind: text, raw: quoteJSON(c.text)}
}

// Raw returns the value at key as JSON, merged over the layers: objects member
// by member, lists as their rule says, anything else from the strongest layer.
// The origin is the strongest layer's.
func (v View) Raw(key string) Value[json.RawMessage] {
	path := v.key(key)
	all := v.s.candidates(path)
	if len(all) == 0 {
		return Value[json.RawMessage]{}
	}
	nodes := make([]*node, len(all))
	for i, c := range all {
		nodes[i] = c.json()
	}
	return Value[json.RawMessage]{V: merge(path, nodes).appendJSON(nil), Origin: all[0].origin}
}

// merge makes one node of several for the same path, strongest first.
func merge(path []string, nodes []*node) *node {
	r, _ := ruleFor(path)
	first := nodes[0]
	switch {
	case first.kind == array && r.Merge == Union:
		out := &node{kind: array, line: first.line}
		have := map[string]bool{}
		for _, n := range nodes {
			if n.kind != array {
				continue
			}
			for _, kid := range n.kids {
				if id := string(kid.appendJSON(nil)); !have[id] {
					have[id] = true
					out.kids = append(out.kids, kid)
				}
			}
		}
		return out
	case first.kind != object:
		return first
	}
	out := &node{kind: object, line: first.line}
	for i, n := range nodes {
		if n.kind != object {
			continue
		}
		for j, name := range n.names {
			if slices.Contains(out.names, name) {
				continue
			}
			kid := n.kids[j]
			if r.Merge != Whole {
				same := []*node{kid}
				for _, weaker := range nodes[i+1:] {
					if w := weaker.member(name); w != nil {
						same = append(same, w)
					}
				}
				kid = merge(append(path[:len(path):len(path)], name), same)
			}
			out.append(name, n.lines[j], kid)
		}
	}
	return out
}
