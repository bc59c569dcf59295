package transcript_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"varve.dev/internal/loggen"
	"varve.dev/transcript"
)

// What is read of a log does not depend on which logs were read before it, although
// their memory and what repeated in them are used again, and nothing that was
// returned changes later (T-9).
func TestLiteReuse(t *testing.T) {
	var logs [][]byte
	for i := range 40 {
		id := fmt.Sprintf("%06d", i)
		lines := loggen.Make(rand.New(rand.NewPCG(uint64(i), 7)), loggen.Options{Turns: 1 + i*i%60, Thinking: i%2 == 0, Text: 200 + 90*i, Prefix: id + "-"})
		b := loggen.Bytes(lines)
		if i%4 == 0 { // a prompt of one word is part of the line that it was read from
			b = fmt.Appendf(b, `{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"w%s","sessionId":"s","message":{"role":"user","content":"word%s"}}`+"\n", id, id)
		}
		if i%3 == 0 {
			b = append(b, `{"type":"custom-title","customTitle":"title `+id+`","sessionId":"`+id+`"}`+"\n"...)
		}
		if i%5 == 0 {
			b = bytes.Replace(b, []byte(`{"`), []byte(`{"forkedFrom":{"sessionId":"of `+id+`"},"`), 1)
		}
		if i%7 == 0 {
			b = append(b, b[:len(b)/3]...) // a cut record between others
		}
		logs = append(logs, b)
	}
	type result struct {
		lite   transcript.Lite
		faults []transcript.Fault
		text   string
	}
	read := func(b []byte) result {
		l, f, err := transcript.ReadLite(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return result{l, f, fmt.Sprintf("%+v %+v", l, f)}
	}
	alone := make([]result, len(logs))
	for i, b := range logs {
		runtime.GC() // twice, which drops what was kept for the next log
		runtime.GC()
		alone[i] = read(b)
	}
	kept := alone
	for round := range 3 {
		for i := range logs {
			if round == 1 {
				i = len(logs) - 1 - i
			}
			got := read(logs[i])
			if !reflect.DeepEqual(got, alone[i]) {
				t.Errorf("log %d, round %d: %s, alone %s", i, round, got.text, alone[i].text)
			}
			kept = append(kept, got)
		}
	}
	for i, r := range kept {
		if now := fmt.Sprintf("%+v %+v", r.lite, r.faults); now != r.text {
			t.Errorf("log %d: what was returned changed to %s, was %s", i, now, r.text)
		}
	}
}

// The original of a fork is named by a member of its entries; text that only looks
// like that member names none (T-9).
func TestLiteForkedFrom(t *testing.T) {
	const entry = `{%s"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"%s"}}` + "\n"
	for _, c := range []struct{ member, text, want string }{
		{``, `hello`, ``},
		{`"forkedFrom":{"sessionId":"o","messageUuid":"m"},`, `hello`, `o`},
		{`"forkedFrom":null,`, `hello`, ``},
		{``, `say \"forkedFrom\":{\"sessionId\":\"o\"}`, ``},
		{`"x":{"forkedFrom":{"sessionId":"o"}},`, `hello`, ``},
		{`"forkedFrom":{"sessionId":"o"},"forkedFrom":{"sessionId":"p"},`, `hello`, `p`},
	} {
		log := fmt.Sprintf(entry, c.member, c.text)
		l, _, err := transcript.ReadLite(strings.NewReader(log), int64(len(log)))
		if err != nil || l.ForkedFrom != c.want {
			t.Errorf("%s: fork of %q, %v; want %q", log, l.ForkedFrom, err, c.want)
		}
	}
}

// A title in a summary is trusted when its leaf stands anywhere in the file that was
// read, also where the tail holds metadata only (T-9).
func TestLiteSummaryLeaf(t *testing.T) {
	entry := `{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"leaf","sessionId":"s","message":{"role":"user","content":"hello"}}` + "\n"
	// Behind the head stands more metadata than the tail has room for.
	side := strings.Repeat(`{"type":"last-prompt","lastPrompt":"hello","leafUuid":"leaf","sessionId":"s"}`+"\n", 3_000)
	for _, c := range []struct{ leaf, behind, want string }{{"leaf", "", "of this"}, {"other", "", ""}, {"leaf", side, "of this"}, {"other", side, ""}} {
		log := `{"type":"summary","summary":"of this","leafUuid":"` + c.leaf + `"}` + "\n" + entry + c.behind
		l, _, err := transcript.ReadLite(strings.NewReader(log), int64(len(log)))
		if err != nil || l.Title != c.want {
			t.Errorf("leaf %s, %d bytes of metadata behind: title %q, %v; want %q", c.leaf, len(c.behind), l.Title, err, c.want)
		}
	}
}
