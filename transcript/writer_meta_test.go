package transcript

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// T-9: the metadata block is appended again about every 32 KiB of new log, after
// every compaction and at Close, in the reference's order, and only if this
// process appended something; a tail of 64 KiB always holds one.
func TestWriterRepeatsMetadata(t *testing.T) {
	r := newRig(t, WriterOptions{})
	r.append(
		sideOf(t, `{"type":"permission-mode","permissionMode":"plan","sessionId":"s"}`),
		sideOf(t, `{"type":"ai-title","aiTitle":"generated","sessionId":"s"}`),
		sideOf(t, `{"type":"worktree-state","worktreeSession":null,"sessionId":"s"}`),
		sideOf(t, `{"type":"pr-link","sessionId":"s","prNumber":1}`),
		sideOf(t, `{"type":"mode","mode":"normal","sessionId":"s"}`),
		sideOf(t, `{"type":"tag","tag":"t","sessionId":"s"}`),
		sideOf(t, `{"type":"agent-name","agentName":"n","sessionId":"s"}`),
		sideOf(t, `{"type":"custom-title","customTitle":"old","sessionId":"s"}`),
		sideOf(t, `{"type":"custom-title","customTitle":"mine","sessionId":"s"}`),
		sideOf(t, `{"type":"last-prompt","lastPrompt":"hi","leafUuid":"zero","sessionId":"s"}`),
		sideOf(t, `{"type":"queue-operation","operation":"enqueue"}`),
	)
	block := "last-prompt custom-title agent-name ai-title tag mode permission-mode pr-link worktree-state"
	starts := func() []int { // offsets of the blocks
		var out []int
		data := content(t, r.fs)
		for i := 0; ; {
			j := strings.Index(data[i:], `{"type":"last-prompt"`)
			if j < 0 {
				return out
			}
			out, i = append(out, i+j), i+j+1
		}
	}
	for i := range 400 {
		r.append(entryOf(t, "user", fmt.Sprint("u", i), "", 1000))
	}
	r.flush()
	at := starts()
	if n := len(at); n < 12 || n > 15 { // 400 × ~1.1 KiB, and the first one
		t.Errorf("%d blocks in %d bytes", n, len(content(t, r.fs)))
	}
	for i := 2; i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap < metadataEvery || gap > metadataEvery+3000 {
			t.Errorf("%d bytes between two blocks", gap)
		}
	}
	list := ids(t, r.fs)
	i := slices.Index(list, "u60")
	if j := slices.Index(list[i:], "last-prompt"); strings.Join(list[i+j:i+j+9], " ") != block {
		t.Errorf("block is %v", list[i+j:i+j+9])
	}

	before := len(starts())
	r.append(sideOf(t, `{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null}`), entryOf(t, "user", "sum", "b", 1))
	r.flush()
	if got := strings.Join(ids(t, r.fs)[len(ids(t, r.fs))-11:], " "); len(starts()) != before+1 || got != "b sum "+block {
		t.Errorf("after a compaction the log ends with %s", got)
	}
	r.close()
	if len(starts()) != before+1 {
		t.Error("a block at Close right behind another")
	}

	r.reopen(WriterOptions{})
	r.append(sideOf(t, `{"type":"tag","tag":"t","sessionId":"s"}`))
	r.user("u", "sum")
	r.close()
	if got := ids(t, r.fs); strings.Join(got[len(got)-3:], " ") != "tag u tag" {
		t.Errorf("at Close the log ends with %v", got[len(got)-3:])
	}
}

// T-9, S-7: a repeated last-prompt points to the newest entry of the main chain;
// a rewind is not repeated once the conversation went on from it, and is repeated
// as it is when it did not.
func TestWriterAdvancesLastPrompt(t *testing.T) {
	last := func(r *rig) *Entry {
		data := strings.TrimSuffix(content(t, r.fs), "\n")
		e, err := Parse([]byte(data[strings.LastIndexByte(data, '\n')+1:]))
		noErr(t, err)
		return e
	}
	rewind := `{"type":"last-prompt","lastPrompt":"hi","leafUuid":"u1","sessionId":"s","varve":{"rewind":true}}`

	r := newRig(t, WriterOptions{})
	r.user("u1", "")
	r.append(sideOf(t, `{"type":"last-prompt","lastPrompt":"hi","sessionId":"s","other":1}`))
	r.append(sideOf(t, `{"type":"user","uuid":"side","parentUuid":"u1","isSidechain":true,"message":{"content":"x"}}`))
	r.append(entryOf(t, "assistant", "a1", "u1", 1))
	r.close()
	if e := last(r); e.Type != TypeLastPrompt || e.LeafUUID != "a1" {
		t.Errorf("points to %q", e.LeafUUID)
	} else if _, ok := e.Field("other"); !ok {
		t.Error("a member was lost")
	}

	r = newRig(t, WriterOptions{})
	r.user("u1", "")
	r.append(sideOf(t, "%s", rewind))
	r.close()
	if raw, _ := last(r).Raw(); string(raw) != rewind {
		t.Errorf("a standing rewind became %s", raw)
	}
	r.reopen(WriterOptions{Meta: []*Entry{sideOf(t, "%s", rewind)}})
	r.user("u2", "u1")
	r.user("u3", "u2")
	r.close()
	if e := last(r); e.LeafUUID != "u3" || e.IsRewind() {
		t.Errorf("after going on: points to %q, rewind %v", e.LeafUUID, e.IsRewind())
	}
	l, err := Read(context.Background(), strings.NewReader(content(t, r.fs)), int64(len(content(t, r.fs))), ReadOptions{})
	noErr(t, err)
	if tip := l.Tip(); tip == nil || tip.UUID != "u3" {
		t.Errorf("tip is %v", tip)
	}
}

// T-5: a title given by the user is never overwritten by a generated one.
func TestWriterKeepsUserTitle(t *testing.T) {
	generated := `{"type":"custom-title","customTitle":"worktree-7","sessionId":"s","varve":{"generated":true}}`
	r := newRig(t, WriterOptions{})
	r.append(sideOf(t, "%s", generated)) // nothing to protect yet
	r.user("u1", "")
	r.append(sideOf(t, `{"type":"custom-title","customTitle":"mine","sessionId":"s"}`))
	wantIs(t, r.w.Append(entryOf(t, "user", "never", "", 1), sideOf(t, "%s", generated)), ErrUserTitle)
	r.append(sideOf(t, `{"type":"ai-title","aiTitle":"generated","sessionId":"s"}`))
	r.close()
	r.want("custom-title u1 custom-title ai-title custom-title ai-title")
	data := []byte(content(t, r.fs))
	lite, _, err := ReadLite(bytes.NewReader(data), int64(len(data)))
	noErr(t, err)
	if lite.Title != "mine" {
		t.Errorf("title is %q", lite.Title)
	}
	// Cleared by the user: a generated one may stand again.
	r.reopen(WriterOptions{Meta: []*Entry{sideOf(t, `{"type":"custom-title","customTitle":"","sessionId":"s"}`)}})
	r.user("u2", "u1")
	r.append(sideOf(t, "%s", generated))
	r.close()
}

// Metadata of a large log stays usable after that log was closed.
func TestWriterMetaOutlivesItsLog(t *testing.T) {
	line := `{"type":"tag","tag":"t","sessionId":"s"}`
	src := strings.NewReader(line)
	e, err := Parse([]byte(line))
	noErr(t, err)
	e.raw, e.src, e.Offset = nil, src, 0
	r := newRig(t, WriterOptions{Meta: []*Entry{e}})
	e.src = nil
	r.user("u", "")
	r.close()
	r.want("u tag")
	if _, err := OpenWriter(logPath, WriterOptions{FS: r.fs, Meta: []*Entry{e}}); err == nil {
		t.Error("metadata that cannot be read was accepted")
	}
}
