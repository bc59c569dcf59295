package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// decode reads a value as encoding/json does, which goes on behind a member of the
// wrong type. The error is one of syntax: the value is not JSON. What is of the
// wrong type is a fault, and its member keeps its zero value.
func (b *builder) decode(what string, raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if bad := new(json.SyntaxError); errors.As(err, &bad) {
		return err
	}
	if err != nil {
		b.fault("", strings.TrimPrefix(what+": "+err.Error(), ": "))
	}
	return nil
}

// lines calls fn with every line that may be a JSON object and names those that are
// none. fn returns an error for a line that is not JSON.
func (b *builder) lines(ctx context.Context, r io.Reader, limit int64, fn func(line []byte) error) error {
	br := bufio.NewReaderSize(r, 1<<20)
	var buf []byte
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.line++
		buf = buf[:0]
		long, ended := false, false
		for !ended && !done {
			part, err := br.ReadSlice('\n')
			switch {
			case err == nil:
				ended = true
			case errors.Is(err, io.EOF):
				done = true
			case !errors.Is(err, bufio.ErrBufferFull):
				return fmt.Errorf("foreign: read at line %d: %w", b.line, err)
			}
			if long = long || int64(len(buf)+len(part)) > limit; !long {
				buf = append(buf, part...)
			}
		}
		if long {
			b.fault("", fmt.Sprintf("the line has more than %d bytes and is skipped", limit))
			continue
		}
		line := bytes.TrimPrefix(buf, []byte("\xEF\xBB\xBF"))
		clean := bytes.Trim(line, " \t\r\n\x00")
		zeros := bytes.IndexByte(line, 0) >= 0
		switch {
		case zeros && len(clean) == 0:
			b.fault("", "zero bytes instead of a record")
		case len(clean) == 0:
		case clean[0] != '{':
			b.fault("", "not a JSON object")
		case fn(clean) == nil:
			if zeros {
				b.fault("", "zero bytes around the record")
			}
		case done:
			b.fault("", "the last record is incomplete")
		default:
			b.fault("", "not JSON")
		}
	}
	b.line = 0
	return nil
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
