package harness

import (
	"slices"

	"varve/internal/session"
)

// begins puts settings that have changed before the beginning of a turn, and of a
// compaction between turns (SUM-7): never inside a turn, whose requests share what
// they begin with (PFX-1). Those of a run that begins are in its opening.
func (l *Loop) begins(s session.State, facts []session.Fact) []session.Fact {
	if l.renewed == nil || s.Branch.Run != l.env.Run || !opensTurn(s, facts) && !asksAtRest(s, facts) {
		return facts
	}
	return append(l.renewed(s), facts...)
}

func opensTurn(s session.State, facts []session.Fact) bool {
	return s.Branch.Turn == nil && slices.ContainsFunc(facts, func(f session.Fact) bool { _, ok := f.Event.(session.UserSaid); return ok })
}

func asksAtRest(s session.State, facts []session.Fact) bool {
	return s.Branch.Turn == nil && slices.ContainsFunc(facts, func(f session.Fact) bool { _, ok := f.Event.(session.CompactionRequested); return ok })
}

// focus is what the compaction that was left open is to keep in particular.
func (l *Loop) focus(s session.State) ([]byte, error) {
	c := s.Branch.Compaction
	if c == nil || c.Asked.Focus == nil {
		return nil, nil
	}
	return l.sess.Load(c.Asked.At, c.Asked.Focus.B)
}
