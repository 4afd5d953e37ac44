package drive

import (
	"slices"

	"varve/internal/session"
)

// Taking hold of a branch, and going on with what was left open (LOG-14).

// paused reports whether the open turn is nobody's: its run is not ours.
func paused(s session.State, env Env) bool {
	t := s.Branch.Turn
	return t != nil && t.Run != env.Run && t.Cancelled == ""
}

// Paused reports whether a branch has an open turn that no live run works on.
// live says whether somebody holds the branch's run lock.
func Paused(s session.State, live bool) bool { return s.Branch.Turn != nil && !live }

// begin is what a run records before its first act. What the last owner was
// doing when it died is closed: it is never run again.
func begin(s session.State, env Env) []session.Fact {
	var out []session.Fact
	if s.Branch.Run != "" {
		out = append(out, facts(session.RunEnded{Run: s.Branch.Run, How: "lost"})...)
	}
	out = append(out, slices.Clone(env.Opening)...)
	for _, j := range s.Session.Running { // of a run that is over: its processes may be anything by now
		out = append(out, facts(session.JobEnded{Job: j, Why: "lost"})...)
	}
	if c := s.Branch.Compaction; c != nil {
		for _, a := range c.Open {
			out = append(out, facts(session.ReplyRejected{Request: a.Seq, Class: "lost"})...)
		}
	}
	if superseded(s, env) {
		out = append(out, supersede(s, env)...)
	}
	if t := s.Branch.Turn; t != nil {
		if t.Open.Seq != 0 {
			out = append(out, facts(session.ReplyRejected{Request: t.Open.Seq, Class: "lost"})...)
		}
		for _, c := range t.Calls {
			if c.Started && !c.Done {
				out = append(out, told(c.ID, "lost", wordsLost))
			}
		}
	}
	return out
}

func resume(s session.State, env Env) ([]session.Fact, error) {
	t := s.Branch.Turn
	if t != nil && t.Cancelled != "" && t.Run != env.Run {
		return nil, nil // the start of this run is recorded, and closes it
	}
	if t == nil || !paused(s, env) {
		return nil, ErrNothing
	}
	return facts(session.TurnResumed{Turn: t.ID, Run: env.Run}), nil
}

// superseded reports whether the compaction that a run left asks other models than
// the list of now (SUM-7). The recovery of a request that was too long goes on: it
// counts (CMP-14).
func superseded(s session.State, env Env) bool {
	c := s.Branch.Compaction
	if c == nil || s.Branch.Run == env.Run || c.Asked.By == "overflow" {
		return false
	}
	now := s.Session.Settings.Summarizers
	for _, f := range env.Opening {
		if set, ok := f.Event.(session.SessionConfigured); ok {
			now = set.Summarizers
		}
	}
	if len(now) == 0 {
		return !c.Started.Own
	}
	return c.Started.Own || !slices.Equal(now, c.Started.Chain)
}

// supersede ends the compaction that was left; what was accepted stays, as after a
// failure. A person's is asked for anew, the trigger's begins by itself where it is
// due.
func supersede(s session.State, env Env) []session.Fact {
	c := s.Branch.Compaction
	out := facts(
		session.CompactionFailed{Compaction: c.At, Kind: "superseded", Kept: keeps(s)},
		session.ToastPosted{Level: "info", Code: "compaction.failed", Args: map[string]string{"kind": "superseded"}, About: c.At},
	)
	switch {
	case c.Asked.By == "user" && c.Asked.Focus != nil:
		out = append(out, text(session.CompactionRequested{By: "user", Focus: &session.Text{B: 0}}, env.Focus))
	case c.Asked.By == "user":
		out = append(out, facts(session.CompactionRequested{By: "user"})...)
	}
	return out
}
