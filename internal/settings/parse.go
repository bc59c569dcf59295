package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a settings file. Real ones have a few kilobytes and five levels;
// these keep a hostile one from costing memory or stack.
const (
	maxFile  = 4 << 20 // bytes
	maxDepth = 100     // nested objects and arrays
)

// kind is the JSON type of a node.
type kind byte

const (
	object  kind = 'o'
	array   kind = 'a'
	text    kind = 's'
	number  kind = 'n'
	boolean kind = 'b'
	null    kind = '0'
)

// name says what a kind is in a message.
func (k kind) name() string {
	switch k {
	case object:
		return "an object"
	case array:
		return "a list"
	case text:
		return "a string"
	case number:
		return "a number"
	case boolean:
		return "true or false"
	default:
		return "null"
	}
}

// node is one JSON value with its place in the file. Nodes are not changed
// after parsing, only left out of copies.
type node struct {
	kind  kind
	line  int
	raw   []byte   // text of a scalar
	names []string // of an object's members, in file order
	lines []int    // of an object's names
	kids  []*node  // an object's values, an array's elements
}

// member returns the value of the member called name, or nil.
func (n *node) member(name string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	for i, have := range n.names {
		if have == name {
			return n.kids[i]
		}
	}
	return nil
}

// at follows a path of members, or returns nil.
func (n *node) at(path []string) *node {
	for _, name := range path {
		if n = n.member(name); n == nil {
			return nil
		}
	}
	return n
}

// str returns the value of a string node.
func (n *node) str() string {
	var s string
	if json.Unmarshal(n.raw, &s) != nil {
		return "" // cannot be: the whole file was checked
	}
	return s
}

// appendJSON writes n compactly.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case object:
		dst = append(dst, '{')
		for i, name := range n.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, quoteJSON(name)...)
			dst = append(dst, ':')
			dst = n.kids[i].appendJSON(dst)
		}
		return append(dst, '}')
	case array:
		dst = append(dst, '[')
		for i, kid := range n.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = kid.appendJSON(dst)
		}
		return append(dst, ']')
	default:
		return append(dst, n.raw...)
	}
}

// quoteJSON writes s as a JSON string without HTML escapes.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return []byte(`""`) // cannot be: a string always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// duplicate is a member that one object has twice.
type duplicate struct {
	path        []string
	first, last int // lines
}

// errEmpty is told apart from other bad content because an empty file is what
// a crash or a full disk leaves of a good one.
var errEmpty = errors.New("the file is empty; write {} or remove it")

// parseFile reads one settings file: a JSON object, in UTF-8, with nothing
// after it. A byte order mark before it is allowed, for Windows editors. The
// error is a *FileError without layer and file.
func parseFile(data []byte) (*node, []duplicate, error) {
	if len(data) > maxFile {
		return nil, nil, &FileError{Err: fmt.Errorf("%d bytes is more than a settings file may have (%d)", len(data), maxFile)}
	}
	body := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	skipped := len(data) - len(body)
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil, &FileError{Err: errEmpty}
	}
	if bad := invalidUTF8(body); bad >= 0 {
		return nil, nil, fileErrorAt(data, bad+skipped, errors.New("not UTF-8 text"))
	}
	// The library checks the grammar, so that the reader below need not.
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, nil, fileErrorAt(data, skipped+max(0, int(syntax.Offset)-1), err)
		}
		return nil, nil, &FileError{Err: err}
	}
	p := &reader{data: body, line: 1}
	n, err := p.value(0)
	if err != nil {
		return nil, nil, fileErrorAt(data, skipped+p.at, err)
	}
	if n.kind != object {
		return nil, nil, fileErrorAt(data, skipped+bytes.IndexFunc(body, notSpace), fmt.Errorf("a settings file is a JSON object, not %s", n.kind.name()))
	}
	return n, p.duplicates, nil
}

func notSpace(r rune) bool { return !strings.ContainsRune(" \t\r\n", r) }

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}

// fileErrorAt makes a FileError for the byte at offset of data.
func fileErrorAt(data []byte, offset int, err error) *FileError {
	offset = min(max(offset, 0), len(data))
	before := data[:offset]
	line := bytes.Count(before, []byte("\n"))
	return &FileError{Line: line + 1, Column: offset - bytes.LastIndexByte(before, '\n'), Err: err}
}

// reader makes nodes of text that was checked to be JSON.
type reader struct {
	data       []byte
	at         int
	line       int
	path       []string
	duplicates []duplicate
}

// space skips white space and returns the byte after it.
func (p *reader) space() byte {
	for ; p.at < len(p.data); p.at++ {
		switch c := p.data[p.at]; c {
		case '\n':
			p.line++
		case ' ', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// value reads one value. Its only error is too deep nesting.
func (p *reader) value(depth int) (*node, error) {
	c := p.space()
	n := &node{line: p.line}
	switch c {
	case '{', '[':
		if depth >= maxDepth {
			return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
		}
		p.at++
		if c == '{' {
			n.kind = object
			return n, p.members(n, depth)
		}
		n.kind = array
		return n, p.elements(n, depth)
	case '"':
		n.kind = text
		n.raw = p.stringText()
		return n, nil
	case 't', 'f':
		n.kind = boolean
	case 'n':
		n.kind = null
	default:
		n.kind = number
	}
	from := p.at
	for p.at < len(p.data) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(p.data[p.at])) {
		p.at++
	}
	n.raw = p.data[from:p.at]
	return n, nil
}

// stringText returns the text of the string that begins here, with its quotes.
func (p *reader) stringText() []byte {
	from := p.at
	for p.at++; p.at < len(p.data); p.at++ {
		switch p.data[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			return p.data[from:p.at]
		}
	}
	return p.data[from:]
}

// members reads the rest of an object.
func (p *reader) members(n *node, depth int) error {
	seen := map[string]int{}
	for p.space() != '}' {
		if p.data[p.at] == ',' {
			p.at++
			p.space()
		}
		line := p.line
		name := (&node{raw: p.stringText()}).str()
		p.space()
		p.at++ // the colon
		p.path = append(p.path, name)
		kid, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if i, twice := seen[name]; twice {
			p.duplicates = append(p.duplicates, duplicate{path: append([]string(nil), p.path...), first: n.lines[i], last: line})
			n.kids[i], n.lines[i] = kid, line
		} else {
			seen[name] = len(n.names)
			n.names = append(n.names, name)
			n.lines = append(n.lines, line)
			n.kids = append(n.kids, kid)
		}
		p.path = p.path[:len(p.path)-1]
	}
	p.at++
	return nil
}

// elements reads the rest of an array.
func (p *reader) elements(n *node, depth int) error {
	for p.space() != ']' {
		if p.data[p.at] == ',' {
			p.at++
		}
		kid, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
	}
	p.at++
	return nil
}
