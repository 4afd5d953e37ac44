package harness

import (
	"context"
	"strings"

	"varve/internal/compact"
	"varve/internal/session"
	"varve/internal/words"
)

// mostPoints is how many checkpoints a report names.
const mostPoints = 5

// Report says what fills the window of a branch, and what becomes of it
// (CMP-15). summarizers is the configured list of now.
func (s *Session) Report(ctx context.Context, st session.State, resolve Resolve, summarizers []session.Model) compact.Report {
	sp := &Speaker{resolve: resolve}
	own := len(summarizers) == 0
	if own {
		summarizers = []session.Model{st.Branch.Model}
	}
	var askers []compact.Asker
	for _, m := range summarizers {
		a := compact.Asker{Model: m, Window: session.Capacity{Source: "none"}}
		if target, err := resolve(ctx, m); err != nil {
			a.Problem = err.Error()
		} else {
			a.Window = sp.window(st, m, target, own)
		}
		askers = append(askers, a)
	}
	r := compact.ReportOf(st, sp.room(ctx, st), askers, own)
	if r.Capacity.Source == "" {
		r.Capacity.Source = "none"
	}
	for i := range r.Largest {
		r.Largest[i].What = s.about(r.Largest[i])
	}
	at := st.Branch.Checkpoint.At
	for len(r.Checkpoints) < mostPoints && at != 0 {
		e, err := s.Entry(at)
		if err != nil {
			break // verify says what is missing
		}
		ev, ok := e.Event.(session.CheckpointCommitted)
		if !ok {
			break
		}
		r.Checkpoints = append(r.Checkpoints, compact.Point{At: at, Ranges: ev.Ranges, Before: ev.Before, After: ev.After, Stale: ev.Stale})
		at = ev.Replaces.Seq
	}
	return r
}

// about is what a large item is about: what its call asked for, or how it begins.
func (s *Session) about(l compact.Large) string {
	id := l.Item
	if !l.Call.IsZero() {
		id = l.Call
	}
	it, ok := s.Item(id)
	if !ok {
		return ""
	}
	text, err := s.Text(it)
	if err != nil {
		return "" // verify says what is missing
	}
	if it.Kind == session.CallItem {
		return words.Gist(it.Name, string(text))
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}
