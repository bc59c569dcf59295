package message

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// recorded returns the recorded sessions that lie beside the project.
func recorded(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = up
	}
	root := filepath.Join(dir, "..", "shared", "data", "claude")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded sessions (../shared/data beside the project) are not here")
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sessions below %s: %v", root, err)
	}
	return files
}

// eachRecorded calls f for the message of each user and assistant line.
func eachRecorded(t testing.TB, path string, f func(line int, raw []byte)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		kind := string(member(line, "type"))
		if raw := member(line, "message"); len(raw) > 0 && raw[0] == '{' && (kind == `"user"` || kind == `"assistant"`) {
			f(n, raw)
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// T-4, T-11: of every recorded user and assistant line the message keeps its bytes, and each block its own, compared with what
// encoding/json finds. A log's chain is not yet a request, but what Check says about single blocks of genuine lines must be nothing,
// or its rules would be stricter than the API, which produced or accepted them.
func TestRecordedMessages(t *testing.T) {
	var messages, blocks, usages atomic.Int64
	paths := recorded(t) // skips here, not in the sub-test, where they are absent
	t.Run("files", func(t *testing.T) {
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				var ms []Message
				var together Decoder
				var ahead, alone []*Message
				eachRecorded(t, path, func(line int, raw []byte) {
					m, n := compareMessage(t, line, raw)
					ms = append(ms, *m)
					if line%4 == 0 {
						o, err := together.Message(raw)
						if err != nil {
							t.Fatalf("line %d: %v", line, err)
						}
						ahead, alone = append(ahead, o), append(alone, m)
					}
					messages.Add(1)
					blocks.Add(int64(n))
					if m.Usage != nil {
						usages.Add(1)
					}
				})
				for i, o := range ahead { // now that everything was written that could be written over them
					sameMessage(t, o, alone[i])
				}
				checkRounds(t, ms, Rounds(ms))
				if strings.Contains(path, "edge_cas") {
					return // a fixture made to be wrong
				}
				for _, v := range Check(ms) {
					switch v.Rule {
					case RuleBlockType, RuleBlockRole, RuleUnicode, RuleToolID, RuleToolName, RuleToolInput, RuleRole:
						t.Error(v)
					}
				}
			})
		}
	})
	t.Logf("%d messages, %d blocks, %d usages", messages.Load(), blocks.Load(), usages.Load())
	if messages.Load() < 1000 || blocks.Load() < 1000 || usages.Load() < 500 {
		t.Error("too few were found")
	}
}

func compareMessage(t *testing.T, line int, raw []byte) (*Message, int) {
	t.Helper()
	m, err := ParseMessage(raw)
	if err != nil {
		t.Fatalf("line %d: %v", line, err)
	}
	if !bytes.Equal(m.Raw, raw) || !bytes.Equal(m.JSON(), raw) {
		t.Fatalf("line %d: the bytes changed", line)
	}
	var want struct {
		Role, ID, Model string
		Content         json.RawMessage
		StopReason      string `json:"stop_reason"`
		Usage           *struct {
			In    int64 `json:"input_tokens"`
			Out   int64 `json:"output_tokens"`
			Read  int64 `json:"cache_read_input_tokens"`
			Write int64 `json:"cache_creation_input_tokens"`
		}
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if string(m.Role) != want.Role || m.ID != want.ID || m.Model != want.Model || m.StopReason != want.StopReason || (m.Usage == nil) != (want.Usage == nil) {
		t.Fatalf("line %d: got %+v, want %+v", line, m, want)
	}
	if u := want.Usage; u != nil {
		if m.Usage.InputTokens != u.In || m.Usage.OutputTokens != u.Out || m.Usage.CacheReadTokens != u.Read || m.Usage.CacheCreationTokens != u.Write {
			t.Fatalf("line %d: usage %+v, want %+v", line, m.Usage, u)
		}
		if m.Usage.ContextTokens() != u.In+u.Read+u.Write && len(m.Usage.Iterations) == 0 {
			t.Fatalf("line %d: context %d", line, m.Usage.ContextTokens())
		}
	}
	n := compareContent(t, line, m.Content, m.StringContent, want.Content)
	if line%8 == 0 {
		owned, err := ParseOwned(raw)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		sameMessage(t, owned, m)
		checkUnicode(t, m.Content)
	}
	rebuilt := *m // what is written afresh reads the same
	rebuilt.Raw = nil
	sameMessage(t, mustParse(t, string(rebuilt.JSON())), &rebuilt)
	for _, b := range m.Content {
		if b.Type != TypeToolUse {
			continue
		}
		var compact bytes.Buffer // equal to b.Input but in fixtures written by hand
		if err := json.Compact(&compact, b.Input); err != nil {
			t.Fatal(err)
		}
		if in, err := CompactInput(b.Input); err != nil || !bytes.Equal(in, compact.Bytes()) {
			t.Fatalf("line %d: CompactInput(%s) = %s, %v", line, b.Input, in, err)
		}
	}
	return m, n
}

func compareContent(t *testing.T, line int, got []Block, isString bool, want json.RawMessage) int {
	t.Helper()
	n := len(got)
	if len(want) > 0 && want[0] == '"' {
		var s string
		if err := json.Unmarshal(want, &s); err != nil {
			t.Fatal(err)
		}
		if !isString || n != 1 || got[0].Text != s {
			t.Fatalf("line %d: got %+v, want the text %q", line, got, s)
		}
		return n
	}
	var elements []json.RawMessage
	if len(want) > 0 {
		if err := json.Unmarshal(want, &elements); err != nil {
			t.Fatal(err)
		}
	}
	if isString || n != len(elements) {
		t.Fatalf("line %d: %d blocks, want %d", line, n, len(elements))
	}
	for i, b := range got {
		var w struct {
			Type, Text, Thinking, Signature, Data, ID, Name string
			Input                                           json.RawMessage
			ToolUseID                                       string `json:"tool_use_id"`
			IsError                                         bool   `json:"is_error"`
			Content                                         json.RawMessage
		}
		if elements[i][0] != '{' { // "wow error", in a fixture made to be wrong
			if b.Type != "" || !bytes.Equal(b.Raw, elements[i]) {
				t.Fatalf("line %d: block %d is %+v", line, i, b)
			}
			continue
		}
		if err := json.Unmarshal(elements[i], &w); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Raw, elements[i]) || b.Type != w.Type || b.Text != w.Text+w.Thinking || b.Signature != w.Signature || b.Data != w.Data ||
			b.ID != w.ID || b.Name != w.Name || !bytes.Equal(b.Input, w.Input) || b.ToolUseID != w.ToolUseID || b.IsError != w.IsError {
			t.Fatalf("line %d: block %d is %+v, want %+v", line, i, b, w)
		}
		if w.Type == TypeToolResult {
			n += compareContent(t, line, b.Content, b.StringContent, w.Content)
		}
	}
	return n
}
