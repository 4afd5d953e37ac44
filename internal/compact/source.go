package compact

import (
	"iter"
	"slices"

	"varve/internal/session"
)

// SourceOf is what a compaction is made from, in the order of the view: an older
// checkpoint first. Plans of before are covered and not read (CMP-5).
func SourceOf(v session.View, started session.CompactionStarted) []session.Item {
	return slices.DeleteFunc(ItemsOf(v, started.Ranges), func(it session.Item) bool { return it.Kind == session.PlanKind })
}

// SegmentItems are the items of a segment.
func SegmentItems(v session.View, s session.Segment) []session.Item { return ItemsOf(v, s.Ranges) }

// Prefix is the view up to the last item of a source: what the agent has sent
// already, with what is protected in between (SUM-10).
func Prefix(v session.View, source []session.Item) iter.Seq[session.Item] {
	last := source[len(source)-1].ID
	return func(yield func(session.Item) bool) {
		for it := range v.All {
			if !yield(it) || it.ID == last {
				return
			}
		}
	}
}

// Narrow is a cut of what accepted work was made from, and of nothing newer.
func Narrow(s session.State, c Cut, g *session.Staging) Cut {
	out := Cut{Ranges: g.Ranges, Source: g.Source, Replaces: c.Replaces, view: s.Branch.View}
	for _, it := range out.Items() {
		out.Covers += it.Tokens.N
	}
	out.Kept = c.Kept + c.Covers - out.Covers
	return out
}

// Switched reports whether a list asks for accepted work another model than the one
// that spent its budget: one that could not be asked before, or no longer that
// one. Its place in the list is no switch (MR-11).
func Switched(g session.Staging, chain []session.Model) bool {
	asked := append(slices.Clip(g.Asked), g.Model)
	return !slices.Contains(chain, g.Model) || slices.ContainsFunc(chain, func(m session.Model) bool { return !slices.Contains(asked, m) })
}

// Stuck names the budget that accepted work has spent, or "" (MR-11).
func Stuck(g session.Staging) string {
	switch {
	case g.Round >= MaxRounds && len(g.Missing) > 0:
		return "repartitions"
	case g.Corrections >= MaxCorrections && g.Objection != 0:
		return "corrections"
	case len(g.Missing) == 0 && g.Candidate == 0 && len(g.Maps) > 0 && reduce(g).Failed != "":
		return "levels"
	}
	return ""
}

// An Onward is what becomes of accepted work when a compaction begins: it is of no
// use, it is refused, or it is gone on with.
type Onward struct {
	Voids string // why it is of no use, "" if it is
	Stuck string // the budget of it that is spent (MR-11)
	Ends  bool   // nobody of the list may go on with it
	Cut   Cut    // that is gone on with
}

// Goes says what becomes of accepted work that a compaction of a cut finds. By hand
// it is dropped where it was refused before, and where something is to be kept in
// particular (MR-11). Without a map nobody has accepted anything: what another model's
// window asked for, parts and their order, is nothing to go on with.
func Goes(s session.State, b Budget, c Cut, chain []session.Model, hand, focus bool) Onward {
	g := s.Branch.Staging
	o := Onward{Voids: Voids(g, s.Branch.View, c)}
	if o.Voids != "" {
		return o
	}
	switched := Switched(*g, chain)
	o.Stuck = Stuck(*g)
	switch {
	case o.Stuck != "" && focus:
		o.Voids = "focus"
	case len(g.Maps) == 0 && switched:
		o.Voids = "nothing_accepted"
	case o.Stuck != "" && hand && g.Refused && !switched:
		o.Voids = "spent"
	default:
		o.Cut = Narrow(s, c, g)
		if b.Trigger > 0 && s.Scaled(o.Cut.Kept) >= b.Trigger {
			o.Voids = "source_grown"
		}
		o.Ends = o.Voids == "" && o.Stuck != "" && !switched
	}
	return o
}
