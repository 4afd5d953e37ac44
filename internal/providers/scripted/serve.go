package scripted

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
)

// A scene is a scenario made ready to play.
type scene struct {
	blocks []blockProgram
	routes []routeProgram
}

type blockProgram struct {
	n       int
	when    string
	checks  []Check
	program *program
}

type routeProgram struct {
	method, path string
	program      *program
	visits       int
}

func stage(sc Scenario) (*scene, error) {
	sn := &scene{}
	for _, b := range sc.Script {
		p, err := compile(sc.Kind, b.Steps)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: scenario %s: %w", sc.File, b.Line, sc.ID, err)
		}
		sn.blocks = append(sn.blocks, blockProgram{n: b.N, when: b.When, checks: b.Checks, program: p})
	}
	for _, r := range sc.Routes {
		p, err := compile(sc.Kind, r.Steps)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: scenario %s: %w", sc.File, r.Line, sc.ID, err)
		}
		sn.routes = append(sn.routes, routeProgram{method: r.Method, path: r.Path, program: p})
	}
	return sn, nil
}

// block chooses the reply to the n-th request: its own number, else the first text that matches, else `*`.
func (sn *scene) block(n int, body string) *blockProgram {
	var matched, other *blockProgram
	for i := range sn.blocks {
		b := &sn.blocks[i]
		switch {
		case b.n == n:
			return b
		case b.n == 0 && b.when == "" && other == nil:
			other = b
		case b.when != "" && matched == nil && strings.Contains(body, b.when):
			matched = b
		}
	}
	if matched != nil {
		return matched
	}
	return other
}

// route chooses the reply to a request that is no model call. A path stands for itself with and without /v1.
func (sn *scene) route(method, path string) *program {
	bare := strings.TrimPrefix(path, "/v1")
	var last *routeProgram
	for i := range sn.routes {
		r := &sn.routes[i]
		if r.method != method || (r.path != path && strings.TrimPrefix(r.path, "/v1") != bare) {
			continue
		}
		last = r
		if r.visits == 0 {
			break
		}
	}
	if last == nil {
		return nil
	}
	last.visits++
	return last.program
}

// kindOf tells which API kind a model call speaks; "" is any other request.
func kindOf(r *http.Request) Kind {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return OpenAIChat
	}
	return ""
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.update(func() { s.active++ })
	req := &Request{
		Kind: kindOf(r), Method: r.Method, Path: r.URL.RequestURI(), Host: r.Host, Header: r.Header,
		At: s.clock.Now(), ctx: r.Context(),
	}
	end := opDirty
	defer func() {
		s.update(func() {
			s.active--
			req.Ended = s.clock.Now()
			req.Cancelled = end == opHang && s.ctx.Err() == nil
			if req.N > 0 {
				s.over++
			}
		})
		if end != opClean {
			panic(http.ErrAbortHandler) // net/http's way to leave a reply unfinished
		}
	}()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went before it had said all
	}
	req.Body = body
	if req.Kind == "" {
		end = s.visit(w, r, req)
		return
	}
	end = s.answer(w, r, req)
}

// visit answers discovery endpoints and the like.
func (s *Server) visit(w http.ResponseWriter, r *http.Request, req *Request) opCode {
	var p *program
	s.update(func() {
		s.visits = keep(append(s.visits, req), s.opts.Keep)
		if s.scene != nil {
			p = s.scene.route(r.Method, r.URL.Path)
		}
	})
	if p == nil {
		p = &program{status: http.StatusNotFound, body: []byte(`{"detail":"Not Found"}`)}
	}
	return s.play(w, r, req, p)
}

// answer judges a model request and plays the reply to it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, req *Request) opCode {
	s.update(func() {
		s.arrived++
		req.N = s.arrived
		s.requests = keep(append(s.requests, req), s.opts.Keep)
	})
	s.mu.Lock()
	no := s.judge(req)
	h, v := s.handler, s.vendor
	s.mu.Unlock()
	if no != nil {
		return s.play(w, r, req, no.program(v))
	}
	p, err := s.choose(h, req)
	if err != nil {
		s.update(func() { s.violate(req, "script", err.Error(), false) })
		p = &program{
			status: http.StatusInternalServerError,
			body:   []byte(`{"error":{"message":` + string(quoteJSON(nil, "scripted: "+err.Error())) + `,"type":"scripted_error"}}`),
		}
	}
	if p.status < 400 {
		s.mu.Lock()
		if s.vendor.replay != replayFree {
			s.memory.learn(p.issued)
		}
		if s.opts.Prefix != PrefixIgnore {
			s.memory.remember(s.threadName(req), req.Body)
		}
		s.mu.Unlock()
	}
	return s.play(w, r, req, p)
}

// judge records violations and returns the refusal that the client gets, if any. The lock is held.
func (s *Server) judge(req *Request) *refusal {
	if !s.opts.Lenient {
		if no := s.vendor.check(req, s.opts, &s.memory); no != nil {
			s.violate(req, no.rule, no.text, true)
			return no
		}
	}
	if s.opts.Prefix == PrefixIgnore {
		return nil
	}
	if why := s.memory.changedKey(req); why != "" {
		s.violate(req, "V12", why, false)
	}
	before, ok := s.memory.threads[s.threadName(req)]
	if !ok {
		return nil
	}
	var why string
	if req.Shared, why = before.share(threadOf(req.Body)); why == "" {
		return nil
	}
	refuse := s.opts.Prefix == PrefixRefuse
	s.violate(req, "V12", why, refuse)
	if !refuse {
		return nil
	}
	return &refusal{rule: "V12", text: why}
}

func (s *Server) threadName(req *Request) string {
	if s.opts.Thread != nil {
		return s.opts.Thread(*req)
	}
	return req.Model() + "\x00" + req.Get("prompt_cache_key").Str
}

func (s *Server) violate(req *Request, rule, text string, refused bool) {
	s.violations = append(s.violations, Violation{Request: req.N, Rule: rule, Text: text, Refused: refused})
}

// choose finds the program for a request that was not refused.
func (s *Server) choose(h Handler, req *Request) (*program, error) {
	if h != nil {
		rep, err := call(h, *req)
		if err != nil {
			return nil, err
		}
		if rep.ready != nil {
			return rep.ready, nil
		}
		return compile(req.Kind, rep.Steps)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played++
	if s.scene == nil || len(s.scene.blocks) == 0 {
		return nil, fmt.Errorf("no script and no handler: call Play or Handle")
	}
	b := s.scene.block(s.played, string(req.Body))
	if b == nil {
		return nil, fmt.Errorf("the script has no reply to request %d", s.played)
	}
	for _, c := range b.checks {
		if why := s.meets(c, req); why != "" {
			s.violate(req, "script", why, false)
		}
	}
	return b.program, nil
}

// call asks the handler; its panic becomes an error that the log shows, since net/http would swallow it.
func call(h Handler, req Request) (rep Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return h(req), nil
}

// meets says why a request fails an assertion; "" if it holds. The lock is held.
func (s *Server) meets(c Check, req *Request) string {
	at := func(format string, a ...any) string {
		return fmt.Sprintf("line %d: ", c.Line) + fmt.Sprintf(format, a...)
	}
	got := req.Get(c.Path)
	switch c.Verb {
	case "is":
		if !sameJSON(got.Raw, c.Value) {
			return at("%s is %s, not %s", c.Path, orNothing(got.Raw), c.Value)
		}
	case "absent":
		if got.Exists() {
			return at("%s is %s, not absent", c.Path, clip(got.Raw))
		}
	case "present":
		if !got.Exists() {
			return at("%s is absent", c.Path)
		}
	case "header":
		if v := req.Header.Get(c.Path); v != c.Value {
			return at("header %s differs from the script", c.Path) // no value: it may be a key
		}
	case "has", "lacks":
		if strings.Contains(string(req.Body), c.Value) != (c.Verb == "has") {
			return at("the body must have %q: %v", c.Value, c.Verb == "has")
		}
	case "same", "appends":
		i := len(s.requests) - 2
		for i >= 0 && s.requests[i].N >= req.N {
			i--
		}
		if i < 0 {
			return at("there is no request before")
		}
		if c.Verb == "same" && string(s.requests[i].Body) != string(req.Body) {
			return at("the body differs from the request before")
		}
		if _, why := threadOf(s.requests[i].Body).share(threadOf(req.Body)); c.Verb == "appends" && why != "" {
			return at("%s", why)
		}
	}
	return ""
}

func orNothing(raw string) string {
	if raw == "" {
		return "absent"
	}
	return clip(raw)
}

// sameJSON compares two JSON texts by value: spelling of strings and numbers and the order of keys do not matter.
func sameJSON(a, b string) bool {
	x, y := gjson.Parse(a), gjson.Parse(b)
	if x.Type != y.Type || a == "" || b == "" {
		return false
	}
	switch {
	case x.IsObject():
		mx, my := x.Map(), y.Map()
		if len(mx) != len(my) {
			return false
		}
		for k, v := range mx {
			if !sameJSON(v.Raw, my[k].Raw) {
				return false
			}
		}
		return true
	case x.IsArray():
		ax, ay := x.Array(), y.Array()
		if len(ax) != len(ay) {
			return false
		}
		for i := range ax {
			if !sameJSON(ax[i].Raw, ay[i].Raw) {
				return false
			}
		}
		return true
	}
	return x.String() == y.String()
}

func keep(list []*Request, n int) []*Request {
	if n > 0 && len(list) > n {
		return append([]*Request(nil), list[len(list)-n:]...)
	}
	return list
}
