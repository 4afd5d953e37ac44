package harness

import (
	"varve/internal/jsonl"
	"varve/internal/session"
)

// A Gap is a place of a session where events are missing, or, with Changed, one
// that reads otherwise than it was written.
type Gap struct {
	First, Last session.Seq
	Changed     bool
}

// Gaps are the events that can't be read, in order, also those that a repair has
// named. What an export or a purge left out is none.
func (s *Session) Gaps() []Gap {
	var out []Gap
	for _, d := range s.Damage() {
		if d.Kind == jsonl.Chain {
			out = append(out, Gap{session.Seq(d.Seq), session.Seq(d.Seq), true})
		}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.leaky {
		return out
	}
	last := uint64(0)
	for _, l := range s.lines {
		if l.Seq > last+1 {
			out = append(out, Gap{session.Seq(last + 1), session.Seq(l.Seq - 1), false})
		}
		last = l.Seq
	}
	return out
}
