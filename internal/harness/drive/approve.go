package drive

import (
	"slices"

	"varve/internal/session"
)

// Approvals. An answer grants in this run, to what was shown (PERM-2).

func answer(s session.State, env Env, c Answer) ([]session.Fact, error) {
	t := s.Branch.Turn
	if t == nil || t.Cancelled != "" {
		return nil, ErrGone
	}
	i := slices.IndexFunc(t.Calls, func(x session.Call) bool { return x.Question == c.Question && x.Question != 0 })
	if i < 0 || t.Calls[i].Answer != "" || t.Calls[i].Done {
		return nil, ErrGone
	}
	ev := session.ApprovalAnswered{Request: c.Question, Answer: c.Answer, Rule: c.Rule, Run: env.Run, By: "user"}
	if c.Answer != "deny" {
		return facts(ev), nil
	}
	f := session.Fact{Event: ev}
	words := wordsDenied
	if len(c.Words) > 0 {
		ev.Text = &session.Text{B: 0}
		f = session.Fact{Event: ev, Body: []session.Part{{Bytes: c.Words}}}
		words += " They said: " + string(c.Words)
	}
	return []session.Fact{f, told(t.Calls[i].ID, "denied", words)}, nil
}
