package scripted

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
)

// Options of a server. The zero value is a plain HTTP server with the generic strict vendor, and no script.
type Options struct {
	Vendor  string // strict profile, see Vendors; "" is generic
	Lenient bool   // refuse nothing
	Prefix  PrefixRule
	// Thread names the conversation that a request belongs to, for the prefix rule. Nil: model and prompt_cache_key.
	Thread func(Request) string
	Key    string // the only accepted API key; "" accepts any
	Window int    // prompt limit in tokens, estimated as body bytes / 4; 0: none
	Clock  Clock  // nil: the system's
	TLS    bool   // HTTPS with a throw-away certificate, and HTTP/2; see Server.RootCAs
	// Keep bounds the request log: only the newest Keep requests stay (soaks, benchmarks). 0 keeps all.
	Keep int
}

// PrefixRule says what happens when a request does not start with the messages of the one before (V12).
type PrefixRule uint8

// The prefix rules.
const (
	PrefixRecord PrefixRule = iota // a Violation
	PrefixRefuse                   // a Violation, and 400
	PrefixIgnore
)

// A Handler answers a model request. It may block; it should return when the request's Context is done.
type Handler func(Request) Reply

// A Reply is what a Handler answers. The zero Reply is an empty 200 stream.
type Reply struct {
	Steps []Step
	ready *program
}

// Compile makes a reply's bytes now, so that serving it many times costs nothing but the writes.
func Compile(kind Kind, steps ...Step) (Reply, error) {
	p, err := compile(kind, steps)
	return Reply{Steps: steps, ready: p}, err
}

// A Violation is something that a strict vendor or the script did not accept in a request.
type Violation struct {
	Request int    // Request.N
	Rule    string // "V8" … of wire.md §6.2, "script" for an unmet `request` line or a missing reply
	Text    string
	Refused bool // the client got a 4xx for it
}

// A Server is a scripted provider on a loopback port. All methods may be called from any goroutine.
type Server struct {
	clock Clock
	http  *http.Server
	url   string
	roots *x509.CertPool
	ctx   context.Context // done at Close
	stop  context.CancelFunc
	ended chan struct{} // the accept loop has returned

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced whenever something below changes
	opts       Options
	vendor     vendor
	handler    Handler
	scene      *scene
	requests   []*Request
	visits     []*Request
	arrived    int // model requests so far
	played     int // of these, not refused
	over       int // model requests that have ended
	violations []Violation
	memory     memory
	active     int // running handlers
	conns      int // open connections
}

// New is Open for tests and programs that cannot go on without a loopback port: it panics where Open fails.
func New(o Options) *Server {
	s, err := Open(o)
	if err != nil {
		panic("scripted: " + err.Error())
	}
	return s
}

// Open starts a server on a free port of 127.0.0.1. The caller closes it.
func Open(o Options) (*Server, error) {
	if o.Vendor == "" {
		o.Vendor = "generic"
	}
	v, ok := vendorNamed(o.Vendor)
	if !ok {
		return nil, fmt.Errorf("scripted server: unknown vendor %q", o.Vendor)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("scripted server: %w", err)
	}
	s := &Server{
		clock: o.Clock, opts: o, vendor: v, changed: make(chan struct{}), ended: make(chan struct{}),
		url: "http://" + ln.Addr().String(),
	}
	if s.clock == nil {
		s.clock = System{}
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:     http.HandlerFunc(s.serve),
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return s.ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   s.connState,
	}
	serve := s.http.Serve
	if o.TLS {
		cert, pool, err := certificate()
		if err != nil {
			_ = ln.Close()
			return nil, fmt.Errorf("scripted server: %w", err)
		}
		s.roots, s.url = pool, "https://"+ln.Addr().String()
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	go func() {
		defer close(s.ended)
		_ = serve(ln) // ErrServerClosed
	}()
	return s, nil
}

type connKey struct{}

func (s *Server) connState(_ net.Conn, st http.ConnState) {
	switch st {
	case http.StateNew:
		s.update(func() { s.conns++ })
	case http.StateClosed, http.StateHijacked:
		s.update(func() { s.conns-- })
	}
}

// update changes the guarded state and wakes everyone who waits for it.
func (s *Server) update(f func()) {
	s.mu.Lock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// until blocks until ok, asked under the lock, says yes.
func (s *Server) until(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		done, next := ok(), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends every reply and connection, and returns when no goroutine of the server is left.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close() // closing listeners and connections; nothing to do about an error
	<-s.ended
	_ = s.until(context.Background(), func() bool { return s.active == 0 && s.conns == 0 })
}

// URL is the root, without a slash at the end and without /v1. Model and discovery paths are accepted with /v1 or without.
func (s *Server) URL() string { return s.url }

// RootCAs trusts the server's certificate; nil without TLS.
func (s *Server) RootCAs() *x509.CertPool { return s.roots }

// BrokenURL is a base URL that cannot work: "refused" (nobody listens), "dns" (no such host) or "tls" (https to a port that
// does not speak it).
func (s *Server) BrokenURL(how string) (string, error) {
	switch how {
	case "dns":
		return "http://nowhere.invalid", nil
	case "tls":
		return "https" + s.url[len("http"):], nil
	case "refused":
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		defer func() { _ = ln.Close() }()
		return "http://" + ln.Addr().String(), nil
	}
	return "", fmt.Errorf("broken URL %q: use refused, dns or tls", how)
}

// Handle answers model requests with h from now on.
func (s *Server) Handle(h Handler) {
	s.update(func() {
		s.handler = h
		if s.scene != nil {
			s.scene = &scene{routes: s.scene.routes}
		}
	})
}

// On scripts a request that is not a model call, such as GET /v1/models. Later calls with the same method and path
// answer later visits.
func (s *Server) On(method, path string, steps ...Step) error {
	p, err := compile(OpenAIChat, steps)
	if err != nil {
		return fmt.Errorf("on %s %s: %w", method, path, err)
	}
	s.update(func() {
		if s.scene == nil {
			s.scene = &scene{}
		}
		s.scene.routes = append(s.scene.routes, routeProgram{method: method, path: path, program: p})
	})
	return nil
}

// Play puts a scenario on: its script, routes, vendor, window and key. The request log starts anew.
func (s *Server) Play(sc Scenario) error {
	sn, err := stage(sc)
	if err != nil {
		return err
	}
	v, ok := vendorNamed(sc.Vendor)
	if !ok {
		return fmt.Errorf("scenario %s: unknown vendor %q", sc.ID, sc.Vendor)
	}
	s.update(func() {
		s.scene, s.handler, s.vendor = sn, nil, v
		s.opts.Vendor, s.opts.Window, s.opts.Key, s.opts.Lenient = sc.Vendor, sc.Window, sc.Key, sc.Lenient
		s.requests, s.visits, s.violations, s.memory = nil, nil, nil, memory{}
		s.arrived, s.played, s.over = 0, 0, 0
	})
	return nil
}

// Requests is the log of model requests, in order of arrival. Bodies and headers are shared: do not change them.
func (s *Server) Requests() []Request { return s.copies(&s.requests) }

// Visits is the log of all other requests.
func (s *Server) Visits() []Request { return s.copies(&s.visits) }

func (s *Server) copies(from *[]*Request) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Request, len(*from))
	for i, r := range *from {
		out[i] = *r
	}
	return out
}

// Violations is everything so far that the vendor or the script did not accept.
func (s *Server) Violations() []Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// AllowRewrite forgets the prompt prefixes: the next request may differ (a compaction, a model switch).
func (s *Server) AllowRewrite() { s.update(func() { s.memory.threads = nil }) }

// Await returns when n model requests have arrived.
func (s *Server) Await(ctx context.Context, n int) error {
	return s.until(ctx, func() bool { return s.arrived >= n })
}

// AwaitEnd returns when n model requests have been answered, cut or cancelled.
func (s *Server) AwaitEnd(ctx context.Context, n int) error {
	return s.until(ctx, func() bool { return s.over >= n })
}
