package harness

import (
	"varve/internal/harness/tools"
	"varve/internal/permit"
	"varve/internal/session"
)

// Judge judges planned calls by a mode and rules. Rules come from the user's
// settings; to them come what was granted in this very run (PERM-2).
func Judge(rules func() []permit.Rule, workspace string, headless bool) func(session.State, tools.Plan) Judgement {
	return func(s session.State, p tools.Plan) Judgement {
		mode, err := permit.ParseMode(s.Session.Mode)
		if err != nil {
			mode = permit.ModeAsk
		}
		all := rules()
		for _, g := range s.Session.Grants {
			if g.Run == "" || g.Run != s.Branch.Run {
				continue
			}
			if r, err := permit.ParseRule(g.Rule); err == nil {
				r.Effect, r.Scope = permit.Allow, "run"
				all = append(all[:len(all):len(all)], r)
			}
		}
		c := callOf(p, workspace)
		v := permit.Judge(c, mode, all)
		out := Judgement{Verdict: string(v.Decision), Why: v.Why}
		if v.Rule != nil {
			out.Rule = v.Rule.String()
		}
		if v.Decision == permit.Ask && headless {
			out.Why += howToAllow(c, mode)
		}
		return out
	}
}

func callOf(p tools.Plan, workspace string) permit.Call {
	c := permit.Call{Tool: p.Tool, Command: p.Command, Root: workspace}
	for _, e := range p.Effects {
		c.Effects = append(c.Effects, permit.Effect(e))
	}
	for _, x := range p.Paths {
		c.Paths = append(c.Paths, permit.Path{Name: x.Name, Real: x.Real, Inside: x.Inside, Protected: x.Protected})
	}
	return c
}

// howToAllow says to the person behind a headless run what would let a call
// run (RUN-1).
func howToAllow(c permit.Call, mode permit.Mode) string {
	hint := ""
	if r, ok := permit.Narrow(c); ok {
		hint = ` or put "` + r.String() + `" into permissions.allow`
	}
	for _, e := range c.Effects {
		if e == permit.Write && mode == permit.ModeAsk {
			return " Run with --mode edit" + hint + " to allow it."
		}
	}
	return " Run with --mode full" + hint + " to allow it."
}

// Narrow is the rule that "always" would keep for a planned call.
func Narrow(p tools.Plan, workspace string) (string, bool) {
	r, ok := permit.Narrow(callOf(p, workspace))
	return r.String(), ok
}
