package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// FuzzParseFile: any bytes either give a document that says what encoding/json
// says, or an error with a place inside the file.
func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":1}`, "\ufeff{}", `{"a":{"b":[1,"x",true,null,-1.5e3]},"a":2}`, "{\n\"k\\u0041\":\"\\ud800\"}", `{"a":[[[]]]}`, "[1]", "{\"\":{}}", "{\"a\":\"\\\\\"}", "{\"a\":\"\\\"}\"}", `{"a":1}x`, "{\"\xff\":1}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, _, err := parseFile(data)
		if err != nil {
			var fe *FileError
			if !errors.As(err, &fe) || fe.Err == nil {
				t.Fatalf("%T %v", err, err)
			}
			lines := bytes.Count(data, []byte("\n")) + 1
			if fe.Line < 0 || fe.Line > lines || (fe.Line == 0) != (fe.Column == 0) || fe.Column < 0 || fe.Column > len(data)+1 {
				t.Fatalf("place %d:%d in a file of %d lines", fe.Line, fe.Column, lines)
			}
			return
		}
		checkLines(t, root, 1, bytes.Count(data, []byte("\n"))+1)
		var want, got any
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &want); err != nil {
			// Numbers that no float64 holds are text to us.
			var overflow *json.UnmarshalTypeError
			if !errors.As(err, &overflow) {
				t.Fatalf("we read what encoding/json refuses: %v", err)
			}
			return
		}
		if err := json.Unmarshal(root.appendJSON(nil), &got); err != nil {
			t.Fatalf("written: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// checkLines checks that nodes lie in order within the file.
func checkLines(t *testing.T, n *node, from, to int) {
	t.Helper()
	if n.line < from || n.line > to {
		t.Fatalf("line %d outside %d to %d", n.line, from, to)
	}
	for _, kid := range n.kids {
		checkLines(t, kid, n.line, to)
	}
}

// FuzzLoad: whatever stands in a project's file, a flag and a variable, no
// question crashes, and an untrusted project sets nothing that is guarded.
func FuzzLoad(f *testing.F) {
	f.Add(`{"permissions":{"allow":["x"],"deny":[1]},"model":null}`, "model", "[1]")
	f.Add(`{"env":{"A_BASE_URL":1}}`, "", `["a",{}]`)
	f.Add(`{"a":{"b":{"c":1}}}`, "a.b", "{")
	f.Fuzz(func(t *testing.T, doc, key, text string) {
		root, _, err := parseFile([]byte(doc))
		s := &Settings{env: newEnvironment([]string{"VARVE_MODEL=" + text, "VARVE_=" + text}), flags: []Flag{{"--f", key, text}}}
		s.View = View{s: s}
		if err == nil {
			w := withholder{doc: document{ClaudeProject, "f", root}}
			s.docs = []document{{ClaudeProject, "f", w.prune(root, nil)}}
			s.withheld = w.out
		}
		s.checkKnown()
		for _, w := range s.Withheld() {
			if w.Error() == "" || !json.Valid(w.JSON) {
				t.Errorf("withheld %+v", w)
			}
		}
		for _, e := range s.Entries() {
			if r, _ := ruleFor(e.Path); r.From != Anywhere {
				t.Errorf("%s counts without trust", e.Key())
			}
		}
		for _, p := range s.Problems() {
			if p.Error() == "" {
				t.Error("a problem without words")
			}
		}
		for _, v := range []View{s.View, s.Sub(key), s.Sub("a").Sub(key)} {
			v.Bool(key)
			v.Int(key)
			v.Float(key)
			v.Duration(key)
			_ = v.String(key).Or("")
			v.Strings(key).Values()
			if raw := v.Raw(key); raw.Set() && !json.Valid(raw.V) {
				t.Errorf("raw %s", raw.V)
			}
			if _, err := v.Members(key); err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
			for _, m := range v.Each(key) {
				if !json.Valid(m.JSON) {
					t.Errorf("each %s", m.JSON)
				}
			}
		}
		s.Unknown()
	})
}
