package harness

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"varve/internal/harness/drive"
	"varve/internal/harness/tools"
	"varve/internal/providers"
	"varve/internal/session"
)

// A Target is a model that can be asked now: how it is spoken to, where, and
// how large it is. It is made just before I/O (PRV-7), and wherever its window is
// asked for: it costs nothing, since its key is had with the request alone.
type Target struct {
	Adapter     providers.Adapter
	Endpoint    providers.Endpoint // without its key, where Key is set
	Window      session.Capacity   // source "none" where nobody knows
	OutputLimit int                // sent only if a person set it
	Native      bool               // its kind has a compaction operation of its own, and the model is known to support it (PRV-9)

	// Key puts key and headers into an endpoint, nil where it needs none. It may run a
	// command of the user's: once for each request that is sent, in the request's job.
	Key func(ctx context.Context, to *providers.Endpoint) error
}

// Ready is the endpoint with its key.
func (t Target) Ready(ctx context.Context) (providers.Endpoint, error) {
	to := t.Endpoint
	if t.Key == nil {
		return to, nil
	}
	err := t.Key(ctx, &to)
	return to, err
}

// locked is what comes of a request whose target has no key.
func locked(ctx context.Context, err error) drive.Result {
	if ctx.Err() != nil {
		return drive.Result{Reply: &drive.Reply{Class: string(providers.Cancelled)}}
	}
	return unsent("settings", err)
}

// unsent is what comes of a request that was not sent.
func unsent(kind string, err error) drive.Result {
	return drive.Result{Reply: &drive.Reply{Class: "error", Error: &session.ProviderError{Kind: kind}, Message: []byte(err.Error())}}
}

// A Resolve finds the target of a model. Its error is one line that says what
// to do.
type Resolve func(ctx context.Context, m session.Model) (Target, error)

// A Speaker makes requests and sends them. It keeps one encoder, and the last
// body that it made.
type Speaker struct {
	sess    *Session
	resolve Resolve
	pulses  *Pulses
	clock   Clock
	key     string // of the prompt cache

	mu      sync.Mutex
	api     string
	encoder providers.Encoder
	view    session.View // that it encoded last
	joiner  providers.Joiner
	body    []byte // the newest one made
	sha     string
	briefs  map[string][]byte // requests to summarizers that are not sent yet, by hash
	// summarizers is the configured list of now (SUM-1); nil where nobody says.
	summarizers func() []session.Model
	sent        session.Seq // the request that it was recorded as, 0 while unknown
}

// encode makes the next request's bytes, and how to make them again.
func (sp *Speaker) encode(ctx context.Context, s session.State, j drive.Job) drive.Result {
	target, err := sp.resolve(ctx, s.Branch.Model)
	if err != nil {
		return problem("settings", "model", err)
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if sp.encoder == nil || sp.api != target.Adapter.API() {
		sp.encoder, sp.api = target.Adapter.NewEncoder(), target.Adapter.API()
	}
	limit := sp.limit(s, target)
	if j.Bare {
		limit = 0
	}
	ask := providers.Ask{
		Model: s.Branch.Model, Reasoning: s.Branch.Reason, OutputLimit: limit, CacheKey: sp.key,
		Tools: append([]session.Tools{s.Branch.Tools}, s.Branch.Tools.More...),
		View:  s.Branch.View.All, Since: sp.since(s.Branch.View), Quirks: quirksOf(s, target.Endpoint.BaseURL), Profile: target.Endpoint.Profile,
	}
	enc := sp.encoder
	sp.encoder = nil // one that panics is not trusted again (REL-7)
	blocks, err := enc.Encode(ask, sp.sess.Load)
	sp.encoder, sp.view = enc, s.Branch.View
	if err != nil {
		return problem("content", "encode", err)
	}
	before := sp.before(s.Branch.Sent)
	body := sp.joiner.Join(blocks, before, s.Branch.Sent.Seq)
	sp.body, sp.sha, sp.sent = body.Bytes, body.SHA256, 0
	return drive.Result{Request: &drive.Encoded{
		Model: s.Branch.Model, Endpoint: target.Endpoint.BaseURL, Capacity: capacity(s, target, limit), OutputLimit: limit,
		SHA256: body.SHA256, Size: int64(len(body.Bytes)), Shared: body.Shared,
		// One that can't be rebuilt any more says nothing of a break but what is known.
		Whole:  body.Whole && (before != nil || s.Branch.Sent.Cut == nil),
		Recipe: body.Recipe, Literals: body.Literals,
	}}
}

// since lets the encoder read of a view that has only grown what is new in it.
func (sp *Speaker) since(v session.View) func(session.ItemID) iter.Seq[session.Item] {
	if !v.Grew(sp.view) {
		return nil
	}
	return v.From
}

// before is the body of the last recorded request: the one in memory, or the
// one that the log gives. A body that can't be rebuilt is no reason to stop:
// the next request is then recorded whole.
func (sp *Speaker) before(sent session.Sent) []byte {
	if sent.Seq == 0 {
		return nil
	}
	if sp.body != nil {
		if e, err := sp.sess.Entry(sent.Seq); err == nil {
			if r, ok := e.Event.(session.RequestSent); ok && r.SHA256 == sp.sha {
				sp.sent = sent.Seq
				return sp.body
			}
		}
	}
	body, err := sp.sess.Request(sent.Seq)
	if err != nil {
		return nil
	}
	return body
}

// Request is the body of a recorded request, byte for byte (PFX-3).
func (s *Session) Request(q session.Seq) ([]byte, error) {
	return providers.Rebuild(q, s.sentAt, s.Load)
}

func (s *Session) sentAt(q session.Seq) (session.RequestSent, [][]byte, error) {
	e, err := s.Entry(q)
	if err != nil {
		return session.RequestSent{}, nil, err
	}
	r, ok := e.Event.(session.RequestSent)
	if !ok {
		return r, nil, fmt.Errorf("event %d is %s, not a request", q, e.Type)
	}
	parts, err := e.Parts()
	if err != nil {
		return r, nil, err
	}
	lits := make([][]byte, len(parts))
	for i, p := range parts {
		if lits[i], err = s.Bytes(p); err != nil {
			return r, nil, err
		}
	}
	if r.Spilled != nil && r.Spilled.B < len(lits) {
		r.Recipe, err = r.Steps(lits[r.Spilled.B])
	}
	return r, lits, err
}

func problem(kind, hint string, err error) drive.Result {
	return drive.Result{
		Facts: []session.Fact{{
			Event: session.FaultRecorded{Where: hint, Kind: kind},
			Body:  []session.Part{{Bytes: []byte(err.Error())}},
		}},
		Request: &drive.Encoded{Problem: &session.TurnError{Kind: kind, Hint: hint}},
	}
}

func quirksOf(s session.State, endpoint string) []session.EndpointLearned {
	var out []session.EndpointLearned
	for _, q := range s.Session.Quirks {
		if q.Endpoint == endpoint && (q.Model == "" || q.Model == s.Branch.Model.Model) {
			out = append(out, q)
		}
	}
	return out
}

// capacity is what the model accepts less what the answer is promised, and
// who says so (CMP-1).
func capacity(s session.State, t Target, limit int) session.Capacity {
	if n := s.Session.Settings.InputLimit; n != nil {
		return session.Capacity{N: *n, Source: "setting"}
	}
	c := t.Window
	for _, w := range s.Session.Windows {
		if w.Endpoint == t.Endpoint.BaseURL && w.Model == s.Branch.Model && w.Role == "agent" && (c.N == 0 || w.Limit < c.N) {
			c = session.Capacity{N: w.Limit, Source: "learned"}
		}
	}
	if c.N == 0 {
		return session.Capacity{Source: "none"}
	}
	c.N = max(c.N-limit, 0)
	return c
}

// send makes one attempt, and turns what came of it into facts.
func (sp *Speaker) send(ctx context.Context, s session.State, j drive.Job) drive.Result {
	target, err := sp.resolve(ctx, s.Branch.Model)
	if err != nil {
		return unsent("settings", err)
	}
	body, err := sp.bodyOf(j.Request)
	if err != nil {
		return unsent("internal", err)
	}
	sink := sink{sp.pulses, sp.clock, j.ID}
	sp.pulses.put(Pulse{Job: j.ID, Kind: "waiting", Began: sp.clock.Now()})
	to, err := target.Ready(ctx)
	if err != nil {
		return locked(ctx, err)
	}
	r := target.Adapter.Send(ctx, to, body, sink)
	return factsOf(r, s, target, sp.clock.Now())
}

func (sp *Speaker) bodyOf(q session.Seq) ([]byte, error) {
	e, err := sp.sess.Entry(q)
	if err != nil {
		return nil, err
	}
	if r, ok := e.Event.(session.RequestSent); ok {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		if r.SHA256 == sp.sha {
			return sp.body, nil
		}
	}
	return sp.sess.Request(q)
}

type sink struct {
	pulses *Pulses
	clock  Clock
	job    string
}

func (k sink) Delta(kind, name string, text []byte) {
	k.pulses.grow(k.job, kind, name, text, k.clock.Now())
}

func factsOf(r providers.Reply, s session.State, t Target, now time.Time) drive.Result {
	out := drive.Reply{Class: string(r.Class), RawFinish: short(r.RawFinish), Usage: r.Usage, Partial: r.Partial}
	for i, p := range r.Parts {
		part := session.ReplyPart{
			Kind: string(p.Kind), B: i, MediaType: p.MediaType, Encoding: p.Encoding, Tokens: session.Estimate(len(p.Bytes)),
		}
		if p.Kind == session.CallItem {
			part.Call = &session.CallName{ID: short(p.CallID), Name: short(p.Name), Beside: tools.ReadOnly(p.Name)}
		}
		out.Parts = append(out.Parts, part)
		out.Body = append(out.Body, session.Part{Bytes: p.Bytes, MediaType: p.MediaType, Encoding: p.Encoding})
	}
	if e := r.Err; e != nil {
		out.Error = &session.ProviderError{
			Kind: string(e.Kind), Sub: e.Sub, Status: e.Status, Limit: e.Limit, Used: e.Used, Retry: e.Retry,
		}
		if e.Told {
			out.Error.NotBefore = now.Add(e.After).UTC().Format(time.RFC3339Nano)
		}
		out.Message = []byte(e.Message)
	}
	var facts []session.Fact
	for _, q := range r.Learned {
		q.Endpoint, q.Model = t.Endpoint.BaseURL, s.Branch.Model.Model
		facts = append(facts, session.Fact{Event: q})
	}
	if w := r.Window; w != nil {
		facts = append(facts, session.Fact{Event: session.WindowLearned{
			Model: s.Branch.Model, Endpoint: t.Endpoint.BaseURL, Role: "agent", Limit: w.Limit, Kind: w.Kind, Source: w.Source,
		}})
	}
	return drive.Result{Facts: facts, Reply: &out}
}

// short keeps a foreign name inside a line's facts.
func short(s string) string {
	if len(s) > 512 {
		s = s[:512]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
