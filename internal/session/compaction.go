package session

import (
	"cmp"
	"slices"
	"time"
)

// Asked is a compaction that was asked for and has not begun.
type Asked struct {
	At    Seq // compaction.requested
	By    string
	Focus *Text
}

// Compacting is a compaction that is under way (CMP-8): what it covers, and how far
// the summarizers have come with it.
type Compacting struct {
	At      Seq // compaction.started
	Asked   Asked
	Started CompactionStarted
	Route   string // that is taken now
	Entry   int    // of the chain: the model that is tried, -1 before the first
	Open    []Asking
	Tries   []Tries // of the model that is tried now
	Over    int     // requests that were refused as too long, by the model that is tried now
	Passed  string  // why the entry that was come to last is not asked, or ""
}

// Asking is one request to a summarizer without an answer yet.
type Asking struct {
	Seq   Seq
	Unit  string
	Model Model
	Past  bool // its model is not tried any more
}

// Tries are attempts at one unit of work that gave nothing.
type Tries struct {
	Unit    string
	N       int
	At      Seq // the last one's end
	Time    time.Time
	Class   string // of the reply; or why the handoff was rejected
	Error   *ProviderError
	Lacking int // handoffs that lacked sections: it is asked for them once more
}

// Staging is the accepted work of a MapReduce (MR-9).
type Staging struct {
	At          Seq // staging.created
	Version     int
	Ranges      []Range
	Source      string
	Missing     []int // ordinals without a map
	Maps        []Mapped
	Next        int // the next ordinal
	Segments    []SegmentList
	Target      int
	Window      Capacity
	Round       int // repartitions so far
	Sequential  bool
	Reduced     []Reduction
	Rereads     []StagingReread
	Candidate   Seq // the text that is audited, 0 for none
	Final       Reduction
	Corrections int
	Audited     []int   // ordinals that the candidate was compared with, and passed
	Objection   Seq     // the audit that did not pass, until it is corrected
	Model       Model   // that worked on it last: it made what was accepted, or divided it
	Asked       []Model // who could be asked, by the compaction that worked on it last
	Refused     bool    // a compaction could not go on with it, and it was said how it is dropped
	Legacy      bool    // a shape of before: it is voided by the next compaction
}

// Mapped is an accepted map.
type Mapped struct {
	Ordinal int
	At      Seq
	First   ItemID
	Tokens  Tokens
}

// A SegmentList names where segments stand: body entry of the event At.
type SegmentList struct {
	At Seq
	B  int
	N  int
}

// Reduction is an accepted reduction or correction.
type Reduction struct {
	At     Seq
	Level  int
	Group  int
	Inputs []int
	Tokens Tokens
}

// Checkpointed is the newest checkpoint of a branch, as facts.
type Checkpointed struct {
	At     Seq
	Kind   string
	Ranges []Range
	Before Tokens
	After  Tokens
}

func (f *Fold) applyCompaction(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case CompactionRequested:
		s.Asked, s.Deferred = &Asked{At: e.Seq, By: ev.By, Focus: ev.Focus}, false
	case CompactionStarted:
		c := &Compacting{At: e.Seq, Started: ev, Route: ev.Route, Entry: -1}
		if s.Asked != nil {
			c.Asked = *s.Asked
		}
		s.Compaction, s.Asked = c, nil
		if t := s.Turn; t != nil && ev.Reason == "overflow" {
			s.turn(t.ID, func(t *Turn) { t.Recovered++ })
		}
		if ev.Staging != 0 {
			s.staging(ev.Staging, func(g *Staging) { g.Asked = ev.Chain })
			b.now().staging, b.now().staged = s.Staging, true
		}
	case SummarizerTried:
		s.compaction(ev.Compaction, func(c *Compacting) {
			c.Entry, c.Tries, c.Over, c.Passed = ev.I-1, nil, 0, ""
			if ev.Outcome != "started" {
				c.Passed = cmp.Or(ev.Why, ev.Outcome)
			}
			for i := range c.Open {
				c.Open[i].Past = true
			}
		})
	case HandoffRejected:
		s.compaction(ev.Compaction, func(c *Compacting) {
			for i := range c.Tries {
				if t := &c.Tries[i]; t.At == ev.Request {
					t.N, t.Class, t.Error = t.N+1, ev.Why, nil
					t.At, t.Time = e.Seq, e.At
					if len(ev.Missing) > 0 {
						t.Lacking++
					}
				}
			}
		})
	case CompactionFailed:
		if ev.Kind == "stuck" && s.Staging != nil {
			s.staging(s.Staging.At, func(g *Staging) { g.Refused = true })
			b.now().staging, b.now().staged = s.Staging, true
		}
		recovers := s.Asked != nil && s.Asked.By == "overflow" || s.Compaction != nil && s.Compaction.Asked.By == "overflow"
		s.Asked, s.Compaction, s.Deferred = nil, nil, s.Turn == nil && ev.Defers
		if t := s.Turn; t != nil {
			s.turn(t.ID, func(t *Turn) { t.Deferred, t.GaveUp = t.Deferred || ev.Defers, t.GaveUp || recovers })
		}
	case CheckpointCommitted:
		s.Asked, s.Compaction, s.Staging = nil, nil, nil
		b.now().staging, b.now().staged = nil, true
		s.Checkpoint = Checkpointed{e.Seq, ev.Kind, ev.Ranges, ev.Before, ev.After}
		if t := s.Turn; t != nil {
			s.turn(t.ID, func(t *Turn) { t.Deferred, t.Rejection = false, nil })
		}
	}
	f.applyStaging(b, e)
}

// compaction changes the one under way, if it is the one meant. Kept states
// hold the old one, so it is copied.
func (s *Branch) compaction(at Seq, change func(*Compacting)) {
	if s.Compaction == nil || s.Compaction.At != at {
		return
	}
	c := *s.Compaction
	c.Open, c.Tries = slices.Clone(c.Open), slices.Clone(c.Tries)
	change(&c)
	s.Compaction = &c
}

// asked is a request to a summarizer.
func (b *branch) asked(e Entry, ev RequestSent) {
	b.asks = append(b.asks, Asking{Seq: e.Seq, Model: ev.Model})
	b.state.compaction(ev.Compaction, func(c *Compacting) {
		c.Open = append(c.Open, Asking{Seq: e.Seq, Unit: ev.Unit, Model: ev.Model})
	})
}

// answered closes a request to a summarizer, and says whose it was. Where it
// gave nothing, the attempt is spent; what came of a whole reply is said by
// another event of the same batch. One whose compaction is over still has its
// usage, and is no reply of the agent.
func (b *branch) answered(e Entry, request Seq, class string, err *ProviderError) (Model, bool) {
	is := func(a Asking) bool { return a.Seq == request }
	i := slices.IndexFunc(b.asks, is)
	if i < 0 {
		return Model{}, false
	}
	model, s := b.asks[i].Model, &b.state
	b.asks = slices.Delete(b.asks, i, i+1)
	if s.Compaction == nil {
		return model, true
	}
	if i = slices.IndexFunc(s.Compaction.Open, is); i < 0 {
		return model, true
	}
	a := s.Compaction.Open[i]
	s.compaction(s.Compaction.At, func(c *Compacting) {
		c.Open = slices.Delete(c.Open, i, i+1)
		if a.Past { // what it comes to is nothing of the model that is tried now
			return
		}
		k := slices.IndexFunc(c.Tries, func(t Tries) bool { return t.Unit == a.Unit })
		if k < 0 {
			c.Tries, k = append(c.Tries, Tries{Unit: a.Unit}), len(c.Tries)
		}
		t := &c.Tries[k]
		if class == "" { // a whole one
			t.At = request
			return
		}
		t.At, t.Time, t.Class, t.Error = e.Seq, e.At, class, err
		switch {
		case class == "lost", class == "cancelled": // spent by us, not by the provider
			t.N++
		case TooLong(class, err):
			c.Over++
		default:
			t.N++
		}
	})
	return model, true
}

// TooLong says that a request was refused because it is too long for the
// model's window.
func TooLong(class string, err *ProviderError) bool {
	return class == "overflow" && (err == nil || err.Sub == "input" || err.Sub == "")
}

func (f *Fold) applyStaging(b *branch, e Entry) {
	s := &b.state
	switch ev := e.Event.(type) {
	case StagingCreated:
		g := &Staging{
			At: e.Seq, Version: ev.Version, Ranges: ev.Ranges, Source: ev.Source, Next: ev.N, Target: ev.Target, Window: ev.Window,
			Segments: []SegmentList{{e.Seq, ev.Segments.B, ev.N}},
		}
		for i := range min(ev.N, f.table.n) { // each holds an item
			g.Missing = append(g.Missing, i)
		}
		g.Model = s.tried()
		if s.Compaction != nil {
			g.Asked = s.Compaction.Started.Chain
		}
		s.Staging = g
		s.compaction(ev.Compaction, func(c *Compacting) { c.Route, c.Over = "map_reduce", 0 })
	case StagingMapped:
		s.staging(ev.Staging, func(g *Staging) {
			if !slices.Contains(g.Missing, ev.Ordinal) {
				return
			}
			g.Missing = slices.DeleteFunc(slices.Clone(g.Missing), func(o int) bool { return o == ev.Ordinal })
			g.Model = ev.Model
			g.Maps = append(slices.Clip(g.Maps), Mapped{ev.Ordinal, e.Seq, ev.First, ev.Tokens})
			slices.SortStableFunc(g.Maps, func(a, b Mapped) int { return a.First.Compare(b.First) })
		})
	case StagingRepartitioned:
		s.staging(ev.Staging, func(g *Staging) {
			g.Missing = slices.DeleteFunc(slices.Clone(g.Missing), func(o int) bool { return slices.Contains(ev.Dropped, o) })
			for range min(ev.N, f.table.n) {
				g.Missing = append(g.Missing, g.Next)
				g.Next++
			}
			g.Segments = append(slices.Clip(g.Segments), SegmentList{e.Seq, ev.Segments.B, ev.N})
			g.Round, g.Target, g.Model = ev.Round, ev.Target, s.tried()
			if ev.Window != nil {
				g.Window = *ev.Window
			}
		})
		if s.Compaction != nil {
			s.compaction(s.Compaction.At, func(c *Compacting) { c.Over = 0 })
		}
	case StagingSequenced:
		s.staging(ev.Staging, func(g *Staging) { g.Sequential = true })
	case StagingReduced:
		s.staging(ev.Staging, func(g *Staging) {
			r := Reduction{e.Seq, ev.Level, ev.Group, ev.Inputs, ev.Tokens}
			if ev.Final {
				g.Candidate, g.Final, g.Audited, g.Objection = e.Seq, r, nil, 0
				return
			}
			g.Reduced = append(slices.Clip(g.Reduced), r)
		})
	case StagingReread:
		s.staging(ev.Staging, func(g *Staging) { g.Rereads = append(slices.Clip(g.Rereads), ev) })
	case StagingAudited:
		s.staging(ev.Staging, func(g *Staging) {
			switch {
			case ev.Candidate != g.Candidate:
			case ev.Pass:
				g.Audited = append(slices.Clip(g.Audited), ev.Maps...)
			default:
				g.Objection = e.Seq
			}
		})
	case StagingCorrected:
		s.staging(ev.Staging, func(g *Staging) {
			g.Candidate, g.Audited, g.Objection, g.Corrections = e.Seq, nil, 0, ev.Round
			g.Final.At, g.Final.Tokens = e.Seq, ev.Tokens
		})
	case StagingRenewed:
		s.staging(ev.Staging, func(g *Staging) {
			g.Round, g.Sequential, g.Corrections, g.Refused, g.Model = 0, false, 0, false, ev.Model
			if ev.Window != nil {
				g.Window = *ev.Window
			}
			if g.Objection != 0 || len(g.Missing) == 0 {
				g.Reduced, g.Rereads, g.Candidate, g.Objection, g.Audited = nil, nil, 0, 0, nil
			}
		})
	case HandoffRejected: // one that all of it came to: the next attempt makes another
		if ev.Request != 0 || s.Staging == nil {
			return
		}
		s.staging(s.Staging.At, func(g *Staging) { g.Candidate, g.Audited, g.Objection = 0, nil, 0 })
	case StagingInvalidated:
		if s.Staging != nil && s.Staging.At == ev.Of {
			s.Staging = nil
			if c := s.Compaction; c != nil { // how it is asked is found anew
				s.compaction(c.At, func(c *Compacting) { c.Route = "one_shot" })
			}
		}
	case StagingSaved:
		s.Staging = &Staging{At: e.Seq, Version: ev.Version, Legacy: true}
	case SplitSaved:
		s.Staging = &Staging{At: e.Seq, Legacy: true}
	default:
		return
	}
	b.now().staging, b.now().staged = s.Staging, true
}

// tried is the model that is asked now.
func (s *Branch) tried() Model {
	c := s.Compaction
	if c == nil || c.Entry < 0 || c.Entry >= len(c.Started.Chain) {
		return Model{}
	}
	return c.Started.Chain[c.Entry]
}

func (s *Branch) staging(at Seq, change func(*Staging)) {
	if s.Staging == nil || s.Staging.At != at || s.Staging.Legacy {
		return
	}
	g := *s.Staging
	change(&g)
	s.Staging = &g
}

// stagingOf puts the accepted work into a selected state: it survives if all
// that it was made from does (BRN-7).
func (f *Fold) stagingOf(s *Branch, in *stretch) {
	s.Staging = nil
	for ; in != nil; in = in.base.in {
		if !in.staged {
			continue
		}
		if g := in.staging; g != nil && !g.Legacy && Fingerprint(s.View, g.Ranges) == g.Source {
			s.Staging = g
		}
		return
	}
}
