package modelsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/internal/validate"
)

// Config says how a server behaves. The zero value is a strict server that echoes.
type Config struct {
	Script string // the text of a script; "" echoes
	Clock  Clock  // nil is the machine's
	Seed   uint64 // of everything random: ids, filler, sizes of writes
	Secret string // signs reasoning and compactions; "" is made of the seed. Servers with one secret accept each other's blocks

	// Lenient answers requests that break a rule, where that is possible, and only counts the violations.
	Lenient bool
	// OldAccount checks the place of reasoning only where a request asks for it, as for accounts from before 31 August 2026.
	OldAccount bool

	Factor float64          // tokens of every model for one of package tokens; 0 = what caps says of each
	Models map[string]Model // changes to models, and models of your own, by name

	Log io.Writer // gets one line of JSON for each finished request; nil for none
}

// A Server is the scripted outside. It is an [http.Handler]; [Start] also listens. It is safe for concurrent use.
type Server struct {
	URL string // "http://127.0.0.1:…" once it listens; what an SDK takes as its base URL

	cfg    Config
	script *Script
	clock  Clock
	secret []byte

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	http   *http.Server
	served chan error

	known parsed

	mu       sync.Mutex // guards everything below
	guards   map[validate.Options]*validate.Guard
	states   map[*section]*sectionState
	made     map[sum]int // how often a body was answered: retries get ids of their own
	cut      map[[6]byte]bool
	covered  map[string][]covering
	cache    promptCache
	counted  map[counted]int
	lanes    map[string]*lane
	prints   map[string]*fingerprint
	shown    map[string]bool // needles
	records  []Request
	faults   []error // mistakes of the script, and of writing the log
	messages int     // requests for a reply, so far
}

// New returns a server that does not listen: a handler for a server of your own. The error is that of the script.
func New(cfg Config) (*Server, error) {
	script, err := ParseScript(cfg.Script)
	if err != nil {
		return nil, err
	}
	cfg.Models = maps.Clone(cfg.Models)
	if cfg.Models == nil {
		cfg.Models = map[string]Model{}
	}
	for _, m := range script.settings {
		cfg.Models[m.model] = m.Model
	}
	s := &Server{cfg: cfg, script: script, clock: cfg.Clock, secret: secretOf(cfg.Seed, cfg.Secret), guards: map[validate.Options]*validate.Guard{},
		states: map[*section]*sectionState{}, made: map[sum]int{}, cut: map[[6]byte]bool{}, covered: map[string][]covering{}, lanes: map[string]*lane{},
		prints: map[string]*fingerprint{}, shown: map[string]bool{}}
	s.known.list = map[sum]msg{}
	s.counted = map[counted]int{}
	s.cache.entries = map[sum]cacheEntry{}
	if s.clock == nil {
		s.clock = wallClock{}
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start returns a server that listens on a free port of the loopback interface. Close it.
func Start(cfg Config) (*Server, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("modelsim: %w", err)
	}
	s.Listen(l)
	return s, nil
}

// A TB is what [ForTest] needs of a *testing.T.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// ForTest starts a server with a script, or ends the test, and closes the server with the test.
func ForTest(t TB, cfg Config) *Server {
	t.Helper()
	s, err := Start(cfg)
	if err != nil {
		t.Fatalf("%v", err)
		return nil
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Fatalf("%v", err)
		}
	})
	return s
}

// Listen serves on l, which it closes in the end, and sets URL.
func (s *Server) Listen(l net.Listener) {
	s.URL = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.served = make(chan error, 1)
	go func() { s.served <- s.http.Serve(l) }() // Close waits for it
}

// closeTimeout is how long Close waits for replies under way, whose delays and hangs it has ended.
const closeTimeout = 5 * time.Second

// Close ends replies that wait or hang, waits for the others, and stops listening.
func (s *Server) Close() error {
	s.cancel()
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.http = nil
	if err != nil {
		return fmt.Errorf("modelsim: close: %w", err)
	}
	return nil
}

// maxRead is the largest body that is read: more than the API takes, so that it can say so.
const maxRead = 64 << 20

// ServeHTTP answers a request. Each protocol has its paths here, and its own file; so far it is the Anthropic Messages API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRead))
	rec := s.begin(r, body)
	w.Header().Set("Request-Id", rec.RequestID)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	defer s.finish(rec) // also when a reply is dropped, which panics
	path := r.URL.Path
	switch {
	case err != nil:
		err = s.refuse(w, rec, &failure{status: http.StatusRequestEntityTooLarge, plain: true, message: "request entity too large"})
	case len(body) > validate.MaxBytes: // the edge looks no further
		rec.Violations = []Violation{{Rule: validate.RuleSize, Detail: "request_too_large", status: http.StatusRequestEntityTooLarge}}
		err = s.refuse(w, rec, &failure{status: http.StatusRequestEntityTooLarge, typ: errorType(http.StatusRequestEntityTooLarge), message: "Request exceeds the maximum size"})
	case path == "/v1/models" || strings.HasPrefix(path, "/v1/models/"):
		rec.Kind = "models"
		rec.Status, err = s.serveModels(w, r)
	case path != "/v1/messages" && path != "/v1/messages/count_tokens":
		rec.Kind = "other"
		err = s.refuse(w, rec, &failure{status: http.StatusNotFound, typ: "not_found_error", message: "Not found"})
	case r.Method != http.MethodPost:
		err = s.refuse(w, rec, &failure{status: http.StatusMethodNotAllowed, typ: "invalid_request_error", message: "Method Not Allowed"})
	default:
		err = s.serveMessages(ctx, w, newCall(r, body, &s.known), rec)
	}
	if err != nil && !errors.Is(err, errCut) {
		rec.Cut = "client"
	}
}

// refuse answers with a failure.
func (s *Server) refuse(w http.ResponseWriter, rec *Request, f *failure) error {
	f.id = rec.RequestID
	rec.Status, rec.Error = f.status, f.typ
	if f.plain {
		rec.Error = "plain"
	}
	return s.writeFailure(w, f)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
