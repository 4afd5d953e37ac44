package harness

import (
	"cmp"
	"fmt"
	"slices"

	"varve/internal/session"
)

// A Use is what one model was asked for, for one purpose.
type Use struct {
	Model   session.Model
	Summary bool // for a compaction, not for the agent

	Requests int // that were answered, or failed
	Failed   int // of them: their tokens count as well, where they were told
	Unknown  int // of them: without a report of tokens

	Sum  session.Usage // of all requests, without a cost
	Told session.Usage // of those whose cost the provider reported, with it
}

// Usage is what a session has used (PRV-10): since the message that began the
// last turn of a branch, on that branch, and in all. A request counts on the
// branch that sent it, also where a fork took over what came of it, or a revert
// left it behind.
type Usage struct{ Turn, Branch, Session []Use }

// Usage adds up what the log says of requests, those that failed and those of
// summarizers included. Only lines of a few types are decoded.
func (s *Session) Usage(branch string) (Usage, error) {
	if err := s.CatchUp(); err != nil {
		return Usage{}, err
	}
	st := s.State(branch).Branch
	began := st.Last.Turn
	if st.Turn != nil {
		began = st.Turn.ID
	}
	s.mu.RLock()
	lines, f := s.lines, s.file
	s.mu.RUnlock()
	var u Usage
	sent := map[session.Seq]Use{} // what asked
	answered := func(e session.Entry, request session.Seq, failed bool, used *session.Usage) {
		r, ok := sent[request]
		if !ok {
			return
		}
		u.Session = CountUse(u.Session, r, failed, used)
		if e.Branch == branch {
			u.Branch = CountUse(u.Branch, r, failed, used)
		}
		if e.Branch == branch && began != 0 && request > began {
			u.Turn = CountUse(u.Turn, r, failed, used)
		}
	}
	for _, l := range lines {
		raw, err := f.Read(l)
		if err != nil {
			return Usage{}, err
		}
		if env, ok := session.Scan(raw); ok && !slices.Contains([]string{"request.sent", "reply.completed", "reply.rejected"}, string(env.Type)) {
			continue
		}
		e, err := session.Decode(raw)
		if err != nil {
			return Usage{}, fmt.Errorf("event %d: %w", l.Seq, err)
		}
		switch ev := e.Event.(type) {
		case session.RequestSent:
			sent[e.Seq] = Use{Model: ev.Model, Summary: ev.Compaction != 0}
		case session.ReplyCompleted:
			answered(e, ev.Request, false, ev.Usage)
		case session.ReplyRejected:
			answered(e, ev.Request, true, ev.Usage)
		}
	}
	return u, nil
}

// CountUse counts one request, with what the provider said of it.
func CountUse(all []Use, by Use, failed bool, used *session.Usage) []Use {
	i := slices.IndexFunc(all, func(x Use) bool { return x.Model == by.Model && x.Summary == by.Summary })
	if i < 0 {
		all, i = append(all, by), len(all)
	}
	x := &all[i]
	x.Requests++
	if failed {
		x.Failed++
	}
	if used == nil {
		x.Unknown++
		return all
	}
	sum(&x.Sum, *used)
	if used.Cost != nil {
		sum(&x.Told, *used)
		cost := *used.Cost
		if x.Told.Cost != nil {
			cost += *x.Told.Cost
		}
		x.Told.Cost = &cost
	}
	return all
}

func sum(to *session.Usage, u session.Usage) {
	to.Input += u.Input
	to.Cached += u.Cached
	to.CacheWrite += u.CacheWrite
	to.Output += u.Output
	to.Reasoning += u.Reasoning
}

// A Price is what a model's tokens cost, in US dollars for a million.
type Price struct{ In, Out, CacheRead, CacheWrite float64 }

// Cost is what was paid for a use, in US dollars: as the provider said, and at a
// price, nil where that is not known, for the rest. ok is false where some of it
// has no price; what was told is returned all the same.
func (x Use) Cost(p *Price) (dollars float64, ok bool) {
	if x.Told.Cost != nil {
		dollars = *x.Told.Cost
	}
	rest := session.Usage{
		Input: x.Sum.Input - x.Told.Input, Cached: x.Sum.Cached - x.Told.Cached,
		CacheWrite: x.Sum.CacheWrite - x.Told.CacheWrite, Output: x.Sum.Output - x.Told.Output,
	}
	if cmp.Or(rest.Input, rest.Cached, rest.CacheWrite, rest.Output) == 0 {
		return dollars, true
	}
	if p == nil {
		return dollars, false
	}
	paid := float64(rest.Input)*p.In + float64(rest.Cached)*p.CacheRead + float64(rest.CacheWrite)*p.CacheWrite + float64(rest.Output)*p.Out
	return dollars + paid/1e6, true
}
