package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// decode reads a value as encoding/json does, which goes on behind a member of the
// wrong type. The error is one of syntax: the value is not JSON. What is of the
// wrong type is a fault, and its member keeps its zero value.
func (b *builder) decode(what string, raw []byte, into any) error {
	return b.decoded(what, json.Unmarshal(raw, into))
}

// decoded takes what encoding/json said of a value.
func (b *builder) decoded(what string, err error) error {
	if bad := new(json.SyntaxError); errors.As(err, &bad) {
		return err
	}
	if err != nil {
		b.fault("", strings.TrimPrefix(what+": "+err.Error(), ": "))
	}
	return nil
}

// record is a line of a recording.
type record[T any] struct {
	line  int
	clean []byte // what stands in it, without what stands around it
	fault string // why it is none; "" when it may be one
	zeros bool
	last  bool  // nothing ends it
	value T     // what encoding/json makes of it
	err   error // and says of it
}

// Lines are read some at a time, so that every processor decodes a part of them.
const (
	batchBytes = 1 << 20
	batchLines = 256
)

// lines calls fn with every line that may be a JSON object, and with what
// encoding/json makes of it and says of it, and names those that are none. fn
// returns an error for a line that is not JSON.
func lines[T any](ctx context.Context, b *builder, r io.Reader, limit int64, fn func(line []byte, value *T, err error) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	no := 0
	for done := false; !done; {
		var batch []record[T]
		size := 0
		for !done && len(batch) < batchLines && size < batchBytes {
			if err := ctx.Err(); err != nil {
				return err
			}
			no++
			line, err := readLine(br, limit)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLong) {
				return fmt.Errorf("foreign: read at line %d: %w", no, err)
			}
			done = errors.Is(err, io.EOF)
			rec := record[T]{line: no, last: done}
			if errors.Is(err, errLong) {
				rec.fault = fmt.Sprintf("the line has more than %d bytes and is skipped", limit)
				done = errors.Is(err, io.EOF)
			} else {
				rec.look(line)
			}
			size += len(rec.clean)
			if rec.fault != "" || len(rec.clean) > 0 {
				batch = append(batch, rec)
			}
		}
		decodeAll(batch)
		for i := range batch {
			rec := &batch[i]
			b.line = rec.line
			switch {
			case rec.fault != "":
				b.fault("", rec.fault)
			case fn(rec.clean, &rec.value, rec.err) == nil:
				if rec.zeros {
					b.fault("", "zero bytes around the record")
				}
			case rec.last:
				b.fault("", "the last record is incomplete")
			default:
				b.fault("", "not JSON")
			}
		}
	}
	b.line = 0
	return nil
}

// look finds the record in a line.
func (rec *record[T]) look(line []byte) {
	line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	rec.clean = bytes.Trim(line, " \t\r\n\x00")
	rec.zeros = bytes.IndexByte(line, 0) >= 0
	switch {
	case rec.zeros && len(rec.clean) == 0:
		rec.fault = "zero bytes instead of a record"
	case len(rec.clean) > 0 && rec.clean[0] != '{':
		rec.fault = "not a JSON object"
	}
}

// errLong says that a line is longer than the limit.
var errLong = errors.New("a line above the limit")

// readLine returns the next line, whose bytes are the caller's. With io.EOF it is
// what nothing ends; errLong joins that of a line that was passed over.
func readLine(br *bufio.Reader, limit int64) ([]byte, error) {
	var buf []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if long = long || int64(len(buf)+len(part)) > limit; !long {
			buf = append(buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errors.Join(errLong, err)
		}
		return buf, err
	}
}

// decodeAll decodes records, on every processor.
func decodeAll[T any](batch []record[T]) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(batch)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(batch)); i = next.Add(1) - 1 {
				if rec := &batch[i]; rec.fault == "" {
					rec.err = json.Unmarshal(rec.clean, &rec.value)
				}
			}
		})
	}
	wg.Wait()
}

// text reads a string of a value that was found to be JSON; ok is false when it is
// something else. null counts as an empty one, as in encoding/json.
func text(raw json.RawMessage) (s string, ok bool) {
	n := len(raw) - 1
	if n > 0 && (raw[0] == '[' || raw[0] == '{') {
		return "", false
	}
	if n < 1 || raw[0] != '"' || raw[n] != '"' || !utf8.Valid(raw) {
		return slowText(raw)
	}
	body := raw[1:n]
	i := bytes.IndexByte(body, '\\')
	if i < 0 {
		return string(body), true
	}
	out := make([]byte, 0, len(body))
	for ; i >= 0; i = bytes.IndexByte(body, '\\') {
		if i+1 == len(body) {
			return slowText(raw)
		}
		out = append(out, body[:i]...)
		switch c := body[i+1]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		default: // \u and what is rare
			return slowText(raw)
		}
		body = body[i+2:]
	}
	return string(append(out, body...)), true
}

func slowText(raw json.RawMessage) (s string, ok bool) {
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// A document is a recording that is one JSON object: some members about the
// session, and the messages.
type document interface {
	member(key string, value json.RawMessage)
	message(i int, value json.RawMessage)
}

// document reads what can be read of a document. Its messages are held until the
// end, because the members about the session may stand behind them.
func (b *builder) document(ctx context.Context, r io.Reader, size, limit int64, d document) error {
	if size > limit {
		return fmt.Errorf("foreign: %w", &TooLargeError{size, limit})
	}
	br := bufio.NewReaderSize(r, 1<<20)
	for { // what may stand before the object
		c, err := br.ReadByte()
		if err != nil {
			return fmt.Errorf("foreign: %w", ErrFormat)
		}
		if c == '{' {
			if err := br.UnreadByte(); err != nil {
				return fmt.Errorf("foreign: read: %w", err)
			}
			break
		}
	}
	dec := json.NewDecoder(br)
	messages, err := readMembers(ctx, dec, d)
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, m := range messages {
		d.message(i, m)
		messages[i] = nil
	}
	b.flush()
	if err != nil {
		b.fault(fmt.Sprintf("messages[%d]", len(messages)), fmt.Sprintf("the document cannot be read from byte %d on: %v", dec.InputOffset(), err))
	}
	return nil
}

// readMembers reads up to the end of the object or to where it is damaged.
func readMembers(ctx context.Context, dec *json.Decoder, d document) (messages []json.RawMessage, err error) {
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return messages, err
		}
		key, _ := t.(string)
		if key != "messages" {
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return messages, err
			}
			d.member(key, v)
			continue
		}
		t, err = dec.Token()
		if err != nil {
			return messages, err
		}
		if t != json.Delim('[') {
			return messages, errors.New("messages is not an array")
		}
		for dec.More() {
			if err := ctx.Err(); err != nil {
				return messages, err
			}
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return messages, err
			}
			messages = append(messages, v)
		}
		if _, err := dec.Token(); err != nil {
			return messages, err
		}
	}
	_, err = dec.Token()
	return messages, err
}
