package words

import (
	"fmt"
	"slices"
	"strings"

	"varve/internal/session"
)

// Compacting is how far a compaction has come (MR-12): its phase, and who is
// asked. Both are "" where none runs. compared is how many notes the audit that
// is due is about, 0 for what is not known.
func Compacting(b session.Branch, compared int) (phase, who string) {
	c := b.Compaction
	if c == nil {
		if b.Asked != nil && (b.Turn == nil || b.Asked.By != "user") {
			return "looking at what can be summarized", ""
		}
		return "", ""
	}
	if c.Entry >= 0 && c.Entry < len(c.Started.Chain) {
		who = fmt.Sprintf("%s %d/%d", c.Started.Chain[c.Entry], c.Entry+1, len(c.Started.Chain))
	}
	g := b.Staging
	if c.Route != "map_reduce" || g == nil || g.Legacy {
		return "one request", who
	}
	running := func(stage string) (n int, unit string) {
		for _, a := range c.Open {
			if strings.HasPrefix(a.Unit, stage+"/") {
				n, unit = n+1, a.Unit
			}
		}
		return n, unit
	}
	switch n, _ := running("map"); {
	case len(g.Missing) > 0:
		phase = fmt.Sprintf("maps %d/%d", len(g.Maps), len(g.Maps)+len(g.Missing))
		if n > 0 {
			phase += fmt.Sprintf(", %d running", n)
		}
		if g.Sequential {
			phase += ", one at a time"
		}
	case g.Candidate == 0:
		phase = fmt.Sprintf("putting %s together", Count(len(g.Maps), "note"))
		if _, u := running("reduce"); u != "" {
			if level, _, ok := strings.Cut(strings.TrimPrefix(u, "reduce/"), "/"); ok && level != "1" {
				phase += ", level " + level
			}
		}
	case g.Objection != 0:
		phase = fmt.Sprintf("correcting it, %d of 2", g.Corrections+1)
	case len(g.Audited) == 0 && compared >= len(g.Maps):
		phase = fmt.Sprintf("checking it against its %s, one request", Count(len(g.Maps), "note"))
	case len(g.Audited) < len(g.Maps):
		phase = fmt.Sprintf("checking it against its notes, %d/%d", len(g.Audited), len(g.Maps))
	default:
		phase = "installing it"
	}
	return phase, who
}

// Again is what is asked once more now, after attempts that gave nothing: what
// it is called ("" where the phase names it) and those attempts. Units that were
// accepted meanwhile, and those of other phases, are none of it.
func Again(b session.Branch) (unit string, t session.Tries, ok bool) {
	c, g := b.Compaction, b.Staging
	if c == nil {
		return "", t, false
	}
	for _, x := range c.Tries {
		name, due := due(x.Unit, *c, g)
		if x.N > 0 && due && (!ok || x.At > t.At) {
			unit, t, ok = name, x, true
		}
	}
	return unit, t, ok
}

// due reports whether a unit is still to be made in the phase of now, and what
// it is called among several.
func due(unit string, c session.Compacting, g *session.Staging) (name string, ok bool) {
	stage, rest, _ := strings.Cut(unit, "/")
	if c.Route != "map_reduce" || g == nil || g.Legacy {
		other := len(c.Open) > 0 && !slices.ContainsFunc(c.Open, func(a session.Asking) bool { return a.Unit == unit })
		return "", rest == "" && !other
	}
	if len(g.Missing) > 0 {
		all := slices.Clone(g.Missing)
		for _, m := range g.Maps {
			all = append(all, m.Ordinal)
		}
		slices.Sort(all)
		for i, o := range all {
			if stage == "map" && rest == fmt.Sprint(o) && slices.Contains(g.Missing, o) {
				return fmt.Sprintf("map %d", i+1), true
			}
		}
		return "", false
	}
	switch {
	case g.Candidate == 0:
		return "", stage == "reduce" && !slices.ContainsFunc(g.Reduced, func(r session.Reduction) bool {
			return rest == fmt.Sprintf("%d/%d", r.Level, r.Group)
		})
	case g.Objection != 0:
		return "", stage == "correct" && rest == fmt.Sprint(g.Corrections+1)
	}
	return "", stage == "audit" && rest == fmt.Sprintf("%d/%d", g.Corrections, len(g.Audited))
}
