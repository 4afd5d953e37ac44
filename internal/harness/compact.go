package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"varve/internal/compact"
	"varve/internal/harness/drive"
	"varve/internal/session"
)

// What a compaction asks of this machine: which models may be asked and how
// much they hold, which files have changed since they were read, and the
// texts. What is covered and whether it counts is decided in compact.

// prepare sees what a compaction would cover, and who may be asked (CMP-13).
func (h *Hands) prepare(ctx context.Context, s session.State) drive.Result {
	asked := s.Branch.Asked
	if asked == nil {
		return drive.Result{}
	}
	b := compact.BudgetOf(s.Session.Settings, h.speaker.room(ctx, s))
	reach, reason, chain := compact.Older, "trigger", s.Session.Settings.Summarizers
	switch asked.By {
	case "user":
		reach, reason = compact.Responded, "manual"
		if h.speaker.summarizers != nil {
			chain = h.speaker.summarizers() // SUM-7: the list of now
		}
	case "overflow":
		reason = "overflow"
		if t := s.Branch.Turn; t != nil && t.Recovered > 0 {
			reach = compact.Responded
		}
	}
	cut, ok := compact.Plan(s, b, reach)
	if !ok && asked.By == "overflow" {
		cut, ok = compact.Plan(s, b, compact.Responded)
	}
	if !ok || cut.Covers <= compact.Lean() {
		return drive.Result{Prepared: &drive.Prepared{Failed: "nothing", Detail: nothing(s, b)}}
	}
	focus := ""
	if asked.Focus != nil {
		text, err := h.sess.Load(asked.At, asked.Focus.B)
		if err != nil {
			return drive.Result{Fault: &drive.Fault{Where: "prepare", Kind: "content", Text: []byte(err.Error())}}
		}
		focus = string(text)
	}
	p := &drive.Prepared{Prompt: []byte(compact.Prompt(focus, s.Session.Settings.Compaction.Target))}
	p.Started = session.CompactionStarted{
		Reason: reason, Mode: compact.Mode(s.Session.Settings), Route: compact.OneShot, BaseRevision: s.Branch.Head, Capacity: b.Capacity,
		Trigger: b.Trigger, Tail: b.Tail, Chain: slices.Clone(chain), Prompt: session.Text{B: 0},
	}
	if t := s.Branch.Turn; t != nil {
		p.Started.Turn = t.ID
	}
	if len(chain) == 0 {
		p.Started.Own, p.Started.Chain = true, []session.Model{s.Branch.Model}
		if target, err := h.speaker.resolve(ctx, s.Branch.Model); err == nil {
			p.Started.Route = compact.Route(true, target.Native, s.Branch.View.Masked(cut.Ranges))
		}
	}
	if compact.Opaque(s.Branch.View) && (!p.Started.Own || s.Branch.View.Masked(cut.Ranges)) {
		return drive.Result{Prepared: &drive.Prepared{Failed: "opaque"}}
	}
	if g := s.Branch.Staging; g != nil {
		why := compact.Voids(g, s.Branch.View, cut)
		if why == "" && focus != "" && compact.Stuck(*g) != "" {
			why = "focus" // another wish: it is made anew (MR-11)
		}
		if why == "" && len(g.Maps) == 0 && compact.Switched(*g, p.Started.Chain) {
			why = "nothing_accepted" // parts that another model's window asked for
		}
		if why == "" {
			narrow := compact.Narrow(s, cut, g)
			switch {
			case b.Trigger > 0 && s.Scaled(narrow.Kept) >= b.Trigger:
				why = "source_grown"
			default:
				cut, p.Started.Route, p.Started.Staging = narrow, compact.MapReduce, g.At
				if stuck := compact.Stuck(*g); stuck != "" {
					if !compact.Switched(*g, p.Started.Chain) {
						return drive.Result{Prepared: &drive.Prepared{Failed: "stuck", Detail: []byte(
							"the budget of " + stuck + " is spent with " + g.Model.String() + ": choose another summarization model, or say what to keep: /compact and words begins anew, without what was accepted")}}
					}
					p.Renews = &session.StagingRenewed{Staging: g.At, Model: p.Started.Chain[0], Budgets: []string{stuck}}
					if target, err := h.speaker.resolve(ctx, p.Started.Chain[0]); err == nil {
						window := h.speaker.window(s, p.Started.Chain[0], target, p.Started.Own)
						p.Renews.Window = &window
					}
				}
			}
		}
		if why != "" {
			p.Voids, p.Why = g.At, why
		}
	}
	p.Started.Ranges, p.Started.Source, p.Started.Replaces = cut.Ranges, cut.Source, cut.Replaces
	p.Started.Covers = session.Tokens{N: cut.Covers, By: "est"}
	return drive.Result{Prepared: p}
}

// nothing says what fills a window in which nothing can be covered (CMP-11).
func nothing(s session.State, b compact.Budget) []byte {
	fixed := s.Branch.Tools.Tokens.N
	for it := range s.Branch.View.All {
		if it.Kind == session.InstructionItem {
			fixed += it.Tokens.N
		}
	}
	rest := s.Branch.Occupied() - fixed
	limit := "a window that is not known"
	if b.Capacity.N > 0 {
		limit = fmt.Sprintf("%d tokens", b.Capacity.N)
	}
	return fmt.Appendf(nil, "tools and instructions take about %d tokens, what waits for its answer about %d, of %s: "+
		"shorten the message, disable tools or instructions, or choose a model with a larger window", s.Scaled(fixed), s.Scaled(rest), limit)
}

// pack writes segments down: those of a new staging, or smaller ones.
func (h *Hands) pack(ctx context.Context, s session.State) drive.Result {
	c, g := s.Branch.Compaction, s.Branch.Staging
	if c == nil {
		return drive.Result{}
	}
	m := c.Started.Chain[max(c.Entry, 0)]
	target, err := h.speaker.resolve(ctx, m)
	if err != nil {
		return drive.Result{Packed: &drive.Packed{Failed: "internal", Detail: []byte(err.Error())}}
	}
	return drive.Result{Packed: h.packed(s, c, g, h.speaker.window(s, m, target, c.Started.Own))}
}

func (h *Hands) packed(s session.State, c *session.Compacting, g *session.Staging, window session.Capacity) *drive.Packed {
	view := s.Branch.View
	ratio := s.Ratio(c.Started.Chain[max(c.Entry, 0)])
	target := compact.Payload(compact.Sizing(window.N), "map") * 1000 / max(ratio, 1)
	if g == nil || g.Legacy || c.Route != compact.MapReduce {
		if compact.Opaque(view) {
			return &drive.Packed{Failed: "opaque"}
		}
		items := compact.SourceOf(view, c.Started)
		segments := compact.Segments(view, compact.Pack(items, target), 0)
		created := session.StagingCreated{
			Version: compact.Version, Compaction: c.At, Ranges: c.Started.Ranges, Source: c.Started.Source, N: len(segments),
			Segments: session.Text{B: 0, MediaType: "application/json"}, Target: target, Window: window,
		}
		return &drive.Packed{Created: &created, Segments: marshal(segments)}
	}
	all, err := h.segments(g)
	if err != nil {
		return &drive.Packed{Failed: "internal", Detail: []byte(err.Error())}
	}
	var groups [][]session.Item
	var dropped []int
	refused := compact.Refused(*c, *g)
	for _, seg := range all { // what is being mapped is left alone
		if items := compact.SegmentItems(view, seg); len(items) == 1 && slices.Contains(refused, seg.Ordinal) {
			return &drive.Packed{Failed: "item_too_large", Detail: largest([][]session.Item{items})} // not the same singleton again (MR-3)
		}
		asked := slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Unit == compact.Unit{Stage: "map", Ordinal: seg.Ordinal}.Name() })
		if slices.Contains(g.Missing, seg.Ordinal) && !asked {
			groups, dropped = append(groups, compact.SegmentItems(view, seg)), append(dropped, seg.Ordinal)
		}
	}
	target = min(target, g.Target/2)
	parts, ok := compact.Repack(groups, target)
	if !ok {
		return &drive.Packed{Failed: "item_too_large", Detail: largest(groups)}
	}
	ev := session.StagingRepartitioned{
		Staging: g.At, Round: g.Round + 1, Dropped: dropped, N: len(parts), Segments: session.Text{B: 0, MediaType: "application/json"}, Target: target,
	}
	if window.N > 0 && window != g.Window {
		ev.Window = &window
	}
	return &drive.Packed{Parted: &ev, Segments: marshal(compact.Segments(view, parts, g.Next))}
}

// largest names the item that fits nowhere (MR-3).
func largest(groups [][]session.Item) []byte {
	var most session.Item
	for _, g := range groups {
		for _, it := range g {
			if it.Tokens.N > most.Tokens.N {
				most = it
			}
		}
	}
	return fmt.Appendf(nil, "item %s has about %d tokens, and can't be divided: choose a summarization model with a larger window", most.ID, most.Tokens.N)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("harness: internal error: " + err.Error())
	}
	return b
}

// segments are all that a staging was ever divided into.
func (h *Hands) segments(g *session.Staging) ([]session.Segment, error) {
	var out []session.Segment
	for _, l := range g.Segments {
		b, err := h.sess.Load(l.At, l.B)
		if err != nil {
			return nil, err
		}
		var list []session.Segment
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, fmt.Errorf("segments of event %d: %w", l.At, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

func (h *Hands) segment(g *session.Staging, ordinal int) (session.Segment, error) {
	all, err := h.segments(g)
	if err != nil {
		return session.Segment{}, err
	}
	for _, s := range all {
		if s.Ordinal == ordinal {
			return s, nil
		}
	}
	return session.Segment{}, fmt.Errorf("there is no segment %d", ordinal)
}

// commit loads the handoff that has passed, and adds what the application
// knows.
func (h *Hands) commit(ctx context.Context, s session.State) drive.Result {
	g := s.Branch.Staging
	text, err := h.sess.Load(g.Candidate, 0)
	if err != nil {
		return drive.Result{Fault: &drive.Fault{Where: "commit", Kind: "content", Text: []byte(err.Error())}}
	}
	return drive.Result{Summary: &drive.Summary{Handoff: h.handoff(ctx, s, text)}}
}

// handoff is a text as it would be installed (CMP-6, CMP-7).
func (h *Hands) handoff(ctx context.Context, s session.State, text []byte) *drive.Handoff {
	c := s.Branch.Compaction
	defined := h.defined(s)
	notes := compact.Notes{
		Ranges: c.Started.Ranges, Read: defined["read"], Asked: compact.Severed(s.Branch.View, c.Started.Ranges), Begun: compact.Begun(s.Branch.View, c.Started.Ranges), Left: compact.Omitted(text),
		Stale: h.stale(ctx), Gone: gone(s, c.Started, defined),
	}
	b := compact.Annotate(compact.Fill(text), notes)
	return &drive.Handoff{Text: b, Tokens: session.Estimate(len(b)), Stale: notes.Stale, Gone: notes.Gone}
}

// mostLooked bounds how many files are hashed for a handoff.
const mostLooked = 500

// stale are observed files that are not as they were, by the disk (CMP-6).
func (h *Hands) stale(ctx context.Context) []string {
	out := []string{}
	for i, o := range h.sess.Observed() {
		if i == mostLooked || ctx.Err() != nil {
			break
		}
		if f := h.box.Find(ctx, o.Path); f.Why == "" && f.SHA256 != o.SHA256 {
			name := o.Path
			if rel, ok := strings.CutPrefix(name, h.box.Workspace+"/"); ok {
				name = rel
			}
			out = append(out, name)
		}
	}
	return out
}

// defined are the names of the tools that the model has.
func (h *Hands) defined(s session.State) map[string]bool {
	out := map[string]bool{}
	for _, t := range append([]session.Tools{s.Branch.Tools}, s.Branch.Tools.More...) {
		var names []string
		if b, err := h.sess.Load(t.At, 0); err == nil && json.Unmarshal(b, &names) == nil {
			for _, n := range names {
				out[n] = true
			}
		}
	}
	return out
}

// gone are tools that the source called and that are not defined any more.
func gone(s session.State, started session.CompactionStarted, defined map[string]bool) []string {
	out := []string{}
	if len(defined) == 0 {
		return out
	}
	for _, it := range compact.SourceOf(s.Branch.View, started) {
		if it.Kind == session.CallItem && it.Name != "" && !defined[it.Name] && !slices.Contains(out, it.Name) {
			out = append(out, it.Name)
		}
	}
	return out
}
