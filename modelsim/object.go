package modelsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A member is one name and value of an object, in the order of the text.
type member struct {
	name string
	raw  json.RawMessage
}

// object is a JSON object taken apart. Names are exact, as the API reads them.
type object []member

var errNotObject = errors.New("not an object")

func parseObject(raw []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNotObject
	}
	var o object
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{}
		m.name, _ = name.(string)
		if err := dec.Decode(&m.raw); err != nil {
			return nil, err
		}
		if o.get(m.name) != nil {
			return nil, fmt.Errorf("the member %q occurs twice", m.name)
		}
		o = append(o, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the object")
	}
	return o, nil
}

// get returns the value called name, nil when there is none.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// has reports whether name is there and not null.
func (o object) has(name string) bool {
	raw := o.get(name)
	return len(raw) > 0 && string(raw) != "null"
}

// str returns the string called name, "" when there is none.
func (o object) str(name string) string {
	s, _ := asString(o.get(name))
	return s
}

// num returns the whole number called name; ok is false when it is no such number.
func (o object) num(name string) (n int, ok bool) {
	raw := o.get(name)
	if len(raw) == 0 {
		return 0, false
	}
	return n, json.Unmarshal(raw, &n) == nil && string(raw) != "null"
}

// flag returns the boolean called name.
func (o object) flag(name string) bool { return string(o.get(name)) == "true" }

// obj returns the object called name, nil when there is none.
func (o object) obj(name string) object {
	sub, err := parseObject(o.get(name))
	if err != nil {
		return nil
	}
	return sub
}

func asString(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

func asArray(raw json.RawMessage) ([]json.RawMessage, bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var list []json.RawMessage
	return list, json.Unmarshal(raw, &list) == nil
}

// bare returns raw without insignificant white space and without cache_control members, of itself and of the blocks in its
// "content": what the model reads, and what the prefix is made of.
func bare(raw json.RawMessage) []byte {
	if bytes.Contains(raw, []byte(`"cache_control"`)) {
		if o, err := parseObject(raw); err == nil {
			raw = o.without("cache_control")
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// without writes the object again, leaving out the member called name, also of the objects in an array "content".
func (o object) without(name string) []byte {
	b := []byte{'{'}
	for _, m := range o {
		if m.name == name {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, marshal(m.name)...), ':')
		list, ok := asArray(m.raw)
		if m.name != "content" || !ok {
			b = append(b, m.raw...)
			continue
		}
		b = append(b, '[')
		for i, e := range list {
			if i > 0 {
				b = append(b, ',')
			}
			if sub, err := parseObject(e); err == nil {
				e = sub.without(name)
			}
			b = append(b, e...)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

// marshal writes v as JSON without escaping HTML. Everything it is given can be written.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A sum names bytes.
type sum [16]byte

// sumOf returns the sum of the parts, one after the other; each is delimited.
func sumOf(parts ...[]byte) sum {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		h.Write(n[:])
		h.Write(p)
	}
	var s sum
	copy(s[:], h.Sum(nil))
	return s
}

// then is the next link of a chain.
func (s sum) then(parts ...[]byte) sum {
	return sumOf(append([][]byte{s[:]}, parts...)...)
}
