package harness

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"varve/internal/compact"
	"varve/internal/harness/drive"
	"varve/internal/providers"
	"varve/internal/session"
)

// room is what the agent's next request may hold (CMP-1).
func (sp *Speaker) room(ctx context.Context, s session.State) session.Capacity {
	target, err := sp.resolve(ctx, s.Branch.Model)
	if err != nil {
		return s.Branch.Sent.Room
	}
	return capacity(s, target, sp.limit(s, target))
}

func (sp *Speaker) limit(s session.State, t Target) int {
	if n := s.Session.Settings.OutputLimit; n != nil {
		return *n
	}
	return t.OutputLimit
}

// window is what a summarizer's request may hold: what it said itself, never
// what the agent's budget is (SUM-9).
func (sp *Speaker) window(s session.State, m session.Model, t Target, own bool) session.Capacity {
	c := t.Window
	for _, w := range s.Session.Windows {
		mine := w.Role == "summarizer" || own && w.Role == "agent"
		if w.Endpoint == t.Endpoint.BaseURL && w.Model == m && mine && (c.N == 0 || w.Limit < c.N) {
			c = session.Capacity{N: w.Limit, Source: "learned"}
		}
	}
	return c
}

// brief makes the bytes of a request to a summarizer. Where it does not fit
// the window, smaller work is the answer (MR-1, MR-3).
func (h *Hands) brief(ctx context.Context, s session.State, j drive.Job) drive.Result {
	sp, c, g := h.speaker, s.Branch.Compaction, s.Branch.Staging
	m := c.Started.Chain[c.Entry]
	target, err := sp.resolve(ctx, m)
	if err != nil {
		return drive.Result{Request: &drive.Encoded{Problem: &session.TurnError{Kind: "settings", Hint: short(err.Error())}}}
	}
	window := sp.window(s, m, target, c.Started.Own)
	ask, err := h.asks(s, j.Unit, c, g)
	if err != nil {
		return drive.Result{Fault: &drive.Fault{Where: "brief", Kind: "content", Text: []byte(err.Error())}}
	}
	ask.Model, ask.CacheKey = m, sp.key
	ask.Quirks, ask.Profile = quirksFor(s, m, target.Endpoint.BaseURL), target.Endpoint.Profile
	if c.Started.Own {
		ask.Reasoning = s.Branch.Reason
	}
	// FIN-5: no ceiling of ours; MR-6: none for a model that may reason.
	reserve := compact.Reserve(compact.Sizing(window.N))
	if j.Unit.Handoff() {
		ask.OutputLimit = target.OutputLimit
		if c.Started.Own {
			ask.OutputLimit = sp.limit(s, target)
		}
		if n := s.Session.Settings.Compaction.Target; n != nil {
			ask.OutputLimit = *n
		}
		reserve = ask.OutputLimit
	}
	blocks, err := target.Adapter.NewEncoder().Encode(ask, h.sess.Load)
	if err != nil {
		return drive.Result{Fault: &drive.Fault{Where: "brief", Kind: "content", Text: []byte(err.Error())}}
	}
	var before []byte
	from := session.Seq(0)
	if prefixed(j.Unit) && len(ask.Tools) > 0 && s.Branch.Sent.Seq != 0 {
		if before, err = h.sess.Request(s.Branch.Sent.Seq); err == nil {
			from = s.Branch.Sent.Seq
		}
	}
	body := providers.Join(blocks, before, from)
	occupied := session.Estimate(len(body.Bytes))
	occupied.N = occupied.N * s.Ratio(m) / 1000
	if !compact.Fits(occupied.N, reserve, window.N) {
		return h.smaller(s, j.Unit, c, g, window, occupied.N)
	}
	sp.brief(body.SHA256, body.Bytes)
	return drive.Result{Request: &drive.Encoded{
		Model: m, Endpoint: target.Endpoint.BaseURL, Capacity: window, OutputLimit: ask.OutputLimit, Reasoning: ask.Reasoning, Occupancy: occupied,
		SHA256: body.SHA256, Size: int64(len(body.Bytes)), Shared: body.Shared, Recipe: body.Recipe, Literals: body.Literals,
	}}
}

// smaller is what is done instead of a request that would not fit.
func (h *Hands) smaller(s session.State, u compact.Unit, c *session.Compacting, g *session.Staging, window session.Capacity, tokens int) drive.Result {
	switch {
	case prefixed(u):
		return drive.Result{Packed: h.packed(s, c, nil, window)}
	case u.Stage == "map" && g.Round < compact.MaxRounds:
		return drive.Result{Packed: h.packed(s, c, g, window)}
	}
	kind := "too_long"
	if len(u.Reread) > 0 {
		kind = "reread_too_large"
	}
	detail := fmt.Appendf(nil, "%s would take about %d tokens of %d", u.Name(), tokens, compact.Sizing(window.N))
	return drive.Result{Packed: &drive.Packed{Failed: kind, Detail: detail}}
}

// asks is what a unit asks for: with the agent's own prefix where it may have
// it (SUM-10), else as a transcript.
func (h *Hands) asks(s session.State, u compact.Unit, c *session.Compacting, g *session.Staging) (providers.Ask, error) {
	view := s.Branch.View
	src := compact.Source{Prompt: session.Piece{At: c.At, B: c.Started.Prompt.B}}
	if compact.Reminded(*c, u.Name()) {
		src.Remind = []string{"Objective, Work State or Next Action"}
	}
	ask := providers.Ask{View: func(func(session.Item) bool) {}, Compact: u.Stage == compact.Native}
	switch u.Stage {
	case compact.OneShot, compact.Native:
		source := compact.SourceOf(view, c.Started)
		if c.Started.Own && !view.Masked(c.Started.Ranges) {
			ask.Tools = append([]session.Tools{s.Branch.Tools}, s.Branch.Tools.More...)
			ask.View = compact.Prefix(view, source)
		} else {
			src.Items = h.raw(source)
		}
	case "map":
		seg, err := h.segment(g, u.Ordinal)
		if err != nil {
			return ask, err
		}
		src.Items = h.raw(compact.SegmentItems(view, seg))
	default:
		for i, q := range u.Texts {
			src.Texts = append(src.Texts, session.Piece{At: q, B: 0})
			src.Names = append(src.Names, nameOf(u, i))
		}
		if len(u.Reread) > 0 {
			src.Items = h.raw(compact.RawOf(view, u.Reread))
		}
	}
	ask.Prompt = compact.Render(u, src)
	return ask, nil
}

// prefixed reports whether a unit reads the whole source at once.
func prefixed(u compact.Unit) bool { return u.Stage == compact.OneShot || u.Stage == compact.Native }

func nameOf(u compact.Unit, i int) string {
	switch {
	case u.Stage != "reduce" && i == 0:
		return "The handoff"
	case u.Stage == "correct":
		return "Corrections"
	case u.Stage == "audit":
		i--
	}
	return fmt.Sprintf("Notes %d", u.Inputs[i]+1)
}

// raw are items as a summarizer is to read them: masked results in full
// (SUM-10), replaced ones as they were replaced.
func (h *Hands) raw(items []session.Item) []session.Item {
	out := slices.Clone(items)
	for i, it := range out {
		if it.At == it.ID.Seq || it.Kind == session.CheckpointItem {
			continue
		}
		e, err := h.sess.Entry(it.At)
		if err != nil {
			continue
		}
		if _, masked := e.Event.(session.ItemMasked); masked {
			if was, ok := h.sess.Item(it.ID); ok {
				out[i] = was
			}
		}
	}
	return out
}

// ask makes one attempt at a unit, and judges what came of it.
func (h *Hands) ask(ctx context.Context, s session.State, j drive.Job) drive.Result {
	sp := h.speaker
	e, err := h.sess.Entry(j.Request)
	if err != nil {
		return unsent("internal", err)
	}
	sent, ok := e.Event.(session.RequestSent)
	if !ok {
		return unsent("internal", fmt.Errorf("event %d is %s, not a request", j.Request, e.Type))
	}
	target, err := sp.resolve(ctx, sent.Model)
	if err != nil {
		return unsent("settings", err)
	}
	body, ok := sp.briefed(sent.SHA256)
	if !ok {
		if body, err = h.sess.Request(j.Request); err != nil {
			return unsent("internal", err)
		}
	}
	now := sp.clock.Now()
	sp.pulses.put(Pulse{Job: j.ID, Kind: "summary", Name: j.Unit.Name(), Why: sent.Model.String(), Began: now, Last: now})
	var out providers.Sink = quiet{}
	if j.Unit.Handoff() && j.Unit.Stage != compact.Native { // MR-12: the final text is shown as it comes
		out = sink{sp.pulses, sp.clock, j.ID}
	}
	to, err := target.Ready(ctx)
	if err != nil {
		return locked(ctx, err)
	}
	r := target.Adapter.Send(ctx, to, body, out)
	res := factsOf(r, s, target, sp.clock.Now())
	for i, f := range res.Facts { // SUM-9: what a summarizer can't take says nothing of the agent
		switch ev := f.Event.(type) {
		case session.WindowLearned:
			ev.Model, ev.Role = sent.Model, "summarizer"
			res.Facts[i].Event = ev
		case session.EndpointLearned:
			ev.Model = sent.Model.Model
			res.Facts[i].Event = ev
		}
	}
	res.Summary = h.judgeText(ctx, s, j, r)
	res.Reply.Parts, res.Reply.Body, res.Reply.Partial = nil, nil, nil
	return res
}

// judgeText is what a reply comes to: no evidence, or what its text proves.
func (h *Hands) judgeText(ctx context.Context, s session.State, j drive.Job, r providers.Reply) *drive.Summary {
	var text []byte
	var native []providers.Part
	calls := 0
	for _, p := range r.Parts {
		switch p.Kind {
		case session.AssistantItem:
			text = append(text, p.Bytes...)
		case session.NativeItem:
			native = append(native, p)
		case session.CallItem:
			calls++
		}
	}
	if j.Unit.Stage == compact.Native {
		sum := &drive.Summary{Why: compact.FinishedNative(string(r.Class), len(native), calls)}
		if sum.Why == "" {
			sum.Handoff = &drive.Handoff{Text: native[0].Bytes, Encoding: native[0].Encoding, Tokens: session.Estimate(len(native[0].Bytes))}
		}
		return sum
	}
	sum := &drive.Summary{Why: compact.Finished(string(r.Class), calls, text)}
	if sum.Why != "" {
		return sum
	}
	text = bytes.TrimSpace(text)
	sum.Text, sum.Tokens = text, session.Estimate(len(text))
	u := j.Unit
	switch u.Stage {
	case "map":
		if g := s.Branch.Staging; g != nil {
			if seg, err := h.segment(g, u.Ordinal); err == nil && len(seg.Ranges) > 0 {
				sum.First = seg.Ranges[0].From
			}
		}
	case "audit":
		sum.Pass = string(text) == "PASS"
	case "reduce":
		sum.Reread, sum.Asked, sum.Denied = compact.Reread(text, s.Branch.View)
		if sum.Asked && sum.Denied == "" && !h.holds(s, j.Request, sum.Reread) {
			sum.Denied = "reread_too_large"
		}
	}
	if u.Handoff() && !sum.Asked {
		if sum.Missing = compact.Missing(text); len(sum.Missing) == 0 && u.Stage == compact.OneShot {
			sum.Handoff = h.handoff(ctx, s, text)
		}
	}
	return sum
}

// holds reports whether a request has room for raw items too. What has not is
// no reread: another attempt may ask for less (MR-7).
func (h *Hands) holds(s session.State, request session.Seq, want []session.Range) bool {
	e, err := h.sess.Entry(request)
	sent, ok := e.Event.(session.RequestSent)
	if err != nil || !ok {
		return true // it is seen where the request is made
	}
	tokens := 0
	for _, it := range compact.RawOf(s.Branch.View, want) {
		tokens += it.Tokens.N
	}
	return compact.Fits(sent.Occupancy.N+tokens*s.Ratio(sent.Model)/1000, sent.OutputLimit, sent.Capacity.N)
}

// quiet is the sink of what is not shown.
type quiet struct{}

func (quiet) Delta(string, string, []byte) {}

// brief keeps a body until it is sent.
func (sp *Speaker) brief(sha string, body []byte) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if len(sp.briefs) >= 2*compact.MaxMaps { // some were never sent; the log gives them back
		clear(sp.briefs)
	}
	if sp.briefs == nil {
		sp.briefs = map[string][]byte{}
	}
	sp.briefs[sha] = body
}

func (sp *Speaker) briefed(sha string) ([]byte, bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	b, ok := sp.briefs[sha]
	delete(sp.briefs, sha)
	return b, ok
}

func quirksFor(s session.State, m session.Model, endpoint string) []session.EndpointLearned {
	s.Branch.Model = m
	return quirksOf(s, endpoint)
}
