package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"varve.dev/caps"
	"varve.dev/llm"
	"varve.dev/llm/anthropic/internal/wire"
)

// The defaults of a Model.
const (
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultVersion is the value of the header anthropic-version. The SDK would send
	// its own, 2026-10-21, which refuses options and history that the older version
	// takes (sampling, documents in replies, citations in user text); logs hold such
	// history, and gateways know the older one.
	DefaultVersion = "2023-06-01"
	// DefaultIdle is how long a stream may be silent, from the request to its first
	// event and between events. The API pings all the time; proxies may not.
	DefaultIdle = 5 * time.Minute
	// DefaultMaxOutput is how many tokens a reply may have where the request does not
	// say: the first step of the requirement L-1.
	DefaultMaxOutput = 8192
	// MaxBody is the largest body the API takes, in bytes (32 MB). A larger one is an
	// overflow before it is sent.
	MaxBody = wire.MaxBody
)

// Options are the options of a request that most callers set, to be kept in a
// frame ([llm.Request.Options]).
type Options struct {
	Thinking  string // adaptive, disabled, between_tools; "" leaves the model's default
	Display   string // of adaptive thinking: summarized, omitted, updates
	Effort    string // low, medium, high, xhigh, max
	Clear     *llm.Clear
	Threshold *llm.Threshold
	Betas     []string // further beta headers
}

// JSON returns the options as a frame keeps them, in a fixed order; nil without any.
func (o Options) JSON() json.RawMessage { return wire.Options(o).JSON() }

// Model is a model of the Messages API. Its fields may be set before its first
// use and not after; it is then safe for concurrent use.
type Model struct {
	Name      string // used where a request names no model
	BaseURL   string // without /v1
	Version   string // header anthropic-version
	Header    http.Header
	Betas     []string // further values of the header anthropic-beta
	MaxOutput int      // tokens of a reply where the request does not say; 0 is DefaultMaxOutput
	// HTTP sends the requests. The default honours the proxies of the environment
	// (HTTPS_PROXY, NO_PROXY) and follows no redirects, which would carry the key
	// elsewhere.
	HTTP *http.Client
	Idle time.Duration
	Now  func() time.Time

	client  sdk.Client
	auth    func(http.Header)
	secrets func() []string // a function, so that printing a Model shows nothing
}

// New returns a model whose requests carry the key as x-api-key.
func New(key, model string) *Model {
	m := newModel(model)
	m.auth = func(h http.Header) {
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	}
	m.secrets = func() []string { return []string{key} }
	return m
}

// NewBearer returns a model whose requests carry the token as Authorization: Bearer,
// as gateways and OAuth want it.
func NewBearer(token, model string) *Model {
	m := newModel(model)
	m.auth = func(h http.Header) {
		if token != "" {
			h.Set("Authorization", "Bearer "+token)
		}
	}
	m.secrets = func() []string { return []string{token} }
	return m
}

// ErrNoKey says that the environment has neither key nor token.
var ErrNoKey = errors.New("anthropic: no API key: set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a gateway that wants a bearer token")

// FromEnv returns a model by the variables that the reference reads:
// ANTHROPIC_API_KEY, or else ANTHROPIC_AUTH_TOKEN; ANTHROPIC_BASE_URL;
// ANTHROPIC_CUSTOM_HEADERS, lines of "Name: value". getenv is os.Getenv, or what
// stands for it.
func FromEnv(getenv func(string) string, model string) (*Model, error) {
	key, token := getenv("ANTHROPIC_API_KEY"), getenv("ANTHROPIC_AUTH_TOKEN")
	var m *Model
	switch {
	case key != "":
		m = New(key, model)
	case token != "":
		m = NewBearer(token, model)
	default:
		return nil, ErrNoKey
	}
	if base := getenv("ANTHROPIC_BASE_URL"); base != "" {
		m.BaseURL = base
	}
	for line := range strings.SplitSeq(getenv("ANTHROPIC_CUSTOM_HEADERS"), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			m.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return m, nil
}

func newModel(name string) *Model {
	return &Model{Name: name, BaseURL: DefaultBaseURL, Version: DefaultVersion, Header: http.Header{}, Idle: DefaultIdle, Now: time.Now,
		HTTP:   &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		client: sdk.NewClient(option.WithoutEnvironmentDefaults())}
}

// build puts the body of a request together.
func (m *Model) build(req *llm.Request, count bool) (*wire.Body, *llm.Error) {
	d := wire.Defaults{Model: m.Name, MaxOutput: m.MaxOutput, Betas: m.Betas}
	if d.MaxOutput <= 0 {
		d.MaxOutput = DefaultMaxOutput
	}
	return d.Build(req, count)
}

func invalid(text string) *llm.Error { return &llm.Error{Kind: llm.KindInvalid, Message: text} }

// callOptions are the options of the SDK for one request. It retries nothing, reads no environment and
// traces nothing.
func (m *Model) callOptions(betas []string) ([]option.RequestOption, *llm.Error) {
	base, err := url.Parse(strings.TrimSuffix(strings.TrimRight(m.BaseURL, "/"), "/v1"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, invalid("the base URL must be http://host or https://host (ANTHROPIC_BASE_URL)")
	}
	opts := []option.RequestOption{option.WithBaseURL(base.String()), option.WithHTTPClient(m.HTTP), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
		option.WithHeader("anthropic-version", m.Version)}
	if len(betas) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(betas, ",")))
	}
	h := m.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if m.auth != nil {
		m.auth(h)
	}
	for name, values := range h {
		for i, v := range values {
			if i == 0 {
				opts = append(opts, option.WithHeader(name, v))
			} else {
				opts = append(opts, option.WithHeaderAdd(name, v))
			}
		}
	}
	return opts, nil
}

// maxErrorBody bounds what is read of an answer that is no stream, in bytes.
const maxErrorBody = 1 << 20

// call sends a request and returns the answer, if it is HTTP 200. body is nil for
// a GET.
func (m *Model) call(ctx context.Context, path string, b *wire.Body) (*http.Response, *llm.Error) {
	var betas []string
	method, params := http.MethodGet, any(nil)
	if b != nil {
		// Bytes and not json.RawMessage: the SDK would encode that anew.
		method, params, betas = http.MethodPost, b.JSON, b.Betas
	}
	opts, bad := m.callOptions(betas)
	if bad != nil {
		return nil, bad
	}
	var res *http.Response
	err := m.client.Execute(ctx, method, path, params, &res, opts...)
	if res == nil {
		if err == nil {
			err = errors.New("no answer")
		}
		return nil, m.fail(ctx, llm.Failure{Err: err})
	}
	if err != nil || res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()                       // nothing more is wanted of it
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what arrived is enough to tell
		return nil, m.fail(ctx, llm.Failure{Status: res.StatusCode, Body: body, Header: res.Header.Get})
	}
	return res, nil
}

// errIdle ends a request whose stream is silent.
var errIdle = errors.New("nothing arrived for too long")

// fail makes the error of a request that failed.
func (m *Model) fail(ctx context.Context, f llm.Failure) *llm.Error {
	if cause := context.Cause(ctx); cause != nil && f.Err != nil {
		f.Err = cause
		if errors.Is(cause, errIdle) {
			f.Message = fmt.Sprintf("nothing arrived for %s", m.Idle)
		}
	}
	f.Now = m.Now
	if m.secrets != nil {
		f.Secrets = m.secrets()
	}
	for name, values := range m.Header {
		if n := strings.ToLower(name); strings.Contains(n, "key") || strings.Contains(n, "auth") || strings.Contains(n, "token") || strings.Contains(n, "cookie") {
			f.Secrets = append(f.Secrets, values...)
		}
	}
	if u, err := url.Parse(m.BaseURL); err == nil && u.User != nil {
		if pw, ok := u.User.Password(); ok {
			f.Secrets = append(f.Secrets, pw)
		}
	}
	return llm.Classify(f)
}

// ask sends a request and decodes its JSON answer.
func (m *Model) ask(ctx context.Context, path string, b *wire.Body, into any) *llm.Error {
	if m.Idle > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, m.Idle, errIdle)
		defer cancel()
	}
	res, bad := m.call(ctx, path, b)
	if bad != nil {
		return bad
	}
	defer func() { _ = res.Body.Close() }() // all of it was read
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return m.fail(ctx, llm.Failure{Err: err, Header: res.Header.Get})
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return m.fail(ctx, llm.Failure{Status: res.StatusCode, Body: raw, InStream: true, Header: res.Header.Get})
	}
	return nil
}

// maxAnswer bounds an answer that is no stream, in bytes.
const maxAnswer = 64 << 20

// CountTokens asks the API how large the prompt of req is, by its own estimate.
// It applies the server's clearing and compaction, and checks reasoning as a
// request does.
func (m *Model) CountTokens(ctx context.Context, req *llm.Request) (llm.Count, error) {
	b, bad := m.build(req, true)
	if bad != nil {
		return llm.Count{}, bad
	}
	var answer struct {
		Input      int64 `json:"input_tokens"`
		Management struct {
			Original int64 `json:"original_input_tokens"`
		} `json:"context_management"`
	}
	if bad := m.ask(ctx, "v1/messages/count_tokens", b, &answer); bad != nil {
		return llm.Count{}, bad
	}
	return llm.Count{Input: answer.Input, Original: answer.Management.Original}, nil
}

// modelInfo is what the models endpoint says.
type modelInfo struct {
	ID        string          `json:"id"`
	Name      string          `json:"display_name"`
	Input     int             `json:"max_input_tokens"`
	Output    int             `json:"max_tokens"`
	Lifecycle string          `json:"lifecycle"`
	Raw       json.RawMessage `json:"-"`
}

func (i *modelInfo) UnmarshalJSON(raw []byte) error {
	type plain modelInfo
	if err := json.Unmarshal(raw, (*plain)(i)); err != nil {
		return err
	}
	i.Raw = append(json.RawMessage(nil), raw...)
	return nil
}

func (i *modelInfo) probe() caps.Probe {
	return caps.Probe{Window: max(i.Input, 0), MaxOutput: max(i.Output, 0)}
}

// Probe asks the API what the model can bear.
func (m *Model) Probe(ctx context.Context) (caps.Probe, error) {
	var info modelInfo
	if bad := m.ask(ctx, "v1/models/"+url.PathEscape(m.Name), nil, &info); bad != nil {
		return caps.Probe{}, bad
	}
	return info.probe(), nil
}

// maxPages bounds a listing whose server never says that it ends.
const maxPages = 50

// Models lists the models of the account.
func (m *Model) Models(ctx context.Context) ([]llm.Info, error) {
	var all []llm.Info
	after := ""
	for range maxPages {
		path := "v1/models?limit=1000"
		if after != "" {
			path += "&after_id=" + url.QueryEscape(after)
		}
		var page struct {
			Data []modelInfo `json:"data"`
			More bool        `json:"has_more"`
			Last string      `json:"last_id"`
		}
		if bad := m.ask(ctx, path, nil, &page); bad != nil {
			return nil, bad
		}
		for _, i := range page.Data {
			all = append(all, llm.Info{ID: i.ID, Name: i.Name, Probe: i.probe(), Lifecycle: i.Lifecycle, Raw: i.Raw})
		}
		if !page.More || page.Last == "" || page.Last == after {
			break
		}
		after = page.Last
	}
	return all, nil
}

func isStream(res *http.Response) bool {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}
