package modelsim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"varve.dev/message"
)

// start is the time at which clocks of tests stand.
var start = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// client is a client without an SDK: what it sends is what the test says.
type client struct {
	t     *testing.T
	sim   *Server
	key   string
	betas []string
}

func newClient(t *testing.T, cfg Config) *client {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = NewClock(start)
	}
	return &client{t: t, sim: ForTest(t, cfg), key: "sk-test"}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
	o      object
}

func (a answer) errorMessage() string { return a.o.obj("error").str("message") }

func (a answer) content() []json.RawMessage {
	list, _ := asArray(a.o.get("content"))
	return list
}

// text is all text of the reply.
func (a answer) text() string {
	var s []string
	for _, raw := range a.content() {
		if o, err := parseObject(raw); err == nil && o.str("type") == "text" {
			s = append(s, o.str("text"))
		}
	}
	return strings.Join(s, "\n")
}

func (a answer) usage(name string) int {
	n, _ := a.o.obj("usage").num(name)
	return n
}

func (c *client) post(path, body string) answer {
	c.t.Helper()
	return c.do(path, body, nil)
}

func (c *client) do(path, body string, change func(*http.Request)) answer {
	c.t.Helper()
	r, err := http.NewRequest(http.MethodPost, c.sim.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", c.key)
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("Content-Type", "application/json")
	if len(c.betas) > 0 {
		r.Header.Set("Anthropic-Beta", strings.Join(c.betas, ","))
	}
	if change != nil {
		change(r)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: 20 * time.Second}).Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, a.err = io.ReadAll(resp.Body)
	a.o, _ = parseObject(a.body)
	return a
}

// send posts messages with everything else that a request needs.
func (c *client) send(model string, messages []string, extra string) answer {
	c.t.Helper()
	return c.post("/v1/messages", request(model, messages, extra))
}

func request(model string, messages []string, extra string) string {
	if extra != "" {
		extra = "," + extra
	}
	return fmt.Sprintf(`{"model":%q,"max_tokens":4096,"messages":[%s]%s}`, model, strings.Join(messages, ","), extra)
}

func user(text string) string      { return string(message.User(text).JSON()) }
func assistant(text string) string { return string(message.Assistant(message.Text(text)).JSON()) }

// back is the reply as an assistant message of the next request.
func (a answer) back() string {
	return `{"role":"assistant","content":` + string(a.o.get("content")) + `}`
}

const aTool = `"tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}]`

// results answers all calls of the reply with text.
func (a answer) results(text string) string {
	var blocks []message.Block
	for _, raw := range a.content() {
		b, err := message.ParseBlock(raw)
		if err == nil && b.Type == "tool_use" {
			blocks = append(blocks, message.ToolResult(b.ID, false, message.Text(text)))
		}
	}
	return string(message.UserBlocks(blocks...).JSON())
}

// sse is one event of a stream.
type sse struct {
	name string
	data string
}

// events reads a stream, as far as it is well formed.
func events(body []byte) []sse {
	var out []sse
	var e sse
	sc := bufio.NewScanner(bytes.NewReader(body))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		switch line := sc.Text(); {
		case line == "":
			if e.name != "" {
				out = append(out, e)
			}
			e = sse{}
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			e.data = line[6:]
		}
	}
	return out
}

func rules(list []Violation) string {
	var out []string
	for _, v := range list {
		out = append(out, v.Rule)
	}
	return strings.Join(out, " ")
}

// direct asks the handler without a network.
func direct(sim *Server, body string) answer {
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header = http.Header{"X-Api-Key": {"sk-test"}, "Anthropic-Version": {version2026}, "Content-Type": {"application/json"}}
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	a.o, _ = parseObject(a.body)
	return a
}
