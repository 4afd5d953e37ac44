package compact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/internal/session"
)

// Bounds of what does not converge (MR-4, MR-7, MR-8).
const (
	MaxMaps        = 4 // at once
	MaxLevels      = 8
	MaxCorrections = 2
	MaxRounds      = 3
)

// A Unit is one request to a summarizer: what it asks for.
type Unit struct {
	Stage   string // one_shot, native, map, reduce, audit, correct: the purpose of its request
	Ordinal int    // map
	Level   int    // reduce: of what it makes, from 1
	Group   int    // reduce, audit
	Inputs  []int  // reduce: of the level below; audit: ordinals
	Texts   []session.Seq
	Final   bool // reduce: it makes the handoff
	Round   int  // correct, from 1
	Reread  []session.Range
}

// Name is the unit's name in the log.
func (u Unit) Name() string {
	switch u.Stage {
	case "map":
		return fmt.Sprintf("map/%d", u.Ordinal)
	case "reduce":
		return fmt.Sprintf("reduce/%d/%d", u.Level, u.Group)
	case "audit":
		return fmt.Sprintf("audit/%d/%d", u.Round, u.Group)
	case "correct":
		return fmt.Sprintf("correct/%d", u.Round)
	}
	return u.Stage
}

// UnitNamed is the unit of a request that is open.
func UnitNamed(c session.Compacting, g *session.Staging, name string) Unit {
	if o, ok := strings.CutPrefix(name, "map/"); ok {
		if n, err := strconv.Atoi(o); err == nil {
			return Unit{Stage: "map", Ordinal: n}
		}
	}
	c.Over = 0
	for _, u := range Next(c, g).Units {
		if u.Name() == name {
			return u
		}
	}
	stage, _, _ := strings.Cut(name, "/")
	return Unit{Stage: stage}
}

// Handoff reports whether the unit makes what is installed: it gets
// the connector's own output configuration (FIN-5).
func (u Unit) Handoff() bool {
	return u.Stage == OneShot || u.Stage == Native || u.Stage == "correct" || u.Final
}

// A Need is what a compaction is waiting for: units, a repartition, the
// commit, or nothing, because it has failed.
type Need struct {
	Units  []Unit
	Repack bool
	Commit bool
	Failed string
}

// Next is what is missing of a compaction. It looks at accepted work alone.
func Next(c session.Compacting, g *session.Staging) Need {
	if c.Route != MapReduce {
		switch {
		case c.Over > 0:
			return Need{Repack: true}
		case c.Route == Native && !unsupported(c):
			return Need{Units: []Unit{{Stage: Native}}}
		}
		return Need{Units: []Unit{{Stage: OneShot}}}
	}
	if g == nil || g.Legacy {
		return Need{Repack: true}
	}
	if len(g.Missing) > 0 {
		return maps(c, *g)
	}
	if c.Over > 0 {
		return Need{Failed: "too_long"}
	}
	if len(g.Maps) == 0 { // no log of ours
		return Need{Failed: "no_maps"}
	}
	if g.Candidate == 0 {
		return reduce(*g)
	}
	return audit(*g)
}

func maps(c session.Compacting, g session.Staging) Need {
	if c.Over > 0 {
		if g.Round >= MaxRounds {
			return Need{Failed: "repartitions"}
		}
		return Need{Repack: true}
	}
	missing := slices.Clone(g.Missing)
	slices.Sort(missing)
	n := MaxMaps
	if g.Sequential {
		n = 1
	}
	var need Need
	for _, o := range missing[:min(n, len(missing))] {
		need.Units = append(need.Units, Unit{Stage: "map", Ordinal: o})
	}
	return need
}

// An input is a text that is reduced.
type input struct {
	at     session.Seq
	tokens int
}

func reduce(g session.Staging) Need {
	var in []input
	for _, m := range g.Maps {
		in = append(in, input{m.At, m.Tokens.N})
	}
	room := Payload(Sizing(g.Window.N), "reduce")
	for level := 1; ; level++ {
		var out []input
		done, groups := 0, 0
		for _, r := range g.Reduced {
			if r.Level == level {
				out, done, groups = append(out, input{r.At, r.Tokens.N}), done+len(r.Inputs), groups+1
			}
		}
		if done >= len(in) {
			if groups == len(in) && sum(out) >= sum(in) { // each alone, and none the shorter for it
				return Need{Failed: "summaries_too_large"}
			}
			in = out
			continue
		}
		if level > MaxLevels {
			return Need{Failed: "levels"}
		}
		n := fitting(in[done:], room)
		u := Unit{Stage: "reduce", Level: level, Group: groups, Final: done == 0 && n == len(in)}
		for i := done; i < done+n; i++ {
			u.Inputs, u.Texts = append(u.Inputs, i), append(u.Texts, in[i].at)
		}
		for _, r := range g.Rereads {
			if r.Level == level && r.Group == groups {
				u.Reread = r.Ranges
			}
		}
		return Need{Units: []Unit{u}}
	}
}

func sum(in []input) int {
	n := 0
	for _, i := range in {
		n += i.tokens
	}
	return n
}

// fitting is how many leading inputs fit, at least one.
func fitting(in []input, room int) int {
	n := 0
	for n < len(in) && (n == 0 || in[n].tokens <= room) {
		room -= in[n].tokens
		n++
	}
	return n
}

// audit compares the candidate with the maps, as many at a time as fit.
func audit(g session.Staging) Need {
	if g.Objection != 0 {
		if g.Corrections >= MaxCorrections {
			return Need{Failed: "audit"}
		}
		return Need{Units: []Unit{{Stage: "correct", Round: g.Corrections + 1, Texts: []session.Seq{g.Candidate, g.Objection}}}}
	}
	var rest []input
	var ordinals []int
	for _, m := range g.Maps {
		if !slices.Contains(g.Audited, m.Ordinal) {
			rest, ordinals = append(rest, input{m.At, m.Tokens.N}), append(ordinals, m.Ordinal)
		}
	}
	if len(rest) == 0 {
		return Need{Commit: true}
	}
	n := fitting(rest, Payload(Sizing(g.Window.N), "audit")-g.Final.Tokens.N)
	u := Unit{Stage: "audit", Round: g.Corrections, Group: len(g.Maps) - len(rest), Inputs: ordinals[:n], Texts: []session.Seq{g.Candidate}}
	for _, in := range rest[:n] {
		u.Texts = append(u.Texts, in.at)
	}
	return Need{Units: []Unit{u}}
}
